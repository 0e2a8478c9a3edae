"""The scores that commands show, by task: names people know, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import scores

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """A measure of predictions; NaN where it is not defined for these rows."""

    name: str
    value: float
    higher_is_better: bool


def all_scores(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> list[Score]:
    """The scores of an estimator on rows with known targets."""
    if hasattr(estimator, "classes_"):
        return class_scores(estimator.classes_, estimator.predict_proba(X), y, weight)
    return number_scores(estimator.predict(X), y, weight, estimator.loss)


def class_scores(
    classes: NDArray[Any], probabilities: Floats, y: NDArray[Any], weight: Floats | None
) -> list[Score]:
    """AUC, accuracy, log loss."""
    w = np.ones(len(y)) if weight is None else weight
    rows = np.searchsorted(classes, y), probabilities, w
    return [
        Score("AUC", scores.auc(*rows), True),
        Score("accuracy", scores.accuracy(*rows), True),
        Score("log loss", scores.log_loss(*rows), False),
    ]


def number_scores(
    predicted: Floats, y: NDArray[Any], weight: Floats | None, loss: Any
) -> list[Score]:
    """R2, root mean squared and mean absolute error; for counts and amounts the deviance."""
    rows = y.astype(np.float64), predicted, np.ones(len(y)) if weight is None else weight
    out = [
        Score("R2", scores.r_squared(*rows), True),
        Score("RMSE", scores.root_mean_squared_error(*rows), False),
        Score("MAE", scores.mean_absolute_error(*rows), False),
    ]
    if isinstance(loss, str) and loss in scores.DEVIANCES:
        out.append(Score(f"{loss} deviance", scores.mean_deviance(loss, *rows), False))
    return out
