"""95% intervals of scores on test rows.

A score is a mean over rows, or a smooth function of such means. Its
interval follows from its *influence values*: what each row adds to the error of the score. Their
spread over the root of the number of rows is the standard error; nothing is drawn at random. For
the AUC this is DeLong's interval (taken on the log-odds scale, so that it stays between 0 and 1);
shares of rows have Wilson's.

With weights, all means are weighted, and what a row adds to the error grows with its weight. A
heavy row is still one row: its weight says how much it matters, not how often it was seen. Wilson's
interval counts as many rows of equal weight as would tell as much.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import scores
from glassleaf.explanations.scores import relative_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Standard errors on each side of a 95% interval.
Z = 1.959963984540054


# --- intervals -----------------------------------------------------------------------------------


def around(value: float, influence: Floats) -> tuple[float, float]:
    """The interval of a score with these influence values; not known for a single row."""
    half = Z * scores.standard_error(influence)
    return value - half, value + half


def between_0_and_1(value: float, influence: Floats) -> tuple[float, float]:
    """The same on the log-odds scale."""
    if not 0 < value < 1:
        return value, value
    error = scores.standard_error(influence)
    center, half = np.log(value / (1 - value)), Z * error / (value * (1 - value))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (center - half, center + half))
    return low, high


def of_mean(values: Floats, w: Floats) -> tuple[float, float]:
    """The interval of a weighted mean."""
    return around(scores.mean(values, w), mean_influence(values, w))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's interval of a share of n rows.

    >>> [round(x, 3) for x in wilson(0.0, 20)]
    [0.0, 0.161]
    """
    if n == 0:
        return np.nan, np.nan
    center = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    low, high = float(center - half), float(center + half)
    return low if share > 0 else 0.0, high if share < 1 else 1.0


# --- influence values, by score ------------------------------------------------------------------


def mean_influence(values: Floats, w: Floats) -> Floats:
    """Of a weighted mean of one value per row."""
    return relative_weights(w) * (values - scores.mean(values, w))


def root_influence(y: Floats, p: Floats, w: Floats) -> Floats:
    """Of the root of the mean squared error."""
    root = scores.root_mean_squared_error(y, p, w)
    influence = mean_influence((p - y) ** 2, w)
    return influence / (2 * root) if root > 0 else influence


def r_squared_influence(y: Floats, p: Floats, w: Floats) -> Floats:
    """Of R²."""
    return _ratio_influence((p - y) ** 2, (y - scores.mean(y, w)) ** 2, w)


def explained_deviance_influence(loss: str, y: Floats, p: Floats, w: Floats) -> Floats:
    """Of D². The deviance of the mean has no slope at the mean, so that ȳ may count as known."""
    return _ratio_influence(scores.DEVIANCES[loss](y, p), scores.constant_deviances(loss, y, w), w)


def _ratio_influence(part: Floats, whole: Floats, w: Floats) -> Floats:
    """Of 1 - mean of part / mean of whole, by the delta method."""
    total = scores.mean(whole, w)
    if total <= 0:
        return np.zeros_like(part)
    ratio = scores.mean(part, w) / total
    return -relative_weights(w) * (part - ratio * whole) / total


def ratio_of_means_influence(y: Floats, p: Floats, w: Floats) -> Floats:
    """Of the mean prediction over the mean target."""
    actual, ratio = scores.mean(y, w), scores.ratio_of_means(y, p, w)
    return relative_weights(w) * (p - ratio * y) / actual if actual else np.zeros_like(y)


def auc_influence(y: Ints, p: Floats, w: Floats) -> Floats:
    """Of the AUC; of more than two classes, the mean over those that occur."""
    found = [
        auc_of_class_influence(y == k, p[:, k], w)
        for k in scores.ranked_classes(p)
        if scores.has_both_sides(y == k, w)
    ]
    return np.mean(found, axis=0) if found else np.zeros(len(y))


def auc_of_class_influence(is_class: Bools, p: Floats, w: Floats) -> Floats:
    """Of the AUC of one class against the rest: DeLong's placements around their mean."""
    if not scores.has_both_sides(is_class, w):
        return np.zeros(len(p))
    away = scores.placements(is_class, p, w) - scores.auc_of_class(is_class, p, w)
    of_side = np.where(is_class, w[is_class].sum(), w[~is_class].sum())
    n, in_side = len(p), np.where(is_class, is_class.sum(), (~is_class).sum())
    # DeLong divides by the rows of a side less one, ``standard_error`` by all rows less one.
    exact = np.sqrt((n - 1) / n * in_side / np.maximum(in_side - 1, 1))
    return np.asarray(away * w * n / of_side * exact)


def kolmogorov_smirnov_influence(y: Ints, p: Floats, w: Floats) -> Floats:
    """Of KS. At the largest distance its slope is zero, so that the place may count as known."""
    is_second = y == 1
    if not scores.has_both_sides(is_second, w):
        return np.zeros(len(y))
    values, distance = scores.share_distances(y, p, w)
    best = int(np.abs(distance).argmax())
    sign, is_below = np.sign(distance[best]), p[:, 1] <= values[best]
    out = np.empty(len(y))
    for side, direction in ((is_second, -sign), (~is_second, sign)):
        own = w[side]
        away = is_below[side] - scores.mean(is_below[side], own)
        out[side] = direction * away * len(y) * own / own.sum()
    return out
