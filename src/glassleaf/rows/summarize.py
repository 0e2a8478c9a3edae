"""Parts of a training set as they came in, and the functions of them that preparation adds up.

A :class:`Part` is some of the rows of a table with their targets and weights. Everything that is
learned before the tree grows (categories, bins, moments, transforms) is a sum of these functions
over all parts, as everything later is a sum of functions of ``rows.Rows``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.losses import Loss
from glassleaf.tables.binning import FeatureBins, number_codes
from glassleaf.tables.coded import with_codes
from glassleaf.tables.design import NumberTerm, Terms
from glassleaf.tables.special import Special
from glassleaf.tables.summaries import (
    CategorySummary,
    Several,
    TargetSummary,
    moments_of,
    summarize_numbers,
    summarize_target,
)
from glassleaf.tables.table import Column, Table, column_name, raw_matrix
from glassleaf.tables.transforms import Knots
from glassleaf.tree.tree import term_matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Some rows of positive weight; ``number`` is the part's place among all.

    ``group`` says which rows are of one subject, where that is known: 0, 1, ...
    """

    table: Table
    y: Floats
    weight: Floats
    number: int = 0
    group: NDArray[np.int64] | None = None

    def weight_if(self, weighted: bool) -> Floats | None:
        """The weights, or None where all rows of all parts have the same."""
        return self.weight if weighted else None


def coded(part: Part, special: Sequence[tuple[Special, ...]]) -> Part:
    """A part in whose table special values are states."""
    return replace(part, table=with_codes(part.table, special))


@dataclass(frozen=True)
class TargetUnits:
    """In which units targets are handed to a loss, and the raw prediction to start from.

    A raw prediction there is ``score_scale * raw + score_center`` for the targets as they came,
    and a loss ``worth`` times as large.
    """

    loss: Loss
    center: float
    scale: float
    start: Floats

    @property
    def score_center(self) -> float:
        return float(np.log(self.scale)) if self.loss.link == "log" else self.center

    @property
    def score_scale(self) -> float:
        return 1.0 if self.loss.link == "log" else self.scale

    @property
    def worth(self) -> float:
        return float(self.scale**self.loss.degree)

    def targets(self, y: Floats) -> Floats:
        """Targets in these units."""
        return (y - self.center) / self.scale

    def slope(self, part: Part) -> Floats:
        """Weighted gradients of the loss at the best constant, one column per output."""
        y = self.targets(part.y)
        raw = np.tile(self.start, (len(y), 1))
        given = raw.ravel() if self.loss.n_outputs == 1 else raw
        _, slope, _ = self.loss.derivatives(y, given, with_hessian=False)
        return slope.reshape(len(y), self.loss.n_outputs) * part.weight[:, None]


def summarize_targets(part: Part, limit: float) -> TargetSummary:
    """Targets, weights and number of rows."""
    return summarize_target(part.y, part.weight, part.number, limit)


class ColumnsTask(NamedTuple):
    """Columns to be summarized; of all columns, which are categorical and which need all values."""

    chosen: Sequence[int]
    categorical: Sequence[int]
    with_values: Sequence[int]
    weighted: bool
    limit: float
    n_special: Mapping[int, int]


def summarize_columns(part: Part, task: ColumnsTask) -> Several:
    """A summary of every chosen column."""
    chosen, categorical = task.chosen, task.categorical
    for j in chosen:
        if j not in categorical and part.table.holds_text(j):
            raise ValueError(
                f"Column {column_name(part.table, j)!r} holds text, but categorical_features does"
                " not name it. Add it there, use categorical_features='from_dtype', or drop the"
                " column."
            )
    numeric = [j for j in chosen if j not in categorical]
    values = part.table.numeric_columns(numeric) if numeric else []
    value_of = dict(zip(numeric, values, strict=True))
    weight = part.weight_if(task.weighted)
    return Several(
        summarize_numbers(
            value_of[j], weight, j in task.with_values, task.limit, task.n_special.get(j, 0)
        )
        if j in value_of
        else _summarize_categories(part.table, j)
        for j in chosen
    )


def _summarize_categories(table: Table, column: int) -> CategorySummary:
    labels = table.labels(column)
    present = labels.codes[labels.codes >= 0]
    counts = np.bincount(present, minlength=len(labels.values)).tolist()
    found = {label: n for label, n in zip(labels.values, counts, strict=True) if n}
    return CategorySummary(column_name(table, column), found, len(labels.codes) - len(present))


class TransformedTask(NamedTuple):
    """The transforms of some columns."""

    knots: Mapping[int, Knots]
    weighted: bool


def summarize_transformed(part: Part, task: TransformedTask) -> Several:
    """Summaries of transformed columns."""
    weight = part.weight_if(task.weighted)
    return Several(
        summarize_numbers(own(part.table.numeric(j)), weight, False, np.inf)
        for j, own in task.knots.items()
    )


class SlopesTask(NamedTuple):
    """The bins of some numeric columns, and the units of the target."""

    features: Sequence[FeatureBins]
    units: TargetUnits


def bin_slopes(part: Part, task: SlopesTask) -> Several:
    """Sums of the loss's gradient at the start per bin of some numeric columns."""
    slope = task.units.slope(part)
    sums = []
    for bins in task.features:
        codes = number_codes(bins, part.table.numeric(bins.column))
        per_bin = [np.bincount(codes, own, bins.n_bins)[: bins.n_values] for own in slope.T]
        sums.append(np.column_stack(per_bin))
    return Several(sums)


class ProductsTask(NamedTuple):
    """Dense terms, and the units of the target."""

    terms: Sequence[NumberTerm]
    units: TargetUnits
    weighted: bool


def term_products(part: Part, task: ProductsTask) -> Several:
    """Products of dense terms with each other, and with the loss's gradient at the start."""
    columns = np.empty((len(task.terms), len(part.y)))
    for own, item in zip(columns, task.terms, strict=True):
        own[:] = item.standardized(part.table.numeric(item.column))
    given = columns * part.weight if task.weighted else columns
    return Several([given @ columns.T, columns @ task.units.slope(part)])


class MomentsTask(NamedTuple):
    """All columns and their terms."""

    columns: Sequence[Column]
    terms: Terms
    weighted: bool


def term_moments(part: Part, task: MomentsTask) -> Several:
    """Moments of every term, for models that are not linear."""
    weight = part.weight_if(task.weighted)
    matrix = term_matrix(raw_matrix(part.table, task.columns), task.terms)
    return Several(moments_of(np.ascontiguousarray(column), weight) for column in matrix.T)


# Size of the columns that one task reads at a time.
_GROUP_BYTES = 1 << 26


def column_groups(n_rows: int, n_columns: int, n_threads: int) -> list[range]:
    """The columns of every task: tasks are few, for waking a thread takes time, and bounded."""
    fitting = max(1, _GROUP_BYTES // (8 * max(n_rows, 1)))
    size = min(-(-n_columns // (2 * n_threads)), fitting)
    return [range(first, min(first + size, n_columns)) for first in range(0, n_columns, size)]
