"""The scores of a report: each with an interval, a constant guess to compare, and a meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.scores import intervals, named

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReportedScore(JsonData):
    """A score, its 95% interval, what a constant guess would reach, and what it means.

    The constant guess is the mean target (or the shares of the classes) of the training rows.
    ``is_share`` says that it is written as a percentage.
    """

    name: str
    value: float
    low: float
    high: float
    baseline: float
    meaning: str
    interval: str
    is_share: bool = False


def model_scores(
    explanation: ModelExplanation,
    target: Floats,
    prediction: Floats,
    weight: Floats,
    known: Floats,
) -> tuple[ReportedScore, ...]:
    """The scores that suit the model.

    ``target`` are numbers, or positions of classes; ``prediction`` has one column, or one per
    class. ``known`` is what scores add whatever the model says; a constant guess adds it, too.
    """
    constant = np.tile(np.array(explanation.nodes[0].target), (len(target), 1))
    if explanation.link == "log":
        constant *= np.exp(known)[:, None]
    elif explanation.link == "identity":
        constant += known[:, None]
    n_classes = len(explanation.classes or ())
    y, p = named.positive_last(explanation.positive, n_classes, target, prediction)
    _, guess = named.positive_last(explanation.positive, n_classes, target, constant)
    return tuple(
        ReportedScore(
            own.name,
            *own.with_interval(y, p, weight),
            own.score(y, guess, weight),
            own.meaning,
            own.method,
            own.is_share,
        )
        for own in named.suitable_scores(explanation.loss, n_classes)
    )


def auc_score(value: float, influence: Floats) -> ReportedScore:
    """The AUC of one class as a score."""
    low, high = intervals.between_0_and_1(value, influence)
    return ReportedScore("AUC", value, low, high, 0.5, named.AUC_MEANING, named.DELONG)
