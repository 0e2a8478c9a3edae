"""What a report says beside its scores: calibration of probabilities, net benefit, other samples,
a challenger, and what fitting again told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.comparison import Comparison, compare_predictions, predictions
from glassleaf.explanations.decisions import NetBenefit, decision_curve
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.refits import LearningCurve, Optimism
from glassleaf.explanations.scores import brier_parts
from glassleaf.explanations.scores.named import positive_last
from glassleaf.show.report.rows import TestRows
from glassleaf.show.report.scores import ReportedScore
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BrierParts(JsonData):
    """The Brier score is reliability - resolution + uncertainty."""

    reliability: float
    resolution: float
    uncertainty: float


@dataclass(frozen=True)
class Sample(JsonData):
    """The scores on one of several samples; ``seen`` says that the model was fitted on it."""

    name: str
    rows: int
    seen: bool
    scores: tuple[ReportedScore, ...]


@dataclass(frozen=True)
class Challenger(JsonData):
    """Another model on the same rows; ``decisions`` as in ``Validation``."""

    name: str
    comparison: tuple[Comparison, ...]
    decisions: tuple[NetBenefit, ...]


@dataclass(frozen=True)
class Validation(JsonData):
    """How far the model can be trusted.

    ``brier`` and ``decisions`` (of the positive class) are for two classes; ``samples`` has all
    samples where several were given, the last of which the rest of the report is about.
    """

    brier: BrierParts | None
    decisions: tuple[NetBenefit, ...]
    samples: tuple[Sample, ...]
    challenger: Challenger | None
    optimism: tuple[Optimism, ...]
    learning_curve: LearningCurve | None


def validation(
    model: FittedModel,
    rows: TestRows,
    X: Any,
    *,
    samples: Sequence[Sample],
    challenger: Any,
    optimism: Sequence[Optimism],
    learning_curve: LearningCurve | None,
) -> Validation:
    """Everything on the rows of the report; ``X`` is what the challenger predicts."""
    return Validation(
        brier=_brier(model, rows),
        decisions=_decisions(model, rows, rows.prediction),
        samples=tuple(samples),
        challenger=None if challenger is None else _challenger(model, rows, challenger, X),
        optimism=tuple(optimism),
        learning_curve=learning_curve,
    )


def _brier(model: FittedModel, rows: TestRows) -> BrierParts | None:
    if model.kind != "binary":
        return None
    y, p = positive_last(model.positive, 2, rows.truth, rows.prediction)
    return BrierParts(*brier_parts(y, p, rows.weight))


def _decisions(model: FittedModel, rows: TestRows, prediction: Floats) -> tuple[NetBenefit, ...]:
    if model.kind != "binary":
        return ()
    positive = model.positive
    return decision_curve(rows.truth == positive, prediction[:, positive], rows.weight)


def _challenger(model: FittedModel, rows: TestRows, challenger: Any, X: Any) -> Challenger:
    other = predictions(model, challenger, X)[rows.used]
    return Challenger(
        name=type(challenger).__name__,
        comparison=compare_predictions(model, rows.truth, rows.prediction, other, rows.weight),
        decisions=_decisions(model, rows, other),
    )
