"""Leaves are held within the scores of their rows, and constant where their targets are."""

import numpy as np
import pytest

from glassleaf import ModelTreeRegressor, paper_settings
from glassleaf.fit.guard import limits_of

WHOLE = {"max_numbers": None, "max_depth": 2, "significance": None}


def table(rng, n=2000):
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] > 0, X[:, 1], -2 * X[:, 1]) + X[:, 2] + 0.1 * rng.normal(size=n)
    return X, y


@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson"])
def test_every_leaf_is_held_just_outside_the_scores_of_its_rows(rng, loss):
    X, y = table(rng)
    y = rng.poisson(np.exp(y / 2)) if loss == "poisson" else y
    tree = ModelTreeRegressor(loss=loss, **WHOLE).fit(X, y).tree_
    leaves = tree.apply(X)
    raw = tree.raw(X, leaves)[:, 0]
    for leaf in np.unique(leaves):
        own = raw[leaves == leaf]
        assert tree.score_low[leaf] <= own.min() and own.max() <= tree.score_high[leaf]
        margin = 0.1 * np.ptp(own) * (1 + 1e-9)
        assert own.min() - tree.score_low[leaf] <= margin
        assert tree.score_high[leaf] - own.max() <= margin


@pytest.mark.parametrize("given", [{"clamp": False}, paper_settings("MT-GR")])
def test_without_clamps_there_are_no_limits(rng, given):
    tree = ModelTreeRegressor(**{**WHOLE, **given}).fit(*table(rng)).tree_
    assert np.isinf(tree.score_low).all() and np.isinf(tree.score_high).all()


@pytest.mark.parametrize("numbers", [None, "auto", 30])
def test_a_spike_cannot_throw_a_prediction_off(rng, numbers):
    """A sum of two columns but for one row, and a new row with a spike of its own."""
    X = rng.normal(size=(3000, 3))
    spike = np.zeros(3000)
    spike[7] = 30.0
    X = np.column_stack([X, X[:, 0] + spike, spike])
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=3000)
    model = ModelTreeRegressor(max_numbers=numbers).fit(X, y)
    new = np.zeros((5, 5)) + 1e3 * np.eye(5)
    found = model.predict(new)
    assert y.min() - 0.5 * np.ptp(y) <= found.min() and found.max() <= y.max() + 0.5 * np.ptp(y)


def test_a_leaf_whose_targets_are_all_the_same_says_that(rng):
    X, y = table(rng)
    y = np.where(X[:, 0] > 0, 7.5, y)
    tree = ModelTreeRegressor(max_numbers=None, max_depth=1).fit(X, y).tree_
    assert tree.feature[0] == 0
    leaf = tree.right[0]
    assert not tree.coef[leaf].any() and tree.intercept[leaf] == pytest.approx(7.5, rel=1e-12)
    assert tree.coef[tree.left[0]].any()


def test_limits_are_short_numbers():
    assert limits_of(-0.61234, 1.29111) == (-0.7, 1.4)
