"""Where exactly a split is: its border, moved to where its two models lose least.

The search knows bins, and ranks their borders by a gradient. For the split that was chosen there
are two models, one for each side (see ``rescore``). Near the border, each row has a loss under
either. The border belongs where the rows on its left lose less under the left model; it may run
through a bin. So a target that jumps is cut where it jumps, and the rows of a bin that were on the
wrong side need no leaf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.splits.candidates import TIE, Border, FeatureGains, Split, is_larger
from glassleaf.fit.splits.rescore import Sides
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Settings
from glassleaf.tables.binning import FeatureBins
from glassleaf.tables.cells import ANY_NUMBER
from glassleaf.tables.design import Layout, Terms
from glassleaf.tables.short_numbers import n_digits, shortest_between, without_noise
from glassleaf.tables.transforms import Knots

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A border moves no further, on either side, than the bin at this share of the node's rows, nor than
# the bin at this number of rows.
_NEAR = 0.025
_MOST_ROWS = 100_000
# It stays where two bins have more rows than a driver wants to be sent.
_TOO_MANY_ROWS = 1_000_000
# Values closer than this share of the largest may be one number that rounding made two.
_SAME = 16 * np.finfo(float).eps
# A border is rounded to this share of the distance between its two values. That removes digits that
# only rounding made, and means the same in any unit.
_ROUNDED = 1e-6
# Of left, right, from right to left and from left to right: the new left, the new right, all.
_EXCHANGE = np.array([[1.0, 0.0, 1.0, -1.0], [0.0, 1.0, -1.0, 1.0], [1.0, 1.0, 0.0, 0.0]])


@dataclass(frozen=True)
class Movable:
    """A node, the split it has chosen, and the gains along the split's feature."""

    node: int
    model: NodeModel
    sides: Sides
    gains: FeatureGains

    @property
    def split(self) -> Split:
        return self.sides.split


@dataclass(frozen=True)
class _Near:
    """A split whose feature is a dense column, and on which side bins near its border are.

    The column's terms were stored relative to ``center``; ``knots`` make them of its values.
    """

    movable: Movable
    sides: on_rows.BinSegments
    place: int
    center: float
    knots: Knots | None

    @property
    def is_near(self) -> Bools:
        return np.asarray(self.sides.of_bin != on_rows.NEITHER)


def move_borders(
    backend: Backend,
    models: LinearModels,
    plan: Plan,
    settings: Settings,
    chosen: Sequence[Movable],
) -> list[Split | None]:
    """The splits, each at the place near it that its two models like best, with its exact gain.

    None stands for a split that stays. Where thresholds are rounded, the place is a short number
    that costs no more than the tolerated share of the gain.
    """
    layout, terms = plan.design.layout, plan.design.terms
    loss, tolerance = settings.loss, settings.round_thresholds
    near = []
    for movable in chosen:
        split, place = movable.split, _dense_place(layout, terms, movable.split)
        if place >= 0:
            sides, knots = (
                split.segments(_sides_near(movable.gains, split)),
                terms.knots(split.column),
            )
            near.append(_Near(movable, sides, place, abs(layout.center[place]), knots))
    near = [own for own in near if own.movable.gains.count[own.is_near].sum() <= _TOO_MANY_ROWS]
    tasks = [
        on_rows.BorderTask(
            own.movable.node,
            own.sides,
            own.place,
            left=_side_model(models, own.movable, 0),
            right=_side_model(models, own.movable, 1),
            loss=loss,
        )
        for own in near
    ]
    moved: list[tuple[_Near, Split]] = []
    for own, rows in zip(near, backend.sum(on_rows.border_rows, tasks), strict=True):
        found = _moved(own, rows, plan.min_count(settings), tolerance)
        if found is not None:
            moved.append((own, found))
    moves = []
    for own, split in moved:
        assert split.border is not None
        node, model = own.movable.node, models.at_rows(own.movable.model)
        last_left = split.border.last_left
        moves.append(on_rows.MovedTask(node, own.sides, own.place, last_left, model, loss))
    better = {}
    for (own, split), sums in zip(moved, backend.sum(on_rows.moved_sums, moves), strict=True):
        movable = own.movable
        sums_of_both = movable.sides.sums.beside(sums).combined(_EXCHANGE)
        left, right, whole = models.side_objectives(movable.model, sums_of_both)
        gain = float(whole - left - right)
        if gain > movable.split.gain * (1.0 - (tolerance or 0.0)):
            better[movable.node] = replace(split, gain=gain)
    return [better.get(movable.node) for movable in chosen]


def _dense_place(layout: Layout, terms: Terms, split: Split) -> int:
    """Which dense column holds the values that a split compares; -1 if none does."""
    if split.is_categorical or split.threshold == ANY_NUMBER:
        return -1
    found = np.flatnonzero(layout.term[: layout.n_dense] == terms.first_term[split.column])
    return int(found[0]) if len(found) else -1


def _sides_near(gains: FeatureGains, split: Split) -> NDArray[np.uint16]:
    """For every bin whether it is near the border, on the left or on the right."""
    out = np.full(gains.feature.n_bins, on_rows.NEITHER, dtype=np.uint16)
    after = gains.bin_of(split.candidate) + 1
    most = _NEAR * gains.weight.sum() * (1 - TIE)
    outwards = {
        on_rows.LEFT: np.arange(after - 1, -1, -1),
        on_rows.RIGHT: np.arange(after, gains.feature.n_values),
    }
    for side, bins in outwards.items():
        weight, count = gains.weight[bins], gains.count[bins]
        is_near = np.cumsum(weight) - weight <= most
        is_near &= np.cumsum(count) - count < _MOST_ROWS
        out[bins[is_near]] = side
    return out


def _side_model(models: LinearModels, movable: Movable, side: int) -> on_rows.RowModel:
    """The model on the left (0) or on the right (1)."""
    return models.at_rows(models.side_fit(movable.model, movable.sides.sums, side).model)


@dataclass(frozen=True)
class _Places:
    """The places after each row near a border but the last, in the order of their values.

    ``cost`` and ``share`` are the difference of the losses, and the share of the node's weight, of
    all rows up to there. A place is one only where the next value differs. Raw values may be off
    by ``noise``, where they are not exact.
    """

    value: Floats
    raw: Floats
    noise: Floats
    cost: Floats
    share: Floats
    differs: Bools
    allowed: Bools


def _moved(
    near: _Near, rows: on_rows.BorderRows, min_count: int, tolerance: float | None
) -> Split | None:
    """The split at the best place between two of the rows near it, None if it stays.

    With a ``tolerance``, the place is a short number that costs at most this share of the gain.
    """
    split, gains = near.movable.split, near.movable.gains
    places = _places(near, rows, min_count)
    noise = TIE * float(np.abs(rows.difference).sum())
    now = float(rows.difference[rows.is_left].sum())
    least = min(now, float(places.cost[places.allowed].min(initial=np.inf)))
    slack = noise if tolerance is None else max(noise, tolerance * split.gain)
    good = places.allowed & (places.cost <= least + slack)
    if not good.any() or (tolerance is None and least >= now - noise):
        return None
    if tolerance is None:
        found = np.flatnonzero(good)
        best = int(found[np.argmin(np.abs(found + 1 - int(rows.is_left.sum())))])
        threshold = _middle(float(places.raw[best]), float(places.raw[best + 1]))
    else:
        best, threshold = _short_place(places, good)
    mostly_left = is_larger(float(places.share[best]), 1.0)
    left_of_bin = gains.with_unseen(split.left_of_bin, mostly_left)
    n_values = gains.feature.n_values
    return replace(
        split,
        left_of_bin=left_of_bin,
        missing_left=bool(left_of_bin[n_values]),
        special_left=left_of_bin[n_values + 1 :],
        threshold=threshold,
        border=Border(near.is_near, near.place, float(places.value[best])),
    )


def _places(near: _Near, rows: on_rows.BorderRows, min_count: int) -> _Places:
    split, gains = near.movable.split, near.movable.gains
    order = np.argsort(rows.value, kind="stable")
    value = rows.value[order]
    raw, noise, differs = _raw_values(near, value)
    outside = split.left_of_bin & ~near.is_near
    count = gains.count[outside].sum() + np.arange(1, len(order))
    weight = gains.weight[outside].sum() + np.cumsum(rows.weight[order])[:-1]
    share = weight / gains.weight.sum()
    allowed = differs & (np.minimum(count, gains.count.sum() - count) >= min_count)
    allowed &= (share > TIE) & (share < 1 - TIE)
    cost = np.cumsum(rows.difference[order])[:-1]
    return _Places(value, raw, noise, cost, share, differs, allowed)


def _middle(low: float, high: float) -> float:
    """The middle of two values, without the last digits, in which the values may be off.

    >>> _middle(1.2399999999999998, 1.2700000000000002)
    1.255
    """
    decimals = -math.floor(math.log10(_ROUNDED * (high - low)))
    return round(low + (high - low) / 2, decimals)


def _short_place(places: _Places, good: Bools) -> tuple[int, float]:
    """The shortest number between values whose places are all good, and its place.

    It keeps away from values that are not exact.
    """
    raw, noise = places.raw, places.noise
    where = np.flatnonzero(places.differs)
    starts, ends = _runs(good[where])
    found = []
    for first, last in zip(where[starts].tolist(), where[ends].tolist(), strict=True):
        number = shortest_between(float(raw[first]), float(raw[last + 1]))
        place = int(np.searchsorted(raw, number, side="right")) - 1
        if not places.differs[place]:  # it is one of several numbers that may be the same
            place = int(where[np.searchsorted(where, place) - 1])
            number = shortest_between(float(raw[place]), float(raw[place + 1]))
        found.append((n_digits(number), float(places.cost[place]), place, number))
    _, _, best, threshold = min(found)
    quarter = float(raw[best + 1] - raw[best]) / 4
    low = float(raw[best]) + min(float(noise[best]), quarter)
    high = float(raw[best + 1]) - min(float(noise[best + 1]), quarter)
    return best, threshold if low <= threshold < high else shortest_between(low, high)


def _runs(flags: Bools) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where flags that are set, one after the other, begin and end.

    >>> _runs(np.array([True, True, False, True]))
    (array([0, 3]), array([1, 3]))
    """
    edges = np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1


def _raw_values(near: _Near, stored: Floats) -> tuple[Floats, Floats, Bools]:
    """Values of the column, ascending, by how much they may be off, and where the next differs.

    Stored values have lost the last digits that a number next to the column's center has.
    """
    model = near.movable.model
    term = model.center[near.place] + model.unit[near.place] * stored
    differs = np.diff(term) > _SAME * np.maximum(near.center, np.abs(term).max(initial=0.0))
    if near.knots is not None:
        raw = np.asarray(near.knots.inverse(term))
        differs &= np.diff(raw) > _SAME * np.abs(raw).max(initial=0.0)
        return raw, np.full(len(raw), np.inf), differs
    magnitude = np.maximum(near.center, np.abs(term))
    noise = _SAME * magnitude
    known = _lone_values(near.movable.gains.feature, near.center)
    exact, is_exact = _nearest(known, term, noise)
    raw = np.where(is_exact, exact, without_noise(term, magnitude))
    return raw, np.where(is_exact, 0.0, noise), differs


def _lone_values(feature: FeatureBins, center: float) -> Floats:
    """Values with a bin of their own, from which noise does not lead to another bin."""
    gap = np.concatenate([[np.inf], feature.lower[1:] - feature.upper[:-1], [np.inf]])
    noise = 2 * _SAME * np.maximum(center, np.abs(feature.lower))
    is_alone = (feature.lower == feature.upper) & (np.minimum(gap[:-1], gap[1:]) > noise)
    return np.asarray(feature.lower[is_alone])


def _nearest(known: Floats, values: Floats, noise: Floats) -> tuple[Floats, Bools]:
    """The known number next to every value, and whether they differ by no more than noise."""
    if not len(known):
        return values, np.zeros(len(values), dtype=np.bool_)
    after = np.clip(np.searchsorted(known, values), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearer = values - known[before] < known[after] - values
    found = np.where(nearer, known[before], known[after])
    return found, np.abs(found - values) <= noise
