"""What a leaf makes of a number as straight pieces, for languages that write one per line.

The term of a column in a leaf is its transform within the clamps, and the curve a function of that
again. Both together are piecewise linear in the value: every piece ends where one of them bends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite

from glassleaf.tree.plain import PlainColumn, PlainTerm, Points


@dataclass(frozen=True)
class Piece:
    """From ``above`` (None: from the lowest number) up to ``up_to`` (None: to the highest).

    There the term is ``term + term_per_unit * (value - above)``, where ``above`` counts as 0 if it
    is None, and the curve likewise.
    """

    above: float | None
    up_to: float | None
    term: float
    term_per_unit: float
    curve: float
    curve_per_unit: float


def pieces(column: PlainColumn, term: PlainTerm) -> list[Piece]:
    """The pieces of a column in a leaf, from low to high; the curve is 0 if the leaf has none."""
    curve = column.curve if term.bend else ()
    inside = [z for z, _ in curve if term.low < z < term.high]
    levels = [z for z in (term.low, *inside, term.high) if isfinite(z)]
    # By value: where two levels are passed within rounding of each other, one of them is enough.
    own = column.knots or [(z, z) for z in levels]
    points = dict(_crossings(column.knots, levels)) | dict(own)
    if not points:
        return [Piece(None, None, 0.0, 1.0, 0.0, 0.0)]
    known = [(x, *term_and_curve(z, curve, term)) for x, z in sorted(points.items())]
    while len(known) > 1 and known[0][1:] == known[1][1:]:  # beyond the lower clamp
        del known[0]
    while len(known) > 1 and known[-1][1:] == known[-2][1:]:
        del known[-1]
    (first, below, curve_below), (last, above, curve_above) = known[0], known[-1]
    is_open_below = not column.knots and term.low == -inf
    is_open_above = not column.knots and term.high == inf
    return [
        Piece(None, first, *((0.0, 1.0) if is_open_below else (below, 0.0)), curve_below, 0.0),
        *(
            Piece(x0, x1, z0, (z1 - z0) / (x1 - x0), c0, (c1 - c0) / (x1 - x0))
            for (x0, z0, c0), (x1, z1, c1) in zip(known, known[1:], strict=False)
        ),
        Piece(last, None, above, 1.0 if is_open_above else 0.0, curve_above, 0.0),
    ]


def term_and_curve(z: float, curve: Points, term: PlainTerm) -> tuple[float, float]:
    """The clamped term and the curve there; 0 where it has no points."""
    z = min(max(z, term.low), term.high)
    if not curve:
        return z, 0.0
    if z <= curve[0][0]:
        return z, curve[0][1]
    for (z0, c0), (z1, c1) in zip(curve, curve[1:], strict=False):
        if z < z1:
            return z, (c1 - c0) / (z1 - z0) * (z - z0) + c0
    return z, curve[-1][1]


def _crossings(knots: Points, levels: list[float]) -> Iterator[tuple[float, float]]:
    """Where the line through the knots passes a level between two of them."""
    for (x0, z0), (x1, z1) in zip(knots, knots[1:], strict=False):
        for level in levels:
            if min(z0, z1) < level < max(z0, z1):
                x = x0 + (level - z0) / (z1 - z0) * (x1 - x0)
                if x0 < x < x1:
                    yield x, level
