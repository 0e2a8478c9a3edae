"""What a fit must know of all rows before a tree can grow, learned from sums over parts of them.

Passes over the parts: targets and weights; a summary of every column; and only where some column
has a transform, the gradient per bin, the moments of transformed columns, and the products of
terms by which a transform has to prove itself.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import warn
from glassleaf.rows import summarize as parts
from glassleaf.rows.backends import Backend
from glassleaf.rows.codes import warn_of_codes
from glassleaf.rows.histograms import column_histograms
from glassleaf.rows.rare import FEW_CATEGORIES, in_order, with_rare
from glassleaf.rows.settings import GivenSplit, Roles, Settings
from glassleaf.rows.summarize import Part, TargetUnits, column_groups
from glassleaf.tables import binning
from glassleaf.tables.binning import Block, FeatureBins
from glassleaf.tables.design import Design, DesignPlanner, Layout
from glassleaf.tables.summaries import CategorySummary, NumericSummary, TargetSummary
from glassleaf.tables.table import Column
from glassleaf.tables.transforms import Distribution, Knots, has_heavy_tails, learn_knots
from glassleaf.tree.histograms import Histograms

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_log = logging.getLogger("glassleaf")

# Size of the sums of features that are summed together, with default bins and without: what a
# core's cache holds where few of a row's bins are stored, more where rows are read for all of them.
_BLOCK_BYTES = {True: 1 << 20, False: 1 << 22}
# Rows of this size stay in the cache and may be read again: small blocks are more to share.
_CACHED_BYTES = 1 << 22
_SMALL_BLOCK_BYTES = 1 << 18
# Sums and differences of larger numbers may overflow.
_LARGEST_VALUE = 1e305
# Mean weight of the rows below which weights seem to be shares, not counts.
_SMALL_WEIGHT = 0.05
# With many categories, and fewer rows in each on average, a column looks like an identifier.
_ROWS_PER_CATEGORY = 10
# A model with more parameters than this would need gigabytes for its Hessian alone.
_MAX_PARAMETERS = 10_000
# Share of the rows that choose the size of a tree.
_HELD_SHARE = 0.2
# Random numbers that are drawn at a time to be thrown away.
_DRAWN_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class HeldOut:
    """Which rows are set aside: drawn one after the other, in the order of all rows or groups."""

    draws: np.random.RandomState
    first_row: dict[int, int]

    def rows_of(self, part: Part) -> NDArray[np.bool_]:
        """Whether each row of a part is set aside."""
        draws = copy.deepcopy(self.draws)
        _skip(draws, self.first_row[part.number])
        drawn = draws.random(len(part.y))
        if part.group is not None:  # together or not at all
            drawn = drawn[part.group]
        return drawn < _HELD_SHARE


@dataclass(frozen=True)
class Plan:
    """Everything that was learned of all rows and that turns a part of them into ``Rows``.

    Rows know the bins of the columns that split or bend; of their ``blocks``, the first
    ``n_searched`` are of those that split. ``term_units`` are the center and scale of all terms
    where models are not linear.
    """

    columns: tuple[Column, ...]
    design: Design
    features: tuple[FeatureBins, ...]
    blocks: tuple[Block, ...]
    n_searched: int
    units: TargetUnits
    low: Floats
    high: Floats
    histograms: Histograms
    n_rows: int
    term_units: tuple[Floats, Floats] | None = None
    held_out: HeldOut | None = None
    aside: tuple[int, ...] = ()  # columns of exposures and offsets
    given: tuple[GivenSplit, ...] = ()  # splits that are made before any search

    def min_count(self, settings: Settings) -> int:
        """The fewest rows that a leaf may have."""
        wanted = settings.min_samples_leaf
        if wanted is None:
            return max(10, self.design.layout.n_columns + 1)
        return wanted if isinstance(wanted, int) else max(1, int(np.ceil(wanted * self.n_rows)))


def learn(backend: Backend, names: Sequence[str], roles: Roles, settings: Settings) -> Plan:
    """Learn from all parts how to turn each of them into rows."""
    limit = backend.largest_summary
    targets: TargetSummary = backend.sum(parts.summarize_targets, [limit])[0]
    weighted = targets.low_weight != targets.high_weight
    _warn_of_small_weights(targets)
    units = _target_units(targets, settings)
    per_shard = targets.n_rows // backend.n_shards
    found = _summaries(backend, per_shard, roles, settings, weighted, limit)
    _check_sizes(names, found)
    if settings.is_linear:
        found = with_rare(found, settings.max_numbers is not None)
    _warn_of_identifiers(names, found, roles)
    if roles.may_have_codes:
        warn_of_codes(names, found)
    columns = tuple(
        Column(name, in_order(own), part)
        if isinstance(own, CategorySummary)
        else Column(name, None, part, roles.special[j] if len(own.states) > 1 else ())
        for j, (name, own, part) in enumerate(
            zip(names, found, roles.dates or [None] * len(names), strict=True)
        )
    )
    bins = _bins(found, columns, roles, settings)
    searched, others = (
        tuple(bins[j] for j in sorted(bins) if own[j])
        for own in (roles.splits, roles.bends & ~roles.splits)
    )
    knots = _all_knots(backend, found, bins, roles, settings, units)
    design = _design(backend, found, columns, knots, roles, settings, units, weighted)
    term_units = None
    if not settings.is_linear:
        design, term_units = _array_design(backend, design, columns, weighted)
    _check_n_parameters(design, settings)
    low, high = _ranges(found)
    held_out = None
    if settings.held_out is not None:
        held_out = draw_held_out(settings.held_out, targets.sizes)
    at_once = _bins_at_once(design, settings, per_shard)
    blocks, more = (binning.make_blocks(own, at_once) for own in (searched, others))
    return Plan(
        columns=columns,
        design=design,
        features=searched + others,
        blocks=(*blocks, *more),
        n_searched=len(blocks),
        units=units,
        low=low,
        high=high,
        histograms=column_histograms(found, columns, roles.is_used),
        n_rows=targets.n_rows,
        term_units=term_units,
        held_out=held_out,
        aside=roles.aside,
        given=roles.given,
    )


def _warn_of_small_weights(targets: TargetSummary) -> None:
    total = float(targets.weight.sum())
    if total < _SMALL_WEIGHT * targets.n_rows:
        warn(
            f"The weights of {targets.n_rows:,} rows sum to {total:g}. A row of weight 2 counts as"
            " two rows, and these as few: the tree stays small. Weights with a mean of 1 count as"
            " all rows."
        )


def _target_units(targets: TargetSummary, settings: Settings) -> TargetUnits:
    y, weight, loss = targets.y, targets.weight, settings.loss
    is_counted = loss.is_overdispersed and targets.counts.are_counts
    center, scale = (0.0, 1.0)
    if settings.is_linear and not is_counted:
        center, scale = loss.target_units(y, weight)
    return TargetUnits(loss, center, scale, loss.start((y - center) / scale, weight))


def _summaries(
    backend: Backend, n_rows: int, roles: Roles, settings: Settings, weighted: bool, limit: float
) -> list[NumericSummary | CategorySummary]:
    with_values = np.flatnonzero(roles.is_used & ~roles.categorical).tolist()
    categorical = np.flatnonzero(roles.categorical).tolist()
    groups = column_groups(n_rows, len(roles.splits), settings.n_threads)
    n_special = {j: len(own) for j, own in enumerate(roles.special) if own}
    tasks = [
        parts.ColumnsTask(group, categorical, with_values, weighted, limit, n_special)
        for group in groups
    ]
    summed = chain.from_iterable(backend.sum(parts.summarize_columns, tasks))
    found = [_with_own_special(own, j in roles.named_special) for j, own in enumerate(summed)]
    worst = max(
        (own.values.error / own.values.weight.sum() for own in found
         if isinstance(own, NumericSummary) and own.values is not None and own.values.error),
        default=0.0,
    )  # fmt: skip
    if worst:
        _log.info("bins are borders of equal weight to within %.2g of the rows", worst)
    return found


def _with_own_special(
    found: NumericSummary | CategorySummary, is_named: bool
) -> NumericSummary | CategorySummary:
    """A summary that knows special values only where one of them occurs, or the column is named."""
    if isinstance(found, CategorySummary) or is_named or found.has_special:
        return found
    return found.without_special()


def _check_sizes(names: Sequence[str], found: Sequence[NumericSummary | CategorySummary]) -> None:
    for name, own in zip(names, found, strict=True):
        if isinstance(own, NumericSummary) and own.low <= own.high:
            largest = max(own.low, own.high, key=abs)
            if abs(largest) > _LARGEST_VALUE:
                raise ValueError(
                    f"Column {name!r} contains {largest:g}; sums of such numbers would overflow."
                    " Divide the column by a constant, or replace the value."
                )


def _warn_of_identifiers(
    names: Sequence[str], found: Sequence[NumericSummary | CategorySummary], roles: Roles
) -> None:
    """Warn of columns with few rows per category: a model learns them by heart."""
    for name, own, is_used in zip(names, found, roles.is_used, strict=True):
        if not is_used or isinstance(own, NumericSummary) or len(own.counts) <= FEW_CATEGORIES:
            continue
        n_rows = sum(own.counts.values())
        if n_rows < _ROWS_PER_CATEGORY * len(own.counts):
            warn(
                f"Column {name!r} has {len(own.counts):,} categories in {n_rows:,} rows. A model"
                " learns them by heart: if it is an identifier or a date, leave it out or turn"
                " it into a number; else group its values."
            )


def _counts(found: CategorySummary, column: Column) -> list[int]:
    """How often every category, and then "missing", occurs."""
    return [*(found.counts[label] for label in column.categories or ()), found.n_missing]


def _bins(
    found: Sequence[NumericSummary | CategorySummary],
    columns: Sequence[Column],
    roles: Roles,
    settings: Settings,
) -> dict[int, FeatureBins]:
    """The bins of the columns that split, bend or may be transformed."""
    bins = {}
    may_omit = not settings.needs_ranges
    for j, own in enumerate(found):
        if isinstance(own, CategorySummary):
            if roles.splits[j]:
                bins[j] = binning.category_bins(j, _counts(own, columns[j]), may_omit)
        elif own.values is not None:
            cuts = [given.threshold for given in roles.given if given.column == j]
            bins[j] = binning.numeric_bins(j, own, settings.max_bins, may_omit, cuts)
    return bins


# --- transforms ----------------------------------------------------------------------------------


def _all_knots(
    backend: Backend,
    found: Sequence[Any],
    bins: dict[int, FeatureBins],
    roles: Roles,
    settings: Settings,
    units: TargetUnits,
) -> dict[int, Knots]:
    """The transforms of the columns that have one, learned from their bins."""
    if settings.transform == "none":
        return {}
    able = {}
    for j, own in bins.items():
        # Any function of two values is linear.
        if roles.leaves[j] and not own.is_categorical and own.n_values >= 3:
            mass = _mass(found[j], own)
            able[j] = Distribution(own.lower, own.upper, mass)
    slopes: dict[int, Floats | None] = dict.fromkeys(able)
    if settings.transform == "auto":
        able = {j: own for j, own in able.items() if has_heavy_tails(own)}
        asked = [bins[j] for j in able]
        if asked:
            sums = backend.sum(parts.bin_slopes, [parts.SlopesTask(asked, units)])[0]
            slopes = {
                j: total / own.weight[:, None]
                for (j, own), total in zip(able.items(), sums, strict=True)
            }
    knots = {j: learn_knots(own, settings.transform, slopes[j]) for j, own in able.items()}
    return {j: own for j, own in knots.items() if own is not None}


def _mass(found: NumericSummary, bins: FeatureBins) -> Floats:
    """Weight of every bin."""
    assert found.values is not None
    place = np.searchsorted(bins.upper, found.values.values)
    return np.bincount(place, found.values.weight, bins.n_values).astype(np.float64)


# --- the design ----------------------------------------------------------------------------------


def _design(
    backend: Backend,
    found: Sequence[NumericSummary | CategorySummary],
    columns: Sequence[Column],
    knots: dict[int, Knots],
    roles: Roles,
    settings: Settings,
    units: TargetUnits,
    weighted: bool,
) -> Design:
    changed = {}
    if knots:
        asked = parts.TransformedTask(knots, weighted)
        summaries = backend.sum(parts.summarize_transformed, [asked])[0]
        changed = {j: (knots[j], own) for j, own in zip(knots, summaries, strict=True)}
    first = found[0]
    n_rows = first.n_rows if isinstance(first, NumericSummary) else sum(_counts(first, columns[0]))
    planner = DesignPlanner(n_rows, len(columns), settings.max_numbers is not None)
    for j, own in enumerate(found):
        if isinstance(own, CategorySummary):
            if roles.leaves[j]:
                planner.add_categories(j, _counts(own, columns[j]))
        elif roles.leaves[j]:
            planner.add_numeric(j, own, changed.get(j), settings.transform in ("auto", "cut"))
        else:
            planner.skip_numeric(j, own)
    if planner.undecided:
        terms = [*planner.settled, *chain.from_iterable(planner.undecided)]
        task = parts.ProductsTask(terms, units, weighted)
        gram, product = backend.sum(parts.term_products, [task])[0]
        planner.settle(gram, product)
    return planner.build()


def _array_design(
    backend: Backend, design: Design, columns: Sequence[Column], weighted: bool
) -> tuple[Design, tuple[Floats, Floats]]:
    """The whole design as one standardized array, for models that are not linear."""
    task = parts.MomentsTask(columns, design.terms, weighted)
    moments = backend.sum(parts.term_moments, [task])[0]
    center = np.array([own.mean for own in moments])
    spread = np.array([own.spread for own in moments])
    scale = np.where(spread > 0, spread, 1.0)
    n_terms = design.terms.n_terms
    none, no_complement = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    layout = Layout(n_terms, 0, none, no_complement, np.arange(n_terms), center, scale)
    return Design(layout, design.terms), (center, scale)


def _bins_at_once(design: Design, settings: Settings, n_rows: int) -> dict[bool, int]:
    """The largest number of bins in a block, of features with default bins and without."""
    per_bin = 8 * (settings.loss.n_outputs + 2) * (design.layout.n_columns + 1)
    most = int(np.iinfo(binning.BIN_DTYPE).max)
    sizes = _BLOCK_BYTES
    if 8 * n_rows * design.layout.n_dense <= _CACHED_BYTES:
        sizes = dict.fromkeys(sizes, _SMALL_BLOCK_BYTES)
    return {has_default: min(max(size // per_bin, 32), most) for has_default, size in sizes.items()}


def _ranges(found: Sequence[NumericSummary | CategorySummary]) -> tuple[Floats, Floats]:
    """Smallest and largest value of every numeric column; NaN for a column without values."""
    low, high = np.full((2, len(found)), np.nan)
    for j, own in enumerate(found):
        if isinstance(own, NumericSummary) and own.low <= own.high:
            low[j], high[j] = own.low, own.high
    return low, high


def _check_n_parameters(design: Design, settings: Settings) -> None:
    n_columns, n_outputs = design.layout.n_columns, settings.loss.n_outputs
    n_parameters, most = (n_columns + 1) * n_outputs, _MAX_PARAMETERS
    if settings.loss.is_apart:  # matrices of an output's own parameters
        most = _MAX_PARAMETERS**2 // (n_columns + 1)
    if n_parameters > most:
        raise ValueError(
            f"Every leaf model would have {n_parameters} parameters ({n_columns} terms,"
            f" {n_outputs} output(s)); at most {most} are supported."
            " Name fewer columns in leaf_features, or group rare categories."
        )


# --- rows that are set aside ---------------------------------------------------------------------


def draw_held_out(draws: np.random.RandomState, sizes: dict[int, int]) -> HeldOut:
    """Draw a number for every row of parts of these sizes; the generator goes on after them."""
    numbers = sorted(sizes)
    *before, n_rows = np.cumsum([0, *(sizes[number] for number in numbers)]).tolist()
    out = HeldOut(copy.deepcopy(draws), dict(zip(numbers, before, strict=True)))
    _skip(draws, n_rows)
    return out


def _skip(draws: np.random.RandomState, number: int) -> None:
    """Draw random numbers that nobody needs."""
    for first in range(0, number, _DRAWN_AT_ONCE):
        draws.random(min(_DRAWN_AT_ONCE, number - first))
