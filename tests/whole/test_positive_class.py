"""``positive_class``: every place says and computes what it would if that label came last.

Two models of the same rows: in one the positive label is named and comes first, in the other it
comes last and is not named. Up to that label, and to the order of the classes, they are the same.
"""

import json
import re
from dataclasses import fields, replace
from functools import cache

import matplotlib as mpl
import needed
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import average_precision_score, get_scorer, make_scorer, roc_auc_score
from sklearn.model_selection import cross_val_score
from whole_models import ModelTreeClassifier

import glassleaf
from glassleaf import (
    counterfactuals,
    explain,
    export,
    leaf_table,
    load,
    mimic,
    model_card,
    reasons,
    shap_values,
)
from glassleaf.errors import ModelFileError
from glassleaf.explanations.leaf_scores import score_leaves
from glassleaf.losses import BinaryLogLoss, MulticlassLogLoss
from glassleaf.show.notebook import tree_html
from glassleaf.show.report.view import page_view
from glassleaf.tree.file import model_file
from glassleaf.tree.file.serialize import from_document, plain_model
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.scorer import Scorer

mpl.use("agg")
plots = pytest.importorskip("glassleaf.show.plots")

GIVEN = {"max_depth": 2, "n_jobs": 1, "significance": None}


def rows(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"income": np.exp(rng.normal(size=n)), "age": rng.uniform(18, 80, n)})
    X["region"] = rng.choice(["north", "south"], n)
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    score = np.where(X["region"] == "north", 0.05 * (X["age"] - 50), 0.0)
    score = score + 1.5 * np.cos(X["age"] / 9) - np.nan_to_num(X["income"])
    return X, score + rng.logistic(size=n) > 0, rng.uniform(0.2, 2.0, n)


@cache
def models():
    """The positive label named, and come last; then the rows and whether they are bad."""
    X, is_bad, weight = rows()
    first = ModelTreeClassifier(positive_class="bad", **GIVEN)
    last = ModelTreeClassifier(**GIVEN)
    first.fit(X, np.where(is_bad, "bad", "good"), weight)
    last.fit(X, np.where(is_bad, "zad", "good"), weight)
    return first, last, X, is_bad


def renamed(text):
    return text.replace("zad", "bad")


def plain(value):
    """A record with the label of the other model."""
    return json.loads(renamed(json.dumps(value)))


# --- the estimator -------------------------------------------------------------------------------


def test_the_tree_is_the_same_bit_for_bit():
    first, last, _, is_bad = models()
    seen = replace(first.tree_.record, target=first.tree_.record.target[:, ::-1])
    assert replace(first.tree_, training_record=seen) == last.tree_
    assert first.tree_.n_leaves > 2
    assert first.tree_.record.target[0, 0] == pytest.approx(is_bad.mean(), abs=0.05)


def test_scikit_learn_sees_its_own_order():
    first, last, X, is_bad = models()
    assert first.classes_.tolist() == ["bad", "good"]
    np.testing.assert_array_equal(first.predict_proba(X), last.predict_proba(X)[:, ::-1])
    np.testing.assert_array_equal(first.predict_log_proba(X), last.predict_log_proba(X)[:, ::-1])
    np.testing.assert_array_equal(first.decision_function(X), -last.decision_function(X))
    np.testing.assert_array_equal(first.predict(X), np.char.replace(last.predict(X), "z", "b"))
    np.testing.assert_array_equal(
        first.decision_function(X) > 0, first.predict(X) == first.classes_[1]
    )
    assert fitted_model(first).positive == 0
    assert fitted_model(first).positive_class == "bad"
    assert fitted_model(last).positive == 1


def test_scorers_give_the_right_values():
    first, last, X, is_bad = models()
    y, other = np.where(is_bad, "bad", "good"), np.where(is_bad, "zad", "good")
    for name in ("roc_auc", "neg_log_loss", "accuracy"):
        found, expected = (get_scorer(name)(*own) for own in ((first, X, y), (last, X, other)))
        assert found == pytest.approx(expected, rel=1e-12)
    assert get_scorer("roc_auc")(first, X, y) > 0.6
    for method in ("decision_function", "predict_proba"):
        for label in ("bad", "good"):
            precision = make_scorer(
                average_precision_score, response_method=method, pos_label=label
            )
            share = first.predict_proba(X)[:, first.classes_.tolist().index(label)]
            expected = average_precision_score(y == label, share)
            assert precision(first, X, y) == pytest.approx(expected)


def test_calibration_and_cross_validation_work():
    X, is_bad, _ = rows()
    y = np.where(is_bad, "bad", "good")
    model = ModelTreeClassifier(positive_class="bad", max_depth=1, n_jobs=1)
    assert cross_val_score(model, X, y, scoring="roc_auc", cv=3).mean() > 0.6
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, y)
    assert roc_auc_score(is_bad, calibrated.predict_proba(X)[:, 0]) > 0.6


def test_signs_are_those_of_the_positive_class(rng):
    """The example of the issue: x makes rows bad, and "bad" comes before "good"."""
    X = pd.DataFrame({"x": rng.normal(size=600)})
    y = np.where(X["x"] + 0.5 * rng.logistic(size=600) > 0, "bad", "good")
    unnamed = ModelTreeClassifier(monotonic_cst={"x": 1}, max_depth=0).fit(X, y)
    assert unnamed.tree_.coef[0, 0] == 0.0
    model = ModelTreeClassifier(monotonic_cst={"x": 1}, max_depth=0, positive_class="bad")
    assert model.fit(X, y).tree_.coef[0, 0] > 0.5
    assert (np.diff(model.predict_proba(X.sort_values("x"))[:, 0]) >= 0).all()


@pytest.mark.parametrize(
    "labels, positive",
    [((0, 1), 0), ((0, 1), 1), ((False, True), False), ((False, True), np.False_), ((0, 1), None),
     ((-1, 1), np.int64(-1)), (("bad", "good"), np.str_("bad")), ((0.0, 1.0), 0)],
)  # fmt: skip
def test_labels_of_any_type(labels, positive, tmp_path):
    X, is_first, weight = rows(300)
    y = np.where(is_first, *labels)
    model = ModelTreeClassifier(positive_class=positive, max_depth=1).fit(X, y, weight)
    found = fitted_model(model)
    assert found.positive_class == (labels[1] if positive is None else positive)
    model.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert fitted_model(loaded).positive_class == found.positive_class


@pytest.mark.parametrize(
    "positive, y, message",
    [
        ("ugly", ["bad", "good"], "'ugly' is no label of y, which has 'bad' and 'good'"),
        (1, ["bad", "good"], "is no label of y"),
        ("1", [0, 1], "'1' is no label of y, which has 0 and 1"),
        (["bad"], ["bad", "good"], "is no label of y"),
        ("bad", ["bad", "good", "ugly"], "y has 3 classes, and only one of two"),
    ],
)
def test_what_is_refused(positive, y, message):
    X = np.arange(60.0).reshape(-1, 1)
    with pytest.raises(ValueError, match=f"positive_class=.*{message}"):
        ModelTreeClassifier(positive_class=positive).fit(X, np.resize(y, 60))


def test_a_label_without_weight_is_none_of_y():
    X, y = np.arange(90.0).reshape(-1, 1), np.resize(["bad", "good", "ugly"], 90)
    model = ModelTreeClassifier(positive_class="ugly", class_weight={"bad": 0, "good": 1})
    assert fitted_model(model.fit(X, y)).positive_class == "ugly"
    with pytest.raises(ValueError, match="'bad' is no label of y"):
        model.set_params(positive_class="bad").fit(X, y)


def test_a_loss_says_it_itself():
    first, _, X, is_bad = models()
    y, weight = np.where(is_bad, "bad", "good"), rows()[2]
    model = ModelTreeClassifier(loss=BinaryLogLoss(positive=0), **GIVEN).fit(X, y, weight)
    assert model.tree_ == first.tree_
    np.testing.assert_array_equal(model.predict_proba(X), first.predict_proba(X))
    with pytest.raises(ValueError, match="positive_class='bad' is for loss='log_loss'"):
        model.set_params(positive_class="bad").fit(X, y)


def test_class_weights_are_those_of_their_labels():
    X, is_bad, weight = rows()
    found = []
    for label, named in (("bad", "bad"), ("zad", None)):
        given = {"class_weight": {label: 3.0, "good": 1.0}, "positive_class": named, **GIVEN}
        y = np.where(is_bad, label, "good")
        found.append(ModelTreeClassifier(**given).fit(X, y, weight).predict_proba(X))
    np.testing.assert_array_equal(found[0], found[1][:, ::-1])


def test_a_student_of_another_model_may_name_it():
    first, last, X, _ = models()
    found = mimic(first, X, positive_class="bad", max_depth=1)
    other = mimic(last, X, max_depth=1)
    assert found.fidelity.auc == pytest.approx(other.fidelity.auc)
    np.testing.assert_allclose(
        found.student.predict_proba(X), other.student.predict_proba(X)[:, ::-1], atol=1e-6
    )


# --- explanations --------------------------------------------------------------------------------


def test_the_explanation_of_the_model():
    first, last, _, _ = models()
    found, expected = explain(first).to_dict(), plain(explain(last).to_dict())
    assert found["positive_class"] == "bad"
    assert found.pop("parameters") != expected.pop("parameters")  # one names the class
    assert found.pop("classes") == expected.pop("classes")[::-1]
    for node in expected["nodes"]:
        node["target"], node["prediction"] = node["target"][::-1], node["prediction"][::-1]
    assert found == expected


@pytest.mark.parametrize("with_background", [False, True])
def test_explanations_of_rows(with_background):
    first, last, X, _ = models()
    background = X[:50] if with_background else None
    pairs = zip(*(explain(m, X[:20], background=background) for m in (first, last)), strict=True)
    for found, other in pairs:
        expected = plain(other.to_dict())
        for name in ("classes", "prediction"):
            expected[name] = expected[name][::-1]
        assert found.to_dict() == expected
        assert found.to_text().splitlines()[1].startswith("score of bad ")
    assert "score of class 1" in explain(fitted_numbers(), [[0.0]])[0].to_text()


def fitted_numbers():
    X = np.linspace(-1, 1, 100).reshape(-1, 1)
    return ModelTreeClassifier(max_depth=0).fit(X, (X[:, 0] > 0).astype(int))


def test_reasons():
    first, last, X, _ = models()
    for favorable in ("good", "high", "low"):
        found, expected = (reasons(m, X[:30], favorable=favorable) for m in (first, last))
        assert found == expected
    assert reasons(first, X[:30], favorable="bad") == reasons(last, X[:30], favorable="zad")
    assert reasons(first, X[:30], favorable="bad") == reasons(first, X[:30], favorable="high")


def test_counterfactuals():
    first, last, X, _ = models()
    for row in range(8):
        for given in ({}, {"probability": 0.7}):
            found, other = (counterfactuals(m, X[row : row + 1], **given) for m in (first, last))
            assert len(found) == len(other) > 0
            for own, expected in zip(found, other, strict=True):
                assert (own.leaf, own.label) == (expected.leaf, renamed(expected.label))
                assert own.size == pytest.approx(expected.size, abs=1e-9)
                assert own.prediction == pytest.approx(expected.prediction[::-1], abs=1e-9)


def test_shapley_values():
    first, last, X, _ = models()
    found, expected = (shap_values(m, X[:20], X[:50]).values for m in (first, last))
    np.testing.assert_array_equal(found, expected)


def test_leaf_scores():
    first, last, X, is_bad = models()
    found = score_leaves(first.model_, X, np.where(is_bad, "bad", "good"), 0)
    other = score_leaves(last.model_, X, np.where(is_bad, "zad", "good"), 1)
    assert found.to_dict() == plain(other.to_dict())
    assert found.name == "P(bad)"


# --- what is shown -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [glassleaf.ModelTreeClassifier.export_text, lambda model: tree_html(glassleaf.explain(model))],
    ids=["text", "html"],
)
def test_texts(shown):
    first, last, _, _ = models()
    assert shown(first) == renamed(shown(last))
    assert "P(bad) = 1 / (1 + exp(-score))" in shown(first)


def test_the_card():
    first, last, _, _ = models()
    named = ModelTreeClassifier(positive_class="zad", **GIVEN)
    named.model_ = last.model_  # the settings on the card name the class
    assert model_card(first) == renamed(model_card(named))


def test_the_table_of_leaves():
    first, last, _, _ = models()
    found, expected = leaf_table(first), leaf_table(last).rename(columns=renamed)
    assert set(found.columns) == set(expected.columns)
    pd.testing.assert_frame_equal(found, expected[found.columns])


def texts_of(display):
    figure = display.figure_
    found = [text.get_text() for text in figure.findobj(mpl.text.Text)]
    mpl.pyplot.close(figure)
    return [renamed(text) for text in found]


@pytest.mark.parametrize(
    "display, given, said",
    [
        ("TreeDisplay", (), "influence on the score of bad"),
        ("CurveDisplay", (), "adds to the score of bad"),
        ("DependenceDisplay", ("X", "age"), "mean P(bad)"),
        ("RegionDisplay", ("X", ("income", "age")), "P(bad)"),
        ("CalibrationDisplay", ("X", "y"), "mean P(bad)"),
        ("LiftDisplay", ("X", "y"), "of the weight"),
        ("RowDisplay", ("row",), "raw score of bad"),
    ],
)
def test_plots(display, given, said):
    *both, X, is_bad = models()
    found = []
    for model, label in zip(both, ("bad", "zad"), strict=True):
        known = {"X": X, "y": np.where(is_bad, label, "good"), "row": X[:1]}
        arguments = [known.get(name, name) if isinstance(name, str) else name for name in given]
        weights = {"sample_weight": rows()[2]} if display == "LiftDisplay" else {}
        drawn = getattr(plots, display).from_estimator(model, *arguments, **weights)
        found.append(texts_of(drawn))
    assert found[0] == found[1]
    assert said in " ".join(found[0])


@cache
def reports():
    first, last, _, _ = models()
    X, is_bad, _ = rows(400, seed=1)
    return [
        model.report(X, pd.Series(np.where(is_bad, label, "good"), name="loan"))
        for model, label in ((first, "bad"), (last, "zad"))
    ]


def test_the_report_as_data():
    found, other = (json.loads(report.json()) for report in reports())
    expected = plain(other)
    assert "the probability that “loan” is “bad”" in found["summary"][0]
    assert found["model"]["positive_class"] == "bad"
    for name in ("summary", "calibration", "densities", "data", "rows", "typical"):
        assert found[name] == expected[name]
    for score, own in zip(found["scores"], expected["scores"], strict=True):
        assert score["value"] == pytest.approx(own["value"], rel=1e-12)
    assert found["classes"]["roc"] == expected["classes"]["roc"]
    assert found["classes"]["confusion"] == [
        row[::-1] for row in expected["classes"]["confusion"][::-1]
    ]
    assert [one["row"] for one in found["examples"]] == [one["row"] for one in expected["examples"]]
    for leaf in expected["leaves"]["leaves"]:
        leaf["target"], leaf["prediction"] = leaf["target"][::-1], leaf["prediction"][::-1]
    assert found["leaves"] == expected["leaves"]


def test_the_page_and_markdown():
    found, other = (page_view(report.contents) for report in reports())
    expected = plain(other)
    assert (found["positive"], expected["positive"]) == (0, 1)
    assert found["outputs"] == expected["outputs"] == ["bad"]
    for name in ("summary", "link", "nodes", "calibration", "distribution", "gains", "rows"):
        assert found[name] == expected[name]
    markdown = reports()[0].markdown()
    assert "| probability of bad from | found |" in markdown
    leaves = [
        re.findall(r"^(?:\| \d+ \|| *- \*\*).*", renamed(report.markdown()), re.MULTILINE)
        for report in reports()
    ]
    tree = models()[0].tree_
    assert len(leaves[0]) >= tree.n_leaves
    assert leaves[0] == leaves[1]


# --- exports and files ---------------------------------------------------------------------------


def test_exports_in_text():
    first, last, _, _ = models()
    for dialect in ("duckdb", "sqlite", "postgresql"):
        found, expected = (export.to_sql(m, dialect=dialect) for m in (first, last))
        assert found == renamed(expected)
        view = export.to_sql(first, dialect=dialect, table="t")
        assert "raw is the sum of its terms within its limits, the log-odds of 'bad'." in view
        assert "probability_0 is that of 'bad'." in view
    assert "POSITIVE = 'bad'" in export.to_python(first)
    assert "the probabilities of 'bad', 'good'; returns the leaf" in export.to_c(first)
    tables = [export.to_pmml(m).split("<RegressionTable")[1:] for m in (first, last)]
    assert tables[0] == [renamed(table) for table in tables[1]]


def test_the_scorecard_is_good_for_the_other_class():
    first, last, _, _ = models()
    assert export.to_scorecard(first) == replace(export.to_scorecard(last), bad="bad")
    assert export.to_scorecard(first).good == "good"
    assert export.to_scorecard(first, good="bad") == replace(
        export.to_scorecard(last, good="zad"), good="bad"
    )


def test_the_scorer():
    first, last, X, _ = models()
    found, other = first.scorer(), last.scorer()
    for row in X.iloc[:50].to_dict("records"):
        assert found(row) == other(row)[::-1]
        assert found.raw(row) == other.raw(row)
        assert found.label(row) == renamed(other.label(row))
    np.testing.assert_allclose(
        [found(row) for row in X.to_dict("records")], first.predict_proba(X), rtol=1e-12
    )


def document_of(model, tmp_path):
    model.save(tmp_path / "model.json")
    return json.loads((tmp_path / "model.json").read_text())


def test_the_file_keeps_it(tmp_path):
    first, last, X, _ = models()
    kept = document_of(first, tmp_path)
    assert kept["loss"] == {"name": "log_loss", "n_outputs": 1, "positive": 0}
    assert kept["estimator"]["parameters"]["positive_class"] == "bad"
    loaded = load(tmp_path / "model.json")
    assert loaded.positive_class == "bad" and loaded.model_.loss == BinaryLogLoss(0)
    np.testing.assert_array_equal(loaded.predict_proba(X), first.predict_proba(X))
    assert "positive" not in document_of(last, tmp_path)["loss"]


def test_a_file_without_it_means_the_second_class(tmp_path):
    first, last, X, _ = models()
    old = document_of(last, tmp_path)
    del old["estimator"]["parameters"]["positive_class"]
    model = from_document(model_file.parse(json.dumps(old)))
    assert model.positive_class == "zad"
    assert Scorer(plain_model(model))(X.iloc[0].tolist()) == last.scorer()(X.iloc[0].tolist())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"positive": 2}, "2 is not one of 0, 1"),
        ({"positive": True}, "True is not one of 0, 1"),
    ],
)
def test_files_with_other_positions_are_refused(change, message, tmp_path):
    kept = document_of(models()[0], tmp_path)
    kept["loss"] |= change
    with pytest.raises(ModelFileError, match=message):
        model_file.parse(json.dumps(kept))


def test_only_one_of_two_classes_is_positive_in_a_file(tmp_path, multiclass):
    kept = document_of(ModelTreeClassifier(max_depth=0).fit(*multiclass), tmp_path)
    kept["loss"]["positive"] = 0
    with pytest.raises(ModelFileError, match="only one of two classes"):
        model_file.parse(json.dumps(kept))
    kept = document_of(models()[0], tmp_path)
    kept["estimator"]["parameters"]["loss"] = {"loss": {"name": "log_loss", "n_outputs": 3,
                                                       "positive": 0}}  # fmt: skip
    with pytest.raises(ModelFileError, match="log_loss has other parameters"):
        from_document(model_file.parse(json.dumps(kept)))


def test_losses_by_label():
    raw = np.array([-2.0, 0.0, 800.0])
    first, second = BinaryLogLoss(positive=0), BinaryLogLoss()
    for name in ("inverse_link", "log_inverse_link"):
        found, expected = (getattr(loss, name)(raw) for loss in (first, second))
        np.testing.assert_array_equal(found, expected[:, ::-1])
    assert [field.name for field in fields(MulticlassLogLoss)] == ["n_outputs"]


def test_dask_gives_the_same():
    dask = needed.module("dask.dataframe")
    first, _, X, is_bad = models()
    frame = X.assign(y=np.where(is_bad, "bad", "good"), w=rows()[2])
    model = ModelTreeClassifier(positive_class="bad", backend="dask", **GIVEN)
    model.fit(dask.from_pandas(frame, npartitions=3), "y", "w")
    np.testing.assert_allclose(model.tree_.record.target, first.tree_.record.target)
    parts = dask.from_pandas(X, npartitions=2)
    for method in ("predict_proba", "decision_function"):
        expected = getattr(first, method)(X)
        np.testing.assert_allclose(getattr(model, method)(parts).compute(), expected, rtol=1e-5)
