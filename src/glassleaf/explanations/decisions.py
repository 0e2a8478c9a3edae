"""Decision curves: what acting on a model is worth, whatever a mistake costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.scores import intervals, mean, net_benefits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

THRESHOLDS = np.arange(1, 100) / 100


@dataclass(frozen=True)
class NetBenefit(JsonData):
    """A point of the curve: acting from ``threshold`` on gains ``model``, a mean over all rows.

    ``low, high`` is its 95% interval. ``everyone`` is what acting on all rows gains; acting on
    none gains 0. A row of the class counts 1, another one minus the odds of the threshold;
    ``taken`` is the share of rows acted on.
    """

    threshold: float
    model: float
    low: float
    high: float
    everyone: float
    taken: float


def decision_curve(is_class: Bools, p: Floats, w: Floats) -> tuple[NetBenefit, ...]:
    """Net benefit of one class at every percent; weights are positive."""
    points = []
    for threshold in THRESHOLDS.tolist():
        gains = net_benefits(is_class, p, threshold)
        everyone = mean(net_benefits(is_class, np.ones(len(p)), threshold), w)
        taken = mean(p >= threshold, w)
        ends = intervals.of_mean(gains, w)
        points.append(NetBenefit(threshold, mean(gains, w), *ends, everyone, taken))
    return tuple(points)
