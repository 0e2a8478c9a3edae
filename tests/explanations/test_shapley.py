"""Shapley values against their definition: all coalitions, one after the other."""

from itertools import combinations
from math import factorial

import bare
import needed
import numpy as np
import pandas as pd
import pytest
from problems import FORMS, KINDS, fitted, later, raw_of, unlimited, with_subsets

from glassleaf import explain, shap_values


def brute_force(model, X, background):
    """Straight from the definition: the mean raw score of every mixture of x and z."""
    d = X.shape[1]
    values = {}
    for size in range(d + 1):
        for coalition in combinations(range(d), size):
            mixed = pd.concat([background] * len(X), ignore_index=True)
            for j in coalition:
                mixed[X.columns[j]] = np.repeat(X.iloc[:, j].to_numpy(), len(background))
            raw = raw_of(model, mixed)
            values[frozenset(coalition)] = raw.reshape(len(X), len(background), -1).mean(axis=1)
    out = np.zeros((len(X), d, raw.shape[1]))
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for size in range(d):
            weight = factorial(size) * factorial(d - size - 1) / factorial(d)
            for coalition in map(frozenset, combinations(others, size)):
                out[:, j] += weight * (values[coalition | {j}] - values[coalition])
    return out, values[frozenset()]


def check(model, X, background, rtol=1e-9):
    found = shap_values(model, X, background)
    expected, base = brute_force(model, X, background)
    size = np.abs(expected).max() + np.abs(base).max()
    values = found.values.reshape(expected.shape)
    np.testing.assert_allclose(values, expected, rtol=rtol, atol=rtol * size)
    np.testing.assert_allclose(found.base_values.reshape(base.shape), base, rtol=rtol)
    raw = raw_of(model, X)
    total = found.base_values.reshape(raw.shape) + values.sum(axis=1)
    np.testing.assert_allclose(total, raw, rtol=rtol, atol=rtol * np.abs(raw).max())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_brute_force(kind, form):
    model, X, _ = fitted(kind, **FORMS[form])
    assert model.get_n_leaves() > 2
    check(unlimited(model), later(X).iloc[:9], X.iloc[100:107])


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_brute_force_of_a_deep_tree(kind):
    model, X, _ = fitted(kind, max_depth=5, min_samples_leaf=12, leaf_features=["b", "u"])
    assert model.get_depth() == 5
    check(model, later(X).iloc[:9], later(X).iloc[100:111])


@pytest.mark.parametrize("seed", range(4))
def test_brute_force_of_splits_on_subsets_of_categories(seed):
    model, X, _ = fitted("multiclass", max_depth=3, split_features=["t", "u"])
    check(with_subsets(model, seed), later(X).iloc[:9], later(X).iloc[100:109])


def test_brute_force_of_a_plain_linear_model():
    model, X, _ = fitted("squared_error", max_depth=0)
    check(model, X.iloc[:5], X.iloc[50:60])


def test_many_rows_and_background_rows_agree_with_few():
    model, X, _ = fitted("binary")
    many = pd.concat([later(X)] * 50, ignore_index=True)
    found = shap_values(model, many, X)
    some = [0, 17, 16_383, 16_384, 24_999]
    np.testing.assert_allclose(
        found.values[some], shap_values(model, many.iloc[some], X).values, rtol=1e-12, atol=1e-12
    )
    repeated = shap_values(model, X.iloc[:5], pd.concat([X] * 60, ignore_index=True))
    once = shap_values(model, X.iloc[:5], X)
    np.testing.assert_allclose(repeated.values, once.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(repeated.base_values, once.base_values, rtol=1e-9)


def test_a_feature_that_no_model_uses_gets_nothing(rng):
    X = rng.normal(size=(400, 3))
    model = bare.regressor(split_features=[0], leaf_features=[0, 1], max_depth=2)
    model.fit(X, np.where(X[:, 0] > 0, X[:, 1], 0) + X[:, 2])
    assert (shap_values(model, X[:20], X).values[:, 2] == 0).all()


def test_known_answer_of_a_product_of_split_and_slope():
    """f = [x0 > 0] * x1 against one background row, by hand."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.choice([-1.0, 1.0], 2000), rng.normal(size=2000)])
    model = bare.regressor(max_depth=1, split_features=[0], leaf_features=[1], alpha=0.0)
    model.fit(X, np.where(X[:, 0] > 0, X[:, 1], 0.0))
    found = shap_values(model, np.array([[1.0, 3.0]]), np.array([[-1.0, 1.0]]))
    np.testing.assert_allclose(found.values, [[2.0, 1.0]], atol=1e-6)
    assert found.base_values == pytest.approx(0.0, abs=1e-6)


def test_as_shap_explanation():
    shap = needed.module("shap")
    model, X, _ = fitted("binary")
    found = shap_values(model, X.iloc[:30], X).to_shap()
    assert isinstance(found, shap.Explanation)
    assert found.values.shape == (30, 6) and found.feature_names == list("abcdtu")
    assert found[0].base_values == pytest.approx(found.base_values[0])
    model, X, _ = fitted("multiclass")
    found = shap_values(model, X.iloc[:30], X).to_shap()
    assert found.values.shape == (30, 6, 3)
    assert found[:, :, "1"].values.shape == (30, 6)


def test_shap_plots_take_it(rng):
    shap = needed.module("shap")
    needed.module("matplotlib").use("agg")
    plt = needed.module("matplotlib.pyplot")
    X = rng.normal(size=(200, 4))
    model = bare.classifier().fit(X, X[:, 0] * X[:, 1] > 0)
    found = shap_values(model, X, X).to_shap()
    bars = shap.plots.bar(found, show=False).patches
    mean_sizes = np.sort(np.abs(found.values).mean(axis=0))[::-1]
    np.testing.assert_allclose([bar.get_width() for bar in bars[:4]], mean_sizes)
    plt.figure()
    waterfall = shap.plots.waterfall(found[0], show=False)
    names = [label.get_text() for label in waterfall.get_yticklabels()]
    assert all(any(name in label for label in names) for name in ("x0", "x1", "x2", "x3"))
    plt.close("all")


def test_contributions_relative_to_a_background_are_these():
    model, X, _ = fitted("multiclass")
    found = shap_values(model, X.iloc[:3], X)
    row = explain(model, X.iloc[:3], background=X)[1]
    np.testing.assert_allclose(list(row.contributions.values()), found.values[1])
    np.testing.assert_allclose(row.reference, found.base_values[1])
    assert row.reference_text == "mean score of 500 background rows"


def test_importance_is_the_mean_size():
    model, X, _ = fitted("squared_error")
    found = shap_values(model, X, X)
    importance = found.importance()
    assert importance["d"] == pytest.approx(np.abs(found.values[:, 3]).mean())
    assert list(importance.values()) == sorted(importance.values(), reverse=True)


def test_background_without_rows_is_refused():
    model, X, _ = fitted("squared_error")
    with pytest.raises(ValueError, match="background has no rows"):
        shap_values(model, X, X.iloc[:0])
