"""Splits on subsets of categories: planted ones, brute force, and what is said of the others."""

import numpy as np
import oracles
import pandas as pd
import pytest
from bare import regressor
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.explanations.rules import split_conditions

NAMES = list("abcdefghijkl")
CHOSEN = set("adegk")


def planted(seed, n=1500, noise=0.5):
    """The slopes have another sign for five of twelve categories."""
    rng = np.random.default_rng(seed)
    group = rng.choice(NAMES, n)
    x, z = rng.normal(size=(2, n))
    sign = np.where(np.isin(group, list(CHOSEN)), 1.0, -1.0)
    X = pd.DataFrame({"x": x, "group": group, "z": z})
    return X, sign * (x + z) + noise * rng.normal(size=n)


def left_names(tree, node=0):
    column = tree.columns[tree.feature[node]]
    sides = tree.left_categories(node)
    return {name for name, left in zip(column.categories, sides, strict=True) if left}


# --- found ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_subset_is_found(seed):
    X, y = planted(seed)
    tree = ModelTreeRegressor(max_depth=1).fit(X, y).tree_
    assert tree.feature[0] == 1
    assert left_names(tree) in (CHOSEN, set(NAMES) - CHOSEN)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_planted_subset_is_found_for_classes(n_classes):
    X, y = planted(0, n=3000)
    labels = np.digitize(y, [-0.3, 0.5][: n_classes - 1])
    tree = ModelTreeClassifier(max_depth=1).fit(X, labels).tree_
    assert left_names(tree) in (CHOSEN, set(NAMES) - CHOSEN)


def test_one_against_the_rest_cannot_do_that():
    X, y = planted(0)
    one, subset = (
        ModelTreeRegressor(max_depth=1, category_splits=how).fit(X, y) for how in ("one", "subset")
    )
    assert subset.score(X, y) > one.score(X, y) + 0.3


def test_missing_is_a_category_like_the_others():
    X, y = planted(1)
    X["group"] = X["group"].where(X["group"] != "d", None)
    model = ModelTreeRegressor(max_depth=1).fit(X, y)
    tree = model.tree_
    sides = left_names(tree)
    with_missing = sides if tree.missing_left[0] else set(NAMES) - {"d"} - sides
    assert with_missing == CHOSEN - {"d"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_for_one_parameter_it_is_the_best_of_all_subsets(seed, weighted):
    """A leaf that is a mean. Categories are equally frequent: rare ones would be held back."""
    rng = np.random.default_rng(seed)
    group = np.repeat(range(9), 40)
    y = rng.normal(size=9)[group] + 0.5 * rng.normal(size=len(group))
    weight = np.tile(rng.choice([0.5, 1.0, 2.0], 40), 9) if weighted else np.ones(len(y))
    X = pd.DataFrame({"group": [f"level {code}" for code in group]})
    given = {"leaf_features": [], "category_splits": "subset", "max_depth": 1}
    tree = regressor(**given).fit(X, y, weight).tree_

    def fall(sides):
        left = sides[group]
        inside = oracles.squared_deviation
        return inside(y, weight) - inside(y[left], weight[left]) - inside(y[~left], weight[~left])

    best = max(oracles.subsets(9), key=fall)
    sides = tree.left_categories(0)
    assert (sides == best).all() or (sides == ~best).all()
    np.testing.assert_allclose(tree.gain[0], fall(best), rtol=1e-9)


def test_rare_categories_do_not_lead_the_order():
    """A category of two rows with a wild mean does not stand alone at the end."""
    rng = np.random.default_rng(0)
    group = np.array(["big"] * 200 + ["other"] * 200 + ["rare"] * 2)
    y = np.where(group == "big", 1.0, -1.0) + rng.normal(size=402)
    y[group == "rare"] = 4.0
    given = {"leaf_features": [], "category_splits": "subset", "max_depth": 1}
    tree = regressor(min_samples_leaf=1, **given).fit(pd.DataFrame({"g": group}), y).tree_
    assert left_names(tree) in ({"big", "rare"}, {"other"})


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["regression", "classes"])
@pytest.mark.parametrize("seed", range(3))
def test_names_of_categories(seed, kind):
    """Other names, and so another order of the categories: the same tree."""
    X, y = planted(seed, n=800, noise=0.3)
    make = ModelTreeRegressor
    if kind == "classes":
        make, y = ModelTreeClassifier, (y > 0).astype(int)
    rng = np.random.default_rng(seed)
    new = dict(zip(NAMES, [f"{k:02d}" for k in rng.permutation(12)], strict=True))
    renamed = X.assign(group=X["group"].map(new))
    plain, other = make(significance=None).fit(X, y), make(significance=None).fit(renamed, y)
    assert plain.get_n_leaves() > 2
    np.testing.assert_array_equal(other.apply(renamed), plain.apply(X))
    np.testing.assert_allclose(other.predict(renamed), plain.predict(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other.tree_.gain, plain.tree_.gain, rtol=1e-7)


# --- what was not seen ---------------------------------------------------------------------------


def test_unknown_and_missing_categories_follow_the_larger_side_and_add_nothing():
    X, y = planted(2)
    model = ModelTreeRegressor(max_depth=1).fit(X, y)
    tree = model.tree_
    larger = tree.left[0] if tree.n_samples[1] >= tree.n_samples[2] else tree.right[0]
    later = pd.DataFrame({"x": [0.5, 0.5], "group": ["never seen", None], "z": [0.0, 0.0]})
    assert model.apply(later).tolist() == [larger, larger]
    by_hand = tree.intercept[larger] + 0.5 * tree.coef[larger][0]
    np.testing.assert_allclose(model.predict(later), by_hand, rtol=1e-12)


def test_a_category_that_a_node_did_not_see_follows_its_larger_side():
    rng = np.random.default_rng(0)
    n = 2000
    group = rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1])
    side = np.where(group == "d", 1.0, rng.choice([0.0, 1.0], n))  # no "d" where side is 0
    x = rng.normal(size=n)
    slope = np.where(side == 1, 8.0, np.where(np.isin(group, ["b", "c"]), 1.0, -1.0))
    X = pd.DataFrame({"side": side, "x": x, "group": group})
    model = ModelTreeRegressor(max_depth=2).fit(X, slope * x + 0.1 * rng.normal(size=n))
    tree = model.tree_
    node = tree.left[0]
    assert (tree.feature[0], tree.feature[node]) == (0, 2)
    b_side, d_side = tree.left_categories(node)[[1, 3]]
    larger_is_left = tree.n_samples[tree.left[node]] >= tree.n_samples[tree.right[node]]
    assert d_side == tree.unknown_left[node] == tree.missing_left[node] == larger_is_left
    assert left_names(tree, node) - {"d"} == ({"b", "c"} if b_side else {"a"})


def test_a_subset_in_words():
    X, y = planted(3)
    model = ModelTreeRegressor(max_depth=1).fit(X, y)
    words = {condition.text for condition in split_conditions(model.tree_, 0)}
    assert words == {"group ∈ {a, d, e, g, k}", "group ∉ {a, d, e, g, k}"}
