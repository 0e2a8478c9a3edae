"""Counterfactuals: they must work, be within the limits, and no smaller change may work."""

import copy
from dataclasses import replace

import bare
import numpy as np
import pandas as pd
import pytest
from problems import FORMS, KINDS, fitted, later

from glassleaf import counterfactuals, explain
from glassleaf.explanations.counterfactuals.search import Change
from glassleaf.explanations.kinks import kink_values


def changed(row, answer):
    out = row.copy()
    for change in answer.changes:
        out[change.feature] = change.new
    return out


def goal(kind, model, row):
    if kind == "binary":
        return None
    if kind == "multiclass":
        return (model.predict(row)[0] + 1) % 3
    return float(model.predict(row)[0]) * 1.2 + 0.1


def reached(kind, model, row, target, before):
    if kind == "binary":
        return model.predict(row)[0] != before
    if kind == "multiclass":
        return model.predict(row)[0] == target
    return model.predict(row)[0] >= target * (1 - 1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_works(kind, form):
    model, X, _ = fitted(kind, max_depth=3, **FORMS[form])
    n_answers = 0
    for k in (0, 3, 8, 21):
        row = later(X).iloc[[k]]
        target, before = goal(kind, model, row), model.predict(row)[0]
        for answer in counterfactuals(model, row, target):
            n_answers += 1
            new = changed(row, answer)
            assert 1 <= len(answer.changes) <= 2
            assert reached(kind, model, new, target, before), answer.text
            assert model.apply(new)[0] == answer.leaf
            for change in answer.changes:
                if change.feature in "abcd":
                    assert X[change.feature].min() <= change.new <= X[change.feature].max()
    assert n_answers


def smallest_on_a_grid(model, row, target, names, X, units):
    """The smallest change among many values, tried one after the other."""
    n = 400 if len(names) == 1 else 100
    values = {}
    for name in names:  # behind a jump, or at a bend, only few values may be enough
        kinks = np.array(kink_values(model.tree_, list(X.columns).index(name)))
        some = [np.linspace(X[name].min(), X[name].max(), n), kinks, np.nextafter(kinks, np.inf)]
        inside = np.unique(np.concatenate([*some, row[name]]))
        values[name] = inside[(inside >= X[name].min()) & (inside <= X[name].max())]
    if len(names) == 1:
        tried = pd.DataFrame(values)
    else:
        mesh = np.meshgrid(*values.values())
        tried = pd.DataFrame({name: m.ravel() for name, m in zip(names, mesh, strict=True)})
    rows = pd.concat([row] * len(tried), ignore_index=True)
    for name in names:
        rows[name] = tried[name].to_numpy()
    works = model.predict(rows) >= target
    size = sum(np.abs(tried[name] - row[name].iloc[0]) / units[name] for name in names)
    return size[works].min() if works.any() else np.inf


@pytest.mark.parametrize("curves", [False, True])
@pytest.mark.parametrize("transform", ["none", "rank"])
@pytest.mark.parametrize("clamp", [False, True])
def test_no_smaller_change_works(rng, clamp, transform, curves):
    X = pd.DataFrame(rng.normal(size=(800, 3)), columns=list("abc"))
    y = np.where(X["a"] > 0.3, X["b"], -X["b"]) + np.where(X["b"] > 0, 0.5 * X["c"], -X["c"])
    if curves:
        y += 2 * np.cos(2 * X["a"]) + X["c"] ** 2
    settings = {"clamp": clamp, "leaf_transform": transform, "curves": curves}
    model = bare.regressor(max_depth=3, **settings).fit(X, y)
    assert len(explain(model).bent) == 2 * curves
    units = {}
    for name in X:
        answer = counterfactuals(model, X.iloc[[0]], 3.0, actionable=[name], max_changes=1)
        units[name] = X[name].std(ddof=0)
        if answer:
            moved = abs(answer[0].changes[0].new - X[name].iloc[0])
            units[name] = moved / answer[0].size
    checked = 0
    for k in range(6):
        row = X.iloc[[k]]
        target = float(model.predict(row)[0]) + 0.7
        for names in (["a"], ["b"], ["c"], ["a", "b"], ["b", "c"]):
            found = counterfactuals(model, row, target, actionable=names)
            best = min((answer.size for answer in found), default=np.inf)
            expected = smallest_on_a_grid(model, row, target, names, X, units)
            past = 3e-3  # answers are round numbers
            assert best <= expected + past, (k, names)
            if np.isfinite(best):
                checked += 1
                n_steps = 399 if len(names) == 1 else 99
                step = sum(np.ptp(X[name]) / n_steps / units[name] for name in names)
                assert best >= expected - 2 * step
    assert checked > 10


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_limits_of_scores_are_honoured(rng, sign):
    """Where the near leaf cannot reach the target, the far one does; and else nothing."""
    X = pd.DataFrame({"a": rng.uniform(-1, 1, 1000), "b": rng.uniform(-1, 1, 1000)})
    y = sign * (np.where(X["a"] > 0, 1.0, -1.0) + 3 * X["b"])
    model = bare.regressor(max_depth=1, split_features=["a"], alpha=0).fit(X, y)
    row = pd.DataFrame({"a": [-0.5], "b": [-0.9]})
    target = sign * 1.5
    assert counterfactuals(model, row, target, actionable=["b"])
    tree = model.tree_
    most = np.where(tree.apply(np.array([[0.5, 0.0]])) == np.arange(tree.node_count), 2.0, 1.0)
    ends = {"score_high": most} if sign > 0 else {"score_low": -most}
    limited = copy.copy(model)
    limited.model_ = replace(model.model_, tree=replace(tree, **ends))
    assert counterfactuals(limited, row, target, actionable=["b"]) == []
    found = counterfactuals(limited, row, target)
    assert found and all("a" in [change.feature for change in one.changes] for one in found)
    for one in found:
        assert sign * limited.predict(changed(row, one))[0] >= 1.5
    assert counterfactuals(limited, row, sign * 2.5) == []


def test_known_answer_across_a_border():
    """The score jumps by 10 where x0 passes 0: cheaper than a long way along the slope of x1."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-1.0, 1.0], 1000), rng.normal(size=1000)])
    model = bare.regressor(max_depth=1, split_features=[0], leaf_features=[1], alpha=0)
    model.fit(X, 10.0 * (X[:, 0] > 0) + X[:, 1])
    one = counterfactuals(model, [[-1.0, 0.0]], 5.0, bounds={1: (None, None)})
    assert one[0].changes[0].feature == "x0"
    assert 0 < one[0].changes[0].new <= 1e-3
    other = counterfactuals(model, [[-1.0, 0.0]], 5.0, immutable=["x0"], bounds={1: (None, None)})
    assert other[0].changes[0].new == pytest.approx(5.0, abs=1.1e-3)
    assert counterfactuals(model, [[-1.0, 0.0]], 5.0, immutable=["x0"]) == []


def test_limits_are_kept():
    model, X, _ = fitted("binary", max_depth=3)
    for k in range(12):
        row = X.iloc[[k]]
        answers = counterfactuals(
            model, row, immutable=["a", "u"], bounds={"d": (-0.5, 0.5)}, levels={"t": ["red"]}, n=50
        )
        for answer in answers:
            for change in answer.changes:
                assert change.feature not in "au"
                assert change.feature != "d" or -0.5 <= change.new <= 0.5
                assert change.feature != "t" or change.new == "red"
    only = counterfactuals(model, X.iloc[[0]], actionable=["b", "d"], n=50)
    assert {change.feature for answer in only for change in answer.changes} <= {"b", "d"}


@pytest.mark.parametrize("given", [{}, {"integers": ["n", "m"]}])
@pytest.mark.parametrize("high", [40, 100_000])
def test_integers_stay_whole(rng, high, given):
    X = pd.DataFrame({"n": rng.integers(0, high, 800), "m": rng.integers(0, high, 800)})
    y = np.where(X["n"] > high / 2, X["m"], -2.0 * X["m"]) / high
    model = bare.regressor(max_depth=2).fit(X, y)
    for k in range(10):
        row = X.iloc[[k]]
        target = float(model.predict(row)[0]) + 0.3
        for answer in counterfactuals(model, row, target, **given):
            assert all(float(change.new).is_integer() for change in answer.changes)
            new = changed(row, answer)
            assert model.predict(new)[0] >= target
            if len(answer.changes) == 1:  # one step less is not enough
                change = answer.changes[0]
                back = row.copy()
                back[change.feature] = change.new - np.sign(change.new - change.old)
                assert model.predict(back)[0] < target


def test_what_is_no_integer_need_not_be_whole(rng):
    X = pd.DataFrame({"n": rng.integers(0, 9, 800), "x": rng.normal(size=800)})
    model = bare.regressor(max_depth=0).fit(X, X["n"] + X["x"])
    row = X.iloc[[0]]
    target = float(model.predict(row)[0]) + 0.3
    changes = [a.changes[0] for a in counterfactuals(model, row, target, max_changes=1)]
    assert {c.feature: float(c.new).is_integer() for c in changes} == {"n": True, "x": False}
    freely = counterfactuals(model, row, target, actionable=["n"], integers=())
    assert not float(freely[0].changes[0].new).is_integer()


def test_a_zero_written_by_hand_may_stand_for_a_fraction(rng):
    X = pd.DataFrame({"rate": rng.uniform(size=800), "x": rng.normal(size=800)})
    model = bare.regressor(max_depth=0, alpha=0).fit(X, X["rate"])
    row = pd.DataFrame({"rate": [0], "x": [1]})
    (answer,) = counterfactuals(model, row, 0.5, actionable=["rate"])
    assert answer.changes[0].new == pytest.approx(0.5)


def test_constant_columns_are_left_alone(rng):
    X = np.column_stack([rng.normal(size=300), np.ones(300)])
    model = bare.regressor(max_depth=1).fit(X, X[:, 0])
    for answer in counterfactuals(model, [[0.0, 1.0]], 1.0):
        assert [change.feature for change in answer.changes] == ["x0"]


def test_probability_of_a_class():
    model, X, _ = fitted("binary")
    bad = X[model.predict(X) == "bad"].iloc[:5]
    for k in range(5):
        for answer in counterfactuals(model, bad.iloc[[k]], "good", probability=0.8):
            new = changed(bad.iloc[[k]], answer)
            assert model.predict_proba(new)[0, 1] >= 0.8
            assert answer.label == "good" and answer.prediction[1] >= 0.8
            if "a" not in answer.text and "t" not in answer.text and "u" not in answer.text:
                assert answer.prediction[1] < 0.9


def test_a_pair_is_given_only_if_it_is_smaller_than_its_parts():
    model, X, _ = fitted("squared_error")
    row = X.iloc[[4]]
    answers = counterfactuals(model, row, float(model.predict(row)[0]) + 1.0, n=100)
    sizes = [answer.size for answer in answers]
    assert sizes == sorted(sizes)
    singles = {a.changes[0].feature: a.size for a in answers if len(a.changes) == 1}
    for answer in answers:
        if len(answer.changes) == 2:
            for change in answer.changes:
                assert singles.get(change.feature, np.inf) > answer.size


@pytest.mark.parametrize(
    "given, message",
    [
        ({"target": "nothing"}, "must be one of the classes"),
        ({"target": "good", "probability": 2.0}, "must lie between 0 and 1"),
        ({"actionable": ["nothing"]}, "actionable names 'nothing'"),
        ({"max_changes": 3}, "max_changes=3"),
        ({"levels": {"t": ["violet"]}}, "training never saw violet"),
        ({"bounds": {"d": (2, 1)}}, "2.0 is above 1.0"),
    ],
)
def test_what_is_refused(given, message):
    model, X, _ = fitted("binary")
    row = X[model.predict(X) == "bad"].iloc[[0]]
    with pytest.raises(ValueError, match=message):
        counterfactuals(model, row, **given)
    with pytest.raises(ValueError, match="has already"):
        counterfactuals(model, row, "bad")
    with pytest.raises(ValueError, match="row has 2 rows"):
        counterfactuals(model, X.iloc[:2])


def test_plain_data():
    model, X, _ = fitted("multiclass")
    row = X.iloc[[0]]
    found = counterfactuals(model, row, (model.predict(row)[0] + 1) % 3)[0]
    assert set(found.to_dict()) == {"changes", "size", "prediction", "label", "leaf"}
    assert "→" in found.text
    assert explain(model, changed(row, found))[0].label == found.label


def typed_in(row, answer, X):
    """The row with the changes as they are printed."""
    out = row.copy()
    for change, text in zip(answer.changes, answer.text.split(", "), strict=True):
        printed = text.split(" → ")[1]
        is_number = X[change.feature].dtype.kind in "fiu"
        out[change.feature] = float(printed) if is_number else change.new
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_works(kind):
    model, X, _ = fitted(kind, max_depth=3)
    n_pairs = 0
    for k in range(40):
        row = later(X).iloc[[k]]
        target, before = goal(kind, model, row), model.predict(row)[0]
        for answer in counterfactuals(model, row, target, n=20):
            n_pairs += len(answer.changes) == 2
            found = model.predict(typed_in(row, answer, X))[0]
            if kind in ("binary", "multiclass"):
                assert found == answer.label != before, answer.text
            else:
                assert (found - target) * (target - before) >= 0, answer.text
    assert n_pairs > 20


def test_a_threshold_of_zero_gives_a_number_to_read():
    """The next number after 0 is 5e-324, which nobody can type into a form."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice([-1.0, 1.0], 1000), "b": rng.normal(size=1000)})
    model = bare.regressor(max_depth=1, split_features=["a"], leaf_features=["b"], alpha=0)
    model.fit(X, 10.0 * (X["a"] > 0) + X["b"])
    row = pd.DataFrame({"a": [-1.0], "b": [0.0]})
    answers = counterfactuals(model, row, 10.5, n=20)
    pair = next(answer for answer in answers if len(answer.changes) == 2)
    assert 1e-5 < pair.changes[0].new <= 2e-3 and len(pair.text) < 40
    assert model.predict(typed_in(row, pair, X))[0] >= 10.5


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [(0.5, 5e-324, "a: 0.5 → 4.94066e-324"), (0.4999999999, 0.5, "a: 0.4999999999 → 0.5"),
     (1.0, 0.1 + 0.2, "a: 1 → 0.30000000000000004"), (None, 2.5, "a: missing → 2.5"),
     ("x", "y", "a: x → y"), (3, 4, "a: 3 → 4")],
)  # fmt: skip
def test_a_change_in_words(old, new, text):
    assert Change("a", old, new).text == text
