"""Special values: -9 for "no record" is a value of its own, from the fit to the last export."""

import itertools
import sqlite3
import warnings

import needed
import numpy as np
import pandas as pd
import pytest
from partitions import assert_same_tree
from whole_models import ModelTreeRegressor as WholeRegressor

import glassleaf
from glassleaf import (
    ModelTreeClassifier,
    ModelTreeRegressor,
    counterfactuals,
    reasons,
    relativities,
)
from glassleaf.export import to_scorecard, to_sql

WORDS = {-9: "no record", -8: "no usable trade"}
SPECIAL = {"*": WORDS}


@pytest.fixture(scope="module")
def rows():
    """y changes its slope by z where x > 5; -9 is like large x but 3 higher, -8 like small."""
    rng = np.random.default_rng(0)
    n = 3000
    x, z, drawn = rng.uniform(0, 10, n), rng.normal(size=n), rng.random(n)
    is_high = x > 5
    y = 0.3 * x
    for code, side, added in ((-9.0, True, 5.0), (-8.0, False, -3.0)):
        here = drawn < 0.1 if code == -9 else (drawn >= 0.1) & (drawn < 0.2)
        x[here], is_high[here], y[here] = code, side, added
    y += np.where(is_high, 2 * z, -2 * z) + rng.normal(scale=0.1, size=n)
    x[(drawn > 0.95) & ~is_high] = np.nan
    return pd.DataFrame({"x": x, "z": z}), y


@pytest.fixture(scope="module")
def model(rows):
    return ModelTreeRegressor(special_values=SPECIAL).fit(*rows)


def test_a_planted_model_is_found_with_one_split(rows, model):
    X, y = rows
    assert model.score(X, y) > 0.97
    assert model.get_n_leaves() == 2
    text = model.export_text()
    assert "x ≤ 5 or no usable trade or missing" in text
    assert "x > 5 or no record" in text
    assert "[x = no record]" in text and "[x = no usable trade]" in text


def test_a_code_is_priced_as_its_indicator_beside_the_mean(rows):
    """Least squares on the number (its mean where it is a code), both indicators and z."""
    X, y = rows
    model = WholeRegressor(
        max_depth=0, alpha=0, special_values=SPECIAL, leaf_transform="none", curves=False
    ).fit(X, y)
    x = X["x"].to_numpy()
    is_code = [x == code for code in sorted(WORDS)]
    is_number = ~np.isnan(x) & ~is_code[0] & ~is_code[1]
    filled = np.where(is_number, x, x[is_number].mean())
    design = np.column_stack([filled, X["z"], *is_code, np.isnan(x), np.ones(len(x))])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_split_is_the_best_of_all_borders_and_sides(seed):
    rng = np.random.default_rng(seed)
    x = rng.choice([1.0, 2.0, 3.0, -9.0, -8.0, np.nan], 60)
    y = rng.normal(size=60) + 2 * rng.normal(size=6)[np.searchsorted([-9, -8, 1, 2, 3], x)]
    model = WholeRegressor(
        criterion="impurity", rescore=0, significance=None, max_depth=1, min_samples_leaf=5,
        special_values={0: WORDS}, leaf_features=[],
    ).fit(x[:, None], y)  # fmt: skip
    states = [x == -9, x == -8, np.isnan(x)]
    best = 0.0
    for border in (0.0, 1.0, 2.0, 3.0):
        for sides in itertools.product([False, True], repeat=3):
            left = (x > 0) & (x <= border)
            for state, goes_left in zip(states, sides, strict=True):
                left |= state & goes_left
            if 5 <= left.sum() <= 55:
                best = max(
                    best, len(y) * y.var() - sum(len(y[s]) * y[s].var() for s in (left, ~left))
                )
    leaves = model.apply(x[:, None])
    found = len(y) * y.var() - sum((leaves == k).sum() * y[leaves == k].var() for k in set(leaves))
    assert found == pytest.approx(best)


def test_more_states_than_are_told_apart_still_have_one_side_each():
    rng = np.random.default_rng(1)
    codes = {-float(k): f"code {k}" for k in range(10, 18)}
    x = rng.choice([*codes, *np.arange(10.0)], 2000)
    y = np.where(np.isin(x, [-10, -11, -12]) | (x > 4), 1.0, -1.0) + rng.normal(size=2000)
    model = ModelTreeRegressor(special_values={0: codes}).fit(x[:, None], y)
    expected = np.where(np.isin(x, [-10, -11, -12]) | (x > 4), 1.0, -1.0)
    assert np.abs(model.predict(x[:, None]) - expected).mean() < 0.15


@pytest.mark.parametrize("backend", ["stream", "dask"])
def test_the_tree_is_the_same_on_every_backend(rows, model, backend, tmp_path):
    X, y = rows
    frame = X.assign(y=y)
    spread = ModelTreeRegressor(special_values=SPECIAL, backend=backend)
    if backend == "stream":
        needed.module("pyarrow")
        for k in range(3):
            frame.iloc[k * 1000 : (k + 1) * 1000].to_parquet(tmp_path / f"{k}.parquet")
        spread.fit(str(tmp_path), "y")
    else:
        dd = needed.module("dask.dataframe")
        spread.fit(dd.from_pandas(frame, npartitions=3, sort=False), "y")
    assert_same_tree(spread.tree_, model.tree_)
    assert spread.tree_.columns == model.tree_.columns


@pytest.mark.parametrize("kind", ["integers", "objects", "sparse", "polars"])
def test_any_table_has_special_values(rows, kind):
    X, y = rows
    whole = X.round().fillna(-7).astype(int)
    special = {0: {**WORDS, -7: "none"}}
    model = ModelTreeRegressor(special_values=special, max_depth=1).fit(whole.to_numpy(), y)
    given = {
        "integers": lambda: whole.to_numpy().astype(np.int32),
        "objects": lambda: whole.to_numpy().astype(object),
        "sparse": lambda: needed.module("scipy.sparse").csr_array(whole.to_numpy().astype(float)),
        "polars": lambda: needed.module("polars").DataFrame(whole.to_numpy(), schema=["x0", "x1"]),
    }[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of columns
        other = ModelTreeRegressor(special_values=special, max_depth=1).fit(given, y)
        assert_same_tree(other.tree_, model.tree_)
        np.testing.assert_allclose(other.predict(given), model.predict(whole.to_numpy()))


def test_codes_of_all_columns_hold_where_one_occurs(rows):
    X, y = rows
    model = ModelTreeRegressor(special_values=SPECIAL).fit(X.assign(other=np.arange(len(y))), y)
    known = [column.special for column in model.tree_.columns]
    assert known == [((-9.0, "no record"), (-8.0, "no usable trade")), (), ()]
    # A code that training never saw in its column counts as the mean, and follows the larger side.
    first = X[X["x"] != -9]
    model = ModelTreeRegressor(special_values=SPECIAL).fit(first, y[X["x"] != -9])
    assert model.tree_.terms.special_terms(0)[0] == -1
    assert np.isfinite(model.predict(pd.DataFrame({"x": [-9.0], "z": [0.0]}))).all()


def test_a_foreign_nan_is_missing(model):
    """R's NA is a NaN with bits of its own."""
    other = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)
    found = model.predict(pd.DataFrame({"x": [np.nan, other[0]], "z": [1.0, 1.0]}))
    assert found[0] == found[1]


def test_a_model_file_keeps_them(model, rows, tmp_path):
    model.save(tmp_path / "model.json")
    loaded = glassleaf.load(tmp_path / "model.json")
    assert loaded.tree_ == model.tree_
    assert loaded.special_values == SPECIAL
    np.testing.assert_array_equal(loaded.predict(rows[0]), model.predict(rows[0]))


# --- explanations --------------------------------------------------------------------------------


def test_reasons_name_a_special_value_and_no_neutral_number(model, rows):
    X, _ = rows
    row = pd.DataFrame({"x": [-8.0], "z": [0.0]})
    (reason, *_), = reasons(model, row, favorable="high")  # fmt: skip
    assert (reason.feature, reason.value) == ("x", "no usable trade")
    assert reason.neutral is None
    (scored, *_) = model.scorer().reasons(row.iloc[0].to_dict(), favorable="high")
    assert (scored.feature, scored.value) == ("x", "no usable trade")
    assert scored.contribution == pytest.approx(reason.contribution)
    (relative, *_), = reasons(model, row, favorable="high", background=X.head(200))  # fmt: skip
    assert (relative.value, relative.neutral) == ("no usable trade", None)


def test_a_special_value_may_have_a_reason_code_of_its_own(rows):
    X, y = rows
    codes = {"x": ("R1", "Too small"), "x = no usable trade": ("R2", "No usable trade")}
    model = ModelTreeRegressor(special_values=SPECIAL, reason_codes=codes).fit(X, y)
    given = pd.DataFrame({"x": [-8.0, 0.0], "z": [0.0, 0.0]})
    found = reasons(model, given, favorable="high")
    assert [row[0].code for row in found] == ["R2", "R1"]
    scorer = model.scorer()
    for row, expected in zip(given.to_dict("records"), found, strict=True):
        assert scorer.reasons(row, favorable="high")[0].code == expected[0].code
    assert told_by_sql(model, given) == ["R2", "R1"]
    plain = ModelTreeRegressor(special_values=SPECIAL).fit(X, y)
    assert told_by_sql(plain, given) == ["x: no usable trade", "x"]
    with pytest.raises(ValueError, match="x = unheard of"):
        ModelTreeRegressor(special_values=SPECIAL, reason_codes={"x = unheard of": ("a", "b")}).fit(
            X, y
        )


def told_by_sql(model, table):
    with sqlite3.connect(":memory:") as database:
        table.to_sql("given", database)
        database.execute(
            to_sql(model, dialect="sqlite", table="given", reasons=1, favorable="high")
        )
        found = database.execute('SELECT reason_1 FROM scored ORDER BY "index"').fetchall()
    return [code for (code,) in found]


def test_contributions_add_up(model, rows):
    X, _ = rows
    found = glassleaf.shap_values(model, X.head(50), X.iloc[50:200])
    np.testing.assert_allclose(
        found.base_values + found.values.sum(axis=1), model.predict(X.head(50))
    )
    assert set(found.data[:, 0]) >= {"no record", "no usable trade"}


def test_counterfactuals_leave_codes_alone(model):
    row = pd.DataFrame({"x": [-8.0], "z": [0.1]})
    for answer in counterfactuals(model, row, target=4.0):
        assert {change.feature for change in answer.changes} == {"z"}
    model = ModelTreeRegressor(special_values={0: {5: "refused"}})
    x = np.arange(12.0).repeat(50)[:, None]
    model.fit(
        x, np.where(x[:, 0] == 5, 9.0, x[:, 0]) + np.random.default_rng(0).normal(size=600) / 9
    )
    found = counterfactuals(model, [[0.0]], target=5.0, integers=[0])
    assert all(change.new != 5 for answer in found for change in answer.changes)


def test_the_report_and_the_card_know_them(model, rows):
    X, y = rows
    report = model.report(X.head(300), y[:300])
    assert "no usable trade: " in report.markdown() and "no usable trade" in report.html()
    moved = X.assign(x=np.where(X["x"] > 5, -9.0, X["x"]))
    notes = model.report(moved, y).contents.data.features[0]
    assert {word: now for word, _, now in notes.special}["no record"] > 0.4
    assert "distributed otherwise" in notes.remarks


def test_a_scorecard_lists_them(rows):
    X, y = rows
    model = ModelTreeClassifier(special_values=SPECIAL).fit(X, np.where(y > 1, "good", "bad"))
    card = to_scorecard(model, X, good="good")
    listed = {line.attribute for line in card.attributes if line.column == "x"}
    assert {"= -9 (no record)", "= -8 (no usable trade)", "missing"} <= listed
    counts = {line.attribute: line.count for line in card.attributes
              if line.column == "x" and line.segment == "all rows"}  # fmt: skip
    assert counts["= -9 (no record)"] == (X["x"] == -9).sum()


def test_a_rate_book_lists_them_and_takes_one_as_base(rows):
    X, _ = rows
    claims = np.random.default_rng(0).poisson(np.where(X["x"] == -9, 2.0, 1.0))
    model = ModelTreeRegressor(loss="poisson", special_values=SPECIAL).fit(X, claims)
    for base in (-9, "no record"):
        book = relativities(model, X, claims, base={"x": base})
        own = {rate.level: rate for rate in book.rates if rate.factor == "x"}
        assert own["= -9 (no record)"].relativity == 1.0
        assert own["= -9 (no record)"].exposure == (X["x"] == -9).sum()
        np.testing.assert_allclose(book.rate(X), model.predict(X), rtol=2 * book.rounding + 1e-9)


def test_a_sign_is_about_numbers_alone(rows):
    X, y = rows
    model = ModelTreeRegressor(special_values=SPECIAL, monotonic_cst={"x": 1}).fit(X, y)
    grid = pd.DataFrame({"x": np.linspace(0, 10, 50), "z": 0.3})
    assert (np.diff(model.predict(grid)) >= -1e-12).all()
    low, high = model.predict(pd.DataFrame({"x": [-8.0, -9.0], "z": [0.0, 0.0]}))
    assert high - low > 3  # -9 is above -8, and neither is a place on the line


# --- errors and warnings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([-9], "special_values=.* must be a dict"),
        ({"y": {-9: "no record"}}, "special_values names the column 'y', which X does not have"),
        ({"x": [-9]}, "special_values of 'x' is .* must be a dict"),
        ({"x": {"-9": "no record"}}, "must be a finite number"),
        ({"x": {np.nan: "no record"}}, "must be a finite number"),
        ({"x": {-9: ""}}, "must be a text"),
        ({"x": {-9: "none", -8: "none"}}, "several values that stand for 'none'"),
        ({"c": {-9: "no record"}}, "'c', which is no number of the models"),
        ({"x": {-k: str(k) for k in range(60)}}, "more than 50"),
    ],
)
def test_errors_say_what_is_wrong(rows, given, message):
    X, y = rows
    with pytest.raises((TypeError, ValueError), match=message):
        ModelTreeRegressor(special_values=given).fit(X.assign(c="a"), y)


def test_codes_are_noticed_once(rows):
    X, y = rows
    both = X.assign(w=X["x"] * 2)
    with pytest.warns(UserWarning, match=r"far below all others: -9 in 'x' .*special_values"):
        ModelTreeRegressor(max_depth=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"-18 in 'w' \(.*%\), -16 in 'w'"):
        ModelTreeRegressor(max_depth=0, special_values={"x": WORDS}).fit(both, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ModelTreeRegressor(max_depth=0, special_values=SPECIAL).fit(X, y)
        ModelTreeRegressor(max_depth=0, special_values={}).fit(X, y)
