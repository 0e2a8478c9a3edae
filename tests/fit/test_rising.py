"""What one more bend explains of a curve that may only rise: against scipy, row by row."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from glassleaf.fit.rising import explained_by_rising


def squares_left(x, weight, target, places):
    """By the best broken line that never falls, a constant beside it."""
    ends = [-np.inf, *sorted(places), np.inf]
    pairs = zip(ends[:-1], ends[1:], strict=True)
    pieces = [np.clip(x, a, b) - (a if np.isfinite(a) else 0.0) for a, b in pairs]
    design = np.column_stack([*pieces, np.ones_like(x)])
    lower = np.append(np.zeros(len(pieces)), -np.inf)
    root = np.sqrt(weight)
    found = lsq_linear(root[:, None] * design, root * target, (lower, np.inf), tol=1e-14)
    return 2 * found.cost


@pytest.mark.parametrize("others", [[], [0.6], [0.7, 0.2]])
@pytest.mark.parametrize("shape", ["rises", "falls", "waves"])
def test_against_scipy(rng, others, shape):
    x, weight = np.sort(rng.uniform(0, 1, 60)), rng.uniform(0.5, 2, 60)
    curve = {"rises": np.exp(2 * x), "falls": -(x**2), "waves": np.sin(9 * x)}[shape]
    target = curve + 0.1 * rng.normal(size=60)
    places = np.array([0.15, 0.3, 0.45, 0.8])
    before = squares_left(x, weight, target, others)
    wanted = [before - squares_left(x, weight, target, [*others, at]) for at in places]
    found = explained_by_rising(x, weight, target, places, others)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * (weight @ target**2))


def test_what_only_falls_has_no_bend():
    x = np.linspace(0, 1, 30)
    found = explained_by_rising(x, np.ones(30), -np.exp(x), np.array([0.3, 0.6]), [])
    np.testing.assert_array_equal(found, 0.0)
