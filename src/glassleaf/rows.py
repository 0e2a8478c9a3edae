"""The training rows, and every function that touches them.

Each function takes a :class:`Rows` and a node and returns small arrays that can be added over
rows, or changes nothing but the rows' own state: order, units, the vectors of the next search. The
rows of a node lie next to each other, so that kernels run over a plain range; ``route`` keeps it
so.

Dense columns are standardized over all rows. Where those of a node lie so far out or so close
together that sums of squares would lose digits, ``move_dense`` puts them into the node's own units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.compressed import Compressed
from glassleaf.losses import FAR_WRONG, BinaryLogLoss, Loss, MulticlassLogLoss
from glassleaf.scratch import scratch
from glassleaf.transforms import PiecewiseLinear

Floats = NDArray[np.float64]

# Rows below which a node is summed in one task, above which in two tasks, four, and so on: the
# number is even for the sake of two cores, and fixed, for results must not depend on threads.
_UNDIVIDED_ROWS = 6_000
_PAIR_ROWS = 131_072
# With fewer rows per column, adding up the tasks' Hessians would cost more than computing them.
_ROWS_PER_COLUMN = 32
# Rows whose scaled copy stays in the processor's cache.
_CHUNK_ROWS = 4_096
# With more dense columns per factor, a product of matrices for each factor takes less time than one
# for all, before which the products of columns have to be written down.
_COLUMNS_PER_FACTOR = 2


@dataclass
class Rows:
    """The rows of a training set (or of a part of one) and where each node's rows lie."""

    dense: Floats
    sparse: Compressed
    n_sparse: int
    target: Floats
    weight: Floats
    blocks: list[Compressed]
    spans: dict[int, tuple[int, int]]
    vectors: Floats
    held: Floats | None = None  # weights of the rows that are set aside, which have none meanwhile

    @property
    def n_kept(self) -> int:
        """Columns that rows really hold."""
        return int(self.dense.shape[1]) + self.n_sparse


@dataclass(frozen=True)
class DrawnCurve:
    """A dense column that is a curve through another one."""

    place: int
    source: int
    curve: PiecewiseLinear


@dataclass(frozen=True)
class ModelSums:
    """Sums over a node's rows at given parameters; the last column is the constant 1.

    The Hessian is given as one matrix for every pair of outputs, (0, 0), (1, 0), (1, 1) and so on,
    of which the lower triangle counts.
    """

    loss: float
    gradient: Floats  # (outputs, kept columns + 1)
    hessian: Floats | None  # (pairs of outputs, kept columns + 1, kept columns + 1)

    def __add__(self, other: ModelSums) -> ModelSums:
        return ModelSums(
            self.loss + other.loss,
            self.gradient + other.gradient,
            _both(np.add, self.hessian, other.hessian),
        )


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
            _both(np.add, self.moments, other.moments),
            _both(np.minimum, self.low, other.low),
            _both(np.maximum, self.high, other.high),
            _both(np.add, self.stored, other.stored),
        )


# Where the rows of a bin are, seen from a border.
NEITHER, LEFT, RIGHT = 0, 1, 2


@dataclass(frozen=True)
class BinSets:
    """Which of several sets the rows in every bin of a feature belong to.

    ``default`` is the set of rows whose bin is not stored.
    """

    block: int
    first_bin: int
    of_bin: NDArray[np.uint16]
    default: int


@dataclass(frozen=True)
class BorderRows:
    """Rows near a border: their value of the column, and the loss on the left minus the right."""

    value: Floats
    difference: Floats
    weight: Floats
    is_left: NDArray[np.bool_]

    def __add__(self, other: BorderRows) -> BorderRows:
        return BorderRows(
            np.concatenate([self.value, other.value]),
            np.concatenate([self.difference, other.difference]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.is_left, other.is_left]),
        )


def _both(operation: np.ufunc, mine: Any, other: Any) -> Any:
    return None if mine is None else operation(mine, other)


@dataclass(frozen=True)
class SegmentSums:
    """Statistics of several sets of rows, and sums at given parameters; the first axis is the set.

    The other axes are those of ``ModelSums``. Models of the sets, and of unions of them, can be
    fitted from these.
    """

    statistics: Floats
    loss: Floats
    gradient: Floats
    hessian: Floats

    def __add__(self, other: SegmentSums) -> SegmentSums:
        return SegmentSums(
            self.statistics + other.statistics,
            self.loss + other.loss,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
        )

    def beside(self, other: SegmentSums) -> SegmentSums:
        """The sums of these sets, then those of others."""
        return SegmentSums(
            np.concatenate([self.statistics, other.statistics]),
            np.concatenate([self.loss, other.loss]),
            np.concatenate([self.gradient, other.gradient]),
            np.concatenate([self.hessian, other.hessian]),
        )

    def combined(self, members: Floats) -> SegmentSums:
        """Sums over combinations of the sets: each has a row that says how often a set counts."""

        def add(sums: Floats) -> Floats:
            flat = members @ sums.reshape(len(sums), -1)
            return flat.reshape(-1, *sums.shape[1:])

        return SegmentSums(
            add(self.statistics), add(self.loss), add(self.gradient), add(self.hessian)
        )

    def take(self, which: Sequence[int]) -> SegmentSums:
        """The sums of some of the sets."""
        return SegmentSums(
            self.statistics[which], self.loss[which], self.gradient[which], self.hessian[which]
        )

    def of(self, index: int) -> ModelSums:
        """The sums of one set."""
        return ModelSums(float(self.loss[index]), self.gradient[index], self.hessian[index])


@dataclass(frozen=True)
class Ranges:
    """Smallest and largest value of every kept column; of no rows, infinite and inside out."""

    low: Floats
    high: Floats

    def __add__(self, other: Ranges) -> Ranges:
        return Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def n_parts(n_rows: int, n_columns: int = 0) -> int:
    """Into how many parts the sums over so many rows are split."""
    if n_rows < max(_UNDIVIDED_ROWS, _ROWS_PER_COLUMN * n_columns):
        return 1
    return 2 * -(-n_rows // _PAIR_ROWS)


def _part(rows: Rows, node: int, part: int, parts: int) -> tuple[int, int]:
    start, stop = rows.spans[node]
    size = stop - start
    return start + size * part // parts, start + size * (part + 1) // parts


# --- statistics of a node's rows -----------------------------------------------------------------


def node_statistics(rows: Rows, node: int, loss: Loss) -> Floats:
    """Rows, weight, and the sums of columns and squared columns, by weight and by rows.

    The loss's own statistics of the target come last.
    """
    start, stop = rows.spans[node]
    target, weight = rows.target[start:stop], rows.weight[start:stop]
    by_weight = _moments(rows, start, stop, weight)
    if _is_uniform(weight):
        by_row = by_weight / weight[0]
    else:
        by_row = _moments(rows, start, stop, np.ones(stop - start))
    moments = np.stack([by_weight, by_row], axis=1)
    of_target = loss.support(target, weight)
    return np.concatenate([[stop - start, weight.sum()], moments.ravel(), of_target])


def _moments(rows: Rows, start: int, stop: int, factors: Floats) -> Floats:
    """Sums of columns and of squared columns, each times the row's factor: (2, columns)."""
    out = np.empty((2, rows.n_kept))
    _kernels.sum_moments(rows.dense, *rows.sparse.arrays, factors, start, stop, out)
    return out


def _is_uniform(weight: Floats) -> bool:
    return len(weight) > 0 and bool(weight.min() == weight.max() > 0)


def target_sums(rows: Rows, node: int, n_classes: int) -> Floats:
    """Weight of every class in a node or, without classes, the weighted sum of the target."""
    here = slice(*rows.spans[node])
    target, weight = rows.target[here], rows.weight[here]
    if not n_classes:
        return np.array([target @ weight])
    of_classes = np.bincount(target.astype(np.intp), weights=weight, minlength=n_classes)
    return of_classes.astype(np.float64)


def column_ranges(rows: Rows, node: int) -> Ranges:
    """Ranges of the kept columns in a node, in the units in which its rows are stored."""
    start, stop = rows.spans[node]
    low, high, stored = _ranges(rows, node, _one_bin(stop), 1)
    has_zero = np.concatenate([np.zeros(rows.dense.shape[1], dtype=bool), stored[0] < stop - start])
    return Ranges(
        np.where(has_zero, np.minimum(low[0], 0.0), low[0]),
        np.where(has_zero, np.maximum(high[0], 0.0), high[0]),
    )


def move_dense(rows: Rows, node: int, center: Floats, scale: Floats) -> None:
    """Put the dense columns of a node into other units."""
    start, stop = rows.spans[node]
    rows.dense[start:stop] -= center
    rows.dense[start:stop] /= scale


def clip_dense(rows: Rows, node: int, low: Floats, high: Floats) -> None:
    """Clamp the dense columns of a node."""
    start, stop = rows.spans[node]
    np.clip(rows.dense[start:stop], low, high, out=rows.dense[start:stop])


def widen(rows: Rows) -> None:
    """Add a dense column that has no values yet."""
    rows.dense = np.column_stack([rows.dense, np.empty(len(rows.dense))])


def set_curves(
    rows: Rows, node: int, curves: Sequence[DrawnCurve], center: Floats, unit: Floats
) -> None:
    """Compute the curves of a node's rows; ``center`` and ``unit`` are those of dense columns."""
    dense = rows.dense[slice(*rows.spans[node])]
    for own in curves:
        value = own.curve(center[own.source] + unit[own.source] * dense[:, own.source])
        dense[:, own.place] = (value - center[own.place]) / unit[own.place]


def curve_products(rows: Rows, node: int, curves: Sequence[DrawnCurve]) -> Floats:
    """For every curve the weighted sums of it, of its source, and of their product, as stored."""
    here = slice(*rows.spans[node])
    dense, weight = rows.dense[here], rows.weight[here]
    out = np.empty((len(curves), 3))
    for k, own in enumerate(curves):
        curve, source = dense[:, own.place], dense[:, own.source]
        out[k] = weight @ curve, weight @ source, (weight * curve) @ source
    return out


def _column_sums(rows: Rows, start: int, stop: int, factors: Floats) -> Floats:
    """For every factor (a column of ``factors``) its sums with every column, and with the 1."""
    out = np.empty((factors.shape[1], rows.n_kept + 1))
    _kernels.sum_columns(rows.dense, *rows.sparse.arrays, factors, start, stop, out)
    return out


# --- the weak models -----------------------------------------------------------------------------


def raw_prediction(rows: Rows, start: int, stop: int, coef: Floats, intercept: Floats) -> Floats:
    """Linear predictors of some rows, shape (rows, outputs)."""
    out = np.empty((stop - start, len(intercept)))
    _kernels.predict_raw(rows.dense, *rows.sparse.arrays, coef, intercept, start, stop, out)
    return out


def _derivatives(
    rows: Rows,
    start: int,
    stop: int,
    coef: Floats,
    intercept: Floats,
    loss: Loss,
    with_hessian: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Loss, slope (rows, outputs) and packed curvature (rows, pairs of outputs) of some rows."""
    n_outputs = len(intercept)
    raw = raw_prediction(rows, start, stop, coef, intercept)
    given = raw.ravel() if n_outputs == 1 else raw
    value, slope, curvature = loss.derivatives(rows.target[start:stop], given, with_hessian)
    n_pairs = n_outputs * (n_outputs + 1) // 2 if with_hessian else 0
    packed = curvature.reshape(stop - start, n_pairs) if with_hessian else np.zeros((0, 0))
    return value, slope.reshape(stop - start, n_outputs), packed


def model_sums(
    rows: Rows,
    node: int,
    part: int,
    parts: int,
    coef: Floats,
    intercept: Floats,
    loss: Loss,
    with_hessian: bool,
) -> ModelSums:
    """Loss, gradient and (if asked for) Hessian, summed over a part of the node's rows."""
    start, stop = _part(rows, node, part, parts)
    given = (rows, start, stop, coef, intercept)
    is_ours = type(loss) in _KERNEL_OF_LOSS  # one derived from it may have other derivatives
    total = _sums_in_one_kernel if is_ours else _sums_of_any_loss
    value, gradient, curvature = total(*given, loss, with_hessian)
    if not with_hessian:
        return ModelSums(value, gradient, None)
    here = (rows, start, stop)
    if loss.n_outputs == 1:
        hessian = _gram(*here, curvature[:, 0] * rows.weight[start:stop])[None]
    elif is_ours:
        hessian = _hessian_of_shares(*here, curvature, loss.n_outputs)
    else:
        hessian = _grams(*here, curvature, np.arange(curvature.shape[1]))
    return ModelSums(value, gradient, hessian)


def _sums_of_any_loss(
    rows: Rows,
    start: int,
    stop: int,
    coef: Floats,
    intercept: Floats,
    loss: Loss,
    with_hessian: bool,
) -> tuple[float, Floats, Floats]:
    """Loss and gradient, and the curvature of every row, without its weight, if asked for."""
    weight = rows.weight[start:stop]
    value, slope, curvature = _derivatives(rows, start, stop, coef, intercept, loss, with_hessian)
    gradient = _column_sums(rows, start, stop, slope * weight[:, None])
    return float(np.dot(weight, value)), gradient, curvature


# Losses of classes need most passes: theirs are one kernel each.
_KERNEL_OF_LOSS: dict[type[Loss], Callable[..., float]] = {
    BinaryLogLoss: _kernels.sum_log_loss,
    MulticlassLogLoss: _kernels.sum_multiclass_log_loss,
}


def _sums_in_one_kernel(
    rows: Rows,
    start: int,
    stop: int,
    coef: Floats,
    intercept: Floats,
    loss: Loss,
    with_hessian: bool,
) -> tuple[float, Floats, Floats]:
    n_outputs = loss.n_outputs
    gradient = np.empty((n_outputs, rows.n_kept + 1))
    n_curved = stop - start if with_hessian else 0
    curvature = np.empty((n_curved, n_outputs * (n_outputs + 1) // 2))
    given = (rows.dense, *rows.sparse.arrays, rows.target, rows.weight, coef, intercept, FAR_WRONG)
    value = _KERNEL_OF_LOSS[type(loss)](*given, start, stop, gradient, curvature)
    return value, gradient, curvature


def _hessian_of_shares(
    rows: Rows, start: int, stop: int, curvature: Floats, n_outputs: int
) -> Floats:
    """The Hessian of a softmax, all pairs of outputs; only its lower triangles count.

    Shares sum to one, so that what an output has with itself is minus what it has with the others.
    """
    one, other = np.tril_indices(n_outputs)
    mixed, itself = np.flatnonzero(one != other), np.flatnonzero(one == other)
    found = _grams(rows, start, stop, curvature, mixed)
    out = np.zeros((len(one), *found.shape[1:]))
    out[mixed] = found
    for gram, pair in zip(found, mixed, strict=True):
        for output in (one[pair], other[pair]):
            out[itself[output]] -= gram
    return out


def _gram(rows: Rows, start: int, stop: int, factor: Floats) -> Floats:
    """Sums of factor times the products of all pairs of columns, the constant 1 last.

    Only the lower triangle counts.
    """
    size = rows.n_kept + 1
    gram = np.zeros((size, size))
    _put_dense(gram, _dense_gram(rows.dense[start:stop], factor))
    if rows.n_sparse:
        given = (*rows.sparse.arrays, rows.dense, factor, start, stop)
        _kernels.sum_sparse_gram(*given, gram)
    return gram


def _grams(
    rows: Rows, start: int, stop: int, curvature: Floats, places: NDArray[np.intp]
) -> Floats:
    """The same for several factors: the weight times those columns of ``curvature``."""
    n_dense, size = rows.dense.shape[1], rows.n_kept + 1
    out = np.zeros((size, size, len(places)))
    given = (rows.dense, curvature, rows.weight, places, start, stop, out)
    if n_dense < _COLUMNS_PER_FACTOR * len(places):
        _kernels.sum_dense_grams(*given)
    else:
        weight = rows.weight[start:stop]
        for k, place in enumerate(places):
            of_dense = _dense_gram(rows.dense[start:stop], curvature[:, place] * weight)
            _put_dense(out[:, :, k], of_dense)
    if rows.n_sparse:
        _kernels.sum_sparse_grams(*rows.sparse.arrays, *given)
    return np.ascontiguousarray(np.moveaxis(out, 2, 0))


def _dense_gram(dense: Floats, factor: Floats) -> Floats:
    """Sums of factor times the products of dense columns, the constant 1 last.

    ``np.dot`` lets other threads go on meanwhile; the operator ``@`` does not for few columns.
    """
    if factor.min(initial=0.0) < 0:  # as between two classes
        gram = -_dense_gram(dense, np.maximum(-factor, 0.0))
        return gram if factor.max() <= 0 else gram + _dense_gram(dense, np.maximum(factor, 0.0))
    n_rows, n_columns = dense.shape
    products = np.zeros((n_columns + 1, n_columns + 1))
    if _is_uniform(factor):
        products[:-1, :-1] = np.dot(dense.T, dense)
        products[-1, :-1], products[-1, -1] = np.dot(np.ones(n_rows), dense), n_rows
        return np.asarray(factor[0] * products)
    memory = scratch("scaled", (min(n_rows, _CHUNK_ROWS), n_columns + 1))
    for first in range(0, n_rows, _CHUNK_ROWS):
        last = min(first + _CHUNK_ROWS, n_rows)
        scaled = memory[: last - first]
        _kernels.scale_rows(dense, factor, first, last, scaled)
        # The product of a matrix with itself is half the work of any other, and numpy knows it.
        products += np.dot(scaled.T, scaled)
    return products


def _put_dense(gram: Floats, of_dense: Floats) -> None:
    """Put the products of the dense columns and the constant into those of all columns."""
    n_dense = len(of_dense) - 1
    gram[:n_dense, :n_dense] = of_dense[:-1, :-1]
    gram[-1, :n_dense], gram[-1, -1] = of_dense[-1, :-1], of_dense[-1, -1]


def segment_sums(
    rows: Rows,
    node: int,
    sets: BinSets,
    n_sets: int,
    coef: Floats,
    intercept: Floats,
    loss: Loss,
) -> SegmentSums:
    """Statistics, loss, gradient and Hessian of a node's rows, apart by the bins of a feature."""
    start, stop = rows.spans[node]
    set_of_row = _sets_of_rows(rows, start, stop, sets)
    order = np.argsort(set_of_row, kind="stable")
    ends = np.cumsum([0, *np.bincount(set_of_row, minlength=n_sets)])
    places = [order[first:last] for first, last in pairwise(ends)]
    return _sums_of_sets(rows, start, places, coef, intercept, loss)


def moved_sums(
    rows: Rows,
    node: int,
    sides: BinSets,
    place: int,
    last_left: float,
    coef: Floats,
    intercept: Floats,
    loss: Loss,
) -> SegmentSums:
    """The same of the rows that a new border moves from right to left, and from left to right.

    Left of it are those whose dense column ``place`` is at most ``last_left``.
    """
    start, stop = rows.spans[node]
    side = _sets_of_rows(rows, start, stop, sides)
    is_left = rows.dense[start:stop, place] <= last_left
    places = [np.flatnonzero((side == RIGHT) & is_left), np.flatnonzero((side == LEFT) & ~is_left)]
    return _sums_of_sets(rows, start, places, coef, intercept, loss)


def _sums_of_sets(
    rows: Rows,
    start: int,
    places: Sequence[NDArray[np.intp]],
    coef: Floats,
    intercept: Floats,
    loss: Loss,
) -> SegmentSums:
    statistics, sums = [], []
    for own_places in places:
        own = _copy(rows, start, own_places)
        statistics.append(node_statistics(own, 0, loss))
        sums.append(model_sums(own, 0, 0, 1, coef, intercept, loss, True))
    return SegmentSums(
        np.array(statistics),
        np.array([one.loss for one in sums]),
        np.array([one.gradient for one in sums]),
        np.array([one.hessian for one in sums]),
    )


def _copy(rows: Rows, start: int, places: NDArray[np.intp]) -> Rows:
    """The rows ``start + places`` as those of node 0, without what only a search needs."""
    dense, target, weight = (
        np.take(own[start:], places, axis=0) for own in (rows.dense, rows.target, rows.weight)
    )
    sparse = rows.sparse.taken(start, places) if rows.n_sparse else rows.sparse
    spans = {0: (0, len(places))}
    return Rows(dense, sparse, rows.n_sparse, target, weight, [], spans, np.zeros((0, 0)))


def _sets_of_rows(rows: Rows, start: int, stop: int, sets: BinSets) -> NDArray[np.uint16]:
    out = np.empty(stop - start, dtype=np.uint16)
    given = rows.blocks[sets.block]
    _kernels.find_segments(
        given.ptr, given.idx, start, stop, sets.of_bin, sets.first_bin, sets.default, out
    )
    return out


def border_rows(
    rows: Rows,
    node: int,
    sides: BinSets,
    place: int,
    left: tuple[Floats, Floats],
    right: tuple[Floats, Floats],
    loss: Loss,
) -> BorderRows:
    """The rows in bins on either side of a border, with their dense column ``place``.

    ``left`` and ``right`` are coefficients and intercepts.
    """
    start, stop = rows.spans[node]
    side = _sets_of_rows(rows, start, stop, sides)
    near = np.flatnonzero(side != NEITHER)
    own = _copy(rows, start, near)
    on_left, _, _ = _derivatives(own, 0, len(near), *left, loss)
    on_right, _, _ = _derivatives(own, 0, len(near), *right, loss)
    value = np.ascontiguousarray(own.dense[:, place])
    difference = (on_left - on_right) * own.weight
    return BorderRows(value, difference, own.weight, side[near] == LEFT)


# --- the split search ----------------------------------------------------------------------------


def set_residuals(
    rows: Rows, node: int, part: int, parts: int, coef: Floats, intercept: Floats, loss: Loss
) -> None:
    """Store (r, weight) of every row: r is the gradient of the loss by the raw prediction."""
    start, stop = _part(rows, node, part, parts)
    weight = rows.weight[start:stop]
    _, slope, _ = _derivatives(rows, start, stop, coef, intercept, loss)
    rows.vectors[start:stop, :-1] = slope * weight[:, None]
    rows.vectors[start:stop, -1] = weight


def set_newton_residuals(
    rows: Rows, node: int, part: int, parts: int, coef: Floats, intercept: Floats, loss: Loss
) -> None:
    """Store (r, ..., curvature) of every row; with several outputs, the mean of theirs."""
    start, stop = _part(rows, node, part, parts)
    weight = rows.weight[start:stop]
    _, slope, packed = _derivatives(rows, start, stop, coef, intercept, loss, with_hessian=True)
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
    left, _, _ = _derivatives(rows, start, stop, left_coef, left_intercept, loss)
    right, _, _ = _derivatives(rows, start, stop, right_coef, right_intercept, loss)
    rows.vectors[start:stop] = 0.0
    rows.vectors[start:stop, 0] = (left - right) * weight
    rows.vectors[start:stop, -1] = weight


def set_target(rows: Rows, node: int, part: int, parts: int, n_classes: int) -> None:
    """Store the target's own statistics: (y, y^2, 1) or one indicator per class, times weight."""
    first, last = _part(rows, node, part, parts)
    target, weight = rows.target[first:last], rows.weight[first:last]
    out = rows.vectors[first:last]
    if n_classes:
        out[:, :-1] = 0.0
        out[np.arange(last - first), target.astype(np.intp)] = weight
    else:
        out[:, 0] = target * weight
        out[:, 1] = target * target * weight
    out[:, -1] = weight


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
    return BinSums(count, values, moments, *_ranges(rows, node, where, n_bins))


def _whole_sums(rows: Rows, node: int, n_columns: int, squares: bool, ranges: bool) -> BinSums:
    start, stop = rows.spans[node]
    vectors = rows.vectors[start:stop]
    count = np.array([stop - start])
    if not n_columns:
        return BinSums(count, vectors.sum(axis=0)[None])
    sums = _column_sums(rows, start, stop, vectors)
    values, width = sums[:, -1][None], vectors.shape[1]
    moments = np.zeros((1, width + squares, n_columns))
    moments[0, :width, : rows.n_kept] = sums[:, :-1]
    if squares:
        weight = np.ascontiguousarray(vectors[:, -1])
        of_weight = _moments(rows, start, stop, weight)
        moments[0, width - 1 :, : rows.n_kept] = of_weight
    if not ranges:
        return BinSums(count, values, moments)
    return BinSums(count, values, moments, *_ranges(rows, node, _one_bin(stop), 1))


def _one_bin(stop: int) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    return np.arange(stop + 1), np.zeros(stop, dtype=np.uint16)


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


def _ranges(
    rows: Rows, node: int, where: tuple[NDArray[np.int64], NDArray[np.uint16]], n_bins: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
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


# --- routing -------------------------------------------------------------------------------------


def route(
    rows: Rows,
    node: int,
    children: tuple[int, int],
    sides: BinSets,
    place: int,
    last_left: float,
) -> None:
    """Send the node's rows to its children, left ones first, keeping their order otherwise.

    Of bins on neither side, the rows go left whose dense column ``place`` is at most ``last_left``.
    """
    start, stop = rows.spans.pop(node)
    side = _sets_of_rows(rows, start, stop, sides)
    to_left = side == LEFT
    if (sides.of_bin == NEITHER).any():
        to_left |= (side == NEITHER) & (rows.dense[start:stop, place] <= last_left)
    order = np.concatenate([np.flatnonzero(to_left), np.flatnonzero(~to_left)])
    here = slice(start, stop)
    for own in (rows.dense, rows.target, rows.weight, rows.held):
        if own is not None:
            own[here] = np.take(own[here], order, axis=0)
    if rows.n_sparse:
        rows.sparse.reorder(start, stop, order)
    for stored in rows.blocks:
        stored.reorder(start, stop, order)
    middle = start + int(to_left.sum())
    rows.spans[children[0]] = (start, middle)
    rows.spans[children[1]] = (middle, stop)


def merge(rows: Rows, node: int, children: tuple[int, int]) -> None:
    """Undo ``route``: the rows of two children are their parent's again."""
    start, _ = rows.spans.pop(children[0])
    _, stop = rows.spans.pop(children[1])
    rows.spans[node] = (start, stop)


def cover(rows: Rows, node: int, children: tuple[int, int]) -> None:
    """Give a node the rows of its children, which keep them."""
    rows.spans[node] = (rows.spans[children[0]][0], rows.spans[children[1]][1])


def rename(rows: Rows, number: dict[int, int]) -> None:
    """Give nodes new numbers, and forget those without."""
    rows.spans = {number[node]: span for node, span in rows.spans.items() if node in number}


# --- rows set aside ------------------------------------------------------------------------------


def held_loss(rows: Rows, node: int, coef: Floats, intercept: Floats, loss: Loss) -> float:
    """Loss of a node's rows that are set aside."""
    assert rows.held is not None
    start, stop = rows.spans[node]
    value, _, _ = _derivatives(rows, start, stop, coef, intercept, loss)
    return float(rows.held[start:stop] @ value)


def take_back(rows: Rows) -> None:
    """Give the rows that are set aside their weight again."""
    assert rows.held is not None
    rows.weight += rows.held
    rows.held[:] = 0.0
