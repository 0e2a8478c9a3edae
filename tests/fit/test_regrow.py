"""Trees on rows that are weighted anew are those of a fit with such weights."""

from dataclasses import replace

import numpy as np
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.fit.train import regrow


def table(rng, n=600):
    """Columns of few values, so that bins do not depend on weights."""
    X = np.column_stack([rng.integers(0, 12, size=(n, 3)), rng.integers(0, 3, size=n)]) * 1.0
    y = np.where(X[:, 0] > 5, X[:, 1], -X[:, 1]) + rng.normal(size=n)
    return X, y


def given(model, X, y, max_numbers=None, **more):
    found = model._given_for(*model._read_rows(X, y, more.get("sample_weight")), more.get("groups"))
    return found._replace(settings=replace(found.settings, max_numbers=max_numbers))


@pytest.mark.parametrize("kind", ["numbers", "counts", "classes", "several classes", "groups"])
@pytest.mark.parametrize("is_short", [False, True])
def test_rows_as_they_are_give_the_same_tree(rng, kind, is_short):
    X, y = table(rng)
    parameters, more = {}, {}
    if kind == "counts":
        y, parameters = np.round(np.exp(y / 6)), {"loss": "poisson"}
    if "classes" in kind:
        y = (y > 0) + (y > 3) * (kind == "several classes")
    if kind == "groups":
        more = {"groups": rng.integers(0, 90, size=len(y))}
    estimator = ModelTreeClassifier if "classes" in kind else ModelTreeRegressor
    if is_short:
        model = estimator(**parameters, max_numbers=15).fit(X, y, **more)
    else:
        model = estimator(**parameters, max_numbers=None).fit(X, y, **more)
    before = given(model, X, y, model.max_numbers, **more)
    again, twice = regrow(*before, [np.ones(len(y))] * 2)
    assert again == twice
    same = replace(again, training_record=None)
    assert same == replace(model.tree_, training_record=None)


@pytest.mark.parametrize("max_numbers", [None, 20])
def test_weights_are_those_of_a_fit(rng, max_numbers):
    X, y = table(rng)
    model = ModelTreeRegressor(max_numbers=max_numbers, curves=False, leaf_transform="none")
    model.fit(X, y)
    factor = rng.integers(0, 3, size=len(y)).astype(float)
    (found,) = regrow(*given(model, X, y, max_numbers), [factor])
    expected = model.fit(X, y, sample_weight=factor)
    assert found.feature.tolist() == expected.tree_.feature.tolist()
    np.testing.assert_allclose(found.threshold, expected.tree_.threshold)
    raw = found.raw(X, found.apply(X))[:, 0]
    np.testing.assert_allclose(raw, expected.predict(X), atol=0.02 * y.std())
    assert found.n_samples[0] == np.count_nonzero(factor)


def test_trees_do_not_depend_on_threads(rng):
    X, y = table(rng)
    model = ModelTreeRegressor(max_numbers=None).fit(X, y)
    one = given(model, X, y)
    three = one._replace(settings=replace(one.settings, n_threads=3))
    factors = [rng.integers(0, 3, size=len(y)).astype(float) for _ in range(20)]
    assert list(regrow(*three, factors)) == list(regrow(*one, factors))
