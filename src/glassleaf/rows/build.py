"""A part of the rows and what was learned of all rows, put together to what a tree grows on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.rows.passes import Rows
from glassleaf.rows.summarize import Part, TargetUnits
from glassleaf.tables import binning
from glassleaf.tables.binning import Block, FeatureBins
from glassleaf.tables.compressed import Compressed, Entries, from_columns
from glassleaf.tables.design import CategoryTerms, Design
from glassleaf.tables.table import Codes, Column, raw_matrix
from glassleaf.tree.tree import term_matrix

Floats = NDArray[np.float64]

# Share of the rows that choose the size of a tree.
_HELD_SHARE = 0.2
# Random numbers that are drawn at a time to be thrown away.
_DRAWN_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class HeldOut:
    """Which rows are set aside: drawn one after the other, in the order of all rows."""

    draws: np.random.RandomState
    first_row: dict[int, int]

    def rows_of(self, part: Part) -> NDArray[np.bool_]:
        """Whether each row of a part is set aside."""
        draws = copy.deepcopy(self.draws)
        _skip(draws, self.first_row[part.number])
        return draws.random(len(part.y)) < _HELD_SHARE


def draw_held_out(draws: np.random.RandomState, sizes: dict[int, int]) -> HeldOut:
    """Draw a number for every row of parts of these sizes; the generator goes on after them."""
    parts = sorted(sizes)
    *before, n_rows = np.cumsum([0, *(sizes[part] for part in parts)]).tolist()
    out = HeldOut(copy.deepcopy(draws), dict(zip(parts, before, strict=True)))
    _skip(draws, n_rows)
    return out


def _skip(draws: np.random.RandomState, number: int) -> None:
    """Draw random numbers that nobody needs."""
    for first in range(0, number, _DRAWN_AT_ONCE):
        draws.random(min(_DRAWN_AT_ONCE, number - first))


@dataclass(frozen=True)
class Plan:
    """Everything that was learned of all rows and that turns a part of them into ``Rows``.

    ``plain`` is the center and scale of all terms where models are not linear.
    """

    columns: tuple[Column, ...]
    design: Design
    features: tuple[FeatureBins, ...]
    blocks: tuple[Block, ...]
    units: TargetUnits
    low: Floats
    high: Floats
    n_rows: int
    vector_width: int
    n_threads: int
    plain: tuple[Floats, Floats] | None = None
    held_out: HeldOut | None = None


def build_rows(part: Part, plan: Plan) -> Rows:
    """The rows of a part as passes over rows read them."""
    n_rows = len(part.y)
    weight = part.weight.copy()
    dense = np.empty((n_rows, len(plan.design.dense)))
    codes, entries = _read_columns(part, plan, dense)
    blocks = [
        binning.block_rows(block, [codes[bins.column] for bins in block.features])
        for block in plan.blocks
    ]
    sparse = from_columns(n_rows, entries, np.uint32)
    sparse.idx = plan.design.number_of_sparse[sparse.idx]
    if plan.plain is not None:
        center, scale = plan.plain
        dense = (
            term_matrix(raw_matrix(part.table, plan.columns), plan.design.terms) - center
        ) / scale
        sparse = Compressed(
            np.zeros(n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0)
        )
    held = None
    if plan.held_out is not None:
        held = np.where(plan.held_out.rows_of(part), weight, 0.0)
        weight -= held
    return Rows(
        dense=dense,
        sparse=sparse,
        n_sparse=plan.design.layout.n_sparse,
        target=plan.units.targets(part.y),
        weight=weight,
        blocks=blocks,
        spans={0: (0, n_rows)},
        vectors=np.empty((n_rows, plan.vector_width)),
        held=held,
    )


def _read_columns(
    part: Part, plan: Plan, dense: Floats
) -> tuple[dict[int, binning.Codes], list[Entries]]:
    """Fill the dense columns; returns the bins of the split features, and the sparse entries."""
    starts = np.cumsum(
        [0, *(len(s.stored) if isinstance(s, CategoryTerms) else 1 for s in plan.design.sparse)]
    ).tolist()
    features = {bins.column: bins for bins in plan.features}
    codes: dict[int, binning.Codes] = {}
    entries: list[Any] = [None] * len(plan.design.sparse)

    def read(group: Sequence[int]) -> None:
        numeric = [j for j in group if plan.columns[j].categories is None]
        given = part.table.numeric_columns(numeric) if numeric else []
        values = dict(zip(numeric, given, strict=True))
        labels = {j: category_codes(part, plan.columns[j], j) for j in group if j not in values}
        for j in group:
            if j in features and j in values:
                codes[j] = binning.number_codes(features[j], values[j])
            elif j in features:
                codes[j] = binning.category_codes(features[j], labels[j])
        for place, item in enumerate(plan.design.dense):
            if item.column in values:
                dense[:, place] = item.standardized(values[item.column])
        for place, own in enumerate(plan.design.sparse):
            if isinstance(own, CategoryTerms) and own.column in labels:
                entries[place] = own.entries(labels[own.column], starts[place])
            elif not isinstance(own, CategoryTerms) and own.column in values:
                entries[place] = own.entries(values[own.column], starts[place])

    groups = column_groups(len(part.y), len(plan.columns), plan.n_threads)
    if plan.n_threads == 1:
        for group in groups:
            read(group)
    else:
        with ThreadPoolExecutor(plan.n_threads) as pool:
            list(pool.map(read, groups))
    return codes, entries


# Size of the columns that one task reads at a time.
_GROUP_BYTES = 1 << 26


def column_groups(n_rows: int, n_columns: int, n_threads: int) -> list[range]:
    """Columns for one task each: few tasks, for waking a thread takes time, of bounded size."""
    fitting = max(1, _GROUP_BYTES // (8 * max(n_rows, 1)))
    size = min(-(-n_columns // (2 * n_threads)), fitting)
    return [range(first, min(first + size, n_columns)) for first in range(0, n_columns, size)]


def category_codes(part: Part, column: Column, place: int) -> Codes:
    """Codes of a column into the categories that were learned; -1 is missing."""
    return part.table.labels(place).recoded(column.categories or ()).codes
