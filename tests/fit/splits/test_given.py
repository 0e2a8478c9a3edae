"""Splits that are given: made as they are, kept by all that makes trees smaller."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, load

GIVEN = [("product", {"card", "loan"}), ("age", 40.123)]
# What could move, cut or shorten a split.
WAYS = {
    "short": {},
    "whole": {"max_numbers": None},
    "sized by held-out rows": {"max_leaf_nodes": "auto"},
    "a budget": {"max_leaf_nodes": 5, "max_numbers": None},
    "pruned": {"ccp_alpha": 0.9, "max_numbers": None},
    "refined": {"refine": True, "max_numbers": None},
    "impurity": {"criterion": "impurity", "max_numbers": None},
    "few bins": {"max_bins": 4, "max_numbers": 10},
}


def rows(n=900):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "product": rng.choice(["card", "loan", "lease", "home"], n),
            "age": rng.uniform(18, 80, n),
            "income": rng.normal(size=n),
        }
    )
    return X, 2 * X["income"] + 3 * np.maximum(X["income"] - 0.3, 0) + rng.normal(scale=0.3, size=n)


def segments(X):
    return 2 * ~X["product"].isin(["card", "loan"]) + (X["age"] > 40.123)


def check(model, X):
    """The rows of a given segment are those of the leaves below its node."""
    tree = model.tree_
    assert tree.given[:3].all() and not tree.given[3:].any() and tree.threshold[1] == 40.123
    passed = model.decision_path(X).toarray()
    for node, sides in ((1, (0, 1)), (2, (2, 3))):
        for child, segment in zip((tree.left[node], tree.right[node]), sides, strict=True):
            np.testing.assert_array_equal(passed[:, child] > 0, segments(X) == segment)


@pytest.mark.parametrize("parameters", WAYS.values(), ids=WAYS)
def test_given_splits_are_made_and_stay(parameters):
    X, y = rows()
    check(ModelTreeRegressor(first_splits=GIVEN, **parameters).fit(X, y), X)


def test_files_texts_and_other_backends_know_them(tmp_path):
    X, y = rows()
    model = ModelTreeRegressor(first_splits=GIVEN).fit(X, y)
    assert "The first splits, on product, age, were given" in model.export_text()
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.tree_ == model.tree_
    X.assign(y=y)[:450].to_parquet(tmp_path / "0.parquet")
    X.assign(y=y)[450:].to_parquet(tmp_path / "1.parquet")
    check(ModelTreeRegressor(first_splits=GIVEN, backend="stream").fit(tmp_path, "y"), X)


def test_a_split_is_made_where_it_divides_rows():
    X, y = rows()
    given = [("product", {"card", "loan"}), ("product", {"card"}), ("product", {"lease"})]
    model = ModelTreeClassifier(first_splits=given, max_depth=0).fit(X, y > 0)
    assert model.tree_.n_leaves == 4
    assert len(set(zip(X["product"], model.apply(X), strict=True))) == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("nope", 1)], "first_splits names the column 'nope'"),
        ([("product", {"boat"})], "no row has 'boat' in 'product'"),
        ([("product", "card")], "'card' is no set of categories"),
        ([("age", "old")], "'old' is no number"),
        ([("age", 900)], "leaves a side without rows"),
        ("age", "must be a list such as"),
    ],
)
def test_errors_say_what_is_wrong(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ModelTreeRegressor(first_splits=given).fit(*rows())
