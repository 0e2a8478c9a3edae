"""Whether a split is more than chance: the level by simulation, and the power where it is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.fit.splits.chance import chance

# Loss, number of runs.
RUNS = {"squared_error": 160, "log_loss": 60, "poisson": 60}


def table(rng, n):
    """Normal, heavy-tailed, categorical, and with missing values: all that may mislead a test."""
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    X["tail"] = rng.standard_t(2, n)
    X["level"] = rng.choice(list("uvwxy"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    X["gaps"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    return X


def one_linear_model(rng, X):
    """A score that is linear in the terms of the models: numbers, categories and gaps."""
    numbers = X[["a", "b", "c"]].to_numpy() @ rng.normal(size=3)
    return numbers + X["level"].map(dict(zip("uvwxy", rng.normal(size=5), strict=True)))


def fitted(loss, X, score, rng, **given):
    if loss == "log_loss":
        y = (score + rng.logistic(size=len(X)) > 0).astype(int)
        return ModelTreeClassifier(n_jobs=1, **given).fit(X, y)
    if loss == "poisson":
        y = rng.poisson(np.exp(0.4 * score)).astype(float)
    else:
        y = score + rng.normal(size=len(X))
    return ModelTreeRegressor(loss=loss, n_jobs=1, **given).fit(X, y)


def split_in_vain(loss, seed, **given):
    rng = np.random.default_rng(seed)
    X = table(rng, int(rng.integers(200, 351)))
    score = one_linear_model(rng, X) * (seed % 2)  # every other time nothing has an effect
    return fitted(loss, X, score, rng, **given).get_n_leaves() > 1


@pytest.mark.parametrize("loss", RUNS)
def test_where_no_split_is_true_there_is_none_in_95_of_100_runs(loss):
    """Seeds are fixed, so that this does not fail by chance; the rates are far below the level."""
    n_runs = RUNS[loss]
    assert sum(split_in_vain(loss, seed) for seed in range(n_runs)) <= 0.05 * n_runs


@pytest.mark.parametrize("loss", RUNS)
def test_without_the_test_trees_are_split_in_vain(loss):
    assert all(split_in_vain(loss, seed, significance=None, max_depth=1) for seed in range(4))


@pytest.mark.parametrize("loss", RUNS)
@pytest.mark.parametrize("on", ["a", "level", "gaps"])
def test_a_strong_split_is_always_found(loss, on):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = table(rng, 500)
        there = {"a": X["a"] > 0.3, "level": X["level"].isin(["v", "x"]), "gaps": X["gaps"].isna()}
        strength = 1.0 if loss == "poisson" else 2.0
        score = strength * np.where(there[on], 1.0, -1.0) * (X["b"] + X["c"])
        model = fitted(loss, X, score, rng, max_depth=1)
        assert model.get_n_leaves() == 2
        assert model.tree_.columns[model.tree_.feature[0]].name == on


def test_a_smaller_level_gives_a_smaller_tree():
    rng = np.random.default_rng(0)
    X = table(rng, 1000)
    score = np.where(X["a"] > 0, 1.0, 0.4) * X["b"] + np.where(X["c"] > 0, 0.5, 0.0) * X["b"]
    sizes = [
        fitted("squared_error", X, score, np.random.default_rng(1), significance=level)
        for level in (1e-12, 0.05, None)
    ]
    sizes = [model.get_n_leaves() for model in sizes]
    assert sizes == sorted(sizes) and sizes[0] < sizes[2]


# --- the probability by itself -------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [1, 3, 20])
def test_of_one_split_without_a_penalty_it_is_the_likelihood_ratio_test(degrees):
    for gain in (0.1, 3.0, 30.0):
        expected = chi2.sf(2 * gain / 1.7, degrees)
        assert chance(gain, 1.7, np.ones(degrees), 1) == pytest.approx(expected, rel=1e-10)


def test_of_many_splits_it_is_multiplied():
    assert chance(9.0, 1.0, np.ones(2), 50) == pytest.approx(50 * chi2.sf(18.0, 2), rel=1e-10)
    assert chance(0.5, 1.0, np.ones(2), 50) == 1.0


def test_shrunk_parameters_count_for_less(rng):
    """The tail of a sum of shrunk squares of normal variables, simulated."""
    shares = np.array([1.0, 0.8, 0.5, 0.2, 0.05])
    simulated = 0.5 * (rng.normal(size=(400_000, 5)) ** 2) @ shares
    for share in (0.2, 0.05, 0.01):
        gain = float(np.quantile(simulated, 1 - share))
        assert chance(gain, 1.0, shares, 1) == pytest.approx(share, rel=0.15)


def test_nothing_gained_or_nothing_to_learn_is_chance():
    assert chance(0.0, 1.0, np.ones(3), 1) == 1.0
    assert chance(5.0, 1.0, np.zeros(3), 1) == 1.0
    assert chance(5.0, 0.0, np.ones(3), 1) == 0.0
