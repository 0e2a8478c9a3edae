"""Broken lines that may only rise: slopes and weights, and the best model against scipy's."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import lsq_linear, minimize
from whole_models import ModelTreeRegressor

from glassleaf.fit.models.slopes import Chain, by_slopes, chains_of, kept, slopes_of, weights_of

CHAINS = (
    Chain(np.array([1, 4, 2]), np.array([1.0, 0.5, 3.0])),
    Chain(np.array([0, 5]), np.array([1.0, 2.0])),
)


def matrix_of_weights():
    """Weights as a matrix times slopes, one column after the other."""
    return np.column_stack([weights_of(own, CHAINS) for own in np.eye(6)])


def test_slopes_are_sums_of_coefficients(rng):
    """A weight is a coefficient times the spread of its column; slopes count in the line's unit."""
    coef, spread = rng.normal(size=6), rng.uniform(0.5, 2, size=6)
    chain = chains_of([np.array([1, 4, 2])], spread)
    found = slopes_of(coef * spread, chain)
    np.testing.assert_allclose(found[[1, 4, 2]] / spread[1], np.cumsum(coef[[1, 4, 2]]))
    np.testing.assert_allclose(found[[0, 3, 5]], (coef * spread)[[0, 3, 5]])


def test_there_and_back(rng):
    weights = rng.normal(size=6)
    np.testing.assert_allclose(weights_of(slopes_of(weights, CHAINS), CHAINS), weights)


def test_derivatives_by_slopes_are_the_transposed_matrix(rng):
    turn, gradient, hessian = matrix_of_weights(), rng.normal(size=6), rng.normal(size=(6, 6))
    np.testing.assert_allclose(by_slopes(gradient, CHAINS), turn.T @ gradient)
    found = by_slopes(by_slopes(hessian, CHAINS).T, CHAINS).T
    np.testing.assert_allclose(found, turn.T @ hessian @ turn)


def test_columns_without_spread_take_no_part():
    spread = np.array([1.0, 2.0, 0.0, 1.0, 4.0, 0.0])
    (found,) = chains_of([np.array([1, 4, 2]), np.array([0, 5]), np.array([2, 3])], spread)
    assert found.place.tolist() == [1, 4] and found.ratio.tolist() == [1.0, 2.0]
    (left,) = kept(CHAINS, np.array([True, True, False, True, True, False]))
    assert left.place.tolist() == [1, 3] and left.ratio.tolist() == [1.0, 0.5]
    assert kept(CHAINS, np.array([False, False, True, True, True, True])) == ()


def broken(x, places):
    """The pieces of a broken line, whose coefficients are its slopes."""
    ends = [-np.inf, *places, np.inf]
    pairs = zip(ends[:-1], ends[1:], strict=True)
    return np.column_stack([np.clip(x, a, b) - (a if np.isfinite(a) else 0.0) for a, b in pairs])


@pytest.mark.parametrize("sign", [1, -1])
def test_least_squares_with_slopes_of_one_sign(rng, sign):
    """A falling and rising curve, by scipy on the pieces themselves."""
    X = pd.DataFrame(rng.uniform(-1, 1, size=(500, 2)), columns=["a", "b"])
    y = sign * (np.sin(4 * X["a"]) + X["b"]) + 0.1 * rng.normal(size=500)
    model = ModelTreeRegressor(
        max_depth=0, alpha=1e-8, curves=["a"], clamp=False, monotonic_cst={"a": sign}
    ).fit(X, y)
    terms = model.tree_.terms
    places = terms.hinges(0)
    assert len(places) > 1
    design = np.column_stack([sign * broken(X["a"].to_numpy(), places), X["b"], np.ones(500)])
    lower = np.append(np.zeros(len(places) + 1), [-np.inf, -np.inf])
    best = lsq_linear(design, y, (lower, np.full(len(lower), np.inf)), tol=1e-14)
    np.testing.assert_allclose(model.predict(X), design @ best.x, atol=1e-5)
    slopes = np.cumsum(model.tree_.coef[0][[0, *terms.hinge_terms(0)]])
    np.testing.assert_allclose(sign * slopes, best.x[: len(slopes)], atol=1e-5)
    assert (slopes == 0).any() and (sign * slopes >= 0).all()


def test_counts_with_slopes_of_one_sign(rng):
    X = pd.DataFrame({"a": rng.uniform(-1, 1, size=2000)})
    y = rng.poisson(np.exp(np.sin(4 * X["a"])))
    model = ModelTreeRegressor(
        max_depth=0, alpha=1e-8, curves=["a"], clamp=False, monotonic_cst={"a": 1}, loss="poisson"
    ).fit(X, y)
    pieces = broken(X["a"].to_numpy(), model.tree_.terms.hinges(0))
    design = np.column_stack([pieces, np.ones(2000)])

    def loss(c):
        score = design @ c
        return np.exp(score).sum() - y @ score, design.T @ (np.exp(score) - y)

    bounds = [(0, None)] * pieces.shape[1] + [(None, None)]
    best = minimize(loss, np.zeros(len(bounds)), jac=True, bounds=bounds, tol=1e-12)
    found = np.exp(design @ best.x)
    np.testing.assert_allclose(model.predict(X), found, rtol=1e-3)
