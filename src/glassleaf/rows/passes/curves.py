"""Dense columns that are curves through others: their values, and products with these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.rows.passes.data import Rows
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
