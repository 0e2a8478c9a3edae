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


def bent_problem(rng, kind, n=1200):
    """Curves that rise, jump, turn round and differ by region, in a table with everything."""
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "d"])
    X["heavy"] = np.round(np.exp(2 * X["d"]), 1)
    X["text"] = rng.choice(list("uvw"), n)
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    a, places = X["a"].fillna(1.5), rng.normal(size=4)
    size = rng.choice([-3.0, 3.0])
    score = size * (np.clip(a, *np.sort(places[:2])) - (a > places[2]))
    score += np.where(X["text"] == "u", 3.0, 1.0) * np.abs(X["b"] - places[3] / 4)
    score += np.where(X["c"] > 0, 1.0, rng.normal()) * np.log1p(X["heavy"])
    score += 0.3 * rng.normal(size=n)
    if kind is ModelTreeClassifier:
        return X, np.where(score > score.median(), "bad", "good")
    return X, np.exp(score / 4) if rng.random() < 0.5 else score


def swept(model, X, column, values):
    """Scores of rows in which one column takes every value."""
    rows = X.iloc[np.repeat(np.arange(len(X)), len(values))].reset_index(drop=True)
    rows[column] = np.tile(values, len(X))
    is_classifier = hasattr(model, "predict_proba")
    found = model.predict_proba(rows)[:, 0] if is_classifier else model.predict(rows)
    return found.reshape(len(X), len(values))


BENT_CASES = [
    {},
    {"max_numbers": "auto"},
    {"max_numbers": 30, "significance": None},
    {"max_numbers": "auto", "honest": 0.5},
    {"honest": 0.4, "curves": True},
    {"coef_digits": 1, "curves": True, "significance": None},
    {"leaf_transform": "rank", "curves": True, "clamp": False},
    {"clamp": (0.05, 0.95), "max_leaf_nodes": 6, "significance": None},
    {"shrink": "zero", "max_leaf_nodes": "auto"},
]


@pytest.mark.parametrize("given", BENT_CASES)
@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
def test_curves_are_monotone_whatever_the_data_say(given, kind):
    """Every value of the column and beyond, in rows as they came and in rows that never came."""
    rng, n_bent = np.random.default_rng(len(str(given))), 0
    for seed in range(2):
        X, y = bent_problem(rng, kind)
        signs = {"a": [1, -1][seed], "b": 1, "heavy": -1}
        own = {"positive_class": "good"} if kind is ModelTreeClassifier else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(monotonic_cst=signs, **own, **given).fit(X, y)
        n_bent += len({X.columns[j] for j in model.tree_.terms.bent} & set(signs))
        rows = X.sample(40, random_state=0)
        strange = rows.apply(lambda own: own.sample(frac=1, random_state=1).to_numpy())
        strange[["c", "d"]] *= 10
        for column, sign in signs.items():
            seen = np.unique(X[column].dropna())
            beyond = np.linspace(seen[0] - 5 * np.ptp(seen), seen[-1] + 5 * np.ptp(seen), 40)
            found = swept(model, pd.concat([rows, strange]), column, np.union1d(seen[::7], beyond))
            direction = -sign if kind is ModelTreeClassifier else sign  # of the first class, "bad"
            steps = direction * np.diff(found, axis=1)
            assert steps.min() >= -1e-11 * np.abs(found).max()
    assert n_bent > 0


def test_a_curve_that_only_rises_is_found(rng):
    """Steep between two places, by as many numbers as a curve that is free."""
    X = pd.DataFrame(rng.uniform(-1, 1, size=(3000, 2)), columns=["a", "b"])
    truth = 3 * np.clip(X["a"], -0.4, 0.3) * np.where(X["b"] > 0, 1.0, 0.3)
    y = truth + 0.2 * rng.normal(size=3000)
    for numbers in (None, "auto"):
        free, rising = (
            ModelTreeRegressor(max_numbers=numbers, monotonic_cst=signs).fit(X, y)
            for signs in (None, {"a": 1})
        )
        assert rising.score(X, truth) > 0.99
        assert rising.complexity_.total <= free.complexity_.total + 5


def test_missing_values_need_no_sign(rng):
    """They lie nowhere along the column: what is known of them may be high or low."""
    x = rng.normal(size=2000)
    y = x + 0.1 * rng.normal(size=2000)
    x[::5] = np.nan
    for missing in (-10.0, 10.0):
        y = np.where(np.isnan(x), missing, y)
        for numbers in (None, "auto"):
            given = {"max_numbers": numbers, "monotonic_cst": [1]}
            model = ModelTreeRegressor(**given).fit(x[:, None], y)
            assert abs(model.predict([[np.nan]])[0] - missing) < 0.5


def test_with_absolute_values_in_the_penalty_lines_with_a_sign_stay_straight(rng):
    X = rng.normal(size=(1000, 2))
    y = np.exp(X[:, 0]) + np.exp(X[:, 1])
    model = ModelTreeRegressor(l1_ratio=0.5, monotonic_cst=[1, 0]).fit(X, y)
    assert model.tree_.terms.bent == [1]


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
