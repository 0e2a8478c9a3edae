"""Pass two: sums per bin, for all candidates of a search at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf._kernels.scratch import scratch
from glassleaf.losses import Loss
from glassleaf.rows.passes.data import Rows, Span, add_into, both_or_none, column_work
from glassleaf.rows.passes.models import RowModel, column_sums, derivative_work, derivatives
from glassleaf.rows.passes.statistics import bin_ranges, moments_of, whole_ranges
from glassleaf.rows.slices import in_slices

Floats = NDArray[np.float64]

# Work of finding a row's bin, in units of a dense column.
_BIN_WORK = 4.0

# --- what is summed -------------------------------------------------------------------------------


class ResidualsTask(NamedTuple):
    """A node, its model and the loss."""

    node: int
    model: RowModel
    loss: Loss
    span: Span | None = None


@in_slices(row_work=lambda rows, task: derivative_work(rows, task.loss))
def set_residuals(rows: Rows, task: ResidualsTask) -> None:
    """Store (r, weight) of every row: r is the gradient of the loss by the raw prediction."""
    start, stop = rows.span_of(task)
    weight = rows.weight[start:stop]
    _, slope, _ = derivatives(rows, start, stop, task.model, task.loss)
    rows.vectors[start:stop, :-1] = slope * weight[:, None]
    rows.vectors[start:stop, -1] = weight


@in_slices(row_work=lambda rows, task: 2 * derivative_work(rows, task.loss))
def set_newton_residuals(rows: Rows, task: ResidualsTask) -> None:
    """Store (r, ..., curvature) of every row; with several outputs, the mean of theirs."""
    start, stop = rows.span_of(task)
    weight, n_outputs = rows.weight[start:stop], len(task.model.intercept)
    _, slope, packed = derivatives(rows, start, stop, task.model, task.loss, with_hessian=True)
    own = packed if task.loss.is_apart else packed[:, np.equal(*np.tril_indices(n_outputs))]
    rows.vectors[start:stop] = 0.0  # there may be room for more
    rows.vectors[start:stop, :n_outputs] = slope * weight[:, None]
    rows.vectors[start:stop, -1] = weight * own.mean(axis=1)


class SquaresTask(NamedTuple):
    """A node, and how many residuals each of its rows has."""

    node: int
    n_outputs: int
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 16 * task.n_outputs)
def residual_squares(rows: Rows, task: SquaresTask) -> float:
    """The weighted sum of squares of the residuals that are stored, the mean over the outputs."""
    here = slice(*rows.span_of(task))
    weight = rows.weight[here]
    squares = (rows.vectors[here, : task.n_outputs] ** 2).mean(axis=1)
    return float(np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0).sum())


class DifferencesTask(NamedTuple):
    """A node, and two models that are compared on its rows."""

    node: int
    left: RowModel
    right: RowModel
    loss: Loss
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 2 * derivative_work(rows, task.loss))
def set_loss_differences(rows: Rows, task: DifferencesTask) -> None:
    """Store (loss under the left model minus that under the right, ..., weight) of every row."""
    start, stop = rows.span_of(task)
    weight = rows.weight[start:stop]
    left, _, _ = derivatives(rows, start, stop, task.left, task.loss)
    right, _, _ = derivatives(rows, start, stop, task.right, task.loss)
    rows.vectors[start:stop] = 0.0
    rows.vectors[start:stop, 0] = (left - right) * weight
    rows.vectors[start:stop, -1] = weight


class TargetTask(NamedTuple):
    """A node, and the number of classes (0: the target is a number)."""

    node: int
    n_classes: int
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 16 + task.n_classes)
def set_target(rows: Rows, task: TargetTask) -> None:
    """Store the target's own statistics: (y, y^2, 1) or one indicator per class, times weight."""
    first, last = rows.span_of(task)
    target, weight = rows.target[first:last], rows.weight[first:last]
    out = rows.vectors[first:last]
    if task.n_classes:
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

    def __iadd__(self, other: BinSums) -> BinSums:
        """The same in place: sums of megabytes take longer to get memory for than to add."""
        add_into(np.add, self.count, other.count)
        add_into(np.add, self.values, other.values)
        add_into(np.add, self.moments, other.moments)
        add_into(np.minimum, self.low, other.low)
        add_into(np.maximum, self.high, other.high)
        add_into(np.add, self.stored, other.stored)
        return self


class Wanted(NamedTuple):
    """What is summed beside the row vectors: their products with columns, squares and ranges.

    Without columns the sums are those of the vectors alone. Columns that rows do not hold are zero;
    the caller fills them.
    """

    n_columns: int = 0
    squares: bool = False
    ranges: bool = False


class BinTask(NamedTuple):
    """A node, a block of features with its number of bins, and what is summed in every bin."""

    node: int
    block: int
    n_bins: int
    wanted: Wanted = Wanted()
    span: Span | None = None


def _vector_work(rows: Rows, wanted: Wanted) -> float:
    """Work of a row in one bin: its vector, times its columns if these are wanted."""
    width = int(rows.vectors.shape[1])
    if not wanted.n_columns:
        return _BIN_WORK + width
    return (width + wanted.squares + 4 * wanted.ranges) * column_work(rows)


def _row_work(rows: Rows, task: BinTask) -> float:
    stored = rows.blocks[task.block]
    n_features = len(stored.idx) / max(len(rows.weight), 1)
    return n_features * _vector_work(rows, task.wanted)


def _slice_work(rows: Rows, task: BinTask) -> float:
    """Work to clear and to add the sums of all bins."""
    width = int(rows.vectors.shape[1]) + task.wanted.squares + 2 * task.wanted.ranges
    return 8.0 * task.n_bins * width * (task.wanted.n_columns + 1)


@in_slices(_row_work, _slice_work, n_beside=lambda rows: len(rows.blocks))
def bin_sums(rows: Rows, task: BinTask) -> BinSums:
    """Sums per bin of one block of features."""
    n_bins, (n_columns, squares, ranges) = task.n_bins, task.wanted
    start, stop = rows.span_of(task)
    given = rows.blocks[task.block]
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
    return BinSums(count, values, moments, *bin_ranges(rows, start, stop, given, n_bins))


class WholeTask(NamedTuple):
    """A node, and what is summed over all its rows."""

    node: int
    wanted: Wanted = Wanted()
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 2 * _vector_work(rows, task.wanted))
def whole_sums(rows: Rows, task: WholeTask) -> BinSums:
    """The same of the whole node, as a single bin."""
    n_columns, squares, ranges = task.wanted
    start, stop = rows.span_of(task)
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
    return BinSums(count, values, moments, *whole_ranges(rows, start, stop))


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
