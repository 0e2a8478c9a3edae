"""The rows that a tree grows on, made of a part of the table and what was learned of all rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.rows.passes import Rows
from glassleaf.rows.plan import Plan
from glassleaf.rows.summarize import Part, column_groups
from glassleaf.tables import binning
from glassleaf.tables.compressed import Compressed, Entries, from_columns
from glassleaf.tables.content import mixed, number_bits
from glassleaf.tables.design import CategoryTerms
from glassleaf.tables.table import Codes, Column, raw_matrix
from glassleaf.tree.tree import term_matrix

Floats = NDArray[np.float64]

# Copies of a row that share a fold.
_TOGETHER = 10


def build_rows(part: Part, plan: Plan, vector_width: int, n_threads: int, n_folds: int = 0) -> Rows:
    """The rows of a part as passes over rows read them, with vectors of this width."""
    n_rows = len(part.y)
    weight = part.weight.copy()
    dense = np.empty((n_rows, len(plan.design.dense)))
    codes, entries = _read_columns(part, plan, dense, n_threads)
    blocks = [
        binning.block_rows(block, [codes[bins.column] for bins in block.features])
        for block in plan.blocks
    ]
    sparse = from_columns(n_rows, entries, np.uint32)
    sparse.idx = plan.design.number_of_sparse[sparse.idx]
    if plan.term_units is not None:
        center, scale = plan.term_units
        dense = (
            term_matrix(raw_matrix(part.table, plan.columns), plan.design.terms) - center
        ) / scale
        sparse = Compressed(
            np.zeros(n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0)
        )
    held = None
    if plan.held_out is not None:
        held = np.where(plan.held_out.rows_of(part), weight, 0.0)
        weight -= held
    return Rows(
        dense=dense,
        sparse=sparse,
        n_sparse=plan.design.layout.n_sparse,
        target=plan.units.targets(part.y),
        weight=weight,
        blocks=blocks,
        spans={0: (0, n_rows)},
        vectors=np.empty((n_rows, vector_width)),
        fold=content_folds(part, plan.columns, n_folds, plan.aside) if n_folds else None,
        held=held,
        group=None if part.group is None else part.group.copy(),
    )


def _read_columns(
    part: Part, plan: Plan, dense: Floats, n_threads: int
) -> tuple[dict[int, binning.Codes], list[Entries]]:
    """Fill the dense columns; returns the bins of the split features, and the sparse entries."""
    starts = np.cumsum(
        [0, *(len(s.stored) if isinstance(s, CategoryTerms) else 1 for s in plan.design.sparse)]
    ).tolist()
    features = {bins.column: bins for bins in plan.features}
    codes: dict[int, binning.Codes] = {}
    entries: list[Any] = [None] * len(plan.design.sparse)

    def read(group: Sequence[int]) -> None:
        numeric = [j for j in group if plan.columns[j].categories is None]
        given = part.table.numeric_columns(numeric) if numeric else []
        values = dict(zip(numeric, given, strict=True))
        labels = {j: category_codes(part, plan.columns[j], j) for j in group if j not in values}
        for j in group:
            if j in features and j in values:
                codes[j] = binning.number_codes(features[j], values[j])
            elif j in features:
                codes[j] = binning.category_codes(features[j], labels[j])
        for place, item in enumerate(plan.design.dense):
            if item.column in values:
                dense[:, place] = item.standardized(values[item.column])
        for place, own in enumerate(plan.design.sparse):
            if isinstance(own, CategoryTerms) and own.column in labels:
                entries[place] = own.entries(labels[own.column], starts[place])
            elif not isinstance(own, CategoryTerms) and own.column in values:
                entries[place] = own.entries(values[own.column], starts[place])

    groups = column_groups(len(part.y), len(plan.columns), n_threads)
    if n_threads == 1:
        for group in groups:
            read(group)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(read, groups))
    return codes, entries


def category_codes(part: Part, column: Column, place: int) -> Codes:
    """Codes of a column into the categories that were learned; -1 is missing."""
    return part.table.labels(place).recoded(column.categories or ()).codes


# --- folds ---------------------------------------------------------------------------------------


def content_folds(
    part: Part, columns: Sequence[Column], n_folds: int, aside: Collection[int] = ()
) -> NDArray[np.uint8]:
    """A fold for every row, by chance, but told by what it holds.

    A few copies of a row are in one fold, and count there as its weight does; the order of rows
    does not matter, nor do columns ``aside``. Many copies are dealt to all folds: one would hold
    all that is known of them. Rows of one group are in one fold.
    """
    if part.group is not None:
        return (part.group % n_folds).astype(np.uint8)
    key = mixed(part.y.astype(np.float64).view(np.uint64))
    kept = ((j, column) for j, column in enumerate(columns) if j not in aside)
    for place, (j, column) in enumerate(kept):
        if column.categories is None:
            bits = number_bits(part.table.numeric_columns([j])[0])
        else:
            bits = category_codes(part, column, j).astype(np.int64).view(np.uint64)
        key = mixed(key ^ (bits + np.uint64(place)))
    dealt = key % np.uint64(n_folds) + (_earlier_copies(key) // _TOGETHER).astype(np.uint64)
    return (dealt % np.uint64(n_folds)).astype(np.uint8)


def _earlier_copies(key: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For every row how many before it have the same key.

    >>> _earlier_copies(np.array([7, 5, 7, 7], dtype=np.uint64))
    array([0, 0, 1, 2])
    """
    order = np.argsort(key, kind="stable")
    is_new = np.append(True, key[order][1:] != key[order][:-1])
    start = np.maximum.accumulate(np.where(is_new, np.arange(len(key)), 0))
    out = np.empty(len(key), dtype=np.int64)
    out[order] = np.arange(len(key)) - start
    return out
