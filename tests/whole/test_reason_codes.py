"""Reasons with codes: the same from explanations, scorers, files and databases."""

import sqlite3

import needed
import numpy as np
import pandas as pd
import pytest
import zoo

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor, reasons
from glassleaf.export import to_sql
from glassleaf.tree.scorer import load_scorer

duckdb = needed.module("duckdb")

CODES = {"inquiries": ("R12", "Too many recent inquiries"), "it's": ("R'3", 'Say "no"')}


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(0)
    n = 1200
    X = pd.DataFrame({"inquiries": rng.poisson(2, n) * 1.0, "age": rng.uniform(18, 80, n)})
    X["it's"] = rng.choice(["a", "b", "c"], n)
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    side = np.where(X["it's"] == "a", -1.0, 1.0)
    score = side * 0.05 * (X["age"].fillna(40) - 40) - 0.5 * X["inquiries"] + 1
    return X, np.where(score + rng.logistic(size=n) > 0, "good", "bad"), score.to_numpy()


@pytest.fixture(scope="module")
def model(loans):
    X, y, _ = loans
    return ModelTreeClassifier(reason_codes=CODES, max_numbers=None).fit(X, y)


def expected_codes(model, X, favorable, k=3):
    """The codes of ``reasons``, names where there are none, padded."""
    found = reasons(model, X, k, favorable=favorable)
    rows = [[reason.code or reason.feature for reason in row] for row in found]
    return [row + [None] * (k - len(row)) for row in rows]


def test_reasons_have_codes(loans, model):
    X, _, _ = loans
    found = [reason for row in reasons(model, X, favorable="good") for reason in row]
    assert any(reason.code == "R12" for reason in found)
    for reason in found:
        assert (reason.code, reason.message) == CODES.get(reason.feature, ("", ""))
        named = f"{reason.code} {reason.message}: {reason.feature} = "
        assert reason.text.startswith(named if reason.code else f"{reason.feature} = ")


def test_scorers_and_files_say_the_same(loans, model, tmp_path):
    X, _, _ = loans
    few = X.iloc[:80]
    model.save(tmp_path / "model.json")
    assert glassleaf.load(tmp_path / "model.json").reason_codes == CODES
    for scorer in (model.scorer(), load_scorer(tmp_path / "model.json")):
        for favorable in ("good", "bad", "high"):
            named = reasons(model, few, favorable=favorable)
            for row, expected in zip(zoo.rows_of(few), named, strict=True):
                found = scorer.reasons(row, favorable=favorable)
                assert [one.feature for one in found] == [one.feature for one in expected]
                for one, other in zip(found, expected, strict=True):
                    assert one.contribution == pytest.approx(other.contribution, rel=1e-9)
                    assert (one.code, one.message) == (other.code, other.message)
    with pytest.raises(ValueError, match="say which class is good for the row"):
        model.scorer().reasons(zoo.rows_of(few)[0])


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_scorers_find_the_reasons_of_every_kind(kind):
    case = zoo.case(kind)
    favorable = None if case.expected.ndim == 1 else case.model.classes_.tolist()[0]
    expected = reasons(case.model, case.table.iloc[:100], favorable=favorable)
    scorer = case.model.scorer()
    for row, named in zip(case.rows, expected, strict=False):
        found = scorer.reasons(row, favorable=favorable)
        values = [one.contribution for one in found], [one.contribution for one in named]
        np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("short", [False, True])
def test_databases_say_the_same(loans, model, short):
    X, y, _ = loans
    if short:
        model = ModelTreeClassifier(reason_codes=CODES).fit(X, y)
    rows = X.iloc[:200].reset_index(names="id")
    expected = expected_codes(model, X.iloc[:200], "good")
    query = "SELECT reason_1, reason_2, reason_3 FROM scored ORDER BY id"
    connection = duckdb.connect()
    connection.register("frame", rows)
    connection.execute("CREATE TABLE loans AS SELECT * FROM frame")
    given = {"table": "loans", "reasons": 3, "favorable": "good"}
    connection.execute(to_sql(model, **given))
    assert [list(row) for row in connection.execute(query).fetchall()] == expected
    lite = sqlite3.connect(":memory:")
    rows.to_sql("loans", lite, index=False)
    lite.execute(to_sql(model, dialect="sqlite", **given))
    assert [list(row) for row in lite.execute(query).fetchall()] == expected


def test_wrong_codes_say_what_is_wrong(loans):
    X, y, score = loans
    with pytest.raises(ValueError, match="reason_codes names the column 'none', which X does not"):
        ModelTreeClassifier(reason_codes={"none": ("R1", "x")}).fit(X, y)
    with pytest.raises(TypeError, match="must be a code and a text"):
        ModelTreeClassifier(reason_codes={"age": "R1"}).fit(X, y)
    with pytest.raises(TypeError, match="must be a dict from column names"):
        ModelTreeRegressor(reason_codes=["R1"]).fit(X, score)
    model = ModelTreeRegressor().fit(X, score)
    with pytest.raises(ValueError, match="reasons=2 are columns of a view"):
        to_sql(model, reasons=2)


def test_the_report_knows_the_codes(loans, model):
    X, y, _ = loans
    page = model.report(X, y).html()
    assert "R12 Too many recent inquiries" in page
