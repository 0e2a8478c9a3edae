"""Where the test rows lie along the features that have curves.

The model keeps no histogram of its training rows, so those of the report stand for them. Read
a curve with care where it bends and there are no rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import Feature, ModelExplanation
from glassleaf.explanations.terms import Curve

Floats = NDArray[np.float64]

_BINS = 30
# How much of what lies beyond a curve's points, where it is constant, is shown.
_BEYOND = 0.08
# Where all but these outer shares of the rows would fill less than a third of the range, it is cut
# there: a few far values must not hide the rest.
_TAIL = 0.025
_CROWDED = 1 / 3


@dataclass(frozen=True)
class Density(JsonData):
    """Shares of the test rows in the bins between ``edges`` along a feature.

    ``low, high`` is the range that is shown; ``beyond`` is the share of the rows outside of
    the bins, ``missing`` that of the rows without a value.
    """

    feature: str
    low: float
    high: float
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    beyond: float
    missing: float


def densities(explanation: ModelExplanation, matrix: Floats, weight: Floats) -> tuple[Density, ...]:
    """One for every curve of the model, in their order."""
    share = weight / weight.sum()
    return tuple(_density(explanation, curve, matrix, share) for curve in explanation.curves)


def _density(explanation: ModelExplanation, curve: Curve, matrix: Floats, share: Floats) -> Density:
    feature = explanation.feature[curve.feature]
    values = matrix[:, feature.column]
    known = ~np.isnan(values)
    low, high = _shown_range(curve, feature, values[known], share[known])
    edges = _edges(values[known], low, high)
    shares = np.histogram(values[known], edges, weights=share[known])[0]
    missing = float(share[~known].sum())
    return Density(
        feature=curve.feature,
        low=low,
        high=high,
        edges=tuple(edges.tolist()),
        shares=tuple(shares.tolist()),
        beyond=max(float(1 - missing - shares.sum()), 0.0),
        missing=missing,
    )


def _shown_range(
    curve: Curve, feature: Feature, values: Floats, share: Floats
) -> tuple[float, float]:
    """The curve's points, and a little of what training saw beyond them; or where the rows are."""
    first, last = curve.points[0][0], curve.points[-1][0]
    room = _BEYOND * (last - first)
    low, high = (
        max(min(feature.low, first), first - room),
        min(max(feature.high, last), last + room),
    )
    if not len(values):
        return low, high
    ends = np.quantile(values, [_TAIL, 1 - _TAIL], weights=share, method="inverted_cdf")
    inner_low, inner_high = np.clip(ends, low, high).tolist()
    is_crowded = 0 < inner_high - inner_low < _CROWDED * (high - low)
    return (inner_low, inner_high) if is_crowded else (low, high)


def _edges(values: Floats, low: float, high: float) -> Floats:
    """Equal bins; of whole numbers each holds equally many, or bars would rise for no reason."""
    if not low < high:
        return np.array([low - 0.5, low + 0.5])
    if (values == np.round(values)).all():
        first, step = np.floor(low), np.ceil((high - low) / _BINS)
        return np.asarray(np.arange(first, np.floor(high) + 1 + step, step) - 0.5)
    return np.linspace(low, high, _BINS + 1)
