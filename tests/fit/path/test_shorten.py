"""Short numbers: as cheap as promised, shorter than numbers that are rounded one by one."""

import numpy as np
import pytest

from glassleaf.fit.path.shorten import shortened
from glassleaf.tables.short_numbers import n_digits


def problem(seed, n_rows=500, offset=0.0):
    """Least squares of columns that go together, the constant first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6)) @ rng.normal(size=(6, 6)) * 10.0 ** rng.integers(-3, 4, 6)
    Z = np.column_stack([np.ones(n_rows), X + offset])
    y = Z @ rng.normal(size=7) / np.abs(Z).mean(axis=0).max() + rng.normal(size=n_rows)
    best = np.linalg.lstsq(Z, y, rcond=None)[0]
    return Z, y, best


def loss(Z, y, entries):
    return ((y - Z @ entries) ** 2).sum() / 2


@pytest.mark.parametrize("seed", range(20))
def test_all_together_cost_a_thousandth_of_the_loss(seed):
    Z, y, best = problem(seed)
    least = loss(Z, y, best)
    short = shortened(best, Z.T @ Z, least)
    assert loss(Z, y, short) <= 1.0011 * least
    assert max(map(n_digits, short)) <= 4
    assert (np.sign(short) == np.sign(best)).all()


def test_the_constant_makes_up_for_columns_far_from_zero():
    """Rounded one by one, 0.31 of a year would shift every prediction by years."""
    Z, y, best = problem(1, offset=2000.0)
    least = loss(Z, y, best)
    short = shortened(best, Z.T @ Z, least)
    digits = zip(best, map(n_digits, short), strict=True)
    alone = np.array([float(f"{value:.{n}g}") for value, n in digits])
    assert loss(Z, y, short) <= 1.002 * least < loss(Z, y, alone)


def test_nothing_to_gain_leaves_numbers_alone():
    """Where nothing is left to lose, every digit counts."""
    best = np.array([0.123456789, 3.0])
    np.testing.assert_array_equal(shortened(best, np.eye(2), 0.0), best)
