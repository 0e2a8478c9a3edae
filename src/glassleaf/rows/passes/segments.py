"""Sums over segments of a node's rows, given by bins of a feature; rows near a border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.losses import Loss
from glassleaf.rows.passes.data import (
    LEFT,
    NEITHER,
    RIGHT,
    BinSegments,
    Rows,
    Span,
    column_work,
    copy_rows,
    segments_of_rows,
)
from glassleaf.rows.passes.models import (
    ModelSums,
    RowModel,
    derivative_work,
    derivatives,
    hessian_work,
    matrix_work,
    sums_of_rows,
)
from glassleaf.rows.passes.statistics import statistics_of
from glassleaf.rows.slices import in_slices

Floats = NDArray[np.float64]

# Work, in units of a dense column of a row: to find a row's segment, and to begin with a segment.
COPY_WORK = 60.0
_SEGMENT_WORK = 200_000.0


@dataclass(frozen=True)
class SegmentSums:
    """Statistics of segments, and sums at given parameters; the first axis is the segment.

    The other axes are those of ``ModelSums``. Models of the segments, and of unions of them, can be
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
        """The sums of these segments, then those of others."""
        return SegmentSums(
            np.concatenate([self.statistics, other.statistics]),
            np.concatenate([self.loss, other.loss]),
            np.concatenate([self.gradient, other.gradient]),
            np.concatenate([self.hessian, other.hessian]),
        )

    def combined(self, members: Floats) -> SegmentSums:
        """Sums over combinations of segments: each has a row that says how often one counts."""

        def add(sums: Floats) -> Floats:
            flat = members @ sums.reshape(len(sums), -1)
            return flat.reshape(-1, *sums.shape[1:])

        return SegmentSums(
            add(self.statistics), add(self.loss), add(self.gradient), add(self.hessian)
        )

    def take(self, which: Sequence[int]) -> SegmentSums:
        """The sums of some of the segments."""
        return SegmentSums(
            self.statistics[which], self.loss[which], self.gradient[which], self.hessian[which]
        )

    def of(self, index: int) -> ModelSums:
        """The sums of one segment."""
        return ModelSums(float(self.loss[index]), self.gradient[index], self.hessian[index])


class SegmentTask(NamedTuple):
    """A node, segments of its rows, and the model at whose parameters they are summed."""

    node: int
    bins: BinSegments
    n_segments: int
    model: RowModel
    loss: Loss
    span: Span | None = None


def _row_work(rows: Rows, task: SegmentTask) -> float:
    of_model = derivative_work(rows, task.loss) + hessian_work(rows, task.loss)
    return COPY_WORK + 8 * column_work(rows) + of_model


def _slice_work(rows: Rows, task: SegmentTask) -> float:
    return task.n_segments * (_SEGMENT_WORK + matrix_work(rows, task.loss))


@in_slices(_row_work, _slice_work)
def segment_sums(rows: Rows, task: SegmentTask) -> SegmentSums:
    """Statistics, loss, gradient and Hessian of segments of a node's rows, by a feature's bins."""
    start, stop = rows.span_of(task)
    segment_of_row = segments_of_rows(rows, start, stop, task.bins)
    order = np.argsort(segment_of_row, kind="stable")
    ends = np.cumsum([0, *np.bincount(segment_of_row, minlength=task.n_segments)])
    places = [order[first:last] for first, last in pairwise(ends)]
    return _sums_of_segments(rows, start, places, task.model, task.loss)


class MovedTask(NamedTuple):
    """A node, the sides of the bins near a border, and where the border moves.

    Left of it are the rows whose dense column ``place`` is at most ``last_left``. They are summed
    at the parameters of ``model``.
    """

    node: int
    sides: BinSegments
    place: int
    last_left: float
    model: RowModel
    loss: Loss
    span: Span | None = None


@in_slices(row_work=lambda rows, task: COPY_WORK, slice_work=lambda rows, task: 2 * _SEGMENT_WORK)
def moved_sums(rows: Rows, task: MovedTask) -> SegmentSums:
    """Sums of the rows that a new border moves from right to left, and from left to right."""
    start, stop = rows.span_of(task)
    side = segments_of_rows(rows, start, stop, task.sides)
    is_left = rows.dense[start:stop, task.place] <= task.last_left
    places = [np.flatnonzero((side == RIGHT) & is_left), np.flatnonzero((side == LEFT) & ~is_left)]
    return _sums_of_segments(rows, start, places, task.model, task.loss)


def _sums_of_segments(
    rows: Rows, start: int, places: Sequence[NDArray[np.intp]], model: RowModel, loss: Loss
) -> SegmentSums:
    statistics, sums = [], []
    for own_places in places:
        own = copy_rows(rows, start, own_places)
        statistics.append(statistics_of(own, 0, len(own_places), loss))
        sums.append(sums_of_rows(own, 0, len(own_places), model, loss, with_hessian=True))
    return SegmentSums(
        np.array(statistics),
        np.array([one.loss for one in sums]),
        np.array([one.gradient for one in sums]),
        np.array([one.hessian for one in sums]),
    )


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


class BorderTask(NamedTuple):
    """A node, the sides of the bins near a border, its dense column, and the models beside it."""

    node: int
    sides: BinSegments
    place: int
    left: RowModel
    right: RowModel
    loss: Loss
    span: Span | None = None


@in_slices(row_work=lambda rows, task: COPY_WORK)
def border_rows(rows: Rows, task: BorderTask) -> BorderRows:
    """The rows in bins on either side of a border, with their dense column ``place``."""
    start, stop = rows.span_of(task)
    side = segments_of_rows(rows, start, stop, task.sides)
    near = np.flatnonzero(side != NEITHER)
    own = copy_rows(rows, start, near)
    on_left, _, _ = derivatives(own, 0, len(near), task.left, task.loss)
    on_right, _, _ = derivatives(own, 0, len(near), task.right, task.loss)
    value = np.ascontiguousarray(own.dense[:, task.place])
    difference = (on_left - on_right) * own.weight
    return BorderRows(value, difference, own.weight, side[near] == LEFT)
