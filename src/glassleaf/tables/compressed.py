"""Compressed rows: per row a short list of (index, value), and the two things done with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels

# One column's entries: the rows that have one, its index, its values (None: all 1).
Entries = tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64] | None]


@dataclass
class Compressed:
    """``idx[ptr[i]:ptr[i + 1]]`` are row i's indices; ``val`` is empty when every value is 1."""

    ptr: NDArray[np.int64]
    idx: NDArray[Any]
    val: NDArray[np.float64]
    per_row: int = -1  # the number of entries of every row, if it is the same for all

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64]]:
        """``(ptr, idx, val)``, as kernels take them."""
        return self.ptr, self.idx, self.val

    def reorder(self, start: int, stop: int, order: NDArray[np.int64]) -> None:
        """Put the rows start..stop into a new order, in place."""
        if self.per_row >= 0:
            here = self.idx.reshape(-1, self.per_row)[start:stop]
            here[:] = np.take(here, order, axis=0)  # ten times as fast as here[order]
            return
        first, last = self.ptr[start], self.ptr[stop]
        taken = self.taken(start, order)
        self.idx[first:last] = taken.idx
        if len(self.val):
            self.val[first:last] = taken.val
        self.ptr[start : stop + 1] = taken.ptr + first

    def taken(self, start: int, order: NDArray[np.int64]) -> Compressed:
        """A copy of the rows ``start + order``."""
        length = int((self.ptr[start + order + 1] - self.ptr[start + order]).sum())
        ptr = np.empty(len(order) + 1, dtype=np.int64)
        idx = np.empty(length, dtype=self.idx.dtype)
        val = np.empty(length if len(self.val) else 0)
        _kernels.take_rows(self.ptr, self.idx, self.val, start, order, ptr, idx, val)
        return Compressed(ptr, idx, val, self.per_row)


def from_columns(n_rows: int, columns: Iterable[Entries], dtype: Any) -> Compressed:
    """Compressed rows of columns given in ascending order of their indices."""
    columns = list(columns)
    count = np.zeros(n_rows + 1, dtype=np.int64)
    for rows, _, _ in columns:
        if len(rows) == n_rows:
            count[1:] += 1
        else:
            count[1:] += np.bincount(rows, minlength=n_rows)
    ptr = np.cumsum(count)
    has_values = any(values is not None for _, _, values in columns)
    idx = np.empty(ptr[-1], dtype=dtype)
    val = np.empty(ptr[-1] if has_values else 0)
    position = ptr[:-1].copy()
    for rows, indices, values in columns:
        if has_values and values is None:
            values = np.ones(len(rows))
        given = values if values is not None else np.zeros(0)
        _kernels.append_entries(rows, indices.astype(dtype), given, position, idx, val)
    return Compressed(ptr, idx, val)


def uniform(indices: NDArray[Any]) -> Compressed:
    """Compressed rows with the same number of entries each, given as a table of indices."""
    n_rows, per_row = indices.shape
    ptr = np.arange(n_rows + 1) * per_row
    return Compressed(ptr, np.ascontiguousarray(indices).ravel(), np.zeros(0), per_row)
