"""Compressed rows and blocks of bins, with the same as plain matrices."""

import numpy as np
import pytest

values_or_indicators = pytest.mark.parametrize("has_values", [False, True], ids=["ones", "values"])


def make_compressed(rng, n_rows, n_columns, has_values=True, dtype=np.uint32):
    """Compressed rows (ptr, idx, val) and the same as a plain matrix."""
    stored = rng.random((n_rows, n_columns)) < 0.4
    plain = np.where(stored, rng.normal(size=stored.shape) if has_values else 1.0, 0.0)
    ptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    _, idx = np.nonzero(stored)
    val = plain[stored] if has_values else np.zeros(0)
    return ptr.astype(np.int64), idx.astype(dtype), val, plain


def make_block(rng, n_rows, bins_of_feature=(4, 3)):
    """One bin of every feature per row; also as an indicator matrix (rows, bins)."""
    first = np.concatenate([[0], np.cumsum(bins_of_feature)[:-1]])
    bins = np.column_stack([rng.integers(0, n, n_rows) for n in bins_of_feature]) + first
    indicator = np.zeros((n_rows, sum(bins_of_feature)))
    for row in range(n_rows):
        indicator[row, bins[row]] = 1.0
    ptr = np.arange(n_rows + 1, dtype=np.int64) * len(bins_of_feature)
    return ptr, bins.ravel().astype(np.uint16), indicator
