"""Pass two: sums per bin, for all candidates of a search at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf._kernels.scratch import scratch
from glassleaf.losses import Loss
from glassleaf.rows.passes.data import Rows, both_or_none, part_of
from glassleaf.rows.passes.models import column_sums, derivatives
from glassleaf.rows.passes.statistics import bin_ranges, moments_of, one_bin

Floats = NDArray[np.float64]

# --- what is summed -------------------------------------------------------------------------------


def set_residuals(
    rows: Rows, node: int, part: int, parts: int, coef: Floats, intercept: Floats, loss: Loss
) -> None:
    """Store (r, weight) of every row: r is the gradient of the loss by the raw prediction."""
    start, stop = part_of(rows, node, part, parts)
    weight = rows.weight[start:stop]
    _, slope, _ = derivatives(rows, start, stop, coef, intercept, loss)
    rows.vectors[start:stop, :-1] = slope * weight[:, None]
    rows.vectors[start:stop, -1] = weight


def set_newton_residuals(
    rows: Rows, node: int, part: int, parts: int, coef: Floats, intercept: Floats, loss: Loss
) -> None:
    """Store (r, ..., curvature) of every row; with several outputs, the mean of theirs."""
    start, stop = part_of(rows, node, part, parts)
    weight = rows.weight[start:stop]
    _, slope, packed = derivatives(rows, start, stop, coef, intercept, loss, with_hessian=True)
    own = packed[:, np.equal(*np.tril_indices(len(intercept)))]
    rows.vectors[start:stop] = 0.0  # there may be room for more
    rows.vectors[start:stop, : len(intercept)] = slope * weight[:, None]
    rows.vectors[start:stop, -1] = weight * own.mean(axis=1)


def residual_squares(rows: Rows, node: int, n_outputs: int) -> float:
    """The weighted sum of squares of the residuals that are stored, the mean over the outputs."""
    here = slice(*rows.spans[node])
    weight = rows.weight[here]
    squares = (rows.vectors[here, :n_outputs] ** 2).mean(axis=1)
    return float(np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0).sum())


def set_loss_differences(
    rows: Rows,
    node: int,
    left_coef: Floats,
    left_intercept: Floats,
    right_coef: Floats,
    right_intercept: Floats,
    loss: Loss,
) -> None:
    """Store (loss under the left model minus that under the right, ..., weight) of every row."""
    start, stop = rows.spans[node]
    weight = rows.weight[start:stop]
    left, _, _ = derivatives(rows, start, stop, left_coef, left_intercept, loss)
    right, _, _ = derivatives(rows, start, stop, right_coef, right_intercept, loss)
    rows.vectors[start:stop] = 0.0
    rows.vectors[start:stop, 0] = (left - right) * weight
    rows.vectors[start:stop, -1] = weight


def set_target(rows: Rows, node: int, part: int, parts: int, n_classes: int) -> None:
    """Store the target's own statistics: (y, y^2, 1) or one indicator per class, times weight."""
    first, last = part_of(rows, node, part, parts)
    target, weight = rows.target[first:last], rows.weight[first:last]
    out = rows.vectors[first:last]
    if n_classes:
        out[:, :-1] = 0.0
        out[np.arange(last - first), target.astype(np.intp)] = weight
    else:
        out[:, 0] = target * weight
        out[:, 1] = target * target * weight
    out[:, -1] = weight


# --- the sums -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BinSums:
    """Sums per bin of a block: what every criterion is computed from.

    ``values`` are the sums of the row vectors, whose last entry is the weight; ``moments`` (bins,
    vectors, columns) those of vector times design column and, where asked for, last, of weight
    times squared design column; ``low, high`` the columns' ranges, ``stored`` how often a sparse
    column is stored.
    """

    count: NDArray[np.int64]
    values: Floats
    moments: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    stored: NDArray[np.int64] | None = None

    def __add__(self, other: BinSums) -> BinSums:
        return BinSums(
            self.count + other.count,
            self.values + other.values,
            both_or_none(np.add, self.moments, other.moments),
            both_or_none(np.minimum, self.low, other.low),
            both_or_none(np.maximum, self.high, other.high),
            both_or_none(np.add, self.stored, other.stored),
        )


def bin_sums(
    rows: Rows, node: int, block: int, n_bins: int, n_columns: int, squares: bool, ranges: bool
) -> BinSums:
    """Sums per bin of one block of features; block -1 is the whole node as a single bin.

    Without columns the sums are those of the vectors alone. There may be more columns than rows
    hold: these are left zero, for whoever knows what they are.
    """
    if block < 0:
        return _whole_sums(rows, node, n_columns, squares, ranges)
    start, stop = rows.spans[node]
    given = rows.blocks[block]
    where = (given.ptr, given.idx)
    here = (rows.vectors, rows.dense, start, stop)
    width = rows.vectors.shape[1]
    count = np.zeros(n_bins, dtype=np.int64)
    values = np.zeros((n_bins, width))
    if not n_columns:
        _kernels.sum_values(*where, rows.vectors, start, stop, count, values)
        return BinSums(count, values)
    moments = np.zeros((n_bins, width + squares, n_columns))
    if width == 2 and squares:
        _kernels.sum_one_output(*where, *here, count, values, moments)
    elif given.per_row > 0:
        length = _kernels.row_length(width + squares, rows.dense.shape[1], width)
        sums = scratch("bins", (n_bins, length))
        _kernels.sum_uniform(given.idx, given.per_row, *here, sums, count, values, moments)
    else:
        _kernels.sum_values(*where, rows.vectors, start, stop, count, values)
        _kernels.sum_dense(*where, *here, moments)
    if rows.n_sparse:
        _add_sparse_moments(rows, where, start, stop, moments)
    if not ranges:
        return BinSums(count, values, moments)
    return BinSums(count, values, moments, *bin_ranges(rows, node, where, n_bins))


def _whole_sums(rows: Rows, node: int, n_columns: int, squares: bool, ranges: bool) -> BinSums:
    start, stop = rows.spans[node]
    vectors = rows.vectors[start:stop]
    count = np.array([stop - start])
    if not n_columns:
        return BinSums(count, vectors.sum(axis=0)[None])
    sums = column_sums(rows, start, stop, vectors)
    values, width = sums[:, -1][None], vectors.shape[1]
    moments = np.zeros((1, width + squares, n_columns))
    moments[0, :width, : rows.n_kept] = sums[:, :-1]
    if squares:
        weight = np.ascontiguousarray(vectors[:, -1])
        of_weight = moments_of(rows, start, stop, weight)
        moments[0, width - 1 :, : rows.n_kept] = of_weight
    if not ranges:
        return BinSums(count, values, moments)
    return BinSums(count, values, moments, *bin_ranges(rows, node, one_bin(stop), 1))


def _add_sparse_moments(
    rows: Rows,
    where: tuple[NDArray[np.int64], NDArray[np.uint16]],
    start: int,
    stop: int,
    moments: Floats,
) -> None:
    has_values = len(rows.sparse.val) > 0
    total = scratch("sparse", (len(moments), rows.n_sparse, rows.vectors.shape[1] + has_values))
    total.fill(0.0)
    given = (*where, rows.vectors, *rows.sparse.arrays, start, stop)
    _kernels.sum_sparse(*given, total, moments, rows.dense.shape[1])
