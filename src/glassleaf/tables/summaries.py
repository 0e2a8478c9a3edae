"""Summaries of columns that can be added: what is learned of all rows from parts of them.

A part of the rows is described by counts, moments and its distinct values with their weights. Two
descriptions add up to that of both parts. Distinct values are kept exactly up to a limit; beyond
it neighbours are put together, so that the weight up to a value is known with an error that every
summary carries with it (:attr:`Values.error`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf._kernels.scratch import scratch
from glassleaf.tables.special import states_of

Floats = NDArray[np.float64]

MAX_CATEGORIES = 60_000
# Values up to which a column is sorted in memory that a thread keeps.
_SHORT_COLUMN = 1 << 16


class Several(list[Any]):
    """Summaries of several things; they are added one by one."""

    def __add__(self, other: Sequence[Any]) -> Several:
        return Several(mine + its for mine, its in zip(self, other, strict=True))


def weighted_moments(values: Floats, weight: Floats | None) -> tuple[float, float]:
    """Mean and standard deviation, in two passes so that a large mean costs no digits."""
    mean = float(values.mean() if weight is None else np.average(values, weights=weight))
    # Squares of very large or very small numbers would leave the range of a float.
    largest = max(float(values.max()) - mean, mean - float(values.min()))
    if largest == 0.0 or not np.isfinite(largest):
        return mean, largest
    deviation = values - mean
    deviation /= largest
    if weight is None:
        variance = float(np.dot(deviation, deviation)) / len(values)
    else:
        variance = float(np.average(deviation * deviation, weights=weight))
    return mean, largest * float(np.sqrt(variance))


@dataclass(frozen=True)
class Moments:
    """Total weight, mean and standard deviation.

    >>> moments_of(np.array([1.0]), None) + moments_of(np.array([3.0]), None)
    Moments(weight=2.0, mean=2.0, spread=1.0)
    """

    weight: float
    mean: float
    spread: float

    def __add__(self, other: Moments) -> Moments:
        if not self.weight or not other.weight:
            return other if not self.weight else self
        total = self.weight + other.weight
        mine, its = self.weight / total, other.weight / total
        apart = other.mean - self.mean
        size = max(self.spread, other.spread, abs(apart))
        if size == 0.0 or not np.isfinite(size):
            return Moments(total, self.mean + its * apart, size)
        square = mine * (self.spread / size) ** 2 + its * (other.spread / size) ** 2
        square += mine * its * (apart / size) ** 2
        return Moments(total, self.mean + its * apart, size * float(np.sqrt(square)))


def moments_of(values: Floats, weight: Floats | None) -> Moments:
    """The moments of some values; without a weight each counts as 1."""
    total = float(len(values) if weight is None else weight.sum())
    if not total:
        return Moments(0.0, 0.0, 0.0)
    return Moments(total, *weighted_moments(values, weight))


@dataclass(frozen=True)
class Values:
    """Distinct values, ascending, and the weight of each; at most ``limit`` of them.

    Beyond the limit a value stands for others just below it. ``error`` bounds how much weight the
    cumulative weight at a value may be off by; it is 0 as long as all values were kept.
    """

    values: Floats
    weight: Floats
    limit: float = np.inf
    error: float = 0.0

    def __add__(self, other: Values) -> Values:
        values, weight = _two(len(self.values) + len(other.values))
        n = _kernels.merge_values(
            self.values, self.weight, other.values, other.weight, values, weight
        )
        limit, error = min(self.limit, other.limit), self.error + other.error
        return Values(_first(values, n), _first(weight, n), limit, error)._shortened()

    def _shortened(self) -> Values:
        if len(self.values) <= self.limit:
            return self
        # Slices of equal weight, half as many as values may be kept. A value that crosses the
        # border of a slice stays alone, so that a heavy one never lends its weight to another; the
        # others of a slice are put together.
        n_slices = max(int(self.limit) // 2, 1)
        slice_weight = float(self.weight.sum()) / n_slices
        kept, weight = _two(len(self.values))
        n = _kernels.put_together(self.values, self.weight, slice_weight, kept, weight)
        error = self.error + slice_weight
        return Values(_first(kept, n), _first(weight, n), self.limit, error)


def _two(size: int) -> tuple[Floats, Floats]:
    return np.empty(size), np.empty(size)


def _first(values: Floats, n: int) -> Floats:
    """The first of an array; the others keep no memory if they are many."""
    return values[:n] if 2 * n > len(values) else values[:n].copy()


def values_of(values: Floats, weight: Floats | None, limit: float = np.inf) -> Values:
    """The distinct values of some (none of them missing), and their weights."""
    return _with_limit(_distinct(values, weight), limit)


def _with_limit(found: Values, limit: float) -> Values:
    return Values(found.values, found.weight, limit)._shortened()


def _distinct(values: Floats, weight: Floats | None) -> Values:
    # A kernel is compiled again for every kind of array: a view of a table may not be written to.
    values, weights = (
        np.require(own, dtype=np.float64, requirements=["C", "W"])
        for own in (values, np.zeros(0) if weight is None else weight)
    )
    shape = (6, len(values))
    memory = scratch("sorting", shape) if len(values) <= _SHORT_COLUMN else np.empty(shape)
    distinct, total = memory[4], memory[5]
    n = _kernels.distinct_values(values, weights, memory[:4], distinct, total)
    return Values(distinct[:n].copy(), total[:n].copy())


@dataclass(frozen=True)
class NumericSummary:
    """What is known of a numeric column; ``values`` only where they were asked for.

    Moments are those of the numbers; ``states`` those of the indicators of the column's states: "is
    missing", then its special values. These count as missing, too; ``n_nonzero`` counts neither.
    ``counted`` has the number of rows of every value, where ``values`` has their weight.
    """

    n_rows: int
    n_missing: int
    n_nonzero: int
    only_ones: bool  # all values are 0 or 1
    low: float
    high: float
    moments: Moments
    states: tuple[Moments, ...]
    state_counts: tuple[int, ...]
    values: Values | None = None
    counted: Values | None = None

    @property
    def has_special(self) -> bool:
        """Whether one of its special values occurs."""
        return any(self.state_counts[1:])

    def without_special(self) -> NumericSummary:
        """The same of a column that has no special values; none of them occurs."""
        return replace(self, states=self.states[:1], state_counts=self.state_counts[:1])

    def __add__(self, other: NumericSummary) -> NumericSummary:
        return NumericSummary(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            self.n_nonzero + other.n_nonzero,
            self.only_ones and other.only_ones,
            min(self.low, other.low),
            max(self.high, other.high),
            self.moments + other.moments,
            tuple(map(add, self.states, other.states)),
            tuple(map(add, self.state_counts, other.state_counts)),
            _both(self.values, other.values),
            _both(self.counted, other.counted),
        )


def _both(mine: Values | None, other: Values | None) -> Values | None:
    return None if mine is None or other is None else mine + other


def summarize_numbers(
    values: Floats, weight: Floats | None, with_values: bool, limit: float, n_special: int = 0
) -> NumericSummary:
    """The summary of a column, or of a part of one, with so many special values."""
    is_missing = np.isnan(values)
    n_missing = int(np.count_nonzero(is_missing))
    kept, kept_weight = values, weight
    if n_missing:
        kept = values[~is_missing]
        kept_weight = None if weight is None else weight[~is_missing]
    n_nonzero = int(np.count_nonzero(kept))
    low, high = kept.min(initial=np.inf), kept.max(initial=-np.inf)
    within = not len(kept) or (low >= 0.0 and high <= 1.0)
    only_ones = within and int(np.count_nonzero(kept == 1.0)) == n_nonzero
    found, counted = None, None
    if with_values and weight is not None:
        counted = values_of(kept, None, limit)
    if only_ones and len(kept):
        moments, found = _of_indicator(kept, kept_weight, n_nonzero, limit)
    else:
        moments = moments_of(kept, kept_weight)
        found = values_of(kept, kept_weight, limit) if with_values else None
    of_states = [is_missing]
    if n_special:
        found_states = states_of(values)
        of_states = [found_states == state for state in range(n_special + 1)]
    counts = [int(np.count_nonzero(own)) for own in of_states]
    known, unknown = float(len(kept)), [float(count) for count in counts]
    if weight is not None and kept_weight is not None:
        known = float(kept_weight.sum())
        unknown = [float(weight[own].sum()) for own in of_states]
    return NumericSummary(
        n_rows=len(values),
        n_missing=n_missing,
        n_nonzero=n_nonzero,
        only_ones=only_ones,
        low=float(low),
        high=float(high),
        moments=moments,
        states=_moments_of_states(known, unknown),
        state_counts=tuple(counts),
        values=found if with_values else None,
        counted=counted,
    )


def _moments_of_states(known: float, unknown: Sequence[float]) -> tuple[Moments, ...]:
    """Moments of the indicators of states of these weights, beside numbers of a known weight."""
    others = (sum([*unknown[:k], *unknown[k + 1 :]], known) for k in range(len(unknown)))
    return tuple(map(_moments_of_indicator, others, unknown))


def _of_indicator(
    values: Floats, weight: Floats | None, n_ones: int, limit: float
) -> tuple[Moments, Values]:
    """What is known of zeros and ones without sorting them."""
    count = by_weight = np.array([len(values) - n_ones, n_ones], dtype=np.float64)
    if weight is not None:
        by_weight = np.bincount(values.astype(np.intp), weight, minlength=2).astype(np.float64)
    occurs = count > 0
    distinct = _with_limit(Values(np.array([0.0, 1.0])[occurs], by_weight[occurs]), limit)
    return _moments_of_indicator(*by_weight.tolist()), distinct


def _moments_of_indicator(zeros: float, ones: float) -> Moments:
    """Moments of zeros and ones of these weights."""
    total = zeros + ones
    if not total:
        return Moments(0.0, 0.0, 0.0)
    share = ones / total
    return Moments(total, share, math.sqrt(share * (zeros / total)))


@dataclass(frozen=True)
class CategorySummary:
    """How often every category of a column occurs."""

    name: str
    counts: dict[Any, int]
    n_missing: int

    def __post_init__(self) -> None:
        if len(self.counts) > MAX_CATEGORIES:
            raise ValueError(
                f"Column {self.name!r} has {len(self.counts)} categories, more than"
                f" {MAX_CATEGORIES}. It looks like an identifier: drop it or group its values."
            )

    def __add__(self, other: CategorySummary) -> CategorySummary:
        # A column may mix text and numbers, but not be text in one file and numbers in the next:
        # then "1" and 1 are likely to be the same thing, and would become two categories.
        kinds = {self._kind, other._kind} - {None}
        if kinds == {"text", "numbers"}:
            raise TypeError(
                f"Column {self.name!r} holds text in one part of the rows and numbers in another."
                " Give it one type in all of them."
            )
        counts = dict(self.counts)
        for label, count in other.counts.items():
            counts[label] = counts.get(label, 0) + count
        return CategorySummary(self.name, counts, self.n_missing + other.n_missing)

    @property
    def _kind(self) -> str | None:
        are_text = {isinstance(label, str) for label in self.counts}
        if len(are_text) != 1:
            return "mixed" if are_text else None
        return "text" if are_text.pop() else "numbers"


# A rate times its exposure is whole up to this share of it.
_ROUNDED = 1e-9
# Whole numbers of which none is smaller, but for zeros, are amounts.
_SMALL_COUNT = 10.0


@dataclass(frozen=True)
class Counts:
    """Whether targets, or rates times their weights, are all whole, and the smallest above 0."""

    are_whole: bool
    smallest: float

    @property
    def are_counts(self) -> bool:
        """Whether targets count something; of amounts, none is a few units of money."""
        return self.are_whole and self.smallest < _SMALL_COUNT

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.are_whole and other.are_whole, min(self.smallest, other.smallest))


def find_counts(y: Floats, weight: Floats) -> Counts:
    """Of counts per exposure, the exposure is the weight."""
    totals = y if (y == np.floor(y)).all() else y * weight
    away = np.abs(totals - np.round(totals))
    are_whole = bool((away <= _ROUNDED * np.maximum(np.abs(totals), 1.0)).all())
    return Counts(are_whole, float(totals[totals > 0].min(initial=np.inf)))


@dataclass(frozen=True)
class TargetSummary:
    """The target with its weights: the rows themselves, or as many numbers as may be kept.

    Beyond the limit, rows with neighbouring targets are put together at their mean; their number,
    mean and variance are still those of all rows, and quantiles are right to within the error of
    :class:`Values`. ``sizes`` are the rows of every part, by its number.
    """

    y: Floats
    weight: Floats
    moments: Moments
    sizes: dict[int, int]
    low_weight: float
    high_weight: float
    counts: Counts
    limit: float = np.inf

    @property
    def n_rows(self) -> int:
        return sum(self.sizes.values())

    def __add__(self, other: TargetSummary) -> TargetSummary:
        return _shorter_target(
            TargetSummary(
                np.concatenate([self.y, other.y]),
                np.concatenate([self.weight, other.weight]),
                self.moments + other.moments,
                self.sizes | other.sizes,
                min(self.low_weight, other.low_weight),
                max(self.high_weight, other.high_weight),
                self.counts + other.counts,
                self.limit,
            )
        )


def summarize_target(y: Floats, weight: Floats, part: int, limit: float) -> TargetSummary:
    """The summary of a part's target."""
    return _shorter_target(
        TargetSummary(
            y,
            weight,
            moments_of(y, weight) if np.isfinite(limit) else Moments(0.0, 0.0, 0.0),
            {part: len(y)},
            float(weight.min(initial=np.inf)),
            float(weight.max(initial=-np.inf)),
            find_counts(y, weight),
            limit,
        )
    )


def _shorter_target(found: TargetSummary) -> TargetSummary:
    if len(found.y) <= found.limit:
        return found
    order = np.argsort(found.y, kind="stable")
    y, weight = found.y[order], found.weight[order]
    end = np.cumsum(weight)
    group = np.minimum(np.floor(end * (found.limit // 2) / end[-1]), found.limit // 2)
    first = np.flatnonzero(np.concatenate([[True], (group[1:] != group[:-1])]))
    total = np.add.reduceat(weight, first)
    mean = np.add.reduceat(weight * y, first) / total
    spread = moments_of(mean, total).spread
    stretch = found.moments.spread / spread if spread > 0 else 1.0
    mean = found.moments.mean + stretch * (mean - found.moments.mean)
    return replace(found, y=mean, weight=total)
