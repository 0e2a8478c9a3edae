"""What users get who set nothing, and that the paper's method is not affected by it."""

import inspect

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, paper_settings

# Parameters that say what is fitted, how large, and on what: no part of a method.
NEUTRAL = {
    "monotonic_cst", "positive_class",
    "loss", "class_weight", "max_depth", "max_leaf_nodes", "min_samples_leaf", "max_bins",
    "categorical_features", "split_features", "leaf_features", "shared_features",
    "required_features", "weak_model", "n_jobs", "verbose",
    "backend", "random_state", "reason_codes", "special_values", "first_splits",
}  # fmt: skip
# As the paper describes it, and METHOD.md reads it.
OF_THE_PAPER = {
    "alpha": 1.0,
    "l1_ratio": 0.0,
    "shrink": "zero",
    "min_gain": 0.0,
    "rescore": 0,
    "refine": False,
    "category_splits": "one",
    "significance": None,
    "leaf_transform": "none",
    "clamp": False,
}


# --- the paper's method --------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["MT-G", "MT-GR", "MT-DT"])
@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
def test_paper_settings_name_every_parameter_of_a_method(method, kind):
    """A new parameter has to be either neutral or turned off there."""
    of_method = set(inspect.signature(kind).parameters) - NEUTRAL
    assert set(paper_settings(method)) == of_method
    given = paper_settings(method)
    assert {name: given[name] for name in OF_THE_PAPER} == OF_THE_PAPER


def test_paper_settings_differ_in_the_criterion_only():
    differing = {
        name
        for method in ("MT-G", "MT-DT")
        for name, value in paper_settings(method).items()
        if value != paper_settings("MT-GR")[name]
    }
    assert differing == {"criterion"}


def test_paper_settings_do_not_depend_on_the_defaults(regression):
    """An estimator whose defaults are all others gives the same tree under these settings."""

    class Others(ModelTreeRegressor):
        def __init__(self, **given):
            others = {"alpha": 77.0, "l1_ratio": 0.5, "min_gain": 0.5, "refine": True, "rescore": 3}
            super().__init__(**{**others, **given})

    X, y = regression
    given = paper_settings("MT-GR")
    assert Others(**given).fit(X, y).tree_ == ModelTreeRegressor(**given).fit(X, y).tree_


# --- clamps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", ["none", "auto"])
@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
def test_far_outside_predictions_are_those_at_the_border(rng, kind, transform):
    X = np.column_stack([rng.normal(size=800), np.sinh(3 * rng.normal(size=800))])
    y = np.where(X[:, 0] > 0, 2.0, -1.0) * np.arcsinh(X[:, 1]) + rng.normal(size=800)
    if kind is ModelTreeClassifier:
        y = y > 0
    model = kind(max_depth=2, leaf_transform=transform, max_numbers=None).fit(X, y)
    leaves = model.apply(X)
    assert model.get_n_leaves() > 1

    def raw(table):
        return (model.predict_proba if kind is ModelTreeClassifier else model.predict)(table)

    for leaf in set(leaves):
        low, high = X[leaves == leaf].min(axis=0), X[leaves == leaf].max(axis=0)
        outside = X[leaves == leaf] * 50
        outside = outside[model.apply(outside) == leaf]
        inside = np.clip(outside, low, high)
        np.testing.assert_allclose(raw(outside), raw(inside), rtol=1e-9)
        assert len(outside)


def test_without_clamps_a_leaf_goes_on_in_a_straight_line(regression):
    X, y = regression
    free, clamped = (
        ModelTreeRegressor(clamp=clamp, max_numbers=None).fit(X, y) for clamp in (False, True)
    )
    np.testing.assert_allclose(free.predict(X), clamped.predict(X), rtol=1e-9)
    spread = np.ptp(y)
    assert np.ptp(free.predict(100 * X)) > 10 * spread
    assert np.ptp(clamped.predict(100 * X)) < 3 * spread


# --- no collapse ---------------------------------------------------------------------------------


def signal(name, X):
    if name == "linear":
        return X @ np.arange(X.shape[1])
    if name == "one split":
        return np.where(X[:, 0] > 0.3, 2 * X[:, 1], -X[:, 1]) + X[:, 2]
    if name == "smooth":
        return np.sin(2 * X[:, 0]) * 2 + X[:, 1] ** 2 + X[:, 2] * X[:, 3]
    if name == "heavy":
        return np.cbrt(X[:, 0]) + np.where(X[:, 1] > 0, 1.0, -1.0) * X[:, 2]
    return np.zeros(len(X))


SIGNALS = ["linear", "one split", "smooth", "heavy", "nothing"]


def points(name, rng, n=2000):
    X = rng.normal(size=(n, 6))
    if name == "heavy":
        X[:, 0] = np.sinh(3 * X[:, 0])
    return X, signal(name, X)


@pytest.mark.parametrize("name", SIGNALS)
def test_a_deep_tree_is_no_worse_than_a_shallow_one(rng, name):
    (X, score), (later, wanted) = points(name, rng), points(name, rng)
    y, wanted = score + rng.normal(size=2000), wanted + rng.normal(size=2000)
    shallow, deep = (
        ModelTreeRegressor(max_depth=depth).fit(X, y).score(later, wanted) for depth in (3, 10)
    )
    assert deep > shallow - 0.01


@pytest.mark.parametrize("name", SIGNALS)
def test_a_deep_tree_of_classes_is_no_worse_than_a_shallow_one(rng, name):
    (X, score), (later, wanted) = points(name, rng), points(name, rng)
    y, wanted = (s + rng.logistic(size=2000) > 0 for s in (score, wanted))
    shallow, deep = (
        roc_auc_score(
            wanted, ModelTreeClassifier(max_depth=depth).fit(X, y).predict_proba(later)[:, 1]
        )
        for depth in (3, 10)
    )
    assert deep > shallow - 0.01


@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
def test_wild_rows_do_not_carry_predictions_away(rng, kind):
    """A few huge values in training and in later rows: predictions stay within what was seen."""
    X = rng.normal(size=(1000, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=1000)
    X[::100] *= 1e6
    model = kind().fit(X, y > 0 if kind is ModelTreeClassifier else y)
    later = rng.normal(size=(1000, 3)) * 1e9
    if kind is ModelTreeClassifier:
        assert np.isfinite(model.predict_proba(later)).all()
    else:
        assert np.abs(model.predict(later)).max() < 10 * np.abs(y).max()
