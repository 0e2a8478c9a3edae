"""Where the test rows lie along the features that bend.

The model keeps no histogram of its training rows, so those of the report stand for them. Read
a line with care where it bends and there are no rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import Feature, ModelExplanation
from glassleaf.tables.special import states_of

Floats = NDArray[np.float64]

_BINS = 30
# Where all but these outer shares of the rows would fill less than a third of the range, it is cut
# there: a few far values must not hide the rest.
_TAIL = 0.025
_CROWDED = 1 / 3


@dataclass(frozen=True)
class Density(JsonData):
    """Shares of the test rows in the bins between ``edges`` along a feature.

    ``low, high`` is the range that is shown; ``beyond`` is the share of the rows outside of
    the bins, ``missing`` that of the rows without a value, ``special`` that of special values.
    """

    feature: str
    low: float
    high: float
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    beyond: float
    missing: float
    special: float = 0.0


def densities(explanation: ModelExplanation, matrix: Floats, weight: Floats) -> tuple[Density, ...]:
    """One for every feature that bends."""
    share, by_name = weight / weight.sum(), explanation.feature
    return tuple(_density(by_name[name], matrix, share) for name in explanation.bent)


def _density(feature: Feature, matrix: Floats, share: Floats) -> Density:
    values = matrix[:, feature.column]
    known = ~np.isnan(values)
    low, high = _shown_range(feature, values[known], share[known])
    edges = _edges(values[known], low, high)
    shares = np.histogram(values[known], edges, weights=share[known])[0]
    missing, special = float(share[~known].sum()), float(share[states_of(values) > 0].sum())
    return Density(
        feature=feature.name,
        low=low,
        high=high,
        edges=tuple(edges.tolist()),
        shares=tuple(shares.tolist()),
        beyond=max(float(1 - missing - shares.sum()), 0.0),
        missing=missing - special,
        special=special,
    )


def _shown_range(feature: Feature, values: Floats, share: Floats) -> tuple[float, float]:
    """What training saw of the feature; or where the rows are."""
    low, high = feature.low, feature.high
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
