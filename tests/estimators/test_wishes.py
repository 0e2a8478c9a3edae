"""Columns that never differ, and columns that are always in."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor

PLAIN = {"leaf_transform": "none", "curves": False, "n_jobs": 1, "max_depth": 2}


def table(rng, n=1500):
    """Where a is large, b counts more; noise and shade say nothing."""
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "noise"])
    X["shade"] = rng.choice(["red", "green", "blue"], size=n)
    score = X["b"] - X["c"] + (X["a"] > 0.3) * (2.0 * X["b"] - 1.0)
    return X, score.to_numpy() + 0.3 * rng.normal(size=n)


def differs(step_tree, name):
    """Whether any term of a column has several coefficients."""
    own = [t for t, term in enumerate(step_tree.term_names) if term.split("=")[0] == name]
    return any(len(np.unique(step_tree.coef[..., t])) > 1 for t in own)


def trees(model):
    path = model.model_.path
    return [path.tree(step) for step in path.steps]


@pytest.mark.parametrize("given", [["b"], [1], [False, True, False, False, False]])
def test_shared_columns_never_differ(rng, given):
    X, y = table(rng)
    free = ModelTreeRegressor(**PLAIN).fit(X, y)
    assert any(differs(tree, "b") for tree in trees(free))
    shared = ModelTreeRegressor(**PLAIN, shared_features=given).fit(X, y)
    assert not any(differs(tree, "b") for tree in trees(shared))
    assert any(differs(tree, "c") for tree in trees(shared))


def test_shared_columns_may_split(rng):
    X, y = table(rng)
    model = ModelTreeRegressor(**PLAIN, shared_features=["a"]).fit(X, y)
    assert model.tree_.columns[model.tree_.feature[0]].name == "a"


@pytest.mark.parametrize("curves", [False, True])
def test_required_columns_are_in_every_model(rng, curves):
    X, y = table(rng)
    given = {**PLAIN, "curves": curves, "required_features": ["noise", "shade"]}
    model = ModelTreeRegressor(**given).fit(X, y)
    names = model.tree_.term_names
    for tree in trees(model):
        used = {name for name, coef in zip(names, tree.coef[0], strict=True) if coef}
        assert "noise" in used
        assert sum(name.startswith("shade") for name in used) >= 2  # the most frequent counts as 0
    assert "noise" in model.path_[0].what


def test_required_columns_of_several_classes(rng):
    X, y = table(rng)
    model = ModelTreeClassifier(**PLAIN, required_features=["noise"])
    model.fit(X, np.digitize(y, [-1.0, 1.0]))
    place = model.tree_.term_names.index("noise")
    assert all((tree.coef[0, :, place] != 0).sum() >= 2 for tree in trees(model))


@pytest.mark.filterwarnings("ignore:monotonic_cst")
def test_a_sign_is_stronger_than_a_requirement(rng):
    X, y = table(rng)
    model = ModelTreeRegressor(**PLAIN, required_features=["c"], monotonic_cst={"c": 1}).fit(X, y)
    assert not model.tree_.coef[:, model.tree_.term_names.index("c")].any()


def test_wishes_that_cannot_be_met_are_refused(rng):
    X, y = table(rng, 100)
    for name in ("shared_features", "required_features"):
        for other in ({"max_numbers": None}, {"coef_digits": 2}):
            with pytest.raises(ValueError, match=f"{name} needs one formula for all rows"):
                ModelTreeRegressor(**{name: ["a"]}, **other).fit(X, y)
    with pytest.raises(ValueError, match="'a', which is not in leaf_features"):
        ModelTreeRegressor(required_features=["a"], leaf_features=["b"]).fit(X, y)
