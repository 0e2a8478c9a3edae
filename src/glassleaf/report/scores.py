"""Scores on test rows, each with a 95% interval.

Every score here is a mean over rows, or a smooth function of such means. Its interval follows from
its *influence values*: what each row adds to the error of the score. Their spread over the root of
the number of rows is the standard error; nothing is drawn at random. For the AUC this is DeLong's
interval (taken on the log-odds scale, so that it stays between 0 and 1); shares of rows have
Wilson's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.plain_data import Record

Floats = NDArray[np.float64]

# Standard errors on each side of a 95% interval.
Z = 1.959963984540054
_SMALLEST = 1e-300

DELTA = "from the spread over the rows"
WILSON = "Wilson's, for a share"
DELONG = "DeLong's"


@dataclass(frozen=True)
class Score(Record):
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
    explanation: ModelExplanation, target: Floats, prediction: Floats
) -> tuple[Score, ...]:
    """The scores that suit the model.

    ``target`` are numbers, or positions of classes; ``prediction`` has one column, or one per
    class.
    """
    constant = np.tile(np.array(explanation.nodes[0].target), (len(target), 1))
    if explanation.classes is None:
        y, p, c = target, prediction[:, 0], constant[:, 0]
        of_kind = _COUNT_SCORES.get(explanation.loss)
        return (*(of_kind(y, p, c) if of_kind else ()), *_number_scores(y, p, c))
    return _class_scores(target.astype(int), prediction, constant)


# --- numbers -------------------------------------------------------------------------------------


def _number_scores(y: Floats, p: Floats, constant: Floats) -> tuple[Score, ...]:
    return (
        _smooth("R²", r_squared, y, p, constant,
                "Share of the variation of the target that the model explains; 1 is perfect."),
        _smooth("RMSE", root_mean_squared_error, y, p, constant,
                "Typical size of an error, in the target's units; large errors count more."),
        _smooth("MAE", mean_absolute_error, y, p, constant,
                "Mean size of an error, in the target's units."),
        _smooth("Mean error", mean_error, y, p, constant,
                "Prediction minus target on average; 0 means neither too high nor too low."),
    )  # fmt: skip


def _poisson_scores(y: Floats, p: Floats, constant: Floats) -> tuple[Score, ...]:
    return _deviance_scores(poisson_deviance, y, p, constant)


def _gamma_scores(y: Floats, p: Floats, constant: Floats) -> tuple[Score, ...]:
    return _deviance_scores(gamma_deviance, y, p, constant)


def _deviance_scores(
    deviance: Callable[[Floats, Floats], Floats], y: Floats, p: Floats, constant: Floats
) -> tuple[Score, ...]:
    def mean_deviance(y: Floats, p: Floats) -> tuple[float, Floats]:
        return _mean(deviance(y, p))

    def explained(y: Floats, p: Floats) -> tuple[float, Floats]:
        # The deviance of the mean has no slope at the mean, so that ȳ may count as known.
        return _one_minus_ratio(deviance(y, p), deviance(y, np.full_like(y, y.mean())))

    return (
        _smooth("D²", explained, y, p, constant,
                "Share of the deviance that the model explains; 1 is perfect, 0 a constant."),
        _smooth("Mean deviance", mean_deviance, y, p, constant,
                "What the model was fitted to make small; its unit has no meaning of its own."),
        _smooth("Predicted / actual", ratio_of_means, y, p, constant,
                "Sum of predictions over sum of targets; 1 means neither too high nor too low."),
    )  # fmt: skip


_COUNT_SCORES = {"Poisson": _poisson_scores, "Gamma": _gamma_scores}


def r_squared(y: Floats, p: Floats) -> tuple[float, Floats]:
    return _one_minus_ratio((p - y) ** 2, (y - y.mean()) ** 2)


def root_mean_squared_error(y: Floats, p: Floats) -> tuple[float, Floats]:
    mean, influence = _mean((p - y) ** 2)
    root = float(np.sqrt(mean))
    return root, influence / (2 * root) if root > 0 else influence


def mean_absolute_error(y: Floats, p: Floats) -> tuple[float, Floats]:
    return _mean(np.abs(p - y))


def mean_error(y: Floats, p: Floats) -> tuple[float, Floats]:
    return _mean(p - y)


def ratio_of_means(y: Floats, p: Floats) -> tuple[float, Floats]:
    if not y.mean():
        return np.nan, np.zeros_like(y)
    ratio = float(p.mean() / y.mean())
    return ratio, (p - ratio * y) / y.mean()


def poisson_deviance(y: Floats, p: Floats) -> Floats:
    p = np.maximum(p, _SMALLEST)
    ratio = np.divide(y, p, out=np.ones_like(y), where=y > 0)
    return np.asarray(2 * (y * np.log(ratio) - y + p))


def gamma_deviance(y: Floats, p: Floats) -> Floats:
    ratio = y / np.maximum(p, _SMALLEST)
    return np.asarray(2 * (ratio - np.log(ratio) - 1))


# --- classes -------------------------------------------------------------------------------------


def _class_scores(y: NDArray[np.int64], p: Floats, constant: Floats) -> tuple[Score, ...]:
    value, influence = auc(y, p)
    several = p.shape[1] > 2
    of_classes = " Mean over the classes, each against the rest." if several else ""
    low, high = _between_0_and_1(value, _error(influence))
    hits = (p.argmax(axis=1) == y).astype(np.float64)
    guess = (constant.argmax(axis=1) == y).astype(np.float64)
    return (
        Score("AUC", value, low, high, 0.5,
              "Chance that a row of the class is ranked above one that is not; 0.5 is a coin, 1"
              f" perfect.{of_classes}", DELONG),
        _smooth("Log loss", log_loss, y, p, constant,
                "Mean surprise at the true class; 0 is perfect, and sure mistakes cost much."),
        _smooth("Brier score", brier, y, p, constant,
                "Mean squared error of the probabilities; 0 is perfect."),
        Score("Accuracy", float(hits.mean()), *wilson(hits.mean(), len(hits)),
              float(guess.mean()), "Share of rows whose most probable class is the true one.",
              WILSON, is_share=True),
    )  # fmt: skip


def log_loss(y: NDArray[np.int64], p: Floats) -> tuple[float, Floats]:
    return _mean(-np.log(np.maximum(p[np.arange(len(y)), y], _SMALLEST)))


def brier(y: NDArray[np.int64], p: Floats) -> tuple[float, Floats]:
    """Two classes: squared error of the second's probability; more: summed over the classes."""
    if p.shape[1] == 2:
        return _mean((p[:, 1] - y) ** 2)
    return _mean(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1))


def auc(y: NDArray[np.int64], p: Floats) -> tuple[float, Floats]:
    """Area under the ROC curve, the mean over the classes that occur, each against the rest."""
    classes = [1] if p.shape[1] == 2 else range(p.shape[1])
    found = [_auc_of(y == k, p[:, k]) for k in classes if 0 < (y == k).sum() < len(y)]
    if not found:
        return np.nan, np.zeros(len(y))
    values, influences = zip(*found, strict=True)
    return float(np.mean(values)), np.mean(influences, axis=0)


def _auc_of(positive: NDArray[np.bool_], p: Floats) -> tuple[float, Floats]:
    """DeLong's placements: the share of the other side that each row is ranked beyond."""
    n, n_positive = len(p), int(positive.sum())
    n_negative = n - n_positive
    rank = rankdata(p)
    placement = np.empty(n)
    placement[positive] = (rank[positive] - rankdata(p[positive])) / n_negative
    placement[~positive] = 1 - (rank[~positive] - rankdata(p[~positive])) / n_positive
    value = float(placement[positive].mean())
    return value, (placement - value) * n / np.where(positive, n_positive, n_negative)


# --- intervals -----------------------------------------------------------------------------------


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n rows.

    >>> [round(x, 3) for x in wilson(0.0, 20)]
    [0.0, 0.161]
    """
    if n == 0:
        return np.nan, np.nan
    center = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return max(float(center - half), 0.0), min(float(center + half), 1.0)


def mean_interval(values: Floats) -> tuple[float, float]:
    """95% interval of a mean; not known for a single value."""
    mean, influence = _mean(values)
    error = _error(influence)
    return mean - Z * error, mean + Z * error


def _smooth(
    name: str,
    measure: Callable[..., tuple[float, Floats]],
    y: Floats | NDArray[np.int64],
    p: Floats,
    constant: Floats,
    meaning: str,
) -> Score:
    value, influence = measure(y, p)
    half = Z * _error(influence)
    return Score(name, value, value - half, value + half, measure(y, constant)[0], meaning, DELTA)


def _mean(values: Floats) -> tuple[float, Floats]:
    mean = float(values.mean())
    return mean, values - mean


def _one_minus_ratio(part: Floats, whole: Floats) -> tuple[float, Floats]:
    """1 - mean(part) / mean(whole), by the delta method."""
    if whole.mean() <= 0:
        return np.nan, np.zeros_like(part)
    ratio = float(part.mean() / whole.mean())
    return 1 - ratio, -(part - ratio * whole) / whole.mean()


def _error(influence: Floats) -> float:
    """Standard error of a score whose influence values these are."""
    n = len(influence)
    return float(np.sqrt((influence**2).sum() / (n - 1) / n)) if n > 1 else np.nan


def _between_0_and_1(value: float, error: float) -> tuple[float, float]:
    """An interval on the log-odds scale."""
    if not 0 < value < 1:
        return value, value
    center, half = np.log(value / (1 - value)), Z * error / (value * (1 - value))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (center - half, center + half))
    return low, high
