"""How the gradients of a node's rows, or of groups of them, scatter on the sides of a split.

A row's vector has its gradient in the first half if the row is on the left, in the second half if
it is on the right, and zeros in the other. A half holds all columns of the first output and its
constant, then those of the next. So a sum over either side is linear in these vectors. Outputs that
are apart have a vector each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.losses import Loss
from glassleaf.rows.passes.data import (
    LEFT,
    RIGHT,
    BinSegments,
    Rows,
    Span,
    copy_rows,
    segments_of_rows,
)
from glassleaf.rows.passes.models import (
    RowModel,
    derivative_work,
    derivatives,
    gradient_products,
    hessian_work,
    matrix_work,
    residual_products,
)
from glassleaf.rows.passes.segments import COPY_WORK
from glassleaf.rows.slices import in_slices

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# Rows whose gradients are written down at a time; a group is never cut.
_CHUNK_ROWS = 4_096


@dataclass(frozen=True)
class Scatter:
    """Sum of the outer products of vectors, and how many of these reach the left and the right.

    There is one matrix of products, or one for every output if these are apart; ``between`` are
    then the products of two outputs' residuals.
    """

    products: Floats
    between: Floats
    count: Floats

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(
            self.products + other.products,
            self.between + other.between,
            self.count + other.count,
        )


class ScatterTask(NamedTuple):
    """A node, the sides of a split of it, and the model of each at which gradients are taken."""

    node: int
    sides: BinSegments
    models: tuple[RowModel, RowModel]
    loss: Loss
    span: Span | None = None


def _row_work(rows: Rows, task: ScatterTask) -> float:
    return COPY_WORK + derivative_work(rows, task.loss) + hessian_work(rows, task.loss)


def _slice_work(rows: Rows, task: ScatterTask) -> float:
    return 4 * matrix_work(rows, task.loss)


@in_slices(_row_work, _slice_work)
def row_scatter(rows: Rows, task: ScatterTask) -> Scatter:
    """How the vectors of rows scatter."""
    start, places = _sides(rows, task)
    n_apart, size = _shape(rows, task.loss)
    products, between = np.zeros((n_apart, 2 * size, 2 * size)), np.zeros((n_apart, n_apart))
    for half, (own_places, model) in enumerate(zip(places, task.models, strict=True)):
        own = copy_rows(rows, start, own_places)
        here = slice(half * size, (half + 1) * size)
        products[:, here, here] = gradient_products(own, 0, len(own_places), model, task.loss)
        if task.loss.is_apart:
            between += residual_products(own, 0, len(own_places), model, task.loss)
    return Scatter(products, between, np.array([len(own) for own in places], dtype=np.float64))


def group_scatter(rows: Rows, task: ScatterTask) -> Scatter:
    """How the sums of the vectors of groups of rows scatter. All rows of a group are here."""
    assert rows.group is not None
    start, places = _sides(rows, task)
    n_apart, size = _shape(rows, task.loss)
    place = np.concatenate(places)
    half = np.repeat([0, 1], [len(own) for own in places])
    order = np.argsort(rows.group[start + place], kind="stable")
    place, half = place[order], half[order]
    found = Scatter(
        np.zeros((n_apart, 2 * size, 2 * size)), np.zeros((n_apart, n_apart)), np.zeros(2)
    )
    for here, first_rows in _chunks(rows.group[start + place]):
        vectors = np.zeros((len(half[here]), 2, n_apart * size))
        for side, model in enumerate(task.models):
            own = half[here] == side
            vectors[own, side] = _gradients(
                copy_rows(rows, start, place[here][own]), model, task.loss
            )
        sums = np.add.reduceat(vectors.reshape(len(vectors), -1), first_rows)
        reached = [np.maximum.reduceat(half[here] == side, first_rows).sum() for side in (0, 1)]
        by_output = sums.reshape(-1, 2, n_apart, size).transpose(2, 0, 1, 3)
        residuals = by_output[:, :, :, -1].reshape(n_apart, -1)
        own_sums = by_output.reshape(n_apart, -1, 2 * size)
        found += Scatter(
            np.matmul(own_sums.transpose(0, 2, 1), own_sums),
            residuals @ residuals.T,
            np.array(reached, dtype=np.float64),
        )
    return found


def _shape(rows: Rows, loss: Loss) -> tuple[int, int]:
    """How many vectors a row has, and how many numbers a half of each."""
    size = rows.n_kept + 1
    return (loss.n_outputs, size) if loss.is_apart else (1, loss.n_outputs * size)


def _sides(rows: Rows, task: ScatterTask) -> tuple[int, tuple[Places, Places]]:
    start, stop = rows.span_of(task)
    side = segments_of_rows(rows, start, stop, task.sides)
    return start, (np.flatnonzero(side == LEFT), np.flatnonzero(side == RIGHT))


def _chunks(group: NDArray[np.int64]) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Slices of sorted groups, none of which is cut, and where in a slice its groups begin."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    chunk = np.flatnonzero(np.diff(first // _CHUNK_ROWS, prepend=-1))  # number of its first group
    for here, after in pairwise([*chunk.tolist(), len(first)]):
        stop = int(first[after]) if after < len(first) else len(group)
        yield slice(int(first[here]), stop), first[here:after] - first[here]


def _gradients(rows: Rows, model: RowModel, loss: Loss) -> Floats:
    """The gradients of rows by all parameters, output by output."""
    n_rows = len(rows.weight)
    columns = np.ones((n_rows, rows.n_kept + 1))
    columns[:, : rows.n_dense] = rows.dense
    columns[:, rows.n_dense : -1] = 0.0
    if rows.n_sparse:
        row = np.repeat(np.arange(n_rows), np.diff(rows.sparse.ptr))
        columns[row, rows.n_dense + rows.sparse.idx] = (
            rows.sparse.val if len(rows.sparse.val) else 1
        )
    _, slope, _ = derivatives(rows, 0, n_rows, model, loss)
    weighted = slope * rows.weight[:, None]
    return (weighted[:, :, None] * columns[:, None]).reshape(n_rows, -1)
