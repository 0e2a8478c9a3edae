"""SQL in other dialects: run where a database can be had, else read strictly."""

import sys

import databases
import needed
import numpy as np
import pandas as pd
import pytest
import zoo
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.errors import ExportError, MissingExtraError
from glassleaf.export import dialects, to_sql
from glassleaf.export.sql import DIALECTS

sqlglot = needed.module("sqlglot")

N_ROWS = 1000
KINDS = ["squared_error", "huber, winsor, clamp", "gamma, clamp", "binary, rank, clamp",
         "binary, splits on categories", "multiclass", "curves", "texts, the first is positive",
         "tweedie, exposure, offset"]  # fmt: skip
# MySQL and MariaDB have no names beyond the basic plane of Unicode.
RENAMED = {zoo.NAMES[2]: "Größe"}


@pytest.fixture(scope="module", params=[databases.ClickHouse, databases.MariaDb])
def base(request):
    found = request.param()
    yield found
    found.close()


def loaded(base, table):
    base.load(table.rename(columns=RENAMED))
    return base


def written(model, **given):
    text = to_sql(model, **given)
    for name, other in RENAMED.items():
        text = text.replace(name, other)
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_the_view_is_what_predict_says(base, kind):
    case = zoo.case(kind)
    view = written(case.model, dialect=base.dialects[0], table=databases.TABLE, prefix="own ")
    found = loaded(base, case.table[:N_ROWS]).scored(view)
    expected = case.expected[:N_ROWS].reshape(N_ROWS, -1)
    names = [name for name in found if name.startswith(("own prediction", "own probability"))]
    np.testing.assert_allclose(found[names].to_numpy(float), expected, rtol=1e-11, atol=1e-11)
    leaves = case.model.apply(case.table[:N_ROWS])
    np.testing.assert_array_equal(found["own leaf"].to_numpy(int), leaves)
    if hasattr(case.model, "classes_"):
        labels = case.model.predict(case.table[:N_ROWS]).astype(str)
        apart = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 1e-9
        assert (found["own label"].astype(str).to_numpy() == labels)[apart].all()


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_the_expression_is_what_predict_says(base, kind):
    case = zoo.case(kind)
    expected, of = case.expected[:N_ROWS], {}
    if kind == "multiclass":
        expected, of = expected[:, 0], {"of": case.model.classes_[0]}
    loaded(base, case.table[:N_ROWS])
    for dialect in base.dialects:
        found = base.ask(written(case.model, dialect=dialect, **of)).to_numpy(float)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_extreme_numbers_and_texts_that_are_nearly_the_same(base, rng):
    """Capitals, accents and blanks at the end are not ignored; scores far out raise nothing."""
    texts = ["red", "Red", "red ", "réd", "\\n", "%"]
    table = pd.DataFrame({"a": rng.normal(size=1200), "kind": rng.choice(texts[:5], size=1200)})
    y = 300 * table["a"] + table["kind"].map(dict(zip(texts, [9, 5, -5, 0, -9], strict=False)))
    model = ModelTreeClassifier(categorical_features=["kind"], max_depth=2, n_jobs=1)
    model.fit(table, y > 0)
    number = ModelTreeRegressor(categorical_features=["kind"], n_jobs=1).fit(table, y)
    later = table[:60].copy()
    later["a"] = np.resize([1e300, -1e300, 5e-324, 0.0, -0.0, 1e-200, np.nan, 700.0, -700.0], 60)
    later["kind"] = np.resize([*texts, "RED", None, " red", "re\u0301d"], 60)
    loaded(base, later)
    dialect = base.dialects[0]
    found = base.ask(to_sql(model, dialect=dialect)).to_numpy(float)
    np.testing.assert_allclose(found, model.predict_proba(later)[:, 1], atol=1e-12)
    found = base.ask(to_sql(number, dialect=dialect)).to_numpy(float)
    np.testing.assert_allclose(found, number.predict(later), rtol=1e-12)


def test_intervals(base, rng):
    table = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
    y = rng.gamma(3.0, np.exp(table["a"]))
    model = ModelTreeRegressor(loss="gamma", max_depth=1, n_jobs=1).fit(table[:300], y[:300])
    model.calibrate(table[300:], y[300:])
    view = to_sql(model, dialect=base.dialects[0], table=databases.TABLE, interval=0.8)
    found = loaded(base, table).scored(view)[["lower", "upper"]].to_numpy(float)
    np.testing.assert_allclose(found, model.predict_interval(table, 0.8), rtol=1e-11)


# --- what is only read ---------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", dialects.TRANSLATIONS)
def test_every_dialect_is_read_strictly(dialect):
    name = dialects.TRANSLATIONS[dialect].name
    view = {"table": "loans", "view": "scored", "prefix": "own "}
    for kind, given in (("texts, limits, the first is positive", view), (KINDS[-1], {})):
        text = to_sql(zoo.case(kind).model, dialect=dialect, **given)
        assert f"for {DIALECTS[dialect].engine}." in text
        _, _, body = text.partition(" */\n")
        tree = sqlglot.parse_one(body, read=name, error_level=sqlglot.ErrorLevel.RAISE)
        again = tree.sql(dialect=name, unsupported_level=sqlglot.ErrorLevel.RAISE)
        if dialect == "oracle":  # whose own kind of number sqlglot reads as the standard's
            again = again.replace("DOUBLE PRECISION", "BINARY_DOUBLE")
        assert again == body
        columns = {node.name for node in tree.find_all(sqlglot.exp.Column)}
        assert columns >= {"a", zoo.NAMES[1]} and "%s {x} $1" in body
        others = {node.this for node in tree.find_all(sqlglot.exp.Anonymous)}
        assert others <= {"NANVL", "isNaN"}


def test_what_translations_must_not_leave_to_chance():
    case = zoo.case("texts, limits, the first is positive")

    def text(dialect):
        return to_sql(case.model, dialect=dialect, table="loans")

    assert "NaN" not in text("tsql") + text("mysql") + text("oracle")
    assert "IS_NAN(CAST(t.`a` AS FLOAT64))" in text("bigquery")
    assert 'NANVL(CAST(t."a" AS BINARY_DOUBLE), NULL)' in text("oracle")
    assert "COLLATE Latin1_General_100_BIN2" in text("tsql") and "N'red.'" in text("tsql")
    assert "AS BINARY)" in text("mysql") and "IGNORE_NULLS" not in text("snowflake")


def test_a_test_that_is_not_known_is_not_true():
    statement = '/* x */\nCASE WHEN ("a" <= 1e0) IS NOT TRUE THEN 1e0 ELSE 2e0 END'
    for dialect in dialects.TRANSLATIONS:
        found = dialects.translated(statement, dialect, "x")
        assert "THEN 0 ELSE 1 END = 1 THEN 1e0" in found and "TRUE" not in found


def test_refusals(rng, monkeypatch):
    table = pd.DataFrame({"a": rng.normal(size=300), "k": rng.choice(["", "x"], size=300)})
    y = table["a"] + (table["k"] == "x")
    model = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(table, y)
    with pytest.raises(ExportError, match="To Oracle an empty text is missing"):
        to_sql(model, dialect="oracle")
    with pytest.raises(ExportError, match="Reasons are written for DuckDB"):
        to_sql(model, dialect="spark", table="t", reasons=2)
    dated = table.assign(day=pd.date_range("2020-01-01", periods=300))
    with_dates = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(dated, np.arange(300.0))
    with pytest.raises(ExportError, match="Dates are written for DuckDB.*not Spark"):
        to_sql(with_dates, dialect="spark")
    small = ModelTreeRegressor(max_depth=0, n_jobs=1).fit(table[["a"]], 1e-140 * y)
    with pytest.raises(ExportError, match="which Oracle cannot read"):
        to_sql(small, dialect="oracle")
    with pytest.raises(ValueError, match="must be one of duckdb, sqlite, postgresql, snowflake"):
        to_sql(model, dialect="db2")
    monkeypatch.setattr(dialects, "_words", lambda exp, tree: id(tree))
    with pytest.raises(ExportError, match="cannot be written for Spark"):
        to_sql(model, dialect="spark")
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingExtraError, match=r"glassleaf\[sql\]"):
        to_sql(model, dialect="spark")


def test_wide_and_deep_models_are_translated(rng):
    """Long sums and deep trees do not end in a recursion."""
    X = rng.normal(size=(2000, 150))
    wide = ModelTreeRegressor(max_depth=1, n_jobs=1, max_numbers=None).fit(X, X.sum(axis=1))
    assert to_sql(wide, dialect="snowflake").count("CAST") > 150
