"""What is known of a node's rows before its model: counts, moments, targets, ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.losses import Loss
from glassleaf.rows.passes.data import NodeTask, Rows, Span, column_work, is_uniform
from glassleaf.rows.slices import in_slices
from glassleaf.tables.compressed import Compressed

Floats = NDArray[np.float64]


class StatisticsTask(NamedTuple):
    """A node, and the loss whose statistics of the target are asked for."""

    node: int
    loss: Loss
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 4 * column_work(rows))
def node_statistics(rows: Rows, task: StatisticsTask) -> Floats:
    """Rows, weight, and the sums of columns and squared columns, by weight and by rows.

    The loss's own statistics of the target come last.
    """
    return statistics_of(rows, *rows.span_of(task), task.loss)


def statistics_of(rows: Rows, start: int, stop: int, loss: Loss) -> Floats:
    """The same of any rows that lie next to each other."""
    target, weight = rows.target[start:stop], rows.weight[start:stop]
    by_weight = moments_of(rows, start, stop, weight)
    if is_uniform(weight):
        by_row = by_weight / weight[0]
    else:
        by_row = moments_of(rows, start, stop, np.ones(stop - start))
    moments = np.stack([by_weight, by_row], axis=1)
    of_target = loss.support(target, weight)
    return np.concatenate([[stop - start, weight.sum()], moments.ravel(), of_target])


def moments_of(rows: Rows, start: int, stop: int, factors: Floats) -> Floats:
    """Sums of columns and of squared columns, each times the row's factor: (2, columns)."""
    out = np.empty((2, rows.n_kept))
    _kernels.sum_moments(rows.dense, *rows.sparse.arrays, factors, start, stop, out)
    return out


class TargetSumsTask(NamedTuple):
    """A node, and the number of classes (0: the target is a number)."""

    node: int
    n_classes: int
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 4)
def target_sums(rows: Rows, task: TargetSumsTask) -> Floats:
    """Weight of every class in a node or, without classes, the weighted sum of the target."""
    here = slice(*rows.span_of(task))
    target, weight = rows.target[here], rows.weight[here]
    if not task.n_classes:
        return np.array([target @ weight])
    of_classes = np.bincount(target.astype(np.intp), weights=weight, minlength=task.n_classes)
    return of_classes.astype(np.float64)


@dataclass(frozen=True)
class Ranges:
    """Smallest and largest value of every kept column; without rows, infinity and its negative."""

    low: Floats
    high: Floats

    def __add__(self, other: Ranges) -> Ranges:
        return Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@in_slices(row_work=lambda rows, task: 4 * column_work(rows))
def column_ranges(rows: Rows, task: NodeTask) -> Ranges:
    """Ranges of the kept columns in a node, in the units in which its rows are stored."""
    start, stop = rows.span_of(task)
    low, high, stored = whole_ranges(rows, start, stop)
    has_zero = np.concatenate([np.zeros(rows.dense.shape[1], dtype=bool), stored[0] < stop - start])
    return Ranges(
        np.where(has_zero, np.minimum(low[0], 0.0), low[0]),
        np.where(has_zero, np.maximum(high[0], 0.0), high[0]),
    )


def whole_ranges(rows: Rows, start: int, stop: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Ranges of the kept columns in some rows, and how often a sparse one is stored."""
    n_rows = stop - start
    return _ranges(rows, start, stop, np.arange(n_rows + 1), np.zeros(n_rows, dtype=np.uint16), 1)


def bin_ranges(
    rows: Rows, start: int, stop: int, block: Compressed, n_bins: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """The same in every bin of a block."""
    return _ranges(rows, start, stop, block.ptr[start : stop + 1], block.idx, n_bins)


def _ranges(
    rows: Rows,
    start: int,
    stop: int,
    ptr: NDArray[np.int64],
    bins: NDArray[np.uint16],
    n_bins: int,
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Row ``start + i`` lies in the bins from ``ptr[i]`` to ``ptr[i + 1]`` (exclusive)."""
    n_dense, n_rows = rows.dense.shape[1], stop - start
    low = np.full((n_bins, n_dense), np.inf)
    high = np.full((n_bins, n_dense), -np.inf)
    _kernels.ranges_dense(ptr, bins, rows.dense[start:stop], 0, n_rows, low, high)
    stored = np.zeros((n_bins, rows.n_sparse), dtype=np.int64)
    sparse_low = np.full((n_bins, rows.n_sparse), np.inf)
    sparse_high = np.full((n_bins, rows.n_sparse), -np.inf)
    sparse = (rows.sparse.ptr[start : stop + 1], rows.sparse.idx, rows.sparse.val)
    _kernels.ranges_sparse(ptr, bins, *sparse, 0, n_rows, stored, sparse_low, sparse_high)
    return (
        np.concatenate([low, sparse_low], axis=1),
        np.concatenate([high, sparse_high], axis=1),
        stored,
    )
