"""Short models: no more numbers than asked for, all counted; the way from short to long."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, load
from glassleaf.tree.complexity import count_numbers, shares_formula

PLAIN = {"leaf_transform": "none", "curves": False, "n_jobs": 1}


def table(rng, n=1500):
    """A formula for all rows; where a is large, b counts more and the level is lower, and so on."""
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    X["t"] = rng.choice(["red", "green", "blue"], size=n)
    score = 1.0 + 0.5 * X["b"] - X["c"] + (X["t"] == "red") * 0.8
    score += (X["a"] > 0.3) * (2.0 * X["b"] - 1.5) + ((X["a"] <= 0.3) & (X["d"] > 0)) * X["e"]
    return X, score.to_numpy()


def target(kind, score, rng):
    if kind == "binary":
        return np.where(score + rng.logistic(size=len(score)) > 0.5, "yes", "no")
    if kind == "multiclass":
        return np.digitize(score + rng.logistic(size=len(score)), [0.0, 1.5])
    if kind == "poisson":
        return rng.poisson(np.exp(0.3 * score))
    return score + 0.3 * rng.normal(size=len(score))


def fitted(kind, rng, **parameters):
    X, score = table(rng)
    given = {**PLAIN, "max_depth": 2, **parameters}
    if kind in ("binary", "multiclass"):
        model = ModelTreeClassifier(**given)
    else:
        model = ModelTreeRegressor(loss=kind, **given)
    return model.fit(X, target(kind, score, rng)), X


KINDS = ["squared_error", "huber", "poisson", "binary", "multiclass"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_numbers_than_asked_for(rng, kind):
    for most in (5, 12, 25):
        model, X = fitted(kind, rng, max_numbers=most)
        assert model.complexity_.total <= most
        assert model.complexity_.total == sum(model.complexity_.parts.values())
        model.predict(X)


@pytest.mark.parametrize("kind", KINDS)
def test_what_steps_count_is_what_their_trees_hold(rng, kind):
    model, _ = fitted(kind, rng, max_numbers="auto")
    path = model.model_.path
    assert len(path.steps) > 5
    for step in path.steps:
        tree = path.tree(step)
        total = count_numbers(tree).total
        assert total == step.numbers if shares_formula(tree) else total <= step.numbers


def test_equal_coefficients_are_equal_bit_for_bit(rng):
    model, _ = fitted("squared_error", rng, max_numbers=12)
    tree = model.tree_
    assert tree.n_leaves > 1
    column = tree.term_names.index("c")
    assert len({float(coef[column]) for coef in tree.coef}) == 1


def test_a_path_gets_better_on_its_rows_and_says_what_came(rng):
    model, _ = fitted("squared_error", rng, max_numbers="auto")
    steps = model.path_
    assert [step.numbers for step in steps] == sorted({step.numbers for step in steps})
    loss = np.array([step.loss for step in steps])
    assert (np.diff(loss) <= 0.002 * loss[1:]).all()  # short numbers cost a thousandth
    assert steps[0].what == "a constant"
    assert any("b counts " in step.what and " where a " in step.what for step in steps)


@pytest.mark.parametrize("kind", ["squared_error", "binary"])
def test_the_automatic_length_is_enough(rng, kind):
    model, X = fitted(kind, rng, max_numbers="auto")
    whole, _ = fitted(kind, np.random.default_rng(0), max_numbers=None)
    assert model.complexity_.total < whole.complexity_.total / 2
    X, score = table(rng)
    y = target(kind, score, rng)
    assert model.score(X, y) > whole.score(X, y) - 0.02
    best = min(step.validated for step in model.path_)
    chosen = next(s for s in model.path_ if s.numbers == model.complexity_.total)
    assert chosen.validated <= best + chosen.error


def test_a_step_is_the_fit_of_that_length(rng):
    X, score = table(rng)
    y = target("squared_error", score, rng)
    long = ModelTreeRegressor(**PLAIN, max_depth=2, max_numbers="auto").fit(X, y)
    short = ModelTreeRegressor(**PLAIN, max_depth=2, max_numbers=15).fit(X, y)
    found = long.at(numbers=15)
    np.testing.assert_array_equal(found.predict(X), short.predict(X))
    assert found.max_numbers == 15 and long.max_numbers == "auto"
    assert long.at(numbers=8).complexity_.total < found.complexity_.total <= 15


def test_the_loss_of_a_step_is_that_of_its_rows(rng):
    X, score = table(rng)
    y = target("binary", score, rng)
    model = ModelTreeClassifier(**PLAIN, max_depth=2, max_numbers="auto").fit(X, y)
    for step in model.path_[::9]:
        p = model.at(numbers=step.numbers).predict_proba(X)[np.arange(len(y)), (y == "yes") * 1]
        assert step.loss == pytest.approx(-np.log(p).mean(), rel=1e-6)


def test_validated_losses_are_those_of_other_rows(rng):
    """By simulation: what is promised for a length holds on fresh rows."""
    model, _ = fitted("squared_error", rng, max_numbers="auto")
    X, score = table(np.random.default_rng(1), 20_000)
    y = target("squared_error", score, np.random.default_rng(2))
    for step in model.path_:
        if step.numbers in (5, 12, 22):
            found = ((model.at(numbers=step.numbers).predict(X) - y) ** 2).mean() / 2
            assert step.validated == pytest.approx(found, rel=0.15)


@pytest.mark.parametrize(("kind", "sign"), [("squared_error", 1), ("poisson", 1), ("poisson", -1)])
@pytest.mark.filterwarnings("ignore:monotonic_cst")  # a wrong sign leaves the column out
def test_signs_hold_in_short_models(rng, kind, sign):
    X, score = table(rng)
    y = target(kind, score, rng)
    given = {**PLAIN, "loss": kind, "max_numbers": "auto", "monotonic_cst": {"b": sign}}
    model = ModelTreeRegressor(**given).fit(X, y)
    for step in model.path_[::3]:
        at = model.at(numbers=step.numbers)
        higher = X.assign(b=X["b"] + 1.0)
        assert (sign * (at.predict(higher) - at.predict(X)) >= -1e-12).all()


def test_a_constant_that_is_zero_for_training_is_kept():
    """Balanced targets are 1 and -1 in the units of training, of mean exactly zero."""
    X, y = np.zeros((40, 1)), np.tile([0.0, 1.0], 20)
    model = ModelTreeRegressor(max_numbers=3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), 0.5)


def test_text_says_the_formula_for_all_rows_and_what_differs(rng):
    model, _ = fitted("squared_error", rng, max_numbers=12)
    text = model.export_text()
    assert f", {model.complexity_.total} numbers to read, " in text.splitlines()[0]
    assert "score of all 1,500 rows = " in text
    assert "as above" in text
    assert "Leaf 1:" not in text


def test_weights_count_as_copies(rng):
    X, score = table(rng, 600)
    y = target("squared_error", score, rng)
    weight = rng.integers(1, 4, size=600)
    row = np.repeat(np.arange(600), weight)
    given = {**PLAIN, "max_depth": 1, "max_numbers": 12, "alpha": 1.0, "significance": None}
    weighted = ModelTreeRegressor(**given).fit(X, y, sample_weight=weight)
    copied = ModelTreeRegressor(**given).fit(X.iloc[row], y[row])
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-6, atol=1e-8)


def test_a_file_keeps_the_short_model(rng, tmp_path):
    model, X = fitted("squared_error", rng, max_numbers=12)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.complexity_.total == model.complexity_.total
    assert again.at(numbers=5).tree_ == model.at(numbers=5).tree_


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 30])
def test_tables_of_few_rows(n):
    X, y = np.arange(n)[:, None] * 1.0, np.arange(n) * 2.0
    found = ModelTreeRegressor().fit(X, y).predict(X)
    assert np.isfinite(found).all()
    if n >= 9:
        assert np.corrcoef(found, y)[0, 1] > 0.99


def test_wrong_numbers_are_refused(rng):
    X, score = table(rng, 100)
    for wrong in (0, -3):
        with pytest.raises(ValueError, match="max_numbers"):
            ModelTreeRegressor(max_numbers=wrong).fit(X, score)
    with pytest.raises(TypeError, match="max_numbers='few'"):
        ModelTreeRegressor(max_numbers="few").fit(X, score)
    for other in ({"coef_digits": 2}, {"clamp": (0.1, 0.9)}):
        with pytest.raises(ValueError, match=f"leave {next(iter(other))} out"):
            ModelTreeRegressor(max_numbers=9, **other).fit(X, score)
    model = ModelTreeRegressor(**PLAIN, max_numbers=None).fit(X, score)
    with pytest.raises(AttributeError, match="max_numbers=None"):
        _ = model.path_


def test_where_there_is_no_room_every_leaf_has_a_formula_of_its_own(rng, monkeypatch):
    """With hundreds of classes, sums of all pairs of scores and columns fill any memory."""
    X, score = table(rng)
    y = target("multiclass", score, rng)
    monkeypatch.setattr("glassleaf.fit.train._MOST_BYTES", 1e4)
    with pytest.warns(UserWarning, match="3 scores and 9 columns.*max_numbers=None"):
        model = ModelTreeClassifier(**PLAIN, max_depth=1).fit(X, y)
    assert model.model_.path is None and len(model.export_text()) > 100
    asked = ModelTreeClassifier(**PLAIN, max_depth=1, max_numbers=20).fit(X, y)
    assert asked.complexity_.total <= 20
