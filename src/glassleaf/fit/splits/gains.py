"""Sums per bin in, the gain of every candidate out: cumulative sums, masks, gains.

Candidates of a numeric feature are all borders between its bins, each with the missing values and
every special value on either side, and "missing or not". Those of a categorical feature are one
category (or "missing") against the rest, or subsets: its categories are put in an order (see
``category_order``) in which all borders are candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf._kernels.scratch import scratch
from glassleaf.criteria import GradientGain, Side
from glassleaf.fit.models.units import NodeUnits
from glassleaf.fit.splits.candidates import FeatureGains
from glassleaf.fit.splits.renormalizers import RENORMALIZERS, SideSums, ZScore
from glassleaf.rows.passes import BinSums
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Settings
from glassleaf.tables.binning import Block, FeatureBins
from glassleaf.tables.design import Layout

Floats = NDArray[np.float64]


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
    plan: Plan, settings: Settings, index: int, sums: BinSums, whole: BinSums, units: NodeUnits
) -> list[FeatureGains]:
    """Gains of all candidates of a block; ``whole`` are the (complete) sums of the node."""
    block = plan.blocks[index]
    sums = complete(block, sums, whole, plan.design.layout)
    first_bin, n_values, categorical = block.arrays
    groups = state_groups(block, sums.count)
    orders: list[NDArray[np.intp] | None] = [None] * len(first_bin)
    sorted_sums = sums
    if settings.subsets and categorical.any():
        orders = [
            category_order(sums, first, feature, units) if feature.is_categorical else None
            for first, feature in block
        ]
        sorted_sums = _sorted_bins(block, sums, orders)
        n_values = n_values + categorical
        categorical = np.zeros_like(categorical)
    n_groups = np.maximum(np.maximum.reduceat(groups, first_bin) + 1, 0)
    n_candidates = np.where(categorical, n_values + 1, n_values << n_groups)
    shape = (first_bin, n_values, categorical, n_groups, groups)
    min_count = plan.min_count(settings)
    all_gains = _gains(sorted_sums, shape, int(n_candidates.sum()), units, settings, min_count)
    found, end = [], 0
    for k, (first, feature) in enumerate(block):
        start, end = end, end + int(n_candidates[k])
        own, here = all_gains[start:end], slice(first, first + feature.n_bins)
        count = sums.count[here]
        if n_groups[k]:
            # Only missing values on the left is the same split as only missing ones on the right.
            of_numbers = np.cumsum(count[: feature.n_values])
            own[np.repeat(of_numbers == 0, 1 << n_groups[k])] = -np.inf
        weight = sums.values[here, -1]
        group = groups[here][feature.n_values :]
        found.append(FeatureGains(feature, index, first, own, count, weight, orders[k], group))
    return found


# Of more states than this, the rarest go to one side together: candidates double with each.
_MOST_GROUPS = 4


def state_groups(block: Block, count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which states of a number go to a side together, by bin: each that occurs by itself, if few.

    -1 is one that does not occur in the node, or no state.
    """
    out = np.full(len(count), -1, dtype=np.int64)
    for first, feature in block:
        if feature.is_categorical:
            continue
        here = slice(first + feature.n_values, first + feature.n_bins)
        by_size = np.argsort(-count[here], kind="stable")
        place = np.empty(feature.n_states, dtype=np.int64)
        place[by_size] = np.minimum(np.arange(feature.n_states), _MOST_GROUPS - 1)
        out[here] = np.where(count[here] > 0, place, -1)
    return out


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


def _gains(
    sums: BinSums,
    shape: tuple[NDArray[Any], ...],
    n_candidates: int,
    units: NodeUnits,
    settings: Settings,
    min_count: int,
) -> Floats:
    """Gain of every candidate, minus infinity where a side is too small."""
    # A kernel computes all gains of the paper's criterion at once; derived classes may differ.
    is_the_papers = type(settings.criterion) is GradientGain and settings.renormalize == "zscore"
    moments = sums.moments if is_the_papers else None
    if moments is not None:  # the kernel does not need those of the sides
        sums = BinSums(sums.count, sums.values)
    left, right = _both_sides(sums, shape, n_candidates)
    allowed = np.minimum(left.count, right.count) >= min_count
    allowed &= np.minimum(left.weight, right.weight) > 0
    if moments is not None:
        gains = np.where(allowed, 0.0, -np.inf)
        flat = moments.reshape(len(moments), -1)
        floor = ZScore.floor(units)
        _kernels.zscore_gains(flat, left.values, right.values, *shape, floor, gains)
        return gains if units.has_intercept else gains - _of_intercepts(left, right)
    with np.errstate(divide="ignore", invalid="ignore"):  # such sides are not allowed
        both = [_side(side, units, settings) for side in (left, right)]
        return np.where(allowed, settings.criterion.gain(*both), -np.inf)


def _of_intercepts(left: SideSums, right: SideSums) -> Floats:
    """What the intercepts add to gains."""
    with np.errstate(divide="ignore", invalid="ignore"):  # such sides are not allowed
        both = [(own.slopes**2).sum(axis=1) / own.weight for own in (left, right)]
    return np.asarray(np.nan_to_num(both[0] + both[1], posinf=0.0))


def _side(side: SideSums, units: NodeUnits, settings: Settings) -> Side:
    if side.moments is None:
        return Side(side.count, side.weight, side.slopes)
    renormalizer = RENORMALIZERS[settings.renormalize]
    return Side(side.count, side.weight, renormalizer.gradient(side, units))
