"""Sums per bin in, the best split out: cumulative sums, masks, gains, ties.

Candidates of a numeric feature are all borders between its bins, each with the missing values on
either side, and "missing or not". Those of a categorical feature are one category (or "missing")
against the rest, or subsets: its categories are put in an order (see ``category_order``) in which
all borders are candidates. The best gain wins; among gains that differ by less than a relative
``TIE``, the lowest column, then the lowest bin, so that the order of additions cannot decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.binning import Block, FeatureBins
from glassleaf.criteria import Criterion, GradientGain, Side
from glassleaf.design import Layout
from glassleaf.renormalizers import NodeUnits, Renormalizer, SideSums, ZScore
from glassleaf.rounding import n_digits, shortest_between
from glassleaf.rows import BinSets, BinSums
from glassleaf.scratch import scratch
from glassleaf.values import ANY_NUMBER

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TIE = 1e-9
# Points by which the gains along a feature are remembered.
_CURVE_POINTS = 64
# A shortlist takes candidates of so many features, this share of the node's rows apart.
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
    unknown_left: bool
    candidate: int  # its number among the candidates of its feature
    p_value: float = np.nan
    border: Border | None = None

    def sets(self, of_bin: NDArray[np.uint16]) -> BinSets:
        """Rows apart by what is said of the bins of the split's feature."""
        return BinSets(self.block, self.first_bin, of_bin, int(of_bin[self.default_bin]))


@dataclass(frozen=True)
class Question:
    """What is asked of the sums: the criterion, its units, and the smallest side allowed."""

    criterion: Criterion
    renormalizer: Renormalizer
    min_count: int
    subsets: bool = False

    @property
    def is_the_papers(self) -> bool:
        """Whether a kernel has all gains at once; classes derived from these may differ."""
        return type(self.criterion) is GradientGain and type(self.renormalizer) is ZScore


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

    @cached_property
    def best(self) -> float:
        """The largest gain; minus infinity if there is no candidate."""
        return float(self.gains.max(initial=-np.inf))

    @property
    def missing_left(self) -> Bools:
        """For every candidate but subsets of categories: whether missing values go left."""
        if self.feature.is_categorical:
            return np.asarray(np.arange(self.feature.n_bins) == self.feature.n_values)
        return np.asarray(np.arange(len(self.gains)) % self._per_bin == 1)  # every other, or none

    @property
    def _per_bin(self) -> int:
        """Candidates per bin: two where values are missing, which may go left or right."""
        return 2 if not self.feature.is_categorical and self.count[-1] > 0 else 1

    def bin_of(self, candidate: int) -> int:
        """The last bin on the left of a border, or the one category."""
        return candidate // self._per_bin

    def weight_before(self) -> Floats:
        """Weight of the rows up to every candidate's place."""
        if self.order is not None:
            return np.cumsum(self.weight[self.order])
        return np.repeat(np.cumsum(self.weight), self._per_bin)[: len(self.gains)]

    @property
    def n_choices(self) -> float:
        """From how many splits the best was chosen, by looking or by the order."""
        if self.order is None:
            return float(np.isfinite(self.gains).sum())
        return float(2.0 ** min(int(np.count_nonzero(self.count)) - 1, 1000))


# --- from bins to the two sides of every candidate ------------------------------------------------


def complete(block: Block, sums: BinSums, whole: BinSums, layout: Layout) -> BinSums:
    """Add what is not stored: the complements among the columns, the default bins of the block."""
    low = high = None
    if sums.low is not None:
        low, high = _expand_ranges(sums, layout)
    if sums.moments is not None:
        n_squares = sums.moments.shape[1] - sums.values.shape[1]
        total = np.concatenate([sums.values, sums.values[:, -1:][:, :n_squares]], axis=1)
        layout.fill_complements(sums.moments, total)
    if block.features[0].default_bin >= 0:
        for table, of_node in (
            (sums.count, whole.count),
            (sums.values, whole.values),
            (sums.moments, whole.moments),
        ):
            if table is not None and of_node is not None:
                _fill_default_bins(block, table, of_node[0])
    return BinSums(sums.count, sums.values, sums.moments, low, high)


def _fill_default_bins(block: Block, table: NDArray[Any], total: NDArray[Any]) -> None:
    default = [first + feature.default_bin for first, feature in block]
    table[default] = total - np.add.reduceat(table, block.first_bin, axis=0)


def _expand_ranges(sums: BinSums, layout: Layout) -> tuple[Floats, Floats]:
    """Ranges of all stored columns: absent entries are zeros, complements are indicators."""
    assert sums.low is not None and sums.high is not None and sums.stored is not None
    n = layout.n_dense
    count = sums.count[:, None]
    has_zero = sums.stored < count
    low, high = sums.low.copy(), sums.high.copy()
    low[:, n:] = np.where(has_zero, np.minimum(low[:, n:], 0.0), low[:, n:])
    high[:, n:] = np.where(has_zero, np.maximum(high[:, n:], 0.0), high[:, n:])
    stored = np.concatenate([np.zeros((len(count), n)), sums.stored], axis=1)
    total = sums.count.astype(np.float64)
    of_complement = layout.expand_sums(stored, total)[:, n + layout.n_sparse :]
    empty = np.broadcast_to(count == 0, of_complement.shape)
    complement_low = np.where(of_complement < count, 0.0, 1.0)
    complement_high = np.where(of_complement > 0, 1.0, 0.0)
    complement_low[empty], complement_high[empty] = np.inf, -np.inf
    return (
        np.concatenate([low, complement_low], axis=1),
        np.concatenate([high, complement_high], axis=1),
    )


def node_extent(whole: BinSums) -> Floats:
    """Range of every stored column in the node."""
    assert whole.low is not None and whole.high is not None
    return np.asarray(whole.high[0] - whole.low[0])


def block_gains(
    block: Block,
    index: int,
    sums: BinSums,
    whole: BinSums,
    layout: Layout,
    units: NodeUnits,
    question: Question,
) -> list[FeatureGains]:
    """Gains of all candidates of a block; ``whole`` are the (complete) sums of the node."""
    sums = complete(block, sums, whole, layout)
    first_bin, n_values, categorical = block.arrays
    missing = sums.count[first_bin + n_values] > 0
    orders: list[NDArray[np.intp] | None] = [None] * len(first_bin)
    sorted_sums = sums
    if question.subsets and categorical.any():
        orders = [
            category_order(sums, first, feature, units) if feature.is_categorical else None
            for first, feature in block
        ]
        sorted_sums = _sorted_bins(block, sums, orders)
        n_values, missing = n_values + categorical, missing & ~categorical
        categorical = np.zeros_like(categorical)
    n_candidates = np.where(categorical, n_values + 1, np.where(missing, 2, 1) * n_values)
    shape = (first_bin, n_values, categorical, missing)
    all_gains = _gains(sorted_sums, shape, int(n_candidates.sum()), units, question)
    found, end = [], 0
    for k, (first, feature) in enumerate(block):
        start, end = end, end + int(n_candidates[k])
        own, here = all_gains[start:end], slice(first, first + feature.n_bins)
        count = sums.count[here]
        if missing[k] and not feature.is_categorical:
            # Only missing values on the left is the same split as only missing ones on the right.
            own[np.repeat(np.cumsum(count[:-1]) == 0, 2)] = -np.inf
        weight = sums.values[here, -1]
        found.append(FeatureGains(feature, index, first, own, count, weight, orders[k]))
    return found


# Rows' worth of doubt about a category's gradient: rare categories go to the middle of the order.
_DOUBT = 10.0
_POWER_STEPS = 15


def category_order(
    sums: BinSums, first: int, feature: FeatureBins, units: NodeUnits
) -> NDArray[np.intp]:
    """The bins of a categorical feature in an order whose borders are good splits.

    The mean gradients of the categories are points in the space of the parameters. Along the line
    on which they lie furthest apart (their first principal axis), two groups are told apart by a
    border; for a single parameter the best of all subsets is among these (Fisher 1958), for many
    it is a good guess that needs no enumeration. "Missing" is a category like the others.
    """
    here = slice(first, first + feature.n_bins)
    weight = np.maximum(sums.values[here, -1], 0.0)  # the default bin's is a difference
    points = sums.values[here, :-1]
    if sums.moments is not None:
        factor = np.divide(
            1.0, units.spread, out=np.zeros_like(units.spread), where=units.spread > 0
        )
        n_outputs = points.shape[1]
        columns = sums.moments[here]
        mean = columns[:, n_outputs].sum(axis=0) / weight.sum()
        slopes = (columns[:, :n_outputs] - points[:, :, None] * mean) * factor
        points = np.concatenate([slopes.reshape(len(points), -1), points], axis=1)
    mean_weight = weight.sum() / max(int(sums.count[here].sum()), 1)
    points = points / (weight + _DOUBT * mean_weight)[:, None]
    centered = points - weight @ points / weight.sum()
    scaled = centered * np.sqrt(weight)[:, None]
    axis = scaled[np.argmax((scaled**2).sum(axis=1))]
    for _ in range(_POWER_STEPS):
        length = float(np.linalg.norm(axis))
        if length == 0:
            break
        axis = (scaled @ (axis / length)) @ scaled
    place = centered @ axis
    if place[np.argmax(weight)] < 0:  # an axis has no direction of its own
        place = -place
    return np.argsort(place, kind="stable")


def _sorted_bins(block: Block, sums: BinSums, orders: Sequence[NDArray[np.intp] | None]) -> BinSums:
    bins = np.arange(block.n_bins)
    for (first, feature), order in zip(block, orders, strict=True):
        if order is not None:
            bins[first : first + feature.n_bins] = first + order

    def take(table: NDArray[Any] | None) -> Any:
        return None if table is None else table[bins]

    return BinSums(
        sums.count[bins], sums.values[bins], take(sums.moments),
        take(sums.low), take(sums.high), take(sums.stored),
    )  # fmt: skip


_ADD, _SMALLEST, _LARGEST = 0, 1, 2


def _both_sides(
    sums: BinSums, shape: tuple[NDArray[Any], ...], n_candidates: int
) -> tuple[SideSums, SideSums]:
    def combine(name: str, table: NDArray[Any] | None, operation: int = _ADD) -> tuple[Any, Any]:
        if table is None:
            return None, None
        flat = table.reshape(len(table), -1)
        left, right = scratch(name, (2, n_candidates, flat.shape[1]))
        _kernels.combine_sides(flat, *shape, operation, left, right)
        kept = (n_candidates, *table.shape[1:])
        return left.reshape(kept), right.reshape(kept)

    pairs = [
        combine("count", sums.count.astype(np.float64)),
        combine("values", sums.values),
        combine("moments", sums.moments),
        combine("low", sums.low, _SMALLEST),
        combine("high", sums.high, _LARGEST),
    ]
    left, right = zip(*pairs, strict=True)
    return SideSums(*left), SideSums(*right)


# --- from sides to gains to the best split --------------------------------------------------------


def _gains(
    sums: BinSums,
    shape: tuple[NDArray[Any], ...],
    n_candidates: int,
    units: NodeUnits,
    question: Question,
) -> Floats:
    """Gain of every candidate, minus infinity where a side is too small."""
    moments = sums.moments if question.is_the_papers else None
    if moments is not None:  # a kernel does without those of the sides
        sums = BinSums(sums.count, sums.values)
    left, right = _both_sides(sums, shape, n_candidates)
    allowed = np.minimum(left.count, right.count) >= question.min_count
    allowed &= np.minimum(left.weight, right.weight) > 0
    if moments is not None:
        gains = np.where(allowed, 0.0, -np.inf)
        flat = moments.reshape(len(moments), -1)
        floor = ZScore.floor(units)
        _kernels.zscore_gains(flat, left.values, right.values, *shape, floor, gains)
        return gains
    with np.errstate(divide="ignore", invalid="ignore"):  # such sides are not allowed
        both = [_side(side, units, question) for side in (left, right)]
        return np.where(allowed, question.criterion.gain(*both), -np.inf)


def _side(side: SideSums, units: NodeUnits, question: Question) -> Side:
    if side.moments is None:
        return Side(side.count, side.weight, side.slopes)
    return Side(side.count, side.weight, question.renormalizer.gradient(side, units))


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
    return Rival(split, position, gains, bool(found.count[-1] > 0))


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
    """Good candidates to look at closely, at several places of several features.

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
    missing_left = bool(found.missing_left[candidate])
    bins = np.arange(feature.n_bins)
    if feature.is_categorical:
        left_of_bin = bins == last_left
        threshold = np.nan
    else:
        left_of_bin = bins <= last_left
        threshold = _threshold(feature, found.count, last_left)
    if found.count[-1] > 0 or feature.is_categorical:
        left_of_bin[-1] = missing_left
    else:
        # No missing value was seen here: one that comes later follows the larger side.
        missing_left = is_larger(float(found.weight[left_of_bin].sum()), found.weight.sum())
        left_of_bin[-1] = missing_left
    return Split(
        gain=float(found.gains[candidate]),
        column=feature.column,
        block=found.block,
        first_bin=found.first_bin,
        left_of_bin=left_of_bin,
        default_bin=feature.default_bin,
        threshold=threshold,
        is_categorical=feature.is_categorical,
        missing_left=missing_left,
        unknown_left=False,  # a new category belongs to "the rest"
        candidate=candidate,
    )


def is_larger(weight: float, total: float) -> bool:
    """Whether a side of that weight is the larger one, or as large."""
    return bool(2 * weight * (1 + TIE) >= total)


def _describe_subset(found: FeatureGains, order: NDArray[np.intp], candidate: int) -> Split:
    feature = found.feature
    left_of_bin = np.zeros(feature.n_bins, dtype=np.bool_)
    left_of_bin[order[: candidate + 1]] = True
    # What did not occur here, and what never occurred, follows the larger side.
    mostly_left = is_larger(float(found.weight[left_of_bin].sum()), found.weight.sum())
    left_of_bin[found.count == 0] = mostly_left
    return Split(
        gain=float(found.gains[candidate]),
        column=feature.column,
        block=found.block,
        first_bin=found.first_bin,
        left_of_bin=left_of_bin,
        default_bin=feature.default_bin,
        threshold=np.nan,
        is_categorical=True,
        missing_left=bool(left_of_bin[-1]),
        unknown_left=mostly_left,
        candidate=candidate,
    )


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
    """The split, or one with nearly its gain on the same feature, at a threshold short to read.

    ``tolerance`` is the share of the criterion's gain that this may cost.
    """
    if split.is_categorical or split.threshold == ANY_NUMBER:
        return split
    found = next(own for own in candidates if own.feature.column == split.column)
    gain = float(found.gains[split.candidate])
    as_good = found.gains >= gain - tolerance * abs(gain)
    as_good &= found.missing_left == found.missing_left[split.candidate]
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
