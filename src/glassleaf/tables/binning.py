"""Columns to bins: where a column may be split, and in which bin every row lies.

A numeric column with at most ``max_bins`` distinct values gets a bin for each of them, so that
every possible split is a candidate; a longer one gets bins of equal weight. A categorical column
has a bin per category. One more bin holds the missing values and, of a number, one more each of its
special values: the bins of its states.

Most rows of a categorical column often share one value, as do the zeros of a sparse column. That
*default* bin is not stored per row: its sums are the node's sums minus those of the other bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.tables.compressed import Compressed, Entries, from_columns, uniform
from glassleaf.tables.special import states_of
from glassleaf.tables.summaries import NumericSummary, Values

Floats = NDArray[np.float64]
BIN_DTYPE = np.uint16
Codes = NDArray[np.uint8] | NDArray[np.uint16]
# If no more than this share of a column's values lie outside of its commonest bin, only they are
# stored.
_RARE_SHARE = 0.5


@dataclass(frozen=True)
class FeatureBins:
    """The bins of one column.

    ``lower[b], upper[b]`` are the smallest and largest training value in bin b; both are empty
    for a categorical column, whose bins are its ``n_values`` categories. Bin ``n_values`` holds
    the missing values; those after it, of a number, its special values.
    """

    column: int
    n_values: int
    lower: Floats
    upper: Floats
    is_categorical: bool
    default_bin: int = -1
    n_states: int = 1

    @property
    def n_bins(self) -> int:
        return self.n_values + self.n_states


@dataclass(frozen=True)
class Block:
    """Features whose bins are summed together; feature k's bins start at ``first_bin[k]``."""

    features: tuple[FeatureBins, ...]
    first_bin: tuple[int, ...]

    @property
    def n_bins(self) -> int:
        return self.first_bin[-1] + self.features[-1].n_bins

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """First bin, number of values and whether these are categories, of every feature."""
        return (
            np.array(self.first_bin),
            np.array([feature.n_values for feature in self.features]),
            np.array([feature.is_categorical for feature in self.features]),
        )

    def __iter__(self) -> Iterator[tuple[int, FeatureBins]]:
        return iter(zip(self.first_bin, self.features, strict=True))


# A node as a block of its own: one bin with all its rows.
WHOLE = Block((FeatureBins(-1, 0, np.zeros(0), np.zeros(0), False),), (0,))


def learn_bins(found: Values, max_bins: int) -> tuple[Floats, Floats, Floats]:
    """Smallest value, largest value and weight of every bin, from the distinct values.

    >>> from glassleaf.tables.summaries import values_of
    >>> learn_bins(values_of(np.array([3.0, 1.0, 3.0, 2.0]), None), 255)
    (array([1., 2., 3.]), array([1., 2., 3.]), array([1., 1., 2.]))
    >>> learn_bins(values_of(np.arange(100.0), None), 4)
    (array([ 0., 25., 50., 75.]), array([24., 49., 74., 99.]), array([25., 25., 25., 25.]))
    """
    distinct = found.values
    if len(distinct) <= max_bins:
        return distinct, distinct, found.weight
    # The last distinct value of every bin: where the cumulative weight reaches k / max_bins. The
    # tolerance makes k copies of a row and one row of weight k agree.
    cumulative = np.cumsum(found.weight)
    targets = cumulative[-1] * np.arange(1, max_bins) / max_bins
    ends = np.append(np.searchsorted(cumulative, targets * (1 - 1e-12)), len(distinct) - 1)
    ends = ends[np.diff(ends, append=-1) != 0]  # they are in order: what differs from the next
    starts = np.concatenate([[0], ends[:-1] + 1])
    return distinct[starts], distinct[ends], np.diff(cumulative[ends], prepend=0.0)


def numeric_bins(
    column: int,
    found: NumericSummary,
    max_bins: int,
    may_omit: bool,
    cuts: Sequence[float] = (),
) -> FeatureBins:
    """Bins of a numeric column, none of which has values on both sides of a cut.

    If it ``may_omit`` a bin and most values are in the same one, that is the default.
    """
    assert found.values is not None
    lower, upper, weight = learn_bins(found.values, max_bins)
    for cut in cuts:
        lower, upper, weight = _cut(found.values, lower, upper, weight, cut)
    if found.values.error and lower[0] > found.low:
        lower = np.concatenate([[found.low], lower[1:]])
    default_bin = _commonest_bin(found, weight) if may_omit else -1
    n_states = len(found.states)
    return FeatureBins(column, len(upper), lower, upper, False, default_bin, n_states)


def _cut(
    found: Values, lower: Floats, upper: Floats, weight: Floats, at: float
) -> tuple[Floats, Floats, Floats]:
    """Bins of which one that has values on both sides of a number became two."""
    k = int(np.searchsorted(upper, at, side="left"))  # the first that ends there or above
    if k == len(upper) or not lower[k] <= at < upper[k]:
        return lower, upper, weight
    own = (found.values >= lower[k]) & (found.values <= upper[k])
    next_value = found.values[own & (found.values > at)][0]
    below = float(found.weight[own & (found.values <= at)].sum())
    weight = np.insert(weight, k, below)
    weight[k + 1] -= below
    return np.insert(lower, k + 1, next_value), np.insert(upper, k, at), weight


def _commonest_bin(found: NumericSummary, weight: Floats) -> int:
    """The bin that holds most of all rows, those with missing values included; else -1."""
    if not len(weight):
        return -1
    commonest = int(np.argmax(weight))
    share_known = 1 - found.n_missing / found.n_rows
    share = weight[commonest] / weight.sum() * share_known
    return commonest if 1 - share <= _RARE_SHARE else -1


def category_bins(column: int, counts: Sequence[int], may_omit: bool) -> FeatureBins:
    """Bins of a categorical column, given how often each category and "missing" (last) occurs."""
    default_bin = int(np.argmax(counts)) if may_omit else -1
    none = np.zeros(0)
    return FeatureBins(column, len(counts) - 1, none, none, True, default_bin)


def number_codes(bins: FeatureBins, values: Floats) -> Codes:
    """Every row's bin of a numeric column."""
    if bins.n_values == 2:  # of an indicator there may be many, and there is nothing to search
        short: NDArray[np.uint8] = (values > bins.upper[0]).astype(np.uint8)
        short[np.isnan(values)] = bins.n_values
        return _with_special(bins, values, short)
    codes = np.empty(len(values), dtype=BIN_DTYPE)
    # A kernel is compiled again for every kind of array: a view of a table may not be written to.
    values = np.require(values, requirements=["C", "W"])
    _kernels.assign_bins(values, bins.upper, len(bins.upper), codes)
    return _with_special(bins, values, codes)


def _with_special(bins: FeatureBins, values: Floats, codes: Any) -> Codes:
    """The bins of rows, of which special values lie in that of missing ones."""
    if bins.n_states > 1:
        codes += np.maximum(states_of(values), 0).astype(codes.dtype)
    found: Codes = codes
    return found


def category_codes(bins: FeatureBins, codes: NDArray[np.int32]) -> NDArray[np.uint16]:
    """Every row's bin of a categorical column given as codes (-1 missing)."""
    return np.where(codes >= 0, codes, bins.n_values).astype(BIN_DTYPE)


def make_blocks(features: Sequence[FeatureBins], bins_at_once: dict[bool, int]) -> list[Block]:
    """Group the features for summing, those with a default bin apart from those without.

    ``bins_at_once`` is the largest number of bins in a block, for features with and without.
    """
    blocks: list[Block] = []
    for has_default in (False, True):
        alike = [k for k, bins in enumerate(features) if (bins.default_bin >= 0) == has_default]
        for together in _groups(features, alike, bins_at_once[has_default]):
            blocks.append(_block([features[k] for k in together]))
    return blocks


def _groups(
    features: Sequence[FeatureBins], chosen: Sequence[int], most_bins: int
) -> Iterator[list[int]]:
    """Neighbours among the chosen features with at most so many bins together, or one alone."""
    together: list[int] = []
    n_bins = 0
    for k in chosen:
        if together and n_bins + features[k].n_bins > most_bins:
            yield together
            together, n_bins = [], 0
        together.append(k)
        n_bins += features[k].n_bins
    if together:
        yield together


def _block(features: Sequence[FeatureBins]) -> Block:
    ends = np.cumsum([bins.n_bins for bins in features])
    return Block(tuple(features), (0, *ends[:-1].tolist()))


def block_rows(block: Block, codes: Sequence[Codes]) -> Compressed:
    """The rows of a block, from every row's bin of each of its features."""
    if block.features[0].default_bin < 0:
        offset = np.array(block.first_bin, dtype=BIN_DTYPE)
        table: NDArray[Any] = np.column_stack(codes)
        return uniform(table + offset)
    entries: list[Entries] = []
    for (first, bins), code in zip(block, codes, strict=True):
        stored = np.flatnonzero(code != bins.default_bin)
        entries.append((stored, code[stored].astype(BIN_DTYPE) + BIN_DTYPE(first), None))
    return from_columns(len(codes[0]), entries, BIN_DTYPE)
