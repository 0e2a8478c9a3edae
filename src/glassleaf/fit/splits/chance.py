"""How probable the statistic of a split is where no split is true: each formula by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaincc, ndtr

Floats = NDArray[np.float64]

# A weight below this share of the largest adds nothing to a sum of squares.
_NO_WEIGHT = 1e-10
# At the mean itself the approximation divides zero by zero.
_ABOVE = 1.001


def chance(gain: float, dispersion: float, shares: Floats, n_candidates: float) -> float:
    """Probability that the best of many splits gains this much where none is true.

    Twice the gain over the dispersion is a likelihood ratio. A direction of which the penalty
    leaves the share s adds s times a chi-squared variable; the sum is approximated by a scaled
    chi-squared variable of the same mean and variance (Satterthwaite 1946), and the probability
    multiplied by the number of candidates (Bonferroni).

    >>> round(chance(gain=1.92, dispersion=1.0, shares=np.ones(1), n_candidates=1), 3)
    0.05
    """
    if gain <= 0 or not shares.any():
        return 1.0
    if dispersion <= 0:
        return 0.0
    total, squares = float(shares.sum()), float((shares**2).sum())
    degrees, unit = total**2 / squares, squares / total
    # The upper tail of chi-squared with d degrees of freedom is that of gamma with d / 2.
    return min(1.0, n_candidates * float(gammaincc(degrees / 2, gain / dispersion / unit)))


def upper_tail(value: float, weights: Floats) -> tuple[float, float]:
    """Tail and density of a weighted sum of chi-squared variables, above its mean.

    It is the saddlepoint approximation, right to some percent however far out (Lugannani & Rice
    1980; Kuonen 1999). At and below the mean, where a test says nothing, it says (1, 0).

    >>> tail, density = upper_tail(7.815, np.ones(3))
    >>> round(tail, 3), round(density, 3)
    (0.05, 0.024)
    """
    largest = float(weights.max(initial=0.0))
    if value <= _ABOVE * weights.sum():
        return 1.0, 0.0
    if largest <= 0 or value == np.inf:
        return 0.0, 0.0
    own, level = weights[weights > _NO_WEIGHT * largest] / largest, value / largest

    def slope(place: float) -> float:  # of the logarithm of the moment generating function
        return float((own / (1.0 - 2.0 * place * own)).sum()) - level

    # The largest weight alone is below the level up to here.
    place = float(brentq(slope, 0.0, 0.5 * (1.0 - 1.0 / (level + 1.0)), xtol=1e-14))
    left = 1.0 - 2.0 * place * own
    height = -0.5 * float(np.log(left).sum())
    curvature = float(2.0 * ((own / left) ** 2).sum())
    root = np.sqrt(2.0 * (place * level - height))
    tail = ndtr(-(root + np.log(place * np.sqrt(curvature) / root) / root))
    density = np.exp(height - place * level) / np.sqrt(2.0 * np.pi * curvature)
    return float(tail), float(density) / largest


def best_of_borders(value: float, weights: Floats, share: float) -> float:
    """Probability that such a sum of squares is as large at any border along a column.

    ``share`` of the rows is left of the border where it is largest. Along the column, the parts of
    the sum are Brownian bridges divided by their spread. In the time ``t = log(share / (1 -
    share))`` these are stationary processes that return to zero at the rate 1/2, and a high level
    is crossed ``density * (value - mean)`` times per unit of time (DeLong 1981, Estrella 2003 where
    all weights are equal; the drift of the sum is its mean less its value in any case). The level
    may be higher for borders near the ends: all rows get the same part of the probability, so that
    a unit of time counts by the rows in it, ``share * (1 - share)``.

    >>> round(best_of_borders(17.0, np.ones(2), share=0.5), 3)  # 0.0002 at one border
    0.007
    """
    tail, density = upper_tail(value, weights)
    rate = density * max(value - float(weights.sum()), 0.0)
    return tail + rate / (share * (1.0 - share))


def best_of_all(
    value: float,
    weights: Floats,
    share: float,
    n_splits: float,
    n_paths: int,
    n_columns: int,
) -> float:
    """Probability that such a sum of squares is as large for any split of any column.

    The best column has ``n_splits`` splits, which lie along ``n_paths`` paths (see ``Choices``).
    Where they are few, or the border is near an end, it is less to count them (Bonferroni); columns
    are counted always.
    """
    of_column = n_splits * upper_tail(value, weights)[0]
    if n_paths:
        of_column = min(of_column, n_paths * best_of_borders(value, weights, share))
    return min(1.0, n_columns * of_column)
