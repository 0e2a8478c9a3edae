"""``tree_`` is the model: its arrays alone, read by a plain loop, give the predictions."""

import numpy as np
import pandas as pd
import pytest
import zoo
from by_hand import by_hand, leaf_by_hand, model_by_hand
from sklearn.base import is_classifier
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.losses import REGRESSION_LOSSES, BinaryLogLoss, MulticlassLogLoss


def raw_of(model, X):
    if is_classifier(model):
        return model.decision_function(X)
    found = model.predict(X)
    return np.log(found) if model.loss in ("poisson", "gamma") else found


def target(kind, X, rng):
    score = np.where(X[:, 0] > 0.2, X[:, 1] + X[:, 2], -X[:, 1]) + 0.3 * X[:, 3]
    if kind == "binary":
        return (score + 0.5 * rng.logistic(size=len(X)) > 0).astype(int)
    if kind == "multiclass":
        return np.digitize(score + rng.normal(scale=0.5, size=len(X)), [-0.5, 0.5])
    if kind == "poisson":
        return rng.poisson(np.exp(0.5 * score))
    if kind == "gamma":
        return rng.gamma(2.0, np.exp(0.5 * score))
    return score + 2.0 + rng.normal(scale=0.2, size=len(X))


KINDS = ["squared_error", "huber", "poisson", "gamma", "binary", "multiclass"]


def make(kind, **parameters):
    if kind in ("binary", "multiclass"):
        return ModelTreeClassifier(**parameters)
    return ModelTreeRegressor(loss=kind, **parameters)


def loss_of(kind):
    if kind == "binary":
        return BinaryLogLoss()
    return MulticlassLogLoss(3) if kind == "multiclass" else REGRESSION_LOSSES[kind]()


# Relative to the terms that are added up: their rounding is all that may differ.
UNITS = {
    "plain": (np.zeros(4), np.ones(4)),
    "means of 1e6": (np.array([1e6, -1e6, 1e6, 0.0]), np.ones(4)),
    "scales of 1e9": (np.zeros(4), np.array([1e9, 1e-9, 1e9, 1e-9])),
    "both": (np.array([1e6, 1e6, -1e6, 1e6]), np.array([1e9, 1e-9, 1.0, 1e3])),
}


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_by_hand(rng, kind, units):
    shift, scale = UNITS[units]
    X = rng.normal(size=(400, 4))
    y = target(kind, X, rng)
    X = (X + shift) * scale
    model = make(kind, max_depth=2, significance=None, curves=False).fit(X, y)
    tree = model.tree_
    assert tree.node_count == 7
    leaves = [leaf_by_hand(tree, row) for row in X]
    np.testing.assert_array_equal(leaves, model.apply(X))
    expected = np.array(
        [tree.intercept[leaf] + tree.coef[leaf] @ row for leaf, row in zip(leaves, X, strict=True)]
    )
    largest = np.abs(raw_of(model, X)).max()
    np.testing.assert_allclose(raw_of(model, X), expected, rtol=1e-9, atol=1e-9 * largest)
    np.testing.assert_allclose(by_hand(tree, X), expected, rtol=1e-9, atol=1e-9 * largest)


@pytest.mark.parametrize("y_scale", [1e-9, 1.0, 1e9])
def test_numbers_by_hand_for_any_unit_of_the_target(rng, y_scale):
    X = rng.normal(size=(400, 4)) + 100.0
    y = target("squared_error", X - 100.0, rng) * y_scale
    model = ModelTreeRegressor().fit(X, y)
    np.testing.assert_allclose(model.predict(X), by_hand(model.tree_, X), rtol=1e-9)


@pytest.fixture
def mixed(rng):
    """Numbers and categories with gaps, and rows to predict with what training never saw."""
    X = rng.normal(size=(500, 4))
    text = rng.choice(["red", "green", "blue"], size=500).astype(object)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] * 1e-9, "c": X[:, 2] + 1e6, "d": X[:, 3]})
    table["t"] = text
    table["u"] = rng.choice(["yes", "no"], size=500)
    X[:, 1] *= np.where(text == "red", -1.0, 1.0)
    table.loc[rng.random(500) < 0.2, "a"] = np.nan
    table.loc[rng.random(500) < 0.2, "c"] = np.nan
    table.loc[rng.random(500) < 0.2, "t"] = None
    later = table.copy()
    later.loc[::3, "t"] = "violet"
    later.loc[::4, "u"] = None
    later.loc[::5, "d"] = np.nan
    later.loc[::7, "u"] = "maybe"
    return X, table, later


@pytest.mark.parametrize("kind", KINDS)
def test_categories_and_gaps_by_hand(rng, mixed, kind):
    X, table, later = mixed
    model = make(kind, max_depth=3).fit(table, target(kind, X, rng))
    tree = model.tree_
    for data in (table, later):
        rows = [
            [None if pd.isna(value) else value for value in row]
            for row in data.itertuples(index=False)
        ]
        np.testing.assert_array_equal([leaf_by_hand(tree, row) for row in rows], model.apply(data))
        found = raw_of(model, data)
        atol = 1e-9 * np.abs(found).max()
        np.testing.assert_allclose(found, by_hand(tree, rows), rtol=1e-9, atol=atol)


@pytest.mark.parametrize("transform", ["none", "winsor", "rank"])
@pytest.mark.parametrize("kind", KINDS)
def test_transforms_and_clamps_by_hand(rng, mixed, kind, transform):
    X, table, later = mixed
    y = target(kind, X, rng)
    model = make(kind, max_depth=2, leaf_transform=transform, clamp=True).fit(table, y)
    later = later.assign(b=50 * later["b"], d=50 * later["d"])
    rows = [
        [None if pd.isna(value) else value for value in row]
        for row in later.itertuples(index=False)
    ]
    found = raw_of(model, later)
    expected = by_hand(model.tree_, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize("kind", [*zoo.BENT, *zoo.LIMITED])
def test_bends_and_limits_by_hand(kind):
    case = zoo.case(kind)
    expected = by_hand(case.model.tree_, case.rows[:1000])
    atol = 1e-12 * np.abs(expected).max()
    np.testing.assert_allclose(case.raw[:1000], expected, rtol=1e-12, atol=atol)


@pytest.mark.parametrize("kind", KINDS)
def test_a_clamp_is_the_range_that_the_node_saw(rng, mixed, kind):
    X, table, _ = mixed
    y = target(kind, X, rng)
    free, clamped = (make(kind, max_depth=2, clamp=clamp).fit(table, y) for clamp in (False, True))
    np.testing.assert_allclose(raw_of(free, table), raw_of(clamped, table), rtol=1e-9, atol=1e-9)
    tree = clamped.tree_
    passes = clamped.decision_path(table).toarray().astype(bool)
    for node in range(tree.node_count):
        for j, name in enumerate("abcd"):
            values = table[name][passes[:, node]].fillna(tree.terms.fill[j])
            assert tree.clamp_low[node, j] == pytest.approx(values.min(), rel=1e-9)
            assert tree.clamp_high[node, j] == pytest.approx(values.max(), rel=1e-9)
        assert np.isinf(tree.clamp_low[node, 4:]).all()


def test_a_clamp_ends_at_the_very_number_that_was_seen(rng):
    X = np.where(rng.random((500, 8)) < 0.2, 0.0, rng.exponential(size=(500, 8)).round(2))
    model = ModelTreeRegressor(max_depth=2, leaf_transform="none", clamp=True)
    leaf = model.fit(X, np.where(X[:, 0] > 1, X[:, 1], -X[:, 1])).apply(X)
    tree = model.tree_
    assert len(set(leaf)) > 1
    for node in set(leaf):
        np.testing.assert_array_equal(tree.clamp_low[node], X[leaf == node].min(axis=0))
        np.testing.assert_array_equal(tree.clamp_high[node], X[leaf == node].max(axis=0))


@pytest.mark.parametrize("how", ["subset", "one"])
@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_a_split_on_a_category_by_hand(rng, mixed, kind, how):
    X, table, later = mixed
    given = {"split_features": ["t", "u"], "category_splits": how, "significance": None}
    model = make(kind, max_depth=3, **given).fit(table, target(kind, X, rng))
    tree = model.tree_
    assert set(tree.feature) == {-1, 4} or set(tree.feature) == {-1, 4, 5}
    rows = [
        [None if pd.isna(value) else value for value in row]
        for row in later.itertuples(index=False)
    ]
    np.testing.assert_allclose(raw_of(model, later), by_hand(tree, rows), rtol=1e-9, atol=1e-9)


# --- the arrays ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_has_one_entry_per_node(rng, kind):
    X = rng.normal(size=(400, 4))
    tree = make(kind, curves=False).fit(X, target(kind, X, rng)).tree_
    for name in ("feature", "threshold", "left", "right", "coef", "intercept", "n_samples", "gain",
                 "loss", "weight", "missing_left", "unknown_left"):  # fmt: skip
        assert len(getattr(tree, name)) == tree.node_count, name
    outputs = (3,) if kind == "multiclass" else ()
    assert tree.coef.shape == (tree.node_count, *outputs, 4)
    assert tree.intercept.shape == (tree.node_count, *outputs)
    assert np.isfinite(tree.coef).all() and np.isfinite(tree.intercept).all()


def test_children_share_out_the_rows_of_their_parent(rng):
    X = rng.normal(size=(500, 4))
    weight = rng.random(500)
    model = ModelTreeRegressor().fit(X, target("huber", X, rng), sample_weight=weight)
    tree = model.tree_
    inner = np.flatnonzero(tree.left != -1)
    assert tree.n_samples[0] == 500
    assert tree.weight[0] == pytest.approx(weight.sum())
    np.testing.assert_array_equal(
        tree.n_samples[inner], tree.n_samples[tree.left[inner]] + tree.n_samples[tree.right[inner]]
    )
    np.testing.assert_allclose(
        tree.weight[inner], tree.weight[tree.left[inner]] + tree.weight[tree.right[inner]]
    )


def test_leaves_are_marked_and_inner_nodes_have_gains(rng):
    X = rng.normal(size=(400, 4))
    tree = ModelTreeRegressor().fit(X, target("squared_error", X, rng)).tree_
    leaf = tree.left == -1
    np.testing.assert_array_equal(tree.right == -1, leaf)
    np.testing.assert_array_equal(tree.feature == -1, leaf)
    assert np.isnan(tree.threshold[leaf]).all()
    assert (tree.gain[~leaf] > 0).all() and (tree.gain[leaf] == 0).all()
    children = np.concatenate([tree.left[~leaf], tree.right[~leaf]])
    assert sorted(children) == list(range(1, tree.node_count))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_loss_is_the_summed_loss_of_the_nodes_model_over_its_rows(rng, kind, weighted):
    X = rng.normal(size=(400, 4))
    y = target(kind, X, rng)
    weight = rng.random(400) + 0.1 if weighted else np.ones(400)
    model = make(kind, max_depth=2).fit(X, y, sample_weight=weight)
    tree, path = model.tree_, model.decision_path(X).toarray().astype(bool)
    loss, center, scale = loss_of(kind), 0.0, 1.0
    if kind == "huber":  # its delta is in units of the target's spread
        center, scale = loss.target_units(y, weight)
    for node in range(tree.node_count):
        here = path[:, node]
        raw = np.array([model_by_hand(tree, node, row) for row in X[here]])
        value = loss.derivatives((y[here] - center) / scale, (raw - center) / scale)[0]
        expected = scale**2 * (weight[here] @ value)
        assert tree.loss[node] == pytest.approx(expected, rel=1e-6)


def test_loss_of_a_node_with_one_class_is_that_of_its_rows(rng):
    X = rng.normal(size=(300, 2))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    given = {"criterion": "impurity", "curves": False}
    model = ModelTreeClassifier(max_depth=1, **given).fit(X, y)
    tree, leaves = model.tree_, model.apply(X)
    pure = [leaf for leaf in set(leaves) if len(set(y[leaves == leaf])) == 1]
    assert pure
    for leaf in pure:
        here = leaves == leaf
        own = -model.predict_log_proba(X[here])[np.arange(here.sum()), y[here]]
        assert tree.loss[leaf] == pytest.approx(own.sum(), rel=1e-6)


def test_columns_outside_leaf_features_have_zero_coefficients(rng):
    X = rng.normal(size=(400, 4))
    for kind in ("squared_error", "multiclass"):
        model = make(kind, leaf_features=[1, 2], curves=False).fit(X, target(kind, X, rng))
        tree = model.tree_
        assert tree.coef.shape[-1] == 4
        assert (tree.coef[..., [0, 3]] == 0).all()
        assert (tree.coef[0][..., [1, 2]] != 0).all()
        assert 0 in tree.feature
        np.testing.assert_allclose(raw_of(model, X), by_hand(tree, X), rtol=1e-9, atol=1e-9)


def test_leaf_features_leave_the_model_of_the_others(rng):
    X = rng.normal(size=(400, 4))
    y = target("squared_error", X, rng)
    some = ModelTreeRegressor(max_depth=0, leaf_features=[1, 3]).fit(X, y)
    alone = ModelTreeRegressor(max_depth=0).fit(X[:, [1, 3]], y)
    np.testing.assert_allclose(some.predict(X), alone.predict(X[:, [1, 3]]), rtol=1e-12)


def test_without_leaf_features_a_leaf_is_its_mean(rng):
    X = rng.normal(size=(400, 4))
    y = target("squared_error", X, rng)
    model = ModelTreeRegressor(leaf_features=[], max_depth=2, significance=None).fit(X, y)
    leaves, predicted = model.apply(X), model.predict(X)
    assert len(set(leaves)) == 4
    for leaf in set(leaves):
        np.testing.assert_allclose(predicted[leaves == leaf], y[leaves == leaf].mean())


@pytest.mark.parametrize("allowed", [[1], [1, 3], [False, True, False, True], []])
def test_split_features_restrict_the_splits(rng, allowed):
    X = rng.normal(size=(400, 4))
    tree = ModelTreeRegressor(split_features=allowed).fit(X, target("huber", X, rng)).tree_
    may = {1, 3} if len(allowed) == 4 else set(allowed)
    assert set(tree.feature) - {-1} <= may
    assert (tree.node_count > 1) == bool(allowed)


def test_thresholds_lie_midway_between_values_of_the_node(rng):
    X = rng.integers(0, 10, size=(400, 3)).astype(float)
    y = np.where(X[:, 0] > 4, X[:, 1], -X[:, 1])
    model = ModelTreeRegressor().fit(X, y)
    tree, path = model.tree_, model.decision_path(X).toarray().astype(bool)
    for node in np.flatnonzero(tree.left != -1):
        values = X[path[:, node], tree.feature[node]]
        threshold = tree.threshold[node]
        low, high = values[values <= threshold].max(), values[values > threshold].min()
        assert threshold == (low + high) / 2


def test_missing_and_category_terms_are_named(mixed, rng):
    X, table, _ = mixed
    tree = ModelTreeRegressor(max_depth=0).fit(table, target("squared_error", X, rng)).tree_
    assert tree.term_names == [
        "a", "b", "c", "d", "t = blue", "t = green", "t = red", "t is missing", "u = no", "u = yes",
        "a is missing", "c is missing",
    ]  # fmt: skip
