"""Numbers that move together, and numbers that keep their order."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeRegressor, counterfactuals

SPREAD = {"a": 1.0, "b": 2.0, "c": 1.0}


def table(rng, n=1500):
    X = pd.DataFrame(rng.normal(size=(n, 3)) * list(SPREAD.values()), columns=list(SPREAD))
    y = X["a"] + 2 * X["c"] + (X["b"] > 0.5) * (3 + X["a"])
    return X, y + 0.01 * rng.normal(size=n)


def fitted(rng, **given):
    X, y = table(rng)
    return ModelTreeRegressor(max_numbers=None, n_jobs=1, **given).fit(X, y), X


def moved(row, answer):
    """The row with the changes as they are printed."""
    out = row.copy()
    for change in answer.changes:
        out[change.feature] = float(change.text.split(" → ")[1])
    return out


def units(X):
    return X.std(ddof=0)


def test_linked_numbers_move_by_as_many_of_their_spreads(rng):
    model, X = fitted(rng)
    for k in range(20):
        row = X.iloc[[k]]
        target = float(model.predict(row)[0]) + 1.0
        for answer in counterfactuals(model, row, target, linked_features=[("a", "b")]):
            steps = (moved(row, answer) - row).iloc[0] / units(X)
            assert model.predict(moved(row, answer))[0] >= target
            if steps["a"]:
                assert steps["a"] == pytest.approx(steps["b"], abs=2e-3)
                assert answer.size == pytest.approx(steps["a"] + abs(steps["c"]), abs=2e-3)


@pytest.mark.parametrize("leaf_transform", ["none", "rank"])
def test_no_smaller_linked_change_works(rng, leaf_transform):
    """Against many steps, tried one after the other."""
    model, X = fitted(rng, leaf_transform=leaf_transform)
    n_answers = 0
    for k in range(40):
        row = X.iloc[[k]]
        target = float(model.predict(row)[0]) + 2.0
        found = counterfactuals(
            model, row, target, actionable=["a", "b"], linked_features=[("a", "b")], max_changes=1
        )
        steps = np.linspace(-6, 6, 4001)
        rows = pd.concat([row] * len(steps), ignore_index=True)
        for name in "ab":
            unit = units(X)[name] if leaf_transform == "none" else rank_unit(model, name)
            rows[name] = np.clip(rows[name] + steps * unit, X[name].min(), X[name].max())
        works = np.abs(steps[model.predict(rows) >= target])
        assert bool(found) == bool(len(works))
        if found:
            n_answers += 1
            assert found[0].size <= works.min() + 5e-3
    assert n_answers > 5


def rank_unit(model, name):
    """Half the range between one spread below and above the mean, on the scale of ranks."""
    tree, column = model.tree_, model.model_.names.index(name)
    term = int(tree.terms.first_term[column])
    mean, spread = tree.record.mean[0, term], tree.record.spread[0, term]
    low, high = tree.terms.knots(column).inverse(np.array([mean - spread, mean + spread]))
    return (high - low) / 2


def test_whole_numbers_lead_and_stay_whole(rng):
    X, y = table(rng)
    X["b"] = X["b"].round().astype(int)
    model = ModelTreeRegressor(max_numbers=None, n_jobs=1).fit(X, y)
    n_answers = 0
    for k in range(20):
        row = X.iloc[[k]]
        target = float(model.predict(row)[0]) + 1.5
        for answer in counterfactuals(model, row, target, linked_features=[("a", "b")]):
            new = moved(row, answer)
            n_answers += 1
            assert model.predict(new)[0] >= target
            assert float(new["b"].iloc[0]).is_integer()
    assert n_answers


def test_what_one_may_not_the_others_cannot(rng):
    model, X = fitted(rng)
    row = X.iloc[[0]]
    target = float(model.predict(row)[0]) + 1.0
    given = {"linked_features": [["a", "b"]], "immutable": ["b"]}
    names = {c.feature for x in counterfactuals(model, row, target, **given) for c in x.changes}
    assert names == {"c"}


def test_a_missing_number_stays_missing(rng):
    model, X = fitted(rng)
    row = X.iloc[[0]].assign(b=np.nan)
    target = float(model.predict(row)[0]) + 0.5
    found = counterfactuals(
        model, row, target, actionable=["a", "b"], linked_features=[("a", "b")], max_changes=1
    )
    assert {tuple(c.feature for c in answer.changes) for answer in found} == {("a",)}


def test_numbers_keep_the_order_of_the_background(rng):
    X = pd.DataFrame({"all": rng.uniform(0, 10, size=2000)})
    X["part"] = X["all"] * rng.uniform(size=2000)
    X["other"] = rng.normal(size=2000)
    y = X["all"] - 3 * X["part"] + 0.1 * X["other"]
    model = ModelTreeRegressor(max_depth=0, n_jobs=1).fit(X, y)
    row = pd.DataFrame({"all": [4.0], "part": [2.0], "other": [0.0]})
    target = float(model.predict(row)[0]) - 7.5
    broken = kept = 0
    for max_changes in (1, 2):
        free = counterfactuals(model, row, target, max_changes=max_changes)
        broken += sum(moved(row, x)["part"].iloc[0] > moved(row, x)["all"].iloc[0] for x in free)
        for x in counterfactuals(model, row, target, max_changes=max_changes, background=X):
            new = moved(row, x)
            kept += 1
            assert new["part"].iloc[0] <= new["all"].iloc[0]
            assert model.predict(new)[0] <= target
    assert broken and kept


def test_linked_numbers_keep_the_order_of_the_background(rng):
    """The smaller one is linked to a third number, and stops where the larger one is."""
    X = pd.DataFrame({"all": rng.uniform(0, 10, size=2000)})
    X["part"] = X["all"] * rng.uniform(size=2000)
    X["other"] = rng.normal(size=2000)
    model = ModelTreeRegressor(max_depth=0, alpha=0, n_jobs=1)
    model.fit(X, X["all"] + 3 * X["part"] + X["other"])
    row = pd.DataFrame({"all": [4.0], "part": [2.0], "other": [0.0]})
    given = {"linked_features": [("part", "other")], "actionable": ["part", "other", "all"]}
    free = counterfactuals(model, row, 20.0, **given, max_changes=1)
    assert moved(row, free[0])["part"].iloc[0] > 4
    assert all(answer.changes[0].feature == "all" or len(answer.changes) == 2 for answer in free)
    kept = counterfactuals(model, row, 20.0, **given, background=X)
    assert kept
    for answer in kept:
        new = moved(row, answer)
        assert new["part"].iloc[0] <= new["all"].iloc[0]
        assert model.predict(new)[0] >= 20


def test_what_the_model_does_not_use_may_make_room(rng):
    """Alone it changes nothing; but a part can only rise beyond its whole if that rises, too."""
    X = pd.DataFrame({"all": rng.uniform(0, 10, size=2000)})
    X["part"] = X["all"] * rng.uniform(size=2000)
    X["other"] = rng.normal(size=2000)
    model = ModelTreeRegressor(max_depth=0, max_numbers=None, leaf_features=["part"], n_jobs=1)
    model.fit(X, X["part"])
    row = pd.DataFrame({"all": [4.0], "part": [2.0], "other": [0.0]})
    (free,) = counterfactuals(model, row, 6.0)
    assert [change.feature for change in free.changes] == ["part"]
    (kept,) = counterfactuals(model, row, 6.0, background=X)
    assert [change.feature for change in kept.changes] == ["all", "part"]
    new = moved(row, kept)
    assert new["part"].iloc[0] <= new["all"].iloc[0] and model.predict(new)[0] >= 6


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([("a", "x")], "linked_features names 'x'"),
        ([("a", "shade")], "'shade' holds categories; only numbers"),
        ([("a", "b"), ("b", "c")], "'b' occurs twice"),
        (["ab"], "must be groups of features"),
    ],
)
def test_links_that_mean_nothing_are_refused(rng, links, message):
    X, y = table(rng, 200)
    X["shade"] = rng.choice(["red", "green"], size=200)
    model = ModelTreeRegressor(n_jobs=1).fit(X, y)
    with pytest.raises(ValueError, match=message):
        counterfactuals(model, X.iloc[[0]], 100.0, linked_features=links)
