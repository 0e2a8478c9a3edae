"""Scores: how far predictions are from what came. Every score of this package is defined here.

All functions take targets ``y``, predictions ``p`` and row weights ``w``. For numbers, ``p`` has
one entry per row. For classes, ``y`` holds their positions 0, 1, ... and ``p`` one column of
probabilities per class. A weight of two is a row given twice, a weight of zero a row left out. A
score is NaN where these rows do not define it. ``tests/explanations/test_scores.py`` compares the
scores with scikit-learn's. The modules beside this file: ``intervals`` of scores, ``calibration``
slope and intercept, and ``named``, which scores suit a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm
from scipy.optimize import isotonic_regression

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Probabilities count as at least this far from 0 and 1 in the log loss, as in scikit-learn.
_EPSILON = float(np.finfo(np.float64).eps)
# Expected counts and amounts count as at least this in a deviance.
_SMALLEST = 1e-300


def mean(values: NDArray[np.number | np.bool_], w: Floats) -> float:
    """Weighted mean; NaN without weight."""
    return float(np.average(values, weights=w)) if w.any() else np.nan


def mean_of_defined(values: Sequence[float]) -> float:
    """Mean of the values that are not NaN; NaN if all are."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan


def effective_rows(w: Floats) -> float:
    """How many rows of equal weight would tell as much (Kish): (sum of w)² / sum of w².

    >>> effective_rows(np.array([1.0, 1.0, 1.0])), effective_rows(np.array([2.0, 1.0, 0.0]))
    (3.0, 1.8)
    """
    return float(w.sum() ** 2 / (w**2).sum()) if w.any() else 0.0


def relative_weights(w: Floats) -> Floats:
    """Weights as multiples of their mean."""
    return np.asarray(w / w.mean())


def standard_error(influence: Floats) -> float:
    """Standard error of a score, from what each row adds to its error; NaN for a single row."""
    n = len(influence)
    length = norm(influence, check_finite=False)  # does not square large numbers
    return float(length) / ((n - 1) * n) ** 0.5 if n > 1 else np.nan


def error_of_mean(values: Floats, w: Floats) -> float:
    """Standard error of a weighted mean; a heavy row is still one row."""
    values, w = values[w > 0], w[w > 0]
    return standard_error(relative_weights(w) * (values - mean(values, w)))


# --- numbers -------------------------------------------------------------------------------------


def mean_error(y: Floats, p: Floats, w: Floats) -> float:
    """Mean of p - y."""
    return mean(p - y, w)


def mean_absolute_error(y: Floats, p: Floats, w: Floats) -> float:
    """Mean of abs(p - y)."""
    return mean(np.abs(p - y), w)


def root_mean_squared_error(y: Floats, p: Floats, w: Floats) -> float:
    """Root of the mean of (p - y)²."""
    return float(np.sqrt(mean((p - y) ** 2, w)))


def r_squared(y: Floats, p: Floats, w: Floats) -> float:
    """1 - mean of (p - y)² / mean of (y - mean of y)²; NaN if y is constant."""
    return _one_minus_ratio((p - y) ** 2, (y - mean(y, w)) ** 2, w)


def ratio_of_means(y: Floats, p: Floats, w: Floats) -> float:
    """Mean of p / mean of y; NaN if the mean of y is 0."""
    actual = mean(y, w)
    return mean(p, w) / actual if actual else np.nan


def poisson_deviances(y: Floats, p: Floats) -> Floats:
    """Of every row, 2 (y ln(y / p) - y + p)."""
    p = np.maximum(p, _SMALLEST)
    ratio = np.divide(y, p, out=np.ones_like(y), where=y > 0)
    return np.asarray(2 * (y * np.log(ratio) - y + p))


def gamma_deviances(y: Floats, p: Floats) -> Floats:
    """Of every row, 2 (y / p - ln(y / p) - 1)."""
    ratio = y / np.maximum(p, _SMALLEST)
    return np.asarray(2 * (ratio - np.log(ratio) - 1))


# What models make small, row by row, by the name of their loss.
DEVIANCES = {"poisson": poisson_deviances, "gamma": gamma_deviances}


def mean_deviance(loss: str, y: Floats, p: Floats, w: Floats) -> float:
    """Mean deviance under the loss "poisson" or "gamma"."""
    return mean(DEVIANCES[loss](y, p), w)


def explained_deviance(loss: str, y: Floats, p: Floats, w: Floats) -> float:
    """D²: 1 - deviance of p / deviance of the mean of y; NaN if y is constant."""
    return _one_minus_ratio(DEVIANCES[loss](y, p), constant_deviances(loss, y, w), w)


def constant_deviances(loss: str, y: Floats, w: Floats) -> Floats:
    """Of every row, the deviance of predicting the mean of y."""
    return DEVIANCES[loss](y, np.full_like(y, mean(y, w)))


def _one_minus_ratio(part: Floats, whole: Floats, w: Floats) -> float:
    total = mean(whole, w)
    return 1 - mean(part, w) / total if total > 0 else np.nan


# --- classes -------------------------------------------------------------------------------------


def accuracy(y: Ints, p: Floats, w: Floats) -> float:
    """Share of the rows whose most probable class is the true one."""
    return mean(p.argmax(axis=1) == y, w)


def log_losses(y: Ints, p: Floats) -> Floats:
    """Of every row, minus the logarithm of the true class's probability, clipped near 0 and 1."""
    of_truth = p[np.arange(len(y)), y]
    return np.asarray(-np.log(np.clip(of_truth, _EPSILON, 1 - _EPSILON)))


def log_loss(y: Ints, p: Floats, w: Floats) -> float:
    """Mean of ``log_losses``."""
    return mean(log_losses(y, p), w)


def brier_errors(y: Ints, p: Floats) -> Floats:
    """Of every row, the squared error of the second of two classes, or summed over more."""
    if p.shape[1] == 2:
        return np.asarray((p[:, 1] - y) ** 2)
    return np.asarray(((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1))


def brier(y: Ints, p: Floats, w: Floats) -> float:
    """Mean of ``brier_errors``."""
    return mean(brier_errors(y, p), w)


def brier_parts(y: Ints, p: Floats, w: Floats) -> tuple[float, float, float]:
    """Reliability, resolution and uncertainty: the Brier score of two classes is a - b + c.

    Reliability is what the score would fall by if probabilities were recalibrated, resolution how
    much recalibrated ones are better than the share of the class, uncertainty the score of that
    share. Isotonic regression recalibrates, so that no bins are to be chosen (Dimitriadis, Gneiting
    and Jordan 2021).
    """
    y, second, w = y[w > 0], p[w > 0, 1], w[w > 0]
    share = np.full(len(y), mean(y, w))
    score, best, worst = (mean((q - y) ** 2, w) for q in (second, isotonic(second, y, w), share))
    return score - best, worst - best, worst


def isotonic(p: Floats, y: NDArray[np.number], w: Floats) -> Floats:
    """For every row, the mean of y that rises with p and is nearest to y; weights are positive."""
    place = np.unique(p, return_inverse=True)[1]
    weight, total = np.bincount(place, weights=w), np.bincount(place, weights=w * y)
    return np.asarray(isotonic_regression(total / weight, weights=weight).x[place])


def net_benefits(is_class: Bools, p: Floats, threshold: float) -> Floats:
    """Of every row, what acting from a probability on is worth, in rows of the class.

    1 for a row of the class; a row that is not costs the odds of the threshold: whoever acts from
    20% on takes four of them for one of the class (Vickers and Elkin 2006).
    """
    cost = threshold / (1 - threshold)
    return np.where(p >= threshold, np.where(is_class, 1.0, -cost), 0.0)


def net_benefit(is_class: Bools, p: Floats, w: Floats, threshold: float) -> float:
    """Mean of ``net_benefits``."""
    return mean(net_benefits(is_class, p, threshold), w)


def auc(y: Ints, p: Floats, w: Floats) -> float:
    """Area under the ROC curve of the second of two classes.

    Of more classes, the mean over those that occur, each against the rest (scikit-learn's is NaN
    if one does not occur).
    """
    return mean_of_defined([auc_of_class(y == k, p[:, k], w) for k in ranked_classes(p)])


def ranked_classes(p: Floats) -> range:
    """The classes whose rankings count: the second of two, all of more."""
    return range(1, 2) if p.shape[1] == 2 else range(p.shape[1])


def auc_of_class(is_class: Bools, p: Floats, w: Floats) -> float:
    """Chance that a row of the class has a higher p than one that is not; equal ones count half.

    NaN where one of the sides has no rows.
    """
    if not has_both_sides(is_class, w):
        return np.nan
    return mean(placements(is_class, p, w)[is_class], w[is_class])


def has_both_sides(is_class: Bools, w: Floats) -> bool:
    """Whether rows of the class and others have weight."""
    return bool(w[is_class].any() and w[~is_class].any())


def placements(is_class: Bools, p: Floats, w: Floats) -> Floats:
    """For every row, the share of the other side that is ranked as it should be beside it."""
    place = np.unique(p, return_inverse=True)[1]

    def share_below(side: Bools) -> Floats:
        of_value = np.bincount(place, weights=np.where(side, w, 0.0))
        return np.asarray((of_value.cumsum() - of_value / 2)[place] / of_value.sum())

    return np.where(is_class, share_below(~is_class), 1 - share_below(is_class))


def gini(auc: float) -> float:
    """2 AUC - 1."""
    return 2 * auc - 1


def kolmogorov_smirnov(y: Ints, p: Floats, w: Floats) -> float:
    """Largest distance between two classes' shares up to some probability of the second.

    NaN where one of the classes has no rows.
    """
    if not has_both_sides(y == 1, w):
        return np.nan
    return float(np.abs(share_distances(y, p, w)[1]).max())


def share_distances(y: Ints, p: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The probabilities of the second class, and how much more of the first lies up to each."""
    values, place = np.unique(p[:, 1], return_inverse=True)
    of_first, of_second = (
        np.bincount(place, weights=np.where(y == k, w, 0.0)).cumsum() / w[y == k].sum()
        for k in (0, 1)
    )
    return values, of_first - of_second
