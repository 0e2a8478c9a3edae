"""What a number adds in a leaf as straight lines, where one is written per line.

The term of a column in a leaf is its transform within the clamps; what it adds is a broken line of
that. Together they are piecewise linear in the value: every line ends where one of them bends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite

from glassleaf.tree.plain import PlainColumn, PlainTerm, Points


@dataclass(frozen=True)
class StraightLine:
    """From ``above`` (None: from the lowest number) up to ``up_to`` (None: to the highest).

    There a number adds ``added + per_unit * (value - above)``, where ``above`` counts as 0 if it is
    None.
    """

    above: float | None
    up_to: float | None
    added: float
    per_unit: float


def straight_lines(column: PlainColumn, term: PlainTerm) -> list[StraightLine]:
    """The lines of a column by its term of one score, from low to high."""
    slope = sum(term.slope)
    inside = [at for at, _ in term.bends if term.low < at < term.high]
    levels = [z for z in (term.low, *inside, term.high) if isfinite(z)]
    # By value: where two levels are passed within rounding of each other, one of them is enough.
    own = column.knots or [(z, z) for z in levels]
    points = dict(_crossings(column.knots, levels)) | dict(own)
    if not points:
        return [StraightLine(None, None, 0.0, slope)]
    known = [(x, added_at(z, term)) for x, z in sorted(points.items())]
    is_open_below = not column.knots and term.low == -inf
    is_open_above = not column.knots and term.high == inf
    while not is_open_below and len(known) > 1 and known[0][1] == known[1][1]:
        del known[0]
    while not is_open_above and len(known) > 1 and known[-1][1] == known[-2][1]:
        del known[-1]
    (first, below), (last, above) = known[0], known[-1]
    slope_above = slope + sum(bend for _, (bend,) in term.bends)
    return [
        StraightLine(None, first, *((0.0, slope) if is_open_below else (below, 0.0))),
        *(
            StraightLine(x0, x1, added, (following - added) / (x1 - x0))
            for (x0, added), (x1, following) in zip(known, known[1:], strict=False)
        ),
        StraightLine(last, None, above, slope_above if is_open_above else 0.0),
    ]


def added_at(z: float, term: PlainTerm) -> float:
    """What a transformed number adds by its term of one score."""
    z = min(max(z, term.low), term.high)
    return sum(term.slope) * z + sum(bend * max(0.0, z - at) for at, (bend,) in term.bends)


def _crossings(knots: Points, levels: list[float]) -> Iterator[tuple[float, float]]:
    """Where the line through the knots passes a level between two of them."""
    for (x0, z0), (x1, z1) in zip(knots, knots[1:], strict=False):
        for level in levels:
            if min(z0, z1) < level < max(z0, z1):
                x = x0 + (level - z0) / (z1 - z0) * (x1 - x0)
                if x0 < x < x1:
                    yield x, level
