"""Columns with a sign: predictions are monotone, and a sign against the data is no secret."""

import warnings

import numpy as np
import pandas as pd
import pytest
from whole_models import ModelTreeClassifier, ModelTreeRegressor


@pytest.fixture
def table(rng):
    return pd.DataFrame(rng.normal(size=(1500, 3)), columns=["up", "down", "free"])


def target(kind, table, rng):
    score = np.where(table["free"] > 0, table["up"], 0.2 * table["up"]) - table["down"]
    score = score + 0.3 * rng.normal(size=len(table))
    return np.where(score > 0, "good", "bad") if kind is ModelTreeClassifier else np.exp(score / 3)


CASES = [
    (ModelTreeRegressor, {}),
    (ModelTreeRegressor, {"loss": "poisson", "leaf_transform": "rank"}),
    (ModelTreeRegressor, {"loss": "huber", "clamp": (0.05, 0.95)}),
    (ModelTreeRegressor, {"loss": "gamma", "clamp": False, "shrink": "zero", "refine": True}),
    (ModelTreeClassifier, {}),
    (ModelTreeClassifier, {"max_leaf_nodes": 6, "significance": None, "coef_digits": 2}),
]


@pytest.mark.parametrize(("kind", "given"), CASES)
@pytest.mark.parametrize("sign", [1, -1])
def test_predictions_are_monotone(rng, table, kind, given, sign):
    """With the signs of the data and against them."""
    signs = {"up": sign, "down": -sign}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(monotonic_cst=signs, **given).fit(table, target(kind, table, rng))
    score = model.decision_function if kind is ModelTreeClassifier else model.predict
    for column, own in signs.items():
        rows = table.iloc[:40].loc[np.repeat(np.arange(40), 50)].reset_index(drop=True)
        rows[column] = np.tile(np.linspace(-6, 6, 50), 40)
        steps = np.diff(score(rows).reshape(40, 50), axis=1)
        assert (own * steps >= -1e-12).all()
        assert (own * steps > 0).any() == (sign == 1)


@pytest.mark.parametrize("seed", range(6))
def test_predictions_are_monotone_on_a_grid_of_all_columns(seed):
    """Random slopes in random regions, random signs: every corner, within the data and beyond."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(600, 3)), rng.integers(0, 3, 600)])
    X[rng.random(600) < 0.1, 0] = np.nan
    region = (X[:, 1] > 0).astype(int) + 2 * (X[:, 3] > 1)
    score = (np.nan_to_num(X) * rng.normal(size=(4, 4))[region]).sum(axis=1)
    kind = [ModelTreeRegressor, ModelTreeClassifier][seed % 2]
    y = score if kind is ModelTreeRegressor else np.digitize(score, [0.0])
    signs = rng.permutation([1, 1, -1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(monotonic_cst=signs, max_leaf_nodes=8, significance=None).fit(X, y)
    assert model.get_n_leaves() > 2
    points = [np.linspace(-5, 5, 11)] * 3 + [np.arange(-1.0, 4.0)]
    grid = np.stack(np.meshgrid(*points, indexing="ij"), axis=-1)
    rows = grid.reshape(-1, 4)
    found = model.predict_proba(rows)[:, 1] if kind is ModelTreeClassifier else model.predict(rows)
    found = found.reshape(grid.shape[:-1])
    for column, sign in enumerate(signs):
        assert (sign * np.diff(found, axis=column) >= -1e-12 * np.abs(found).max()).all()


# --- signs against the data ----------------------------------------------------------------------


def test_a_sign_against_the_data_is_a_warning(rng, table):
    model = ModelTreeRegressor(monotonic_cst={"up": -1, "down": -1})
    y = target(ModelTreeRegressor, table, rng)
    with pytest.warns(UserWarning, match=r"\{'up': -1\}: .* zero in every leaf") as said:
        model.fit(table, y)
    assert len(said) == 1 and said[0].filename == __file__
    assert "class" not in str(said[0].message)
    assert not model.tree_.coef[:, 0].any()


def test_the_warning_says_which_class_the_sign_is_about(rng, table):
    y = target(ModelTreeClassifier, table, rng)
    with pytest.warns(UserWarning, match="probability of 'good'; positive_class says"):
        ModelTreeClassifier(monotonic_cst=[-1, 1, 0]).fit(table, y)


@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
@pytest.mark.parametrize("signs", [None, {"up": 1, "down": -1}, [1, -1, 0], {"up": 0}])
def test_signs_of_the_data_are_no_warning(rng, table, kind, signs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(monotonic_cst=signs).fit(table, target(kind, table, rng))


def test_a_column_that_matters_in_one_leaf_is_no_warning(rng):
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + 0.1 * rng.normal(size=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = ModelTreeRegressor(max_depth=1, monotonic_cst=[0, 1]).fit(X, y).tree_
    assert sorted(tree.coef[1:, 1] > 0) == [False, True]
