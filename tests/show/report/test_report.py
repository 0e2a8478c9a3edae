"""The report's numbers, its Markdown, its JSON, and what a hostile name can do to them: nothing."""

import copy
import datetime
import html
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zoo
from problems import FORMS, fitted, later
from reports import HOSTILE, hostile_model, labeled_rows, report_of
from sklearn import metrics

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor, explain, inference
from glassleaf.explanations import scores
from glassleaf.explanations.effect_lines import direction, effect_line
from glassleaf.explanations.scores import intervals
from glassleaf.show.report import Report, classes, densities, prose
from glassleaf.show.report.view import page_view

# --- scores and their intervals ------------------------------------------------------------------


def weights_of(rng, n, is_weighted):
    return rng.gamma(1.0, size=n) if is_weighted else np.ones(n)


NUMBER_SCORES = [
    (scores.r_squared, intervals.r_squared_influence),
    (scores.root_mean_squared_error, intervals.root_influence),
    (scores.mean_error, lambda y, p, w: intervals.mean_influence(p - y, w)),
    (scores.ratio_of_means, intervals.ratio_of_means_influence),
    (
        partial(scores.explained_deviance, "gamma"),
        partial(intervals.explained_deviance_influence, "gamma"),
    ),
]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("score", "influence"), NUMBER_SCORES)
def test_intervals_of_numbers_are_those_of_the_bootstrap(score, influence, is_weighted, rng):
    y = rng.gamma(3.0, size=600)
    p = np.abs(y + rng.normal(size=600)) + 0.1
    w = weights_of(rng, 600, is_weighted)
    rows = rng.integers(0, 600, size=(2000, 600))
    drawn = np.std([score(y[some], p[some], w[some]) for some in rows])
    assert scores.standard_error(influence(y, p, w)) == pytest.approx(drawn, rel=0.12)


RANKINGS = [
    (scores.auc, intervals.auc_influence),
    (scores.kolmogorov_smirnov, intervals.kolmogorov_smirnov_influence),
]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(("score", "influence"), RANKINGS)
def test_intervals_of_rankings_are_those_of_the_bootstrap(score, influence, is_weighted, rng):
    y = rng.integers(0, 2, size=500)
    one = 1 / (1 + np.exp(-(y + rng.normal(size=500))))
    p = np.column_stack([1 - one, one])
    w = weights_of(rng, 500, is_weighted)
    rows = rng.integers(0, 500, size=(1000, 500))
    drawn = np.std([score(y[some], p[some], w[some]) for some in rows])
    assert scores.standard_error(influence(y, p, w)) == pytest.approx(drawn, rel=0.12)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("squared_error", ["R²", "RMSE", "MAE", "Mean error"]),
        ("poisson, rank", ["D²", "Mean deviance", "Predicted / actual", "R²"]),
        ("gamma, clamp", ["D²", "Mean deviance"]),
        ("binary", ["AUC", "Gini", "KS", "Log loss", "Brier score", "Accuracy"]),
        ("multiclass", ["AUC", "Log loss", "Brier score", "Accuracy"]),
    ],
)
def test_every_kind_has_its_scores_within_their_intervals(kind, names):
    report, _ = report_of(kind)
    found = report.contents.scores
    assert [score.name for score in found][: len(names)] == names
    for score in found:
        assert score.low <= score.value <= score.high
        assert score.meaning and score.interval
    better = found[0].value > found[0].baseline  # R², D², AUC
    assert better


# --- classes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("kind", ["binary", "multiclass", "no terms"])
def test_classes_are_those_of_scikit_learn(kind, is_weighted, rng):
    table, y = labeled_rows(kind)
    model = zoo.case(kind).model
    w = weights_of(rng, len(y), is_weighted)
    found = model.report(table, y, w).contents.classes
    said, p = model.predict(table), model.predict_proba(table)
    np.testing.assert_allclose(
        found.confusion, metrics.confusion_matrix(y, said, sample_weight=w, labels=model.classes_)
    )
    precision, recall, _, _ = metrics.precision_recall_fscore_support(
        y, said, sample_weight=w, labels=model.classes_, zero_division=np.nan
    )
    np.testing.assert_allclose([one.recall for one in found.classes], recall)
    np.testing.assert_allclose([one.precision for one in found.classes], precision)
    for k, one in enumerate(found.classes):
        is_class = y == model.classes_[k]
        expected = metrics.roc_auc_score(is_class, p[:, k], sample_weight=w)
        assert one.auc.value == pytest.approx(expected)
        assert one.auc.low <= expected <= one.auc.high
        assert one.share == pytest.approx(np.average(is_class, weights=w))
    assert bool(found.roc) == (len(model.classes_) == 2)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_roc_curve_is_that_of_scikit_learn(is_weighted, rng):
    y = rng.random(3000) < 0.3
    p = np.round(1 / (1 + np.exp(-(y + rng.normal(size=3000)))), 3)  # ties
    w = weights_of(rng, 3000, is_weighted)
    found = classes.roc(y, p, w)
    others, hits, thresholds = metrics.roc_curve(y, p, sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(found.T, [thresholds, others, hits], atol=1e-12)
    fewer = classes.thinned(found)
    assert len(fewer) <= 200 < len(found)
    np.testing.assert_array_equal(fewer[[0, -1]], found[[0, -1]])
    assert np.diff(fewer[:, 1:].sum(axis=1)).max() < 0.02
    assert metrics.auc(fewer[:, 1], fewer[:, 2]) == pytest.approx(
        metrics.auc(others, hits), abs=2e-3
    )
    assert len(classes.roc(y[y], p[y], w[y])) == 0


def test_numbers_have_no_classes():
    report, _ = report_of("squared_error")
    assert report.contents.classes is None
    assert "## Classes" not in report.markdown() and "## ROC" not in report.markdown()
    assert embedded(report.html())["on_classes"] is None


# --- weights -------------------------------------------------------------------------------------


def point_estimates(contents):
    """All numbers that weights and rows given several times must agree on."""
    leaves, notes = contents.leaves.leaves, contents.data.features
    return [
        *((score.value, score.baseline) for score in contents.scores),
        *((b.prediction, b.target) for bins in contents.calibration.values() for b in bins),
        *((leaf.share, *leaf.target, *leaf.prediction) for leaf in leaves),
        *((n.missing_test, n.new_share, n.outside, n.shift or 0) for n in notes),
    ]


@pytest.mark.parametrize("kind", ["squared_error", "poisson, rank", "binary", "multiclass"])
def test_a_weight_of_two_is_a_row_given_twice(kind):
    table, y = labeled_rows(kind)
    weight = np.arange(len(y)) % 4
    model = zoo.case(kind).model
    weighted = model.report(table, y, weight)
    several = model.report(table.iloc[np.repeat(np.arange(len(y)), weight)], np.repeat(y, weight))
    for found, expected in zip(
        point_estimates(weighted.contents), point_estimates(several.contents), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    # Of no weight is not there; weights count relative to each other.
    used = weight > 0
    less = model.report(table[used], y[used], 1e-3 * weight[used])
    np.testing.assert_allclose(
        [(s.value, s.low, s.high) for s in weighted.contents.scores],
        [(s.value, s.low, s.high) for s in less.contents.scores],
    )
    assert weighted.contents.rows == less.contents.rows == used.sum()
    assert [e.row for e in weighted.contents.examples] == [
        int(np.flatnonzero(used)[e.row]) for e in less.contents.examples
    ]


def test_equal_weights_are_none():
    table, y = labeled_rows("binary")
    model = zoo.case("binary").model
    plain, alike = model.report(table, y), model.report(table, y, np.full(len(y), 2.0))
    found, expected = alike.contents.to_dict(), plain.contents.to_dict()
    assert found.pop("weights") == {"total": 800.0, "effective_rows": pytest.approx(400.0)}
    assert expected.pop("weights") is None
    twofold, counts = (one["classes"].pop("confusion") for one in (found, expected))
    np.testing.assert_array_equal(twofold, 2 * np.array(counts))
    assert found == expected
    assert "weighted" not in plain.markdown()
    for text in (alike.markdown(), alike.json(), " ".join(embedded(alike.html())["summary"])):
        assert "The test rows are weighted" in text and "400 rows of equal weight" in text


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (["a"] * 300, "sample_weight=.* must be numbers, one per row"),
        (np.ones((300, 2)), "must be 1D"),
        (np.ones(2), "sample_weight"),
        (-np.ones(300), "sample_weight contains -1; negative values are not weights"),
        (np.full(300, np.nan), "NaN"),
        (np.zeros(300), "zero"),
    ],
)
def test_bad_weights_are_refused_as_in_a_fit(weight, message, rng):
    X = rng.normal(size=(300, 2))
    model = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(X, X[:, 0])
    for call in (model.report, model.fit):
        with pytest.raises((TypeError, ValueError), match=message):
            call(X, X[:, 0], weight)


# --- leaves and data -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_leaves_hold_all_labeled_rows(kind):
    report, table = report_of(kind)
    contents = report.contents
    leaves = contents.leaves.leaves
    assert sum(leaf.rows for leaf in leaves) == len(table) == contents.rows
    for leaf in leaves:
        for counts in leaf.histograms:
            assert sum(counts) <= leaf.share + 1e-9
    if contents.model.classes is None:
        assert all(sum(leaf.histograms[0]) == pytest.approx(leaf.share) for leaf in leaves)


def test_data_notes_find_what_was_changed():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({
        "same": rng.normal(size=4000),
        "moved": rng.normal(size=4000),
        "gaps": np.where(rng.random(4000) < 0.1, np.nan, rng.normal(size=4000)),
        "kind": rng.choice(["a", "b"], size=4000),
    })  # fmt: skip
    y = X["same"] + X["moved"] + (X["kind"] == "a")
    model = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(X[:3000], y[:3000])
    test = X[3000:].copy()
    quiet = model.report(test, y[3000:]).contents.data
    assert [note.level for note in quiet.features] == [0, 0, 0, 0]
    assert quiet.features[2].missing_training == pytest.approx(X["gaps"][:3000].isna().mean())
    test["moved"] += 1.0
    test.loc[test.index[:400], "gaps"] = np.nan
    test.loc[test.index[:300], "kind"] = "new"
    loud = model.report(test, y[3000:]).contents.data
    assert [note.level > 0 for note in loud.features] == [False, True, True, True]
    assert loud.features[1].shift == pytest.approx(1.0, abs=0.1)
    assert loud.features[3].new_categories == ("new",)
    assert loud.features[3].new_share == pytest.approx(0.3)


def test_data_notes_do_not_mark_what_chance_gives():
    """Of 45 new rows, one is often beyond the range of 133; ten are not."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(size=(178, 2)), columns=["a", "b"])
    X.loc[2, "b"] = X.loc[3, "a"] = np.nan
    model = ModelTreeRegressor(max_depth=0).fit(X[:133], X.index[:133])
    test = X[133:].copy()
    test.iloc[0, 0] = 1.1
    test.iloc[:10, 1] = -0.1
    found = model.report(test, test.index).contents.data.features
    assert found[0].remarks == () and found[0].outside == pytest.approx(1 / 45)
    assert "values outside the range of training" in found[1].remarks


def test_rows_are_said_to_look_like_training_rows_only_if_they_do():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "c"])
    y = X["a"] + X["b"] + rng.normal(size=2000)
    model = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(X[:1000], y[:1000])
    alike = "The test rows look like the training rows."
    assert alike in model.report(X[1000:], y[1000:]).markdown()
    squeezed = X[1000:].assign(a=X["a"][1000:] / 5)
    report = model.report(squeezed, y[1000:])
    assert alike not in report.markdown() and "distributed otherwise" in report.markdown()
    (note,) = (note for note in report.contents.data.features if note.feature == "a")
    assert note.level == 2 and note.stability > 2
    assert "prediction" in prose.stability(report.contents)
    older = copy.copy(model)
    older.model_ = replace(model.model_, histograms=None)
    report = older.report(X[1000:], y[1000:])
    assert alike not in report.markdown()
    said = " ".join(prose.summary(report.contents))
    assert "{a, b, c, the score} is distributed was not compared" in said


@pytest.mark.parametrize(
    "kind", ["binary, rank, clamp", "multiclass, winsor, clamp", "gamma, clamp"]
)
def test_contributions_of_the_page_start_at_the_mean_row(kind):
    """What the page subtracts, added to the intercept, is the score of the leaf's mean row."""
    view = page_view(report_of(kind)[0].contents)
    for leaf in view["leaves"]:
        for k, formula in enumerate(leaf["formulas"]):
            total = formula["intercept"] + sum(parts[k] for parts in leaf["means"])
            assert total == pytest.approx(leaf["raw"][k], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["squared_error", "binary, rank, clamp", "multiclass"])
def test_a_gain_in_the_page_is_that_of_its_threshold(kind):
    """Also where a closer look has chosen another split than the best of its feature."""
    contents = report_of(kind)[0].contents
    found = [one for split in page_view(contents)["gains"] for one in split["candidates"]]
    candidates = [one for node in contents.model.splits for one in node.split.candidates]
    for shown, candidate in zip(found, candidates, strict=True):
        assert shown["gain"] == candidate.gain
        if shown["place"] is None or np.isinf(candidate.condition.high):
            continue
        x, gain = np.array(candidate.gains).T
        if candidate.is_chosen:
            assert candidate.gain <= gain.max() * (1 + 1e-12)
            at_place = gain[x == shown["place"]]  # the curve has not all places
            np.testing.assert_allclose(at_place, candidate.gain)
        else:  # the best of its feature
            assert candidate.gain == pytest.approx(gain.max())


# --- densities -----------------------------------------------------------------------------------


def test_densities_count_the_labeled_rows():
    model, X, y = fitted("squared_error", **FORMS["curves, rank, clamped"])
    weight = np.arange(len(X)) % 3 + 0.5
    found = model.report(X, y, weight).contents.densities
    assert tuple(one.feature for one in found) == explain(model).bent
    for one in found:
        values = X[one.feature].to_numpy(dtype=float)
        for low, high, share in zip(one.edges[:-1], one.edges[1:], one.shares, strict=True):
            is_last = high == one.edges[-1]
            inside = (values >= low) & ((values < high) | (is_last & (values == high)))
            assert share == pytest.approx(weight[inside].sum() / weight.sum())
        assert one.missing == pytest.approx(weight[np.isnan(values)].sum() / weight.sum())
        assert sum(one.shares) + one.beyond + one.missing == pytest.approx(1.0)


def test_bins_of_whole_numbers_hold_equally_many():
    edges = densities._edges(np.array([17.0, 90.0, 40.0]), 17.0, 90.0)
    assert (np.diff(edges) == 3.0).all()
    assert edges[0] == 16.5 and edges[-2] < 90.0 < edges[-1]
    assert densities._edges(np.array([20.0, 60.0]), 20.0, 60.0)[[0, -1]].tolist() == [19.5, 61.5]
    assert len(densities._edges(np.array([0.5, 2.0]), 0.0, 3.0)) == 31
    assert densities._edges(np.array([2.0]), 2.0, 2.0).tolist() == [1.5, 2.5]


def test_a_few_far_values_do_not_hide_the_rest(rng):
    X = np.exp(3.0 * rng.normal(size=(2000, 1)))
    y = np.abs(np.log(X[:, 0]))
    model = ModelTreeRegressor(max_depth=0, n_jobs=1, curves=True).fit(X, y)
    (one,) = model.report(X, y).contents.densities
    expected = np.quantile(X, [0.025, 0.975], method="inverted_cdf")
    assert [one.low, one.high] == pytest.approx(expected)
    assert one.beyond == pytest.approx(0.05, abs=0.002)


# --- formulas ------------------------------------------------------------------------------------


def test_names_as_short_as_those_of_functions_are_found(rng):
    X = pd.DataFrame(np.sinh(3 * rng.normal(size=(400, 2))), columns=["r", "c"])
    y = np.sign(X["r"]) * np.log1p(abs(X["r"])) + np.cbrt(X["c"])
    model = ModelTreeRegressor(max_depth=0, leaf_transform="rank", max_numbers=None).fit(X, y)
    (leaf,) = page_view(model.report(X, y).contents)["leaves"]
    products = [one for term in leaf["formulas"][0]["terms"] for one in term["products"]]
    parts = {tuple(one["text"][:2]) for one in products}
    assert {("clip(rank(", "r"), ("clip(rank(", "c")} <= parts


def test_indicators_say_how_many_training_rows_have_them(rng):
    model, X, y = fitted("binary")
    nodes = model.apply(X)
    shown = 0
    for leaf in page_view(model.report(X, y).contents)["leaves"]:
        here = X[nodes == leaf["node"]]
        for term in leaf["formulas"][0]["terms"]:
            feature, _, category = term["title"].partition(" = ")
            if category:
                rows = int((here[feature] == category).sum())
            elif feature.endswith(" is missing"):
                rows = int(here[feature.removesuffix(" is missing")].isna().sum())
            else:
                assert term["support"] is None
                continue
            expected = {"text": f"{rows} row{'s' * (rows != 1)}", "few": rows < 10}
            assert term["support"] == expected
            shown += 1
    assert shown > 10
    weighted = copy.deepcopy(model).fit(X, y, rng.gamma(2.0, size=len(X)))
    (first, *_) = page_view(weighted.report(X, y).contents)["leaves"]
    texts = [term["support"]["text"] for term in first["formulas"][0]["terms"] if term["support"]]
    assert texts and all(text.endswith("%") for text in texts)


# --- Markdown, JSON, page ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_markdown_and_json_of_every_kind(kind):
    report, _ = report_of(kind)
    text, data = report.markdown(), json.loads(report.json())
    for title in ("Scores", "Calibration", "Leaves", "Features", "Splits", "Data notes"):
        assert f"## {title}" in text
    is_class = report.contents.model.classes is not None
    assert ("## Classes" in text) == is_class == (data["classes"] is not None)
    assert {"summary", "scores", "calibration", "leaves", "data", "examples", "model"} <= set(data)
    assert len(data["model"]["nodes"]) == len(report.contents.model.nodes)
    assert len(data["examples"]) == 50
    assert data["scores"][0]["name"] in text
    assert all(isinstance(line, str) and line for line in data["summary"])


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_a_number_that_bends_is_one_line_of_a_formula(kind):
    model, X, y = fitted(kind, **FORMS["curves, rank, clamped"])
    view, explanation = page_view(model.report(X, y).contents), explain(model)
    assert tuple(bent["name"] for bent in view["bends"]) == explanation.bent != ()
    for leaf, shown in zip(explanation.leaves, view["leaves"], strict=True):
        for k, formula in enumerate(shown["formulas"]):
            by_title = {term["title"]: term for term in formula["terms"]}
            assert len(by_title) == len(formula["terms"])
            for name in explanation.bent:
                term = by_title[name]
                line = effect_line(explanation, leaf, name, k)
                assert term["way"] == direction(explanation, leaf, name, k)
                is_bent = any("max(0, " in one["text"][0] for one in term["products"])
                assert (term["line"] == [list(point) for point in line.points]) == is_bent
                assert all(one["text"][1] == name for one in term["products"])
                own = explanation.of_number[name]
                used = [leaf.coef[k][t] for t in own if leaf.coef[k][t]]
                assert [one["coef"] for one in term["products"]] == used
    plain, X, y = fitted(kind)
    assert page_view(plain.report(X, y).contents)["bends"] == []


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_lines_of_bent_features_are_those_of_the_leaves(kind):
    model, X, y = fitted(kind, **FORMS["curves, rank, clamped"])
    view, explanation = page_view(model.report(X, y).contents), explain(model)
    for bent in view["bends"]:
        low, high = bent["rows"]["low"], bent["rows"]["high"]
        for leaf, found in zip(explanation.leaves, bent["lines"], strict=True):
            line = effect_line(explanation, leaf, bent["name"], len(explanation.outputs) - 1)
            x, added = zip(*found["points"], strict=True)
            assert low <= x[0] < x[-1] <= high and set(found["bends"]) <= set(x)
            np.testing.assert_allclose(added, np.interp(x, *zip(*line.points, strict=True)))
            assert {x for x, _ in line.points if low < x < high} <= set(x)


def embedded(page):
    """The JSON in the page, as a browser would find it."""
    found = re.search(
        r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(found.group(1))


def test_hostile_names_stay_text():
    model, X, y = hostile_model()
    report = model.report(X, y, title=HOSTILE[1])
    page = report.html()
    assert page.count("<script") == 2 and page.count("</script") == 2
    assert "<img" not in page and "\u2028" not in page
    view = embedded(page)
    assert {feature["name"] for feature in view["features"]} == set(HOSTILE)
    assert view["title"] == HOSTILE[1]
    assert f"<title>{html.escape(HOSTILE[1])}</title>" in page
    assert "<script>" not in report.markdown() and "<img" not in report.markdown()
    assert json.loads(report.json())["model"]["features"][0]["name"] == HOSTILE[0]


def test_page_is_one_file_that_may_run_nothing_but_its_own_script(tmp_path):
    report, _ = report_of("binary")
    report.write(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == report.html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "innerHTML" not in page and "document.write" not in page
    assert page == report_of("binary")[0].html()  # nothing in it is drawn at random


def test_model_that_cannot_be_scored_in_a_page_still_has_a_report(rng):
    X = rng.normal(size=(300, 2))
    model = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(X, X[:, 0])
    view = embedded(Report(model.report(X, X[:, 0]).contents, "because").html())
    assert view["model"] is None and view["no_model"] == "because"


def test_report_refuses_what_it_cannot_score(rng):
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    model = ModelTreeClassifier(max_depth=1, n_jobs=1).fit(X, y)
    with pytest.raises(ValueError, match="y has 2 entries, but X has 300 rows"):
        model.report(X, y[:2])
    with pytest.raises(ValueError, match="'sideways', which is not one of the classes"):
        model.report(X, np.where(X[:, 0] > 2, "sideways", "up"))
    with pytest.raises(ValueError, match="no rows"):
        model.report(pd.DataFrame(X[:0]), y[:0])
    number = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="missing or infinite"):
        number.report(X, np.full(300, np.nan))


def test_few_and_one_sided_rows(rng):
    """One row, one class: scores that are not defined are said to be so."""
    X = rng.normal(size=(300, 2))
    model = ModelTreeClassifier(max_depth=1, n_jobs=1).fit(X, X[:, 0] > 0)
    report = model.report(X[:1], X[:1, 0] > 0)
    assert "not defined" in report.markdown()
    assert report.contents.classes.roc == ()
    assert embedded(report.html())["on_classes"]["rates"][0]["auc"] == "not defined"
    assert embedded(report.html())["summary"]


def test_footer_says_where_the_model_comes_from():
    table, y = labeled_rows("binary, rank, clamp")
    model = zoo.case("binary, rank, clamp").model
    plain = model.report(table, y)
    expected = {"leaf_transform": "'rank'", "max_depth": "2"}  # clamp=True and n_jobs=1 are none
    assert expected.items() <= plain.contents.settings.items()
    assert not {"n_jobs", "clamp", "verbose"} & set(plain.contents.settings)
    footer = embedded(plain.html())["origin"]
    assert f"glassleaf {glassleaf.__version__}. " in footer
    assert "ModelTreeClassifier(" in footer and "leaf_transform='rank'" in footer
    assert "1,500 rows with the loss BinaryLogLoss" in footer
    for date in (datetime.date(2024, 2, 29), "2024-02-29"):
        dated = model.report(table, y, date=date)
        assert f"glassleaf {glassleaf.__version__} on 2024-02-29." in dated.markdown()
        assert dated.contents.date == json.loads(dated.json())["date"] == "2024-02-29"
    with pytest.raises(TypeError, match="date=7 must be a date, a text, or None"):
        model.report(table, y, date=7)


def test_summary_says_what_the_model_is():
    report, _ = report_of("binary")
    first = report.contents
    lines = json.loads(report.json())["summary"]
    assert "1,500 rows" in lines[0] and "400 rows" in lines[0]
    assert f"{len(explain(zoo.case('binary').model).leaves)} leaves" in lines[1]
    assert first.scores[0].name in lines[2]


def test_the_target_has_a_name():
    table, y = labeled_rows("binary")
    model = zoo.case("binary").model
    for report in (
        model.report(table, y, target="repaid"),
        model.report(table, pd.Series(y, name="repaid")),
    ):
        assert report.contents.title == "Model report: repaid"
        assert f"that “repaid” is “{model.classes_[1]}”" in report.markdown()
    assert model.report(table, y, target="repaid", title="Loans").contents.title == "Loans"
    assert model.report(table, y).contents.title == "Model report"
    with pytest.raises(TypeError, match="target=7 must be a text, or None for the name of y"):
        model.report(table, y, target=7)
    with pytest.raises(TypeError, match="title=7 must be a text"):
        model.report(table, y, title=7)


def shown_texts(report):
    """What a reader sees of a report, but for names that are fixed in the page's script."""
    page = embedded(report.html())
    texts = [*page["summary"], *page["intro"].values(), *page["definitions"], *page["weights"]]
    return [report.markdown(), " ".join([*texts, *page["shown"].values()])]


@pytest.mark.parametrize("kind", ["binary", "multiclass", "curves"])
def test_rows_of_the_fit_are_never_called_labeled_rows(kind):
    case = zoo.case(kind)
    table, y = labeled_rows(kind)
    tested, seen = (case.model.report(table, y, np.ones(len(y)), seen=s) for s in (False, True))
    for text in shown_texts(tested):
        assert "tested on" in text and "test rows" in text and "not tested" not in text
    for text in shown_texts(seen):
        assert "not tested" in text and "better than it will on new ones" in text
        assert not re.search(r"test (row|share|target)|in test|was not fitted on", text, re.I)
    assert seen.contents.seen and not tested.contents.seen
    with pytest.raises(TypeError, match="seen='yes' must be True, False, or"):
        case.model.report(table, y, seen="yes")


def test_the_script_names_rows_as_the_page_says():
    scripts = list((Path(glassleaf.__file__).parent / "show" / "report").glob("*.js"))
    texts = [re.findall(r"\"[^\"\n]*\"|`[^`\n]*`", file.read_text("utf-8")) for file in scripts]
    assert len(scripts) > 3 and not [t for own in texts for t in own if "test row" in t]


@pytest.mark.parametrize("kind", ["binary", "binary, rank, clamp", "curves", "no split"])
def test_the_page_explains_what_its_formulas_have_and_nothing_else(kind):
    model = zoo.case(kind).model
    page = embedded(model.report(*labeled_rows(kind)).html())
    formulas = model.export_text(max_terms=None)
    legend = page["intro"]["leaf"]
    assert ("rank(x)" in legend) == ("rank(" in formulas) == bool(page["scales"]["texts"])
    assert ("max(0, x - a)" in legend) == ("max(0, " in formulas)
    assert ("clip(x" in legend) == ("within" in formulas)
    listed = ["".join(parts) for parts in page["scales"]["texts"]]
    assert all(text in formulas for text in listed)


def test_scores_without_an_interval_are_said_to_have_none(rng):
    X = pd.DataFrame({"a": rng.normal(size=300)})
    model = ModelTreeRegressor(loss="poisson").fit(X, rng.poisson(np.exp(X["a"])))
    text = model.report(X[:3], [0, 0, 1], sample_weight=[1, 1, 0]).markdown()
    assert "not known" in text


@pytest.mark.parametrize("kind", ["numbers", "binary"])
def test_rows_of_the_fit_are_noticed(kind):
    """Others, of the same number and the same shares of the classes, are not taken for them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=800), "b": rng.choice(["u", "v"], 800)})
    X.loc[::9, "a"] = np.nan
    y = np.where(X["b"] == "u", X["a"].fillna(1), -X["a"].fillna(1))
    target, kind = (y, ModelTreeRegressor) if kind == "numbers" else (y > 0, ModelTreeClassifier)
    weight = rng.integers(0, 3, 800).astype(float)
    for given in (None, weight):
        model = kind().fit(X, target, sample_weight=given)
        assert model.report(X, target, given).contents.seen
        other = X.assign(a=X["a"] + 1e-3)
        assert not model.report(other, target, given).contents.seen
        assert not model.report(X.iloc[:790], target[:790]).contents.seen


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_coefficients_have_a_part_if_they_are_given(kind):
    model, X, y = fitted(kind)
    table = inference(model, later(X), y)
    report = model.report(X, y, inference=table)
    assert (
        "## Coefficients" in report.markdown() and table.attrs["notes"][0][:40] in report.markdown()
    )
    said = table.attrs["differences"][0]  # such as: the slope of x differs: p < 0.001
    assert said.replace("<", "&lt;")[:-1] in report.markdown()
    assert json.loads(report.json())["estimates"]["differences"][0] == said
    lines = json.loads(report.json())["estimates"]["lines"]
    assert [line["term"] for line in lines] == table["term"].tolist()
    assert [line["value"] for line in lines] == table["estimate"].replace(np.nan, None).tolist()
    assert "## Coefficients" not in model.report(X, y).markdown()


def test_stability_is_told_on_request():
    model, X, y = fitted("squared_error")
    found = glassleaf.stability(model, X, y, n=5)
    report = model.report(X, y, stability=found)
    text = report.markdown()
    assert "## Stability" in text
    assert "5 trees on" in text
    assert "| first split |" in text
    assert json.loads(report.json())["resampled"]["root"] == found.root
    assert "## Stability" not in model.report(X, y).markdown()
    with pytest.raises(TypeError, match="stability=5"):
        model.report(X, y, stability=5)
