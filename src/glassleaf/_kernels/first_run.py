"""The first run on a machine compiles what later ones load."""

from __future__ import annotations

import logging

import numba
import numpy as np

from glassleaf._kernels import grams, models, splits, trees, values
from glassleaf.startup import without_collection

_log = logging.getLogger("glassleaf")


def prepare() -> None:
    """On the first run on a machine, compile what nearly every fit needs, and say so.

    Later runs load each kernel from the cache when it is first called. The rest, such as the losses
    that few ask for, takes a fraction of a second each, when it is first needed.
    """
    if _prepared:
        return
    _prepared.append(True)
    with without_collection():
        values.assign_bins(np.ones(1), np.ones(1), 1, np.zeros(1, dtype=np.uint16))
    if not numba.config.DISABLE_JIT and values.assign_bins.stats.cache_misses:
        _log.warning(
            "glassleaf compiles its kernels, once for this installation (some 15 seconds);"
            " later runs load them from the cache."
        )
        _compile_most()


_prepared: list[bool] = []


def _compile_most() -> None:
    ptr = np.array([0, 1], dtype=np.int64)
    idx = np.zeros(1, dtype=np.uint32)
    codes = np.zeros(1, dtype=np.uint16)
    one, none = np.ones(1), np.zeros(0)
    table = np.ones((1, 1))

    values.distinct_values(one, one, np.ones((4, 1)), one.copy(), one.copy())
    rows = np.zeros(1, dtype=np.int64)
    values.append_entries(rows, idx, one, rows.copy(), idx.copy(), one.copy())
    values.append_entries(rows, idx.astype(np.uint16), one, rows.copy(), codes.copy(), none)
    values.take_rows(ptr, idx, one, 0, rows, ptr.copy(), idx.copy(), one.copy())
    values.take_rows(ptr, codes, none, 0, rows, ptr.copy(), codes.copy(), none)
    segments = np.zeros(1, dtype=np.uint16)
    values.find_segments(ptr, codes, 0, 1, segments, 0, 0, segments.copy())
    count = np.zeros(1, dtype=np.int64)
    both = np.ones((1, 2))
    sums = np.zeros((1, 3, 1))
    splits.sum_one_output(ptr, codes, both, table, 0, 1, count, both.copy(), sums)
    splits.sum_sparse(ptr, codes, both, ptr, idx, none, 0, 1, np.zeros((1, 1, 2)), sums, 0)
    no_group = np.zeros(1, dtype=np.int64)
    splits.fill_complements(table, 1, rows[:0], no_group, one)
    of_feature, flags = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    splits.combine_sides(
        table, of_feature, of_feature + 1, flags, flags, 0, table.copy(), table.copy()
    )
    splits.zscore_gains(
        np.ones((1, 3)), both, both, of_feature, of_feature + 1, flags, flags, one, one.copy()
    )
    splits.ranges_dense(ptr, codes, table, 0, 1, table.copy(), table.copy())
    counts = np.zeros((1, 1), dtype=np.int64)
    splits.ranges_sparse(ptr, codes, ptr, idx, one, 0, 1, counts, table.copy(), table.copy())
    models.squared_error(one, one, one.copy(), one.copy(), one.copy())
    models.binary_log_loss(one, one, 1.0, one.copy(), one.copy(), one.copy())
    gram = np.ones((1, 3, 3))
    grams.standardize_grams(gram, 1, rows[:0], no_group, both, both, gram.copy())
    grams.sum_moments(table, ptr, idx, one, one, 0, 1, np.zeros((2, 2)))
    models.predict_raw(table, ptr, idx, one, np.ones((1, 2)), one, 0, 1, table.copy())
    models.sum_columns(table, ptr, idx, one, table, 0, 1, np.ones((1, 3)))
    models.sum_log_loss(
        table, ptr, idx, one, one, one, both, one, 1.0, 0, 1, np.ones((1, 3)), table.copy()
    )
    grams.scale_rows(table, one, 0, 1, both.copy())
    grams.sum_sparse_gram(ptr, idx, one, table, one, 0, 1, np.ones((3, 3)))
    leaf = np.full(1, -1, dtype=np.int32)
    flag, first = np.zeros(1, dtype=np.bool_), np.full(1, -1, dtype=np.int64)
    trees.find_leaves(table, leaf, one, leaf, leaf, flag, flag, first, flag, np.zeros(1, np.int64))
    trees.interpolate(1.0, 0, 1, one, one)
    trees.interpolate_pieces(one, codes, one, one, one.copy())
    no_points = np.zeros(2, dtype=np.int64)
    trees.sum_terms(
        table, first + 1, np.zeros((1, 1, 1)), table, table, table, first, flag, first, one, first,
        no_points, none, none, table.copy(),
    )  # fmt: skip
