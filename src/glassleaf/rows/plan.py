"""What has to be known of all rows before a tree can grow: learned from sums over parts of them.

Passes over the parts: targets and weights; a summary of every column; and only where some column
has a transform, the gradient per bin, the moments of transformed columns, and the products of
terms by which a transform has to prove itself.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import warn
from glassleaf.losses import Loss
from glassleaf.rows import summarize as parts
from glassleaf.rows.backends import Backend
from glassleaf.rows.build import Plan, column_groups, draw_held_out
from glassleaf.rows.summarize import TargetUnits
from glassleaf.tables import binning
from glassleaf.tables.binning import FeatureBins
from glassleaf.tables.design import Design, DesignPlanner, Layout
from glassleaf.tables.summaries import CategorySummary, NumericSummary, TargetSummary
from glassleaf.tables.table import Column, ordered
from glassleaf.tables.transforms import Distribution, Knots, has_heavy_tails, learn_knots

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_log = logging.getLogger("glassleaf")

# Size of the sums of features that are summed together, with default bins and without: what a
# core's cache holds where few of a row's bins are stored, enough to be worth a task where all are.
_BLOCK_BYTES = {True: 1 << 20, False: 1 << 22}
# Sums and differences of larger numbers may overflow.
_LARGEST_VALUE = 1e305
# With more categories, and fewer rows in each on average, a column looks like an identifier.
_FEW_CATEGORIES = 50
_ROWS_PER_CATEGORY = 10


@dataclass(frozen=True)
class Roles:
    """What each column is and may be used for; ``signs`` are those that its weights may have.

    A sign is 1 (a prediction must not fall as the column rises), -1 or 0 (free). A column with a
    sign does not split: then no change of it leads to another leaf, and what holds for every leaf
    holds for the tree.
    """

    categorical: Bools
    splits: Bools
    leaves: Bools
    signs: NDArray[np.int8]


@dataclass(frozen=True)
class Wishes:
    """The settings that preparation looks at."""

    loss: Loss
    transform: str
    max_bins: int
    may_omit: bool  # whether the most frequent bin of a column need not be stored
    vector_width: int
    is_linear: bool
    n_threads: int
    held_out: np.random.RandomState | None


def learn(backend: Backend, names: Sequence[str], roles: Roles, wishes: Wishes) -> Plan:
    """Learn from all parts how to turn each of them into rows."""
    limit = backend.largest_summary
    targets: TargetSummary = backend.sum(parts.summarize_targets, [(limit,)])[0]
    weighted = targets.low_weight != targets.high_weight
    units = _target_units(targets, wishes)
    per_shard = targets.n_rows // backend.n_shards
    found = _summaries(backend, per_shard, roles, wishes, weighted, limit)
    _check_sizes(names, found)
    _warn_of_identifiers(names, found, roles)
    columns = tuple(
        Column(name, tuple(ordered(list(own.counts))) if isinstance(own, CategorySummary) else None)
        for name, own in zip(names, found, strict=True)
    )
    bins = _bins(found, columns, roles, wishes)
    features = tuple(bins[j] for j in sorted(bins) if roles.splits[j])
    knots = _all_knots(backend, found, bins, roles, wishes, units)
    design = _design(backend, found, columns, knots, roles, wishes, units, weighted)
    plain = None
    if not wishes.is_linear:
        design, plain = _plain_design(backend, design, columns, weighted)
    low, high = _ranges(found)
    held_out = None
    if wishes.held_out is not None:
        held_out = draw_held_out(wishes.held_out, targets.sizes)
    return Plan(
        columns=columns,
        design=design,
        features=features,
        blocks=tuple(binning.make_blocks(features, _bins_at_once(design, wishes))),
        units=units,
        low=low,
        high=high,
        n_rows=targets.n_rows,
        vector_width=wishes.vector_width,
        n_threads=wishes.n_threads,
        plain=plain,
        held_out=held_out,
    )


def _target_units(targets: TargetSummary, wishes: Wishes) -> TargetUnits:
    y, weight, loss = targets.y, targets.weight, wishes.loss
    center, scale = loss.target_units(y, weight) if wishes.is_linear else (0.0, 1.0)
    return TargetUnits(loss, center, scale, loss.start((y - center) / scale, weight))


def _summaries(
    backend: Backend, n_rows: int, roles: Roles, wishes: Wishes, weighted: bool, limit: float
) -> list[NumericSummary | CategorySummary]:
    needed = roles.splits | (roles.leaves & (wishes.transform != "none"))
    with_values = np.flatnonzero(needed & ~roles.categorical).tolist()
    categorical = np.flatnonzero(roles.categorical).tolist()
    groups = column_groups(n_rows, len(roles.splits), wishes.n_threads)
    tasks = [(group, categorical, with_values, weighted, limit) for group in groups]
    work = np.inf if wishes.n_threads > 1 else 0.0
    found = list(chain.from_iterable(backend.sum(parts.summarize_columns, tasks, work=work)))
    worst = max(
        (own.values.error / own.values.weight.sum() for own in found
         if isinstance(own, NumericSummary) and own.values is not None and own.values.error),
        default=0.0,
    )  # fmt: skip
    if worst:
        _log.info("bins are borders of equal weight to within %.2g of the rows", worst)
    return found


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
    """Categories of a few rows each are learned by heart, and say nothing of new rows."""
    for name, own, is_used in zip(names, found, roles.splits | roles.leaves, strict=True):
        if not is_used or isinstance(own, NumericSummary) or len(own.counts) <= _FEW_CATEGORIES:
            continue
        n_rows = sum(own.counts.values())
        if n_rows < _ROWS_PER_CATEGORY * len(own.counts):
            warn(
                f"Column {name!r} has {len(own.counts):,} categories in {n_rows:,} rows. A model"
                " learns so many by heart: if it is an identifier or a date, leave it out or turn"
                " it into a number; else group its values."
            )


def _counts(found: CategorySummary, column: Column) -> list[int]:
    """How often every category, and then "missing", occurs."""
    return [*(found.counts[label] for label in column.categories or ()), found.n_missing]


def _bins(
    found: Sequence[NumericSummary | CategorySummary],
    columns: Sequence[Column],
    roles: Roles,
    wishes: Wishes,
) -> dict[int, FeatureBins]:
    """The bins of the columns that split or may be transformed."""
    bins = {}
    for j, own in enumerate(found):
        if isinstance(own, CategorySummary):
            if roles.splits[j]:
                bins[j] = binning.category_bins(j, _counts(own, columns[j]), wishes.may_omit)
        elif own.values is not None:
            bins[j] = binning.numeric_bins(j, own, wishes.max_bins, wishes.may_omit)
    return bins


# --- transforms ----------------------------------------------------------------------------------


def _all_knots(
    backend: Backend,
    found: Sequence[Any],
    bins: dict[int, FeatureBins],
    roles: Roles,
    wishes: Wishes,
    units: TargetUnits,
) -> dict[int, Knots]:
    """The transforms of the columns that have one, learned from their bins."""
    if wishes.transform == "none":
        return {}
    able = {}
    for j, own in bins.items():
        # Any function of two values is linear.
        if roles.leaves[j] and not own.is_categorical and own.n_values >= 3:
            mass = _mass(found[j], own)
            able[j] = Distribution(own.lower, own.upper, mass)
    slopes: dict[int, Floats | None] = dict.fromkeys(able)
    if wishes.transform == "auto":
        able = {j: own for j, own in able.items() if has_heavy_tails(own)}
        asked = [bins[j] for j in able]
        if asked:
            sums = backend.sum(parts.bin_slopes, [(asked, units)])[0]
            slopes = {
                j: total / own.weight[:, None]
                for (j, own), total in zip(able.items(), sums, strict=True)
            }
    knots = {j: learn_knots(own, wishes.transform, slopes[j]) for j, own in able.items()}
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
    wishes: Wishes,
    units: TargetUnits,
    weighted: bool,
) -> Design:
    changed = {}
    if knots:
        summaries = backend.sum(parts.summarize_transformed, [(knots, weighted)])[0]
        changed = {j: (knots[j], own) for j, own in zip(knots, summaries, strict=True)}
    first = found[0]
    n_rows = first.n_rows if isinstance(first, NumericSummary) else sum(_counts(first, columns[0]))
    planner = DesignPlanner(n_rows, len(columns))
    for j, own in enumerate(found):
        if isinstance(own, CategorySummary):
            if roles.leaves[j]:
                planner.add_categories(j, _counts(own, columns[j]))
        elif roles.leaves[j]:
            planner.add_numeric(j, own, changed.get(j), wishes.transform == "auto")
        else:
            planner.skip_numeric(j)
    if planner.undecided:
        terms = [*planner.settled, *chain.from_iterable(planner.undecided)]
        gram, product = backend.sum(parts.term_products, [(terms, units, weighted)])[0]
        planner.settle(gram, product)
    return planner.build()


def _plain_design(
    backend: Backend, design: Design, columns: Sequence[Column], weighted: bool
) -> tuple[Design, tuple[Floats, Floats]]:
    """The whole design as one standardized array, for models that are not linear."""
    moments = backend.sum(parts.term_moments, [(columns, design.terms, weighted)])[0]
    center = np.array([own.mean for own in moments])
    spread = np.array([own.spread for own in moments])
    scale = np.where(spread > 0, spread, 1.0)
    n_terms = design.terms.n_terms
    none, no_complement = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    layout = Layout(n_terms, 0, none, no_complement, np.arange(n_terms), center, scale)
    return Design(layout, design.terms), (center, scale)


def _bins_at_once(design: Design, wishes: Wishes) -> dict[bool, int]:
    per_bin = 8 * (wishes.loss.n_outputs + 2) * (design.layout.n_columns + 1)
    most = int(np.iinfo(binning.BIN_DTYPE).max)
    return {
        has_default: min(max(size // per_bin, 32), most)
        for has_default, size in _BLOCK_BYTES.items()
    }


def _ranges(found: Sequence[NumericSummary | CategorySummary]) -> tuple[Floats, Floats]:
    """Smallest and largest value of every numeric column; NaN for a column without values."""
    low, high = np.full((2, len(found)), np.nan)
    for j, own in enumerate(found):
        if isinstance(own, NumericSummary) and own.low <= own.high:
            low[j], high[j] = own.low, own.high
    return low, high
