"""What is known of a node's rows before its model: counts, moments, targets, ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.losses import Loss
from glassleaf.rows.passes.data import NodeTask, Rows, is_uniform

Floats = NDArray[np.float64]


class StatisticsTask(NamedTuple):
    """A node, and the loss whose statistics of the target are asked for."""

    node: int
    loss: Loss


def node_statistics(rows: Rows, task: StatisticsTask) -> Floats:
    """Rows, weight, and the sums of columns and squared columns, by weight and by rows.

    The loss's own statistics of the target come last.
    """
    start, stop = rows.spans[task.node]
    target, weight = rows.target[start:stop], rows.weight[start:stop]
    by_weight = moments_of(rows, start, stop, weight)
    if is_uniform(weight):
        by_row = by_weight / weight[0]
    else:
        by_row = moments_of(rows, start, stop, np.ones(stop - start))
    moments = np.stack([by_weight, by_row], axis=1)
    of_target = task.loss.support(target, weight)
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


def target_sums(rows: Rows, task: TargetSumsTask) -> Floats:
    """Weight of every class in a node or, without classes, the weighted sum of the target."""
    here = slice(*rows.spans[task.node])
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


def column_ranges(rows: Rows, task: NodeTask) -> Ranges:
    """Ranges of the kept columns in a node, in the units in which its rows are stored."""
    start, stop = rows.spans[task.node]
    low, high, stored = bin_ranges(rows, task.node, one_bin(stop), 1)
    has_zero = np.concatenate([np.zeros(rows.dense.shape[1], dtype=bool), stored[0] < stop - start])
    return Ranges(
        np.where(has_zero, np.minimum(low[0], 0.0), low[0]),
        np.where(has_zero, np.maximum(high[0], 0.0), high[0]),
    )


def bin_ranges(
    rows: Rows, node: int, where: tuple[NDArray[np.int64], NDArray[np.uint16]], n_bins: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Ranges of the kept columns in every bin, and how often a sparse one is stored."""
    start, stop = rows.spans[node]
    n_dense = rows.dense.shape[1]
    low = np.full((n_bins, n_dense), np.inf)
    high = np.full((n_bins, n_dense), -np.inf)
    _kernels.ranges_dense(*where, rows.dense, start, stop, low, high)
    stored = np.zeros((n_bins, rows.n_sparse), dtype=np.int64)
    sparse_low = np.full((n_bins, rows.n_sparse), np.inf)
    sparse_high = np.full((n_bins, rows.n_sparse), -np.inf)
    _kernels.ranges_sparse(
        *where, *rows.sparse.arrays, start, stop, stored, sparse_low, sparse_high
    )
    return (
        np.concatenate([low, sparse_low], axis=1),
        np.concatenate([high, sparse_high], axis=1),
        stored,
    )


def one_bin(stop: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Compressed rows that all lie in the same bin."""
    return np.arange(stop + 1), np.zeros(stop, dtype=np.uint16)
