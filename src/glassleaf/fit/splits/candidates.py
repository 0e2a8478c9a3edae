"""The candidates of a search: their gains in, the best split, its rivals and a short list out.

The best gain wins; among gains that differ by less than a relative ``TIE``, the lowest column, then
the lowest bin, so that the order of additions cannot decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.rows.passes import BinSegments
from glassleaf.tables.binning import FeatureBins
from glassleaf.tables.cells import ANY_NUMBER
from glassleaf.tables.short_numbers import n_digits, shortest_between

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TIE = 1e-9
# Points by which the gains along a feature are remembered.
_CURVE_POINTS = 64
# A shortlist takes candidates of this many features, this share of the node's rows apart.
_SHORTLISTED_FEATURES = 5
# ... whose best has at least this share of the best gain of all. On the evaluation data no split
# with less than 0.44 of it was ever chosen.
_PROMISING = 0.4
_WELL_AWAY = 0.05


@dataclass(frozen=True)
class Border:
    """A border that may run through bins: rows of those near it go left up to a stored value."""

    near_bin: Bools
    place: int
    last_left: float


@dataclass(frozen=True)
class Split:
    """A chosen split. ``left_of_bin`` says for every bin of the feature whether it goes left.

    Where there is a ``border``, it says so for the rows of the bins near it.
    """

    gain: float
    column: int
    block: int
    first_bin: int
    left_of_bin: Bools
    default_bin: int
    threshold: float
    is_categorical: bool
    missing_left: bool
    special_left: Bools
    unknown_left: bool
    candidate: int  # its number among the candidates of its feature
    p_value: float = np.nan
    border: Border | None = None

    def segments(self, of_bin: NDArray[np.uint16]) -> BinSegments:
        """Segments of rows, given by a code for every bin of the split's feature."""
        return BinSegments(self.block, self.first_bin, of_bin, int(of_bin[self.default_bin]))


@dataclass(frozen=True)
class Choices:
    """How many splits of a column there are to choose from.

    Those of a number lie along ``n_paths`` paths of its values, on which neighbours are alike: one,
    or two where missing values may go either way, and so on with special values. Those of
    categories have no order.
    """

    n_splits: float
    n_paths: int


@dataclass(frozen=True)
class FeatureGains:
    """The gains of one feature's candidates, in the order of its bins."""

    feature: FeatureBins
    block: int
    first_bin: int
    gains: Floats
    count: NDArray[np.int64]  # rows of the node per bin
    weight: Floats  # their weight
    order: NDArray[np.intp] | None = None  # in which borders between categories are candidates
    group: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # of every state of a number: states of a group go to a side together; -1: it does not occur

    @cached_property
    def best(self) -> float:
        """The largest gain; minus infinity if there is no candidate."""
        return float(self.gains.max(initial=-np.inf))

    def groups_left(self, candidate: Any) -> Any:
        """Which groups of a number's states go left, one bit each."""
        return candidate % self._per_bin

    @cached_property
    def _per_bin(self) -> int:
        """Candidates per bin: two for every group of states, which may go left or right."""
        return 1 << int(self.group.max(initial=-1) + 1)

    def with_unseen(self, left_of_bin: Bools, mostly_left: bool) -> Bools:
        """The side of every bin, where states that do not occur here follow the larger side."""
        out = left_of_bin.copy()
        out[self.feature.n_values :][self.group < 0] = mostly_left
        return out

    def bin_of(self, candidate: int) -> int:
        """The last bin on the left of a border, or the one category."""
        return candidate // self._per_bin

    def weight_before(self) -> Floats:
        """Weight of the rows up to every candidate's place."""
        if self.order is not None:
            return np.cumsum(self.weight[self.order])
        return np.repeat(np.cumsum(self.weight), self._per_bin)[: len(self.gains)]

    @property
    def choices(self) -> Choices:
        """What the best was chosen from: candidates, or all subsets of categories."""
        if self.order is None:
            n_paths = 0 if self.feature.is_categorical else self._per_bin
            return Choices(float(np.isfinite(self.gains).sum()), n_paths)
        return Choices(float(2.0 ** min(int(np.count_nonzero(self.count)) - 1, 1000)), 0)


def best_split(candidates: Iterable[FeatureGains], min_gain: float) -> Split | None:
    """The best candidate of all features under the tie rule, or None."""
    features = list(candidates)
    best = max((feature.best for feature in features), default=-np.inf)
    if not np.isfinite(best) or best <= min_gain:
        return None
    good = best - TIE * abs(best)
    winner = min(
        (feature for feature in features if feature.best >= good),
        key=lambda feature: feature.feature.column,
    )
    return _describe(winner, int(np.argmax(winner.gains >= good)))


@dataclass(frozen=True)
class Rival:
    """A feature's best candidate at a node by the criterion, or the chosen one; its gains.

    ``position`` are the thresholds of a numeric feature, ascending; for categories, whose
    candidates have no natural order, the rank of the candidate, best first.
    """

    split: Split
    position: Floats
    gains: Floats
    has_missing: bool


def rivals(candidates: Iterable[FeatureGains], chosen: Split, at_most: int = 5) -> list[Rival]:
    """The chosen candidate, then the best ones of the other features that have the best."""
    able = [feature for feature in candidates if np.isfinite(feature.best)]
    able.sort(key=lambda own: (own.feature.column != chosen.column, -own.best))
    return [_rival(feature, chosen) for feature in able[:at_most]]


def _rival(found: FeatureGains, chosen: Split) -> Rival:
    good = found.best - TIE * abs(found.best)
    is_chosen = found.feature.column == chosen.column
    split = _describe(found, chosen.candidate if is_chosen else int(np.argmax(found.gains >= good)))
    if found.feature.is_categorical:
        gains = np.sort(found.gains[np.isfinite(found.gains)])[::-1][:_CURVE_POINTS]
        position = np.arange(float(len(gains)))
    else:
        position, gains = _curve(found)
    return Rival(split, position, gains, bool(found.count[found.feature.n_values] > 0))


def _curve(found: FeatureGains) -> tuple[Floats, Floats]:
    """Thresholds and gains of a numeric feature, thinned to the best of every few neighbors."""
    n_values = found.feature.n_values
    gains = found.gains.reshape(n_values, -1).max(axis=1)
    occurs = found.count[:n_values] > 0
    values = np.flatnonzero(occurs)  # borders lie between values that occur next to each other
    border = np.flatnonzero(np.isfinite(gains[values[:-1]]))
    low, high = found.feature.upper[values[border]], found.feature.lower[values[border + 1]]
    thresholds, gains = low + (high - low) / 2, gains[values[border]]
    if len(gains) > _CURVE_POINTS:
        group = np.arange(len(gains)) * _CURVE_POINTS // len(gains)
        order = np.lexsort((-gains, group))  # the best of every group comes first in it
        best = order[np.searchsorted(group, np.arange(_CURVE_POINTS))]
        thresholds, gains = thresholds[best], gains[best]
    return thresholds, gains


def shortlist(candidates: Iterable[FeatureGains], size: int, min_gain: float) -> list[Split]:
    """Good candidates for a close look, at several places of several features.

    The features with the best gains each send a few candidates: their best, then the best that is
    well away (in weight) from those chosen before.
    """
    features = sorted(
        (feature for feature in candidates if feature.best > min_gain),
        key=lambda feature: (-feature.best, feature.feature.column),
    )
    per_feature = max(1, -(-size // _SHORTLISTED_FEATURES))
    found: list[Split] = []
    if sum(int(np.isfinite(feature.gains).sum()) for feature in features) > size:
        best = features[0].best
        features = [feature for feature in features if feature.best >= _PROMISING * best]
    for feature in features[: -(-size // per_feature)]:
        found += [_describe(feature, k) for k in _apart(feature, per_feature, min_gain)]
    return found[:size]


def _apart(feature: FeatureGains, size: int, min_gain: float) -> Iterator[int]:
    """The best candidates of one feature that are not neighbours of each other."""
    gains = feature.gains.copy()
    place = feature.weight_before()
    away = _WELL_AWAY * feature.weight.sum() * (1 - TIE)
    for _ in range(size):
        best = int(np.argmax(gains))
        if not gains[best] > min_gain:
            return
        yield best
        if feature.feature.is_categorical and feature.order is None:
            gains[best] = -np.inf
        else:
            gains[np.abs(place - place[best]) < away] = -np.inf


def _describe(found: FeatureGains, candidate: int) -> Split:
    if found.order is not None:
        return _describe_subset(found, found.order, candidate)
    feature = found.feature
    last_left = found.bin_of(candidate)
    bins = np.arange(feature.n_bins)
    if feature.is_categorical:  # a new category belongs to "the rest"
        return _split(found, candidate, bins == last_left, np.nan, unknown_left=False)
    left_of_bin = bins <= last_left
    goes_left = found.groups_left(candidate) >> np.maximum(found.group, 0)
    left_of_bin[feature.n_values :] = (found.group >= 0) & (goes_left & 1 == 1)
    mostly_left = is_larger(float(found.weight[left_of_bin].sum()), found.weight.sum())
    left_of_bin = found.with_unseen(left_of_bin, mostly_left)
    threshold = _threshold(feature, found.count, last_left)
    return _split(found, candidate, left_of_bin, threshold, unknown_left=False)


def _split(
    found: FeatureGains, candidate: int, left_of_bin: Bools, threshold: float, unknown_left: bool
) -> Split:
    feature = found.feature
    return Split(
        gain=float(found.gains[candidate]),
        column=feature.column,
        block=found.block,
        first_bin=found.first_bin,
        left_of_bin=left_of_bin,
        default_bin=feature.default_bin,
        threshold=threshold,
        is_categorical=feature.is_categorical,
        missing_left=bool(left_of_bin[feature.n_values]),
        special_left=left_of_bin[feature.n_values + 1 :],
        unknown_left=unknown_left,
        candidate=candidate,
    )


def is_larger(weight: float, total: float) -> bool:
    """Whether a side of that weight is at least as large as the other."""
    return bool(2 * weight * (1 + TIE) >= total)


def _describe_subset(found: FeatureGains, order: NDArray[np.intp], candidate: int) -> Split:
    left_of_bin = np.zeros(found.feature.n_bins, dtype=np.bool_)
    left_of_bin[order[: candidate + 1]] = True
    # What did not occur here, and what never occurred, follows the larger side.
    mostly_left = is_larger(float(found.weight[left_of_bin].sum()), found.weight.sum())
    left_of_bin[found.count == 0] = mostly_left
    return _split(found, candidate, left_of_bin, np.nan, unknown_left=mostly_left)


def _threshold(feature: FeatureBins, count: NDArray[np.int64], last_left: int) -> float:
    """Midpoint between the values next to the border that occur in this node."""
    low, high = _gap(feature, count, last_left)
    if high == np.inf:
        return ANY_NUMBER  # everything that is not missing goes left
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low


def _gap(feature: FeatureBins, count: NDArray[np.int64], last_left: int) -> tuple[float, float]:
    """The values that occur in this node next to a border; infinite if there is none above."""
    after = np.flatnonzero(count[last_left + 1 : feature.n_values])
    before = np.flatnonzero(count[: last_left + 1])
    low = float(feature.upper[before[-1]]) if len(before) else -np.inf
    if not len(after):
        return low, np.inf
    return low, float(feature.lower[last_left + 1 + int(after[0])])


def readable(candidates: Iterable[FeatureGains], split: Split, tolerance: float) -> Split:
    """The split, or one of the same feature with nearly its gain and a threshold short to read.

    ``tolerance`` is the share of the criterion's gain that this may cost.
    """
    if split.is_categorical or split.threshold == ANY_NUMBER:
        return split
    found = next(own for own in candidates if own.feature.column == split.column)
    gain = float(found.gains[split.candidate])
    as_good = found.gains >= gain - tolerance * abs(gain)
    groups = found.groups_left(np.arange(len(found.gains)))
    as_good &= groups == found.groups_left(split.candidate)
    options = []
    for candidate in np.flatnonzero(as_good).tolist():
        low, high = _gap(found.feature, found.count, found.bin_of(candidate))
        if np.isfinite(high) and np.isfinite(low):
            threshold = shortest_between(low, high)
            lost = gain - float(found.gains[candidate])
            options.append((n_digits(threshold), lost, candidate, threshold))
    if not options:
        return split
    _, lost, candidate, threshold = min(options)
    kept_share = 1.0 - lost / gain if gain > 0 else 1.0
    return replace(
        _describe(found, candidate),
        threshold=threshold,
        gain=split.gain * kept_share,
        p_value=split.p_value,
    )
