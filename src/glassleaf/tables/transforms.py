"""Monotone changes of numeric columns, for the models in the nodes; splits see raw values.

A transform is a piecewise linear function given by *knots*: ``x`` ascending, ``z`` the value at
each, constant beyond the first and the last. It is learned from the bins of a column and needs no
pass over the rows. Three kinds:

* ``winsor`` cuts the tails: a value beyond the 1 % or 99 % quantile counts as that quantile;
* ``cut`` does so where tails are heavy, at a short number near the quantile, and only on the side
  that reaches far beyond it: a formula then says ``min(x, 500)``;
* ``rank`` replaces a value by the normal score of its rank (van der Waerden): the share of rows
  below it, as the quantile of a standard normal variable. Tails of any weight become harmless.

``auto`` transforms columns with heavy tails only, to what says more about the target by itself. A
column without such tails is left alone even where a transform would help one model: splits bend
it too, and a formula in raw values is easier to read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from glassleaf import _kernels
from glassleaf.tables.short_numbers import shortest_between

Floats = NDArray[np.float64]

TRANSFORMS = {kind: kind for kind in ("none", "cut", "winsor", "rank", "auto")}
_TAIL = 0.01
# How far a cut may lie from the quantile, as a share of the rows, so that it is a short number.
_MOVE = 0.005
# A side is cut if it reaches this many times farther from the median than its quantile does.
_FAR = 1.5
# A distribution with a larger kurtosis than this, that of an exponential one, has heavy tails.
_HEAVY = 9.0
# A transform must say this much more about the target than what is simpler.
_WORTH_A_TRANSFORM = 0.02
# Normal scores between which the transform is linear: few enough to be read and exported.
_SCORES = np.linspace(-2.75, 2.75, 23)
_FARTHEST = 3.5


@dataclass(frozen=True)
class PiecewiseLinear:
    """The function through some points, linear between them and constant beyond the ends.

    ``x`` strictly ascends.
    """

    x: Floats
    z: Floats

    def __call__(self, values: Floats) -> Floats:
        """The function of every value; missing values stay missing."""
        # A kernel is compiled again for every kind of array: a table may not be written to.
        values = np.require(values, dtype=np.float64, requirements=["C", "W"])
        flat, out = values.ravel(), np.empty(values.size)
        piece = np.empty(values.size, dtype=np.uint16)
        _kernels.assign_bins(flat, self.x, 0, piece)
        _kernels.interpolate_pieces(flat, piece, self.x, self.z, out)
        return out.reshape(values.shape)

    def straight_between(self, low: float, high: float) -> tuple[float, float] | None:
        """Slope and constant of the function where it has no corner in between, else None.

        >>> peak = PiecewiseLinear(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 0.0]))
        >>> peak.straight_between(1.0, 2.0), peak.straight_between(0.5, 2.0)
        ((-1.0, 3.0), None)
        """
        piece = int(np.searchsorted(self.x, low, side="right")) - 1
        end = self.x[piece + 1] if piece + 1 < len(self.x) else np.inf
        if not (np.isfinite(low) and np.isfinite(high) and high <= end):
            return None
        if piece < 0 or end == np.inf:
            return 0.0, float(self.z[max(piece, 0)])
        slope = float((self.z[piece + 1] - self.z[piece]) / (end - self.x[piece]))
        return slope, float(self.z[piece] - slope * self.x[piece])


@dataclass(frozen=True)
class Knots(PiecewiseLinear):
    """One that ascends, so that it can be turned around."""

    def inverse(self, transformed: Floats) -> Floats:
        """A value that is mapped to each; the middle one where there are several.

        >>> Knots(np.array([0.0, 10.0]), np.array([0.0, 1.0])).inverse(np.array([0.5]))
        array([5.])
        """
        return np.interp(transformed, self.z, self.x)


@dataclass(frozen=True)
class Distribution:
    """A column's distribution by bins: smallest and largest value, and weight, of each."""

    lower: Floats
    upper: Floats
    weight: Floats

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """Share of the weight below every bin, and up to its end."""
        total = np.cumsum(self.weight)
        total /= total[-1]  # exactly 1 at the end: a share beyond it has no normal score
        return np.concatenate([[0.0], total[:-1]]), total

    def quantile(self, share: float) -> float:
        """The value that leaves this share of the weight below it, to within a bin.

        >>> values = np.array([1.0, 2.0])
        >>> Distribution(values, values, np.array([3.0, 1.0])).quantile(0.5)
        1.0
        """
        before, up_to = self.shares
        used = np.flatnonzero(self.weight > 0)
        b = used[min(int(np.searchsorted(up_to[used], share)), len(used) - 1)]
        inside = (share - before[b]) / (up_to[b] - before[b])
        return float(self.lower[b] + inside * (self.upper[b] - self.lower[b]))


def has_heavy_tails(column: Distribution) -> bool:
    """Whether "auto" looks for a transform of the column."""
    return _kurtosis((column.lower + column.upper) / 2, column.weight) > _HEAVY


def learn_knots(column: Distribution, kind: str, slope: Floats | None) -> Knots | None:
    """The transform of a column, None where it is best left as it is.

    ``slope`` are the means per bin of the loss's gradient at a constant model, one column per
    output; only "auto" looks at them.
    """
    if kind == "winsor":
        return winsor_knots(column)
    if kind == "cut":
        return cut_knots(column)
    if kind == "rank" or slope is None:
        return rank_knots(column)
    return _best_knots(column, slope)


def _best_knots(column: Distribution, slope: Floats) -> Knots | None:
    if not has_heavy_tails(column):
        return None
    plain = (column.lower + column.upper) / 2
    best, most = None, _explained(plain, slope, column.weight)
    for knots in (winsor_knots(column), rank_knots(column)):
        if knots is None:
            continue
        found = _explained(knots(plain), slope, column.weight)
        if found > (1 + _WORTH_A_TRANSFORM) * most:
            best, most = knots, found
    return best


def _kurtosis(values: Floats, weight: Floats) -> float:
    """Fourth moment by the square of the second; 3 of a normal, 9 of an exponential variable."""
    centered = values - np.average(values, weights=weight)
    largest = np.abs(centered).max()
    if largest <= 0:
        return 0.0
    squares = (centered / largest) ** 2
    return float(np.average(squares**2, weights=weight) / np.average(squares, weights=weight) ** 2)


def _explained(term: Floats, slope: Floats, weight: Floats) -> float:
    """How much of the slope's variance is linear in the term, in units of its own variance."""
    centered = term - np.average(term, weights=weight)
    largest = np.abs(centered).max()
    if largest <= 0:
        return 0.0
    centered = centered / largest  # squares of huge numbers would overflow
    variance = float(weight @ centered**2)
    return float((((weight * centered) @ slope) ** 2).sum() / variance)


def winsor_knots(column: Distribution) -> Knots | None:
    """Values beyond the outer quantiles count as these; None where that leaves no two values."""
    ends = np.array([column.quantile(_TAIL), column.quantile(1 - _TAIL)])
    return Knots(ends, ends) if ends[0] < ends[1] else None


def cut_knots(column: Distribution) -> Knots | None:
    """Far values of heavy tails count as a short number near the quantile, else None.

    A side that is not cut ends at the column's farthest value.
    """
    if not has_heavy_tails(column):
        return None
    middle = column.quantile(0.5)
    ends = [float(column.lower[0]), float(column.upper[-1])]
    cuts = []
    for end, share in zip(ends, (_TAIL, 1 - _TAIL), strict=True):
        quantile = column.quantile(share)
        is_far = abs(end - middle) > _FAR * abs(quantile - middle)
        between = column.quantile(share - _MOVE), column.quantile(share + _MOVE)
        cuts.append(shortest_between(*between) if is_far else end)
    return Knots(np.array(cuts), np.array(cuts)) if ends != cuts and cuts[0] < cuts[1] else None


def rank_knots(column: Distribution) -> Knots | None:
    """Normal scores of mid-ranks at some quantiles, or at all values where these are few."""
    before, up_to = column.shares
    if len(column.weight) <= len(_SCORES):
        middle = (column.lower + column.upper) / 2
        x, z = middle, ndtri((before + up_to) / 2)
    else:
        is_value = column.lower == column.upper
        start = np.where(is_value, (before + up_to) / 2, before)
        end = np.where(is_value, start, up_to)
        x = np.column_stack([column.lower, column.upper]).ravel()
        score = ndtri(np.column_stack([start, end]).ravel())
        score = np.clip(score, -_FARTHEST, _FARTHEST)  # the ends of the range are at infinity
        inner = _SCORES[(score[0] < _SCORES) & (score[-1] > _SCORES)]
        z = np.concatenate([score[:1], inner, score[-1:]])
        x = np.interp(z, score, x)
    return _strictly_ascending(x, z)


def _strictly_ascending(x: Floats, z: Floats) -> Knots | None:
    """One knot per distinct x, at the mean of its scores; None where a slope is no number."""
    distinct, group = np.unique(x, return_inverse=True)
    if len(distinct) < 3:  # two values: any function of them is linear
        return None
    mean = np.bincount(group, weights=z) / np.bincount(group)
    with np.errstate(over="ignore"):
        steep = np.diff(mean) / np.diff(distinct)
    return Knots(distinct, mean) if np.isfinite(steep).all() else None
