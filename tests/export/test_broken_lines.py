"""Columns of every form as straight lines, against the scorer's own way to the same numbers."""

from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassleaf.export.broken_lines import straight_lines
from glassleaf.tree.plain import PlainColumn, PlainTerm
from glassleaf.tree.scorer import interpolated

GRID = st.integers(-8, 8).map(lambda k: k / 2)
POINTS = st.dictionaries(GRID, GRID, min_size=2, max_size=6).map(lambda d: tuple(sorted(d.items())))
BENDS = st.dictionaries(GRID, GRID, max_size=5).map(
    lambda d: tuple((at, (bend,)) for at, bend in sorted(d.items()))
)
LIMITS = st.one_of(
    st.just((-inf, inf)), st.tuples(GRID, GRID).map(sorted),
    GRID.map(lambda z: (z, inf)), GRID.map(lambda z: (-inf, z)),
)  # fmt: skip


def column_of(knots):
    return PlainColumn("x", None, knots, 0.0)


def term_of(bends, low, high, slope=1.0):
    return PlainTerm(0, (), (slope,), bends, low, high, {})


def at(found, value):
    """What the first line that holds adds."""
    line = next(p for p in found if p.up_to is None or value <= p.up_to)
    assert line.above is None or value >= line.above
    return line.added + line.per_unit * (value - (line.above or 0.0))


def expected(column, term, value):
    z = interpolated(value, *zip(*column.knots, strict=True)) if column.knots else value
    z = min(max(z, term.low), term.high)
    return term.slope[0] * z + sum(bend * max(0.0, z - place) for place, (bend,) in term.bends)


def check(column, term):
    found = straight_lines(column, term)
    assert found[0].above is None and found[-1].up_to is None
    for one, following in zip(found, found[1:], strict=False):
        assert one.up_to == following.above and (one.above is None or one.above < one.up_to)
    ends = [line.up_to for line in found[:-1]]
    for value in [*ends, *np.linspace(-20, 20, 81).tolist()]:
        np.testing.assert_allclose(at(found, value), expected(column, term, value), atol=1e-12)
    return found


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.just(()) | POINTS, BENDS, LIMITS, GRID)
def test_lines_are_the_broken_line_of_the_clamped_transform(knots, bends, limits, slope):
    check(column_of(knots), term_of(bends, *limits, slope))


@pytest.mark.parametrize("knots", [(), ((-1e-9, -4.0), (1e-9, 4.0)), ((0.0, 0.0), (4.0, 4.0))])
def test_a_clamp_within_rounding_of_a_bend(knots):
    """Their places on a steep transform are the same number: no line has a width of zero."""
    bends = ((0.5, (1.0,)), (1.0, (2.0,)), (3.0, (-1.0,)))
    for low in (0.5, nextafter(0.5, 1), nextafter(0.5, 0), 1.0, nextafter(1.0, 2)):
        check(column_of(knots), term_of(bends, low, nextafter(3.0, 2)))


def test_there_are_no_more_pieces_than_needed():
    bends = ((0.0, (1.0,)), (1.0, (-3.0,)), (3.0, (-1.0,)), (9.0, (0.5,)))
    assert len(check(column_of(()), term_of((), -inf, inf))) == 1
    assert len(check(column_of(()), term_of(bends, -inf, inf))) == 5
    assert len(check(column_of(()), term_of(bends, 0.5, 2.0))) == 4
    knots = tuple((float(k), float(k)) for k in range(-10, 11))
    assert len(check(column_of(knots), term_of((), 0.0, 2.0))) == 4
