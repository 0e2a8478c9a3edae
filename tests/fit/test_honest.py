"""Honest trees: some rows say what the model looks like, others say its numbers."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, inference
from glassleaf.tables.content import set_aside
from glassleaf.tables.reading import read_table
from glassleaf.tree.regression import LeafRows, Parameter, Regression, Units

SPLITS = ("feature", "threshold", "left", "right", "missing_left")


@pytest.fixture
def problem(rng):
    frame = pd.DataFrame(rng.normal(size=(1200, 3)), columns=["a", "b", "c"])
    frame["r"] = rng.choice(["u", "v", "w"], len(frame))
    y = np.where(frame["a"] > 0, 1.5, 0.5) * frame["b"] + 0.5 * (frame["r"] == "u")
    return frame, np.asarray(y + 0.5 * rng.normal(size=len(frame)))


def parts(frame, y, share=0.5, groups=None):
    """Which rows are set aside."""
    categorical = np.array([name == "r" for name in frame])
    return set_aside(read_table(frame), categorical, np.asarray(y, dtype=float), groups, share)


@pytest.mark.parametrize("given", [{}, {"max_numbers": None}, {"max_numbers": 30}])
def test_the_structure_is_that_of_the_other_rows(problem, given):
    frame, y = problem
    aside = parts(frame, y)
    honest = ModelTreeRegressor(max_depth=2, honest=0.5, **given).fit(frame, y)
    grown = ModelTreeRegressor(max_depth=2, **given).fit(frame[~aside], y[~aside])
    for name in SPLITS:
        np.testing.assert_array_equal(getattr(honest.tree_, name), getattr(grown.tree_, name))
    np.testing.assert_array_equal(honest.tree_.coef != 0, grown.tree_.coef != 0)
    assert honest.tree_.n_samples[0] == aside.sum()
    leaves = honest.apply(frame[aside])
    for leaf in np.unique(leaves):
        assert honest.tree_.n_samples[leaf] == (leaves == leaf).sum()
        mean = y[aside][leaves == leaf].mean()
        np.testing.assert_allclose(honest.tree_.record.target[leaf], mean)


@pytest.mark.parametrize("numbers", [None, "auto"])
def test_the_numbers_are_those_of_the_rows_set_aside(problem, numbers):
    """Least squares on these, but for a thousandth of a row that says what the others said."""
    frame, y = problem
    aside = parts(frame, y)
    model = ModelTreeRegressor(
        max_depth=2, honest=0.5, max_numbers=numbers, coef_digits=None, leaf_features=["b", "c"],
        curves=False,
    ).fit(frame, y)  # fmt: skip
    table = inference(model, frame, y)
    found = table[table["where"] == table["where"][0]].set_index("term")["estimate"]
    node = 0 if numbers else model.model_.leaves[0]
    np.testing.assert_allclose(model.tree_.intercept[node], found["constant"], atol=1e-5)
    np.testing.assert_allclose(model.tree_.coef[node, 1], found["b"], atol=1e-5)
    assert abs((y - model.predict(frame))[aside].mean()) < 1e-5


def test_numbers_are_short_where_models_are(problem):
    frame, y = problem
    model = ModelTreeRegressor(max_depth=2, honest=0.5).fit(frame, y)
    used = model.tree_.coef[0][model.tree_.coef[0] != 0]
    assert all(len(f"{value:.12g}".strip("-0.")) <= 4 for value in used)
    estimate = inference(model, frame, y)["estimate"].to_numpy()[1 : 1 + len(used)]
    np.testing.assert_allclose(np.sort(used), np.sort(estimate), atol=0.05)


def test_order_copies_and_containers_do_not_matter(problem, rng):
    frame, y = problem
    frame, y = pd.concat([frame, frame[:300]]), np.append(y, y[:300])
    first = ModelTreeRegressor(max_depth=2, honest=0.4).fit(frame, y)
    order = rng.permutation(len(y))
    moved = frame.iloc[order].astype({"r": "category"})
    again = ModelTreeRegressor(max_depth=2, honest=0.4).fit(moved, y[order])
    np.testing.assert_allclose(first.predict(frame), again.predict(frame), atol=1e-9)
    aside = parts(frame, y, 0.4)
    assert 0.35 < aside.mean() < 0.45
    assert 0.3 < (aside[:300] != aside[-300:]).mean() < 0.65  # every copy is drawn by itself


def test_groups_stay_together(problem, rng):
    frame, y = problem
    groups = rng.integers(0, 60, len(y))
    aside = parts(frame, y, 0.5, groups.astype(str))
    of_groups = pd.Series(aside).groupby(groups).nunique()
    assert (of_groups == 1).all() and 0.2 < aside.mean() < 0.8
    model = ModelTreeRegressor(max_depth=1, honest=0.5).fit(frame, y, groups=groups)
    assert model.tree_.n_samples[0] == aside.sum()
    named = frame.assign(who=groups)
    by_name = ModelTreeRegressor(max_depth=1, honest=0.5).fit(named, y, groups="who")
    assert by_name.tree_.n_samples[0] == aside.sum()


@pytest.mark.parametrize(("n_classes", "positive"), [(2, None), (2, "no"), (3, None)])
def test_classes(problem, rng, n_classes, positive):
    frame, y = problem
    labels = np.where(y + rng.logistic(size=len(y)) > 0.3, "yes", "no")
    if n_classes == 3:
        labels[rng.random(len(y)) < 0.3] = "maybe"
    model = ModelTreeClassifier(max_depth=1, honest=0.5, positive_class=positive).fit(frame, labels)
    found = inference(model, frame, labels)
    assert len(found.attrs["notes"]) == 1  # they are the rows set aside
    assert found["estimate"].notna().all()
    share = model.tree_.record.target[0]
    np.testing.assert_allclose(share.sum(), 1.0)
    assert model.score(frame, labels) > 0.4


def test_all_lengths_are_honest(problem):
    frame, y = problem
    model = ModelTreeRegressor(max_depth=2, honest=0.5, coef_digits=None).fit(frame, y)
    aside = parts(frame, y)
    for step in model.path_[::5]:
        own = model.at(numbers=step.numbers)
        residual = y[aside] - own.predict(frame[aside])
        assert abs(residual.mean()) < 0.02
        np.testing.assert_allclose((residual**2).mean() / 2, step.loss, rtol=0.02)


@pytest.mark.filterwarnings("ignore:monotonic_cst")
@pytest.mark.parametrize("numbers", [None, "auto"])
def test_signs_hold(numbers):
    """A column whose slope is 0 gets the wrong sign in half of the tables."""
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(300, 2))
        y = X[:, 0] + np.random.default_rng(seed + 50).normal(size=300)
        model = ModelTreeRegressor(
            max_depth=1, honest=0.5, monotonic_cst=[0, 1], max_numbers=numbers,
            required_features=None if numbers is None else [1],
        ).fit(X, y)  # fmt: skip
        assert (model.tree_.coef[:, 1][model.tree_.left < 0] >= 0).all()


def test_a_leaf_without_rows_keeps_its_model(rng):
    """The pull of the first part decides where no row does."""
    X = np.column_stack([np.repeat([0.0, 1.0], [300, 12]), rng.normal(size=312)])
    y = np.where(X[:, 0] > 0, 5.0, 0.0) + X[:, 1]
    model = ModelTreeRegressor(
        max_depth=1, honest=0.02, min_samples_leaf=5, max_numbers=None, significance=None
    ).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.abs(model.predict(X) - y).mean() < 1.0


@pytest.mark.parametrize(
    "given, message",
    [
        ({"honest": 1.0}, "must be between 0 and 1"),
        ({"honest": 0}, "must be between 0 and 1"),
        ({"honest": 1.5}, "honest=1.5 must be a number from 0 to 1"),
    ],
)
def test_shares_are_checked(problem, given, message):
    with pytest.raises(ValueError, match=message):
        ModelTreeRegressor(**given).fit(*problem)


def test_too_few_rows_are_an_error():
    with pytest.raises(ValueError, match="both parts need some"):
        ModelTreeRegressor(honest=0.01).fit(np.arange(6.0).reshape(3, 2), np.arange(3.0))


def test_tables_in_pieces_are_refused(problem, tmp_path):
    frame, y = problem
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="honest is supported for tables in memory only"):
        ModelTreeRegressor(honest=0.5).fit(tmp_path, "y")


def test_fewer_rows_say_the_same(problem):
    """A triangle instead of all rows: the same estimates, by plain least squares as well."""
    frame, y = problem
    tree = ModelTreeRegressor(max_depth=0, leaf_features=["a", "b"]).fit(frame, y).tree_
    weight = np.linspace(0.5, 2.0, len(y))
    terms = np.column_stack([frame["a"], frame["b"], np.ones(len(y))])
    rows = LeafRows(0, terms, {0: 0, 1: 1}, y, weight)
    parameters = [Parameter(0, (), (1.0,)), Parameter(0, (1,), (1.0,))]
    found = [
        Regression(tree, parameters, [own], ModelTreeRegressor()._given_loss(), Units(0.0, 1.0))
        for own in (rows, rows.fewer())
    ]
    one, other = (own.estimated(np.zeros(2)) for own in found)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-10)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-10)
    np.testing.assert_allclose(found[0].weight, found[1].weight)
    root = np.sqrt(weight)[:, None]
    known = np.linalg.lstsq(terms[:, [2, 1]] * root, y * root[:, 0], rcond=None)[0]
    np.testing.assert_allclose(one.value, known, rtol=1e-10)
