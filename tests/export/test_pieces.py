"""Columns of every form as straight pieces, against the scorer's own way to the same numbers."""

from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassleaf.export.pieces import pieces
from glassleaf.tree.plain import PlainColumn, PlainTerm
from glassleaf.tree.scorer import interpolated

GRID = st.integers(-8, 8).map(lambda k: k / 2)
POINTS = st.dictionaries(GRID, GRID, min_size=2, max_size=6).map(lambda d: tuple(sorted(d.items())))
LIMITS = st.one_of(
    st.just((-inf, inf)), st.tuples(GRID, GRID).map(sorted),
    GRID.map(lambda z: (z, inf)), GRID.map(lambda z: (-inf, z)),
)  # fmt: skip


def at(found, value):
    """PlainTerm and curve by the first piece that holds."""
    piece = next(p for p in found if p.up_to is None or value <= p.up_to)
    assert piece.above is None or value >= piece.above
    way = value - (piece.above or 0.0)
    return piece.term + piece.term_per_unit * way, piece.curve + piece.curve_per_unit * way


def expected(column, term, value):
    z = interpolated(value, *zip(*column.knots, strict=True)) if column.knots else value
    z = min(max(z, term.low), term.high)
    return z, interpolated(z, *zip(*column.curve, strict=True)) if term.bend else 0.0


def check(column, term):
    found = pieces(column, term)
    assert found[0].above is None and found[-1].up_to is None
    for one, following in zip(found, found[1:], strict=False):
        assert one.up_to == following.above and (one.above is None or one.above < one.up_to)
    ends = [piece.up_to for piece in found[:-1]]
    for value in [*ends, *np.linspace(-20, 20, 81).tolist()]:
        np.testing.assert_allclose(at(found, value), expected(column, term, value), atol=1e-12)
    return found


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.just(()) | POINTS, POINTS, LIMITS, st.booleans())
def test_pieces_are_the_clamped_transform_and_its_curve(knots, curve, limits, bends):
    column = PlainColumn("x", None, knots, 0.0, curve)
    check(column, PlainTerm(0, (), (1.0,), (1.0,) if bends else (), *limits, {}))


@pytest.mark.parametrize("knots", [(), ((-1e-9, -4.0), (1e-9, 4.0)), ((0.0, 0.0), (4.0, 4.0))])
def test_a_clamp_within_rounding_of_a_point(knots):
    """Their places on a steep transform are the same number: no piece has a width of zero."""
    column = PlainColumn("x", None, knots, 0.0, ((0.5, 1.0), (1.0, 2.0), (3.0, -1.0)))
    for low in (0.5, nextafter(0.5, 1), nextafter(0.5, 0), 1.0, nextafter(1.0, 2)):
        check(column, PlainTerm(0, (), (1.0,), (1.0,), low, nextafter(3.0, 2), {}))


def test_there_are_no_more_pieces_than_needed():
    column = PlainColumn("x", None, (), 0.0, ((0.0, 1.0), (1.0, 2.0), (3.0, -1.0), (9.0, 0.0)))
    assert len(check(column, PlainTerm(0, (), (1.0,), (), -inf, inf, {}))) == 1
    assert len(check(column, PlainTerm(0, (), (1.0,), (1.0,), -inf, inf, {}))) == 5
    assert len(check(column, PlainTerm(0, (), (1.0,), (1.0,), 0.5, 2.0, {}))) == 4
    knots = tuple((float(k), float(k)) for k in range(-10, 11))
    column = PlainColumn("x", None, knots, 0.0, ())
    assert len(check(column, PlainTerm(0, (), (1.0,), (), 0.0, 2.0, {}))) == 4
