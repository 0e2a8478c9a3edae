"""What is done to leaves at the end: shorter numbers, and what these cost."""

import numpy as np
import pandas as pd
import pytest
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.tables.short_numbers import n_digits


def slopes(rng, n=800):
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] > 0, 3.1 * X[:, 1], -1.7 * X[:, 2]) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("digits", [1, 2, 4])
def test_coefficients_have_this_many_digits_and_their_cost_is_told(rng, digits):
    X, y = slopes(rng)
    exact = ModelTreeRegressor().fit(X, y)
    short = ModelTreeRegressor(coef_digits=digits).fit(X, y)
    assert max(n_digits(value) for value in short.tree_.coef.ravel()) <= digits
    before, after = (((y - model.predict(X)) ** 2).sum() for model in (exact, short))
    assert short.rounding_cost_ == pytest.approx(after / before - 1, rel=1e-6, abs=1e-9)
    assert not hasattr(exact, "rounding_cost_")


def test_every_leaf_keeps_its_mean_prediction_but_for_the_digits_of_its_intercept(rng):
    X, y = slopes(rng)
    exact, short = (ModelTreeRegressor(coef_digits=own).fit(X, y) for own in (None, 3))
    for leaf in set(exact.apply(X)):
        here = exact.apply(X) == leaf
        spread = exact.predict(X[here]).std()
        apart = exact.predict(X[here]).mean() - short.predict(X[here]).mean()
        assert abs(apart) <= 0.01 * spread


def log_loss(model, X, y, weight):
    proba = model.predict_proba(X)
    return -(weight @ np.log(proba[np.arange(len(y)), y]))


def deviance(model, X, y, weight):
    mean = model.predict(X)
    return weight @ (np.log(mean) + y / mean - np.log(y) - 1.0)


@pytest.mark.parametrize("digits", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_cost_for_classes_is_that_of_their_log_loss(rng, n_classes, digits):
    X, score = slopes(rng)
    y = np.digitize(score, np.linspace(-1.0, 1.0, n_classes + 1)[1:-1])
    weight = rng.uniform(0.5, 2.0, len(y))
    exact, short = (
        ModelTreeClassifier(coef_digits=own).fit(X, y, weight) for own in (None, digits)
    )
    assert max(n_digits(value) for value in short.tree_.coef.ravel()) == digits
    before, after = (log_loss(model, X, y, weight) for model in (exact, short))
    assert short.rounding_cost_ == pytest.approx(after / before - 1, rel=1e-6, abs=1e-9)


def test_the_cost_of_curves_clamps_and_categories_is_told_too(rng):
    X, score = slopes(rng)
    table = pd.DataFrame(X, columns=list("abc")).assign(d=rng.choice(list("xyz"), len(X)))
    table.loc[::9, "b"] = np.nan
    y = np.exp(score / 4 + (table["d"] == "x") + table["c"] ** 2 / 4).to_numpy()
    weight = rng.uniform(0.5, 2.0, len(y))
    given = {"loss": "gamma", "curves": True, "clamp": (0.05, 0.95)}
    given["significance_test"] = "likelihood"  # leaves small enough to see no bend
    exact, short = (
        ModelTreeRegressor(coef_digits=own, **given).fit(table, y, weight) for own in (None, 1)
    )
    assert short.tree_.terms.bent
    assert {n_digits(value) for value in short.tree_.coef.ravel()} == {0, 1}
    before, after = (deviance(model, table, y, weight) for model in (exact, short))
    assert short.rounding_cost_ == pytest.approx(after / before - 1, rel=1e-6)
