"""The model as tables of levels: what a range of numbers or a category adds to the score.

There is a table for every part of the model that is a sum: the formula for all rows and what
differs at nodes or, where leaves share too little, the model of every leaf. The score of a row is
what its levels add in all parts whose rows it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import words
from glassleaf.explanations.rules import all_rules, rule_text
from glassleaf.export.broken_lines import added_at, straight_lines
from glassleaf.tables.dates import date_text
from glassleaf.tables.short_numbers import shortest_between
from glassleaf.tables.special import states_of
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.plain import PlainColumn, PlainModel, PlainSum, PlainTerm, leaf_numbers

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Bands are made of this many groups of about as many rows each.
_GROUPS = 50

Edges = Sequence[float]
# By leaf, the ends that its score is held in.
Limits = dict[int, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Level:
    """What some values of a column add to the score, before it is scaled.

    Numbers above ``above`` up to ``up_to`` add ``added + per_unit * (value - above)``, where
    ``above`` counts as 0 if it is None. For a column of categories, ``codes`` are those that the
    level is about. ``is_rest`` marks the level of all categories that no other one names, and
    ``state`` those of missing values (0) and of a number's special values (1, ...).
    """

    column: int
    text: str
    added: float
    per_unit: float = 0.0
    above: float | None = None
    up_to: float | None = None
    codes: tuple[int, ...] = ()
    is_rest: bool = False
    state: int | None = None

    def holds(self, values: Floats) -> Bools:
        """For which entries of its column it is the level."""
        missing = np.isnan(values)
        if self.state is not None:
            return np.asarray(states_of(values) == self.state)
        if self.codes or self.is_rest:
            return np.asarray((np.isin(values, self.codes) != self.is_rest) & ~missing)
        low = -np.inf if self.above is None else self.above
        high = np.inf if self.up_to is None else self.up_to
        return np.asarray((values > low) & (values <= high))

    def of(self, values: Floats) -> Floats:
        """What it adds to entries that it holds for."""
        if not self.per_unit:
            return np.full(len(values), self.added)
        return self.added + self.per_unit * (values - (self.above or 0.0))


@dataclass(frozen=True)
class Part:
    """A sum, whose it is, and its levels by column; ``constant`` is what it adds to all its rows.

    ``leaf`` is None where the part is about several leaves.
    """

    node: int
    leaf: int | None
    segment: str
    constant: float
    levels: tuple[tuple[Level, ...], ...]


def begins(model: PlainModel, part: Part) -> bool:
    """Whether sums begin with the part, and not with another that it adds to."""
    return not model.differences or part.node == 0


def exact_parts(fitted: FittedModel, model: PlainModel) -> list[Part]:
    """The parts with a level for every straight line of a number."""
    return [
        _part(fitted, model, node, own, (tuple(_exact(model, term)) for term in own.terms))
        for node, own in _sums(model)
    ]


def banded_parts(
    fitted: FittedModel,
    model: PlainModel,
    matrix: Floats,
    bands: Mapping[int, Edges],
    most: int,
    finest: float,
) -> list[Part]:
    """The parts with a constant for every level of a number, relative to the column's mean.

    ``bands`` are given ends of ranges; other columns get at most ``most`` ranges, and fewer where
    what they add is known to within ``finest``.
    """
    out, under = [], rows_of_nodes(fitted, matrix)
    for node, own in _sums(model):
        rows = matrix[under[node]]
        constant, found = own.intercept[0], []
        for term in own.terms:
            values, column = rows[:, term.column], model.columns[term.column]
            added = effect(column, term, values)
            middle = float(added.mean()) if len(added) else 0.0
            constant += middle
            edges = bands.get(term.column)
            if edges is None:
                edges = auto_edges(values, added, most, finest)
            levels = _banded(column, term, values, added, edges)
            found.append(tuple(replace(level, added=level.added - middle) for level in levels))
        shifted = PlainSum(own.terms, (constant,))
        out.append(_part(fitted, model, node, shifted, found))
    return out


def _sums(model: PlainModel) -> Iterator[tuple[int, PlainSum]]:
    """The nodes that have a part, with their sums; that of the root always comes first."""
    if not model.differences:
        yield from ((leaf.node, leaf) for leaf, _ in model.paths())
    for node, own in enumerate(model.differences):
        if own.adds or node == 0:
            yield node, own


def _part(
    fitted: FittedModel,
    model: PlainModel,
    node: int,
    own: PlainSum,
    levels: Iterator[tuple[Level, ...]] | Sequence[tuple[Level, ...]],
) -> Part:
    segment = rule_text(all_rules(fitted.tree)[node])
    return Part(node, leaf_numbers(model).get(node), segment, own.intercept[0], tuple(levels))


def rows_of_nodes(fitted: FittedModel, matrix: Floats) -> dict[int, Bools]:
    """Which rows belong to every node."""
    leaves, tree = fitted.tree.apply(matrix), fitted.tree
    out = {node: leaves == node for node in range(tree.node_count)}
    for node in range(tree.node_count - 1, 0, -1):  # children come after their parents
        out[int(tree.parent[node])] = out[int(tree.parent[node])] | out[node]
    return out


def score(fitted: FittedModel, parts: Sequence[Part], limits: Limits, matrix: Floats) -> Floats:
    """The sum of what all levels of the rows add, within the limits of their leaves."""
    out, under = np.zeros(len(matrix)), rows_of_nodes(fitted, matrix)
    for part in parts:
        here = under[part.node]
        out[here] += part.constant
        for level in (level for own in part.levels for level in own):
            held = here & level.holds(matrix[:, level.column])
            out[held] += level.of(matrix[held, level.column])
    for leaf, (low, high) in limits.items():
        ends = -np.inf if low is None else low, np.inf if high is None else high
        out[under[leaf]] = np.clip(out[under[leaf]], *ends)
    return out


# --- levels --------------------------------------------------------------------------------------


def _exact(model: PlainModel, term: PlainTerm) -> Iterator[Level]:
    column = model.columns[term.column]
    if column.is_category:
        yield from _categories(column, term)
        return
    for line in straight_lines(column, term):
        text = _range(column, line.above, line.up_to)
        yield Level(term.column, text, line.added, line.per_unit, line.above, line.up_to)
    yield from _states(column, term)


def _banded(
    column: PlainColumn, term: PlainTerm, values: Floats, added: Floats, edges: Edges
) -> Iterator[Level]:
    if column.is_category:
        yield from _categories(column, term)
        return
    ends = [None, *map(float, edges), None]
    for above, up_to in zip(ends, ends[1:], strict=False):
        level = Level(term.column, _range(column, above, up_to), 0.0, 0.0, above, up_to)
        held = level.holds(values)
        inside = added[held] if held.any() else effect(column, term, np.array([_inside(level)]))
        yield replace(level, added=float(inside.mean()))
    yield from _states(column, term)


def _inside(level: Level) -> float:
    """A number of a range that no row is in."""
    if level.above is None or level.up_to is None:
        return (level.up_to or 0.0) if level.above is None else level.above
    return (level.above + level.up_to) / 2


def _categories(column: PlainColumn, term: PlainTerm) -> Iterator[Level]:
    """A level for every category that adds something, one for all others."""
    known = column.categories or ()
    for code, (added,) in term.categories.items():
        yield Level(term.column, f"= {known[code]}", added, codes=(code,))
    yield Level(term.column, "any other", 0.0, codes=tuple(term.categories), is_rest=True)
    yield Level(term.column, "missing", sum(term.missing), state=0)


def _states(column: PlainColumn, term: PlainTerm) -> Iterator[Level]:
    """A level for every special value of a number, and one for missing ones."""
    filled = added_at(column.fill, term)
    for code, (value, word) in enumerate(column.special):
        added = filled + sum(term.categories.get(code, ()))
        yield Level(term.column, f"= {value:.12g} ({word})", added, state=code + 1)
    yield Level(term.column, "missing", filled + sum(term.missing), state=0)


def effect(column: PlainColumn, term: PlainTerm, values: Floats) -> Floats:
    """What a column adds to the score, for entries of a raw matrix."""
    missing, states = np.isnan(values), states_of(values)
    out = np.where(states == 0, sum(term.missing), 0.0)
    if column.is_category:
        for code, (added,) in term.categories.items():
            out[values == code] = added
        return out
    for code, (added,) in term.categories.items():
        out[states == code + 1] = added
    z = np.where(missing, column.fill, values)
    if column.knots:
        knots = np.array(column.knots)
        z = np.where(missing, z, np.interp(z, knots[:, 0], knots[:, 1]))
    z = np.clip(z, term.low, term.high)
    bent = sum(bend * np.maximum(z - at, 0.0) for at, (bend,) in term.bends)
    return np.asarray(out + sum(term.slope) * z + bent)


def _range(column: PlainColumn, low: float | None, high: float | None) -> str:
    """A range of a column; dates count in days, without a lower end in those since 1970-01-01."""
    if column.date is None or not column.date.is_input:
        return range_text(low, high) or "any number"
    ends = (f"> {date_text(low)}" if low is not None else "",
            f"≤ {date_text(high)}" if high is not None else "")  # fmt: skip
    return " and ".join(filter(None, ends)) or "any date, in days since 1970-01-01"


def range_text(low: float | None, high: float | None, beyond: str = ">") -> str:
    """A range in words; empty if it has no end."""
    ends = (f"{beyond} {words.number(low)}" if low is not None else "",
            f"≤ {words.number(high)}" if high is not None else "")  # fmt: skip
    return " and ".join(filter(None, ends))


# --- bands ---------------------------------------------------------------------------------------


def auto_edges(values: Floats, added: Floats, most: int, finest: float) -> list[float]:
    """Ends of ranges in which what is added varies least: the fewest that are fine enough.

    No range has much less than a fiftieth of the rows. Whole numbers are cut at whole numbers.
    """
    known = ~np.isnan(values)
    if not known.any():
        return []
    order = np.argsort(values[known], kind="stable")
    x, y = values[known][order], added[known][order]
    first = _group_starts(x)
    sizes = np.diff([*first, len(x)])
    sums, squares = (np.add.reduceat(part, first) for part in (y, y**2))
    cuts = _cuts(sizes.astype(np.float64), sums, squares, most, finest)
    return [_short_cut(x, int(first[cut]), sizes[cut - 1] // 4, sizes[cut] // 4) for cut in cuts]


def _short_cut(x: Floats, place: int, below: int, above: int) -> float:
    """A short number between two entries of sorted values, or so few of them farther."""
    return shortest_between(float(x[place - 1 - below]), float(x[place + above]))


def _group_starts(x: Floats) -> NDArray[np.int64]:
    """Where groups of about equal size begin, in sorted values; equal values stay together."""
    wanted = np.unique(np.linspace(0, len(x), _GROUPS + 1)[:-1].astype(np.int64))
    return np.unique(np.searchsorted(x, x[wanted], side="left"))


def _cuts(sizes: Floats, sums: Floats, squares: Floats, most: int, finest: float) -> list[int]:
    """The groups at which ranges begin, for the smallest sum of squares within ranges."""
    total = np.array([np.concatenate([[0.0], np.cumsum(part)]) for part in (sizes, sums, squares)])
    n_groups = len(sizes)
    start, end = np.meshgrid(np.arange(n_groups + 1), np.arange(n_groups + 1), indexing="ij")
    size, sum_, square = total[:, end] - total[:, start]
    within = np.where(start < end, square - sum_**2 / np.maximum(size, 1.0), np.inf)
    best, back = within[0], []
    for _ in range(1, min(most, n_groups)):
        if best[-1] <= total[0, -1] * finest**2:
            break
        paths = best[:, None] + within
        back.append(np.argmin(paths, axis=0))
        best = np.min(paths, axis=0)
    cuts, at = [], n_groups
    for before in back[::-1]:
        at = int(before[at])
        cuts.append(at)
    return cuts[::-1]
