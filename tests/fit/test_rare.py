"""Rare categories share a place: the tree is that of a table in which they have one name."""

import warnings

import numpy as np
import pandas as pd
import pytest
from whole_models import ModelTreeClassifier, ModelTreeRegressor

import glassleaf
from glassleaf.rows import rare

MOST = 60


@pytest.fixture
def few(monkeypatch):
    """Few categories have a place of their own."""
    monkeypatch.setattr(rare, "_MOST_CATEGORIES", MOST)
    monkeypatch.setattr(rare, "_MOST_TO_READ", MOST)


@pytest.fixture
def table(rng):
    """Two hundred categories of falling frequency, some missing; and two numbers."""
    share = 1 / np.arange(1, 201) ** 0.7
    code = rng.choice(200, 4000, p=share / share.sum())
    X = pd.DataFrame({"g": [f"c{k:03}" for k in code], "a": rng.normal(size=4000)})
    X["b"] = rng.normal(size=4000)
    X.loc[rng.uniform(size=4000) < 0.05, "g"] = None
    effect = np.append(rng.normal(size=200), 2.0)[np.where(X["g"].isna(), 200, code)]
    y = effect + np.where(code % 3 == 0, X["a"], X["b"]) + 0.1 * rng.normal(size=4000)
    return X, y


def by_hand(X):
    """The same table; the rare ones are one category, which sorts last."""
    counts = X["g"].value_counts()
    kept = sorted(counts.index, key=lambda label: (-counts[label], label))[:MOST]
    return X.assign(g=X["g"].where(X["g"].isin(kept) | X["g"].isna(), "~rare")), set(kept)


OPTIONS = {
    "default": {},
    "one": {"category_splits": "one"},
    "not in leaves": {"leaf_features": ["a", "b"], "split_features": ["g"]},
    "only in leaves": {"split_features": ["a"]},
    "auto": {"max_leaf_nodes": "auto", "significance_test": "likelihood"},
}


def fit(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        kind = ModelTreeRegressor if y.dtype.kind == "f" else ModelTreeClassifier
        return kind(**options).fit(X, y)


def predicted(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("option", OPTIONS)
def test_the_tree_is_that_of_one_name_for_all(few, table, option, classes, tmp_path):
    X, y = table
    if classes:
        y = np.digitize(y, [0.0] if classes == 2 else [-0.5, 0.7])
    grouped, kept = by_hand(X)
    model, expected = fit(X, y, **OPTIONS[option]), fit(grouped, y, **OPTIONS[option])
    assert set(model.tree_.columns[0].categories) == kept
    np.testing.assert_array_equal(model.apply(X), expected.apply(grouped))
    np.testing.assert_allclose(predicted(model, X), predicted(expected, grouped), rtol=1e-9)
    new = X.assign(g="never seen")
    named = X.assign(g="~rare")
    np.testing.assert_allclose(predicted(model, new), predicted(expected, named), rtol=1e-9)
    model.save(tmp_path / "m.json")
    np.testing.assert_array_equal(
        predicted(glassleaf.load(tmp_path / "m.json"), X), predicted(model, X)
    )


@pytest.mark.parametrize("classes", [0, 2])
def test_a_short_model_names_no_rare_category(few, table, classes):
    """All along its path, rare ones are what training never saw: they add nothing."""
    X, y = table
    y = (y > 0).astype(int) if classes else y
    _, kept = by_hand(X)
    model = fit(X, y, max_numbers="auto")
    assert set(model.tree_.columns[0].categories) == kept
    is_rare = ~X["g"].isin(kept) & X["g"].notna()
    for step in model.path_[::7]:
        short = model.at(numbers=step.numbers)
        assert short.complexity_.total == step.numbers
        np.testing.assert_array_equal(
            predicted(short, X[is_rare]), predicted(short, X[is_rare].assign(g="never seen"))
        )
    assert model.score(X, y) > fit(X[["a", "b"]], y).score(X[["a", "b"]], y) + 0.02


def test_candidates_and_contributions_stay_true(few, table):
    X, y = table
    grouped, _ = by_hand(X)
    model, expected = fit(X, y), fit(grouped, y)
    rivals, others = (m.tree_.record.candidates for m in (model, expected))
    np.testing.assert_array_equal(rivals.feature, others.feature)
    n_categories = MOST * int((rivals.first_category >= 0).sum())
    assert len(rivals.categories) == n_categories
    found, wanted = (
        glassleaf.shap_values(m, rows[:50], rows[50:150]).values
        for m, rows in ((model, X), (expected, grouped))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    for one, other in zip(
        glassleaf.explain(model, X[:20]), glassleaf.explain(expected, grouped[:20]), strict=True
    ):
        assert one.prediction == pytest.approx(other.prediction, rel=1e-9)


def test_a_warning_says_what_is_shared(few, table):
    X, y = table
    with pytest.warns(UserWarning, match=r"'g' has 200 categories\. The 60 most frequent.*140"):
        ModelTreeRegressor().fit(X, y)


def test_streamed_rows_share_the_same_place(few, table, tmp_path):
    X, y = table
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    streamed = ModelTreeRegressor(backend="stream")
    with pytest.warns(UserWarning, match="most frequent"):
        streamed.fit(str(tmp_path / "rows.parquet"), "y")
    np.testing.assert_allclose(streamed.predict(X), fit(X, y).predict(X), rtol=1e-9)


def test_few_categories_are_all_told_apart(rng):
    X = pd.DataFrame({"g": [f"c{k}" for k in rng.integers(0, 900, 4000)]})
    model = fit(X, rng.normal(size=4000))
    assert len(model.tree_.columns[0].categories) == X["g"].nunique()


def test_ten_thousand_categories_take_seconds(rng):
    n = 50_000
    X = pd.DataFrame({"g": [f"c{k}" for k in rng.integers(0, 10_000, n)], "a": rng.normal(size=n)})
    model = fit(X, X["a"].to_numpy() + rng.normal(size=n))
    assert len(model.tree_.columns[0].categories) == 1000
