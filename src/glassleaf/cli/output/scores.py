"""How good predictions are, by task: names people know, and which way is better."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

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
    """AUC, accuracy, log loss; with more than two classes the mean AUC of each against the rest."""
    codes = np.searchsorted(classes, y)
    predicted = probabilities.argmax(axis=1)
    of_truth = np.clip(probabilities[np.arange(len(y)), codes], 1e-15, 1.0)
    return [
        Score("AUC", _auc(codes, probabilities, weight), True),
        Score("accuracy", float(np.average(predicted == codes, weights=weight)), True),
        Score("log loss", float(np.average(-np.log(of_truth), weights=weight)), False),
    ]


def _auc(codes: NDArray[np.intp], probabilities: Floats, weight: Floats | None) -> float:
    n_classes = probabilities.shape[1]
    if len(np.unique(codes)) < n_classes:
        return float("nan")
    which = [1] if n_classes == 2 else range(n_classes)
    found = [
        metrics.roc_auc_score(codes == k, probabilities[:, k], sample_weight=weight) for k in which
    ]
    return float(np.mean(found))


def number_scores(
    predicted: Floats, y: NDArray[Any], weight: Floats | None, loss: Any
) -> list[Score]:
    """R2, root mean squared and mean absolute error; for counts and amounts the deviance."""
    error = predicted - y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # R2 of a single row is not defined
        r2 = float(metrics.r2_score(y, predicted, sample_weight=weight))
    out = [
        Score("R2", r2, True),
        Score("RMSE", float(np.sqrt(np.average(error**2, weights=weight))), False),
        Score("MAE", float(np.average(np.abs(error), weights=weight)), False),
    ]
    deviance = {"poisson": metrics.mean_poisson_deviance, "gamma": metrics.mean_gamma_deviance}
    if isinstance(loss, str) and loss in deviance:
        value = deviance[loss](y, np.maximum(predicted, 1e-300), sample_weight=weight)
        out.append(Score(f"{loss} deviance", float(value), False))
    return out
