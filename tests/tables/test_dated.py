"""Columns of dates of every library, against pandas' own reading of them."""

import datetime

import dated
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, load
from glassleaf.tables.dated import with_dates
from glassleaf.tables.reading import read_table

LIBRARIES = {
    "pandas": lambda X: X,
    "pandas of objects": lambda X: X.assign(when=X["when"].astype(object)),
    "pandas of arrow": lambda X: X.assign(
        when=pd.Series(pa.array(X["when"]), dtype=pd.ArrowDtype(pa.array(X["when"]).type))
    ),
    "polars": pl.from_pandas,
    "pyarrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
}


@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
@pytest.mark.parametrize("kind", dated.KINDS)
def test_parts_are_those_of_pandas(kind, make):
    X, _ = dated.table(kind)
    table, expected = with_dates(read_table(make(X))), dated.parts(X)
    names = list(expected)[: 4 if kind == "date" else 5]
    assert table.names == names
    for j, name in enumerate(names):
        if table.holds_text(j):
            labels = table.labels(j)
            found = np.array([*labels.values, None], dtype=object)[labels.codes]
            known = expected[name].notna().to_numpy()
            assert found[known].tolist() == expected[name][known].tolist()
            assert (labels.codes[~known] == -1).all()
        else:
            np.testing.assert_array_equal(table.numeric(j), expected[name].to_numpy(dtype=float))


@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
@pytest.mark.parametrize("kind", dated.KINDS)
def test_every_library_and_texts_give_the_same_predictions(kind, make):
    X, y = dated.table(kind)
    model = ModelTreeRegressor(max_depth=1, max_numbers=20).fit(make(X), y)
    expected = model.predict(X)
    for other in LIBRARIES.values():
        np.testing.assert_array_equal(model.predict(other(X)), expected)
    np.testing.assert_array_equal(model.predict(X.assign(when=dated.texts(X))), expected)
    assert list(model.feature_names_in_) == ["x", "when"] and model.n_features_in_ == 2


def test_a_model_of_dates_equals_one_of_their_parts():
    X, y = dated.table("stamp")
    by_hand = ModelTreeRegressor(max_depth=2).fit(dated.parts(X), y)
    model = dated.model("stamp")
    np.testing.assert_array_equal(model.tree_.feature, by_hand.tree_.feature)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(dated.parts(X)), atol=0.05)


def test_parts_come_only_where_they_vary_and_come_again():
    def names(start, **step):
        when = pd.date_range(start, periods=60, **step)
        return with_dates(read_table(pd.DataFrame({"when": when}))).names

    assert names("2020-01-31 12:00", freq="h") == ["when", "hour of when"]
    assert names("2020-01-06", freq="D") == ["when", "weekday of when"]
    assert names("2020-01-06", freq="7D") == ["when", "month of when"]
    assert names("2020-01-01", freq="MS") == ["when", "month of when", "weekday of when"]


def test_names_and_positions_mean_the_columns_of_the_table():
    X, y = dated.table("stamp")
    X = X.assign(z=X["x"] ** 2)
    fit = ModelTreeRegressor(max_depth=2, split_features=["when"], leaf_features=[0]).fit(X, y)
    used = {fit.model_.names[j] for j in fit.tree_.feature if j >= 0}
    assert used and all(name.endswith("when") for name in used)
    days = ModelTreeRegressor(max_depth=2, split_features=["days of when"]).fit(X, y)
    assert {days.model_.names[j] for j in days.tree_.feature if j >= 0} == {"when"}
    mask = ModelTreeRegressor(max_depth=0, leaf_features=[False, True, False]).fit(X, y)
    strength = mask.model_.tree.coef[0] != 0
    columns = mask.tree_.terms.column_of_term[strength]
    assert {mask.model_.names[j] for j in columns} <= set(dated.parts(X)) - {"x"}
    with pytest.raises(ValueError, match="position 3, but X has 3 columns"):
        ModelTreeRegressor(leaf_features=[3]).fit(X, y)
    signs = ModelTreeRegressor(monotonic_cst={"when": 1}).fit(X, y)
    assert signs.predict(X).shape == y.shape


def test_clear_errors():
    X, y = dated.table("date")
    model = ModelTreeRegressor(max_depth=1).fit(X, y)
    zoned, _ = dated.table("zoned")
    with pytest.raises(ValueError, match="'when' held dates or stamps without one"):
        model.predict(zoned)
    with pytest.raises(ValueError, match="'when' held dates when the model was fitted"):
        model.predict(X.assign(when=1.0))
    with pytest.raises(ValueError, match="'when' holds dates; 'soon' is none"):
        model.predict(X.assign(when="soon"))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(TypeError, match="'when' held dates.*Pass a"),
    ):
        model.predict(np.ones((3, 2)))
    with pytest.raises(ValueError, match="X has a column 'month of when'"):
        ModelTreeRegressor().fit(X.assign(**{"month of when": 1.0}), y)
    with pytest.raises(TypeError, match="'long'"):
        ModelTreeRegressor().fit(X.assign(long=datetime.timedelta(days=1)), y)


def test_dates_that_are_all_missing_later_are_missing_values():
    X, y = dated.table("date")
    model = ModelTreeClassifier(max_depth=1).fit(X, y > 1)
    missing = X.head(3).assign(when=None)
    expected = model.predict_proba(X[X["when"].isna()].head(1).assign(x=X["x"].iloc[0]))
    np.testing.assert_array_equal(model.predict_proba(missing)[0], expected[0])


def test_months_never_seen_are_new_categories(tmp_path):
    X, y = dated.table("date")
    winter = X["when"].dt.month.isin([11, 12, 1, 2]) | X["when"].isna()
    model = ModelTreeRegressor(max_depth=1).fit(X[winter], y[winter])
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert np.isfinite(again.predict(X)).all()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.model_.tree.columns == model.model_.tree.columns
