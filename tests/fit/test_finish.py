"""What is done to leaves at the end: shorter numbers, and what these cost."""

import numpy as np
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.fit.splits.short_numbers import n_digits


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


def test_coefficients_of_several_classes_are_rounded_too(rng):
    X, y = slopes(rng)
    model = ModelTreeClassifier(coef_digits=2).fit(X, np.digitize(y, [-1.0, 1.0]))
    assert max(n_digits(value) for value in model.tree_.coef.ravel()) <= 2
    assert abs(model.rounding_cost_) < 0.05
