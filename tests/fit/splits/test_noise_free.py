"""Targets without noise: what rounding leaves is no gain, and no leaf is made for it."""

import numpy as np
import pytest

from glassleaf import ModelTreeRegressor

SETTINGS = {
    "default": {},
    "whole": {"max_numbers": None},
    "no test": {"max_numbers": None, "significance": None},
    "likelihood": {"max_numbers": None, "significance_test": "likelihood"},
    "leaves": {"max_numbers": None, "significance": None, "max_leaf_nodes": 8},
}


def one_split(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.choice([300, 1000, 3000])), 3)) * 10.0 ** rng.integers(-3, 4, 3)
    X[:, 0] = np.round(X[:, 0] / X[:, 0].std(), 1)
    b = rng.normal(size=(2, 3)) / X.std(axis=0)
    return X, 5 + np.where(X[:, 0] <= 0.3, X @ b[0], X @ b[1])


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_one_true_split_gives_two_leaves(settings):
    for seed in range(12):
        X, y = one_split(seed)
        model = ModelTreeRegressor(n_jobs=1, **settings).fit(X, y)
        assert model.get_n_leaves() == 2
        assert model.score(X, y) > 0.99


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_an_exact_line_is_not_split_in_any_unit(unit):
    X, _ = one_split(0)
    y = unit * (3.0 - X @ (np.array([2.0, -1.0, 0.5]) / X.std(axis=0)))
    model = ModelTreeRegressor(max_numbers=None, significance=None, n_jobs=1).fit(X, y)
    assert model.get_n_leaves() == 1


def test_what_is_small_but_no_rounding_is_a_gain():
    X, y = one_split(1)
    small = X @ (1 / X.std(axis=0)) + 1e-4 * (y - y.mean()) / y.std()
    assert ModelTreeRegressor(max_numbers=None, n_jobs=1).fit(X, small).get_n_leaves() == 2
