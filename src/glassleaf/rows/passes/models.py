"""Pass one: loss, gradient and Hessian of a node's rows at given parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf._kernels.scratch import scratch
from glassleaf.losses import FAR_WRONG, BinaryLogLoss, Loss, MulticlassLogLoss
from glassleaf.rows.passes.data import (
    Rows,
    Span,
    both_or_none,
    column_work,
    copy_rows,
    is_uniform,
)
from glassleaf.rows.slices import in_slices
from glassleaf.tables.summaries import Several, values_of

Floats = NDArray[np.float64]

# Rows whose scaled copy stays in the processor's cache.
_CHUNK_ROWS = 4_096
# With more dense columns per factor, a product of matrices for each factor takes less time than one
# for all, before which the products of columns have to be written down.
_COLUMNS_PER_FACTOR = 2
# Work in units of a dense column of a row: its loss per output; in a Hessian, the product of two
# dense columns, one with a sparse entry, and a number of the matrix itself.
_LOSS_WORK = 40.0
_PRODUCT_WORK = 0.25
_SPARSE_PRODUCT_WORK = 3.0
_NUMBER_WORK = 32.0


@dataclass(frozen=True)
class ModelSums:
    """Sums over a node's rows at given parameters; the last column is the constant 1.

    The Hessian is given as one matrix for every pair of outputs, (0, 0), (1, 0), (1, 1) and so on,
    or for every output if these are apart (see ``Loss.is_apart``); the lower triangle counts.
    """

    loss: float
    gradient: Floats  # (outputs, kept columns + 1)
    hessian: Floats | None  # (pairs of outputs, kept columns + 1, kept columns + 1)
    pearson: float = 0.0  # squared slopes over curvatures, where these tell of overdispersion

    def __add__(self, other: ModelSums) -> ModelSums:
        return ModelSums(
            self.loss + other.loss,
            self.gradient + other.gradient,
            both_or_none(np.add, self.hessian, other.hessian),
            self.pearson + other.pearson,
        )


class RowModel(NamedTuple):
    """A linear model of the columns that rows hold."""

    coef: Floats  # (outputs, kept columns)
    intercept: Floats  # (outputs,)


def raw_prediction(rows: Rows, start: int, stop: int, model: RowModel) -> Floats:
    """Linear predictors of some rows, shape (rows, outputs)."""
    out = np.empty((stop - start, len(model.intercept)))
    _kernels.predict_raw(rows.dense, *rows.sparse.arrays, *model, start, stop, out)
    return out


def derivatives(
    rows: Rows,
    start: int,
    stop: int,
    model: RowModel,
    loss: Loss,
    with_hessian: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Loss, slope (rows, outputs) and packed curvature (rows, matrices) of some rows."""
    n_outputs = len(model.intercept)
    raw = raw_prediction(rows, start, stop, model)
    given = raw.ravel() if n_outputs == 1 else raw
    if with_hessian and loss.is_apart:
        return loss.derivatives_apart(rows.target[start:stop], given)
    value, slope, curvature = loss.derivatives(rows.target[start:stop], given, with_hessian)
    shape = (stop - start, n_matrices(loss))
    packed = curvature.reshape(shape) if with_hessian else np.zeros((0, 0))
    return value, slope.reshape(stop - start, n_outputs), packed


def n_matrices(loss: Loss) -> int:
    """How many matrices a Hessian consists of: one for every pair of outputs, or for every one."""
    n_outputs = loss.n_outputs
    return n_outputs if loss.is_apart else n_outputs * (n_outputs + 1) // 2


class ModelTask(NamedTuple):
    """A node, the model and its loss, and whether the Hessian is asked for."""

    node: int
    model: RowModel
    loss: Loss
    with_hessian: bool
    span: Span | None = None


def derivative_work(rows: Rows, loss: Loss) -> float:
    """Work of a row whose loss and gradient are computed."""
    return loss.n_outputs * (_LOSS_WORK + 2 * column_work(rows))


def hessian_work(rows: Rows, loss: Loss) -> float:
    """Work of a row in a Hessian."""
    sparse = rows.n_entries * (rows.n_entries / 2 + rows.n_dense)
    one = _PRODUCT_WORK * rows.n_dense**2 + _SPARSE_PRODUCT_WORK * sparse
    return one * n_matrices(loss)


def matrix_work(rows: Rows, loss: Loss) -> float:
    """Work of a Hessian however few rows it has: to clear, complete and add its numbers."""
    return _NUMBER_WORK * (rows.n_kept + 1) ** 2 * n_matrices(loss)


def _row_work(rows: Rows, task: ModelTask) -> float:
    of_hessian = hessian_work(rows, task.loss) if task.with_hessian else 0.0
    return derivative_work(rows, task.loss) + of_hessian


def _slice_work(rows: Rows, task: ModelTask) -> float:
    return matrix_work(rows, task.loss) if task.with_hessian else 0.0


@in_slices(_row_work, _slice_work)
def model_sums(rows: Rows, task: ModelTask) -> ModelSums:
    """Loss, gradient and (if asked for) Hessian, summed over the node's rows."""
    here = (rows, *rows.span_of(task))
    return sums_of_rows(*here, task.model, task.loss, task.with_hessian)


def sums_of_rows(
    rows: Rows, start: int, stop: int, model: RowModel, loss: Loss, with_hessian: bool
) -> ModelSums:
    """The same of any rows that lie next to each other."""
    is_ours = type(loss) in _KERNEL_OF_LOSS  # one derived from it may have other derivatives
    total = _sums_in_one_kernel if is_ours else _sums_of_any_loss
    here = (rows, start, stop)
    value, gradient, curvature, pearson = total(*here, model, loss, with_hessian)
    if not with_hessian:
        return ModelSums(value, gradient, None)
    if loss.n_outputs == 1:
        hessian = _gram(*here, curvature[:, 0] * rows.weight[start:stop])[None]
    elif is_ours and not loss.is_apart:
        hessian = _hessian_of_shares(*here, curvature, loss.n_outputs)
    else:
        hessian = _grams(*here, curvature, np.arange(curvature.shape[1]))
    return ModelSums(value, gradient, hessian, pearson)


def _sums_of_any_loss(
    rows: Rows, start: int, stop: int, model: RowModel, loss: Loss, with_hessian: bool
) -> tuple[float, Floats, Floats, float]:
    """Loss and gradient; the curvature of every row, without its weight, if asked for; Pearson's.

    The latter is summed where there are curvatures and counts may be overdispersed.
    """
    weight = rows.weight[start:stop]
    value, slope, curvature = derivatives(rows, start, stop, model, loss, with_hessian)
    gradient = column_sums(rows, start, stop, slope * weight[:, None])
    pearson = 0.0
    if with_hessian and loss.is_overdispersed:
        ratio = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
        pearson = float(np.dot(weight, (slope * ratio)[:, 0]))
    return float(np.dot(weight, value)), gradient, curvature, pearson


def column_sums(rows: Rows, start: int, stop: int, factors: Floats) -> Floats:
    """For every factor (a column of ``factors``) its sums with every column, and with the 1."""
    out = np.empty((factors.shape[1], rows.n_kept + 1))
    _kernels.sum_columns(rows.dense, *rows.sparse.arrays, factors, start, stop, out)
    return out


# Losses of classes need most passes: each has one kernel for all of it.
_KERNEL_OF_LOSS: dict[type[Loss], Callable[..., float]] = {
    BinaryLogLoss: _kernels.sum_log_loss,
    MulticlassLogLoss: _kernels.sum_multiclass_log_loss,
}


def _sums_in_one_kernel(
    rows: Rows, start: int, stop: int, model: RowModel, loss: Loss, with_hessian: bool
) -> tuple[float, Floats, Floats, float]:
    n_outputs = loss.n_outputs
    gradient = np.empty((n_outputs, rows.n_kept + 1))
    n_curved = stop - start if with_hessian else 0
    curvature = np.empty((n_curved, n_matrices(loss)))
    given = (rows.dense, *rows.sparse.arrays, rows.target, rows.weight, *model, FAR_WRONG)
    value = _KERNEL_OF_LOSS[type(loss)](*given, start, stop, gradient, curvature)
    return value, gradient, curvature, 0.0


def _hessian_of_shares(
    rows: Rows, start: int, stop: int, curvature: Floats, n_outputs: int
) -> Floats:
    """The Hessian of a softmax, all pairs of outputs; only its lower triangles count.

    Shares sum to one, so that the block of an output with itself is minus the sum of its others.
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
    if is_uniform(factor):
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


def gradient_products(rows: Rows, start: int, stop: int, model: RowModel, loss: Loss) -> Floats:
    """Sum of the outer products of the rows' gradients by all parameters, output by output.

    It is one matrix, or one for every output if these are apart.
    """
    n_outputs, size = loss.n_outputs, rows.n_kept + 1
    weight = rows.weight[start:stop]
    _, slope, _ = derivatives(rows, start, stop, model, loss)
    if n_outputs == 1:
        with np.errstate(over="ignore"):  # of a count that a long step led far astray
            squares = (slope[:, 0] * weight) ** 2
        return _symmetric(_gram(rows, start, stop, squares))[None]
    if loss.is_apart:
        grams = _grams(rows, start, stop, slope**2 * weight[:, None], np.arange(n_outputs))
        return np.array([_symmetric(gram) for gram in grams])
    first, second = np.tril_indices(n_outputs)
    squares = slope[:, first] * slope[:, second] * weight[:, None]  # times the weight once more
    grams = _grams(rows, start, stop, squares, np.arange(len(first)))
    out = np.empty((n_outputs, size, n_outputs, size))
    for gram, one, other in zip(map(_symmetric, grams), first, second, strict=True):
        out[one, :, other] = out[other, :, one] = gram
    return out.reshape(1, n_outputs * size, -1)


def residual_products(rows: Rows, start: int, stop: int, model: RowModel, loss: Loss) -> Floats:
    """Sums of the products of two outputs' residuals: (outputs, outputs)."""
    _, slope, _ = derivatives(rows, start, stop, model, loss)
    slope *= rows.weight[start:stop, None]
    return np.asarray(np.dot(slope.T, slope))


def _symmetric(lower: Floats) -> Floats:
    """A matrix of which only the lower triangle counts, in full."""
    return np.tril(lower) + np.tril(lower, -1).T


class HeldLossTask(NamedTuple):
    """A node, its model and the loss."""

    node: int
    model: RowModel
    loss: Loss
    span: Span | None = None


@in_slices(row_work=lambda rows, task: derivative_work(rows, task.loss))
def held_loss(rows: Rows, task: HeldLossTask) -> float:
    """Loss of a node's rows that are set aside."""
    assert rows.held is not None
    start, stop = rows.span_of(task)
    value, _, _ = derivatives(rows, start, stop, task.model, task.loss)
    return float(rows.held[start:stop] @ value)


class ScoreTask(NamedTuple):
    """A node and its model."""

    node: int
    model: RowModel
    span: Span | None = None


@dataclass(frozen=True)
class ScoreRanges:
    """Smallest and largest score and target; adding two gives those of all rows."""

    score: Floats
    target: Floats

    def __add__(self, other: ScoreRanges) -> ScoreRanges:
        return ScoreRanges(
            _both_ends(self.score, other.score), _both_ends(self.target, other.target)
        )


@in_slices(row_work=lambda rows, task: 4 + 2 * column_work(rows))
def score_ranges(rows: Rows, task: ScoreTask) -> ScoreRanges:
    """Between which scores and targets a node's rows lie; for one output."""
    start, stop = rows.span_of(task)
    raw = raw_prediction(rows, start, stop, task.model)
    return ScoreRanges(_ends(raw), _ends(rows.target[start:stop]))


def _ends(values: Floats) -> Floats:
    return np.array([values.min(initial=np.inf), values.max(initial=-np.inf)])


def _both_ends(one: Floats, other: Floats) -> Floats:
    return np.array([min(one[0], other[0]), max(one[1], other[1])])


class PredictionsTask(NamedTuple):
    """A node, its finished model, the limits of its scores, and how many values a summary holds."""

    node: int
    model: RowModel
    low: Floats
    high: Floats
    loss: Loss
    limit: float
    span: Span | None = None


def predictions(rows: Rows, task: PredictionsTask) -> Several:
    """The distinct predictions of a node's rows, one summary per score."""
    start, stop = rows.span_of(task)
    raw = np.clip(raw_prediction(rows, start, stop, task.model), task.low, task.high)
    return summarized_predictions(raw, task.loss, task.limit)


def summarized_predictions(raw: Floats, loss: Loss, limit: float) -> Several:
    """The distinct predictions at some raw scores, one summary per score."""
    scores = loss.scores_to_watch(raw)
    return Several(values_of(own.copy(), None, limit) for own in scores.T)


# Scores nearer to each other than this have no secant but rounding.
_APART = 1e-3


class FoldTask(NamedTuple):
    """A node, its model, a constant model (one score per output), the loss, how many folds."""

    node: int
    model: RowModel
    constant: Floats
    loss: Loss
    n_folds: int
    span: Span | None = None


@dataclass(frozen=True)
class FoldSums:
    """``ModelSums`` with Hessians, one for each fold, along the first axis."""

    loss: Floats
    gradient: Floats
    hessian: Floats

    def __add__(self, other: FoldSums) -> FoldSums:
        return FoldSums(
            self.loss + other.loss,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
        )


def _fold_work(rows: Rows, task: FoldTask) -> float:
    return derivative_work(rows, task.loss) + hessian_work(rows, task.loss)


def _fold_slice_work(rows: Rows, task: FoldTask) -> float:
    return task.n_folds * matrix_work(rows, task.loss)


@in_slices(_fold_work, _fold_slice_work)
def fold_sums(rows: Rows, task: FoldTask) -> FoldSums:
    """The sums of a node, fold by fold."""
    n_outputs, size = task.loss.n_outputs, rows.n_kept + 1
    n_pairs = n_outputs * (n_outputs + 1) // 2
    out = FoldSums(
        np.zeros(task.n_folds),
        np.zeros((task.n_folds, n_outputs, size)),
        np.zeros((task.n_folds, n_pairs, size, size)),
    )
    for fold, own_rows in _folds(rows, task):
        size = len(own_rows.target)
        own = sums_of_rows(own_rows, 0, size, task.model, task.loss, with_hessian=False)
        out.loss[fold] += own.loss
        out.gradient[fold] += own.gradient
        out.hessian[fold] += _hessian_on_the_way(own_rows, task)
    return out


def _hessian_on_the_way(rows: Rows, task: FoldTask) -> Floats:
    """The Hessian that tells best what models between that of a node and a constant lose.

    Where a model is nearly sure of its rows, the loss is flat: its own Hessian says that any score
    is as good. Several outputs have theirs halfway to the constant.
    """
    loss, size = task.loss, len(rows.target)
    if loss.n_outputs > 1 or loss.is_quadratic:
        at = task.model
        if not loss.is_quadratic:
            at = RowModel(at.coef / 2, (at.intercept + task.constant) / 2)
        found = sums_of_rows(rows, 0, size, at, loss, with_hessian=True).hessian
        assert found is not None
        return found
    raw = raw_prediction(rows, 0, size, task.model).ravel()
    return _gram(rows, 0, size, rows.weight * _secant_curvature(rows.target, raw, task))[None]


def _secant_curvature(target: Floats, raw: Floats, task: FoldTask) -> Floats:
    """The curvature of the parabola that touches a row's loss at its score, and meets it again.

    It meets it at the score of the constant model; where both are the same, they say the same.
    """
    value, slope, curvature = task.loss.derivatives(target, raw, True)
    far, _, _ = task.loss.derivatives(target, np.full_like(raw, task.constant[0]), False)
    way = task.constant[0] - raw
    is_apart = np.abs(way) > _APART
    rest = far - value - slope.ravel() * way
    return np.where(is_apart, 2 * rest / np.where(is_apart, way, 1.0) ** 2, curvature.ravel())


def _folds(rows: Rows, task: FoldTask | FoldLossTask) -> Iterator[tuple[int, Rows]]:
    """Every fold and its rows among those of a task."""
    start, stop = rows.span_of(task)
    assert rows.fold is not None
    for fold in range(task.n_folds):
        places = np.flatnonzero(rows.fold[start:stop] == fold)
        if len(places):
            yield fold, copy_rows(rows, start, places)


# --- several models at once ----------------------------------------------------------------------


class SeveralModels(NamedTuple):
    """Linear models of the same columns; the outputs of one model lie together."""

    coef: Floats  # (models * outputs, kept columns)
    intercept: Floats  # (models * outputs,)


class SeveralTask(NamedTuple):
    """A node, its models, the loss, and whether gradients are asked for."""

    node: int
    models: SeveralModels
    loss: Loss
    with_gradient: bool = True
    span: Span | None = None


@dataclass(frozen=True)
class SeveralSums:
    """Losses and gradients of several models, and their smallest and largest scores.

    Gradients that were not asked for are zero.
    """

    loss: Floats  # (models,)
    gradient: Floats  # (models * outputs, kept columns + 1)
    low: Floats  # (models * outputs,)
    high: Floats

    def __add__(self, other: SeveralSums) -> SeveralSums:
        return SeveralSums(
            self.loss + other.loss,
            self.gradient + other.gradient,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


def _several_work(rows: Rows, task: SeveralTask) -> float:
    n_models = len(task.models.intercept) / task.loss.n_outputs
    return n_models * derivative_work(rows, task.loss)


@in_slices(_several_work)
def several_sums(rows: Rows, task: SeveralTask) -> SeveralSums:
    """Losses, gradients and ranges of several models, over the node's rows."""
    start, stop = rows.span_of(task)
    raw = _several_scores(rows, start, stop, task.models)
    value, slope = _several_derivatives(rows.target[start:stop], raw, task.loss)
    weight = rows.weight[start:stop]
    gradient = np.zeros((slope.shape[1], rows.n_kept + 1))
    if task.with_gradient:
        slope *= weight[:, None]
        _several_gradients(rows, start, stop, slope, gradient)
    low, high = raw.min(axis=0, initial=np.inf), raw.max(axis=0, initial=-np.inf)
    return SeveralSums(np.dot(weight, value), gradient, low, high)


def _several_gradients(rows: Rows, start: int, stop: int, slope: Floats, gradient: Floats) -> None:
    gradient[:, : rows.n_dense] = np.dot(slope.T, rows.dense[start:stop])
    if rows.n_sparse:
        gradient[:, rows.n_dense :] = column_sums(rows, start, stop, slope)[:, rows.n_dense :]
    gradient[:, -1] = slope.sum(axis=0)


class FoldLossTask(NamedTuple):
    """A node, several models for each fold, the limits of their scores, and the loss."""

    node: int
    models: Sequence[SeveralModels]
    low: Floats  # (models * outputs,)
    high: Floats
    loss: Loss
    span: Span | None = None

    @property
    def n_folds(self) -> int:
        return len(self.models)


def _fold_loss_work(rows: Rows, task: FoldLossTask) -> float:
    n_models = len(task.models[0].intercept) / task.loss.n_outputs
    return n_models * derivative_work(rows, task.loss)


@in_slices(_fold_loss_work)
def fold_losses(rows: Rows, task: FoldLossTask) -> Floats:
    """Losses of every fold's own models on its rows: (folds, models)."""
    out = np.zeros((task.n_folds, len(task.models[0].intercept) // task.loss.n_outputs))
    for fold, own in _folds(rows, task):
        raw = _several_scores(own, 0, len(own.target), task.models[fold])
        np.clip(raw, task.low, task.high, out=raw)
        value, _ = _several_derivatives(own.target, raw, task.loss)
        out[fold] += np.dot(own.weight, value)
    return out


def _several_derivatives(target: Floats, raw: Floats, loss: Loss) -> tuple[Floats, Floats]:
    """Loss (rows, models) and slope (rows, models * outputs) of some rows under several models."""
    n_models = raw.shape[1] // loss.n_outputs
    given = raw.ravel() if loss.n_outputs == 1 else raw.reshape(-1, loss.n_outputs)
    value, slope, _ = loss.derivatives(np.repeat(target, n_models), given, False)
    return value.reshape(-1, n_models), slope.reshape(raw.shape)


def _several_scores(rows: Rows, start: int, stop: int, models: SeveralModels) -> Floats:
    """Scores of some rows under several models: (rows, models * outputs)."""
    raw = np.dot(rows.dense[start:stop], models.coef[:, : rows.n_dense].T) + models.intercept
    if rows.n_sparse:
        of_sparse = models.coef.copy()
        of_sparse[:, : rows.n_dense] = 0.0
        raw += raw_prediction(rows, start, stop, RowModel(of_sparse, np.zeros(raw.shape[1])))
    return np.asarray(raw)
