"""Lists of results as tables: one line per entry, whatever engine there is."""

import sys

import needed
import numpy as np
import pandas as pd
import pytest

from glassleaf import (
    ModelTreeClassifier,
    compare,
    counterfactuals,
    group_scores,
    leaf_table,
    learning_curve,
    optimism,
    reasons,
)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=400), "kind": rng.choice(["x", "y"], size=400)})
    raised = X["a"] + (X["kind"] == "x") + rng.logistic(size=400)
    y = np.where(raised > 0, "good", "bad")
    return ModelTreeClassifier(max_depth=1, n_jobs=1).fit(X, y), X, y


def test_reasons_have_a_line_each(case):
    model, X, _ = case
    found = reasons(model, X[:5], favorable="good")
    table = found.to_frame()
    assert len(table) == sum(map(len, found))
    assert list(table.columns) == [
        "row", "rank", "feature", "value", "contribution", "neutral", "neutral_contribution",
        "code", "message", "text",
    ]  # fmt: skip
    for line in table.itertuples():
        assert line.text == found[line.row][line.rank - 1].text


def test_changes_have_a_line_each(case):
    model, X, _ = case
    found = counterfactuals(model, X[:1])
    table = found.to_frame()
    assert len(table) == sum(len(answer.changes) for answer in found)
    for line in table.itertuples():
        answer = found[line.answer]
        assert (line.feature, line.new) in {(c.feature, c.new) for c in answer.changes}
        assert (line.size, line.label, line.leaf) == (answer.size, answer.label, answer.leaf)


def test_scores_of_groups_are_columns(case):
    model, X, y = case
    found = group_scores(model, X, y, "kind", favorable="good")
    table = found.to_frame()
    assert list(table["group"]) == [group.group for group in found]
    for name in found[0].scores:
        assert list(table[name]) == [group.scores[name] for group in found]


def test_what_validates_is_a_table_too(case):
    model, X, y = case
    compared = compare(model, model, X, y)
    assert list(compared.to_frame()["score"]) == [one.score for one in compared]
    flattered = optimism(model, X, y, n=2)
    assert list(flattered.to_frame()["corrected"]) == [own.corrected for own in flattered]
    curve = learning_curve(model, X, y, n=1, shares=(0.5, 1.0))
    assert list(curve.to_frame()["rows"]) == [point.rows for point in curve.points]


def test_polars_where_there_is_no_pandas(case, monkeypatch):
    polars = needed.module("polars")
    model, X, _ = case
    found = reasons(model, X[:5], favorable="good")
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = found.to_frame()
    assert isinstance(table, polars.DataFrame) and len(table) == sum(map(len, found))
    assert isinstance(leaf_table(model), polars.DataFrame)
