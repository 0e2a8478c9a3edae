"""Scores on test rows, each with a 95% interval.

Every score here is a mean over rows, or a smooth function of such means. Its interval follows from
its *influence values*: what each row adds to the error of the score. Their spread over the root of
the number of rows is the standard error; nothing is drawn at random. For the AUC this is DeLong's
interval (taken on the log-odds scale, so that it stays between 0 and 1); shares of rows have
Wilson's.

Rows may have weights: all means are weighted then, and what a row adds to the error grows with its
weight. A heavy row is still one row: its weight says how much it matters, not how often it was
seen. Wilson's interval counts as many rows of equal weight as would know as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm

from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.record import Record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
    explanation: ModelExplanation, target: Floats, prediction: Floats, weight: Floats
) -> tuple[Score, ...]:
    """The scores that suit the model.

    ``target`` are numbers, or positions of classes; ``prediction`` has one column, or one per
    class.
    """
    constant = np.tile(np.array(explanation.nodes[0].target), (len(target), 1))
    if explanation.classes is None:
        numbers = target, prediction[:, 0], constant[:, 0], weight
        of_kind = _COUNT_SCORES.get(explanation.loss)
        return (*(of_kind(*numbers) if of_kind else ()), *_number_scores(*numbers))
    return _class_scores(target.astype(int), prediction, constant, weight)


# --- numbers -------------------------------------------------------------------------------------


def _number_scores(y: Floats, p: Floats, constant: Floats, w: Floats) -> tuple[Score, ...]:
    return (
        _smooth("R²", r_squared, y, p, constant, w,
                "Share of the variation of the target that the model explains; 1 is perfect."),
        _smooth("RMSE", root_mean_squared_error, y, p, constant, w,
                "Typical size of an error, in the target's units; large errors count more."),
        _smooth("MAE", mean_absolute_error, y, p, constant, w,
                "Mean size of an error, in the target's units."),
        _smooth("Mean error", mean_error, y, p, constant, w,
                "Prediction minus target on average; 0 means neither too high nor too low."),
    )  # fmt: skip


def _poisson_scores(y: Floats, p: Floats, constant: Floats, w: Floats) -> tuple[Score, ...]:
    return _deviance_scores(poisson_deviance, y, p, constant, w)


def _gamma_scores(y: Floats, p: Floats, constant: Floats, w: Floats) -> tuple[Score, ...]:
    return _deviance_scores(gamma_deviance, y, p, constant, w)


def _deviance_scores(
    deviance: Callable[[Floats, Floats], Floats],
    y: Floats,
    p: Floats,
    constant: Floats,
    w: Floats,
) -> tuple[Score, ...]:
    def mean_deviance(y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
        return _mean(deviance(y, p), w)

    def explained(y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
        # The deviance of the mean has no slope at the mean, so that ȳ may count as known.
        return _one_minus_ratio(deviance(y, p), deviance(y, np.full_like(y, _average(y, w))), w)

    return (
        _smooth("D²", explained, y, p, constant, w,
                "Share of the deviance that the model explains; 1 is perfect, 0 a constant."),
        _smooth("Mean deviance", mean_deviance, y, p, constant, w,
                "What the model was fitted to make small; its unit has no meaning of its own."),
        _smooth("Predicted / actual", ratio_of_means, y, p, constant, w,
                "Sum of predictions over sum of targets; 1 means neither too high nor too low."),
    )  # fmt: skip


_COUNT_SCORES = {"Poisson": _poisson_scores, "Gamma": _gamma_scores}


def r_squared(y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
    return _one_minus_ratio((p - y) ** 2, (y - _average(y, w)) ** 2, w)


def root_mean_squared_error(y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
    mean, influence = _mean((p - y) ** 2, w)
    root = float(np.sqrt(mean))
    return root, influence / (2 * root) if root > 0 else influence


def mean_absolute_error(y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
    return _mean(np.abs(p - y), w)


def mean_error(y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
    return _mean(p - y, w)


def ratio_of_means(y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
    actual = _average(y, w)
    if not actual:
        return np.nan, np.zeros_like(y)
    ratio = _average(p, w) / actual
    return ratio, _relative(w) * (p - ratio * y) / actual


def poisson_deviance(y: Floats, p: Floats) -> Floats:
    p = np.maximum(p, _SMALLEST)
    ratio = np.divide(y, p, out=np.ones_like(y), where=y > 0)
    return np.asarray(2 * (y * np.log(ratio) - y + p))


def gamma_deviance(y: Floats, p: Floats) -> Floats:
    ratio = y / np.maximum(p, _SMALLEST)
    return np.asarray(2 * (ratio - np.log(ratio) - 1))


# --- classes -------------------------------------------------------------------------------------


def _class_scores(y: Ints, p: Floats, constant: Floats, w: Floats) -> tuple[Score, ...]:
    several = p.shape[1] > 2
    hits = _average(p.argmax(axis=1) == y, w)
    guess = _average(constant.argmax(axis=1) == y, w)
    ranking = auc_score(*auc(y, p, w), " Mean over the classes, each against the rest." * several)
    return (
        ranking,
        *(() if several else (_gini_score(ranking), _ks_score(*kolmogorov_smirnov(y, p, w)))),
        _smooth("Log loss", log_loss, y, p, constant, w,
                "Mean surprise at the true class; 0 is perfect, and sure mistakes cost much."),
        _smooth("Brier score", brier, y, p, constant, w,
                "Mean squared error of the probabilities; 0 is perfect."),
        Score("Accuracy", hits, *wilson(hits, effective_rows(w)), guess,
              "Share of rows whose most probable class is the true one.",
              WILSON, is_share=True),
    )  # fmt: skip


def log_loss(y: Ints, p: Floats, w: Floats) -> tuple[float, Floats]:
    return _mean(-np.log(np.maximum(p[np.arange(len(y)), y], _SMALLEST)), w)


def brier(y: Ints, p: Floats, w: Floats) -> tuple[float, Floats]:
    """Two classes: squared error of the second's probability; more: summed over the classes."""
    if p.shape[1] == 2:
        return _mean((p[:, 1] - y) ** 2, w)
    return _mean(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1), w)


def auc_score(value: float, influence: Floats, of_what: str = "") -> Score:
    """The AUC as a score."""
    meaning = (
        "Chance that a row of the class is ranked above one that is not; 0.5 is a coin, 1 perfect."
    )
    low, high = _between_0_and_1(value, _error(influence))
    return Score("AUC", value, low, high, 0.5, meaning + of_what, DELONG)


def _gini_score(auc: Score) -> Score:
    value, low, high = (2 * number - 1 for number in (auc.value, auc.low, auc.high))
    meaning = "Twice the AUC minus 1, as credit risk has it; 0 is a coin, 1 perfect."
    return Score("Gini", value, low, high, 0.0, meaning, auc.interval)


def _ks_score(value: float, influence: Floats) -> Score:
    meaning = (
        "Kolmogorov-Smirnov: the largest distance between the shares of the two classes below a"
        " probability; 1 means that one probability separates them."
    )
    return Score("KS", value, *_between_0_and_1(value, _error(influence)), 0.0, meaning, DELTA)


def kolmogorov_smirnov(y: Ints, p: Floats, w: Floats) -> tuple[float, Floats]:
    """Largest distance between the two classes' shares up to a probability of the second.

    At the largest distance its slope is zero, so that the place may count as known.
    NaN where one of the classes has no rows.
    """
    positive = y == 1
    if positive.all() or not positive.any():
        return np.nan, np.zeros(len(y))
    place = np.unique(p[:, 1], return_inverse=True)[1]
    share = np.where(positive, w / w[positive].sum(), w / w[~positive].sum())
    signed = np.where(positive, -share, share)
    distance = np.bincount(place, weights=signed).cumsum()
    best = int(np.abs(distance).argmax())
    is_below = place <= best
    sign = np.sign(distance[best])
    below = np.where(positive, share[positive & is_below].sum(), share[~positive & is_below].sum())
    return float(abs(distance[best])), sign * signed * (is_below - below) * len(y)


def auc(y: Ints, p: Floats, w: Floats) -> tuple[float, Floats]:
    """Area under the ROC curve, the mean over the classes that occur, each against the rest."""
    classes = [1] if p.shape[1] == 2 else range(p.shape[1])
    found = [auc_of_class(y == k, p[:, k], w) for k in classes]
    defined = [one for one in found if not np.isnan(one[0])]
    if not defined:
        return np.nan, np.zeros(len(y))
    values, influences = zip(*defined, strict=True)
    return float(np.mean(values)), np.mean(influences, axis=0)


def auc_of_class(positive: NDArray[np.bool_], p: Floats, w: Floats) -> tuple[float, Floats]:
    """DeLong's placements: the share of the other side that each row is ranked beyond.

    NaN where one of the sides has no rows.
    """
    if positive.all() or not positive.any():
        return np.nan, np.zeros(len(p))
    place = np.unique(p, return_inverse=True)[1]

    def beyond(side: NDArray[np.bool_]) -> Floats:
        """For every row the share of that side with a lower p; equal ones count half."""
        of_value = np.bincount(place, weights=np.where(side, w, 0.0))
        return np.asarray((of_value.cumsum() - of_value / 2)[place] / of_value.sum())

    placement = np.where(positive, beyond(~positive), 1 - beyond(positive))
    value = _average(placement[positive], w[positive])
    of_side = np.where(positive, w[positive].sum(), w[~positive].sum())
    return value, (placement - value) * w * len(p) / of_side


# --- intervals -----------------------------------------------------------------------------------


def effective_rows(weight: Floats) -> float:
    """How many rows of equal weight would know as much (Kish).

    >>> effective_rows(np.array([1.0, 1.0, 1.0])), effective_rows(np.array([2.0, 1.0, 0.0]))
    (3.0, 1.8)
    """
    return float(weight.sum() ** 2 / (weight**2).sum()) if len(weight) else 0.0


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n rows.

    >>> [round(x, 3) for x in wilson(0.0, 20)]
    [0.0, 0.161]
    """
    if n == 0:
        return np.nan, np.nan
    center = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    low, high = float(center - half), float(center + half)
    return low if share > 0 else 0.0, high if share < 1 else 1.0


def mean_interval(values: Floats, weight: Floats) -> tuple[float, float]:
    """95% interval of a mean; not known for a single value."""
    mean, influence = _mean(values, weight)
    error = _error(influence)
    return mean - Z * error, mean + Z * error


def _smooth(
    name: str,
    measure: Callable[..., tuple[float, Floats]],
    y: Floats | Ints,
    p: Floats,
    constant: Floats,
    w: Floats,
    meaning: str,
) -> Score:
    value, influence = measure(y, p, w)
    half = Z * _error(influence)
    baseline = measure(y, constant, w)[0]
    return Score(name, value, value - half, value + half, baseline, meaning, DELTA)


def _mean(values: Floats, w: Floats) -> tuple[float, Floats]:
    mean = _average(values, w)
    return mean, _relative(w) * (values - mean)


def _one_minus_ratio(part: Floats, whole: Floats, w: Floats) -> tuple[float, Floats]:
    """1 - mean(part) / mean(whole), by the delta method."""
    total = _average(whole, w)
    if total <= 0:
        return np.nan, np.zeros_like(part)
    ratio = _average(part, w) / total
    return 1 - ratio, -_relative(w) * (part - ratio * whole) / total


def _average(values: NDArray[Any], w: Floats) -> float:
    return float(np.average(values, weights=w))


def _relative(w: Floats) -> Floats:
    """Weights as multiples of their mean."""
    return np.asarray(w / w.mean())


def _error(influence: Floats) -> float:
    """Standard error of a score whose influence values these are."""
    n = len(influence)
    length = norm(influence, check_finite=False)  # does not square large numbers
    return float(length) / ((n - 1) * n) ** 0.5 if n > 1 else np.nan


def _between_0_and_1(value: float, error: float) -> tuple[float, float]:
    """An interval on the log-odds scale."""
    if not 0 < value < 1:
        return value, value
    center, half = np.log(value / (1 - value)), Z * error / (value * (1 - value))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (center - half, center + half))
    return low, high
