"""Explanations as data: they must say what the model does, for every kind of model."""

import copy
import json
import re
from dataclasses import replace

import bare
import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE
from pairs import pairs
from problems import CURVED, FORMS, KINDS, fitted, later, raw_of, with_subsets
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from whole_models import ModelTreeRegressor

import glassleaf
from glassleaf import explain, leaf_table, shap_values
from glassleaf.explanations import words
from glassleaf.explanations.effect_lines import effect_line
from glassleaf.explanations.formulas import formula, score_texts
from glassleaf.explanations.model import explain_model
from glassleaf.explanations.rules import Condition, split_conditions
from glassleaf.show.text.model import model_text
from glassleaf.tree.fitted import NoCoefficientsError
from glassleaf.tree.tree import term_matrix


def meets(condition, value):
    """Whether a value (number, label or None) meets a condition, as its docstring says."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return condition.missing
    if condition.categories is None:
        return condition.low < value <= condition.high
    if value in condition.categories:
        return True
    return value not in condition.excluded and condition.unknown


def score_by_hand(explanation, node, row, output):
    """A leaf's score from the explanation alone."""
    features = {feature.name: feature for feature in explanation.features}
    score = node.intercept[output]
    for term, coef in zip(explanation.terms, node.coef[output], strict=True):
        feature, value = features[term.feature], row[term.feature]
        missing = value is None or (isinstance(value, float) and np.isnan(value))
        if term.kind == "missing":
            score += coef * missing
        elif term.kind == "category":
            score += coef * (not missing and value == term.category)
        else:
            x = value
            if missing:
                x = feature.fill
            elif feature.knots is not None:
                x = np.interp(value, *zip(*feature.knots, strict=True))
            low, high = node.clamp[feature.column]
            x = min(max(x, low), high)
            if term.kind == "hinge":
                x = max(0.0, x - term.above)
            score += coef * x
    return score


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_explanation_alone_predicts(kind, form):
    """Exactly one leaf's rule holds for any row, and its formula gives the raw score."""
    model, X, _ = fitted(kind, max_depth=3, **FORMS[form])
    check_rules_and_formulas(model, later(X).iloc[:60])


def test_the_explanation_says_how_the_model_was_fitted():
    model, _, _ = fitted("squared_error", max_depth=2)
    assert explain(model).parameters == model.get_params()
    assert explain(model).to_dict()["parameters"]["max_depth"] == 2


@pytest.mark.parametrize("seed", range(4))
def test_rules_of_splits_on_subsets_of_categories(seed):
    model, X, _ = fitted("squared_error", max_depth=3, split_features=["t", "u"])
    check_rules_and_formulas(with_subsets(model, seed), later(X).iloc[:60])


def check_rules_and_formulas(model, rows):
    explanation = explain(model)
    raw, leaves = raw_of(model, rows), model.apply(rows)
    for i, row in enumerate(rows.to_dict("records")):
        row = {name: None if pd.isna(value) else value for name, value in row.items()}
        found = [
            leaf
            for leaf in explanation.leaves
            if all(meets(condition, row[condition.feature]) for condition in leaf.rule)
        ]
        assert [leaf.id for leaf in found] == [leaves[i]]
        by_hand = [
            np.clip(score_by_hand(explanation, found[0], row, k), *found[0].limits[k])
            for k in range(raw.shape[1])
        ]
        np.testing.assert_allclose(by_hand, raw[i], rtol=1e-8, atol=1e-8)


@pairs("kind, form", KINDS, FORMS, shift=0)
def test_contributions_sum_to_the_raw_score(kind, form):
    model, X, _ = fitted(kind, **FORMS[form])
    for background in (None, X):
        rows = explain(model, later(X), background=background)
        raw = raw_of(model, later(X))
        assert len(rows) == 500
        for i in (0, 1, 7, 12, 21, 499):
            total = np.array(rows[i].reference) + sum(map(np.array, rows[i].contributions.values()))
            size = np.abs(raw).max()
            np.testing.assert_allclose(total, np.squeeze(raw[i]), rtol=1e-9, atol=1e-9 * size)
            np.testing.assert_allclose(rows[i].raw, np.squeeze(raw[i]), rtol=1e-9, atol=1e-12)


@pairs("kind, form", KINDS, ["rank, clamped", *CURVED])
def test_the_reference_is_the_mean_of_the_leaf(kind, form):
    model, X, _ = fitted(kind, **FORMS[form])
    raw, leaves, rows = raw_of(model, X), model.apply(X), explain(model, X)
    contributions = np.array([list(row.contributions.values()) for row in rows]).reshape(
        500, 6, raw.shape[1]
    )
    for leaf in set(leaves):
        here = leaves == leaf
        reference = np.atleast_1d(rows[int(np.argmax(here))].reference)
        np.testing.assert_allclose(reference, raw[here].mean(axis=0), rtol=1e-8, atol=1e-8)
        mean = contributions[here].mean(axis=0)
        np.testing.assert_allclose(mean, np.zeros_like(mean), atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["squared_error", "poisson", "binary"])
def test_strength_is_the_spread_of_what_a_feature_adds(rng, kind, weighted):
    _, X, y = fitted(kind)
    weight = rng.random(500) + 0.2 if weighted else np.ones(500)
    model = glassleaf.ModelTreeClassifier if kind == "binary" else ModelTreeRegressor
    model = model(max_depth=2, **({} if kind == "binary" else {"loss": kind}))
    model.fit(X, y, sample_weight=weight)
    parts = np.array([list(row.contributions.values()) for row in explain(model, X)])
    leaves = model.apply(X)
    effect = np.zeros(6)
    for leaf in explain(model).leaves:
        here = leaves == leaf.id
        mean = np.average(parts[here], axis=0, weights=weight[here])
        variance = np.average((parts[here] - mean) ** 2, axis=0, weights=weight[here])
        np.testing.assert_allclose(list(leaf.strength.values()), np.sqrt(variance), atol=1e-6)
        effect += leaf.share * variance
    found = [feature.effect for feature in explain(model).features]
    np.testing.assert_allclose(found, np.sqrt(effect), atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pairs("kind, form", ["squared_error", "poisson", "binary"], CURVED)
def test_strength_of_broken_lines_and_gaps_together(rng, kind, form, weighted):
    """In leaves and in the nodes above them, from what training saw of each term."""
    model, X, y = fitted(kind, **FORMS[form])
    weight = 2 * rng.random(500) + 2.0 if weighted else np.ones(500)
    model = clone(model).fit(X, y, sample_weight=weight)
    explanation, tree = explain(model), model.tree_
    assert explanation.bent
    paths = model.decision_path(X).toarray().astype(bool)
    matrix = term_matrix(model_matrix(model, X), tree.terms)
    for node in explanation.nodes:
        if node.leaf is None and "clamped" in form:
            continue  # inner nodes have no rows of their own clamp
        here, terms = paths[:, node.id], matrix.copy()
        for j in np.flatnonzero(tree.terms.first_term >= 0):
            if explanation.features[j].categories is None:
                own = np.clip(terms[:, tree.terms.first_term[j]], *node.clamp[j])
                terms[:, tree.terms.first_term[j]] = own
                for hinge, at in zip(tree.terms.hinge_terms(j), tree.terms.hinges(j), strict=True):
                    terms[:, hinge] = np.maximum(own - at, 0.0)
        added = terms[here] * np.array(node.coef[0])
        for name, strength in node.strength.items():
            own = [t for t, term in enumerate(explanation.terms) if term.feature == name]
            part = added[:, own].sum(axis=1)
            mean = np.average(part, weights=weight[here])
            spread = np.sqrt(np.average((part - mean) ** 2, weights=weight[here]))
            assert strength == pytest.approx(spread, rel=1e-6, abs=1e-6)


def model_matrix(model, X):
    return model.model_.matrix(X)


@pairs("kind, form", KINDS, CURVED)
def test_lines_of_effects_are_the_contributions(kind, form):
    """Along a number, at kinks and between them, in the leaf's own range."""
    model, X, _ = fitted(kind, **FORMS[form])
    explanation, leaves = explain(model), model.apply(X)
    output = len(explanation.outputs) - 1
    for leaf in explanation.leaves:
        row = X[leaves == leaf.id].iloc[[0]]
        for name in "cd":
            x, added = np.array(effect_line(explanation, leaf, name, output).points).T
            between = np.linspace(x[0], x[-1], 50)[1:-1]
            x, added = np.append(x, between), np.append(added, np.interp(between, x, added))
            rows = pd.concat([row] * len(x)).assign(**{name: x})
            stays = model.apply(rows) == leaf.id
            assert stays[1:].all()  # a range is open to the left
            parts = [np.atleast_1d(r.contributions[name])[output] for r in explain(model, rows)]
            np.testing.assert_allclose(np.array(parts)[stays], added[stays], atol=1e-7)


@pytest.mark.parametrize("form", CURVED)
def test_hinges_have_places_in_raw_units(form):
    model, X, _ = fitted("squared_error", **FORMS[form])
    explanation = explain(model)
    assert "d" in explanation.bent
    hinges = [term for term in explanation.terms if term.kind == "hinge"]
    assert explanation.terms[-len(hinges) :] == tuple(hinges)
    for name in explanation.bent:
        feature = explanation.feature[name]
        at = np.array([term.at for term in hinges if term.feature == name])
        above = [term.above for term in hinges if term.feature == name]
        assert (np.diff(at) > 0).all() and feature.low < at[0] and at[-1] < feature.high
        term = at if feature.knots is None else np.interp(at, *zip(*feature.knots, strict=True))
        np.testing.assert_allclose(term, above, atol=1e-9)
    read = json.loads(json.dumps(explanation.to_dict()))["terms"][-1]
    assert read["kind"] == "hinge" and read["at"] == hinges[-1].at
    assert {f"coef {term.name}" for term in hinges} <= set(leaf_table(model))


@pytest.mark.parametrize("clamp", [False, (0.05, 0.95)])
@pytest.mark.parametrize("transform", ["none", "winsor", "rank"])
def test_a_formula_is_arithmetic(rng, transform, clamp):
    """Read as such, it is the score of a row; every column stands in it in one place."""
    X = pd.DataFrame(rng.normal(size=(2000, 3)), columns=list("abc"))
    y = 3 * np.abs(X["a"]) + np.where(X["b"] > 0.3, X["c"], np.abs(X["c"] + 0.5))
    settings = {"leaf_transform": transform, "clamp": clamp, "curves": True}
    model = bare.regressor(max_depth=1, **settings).fit(X, y)
    explanation, leaves = explain(model), model.apply(X)
    assert {"a", "c"} <= set(explanation.bent)
    for leaf in explanation.leaves:
        text = formula(explanation, leaf).replace("·", "*")
        order = re.findall(r"\b[abc]\b", text)
        assert [a for a, b in zip(order, [*order[1:], ""], strict=True) if a != b] == sorted(
            set(order), key=order.index
        )
        scaled = re.sub(r"rank\((\w)\)", r"\1", text)
        for k in np.flatnonzero(leaves == leaf.id)[:20]:
            known = {"min": min, "max": max, "clip": lambda x, low, high: min(max(x, low), high)}
            for feature in explanation.features:
                x = X[feature.name][k]
                if "rank(" in text:
                    x = np.interp(x, *zip(*feature.knots, strict=True))
                known[feature.name] = float(x)
            assert eval(scaled, known) == pytest.approx(model.predict(X.iloc[[k]])[0], abs=0.01)


def test_a_scale_is_written_down_where_a_formula_has_it(rng):
    """What stands in the text is enough to compute the score of a row."""
    z = rng.normal(size=(800, 3))
    X = pd.DataFrame(np.sinh(3 * z), columns=["income", "age", "assets"])
    settings = {"max_depth": 0, "leaf_transform": "rank", "clamp": False}
    model = bare.regressor(**settings).fit(X, z @ [1.0, 2.0, 0.0])
    text = model.export_text()
    formula_of_text = re.search(r"score = (.*)", text)[1].replace(" - ", " + -")
    found = np.zeros(len(X))
    for part in formula_of_text.split(" + "):
        factor, _, name = part.partition("·")
        if not name:
            found += float(factor)
            continue
        points = re.search(rf"\n  {re.escape(name)}: (.*)", text)[1]
        x, score = np.array([p.split(" → ") for p in points.split(", ")], dtype=float).T
        assert list(score[:2]) == [-3.5, -2.75]
        found += float(factor) * np.interp(X[name.removeprefix("rank(")[:-1]], x, score)
    np.testing.assert_allclose(found, model.predict(X), atol=1e-2)
    assert "rank(assets)" not in model.export_text(max_terms=1)
    assert "rank(age)" in model.export_text(max_terms=1)
    plain = bare.regressor(**{**settings, "leaf_transform": "none"}).fit(X, z[:, 0])
    assert "rank(" not in plain.export_text()


def test_a_formula_says_where_a_number_bends(rng):
    X = pd.DataFrame({"age": rng.uniform(20, 60, 2000), "z": rng.normal(size=2000)})
    y = 0.5 * X["age"] + 3 * np.abs(X["age"] - 40) + 7 * X["z"]
    explanation = explain(bare.regressor(max_depth=0, curves=True).fit(X, y))
    found = formula(explanation, explanation.leaves[0])
    at = [term.at for term in explanation.terms if term.kind == "hinge"]
    bends = " ".join(rf"[+-] [\d.]+·max\(0, age - {place:.9g}\)" for place in at)
    assert re.fullmatch(rf"[\d.]+ - [\d.]+·age {bends} \+ [67][\d.]*·z", found)
    assert formula(explanation, explanation.leaves[0], max_terms=0).endswith(" + 2 smaller terms")
    clamped = explain(bare.regressor(max_depth=0, curves=True, clamp=(0.1, 0.9)).fit(X, y))
    low, high = clamped.leaves[0].clamp[0]
    found = formula(clamped, clamped.leaves[0])
    assert f"·clip(age, {low:.6g}, {high:.6g})" in found
    assert f"·max(0, min(age, {high:.6g}) - {at[0]:.9g})" in found


@pytest.mark.parametrize(
    "line, hinges, clamp, text",
    [
        (0.31, [-0.2, 0.0], (-np.inf, np.inf), "1 + 0.31·age - 0.2·max(0, age - 30)"),
        (0.31, [-0.31, 0.0], (-np.inf, np.inf), "1 + 0.31·min(age, 30)"),
        (0.31, [-0.31, 0.5], (-np.inf, np.inf), "1 + 0.31·min(age, 30) + 0.5·max(0, age - 50)"),
        (0.31, [0.0, -0.31], (-np.inf, np.inf), "1 + 0.31·min(age, 50)"),
        (0.31, [-0.31, 0.0], (20.0, 60.0), "1 + 0.31·clip(age, 20, 30)"),
        (0.0, [-0.31, 0.0], (20.0, np.inf), "1 - 0.31·max(0, age - 30)"),
        (0.0, [-0.31, 0.0], (35.0, 60.0), "1 - 0.31·max(0, clip(age, 35, 60) - 30)"),
    ],
)
def test_how_a_broken_line_is_written(rng, line, hinges, clamp, text):
    explanation = with_bends(line, hinges, clamp, rng)
    assert formula(explanation, explanation.leaves[0]) == text


def with_bends(line, hinges, clamp, rng):
    """The explanation of one leaf with the start value 1, and bends of its only column."""
    X = pd.DataFrame({"age": rng.uniform(20, 60, 100)})
    model = bare.regressor(max_depth=0).fit(X, X["age"]).model_
    tree = model.tree
    terms = tree.terms.with_hinges({0: [30.0, 50.0]})
    record = replace(
        tree.record,
        mean=np.array([[40.0, 12.0, 1.0]]),
        spread=np.array([[11.0, 10.0, 3.0]]),
        covariance=np.zeros((1, 3)),
    )
    changed = replace(
        tree,
        terms=terms,
        coef=np.array([[line, *hinges]]),
        intercept=np.ones(1),
        clamp_low=np.array([[clamp[0]]]),
        clamp_high=np.array([[clamp[1]]]),
        training_record=record,
    )
    return explain_model(replace(model, tree=changed))


@pairs("kind, form", KINDS, ["plain", "rank, clamped", *CURVED])
def test_explanations_of_limited_scores_add_up(kind, form):
    """What the limits take away is a part of its own, with and without a background."""
    own, X, _ = fitted(kind, **FORMS[form])
    free, _ = limited(own, -np.inf, np.inf)
    sums = raw_of(free, X)
    model, (low, high) = limited(free, *np.quantile(sums, [0.1, 0.8], axis=0))
    raw = raw_of(model, X)
    np.testing.assert_allclose(raw, np.clip(sums, low, high), rtol=1e-9)
    shap = shap_values(model, X, X)
    for background in (None, X):
        found = explain(model, X, background=background)
        for k in (0, 3, 77, 208):
            row = found[k]
            total = np.array(row.reference) + sum(map(np.array, row.contributions.values()))
            np.testing.assert_allclose(total, np.squeeze(sums[k]), rtol=1e-8, atol=1e-7)
            np.testing.assert_allclose(total + row.limited, row.raw, rtol=1e-8, atol=1e-7)
            assert (np.atleast_1d(row.limited) == 0.0).tolist() == (raw[k] == sums[k]).tolist()
            assert ("limited to" in row.to_text()) == bool(np.any(row.limited))
    np.testing.assert_allclose(
        (shap.base_values + shap.values.sum(axis=1) + shap.limited).reshape(raw.shape),
        raw, rtol=1e-8, atol=1e-7,
    )  # fmt: skip
    ends = f"held between {words.number(low[0])} and {words.number(high[0])}."
    assert model_text(explain(model)).count(ends) == 1
    assert "held between" not in model_text(explain(free))
    for leaf in explain(model).leaves:
        assert leaf.limits == tuple(zip(low.tolist(), high.tolist(), strict=True))


def limited(model, low, high):
    """The same model, whose scores are held between ends, one per output."""
    shape = model.tree_.score_low.shape
    ends = {"score_low": np.broadcast_to(low, shape), "score_high": np.broadcast_to(high, shape)}
    out = copy.copy(model)
    out.model_ = replace(model.model_, tree=replace(model.tree_, **ends))
    return out, (low, high)


def test_limits_of_single_leaves_are_said_by_leaf():
    model, _, _ = fitted("squared_error")
    leaves = explain(model).leaves
    high = np.full(model.tree_.node_count, np.inf)
    high[leaves[1].id] = 4.5
    some, _ = limited(model, np.full_like(high, -np.inf), high)
    line = f"In leaf 2 ({leaves[1].rule_text}) the score is at most 4.5."
    assert model_text(explain(some)).count(line) == 1
    assert "held" not in model_text(explain(some))


def test_classes_count_relative_to_each_other():
    """Adding the same line to all classes' scores changes nothing."""
    model, X, _ = fitted("multiclass")
    parts = np.array([list(row.contributions.values()) for row in explain(model, X)])
    parts -= parts.mean(axis=2, keepdims=True)
    leaf = explain(model).leaves[0]
    here = model.apply(X) == leaf.id
    expected = np.sqrt((parts[here].std(axis=0) ** 2).mean(axis=1))
    np.testing.assert_allclose(list(leaf.strength.values()), expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_say_what_training_saw(kind):
    model, X, y = fitted(kind)
    explanation = explain(model)
    passes = model.decision_path(X).toarray().astype(bool)
    for node in explanation.nodes:
        here = passes[:, node.id]
        assert node.rows == here.sum() and node.share == pytest.approx(here.mean())
        if explanation.classes is None:
            assert node.target[0] == pytest.approx(y[here].mean())
        else:
            shares = [(y[here] == label).mean() for label in explanation.classes]
            np.testing.assert_allclose(node.target, shares)
        names = [term.name for term in explanation.terms]
        spread = X["d"][here].std(ddof=0)
        assert node.spread[names.index("d")] == pytest.approx(spread, rel=1e-6)
        assert node.mean[names.index("t = red")] == pytest.approx((X["t"][here] == "red").mean())
    assert explanation.features[3].low == X["d"].min()
    assert explanation.features[3].high == X["d"].max()


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_splits_know_their_rivals(kind):
    model, _, _ = fitted(kind)
    for node in explain(model).splits:
        chosen, *others = node.split.candidates
        assert chosen.is_chosen and chosen.feature == node.split.feature
        assert chosen.gain == node.split.gain == model.tree_.gain[node.id]
        assert chosen.condition == node.split.condition
        gains = [candidate.gain for candidate in others]
        assert gains == sorted(gains, reverse=True) and max(gains) <= chosen.gain * (1 + 1e-9)
        for candidate in node.split.candidates:
            curve = np.array(candidate.gains)
            if candidate.condition.categories is None:
                assert (np.diff(curve[:, 0]) > 0).all()
                best = curve[np.argmax(curve[:, 1]), 0]
                if np.isfinite(candidate.condition.high):
                    assert best == pytest.approx(candidate.condition.high)
                    assert curve[:, 1].max() == pytest.approx(candidate.gain)


def test_the_runner_up_is_what_wins_without_the_winner():
    model, X, y = fitted("squared_error", max_depth=1)
    first = explain(model).splits[0].split
    others = [name for name in X if name != first.feature]
    again = bare.regressor(max_depth=1, split_features=others).fit(X, y)
    second = explain(again).splits[0].split
    assert second.condition == first.runners_up[0].condition
    assert second.gain == pytest.approx(first.runners_up[0].gain)


@pairs("kind, form", KINDS, FORMS, shift=1)
def test_everything_is_json(kind, form):
    model, X, _ = fitted(kind, **FORMS[form])
    text = json.dumps(explain(model).to_dict(), allow_nan=False)
    assert json.loads(text)["nodes"][0]["rows"] == 500
    json.dumps(explain(model, later(X))[0].to_dict(), allow_nan=False)


# --- in words ------------------------------------------------------------------------------------


@pairs("kind, form", KINDS, FORMS, shift=2)
def test_text_has_every_leaf(kind, form):
    model, X, _ = fitted(kind, **FORMS[form])
    text = model.export_text()
    for leaf in explain(model).leaves:
        assert f"Leaf {leaf.leaf}: {leaf.rule_text}" in text
    assert explain(model, later(X))[0].to_text()


def test_rules_are_merged_and_in_plain_words(rng):
    X = pd.DataFrame({"grade": np.tile(np.arange(12.0), 100), "income": rng.normal(size=1200)})
    y = np.where((X["grade"] > 3) & (X["grade"] <= 7), X["income"], -X["income"])
    model = bare.regressor(max_depth=2, split_features=["grade"]).fit(X, y)
    rules = [leaf.rule_text for leaf in explain(model).leaves]
    assert "3.5 < grade ≤ 7.5" in rules


@pytest.mark.parametrize(
    "condition, text",
    [
        (Condition("x", 0, high=2.5, missing=False), "x ≤ 2.5"),
        (Condition("x", 0, low=2.5, has_missing=True), "x > 2.5 or missing"),
        (Condition("x", 0, low=2.5, has_missing=False), "x > 2.5"),
        (Condition("x", 0, 1, 2, has_missing=True), "1 < x ≤ 2 or missing"),
        (Condition("x", 0, low=np.inf), "x is missing"),
        (Condition("x", 0, missing=False), "x is not missing"),
        (Condition("x", 0, categories=("a", "b"), unknown=False), "x ∈ {a, b}"),
        (Condition("x", 0, categories=("a", "b"), excluded=("c",)), "x ∉ {c}"),
        (Condition("x", 0, categories=("a",), excluded=tuple("bcd")), "x ∈ {a} or new"),
        (Condition("x", 0, categories=(), unknown=False), "x is missing"),
        (Condition("x", 0, categories=("a",), missing=False), "x is not missing"),
    ],
)
def test_conditions_in_words(condition, text):
    assert condition.text == text


def test_formulas_are_in_raw_units(rng):
    X = pd.DataFrame({"age": rng.normal(40, 10, 500), "sex": rng.choice(["f", "m"], 500)})
    y = 3.0 + 0.5 * X["age"] - 2.0 * (X["sex"] == "m")
    model = bare.regressor(max_depth=0, alpha=1e-9).fit(X, y)
    explanation = explain(model)
    found = formula(explanation, explanation.leaves[0])
    assert found == "2 + 0.5·age + 1·[sex = f] - 1·[sex = m]"
    clamped = explain(bare.regressor(max_depth=0, clamp=True).fit(X, y))
    assert f"clip(age, {X['age'].min():.6g}, {X['age'].max():.6g})" in formula(
        clamped, clamped.leaves[0]
    )
    text = model_text(clamped)
    assert f"within age {X['age'].min():.6g} to {X['age'].max():.6g}\n" in text
    assert "·age" in text and "clip(" not in text and "nearest end" in text
    assert "within" not in model_text(explanation)


def test_ranges_of_cut_tails_and_of_bare_hinges_are_said(rng):
    X = pd.DataFrame({"age": rng.uniform(20, 60, 2000)})
    y = np.abs(X["age"] - 40)
    cut = explain(bare.regressor(max_depth=0, leaf_transform="winsor").fit(X, y))
    assert "within age" in model_text(cut) and "nearest end" in model_text(cut)
    bent = explain(bare.regressor(max_depth=0, curves=True, clamp=(0.1, 0.9)).fit(X, y))
    (leaf,), number = bent.leaves, [term.kind for term in bent.terms].index("number")
    coef = np.array(leaf.coef)
    coef[:, number] = 0.0
    without = replace(leaf, coef=tuple(map(tuple, coef.tolist())))
    texts = score_texts(bent, without, None)
    assert "·max(0, age - " in texts[0] and texts[1].startswith("within age ")


def test_the_text_says_what_a_missing_number_counts_as(rng):
    X = pd.DataFrame({"age": rng.normal(40, 10, 500), "size": rng.normal(size=500)})
    y = X["age"] + X["size"]
    X.loc[:50, "age"] = np.nan
    text = model_text(explain(bare.regressor(max_depth=0).fit(X, y)))
    assert f"counts as: age {X['age'].mean():.6g}.\n" in text
    assert "missing number" not in model_text(
        explain(bare.regressor(max_depth=0).fit(X[60:], y[60:]))
    )


def test_a_formula_of_no_terms_and_an_explanation_of_no_rows(rng):
    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    model = bare.regressor(max_depth=0).fit(X, X.sum(axis=1))
    assert "score = " in (text := model.export_text(max_terms=0)) and "3 smaller terms" in text
    assert len(explain(model, X[:0])) == 0


def test_ranges_of_transformed_numbers_are_in_their_own_units(rng):
    X = pd.DataFrame({"amount": rng.lognormal(0, 2, 500)})
    ranked = bare.regressor(max_depth=0, leaf_transform="rank", clamp=True)
    ranked.fit(X, np.log(X["amount"]))
    low, high = X["amount"].min(), X["amount"].max()
    assert f"·rank(amount)\n  within amount {low:.6g} to {high:.6g}\n" in model_text(
        explain(ranked)
    )


def test_hostile_names_do_not_break_text(rng):
    X = pd.DataFrame({name: rng.choice(HOSTILE, 800) for name in HOSTILE[:6]})
    for name in HOSTILE[6:]:
        X[name] = rng.normal(size=800)
    y = np.where(X[HOSTILE[6]] > 0, X[HOSTILE[8]], -X[HOSTILE[8]])
    y += 3.0 * (X[HOSTILE[0]] == HOSTILE[1]) * X[HOSTILE[9]]
    model = bare.regressor(max_depth=3, alpha=10).fit(X, y)
    n_lines = len(model.export_text().splitlines())
    plain = model.fit(X.set_axis([f"c{k}" for k in range(12)], axis=1).map(str_or_same), y)
    assert n_lines == len(plain.export_text().splitlines())
    text = model.fit(X, y).export_text()
    assert max(map(len, text.splitlines())) < 1500
    assert not any(char in text for char in "\x00\x1b‮\t")
    row = explain(model, X)[0].to_text()
    assert len(row.splitlines()) <= 12
    assert len(leaf_table(model)) == model.get_n_leaves()


def str_or_same(value):
    return f"k{HOSTILE.index(value)}" if isinstance(value, str) else value


# --- the table of leaves -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_per_leaf(kind):
    model, _, _ = fitted(kind)
    table = leaf_table(model)
    assert len(table) == model.get_n_leaves() and table["rows"].sum() == 500
    of = " [1]" if kind == "multiclass" else ""
    node = table["node"][1]
    coef = model.tree_.coef[node]
    assert table[f"coef d{of}"][1] == (coef[1, 3] if kind == "multiclass" else coef[3])
    assert {"leaf", "rule", "share", f"intercept{of}", f"coef t = red{of}"} <= set(table)


# --- what cannot be explained --------------------------------------------------------------------


def test_models_without_coefficients_say_so(rng):
    class Mean:
        def fit(self, X, y, weight, start):
            return y.mean()

        def raw(self, model, X):
            return np.full(len(X), model)

        def gradients(self, model, X, y):
            return (model - y)[:, None]

    X = rng.normal(size=(200, 2))
    model = bare.regressor(weak_model=Mean(), criterion="gradient").fit(X, X[:, 0] > 0)
    for ask in (explain, leaf_table, lambda model: model.export_text()):
        with pytest.raises(NoCoefficientsError, match="have no coefficients"):
            ask(model)


def test_other_estimators_are_refused(rng):
    X = rng.normal(size=(200, 2))
    pipeline = make_pipeline(StandardScaler(), bare.classifier()).fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match="take the last step"):
        explain(pipeline)
    assert explain(pipeline[-1], pipeline[:-1].transform(X))[0].leaf > 0
    with pytest.raises(ValueError, match="pass them as X"):
        explain(pipeline[-1], background=X)


def test_the_explanation_keeps_the_parameters_of_the_fit():
    model, _, _ = fitted("squared_error")
    assert explain(model).parameters == model.get_params(deep=False)


def test_slices_and_negative_rows():
    model, X, _ = fitted("binary")
    rows = explain(model, X)
    assert rows[-1].to_dict() == rows[499].to_dict()
    assert [row.leaf for row in rows[:3]] == model.apply(X)[:3].tolist()
    with pytest.raises(IndexError):
        rows[500]


def test_the_path_ends_in_the_leaf():
    model, X, _ = fitted("binary", max_depth=3)
    for row in explain(model, later(X))[:50]:
        assert row.path[0].node == 0 and row.path[-1].next_node == row.leaf
        for step in row.path:
            assert meets(step.condition, step.value)


# --- splits chosen by a closer look, and models from files ---------------------------------------


@pytest.mark.parametrize("given", [{"rescore": 10}, {"refine": True}, {"significance": 0.5}])
@pytest.mark.parametrize("kind", ["squared_error", "binary"])
def test_the_split_is_the_trees_own_however_it_was_chosen(kind, given):
    model, X, _ = fitted(kind, max_depth=3, **given)
    check_rules_and_formulas(model, later(X).iloc[:60])
    for node in explain(model).splits:
        assert node.split.gain == model.tree_.gain[node.id]
        for candidate in node.split.candidates:
            assert not candidate.is_chosen or candidate.condition == node.split.condition


@pairs("kind, form", KINDS, ["rank, clamped", "curves, rank, clamped"])
def test_a_model_from_a_file_explains_itself(tmp_path, kind, form):
    model, X, _ = fitted(kind, **FORMS[form])
    model.save(tmp_path / "model.json")
    again = glassleaf.load(tmp_path / "model.json")
    assert explain(again).to_dict() == explain(model).to_dict()
    assert explain(again, X)[0].to_dict() == explain(model, X)[0].to_dict()


def test_a_file_without_a_training_record_predicts_but_does_not_explain(tmp_path):
    model, X, _ = fitted("squared_error")
    model.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    del content["seen"], content["candidates"]
    (tmp_path / "model.json").write_text(json.dumps(content))
    again = glassleaf.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(glassleaf.GlassleafError, match="holds no record of its training"):
        explain(again)
    # Whether missing values came is not known, so that their side is named.
    sides = [condition.text for condition in split_conditions(again.tree_, 0)]
    assert sum(text.endswith(" or missing") for text in sides) == 1


@pytest.mark.parametrize(
    "name, value", [("node", 99), ("feature", 99), ("first_category", 5), ("first_point", 7)]
)
def test_damaged_candidates_are_refused(tmp_path, name, value):
    model, _, _ = fitted("squared_error")
    model.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    content["candidates"][name][0] = value
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(glassleaf.ModelFileError, match="no intact model file"):
        glassleaf.load(tmp_path / "model.json")


def test_the_text_lists_every_feature_that_splits(rng):
    """Here the one that splits has no coefficient, and eleven others have."""
    X = rng.normal(size=(3000, 12))
    y = np.where(X[:, 11] > 0, 1.0, -1.0) * X[:, :11].sum(axis=1)
    model = bare.regressor(max_depth=1, leaf_features=list(range(11))).fit(X, y)
    listed = model.export_text().split("Features:")[1]
    assert "x11" in listed and " 100%" in listed
    assert listed.count("\n  x") == 11 and "and 1 more" in listed
