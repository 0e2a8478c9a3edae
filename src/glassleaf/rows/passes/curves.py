"""Dense columns that are curves through others: their values, and products with these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.rows.passes.data import Rows, Span
from glassleaf.rows.slices import in_slices
from glassleaf.tables.design import Design
from glassleaf.tables.transforms import PiecewiseLinear

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DrawnCurve:
    """A dense column that is a curve through another one."""

    place: int
    source: int
    curve: PiecewiseLinear


def drawn_curves(design: Design) -> dict[int, DrawnCurve]:
    """The dense columns that are curves, by the input column."""
    terms = design.terms
    place_of = {int(term): place for place, term in enumerate(design.layout.term)}
    drawn = {}
    for column in np.flatnonzero(terms.curve_term >= 0).tolist():
        curve = terms.curve(column)
        assert curve is not None
        place = place_of[int(terms.curve_term[column])]
        drawn[column] = DrawnCurve(place, place_of[int(terms.first_term[column])], curve)
    return drawn


class CurvesTask(NamedTuple):
    """A node and its curves; ``center`` and ``unit`` are those of its dense columns."""

    node: int
    curves: Sequence[DrawnCurve]
    center: Floats
    unit: Floats
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 64 * len(task.curves))
def set_curves(rows: Rows, task: CurvesTask) -> None:
    """Compute the curves of a node's rows."""
    dense, center, unit = rows.dense[slice(*rows.span_of(task))], task.center, task.unit
    for own in task.curves:
        value = own.curve(center[own.source] + unit[own.source] * dense[:, own.source])
        dense[:, own.place] = (value - center[own.place]) / unit[own.place]


def add_curves(rows: Rows, task: CurvesTask) -> None:
    """The same of curves that are new: the last dense columns, for which there is no room yet."""
    rows.dense = np.column_stack([rows.dense, np.empty((len(rows.dense), len(task.curves)))])
    set_curves(rows, task)


class CurveProductsTask(NamedTuple):
    """A node and its curves."""

    node: int
    curves: Sequence[DrawnCurve]
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 16 * len(task.curves))
def curve_products(rows: Rows, task: CurveProductsTask) -> Floats:
    """For every curve the weighted sums of it, of its source, and of their product, as stored."""
    here = slice(*rows.span_of(task))
    dense, weight = rows.dense[here], rows.weight[here]
    out = np.empty((len(task.curves), 3))
    for k, own in enumerate(task.curves):
        curve, source = dense[:, own.place], dense[:, own.source]
        out[k] = weight @ curve, weight @ source, (weight * curve) @ source
    return out
