"""Sums over columns as rows hold them, against sums over the standardized columns themselves."""

import numpy as np
import pytest

from glassleaf.fit.models.units import Standardizing, inverse
from glassleaf.tables.design import Layout


@pytest.fixture
def columns(rng):
    """Two dense columns, two indicators of three and the complement: as held, and all of them."""
    dense, group = rng.normal(size=(50, 2)), rng.integers(0, 3, 50)
    held = np.column_stack([dense, group == 0, group == 1, np.ones(50)])
    every = np.column_stack([dense, group == 0, group == 1, group == 2])
    members, first = np.array([0, 1]), np.array([0, 2])
    layout = Layout(2, 2, members, first, np.arange(5), np.zeros(2), np.ones(2))
    return layout, held, every


def standardized(every, mean, spread):
    return np.column_stack([(every - mean) * inverse(spread), np.ones(len(every))])


def test_a_constant_column_takes_no_part():
    assert inverse(np.array([4.0, 0.0])).tolist() == [0.25, 0.0]


def test_parameters_predict_the_same_from_either_columns(rng, columns):
    layout, held, every = columns
    mean, spread, theta = rng.normal(size=5), rng.random(5), rng.normal(size=(2, 6))
    coef, intercept = Standardizing(layout, mean, spread).at_rows(theta)
    expected = standardized(every, mean, spread) @ theta.T
    np.testing.assert_allclose(held[:, :-1] @ coef.T + intercept, expected, atol=1e-11)


@pytest.mark.parametrize("per_set", [False, True], ids=["one node", "several nodes"])
def test_sums_are_those_of_the_standardized_columns(rng, columns, per_set):
    layout, held, every = columns
    factors = rng.normal(size=(3, 50))
    shape = (3, 5) if per_set else 5
    mean, spread = rng.normal(size=shape), rng.random(shape)
    spread[..., 1] = 0.0
    units = Standardizing(layout, mean, spread)
    gradients = units.gradients(factors @ held)
    grams = units.grams(np.array([(held.T * own) @ held for own in factors]))
    for k, own in enumerate(factors):
        x = standardized(every, mean[k] if per_set else mean, spread[k] if per_set else spread)
        np.testing.assert_allclose(gradients[k], own @ x, atol=1e-9)
        np.testing.assert_allclose(grams[k], (x.T * own) @ x, rtol=1e-7, atol=1e-9)
