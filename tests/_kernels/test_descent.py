"""Coordinate descent: every kernel against a naive twin."""

import numpy as np
from scipy.optimize import minimize

from glassleaf import _kernels


def test_descent_soft_thresholds_one_coordinate():
    x = np.zeros(1)
    given = (np.array([[2.0]]), np.array([-5.0]), np.array([1.0]))
    _kernels.descend_coordinates(*given, np.array([-np.inf]), np.array([np.inf]), x, 0.0, 100)
    assert x.tolist() == [2.0]  # (5 - 1) / 2
    _kernels.descend_coordinates(*given, np.array([-np.inf]), np.array([1.5]), x, 0.0, 100)
    assert x.tolist() == [1.5]


def test_descent_finds_the_minimum_within_bounds(rng):
    A, slope, l1 = rng.normal(size=(20, 5)), 10 * rng.normal(size=5), np.full(5, 2.0)
    hessian = A.T @ A
    lower, upper = np.full(5, -0.3), np.full(5, 0.4)
    x = np.zeros(5)
    _kernels.descend_coordinates(hessian, slope, l1, lower, upper, x, 1e-20, 10_000)

    def objective(both):  # x as a difference of two numbers >= 0, so that it is smooth
        point = both[:5] - both[5:]
        gradient = hessian @ point + slope
        value = point @ hessian @ point / 2 + slope @ point + l1 @ (both[:5] + both[5:])
        return value, np.append(gradient + l1, l1 - gradient)

    bounds = [(0, high) for high in upper] + [(0, -low) for low in lower]
    best = minimize(objective, np.zeros(10), jac=True, bounds=bounds, options={"ftol": 1e-15})
    np.testing.assert_allclose(x, best.x[:5] - best.x[5:], atol=1e-5)
    own = objective(np.append(np.maximum(x, 0), np.maximum(-x, 0)))[0]
    assert own <= best.fun + 1e-9
