"""Samples side by side, a challenger, net benefit and refits, in page, Markdown and JSON."""

import json

import numpy as np
import pandas as pd
import pytest
import zoo
from reports import labeled_rows, report_of

from glassleaf import (
    ModelTreeClassifier,
    ModelTreeRegressor,
    compare,
    learning_curve,
    model_card,
    optimism,
)
from glassleaf.explanations import scores
from glassleaf.show.report import prose
from glassleaf.show.report.view import page_view


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(900, 3)), columns=["a", "b", "c"])
    raised = X["a"] + np.where(X["b"] > 0, X["c"], -X["c"]) + rng.logistic(size=900)
    return X, np.where(raised > 0, "bad", "good")


@pytest.fixture(scope="module")
def model(loans):
    X, y = loans
    return ModelTreeClassifier(positive_class="bad", n_jobs=1).fit(X[:500], y[:500])


@pytest.fixture(scope="module")
def full(loans, model):
    X, y = loans
    other = ModelTreeClassifier(max_depth=0, n_jobs=1).fit(X[:500], y[:500])
    return model.report(
        {"development": (X[:500], y[:500]), "later": (X[500:], y[500:])},
        challenger=other,
        optimism=optimism(model, X[:500], y[:500], n=3),
        learning_curve=learning_curve(model, X[:500], y[:500], n=2, shares=(0.5, 1.0)),
    )


def test_samples_stand_side_by_side(loans, model, full):
    X, y = loans
    first, last = full.contents.validation.samples
    assert (first.name, first.rows, first.seen) == ("development", 500, True)
    assert (last.name, last.rows, last.seen) == ("later", 400, False)
    assert first.scores == model.report(X[:500], y[:500]).contents.scores
    alone = model.report(X[500:], y[500:]).contents
    assert last.scores == alone.scores == full.contents.scores
    assert alone.calibration == full.contents.calibration and not full.contents.seen
    assert alone.validation.samples == ()
    text = full.markdown()
    assert "| development (500 rows, fitted on) | later (400 rows) |" in text
    assert prose.interval_text(first.scores[0]) in text
    shown = page_view(full.contents)["validation"]["samples"]
    assert [sample["rows"] for sample in shown] == ["500 rows, fitted on", "400 rows"]


def test_weights_and_fitted_samples_by_name(loans, model):
    X, y = loans
    w = np.where(np.arange(400) < 300, 1.0, 0.0)
    given = {"some": (X[:200], y[:200]), "later": (X[500:], y[500:], w)}
    contents = model.report(given, seen=["some"]).contents
    assert [sample.seen for sample in contents.validation.samples] == [True, False]
    assert contents.scores == model.report(X[500:800], y[500:800]).contents.scores
    assert contents.rows == 300 and contents.weights.total == 300
    assert model.report(given, seen=True).contents.seen


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (({"a": (1, 2)}, [1]), "bring their own y"),
        (({},), "no sample"),
        (({"a": [1, 2]},), "'a' must be"),
    ],
)
def test_what_is_no_sample(model, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        model.report(*given)


def test_a_challenger_is_compared_on_the_rows_of_the_report(loans, model, full):
    X, y = loans
    other = ModelTreeClassifier(max_depth=0, n_jobs=1).fit(X[:500], y[:500])
    found = full.contents.validation.challenger
    assert list(found.comparison) == compare(model, other, X[500:], y[500:])
    auc = found.comparison[0]
    assert f"| {auc.difference:+.4f} | {auc.low:+.4f} to {auc.high:+.4f} |" in full.markdown()
    p = other.predict_proba(X[500:])[:, 0]
    expected = scores.net_benefit(y[500:] == "bad", p, np.ones(400), 0.3)
    (point,) = [one for one in found.decisions if one.threshold == 0.3]
    assert point.model == pytest.approx(expected)
    numbers = ModelTreeRegressor(n_jobs=1).fit(X, X["a"])
    told = numbers.report(X, X["a"] + X["b"], challenger=numbers).contents.validation
    assert told.challenger.comparison[0].p == 1.0 and not told.decisions and told.brier is None


def test_two_classes_have_parts_of_the_brier_score_and_net_benefit(full):
    found = full.contents.validation
    brier = {score.name: score.value for score in full.contents.scores}["Brier score"]
    parts = found.brier
    total = parts.reliability - parts.resolution + parts.uncertainty
    assert total == pytest.approx(brier)
    assert f"Brier score {brier:.4f} = reliability" in full.markdown()
    assert len(found.decisions) == 99


def test_refits_are_told(full):
    found = full.contents.validation
    (auc, *_) = found.optimism
    text = full.markdown()
    assert auc.score == "AUC" and f"{auc.corrected:.4f}" in text
    assert "| rows | AUC, held out |" in text
    told = json.loads(full.json())["validation"]
    assert [point["rows"] for point in told["learning_curve"]["points"]] == [200, 400]


@pytest.mark.parametrize("kind", ["squared_error", "gamma, clamp", "multiclass", "binary"])
def test_every_kind_of_model_has_a_challenger(kind):
    model = zoo.case(kind).model
    report = model.report(*labeled_rows(kind), challenger=model)
    found = report.contents.validation.challenger
    assert {one.difference for one in found.comparison} == {0.0}
    assert "Challenger" in report.markdown() and "Challenger" not in report_of(kind)[0].markdown()


def test_numbers_in_line():
    assert prose.in_line([12345.6, 0.2], 12345.6) == ["12,346", "0"]
    assert prose.in_line([0.01234, np.nan], 0.01, signed=True) == ["+0.01234", "not defined"]
    assert [prose.p_text(p) for p in (1e-9, 0.00123, 0.2, np.nan)] == [
        "<0.0001", "0.0012", "0.20", "not known",
    ]  # fmt: skip


def test_a_card_has_intervals_and_a_challenger(model, full):
    contents = full.contents
    text = model_card(
        model, scores=contents.scores, comparison=contents.validation.challenger.comparison
    )
    assert "| score | value | 95% interval | constant guess |" in text
    assert prose.interval_text(contents.scores[0]) in text and "### Challenger" in text
