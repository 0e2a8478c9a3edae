"""What is said of models of dates, and where rows come in pieces."""

import dated
import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, counterfactuals, explain, reasons
from glassleaf.export import to_scorecard


def test_rules_and_formulas_speak_of_dates():
    model = dated.model("date")
    text = model.export_text()
    assert "when < 2015-03" in text and "when ≥ 2015-03" in text
    assert (
        "[month of when = Jul]" in text and "16" not in text.split("Features:")[0].split("rows")[1]
    )
    root = explain(model).nodes[0].split.condition
    border = pd.Timestamp(root.end(root.high))
    X, _ = dated.table("date")
    left = model.apply(X) < model.apply(X[X["when"].notna()]).max()
    assert border.year == 2015
    nodes = model.tree_.decision_path(model.apply(X)).toarray()[:, model.tree_.left[0]] > 0
    known = X["when"].notna().to_numpy()
    np.testing.assert_array_equal(nodes[known], (X["when"] < border).to_numpy()[known])
    assert left.any()


def test_a_trend_is_told_from_a_round_date():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("1999-05-05") + pd.to_timedelta(rng.integers(0, 7000, 600), unit="D")
    y = (when - pd.Timestamp("2010-01-01")).days * 0.01 + rng.normal(scale=0.1, size=600)
    model = ModelTreeRegressor(max_depth=0).fit(pd.DataFrame({"when": when}), y)
    text = model.export_text()
    assert "0.010002·(when - 2012-01-01)" in text
    assert "when counts in days" in text


def test_explanations_of_rows_name_dates():
    X, y = dated.table("stamp")
    model = ModelTreeClassifier(max_depth=2).fit(X, y > 1)
    row = explain(model, X.iloc[[1]])[0]
    assert row.values["when"] == str(X["when"].iloc[1])
    assert set(row.values) == {"x", *(name for name in model.model_.names if name != "x")}
    (found,) = counterfactuals(model, X.iloc[[1]], target=not model.predict(X.iloc[[1]])[0])
    assert [change.feature for change in found.changes] == ["x"]
    with pytest.raises(ValueError, match="actionable names 'when': a date is not changed"):
        counterfactuals(model, X.iloc[[1]], actionable=["when"])
    (told,) = reasons(model, X.iloc[[1]], favorable=True, k=9)
    scored = model.scorer().reasons(X.iloc[1].to_dict(), k=9, favorable=True)
    assert [(r.feature, r.value) for r in scored] == [(r.feature, r.value) for r in told]


def test_a_scorecard_of_dates_scores_as_the_model():
    X, y = dated.table("date")
    model = ModelTreeClassifier(max_depth=1).fit(X, y > 1)
    card = to_scorecard(model, integer=False)
    raw = np.log(model.predict_proba(X)[:, 0]) - np.log(model.predict_proba(X)[:, 1])
    points = card.score(X)
    slope = np.polyfit(raw, points, 1)
    np.testing.assert_allclose(np.polyval(slope, raw), points, atol=1e-4)


@pytest.mark.parametrize("kind", dated.KINDS)
def test_pieces_give_the_tree_of_the_whole_table(tmp_path, kind):
    X, y = dated.table(kind)
    frame = X.assign(y=y)
    for part in range(3):
        frame[part::3].to_parquet(tmp_path / f"{part}.parquet", index=False)
    shuffled = pd.concat([frame[part::3] for part in range(3)])
    here = ModelTreeRegressor(max_depth=2).fit(shuffled[["x", "when"]], shuffled["y"])
    streamed = ModelTreeRegressor(max_depth=2, backend="stream").fit(tmp_path, "y")
    assert streamed.model_.tree.columns == here.model_.tree.columns
    np.testing.assert_allclose(streamed.predict(X), here.predict(X), rtol=1e-9)


def test_dask_gives_the_tree_of_the_whole_table():
    dask_frames = pytest.importorskip("dask.dataframe")
    X, y = dated.table("stamp")
    collection = dask_frames.from_pandas(X.assign(y=y), npartitions=3)
    found = ModelTreeRegressor(max_depth=1, backend="dask").fit(collection, "y")
    here = ModelTreeRegressor(max_depth=1).fit(X, y)
    np.testing.assert_allclose(found.predict(X), here.predict(X), rtol=1e-9)
    np.testing.assert_array_equal(
        found.predict(collection[["x", "when"]]).compute(), found.predict(X)
    )


def test_the_page_asks_for_dates():
    X, y = dated.table("date")
    page = dated.model("date").report(X, y).html()
    assert '"date":"day"' in page and "dateInput" in page
