"""Reason codes: signed, ordered, and neutral values that are neutral."""

from dataclasses import replace

import bare
import numpy as np
import pandas as pd
import pytest
from problems import FORMS, KINDS, fitted, later

from glassleaf import explain, reasons, shap_values


def contributions(model, rows, background):
    """Of the last class relative to the others, or of the one score; shape (rows, features)."""
    found = np.array(
        [list(row.contributions.values()) for row in explain(model, rows, background=background)]
    )
    return found if found.ndim == 2 else found[:, :, -1] - found.mean(axis=2)


@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_reasons_are_the_worst_contributions(kind, form, with_background):
    model, X, _ = fitted(kind, **FORMS[form])
    rows = later(X).iloc[:20]
    background = X if with_background else None
    favorable = 2 if kind == "multiclass" else "high"
    found = reasons(model, rows, 3, favorable=favorable, background=background)
    expected = contributions(model, rows, background)
    for reason_list, parts in zip(found, expected, strict=True):
        worst = sorted(part for part in parts if part < 0)[:3]
        np.testing.assert_allclose([r.contribution for r in reason_list], worst)
        assert [r.rank for r in reason_list] == list(range(1, len(worst) + 1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["squared_error", "poisson", "binary", "multiclass"])
def test_neutral_values_are_neutral(kind, form):
    """Put into the row, they leave (next to) nothing of the contribution; numbers exactly."""
    model, X, _ = fitted(kind, **FORMS[form])
    rows = later(X).iloc[:10]
    favorable = 2 if kind == "multiclass" else "high"
    n_exact = 0
    for background in (None, X.iloc[:100]):
        found = reasons(model, rows, 4, favorable=favorable, background=background)
        for k, reason_list in enumerate(found):
            for reason in reason_list:
                if reason.neutral_contribution is None:
                    continue
                new = rows.iloc[[k]].copy()
                new[reason.feature] = reason.neutral
                now = contributions(model, new, background)[0]
                left = now[list(X.columns).index(reason.feature)]
                assert left == pytest.approx(reason.neutral_contribution, abs=1e-9)
                assert abs(left) < abs(reason.contribution)
                if background is None:
                    assert (model.apply(new) == model.apply(rows.iloc[[k]])).all()
                    if reason.feature in "bd":
                        n_exact += abs(left) < 1e-9 + 1e-6 * abs(reason.contribution)
    assert n_exact > 3 or form == "few leaf features"


def test_known_answer():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1000, 3)) + [5.0, 0.0, 0.0], columns=["income", "debt", "z"])
    model = bare.regressor(max_depth=0, alpha=0).fit(X, X["income"] - 2 * X["debt"])
    row = pd.DataFrame({"income": [4.0], "debt": [3.0], "z": [1.0]})
    first, second = reasons(model, row)[0][:2]
    assert (first.feature, second.feature) == ("debt", "income")
    assert first.contribution == pytest.approx(-2 * (3.0 - X["debt"].mean()))
    assert first.neutral == pytest.approx(X["debt"].mean())
    assert second.neutral == pytest.approx(X["income"].mean())
    assert "would have been neutral" in first.text
    nearest = replace(first, neutral_contribution=0.5 * first.contribution)
    assert nearest.text.endswith(
        f"({nearest.neutral_contribution:+.3g}) would have been nearest to neutral"
    )
    low = reasons(model, row, favorable="low")[0]
    assert [reason.feature for reason in low if abs(reason.contribution) > 1e-9] == []


def hump(rng, **parameters):
    """A score that rises and falls along "age": most values have two that add as much."""
    X = pd.DataFrame({"age": rng.uniform(20, 80, 3000), "z": rng.normal(size=3000)})
    y = -np.abs(X["age"] - 50) / 10 + X["z"]
    return bare.regressor(max_depth=0, curves=True, **parameters).fit(X, y), X


@pytest.mark.parametrize("given", [{}, {"leaf_transform": "rank"}, {"clamp": (0.01, 0.99)}])
def test_of_several_neutral_values_the_nearest(rng, given):
    model, _ = hump(rng, **given)
    rows = pd.DataFrame({"age": [22.0, 30.0, 70.0, 78.0], "z": 0.0})
    for k, found in enumerate(reasons(model, rows)):
        (reason,) = [reason for reason in found if reason.feature == "age"]
        assert abs(reason.neutral_contribution) < 1e-9
        expected = 35.0 if k < 2 else 65.0  # the mean distance from 50 is 15
        assert reason.neutral == pytest.approx(expected, abs=1.5)


def test_no_neutral_value_where_a_broken_line_has_none(rng):
    """Where the mean was moved out of reach; far beyond what training saw is no answer."""
    model, X = hump(rng)
    tree = model.tree_
    tree.intercept[:] -= 100.0
    hinge = max(tree.terms.hinge_terms(0), key=lambda term: abs(tree.coef[0, term]))
    tree.record.mean[:, hinge] += 100.0 / tree.coef[0, hinge]
    (reason,) = [r for r in reasons(model, X.iloc[:1])[0] if r.feature == "age"]
    found = [r for r in reasons(model, X.iloc[:1], favorable="low")[0] if r.feature == "age"]
    assert not found and reason.neutral is None and reason.neutral_contribution is None


def test_neutral_values_of_whole_numbers_are_whole(rng):
    X = pd.DataFrame({"rooms": rng.integers(0, 9, 300), "x": rng.normal(size=300)})
    model = bare.regressor(max_depth=0, alpha=0).fit(X, 2.0 * X["rooms"] + X["x"])
    mean, row = X["rooms"].mean(), pd.DataFrame({"rooms": [0], "x": [-1.0]})
    by_name = {reason.feature: reason for reason in reasons(model, row)[0]}
    assert by_name["rooms"].neutral == round(mean) != mean
    assert by_name["rooms"].neutral_contribution == pytest.approx(2.0 * (round(mean) - mean))
    assert by_name["x"].neutral == pytest.approx(X["x"].mean())
    as_floats = reasons(model, row.astype(float))[0]
    assert as_floats[0].neutral == pytest.approx(mean)


def test_favorable_class():
    model, X, _ = fitted("binary")
    for_good = reasons(model, X.iloc[:5], 6, favorable="good")
    assert for_good == reasons(model, X.iloc[:5], 6, favorable="high")
    assert reasons(model, X.iloc[:5], 6, favorable="bad") == reasons(
        model, X.iloc[:5], 6, favorable="low"
    )
    named = reasons(model, X.iloc[:20], 6, favorable="good", features=["b", "d"])
    assert {reason.feature for row in named for reason in row} == {"b", "d"}


def test_relative_to_a_background_they_are_shapley_values():
    model, X, _ = fitted("binary")
    found = reasons(model, X.iloc[:20], 6, favorable="good", background=X)
    values = pd.DataFrame(shap_values(model, X.iloc[:20], X).values, columns=X.columns)
    for row, own in enumerate(found):
        hurt = values.loc[row][values.loc[row] < 0].sort_values()
        assert {reason.feature: reason.contribution for reason in own} == hurt.to_dict()
    assert any(found)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"k": 0}, "k=0"),
        ({"favorable": "sideways"}, "must be one of"),
        ({}, "favorable=None: say which class is good for the row, of 'bad', 'good'"),
        ({"favorable": "good", "features": [9]}, "9"),
    ],
)
def test_what_is_refused(given, message):
    model, X, _ = fitted("binary")
    with pytest.raises(ValueError, match=message):
        reasons(model, X, **given)
    model, X, _ = fitted("multiclass")
    with pytest.raises(ValueError, match="must be one of the classes"):
        reasons(model, X, favorable="high")
