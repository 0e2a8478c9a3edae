"""What a number adds to the score of a leaf along its values: one line, straight or broken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import Feature, ModelExplanation, NodeExplanation
from glassleaf.explanations.terms import Points, to_raw, to_term

Floats = NDArray[np.float64]

# A feature that goes back by at most this share of its whole way still has a direction.
_WAY_BACK = 0.1


@dataclass(frozen=True)
class EffectLine(JsonData):
    """What a feature adds in a leaf: ``points`` are (raw value, added), linear between them.

    The values are those that the leaf may hold and training saw. What is added is relative to the
    feature's mean in the leaf: the contributions of ``explain(model, X)``.
    """

    leaf: int
    feature: str
    points: Points


def effect_lines(
    explanation: ModelExplanation, name: str, output: int = 0
) -> tuple[EffectLine, ...]:
    """A numeric feature in all leaves; with several classes, what it adds to the score of one."""
    return tuple(effect_line(explanation, leaf, name, output) for leaf in explanation.leaves)


def effect_line(
    explanation: ModelExplanation, leaf: NodeExplanation, name: str, output: int = 0
) -> EffectLine:
    """A numeric feature in one leaf."""
    feature = explanation.feature[name]
    low, high = leaf_range(leaf, feature)
    kinks = [x for x, _ in feature.knots or ()]
    kinks += bends(explanation, leaf, name, output)
    inside = np.array([x for x in kinks if low < x < high])
    values = np.unique(np.concatenate([[low], inside, [high]]))
    clamped = np.clip(to_term(values, feature.knots), *leaf.clamp[feature.column])
    added = np.zeros(len(values))
    for t, term in enumerate(explanation.terms):
        if term.feature == name:
            own = np.zeros(len(values))
            if term.kind == "number":
                own = clamped
            elif term.above is not None:
                own = np.maximum(clamped - term.above, 0.0)
            added += leaf.coef[output][t] * (own - leaf.mean[t])
    points = tuple(zip(values.tolist(), added.tolist(), strict=True))
    return EffectLine(leaf.leaf or 0, name, points)


def bends(
    explanation: ModelExplanation, leaf: NodeExplanation, name: str, output: int = 0
) -> list[float]:
    """Where a leaf's line of a feature bends, as raw values, ascending."""
    pairs = zip(explanation.terms, leaf.coef[output], strict=True)
    return [
        term.at for term, coef in pairs if term.feature == name and coef and term.at is not None
    ]


def leaf_range(leaf: NodeExplanation, feature: Feature) -> tuple[float, float]:
    """What a leaf may hold of a number, as far as it is known: by training, rule and clamp."""
    low, high = feature.low, feature.high
    if np.isnan(low):
        return feature.fill, feature.fill
    for condition in leaf.rule:
        if condition.column == feature.column:
            low, high = max(low, condition.low), min(high, condition.high)
    clamp = np.array(leaf.clamp[feature.column])
    if np.isfinite(clamp).all():
        ends = to_raw(clamp, feature.knots)
        low, high = max(low, float(ends[0])), min(high, float(ends[1]))
    return (low, high) if low <= high else (high, high)


def direction(
    explanation: ModelExplanation, leaf: NodeExplanation, name: str, output: int = 0
) -> int:
    """Whether larger values raise (1) or lower (-1) the score in a leaf; 0: it goes up and down."""
    feature = explanation.feature[name]
    if feature.categories is not None:
        return 0
    steps = np.diff([added for _, added in effect_line(explanation, leaf, name, output).points])
    up, down = steps[steps > 0].sum(), -steps[steps < 0].sum()
    if min(up, down) > _WAY_BACK * (up + down):
        return 0
    return 1 if up >= down else -1
