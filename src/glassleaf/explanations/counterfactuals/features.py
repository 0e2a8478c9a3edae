"""What may change in a row: features, the values to try, and how large a change is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.explanations.kinks import kink_values
from glassleaf.tables.special import states_of
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Whole numbers that are all tried; a wider range is solved for and rounded.
_ALL_TRIED = 256
# Share of a feature's spread that a round number may lie past a solution.
_PAST = 1e-3
# How far, in spreads, a number is put beside a place at which another one that follows it jumps.
_BESIDE = 1e-9


@dataclass(frozen=True)
class Follower:
    """A number that moves with a feature: by as many of its own spreads, within its ends."""

    column: int
    per_step: float  # how far it moves if the feature moves by 1
    low: float
    high: float
    is_whole: bool
    decimals: int  # of a round number

    def moved(self, now: float, by: Floats, is_short: Bools | bool) -> Floats:
        """Where it is when the feature has moved; as a round number if it shall be short."""
        found = np.clip(now + self.per_step * by, self.low, self.high)
        rounded = np.clip(np.round(found, self.decimals), self.low, self.high)
        is_rounded = (is_short | np.bool_(self.is_whole)) & (found != now)
        return np.where(is_rounded, rounded, found)


@dataclass(frozen=True)
class Feature:
    """A feature that may change: the values to try, ascending; linear between them or not.

    Two values no farther apart than ``gap``, or neighbouring numbers, are the sides of a jump.
    ``followers`` move with it.
    """

    column: int
    points: Floats
    is_discrete: bool
    is_whole: bool
    is_categorical: bool
    unit: float
    gap: float = 0.0
    followers: tuple[Follower, ...] = ()

    @property
    def columns(self) -> set[int]:
        """All columns that move."""
        return {self.column, *(own.column for own in self.followers)}

    def size(self, now: float, values: Floats) -> Floats:
        """How large a change to each of the values is."""
        if self.is_categorical or np.isnan(now):
            return np.where(values == now, 0.0, 1.0)
        return np.abs(values - now) / self.unit

    def put(
        self, rows: Floats, values: Floats, now: Floats, is_short: Bools | bool = False
    ) -> None:
        """Give the feature other values than ``now``, and move what follows it, in place."""
        rows[..., self.column] = values
        for own in self.followers:
            by = rows[..., self.column] - now[self.column]
            rows[..., own.column] = own.moved(now[own.column], by, is_short)


def features_of(
    model: FittedModel,
    values: Floats,
    actionable: Sequence[Any] | None,
    immutable: Sequence[Any],
    bounds: Mapping[Any, tuple[float | None, float | None]] | None,
    levels: Mapping[Any, Sequence[Any]] | None,
    integers: Sequence[Any],
    links: Sequence[Sequence[Any]],
) -> list[Feature]:
    """The features that may change, each with those that move with it."""

    def positions(given: Any, parameter: str) -> set[int]:
        return {model.position(feature, parameter) for feature in given}

    allowed = set(range(len(values)))
    if actionable is not None:
        allowed = positions(actionable, "actionable")
    dates = {j for j, column in enumerate(model.tree.columns) if column.date}
    for column in sorted(dates & allowed) if actionable is not None else ():
        raise ValueError(f"actionable names {model.names[column]!r}: a date is not changed.")
    allowed -= positions(immutable, "immutable") | dates
    groups = _groups(model, links)
    for group in groups:
        if not set(group) <= allowed:
            allowed -= set(group)  # what one may not, the others cannot
    whole = positions(integers, "integers")
    limits = {model.position(f, "bounds"): pair for f, pair in (bounds or {}).items()}
    labels = {model.position(f, "levels"): given for f, given in (levels or {}).items()}
    states = states_of(values)
    out = []
    for column in sorted(allowed):
        if states[column] > 0:  # a special value is no number that could be another
            continue
        if model.tree.columns[column].is_categorical:
            out.append(_category(model, column, values[column], labels.get(column)))
        else:
            pair = limits.get(column)
            out.append(_number(model, column, float(values[column]), pair, column in whole))
    out = [f for f in out if (f.points != values[f.column]).any()]  # a constant cannot change
    for group in groups:
        own = [f for f in out if f.column in group and not np.isnan(values[f.column])]
        out = [f for f in out if f.column not in group]
        out += [_joined(own, values)] if len(own) > 1 else own
    return out


def _groups(model: FittedModel, links: Sequence[Sequence[Any]]) -> list[list[int]]:
    """The columns of every link."""
    out: list[list[int]] = []
    for link in links:
        if isinstance(link, str):
            raise ValueError(f"linked_features={describe(links)} must be groups of features.")
        group = [model.position(feature, "linked_features") for feature in link]
        for column in group:
            if model.tree.columns[column].is_categorical:
                what = "holds categories; only numbers can move together"
            elif any(column in other for other in out) or group.count(column) > 1:
                what = "occurs twice"
            else:
                continue
            raise ValueError(f"linked_features: {model.names[column]!r} {what}.")
        out.append(group)
    return out


def _joined(group: Sequence[Feature], values: Floats) -> Feature:
    """One feature for several that move together: the first, or the first whole one, leads."""
    leader, *others = sorted(group, key=lambda own: not own.is_whole)
    followers = tuple(_follower(own, leader, float(values[own.column])) for own in others)
    points, gap = [leader.points], 2 * _BESIDE * leader.unit
    for own, follower in zip(others, followers, strict=True):
        bends = values[leader.column] + (own.points - values[own.column]) / follower.per_step
        if leader.is_whole:
            points += [np.floor(bends), np.ceil(bends)]
        else:
            points += [bends - gap / 2, bends + gap / 2]
    found = np.unique(np.concatenate(points))
    found = found[(found >= leader.points[0]) & (found <= leader.points[-1])]
    points_to_try = leader.points if leader.is_discrete else found
    return replace(leader, points=points_to_try, gap=1.01 * gap, followers=followers)


def _follower(own: Feature, leader: Feature, now: float) -> Follower:
    return Follower(
        own.column,
        own.unit / leader.unit,
        min(float(own.points[0]), now),
        max(float(own.points[-1]), now),
        own.is_whole,
        0 if own.is_whole else decimals_of(own.unit),
    )


def decimals_of(unit: float) -> int:
    """Decimals of a number that is round to within a thousandth of a spread."""
    return int(-np.floor(np.log10(_PAST * unit)))


def _category(model: FittedModel, column: int, now: float, labels: Sequence[Any] | None) -> Feature:
    known = model.tree.columns[column].categories or ()
    allowed = [k for k, label in enumerate(known) if labels is None or label in labels]
    if labels is not None and len(allowed) < len(set(labels)):
        unknown = sorted(str(label) for label in labels if label not in known)
        raise ValueError(
            f"levels of {model.names[column]!r}: training never saw {', '.join(unknown)}."
        )
    points = np.array([code for code in allowed if code != now], dtype=np.float64)
    return Feature(column, points, True, False, True, 1.0)


def _number(
    model: FittedModel,
    column: int,
    now: float,
    pair: tuple[float | None, float | None] | None,
    is_whole: bool,
) -> Feature:
    tree = model.tree
    seen = (float(tree.record.low[column]), float(tree.record.high[column]))
    kinks = np.array(kink_values(tree, column))
    if np.isnan(seen[0]):
        seen = (-np.inf, np.inf)
    low, high = (
        edge if given is None else float(given)
        for given, edge in zip(
            pair or (None, None), seen if pair is None else (-np.inf, np.inf), strict=True
        )
    )
    if low > high:
        raise ValueError(f"bounds of {model.names[column]!r}: {low} is above {high}.")
    unit = _unit(model, column, now)
    # Without a limit, a piece of the line beyond the last kink stands for all of it.
    known = np.array([*kinks, now, low, high, tree.terms.fill[column]])
    far = 1e3 * unit + np.abs(known[np.isfinite(known)]).max()
    low, high = max(low, -far), min(high, far)
    inner = np.unique(np.concatenate([kinks, np.nextafter(kinks, np.inf), [now]]))
    inner = inner[(inner > low) & (inner < high)]
    points = np.concatenate([[low], inner, [high]])
    if is_whole:
        whole = np.arange(np.ceil(low), np.floor(high) + 1) if high - low <= _ALL_TRIED else None
        if whole is not None:
            whole = whole[~np.isin(whole, model.special_numbers(column))]
            return Feature(column, whole, True, True, False, unit)
        both = np.unique(np.concatenate([np.floor(points), np.ceil(points)]))
        points = both[(both >= low) & (both <= high)]
    points = np.unique(points)
    return Feature(column, points, len(points) == 1, is_whole, False, unit)


def _unit(model: FittedModel, column: int, now: float) -> float:
    """Spread of the column over the training rows, in raw units; its range where unknown."""
    tree = model.tree
    term = int(tree.terms.first_term[column])
    if term >= 0 and tree.record.spread[0, term] > 0:
        mean, spread = tree.record.mean[0, term], tree.record.spread[0, term]
        knots = tree.terms.knots(column)
        if knots is None:
            return float(spread)
        ends = knots.inverse(np.array([mean - spread, mean + spread]))
        if ends[1] > ends[0]:
            return float(ends[1] - ends[0]) / 2
    extent = float(tree.record.high[column] - tree.record.low[column])
    if extent > 0:
        return extent / 4
    return max(abs(now), 1.0) if np.isfinite(now) else 1.0
