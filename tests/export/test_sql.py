"""SQL in DuckDB, SQLite and PostgreSQL: the same predictions for 10,000 rows, and no injection."""

import math
import sqlite3
from dataclasses import replace

import needed
import numpy as np
import pandas as pd
import pytest
import zoo
from deep import deep_model
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import explain, reasons
from glassleaf.errors import ExportError
from glassleaf.export import to_sql
from glassleaf.export.sql import DIALECTS, number
from glassleaf.tree.coverage import NotCalibratedError
from glassleaf.tree.fitted import fitted_model

duckdb = needed.module("duckdb")
psycopg = needed.module("psycopg")

TABLE = 'my "table"; --`\''
TYPES = {"duckdb": "DOUBLE", "sqlite": "REAL", "postgresql": "DOUBLE PRECISION"}
QUOTES = {"duckdb": '"', "sqlite": "`", "postgresql": '"'}


class Engine:
    """A database with one table: ``id`` and the columns of a case."""

    def __init__(self, dialect, connection, table):
        self.dialect, self.connection = dialect, connection
        names = [self.quoted(name) for name in ["id", *table.columns]]
        kinds = ["INTEGER"] + [
            "TEXT" if any(isinstance(v, str) for v in table[c]) else TYPES[dialect]
            for c in table.columns
        ]
        columns = ", ".join(f"{n} {k}" for n, k in zip(names, kinds, strict=True))
        self.run(f"CREATE TABLE {self.quoted(TABLE)} ({columns})")
        rows = [[i, *row] for i, row in enumerate(zoo.rows_of(table))]
        self.fill(names, rows)

    def quoted(self, name):
        quote = QUOTES[self.dialect]
        return quote + name.replace(quote, 2 * quote) + quote

    def run(self, statement):
        return self.connection.execute(statement)

    def fill(self, names, rows):
        if self.dialect == "duckdb":
            self.connection.register("frame", pd.DataFrame(rows, columns=names))
            self.run(f"INSERT INTO {self.quoted(TABLE)} SELECT * FROM frame")
        elif self.dialect == "sqlite":
            marks = ", ".join("?" * len(names))
            insert = f"INSERT INTO {self.quoted(TABLE)} VALUES ({marks})"
            self.connection.executemany(insert, rows)
        else:
            with self.connection.cursor().copy(f"COPY {self.quoted(TABLE)} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

    def ask(self, statement):
        return self.run(statement).fetchall()

    def expression(self, expression):
        found = self.ask(f"SELECT id, {expression} FROM {self.quoted(TABLE)}")
        return np.array([value for _, value in sorted(found)], dtype=float)


def opened(dialect, request):
    if dialect == "duckdb":
        return duckdb.connect()
    if dialect == "sqlite":
        return sqlite3.connect(":memory:")
    connection = psycopg.connect(request.getfixturevalue("postgres"))
    return connection


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def dialect(request):
    return request.param


@pytest.fixture
def engine(dialect, request):
    """Makes an engine from a table; closed afterwards, with nothing committed."""
    connection = opened(dialect, request)
    yield lambda table: Engine(dialect, connection, table)
    connection.close()


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_the_expression_is_what_predict_says(engine, dialect, kind):
    case = zoo.case(kind)
    base = engine(case.table)
    classes = getattr(case.model, "classes_", None)
    if classes is None:
        found = base.expression(to_sql(case.model, dialect=dialect))
        np.testing.assert_allclose(found, case.expected, rtol=1e-11, atol=1e-11)
        return
    all_found = {}
    for k, label in enumerate(classes.tolist()):
        found = base.expression(to_sql(case.model, dialect=dialect, of=label))
        np.testing.assert_allclose(found, case.expected[:, k], rtol=0, atol=1e-12)
        all_found[label] = found
    if len(classes) == 2:
        default = base.expression(to_sql(case.model, dialect=dialect))
        np.testing.assert_array_equal(default, all_found[fitted_model(case.model).positive_class])


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
def test_intervals_are_those_of_predict_interval(engine, dialect, loss, rng):
    table = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
    y = rng.gamma(3.0, np.exp(table["a"] * np.where(table["b"] > 0, 1, -1)))
    model = ModelTreeRegressor(loss=loss, max_depth=1).fit(table[:300], y[:300])
    model.calibrate(table[300:], y[300:])
    base = engine(table)
    base.run(to_sql(model, dialect=dialect, table=TABLE, prefix="p_", interval=0.9))
    found = base.ask("SELECT p_lower, p_upper FROM scored ORDER BY id")
    np.testing.assert_allclose(
        np.array(found, dtype=float), model.predict_interval(table, 0.9), rtol=1e-11, atol=1e-11
    )


def test_intervals_that_cannot_be_written(rng):
    X = rng.normal(size=(100, 2))
    model = ModelTreeRegressor().fit(X, X[:, 0])
    with pytest.raises(NotCalibratedError, match="calibrate"):
        to_sql(model, table="t", interval=0.9)
    model.calibrate(X, X[:, 0])
    with pytest.raises(ExportError, match="table"):
        to_sql(model, interval=0.9)
    with pytest.raises(ExportError, match="too few"):
        to_sql(model, table="t", interval=0.995)
    with pytest.raises(ExportError, match="regressor"):
        to_sql(ModelTreeClassifier().fit(X, X[:, 0] > 0), table="t", interval=0.9)


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_the_view_is_what_predict_says(engine, dialect, kind):
    case = zoo.case(kind)
    base = engine(case.table)
    base.run(to_sql(case.model, dialect=dialect, table=TABLE, view="v;'\"`"))
    view = base.quoted("v;'\"`")
    classes = getattr(case.model, "classes_", None)
    results = ["prediction"] if classes is None else [
        f"probability_{k}" for k in range(len(classes))
    ]  # fmt: skip
    found = base.ask(f"SELECT {', '.join(['leaf', *results])} FROM {view} ORDER BY id")
    leaves, values = [row[0] for row in found], np.array([row[1:] for row in found], dtype=float)
    np.testing.assert_array_equal(leaves, case.model.apply(case.table))
    np.testing.assert_allclose(
        values.reshape(case.expected.shape), case.expected, rtol=1e-11, atol=1e-11
    )
    if classes is not None:
        labels = [row[0] for row in base.ask(f"SELECT label FROM {view} ORDER BY id")]
        assert untied(labels, case) == untied(case.model.predict(case.table).tolist(), case)


def untied(labels, case):
    """Those of rows whose two most probable classes differ by more than rounding."""
    second, first = np.sort(case.expected, axis=1)[:, -2:].T
    assert (first - second > 1e-9).mean() > 0.99
    return [label for label, gap in zip(labels, first - second, strict=True) if gap > 1e-9]


@pytest.mark.parametrize(
    "kind", ["binary", "squared_error", "multiclass", "tweedie, exposure, offset"]
)
def test_the_view_names_the_reasons(engine, dialect, kind):
    case = zoo.case(kind)
    few = case.table.iloc[:300]
    base = engine(few)
    favorable = None if case.expected.ndim == 1 else case.model.classes_.tolist()[0]
    given = {"table": TABLE, "reasons": 2, "favorable": favorable}
    base.run(to_sql(case.model, dialect=dialect, **given))
    found = base.ask("SELECT reason_1, reason_2 FROM scored ORDER BY id")
    named = reasons(case.model, few, 2, favorable=favorable)
    expected = [([one.feature for one in row] + [None, None])[:2] for row in named]
    # Contributions that are zero but for rounding are reasons by chance.
    assert np.mean([list(row) == own for row, own in zip(found, expected, strict=True)]) > 0.99


def test_rows_without_an_exposure_have_no_prediction(engine, dialect):
    case = zoo.case("poisson, limits, exposure")
    few = case.table.iloc[:5].copy()
    few.loc[few.index[:3], zoo.EXPOSURE] = [np.nan, 0.0, -1.0]
    base = engine(few)
    expression = to_sql(case.model, dialect=dialect)
    assert np.isnan(base.expression(expression)[:3]).all()
    base.run(to_sql(case.model, dialect=dialect, table=TABLE))
    found = base.ask("SELECT raw, prediction FROM scored ORDER BY id")
    assert [tuple(row) for row in found[:3]] == [(None, None)] * 3
    assert found[4][1] == pytest.approx(case.expected[4])


@pytest.mark.parametrize("attack", ["'; DROP TABLE x; --", '"; DROP TABLE x; --', "`); --", "\\'"])
def test_hostile_names_and_categories_stay_names_and_texts(engine, dialect, rng, attack):
    table = pd.DataFrame({attack: rng.choice([attack, "b"], 200), "x": rng.normal(size=200)})
    model = ModelTreeRegressor(split_features=[attack], max_depth=1).fit(table, table["x"])
    base = engine(table)
    base.run("CREATE TABLE x (i INTEGER)")
    found = base.expression(to_sql(model, dialect=dialect))
    np.testing.assert_allclose(found, model.predict(table), rtol=1e-9, atol=1e-12)
    base.run(to_sql(model, dialect=dialect, table=TABLE, view=attack))
    assert len(base.ask(f"SELECT prediction FROM {base.quoted(attack)}")) == 200
    assert base.ask("SELECT * FROM x") == []


@pytest.mark.parametrize("attack", ["*/ DROP TABLE x; /*", "/*", "**//**", "\n-- */"])
def test_hostile_labels_stay_in_the_comment(engine, dialect, rng, attack):
    table = pd.DataFrame({"z": rng.normal(size=200)})
    model = ModelTreeClassifier(max_depth=0).fit(table, np.where(table["z"] > 0, attack, "b"))
    base = engine(table)
    base.run("CREATE TABLE x (i INTEGER)")
    found = base.expression(to_sql(model, dialect=dialect, of=attack))
    which = model.classes_.tolist().index(attack)
    np.testing.assert_allclose(found, model.predict_proba(table)[:, which], rtol=0, atol=1e-12)
    base.run(to_sql(model, dialect=dialect, table=TABLE, view="v", prefix=attack))
    name = base.quoted(f"{attack}label")
    labels = [row[0] for row in base.ask(f"SELECT {name} FROM v ORDER BY id")]
    assert labels == model.predict(table).tolist()
    assert base.ask("SELECT * FROM x") == []


def comment_of(statement):
    head, _, rest = statement.removeprefix("/* ").partition(" */\n")
    assert rest
    return [line.strip() for line in head.splitlines()][1:]


def test_a_comment_says_what_is_computed():
    binary, several = zoo.case("binary").model, zoo.case("multiclass").model
    low, high = map(repr, binary.classes_.tolist())
    found = explain(binary).leaves
    leaves = ", ".join(f"{leaf.id} is leaf {leaf.leaf}" for leaf in found)
    assert comment_of(to_sql(binary)) == [f"The probability of {high}."]
    assert comment_of(to_sql(binary, of=binary.classes_[0])) == [f"The probability of {low}."]
    assert comment_of(to_sql(binary, table="t", prefix="p_")) == [
        f"p_leaf is the node of the leaf, as apply() returns it: {leaves}.",
        f"p_raw is the sum of its terms within its limits, the log-odds of {high}.",
        f"p_probability_0 is that of {low}.",
        f"p_probability_1 is that of {high}.",
    ]
    assert comment_of(to_sql(several, table="t"))[-1] == (
        f"probability_2 is that of {several.classes_.tolist()[2]!r}."
    )
    assert comment_of(to_sql(several, table="t"))[-4] == (
        f"raw_2 is the sum of its terms for {several.classes_.tolist()[2]!r}."
    )
    assert comment_of(to_sql(zoo.case("squared_error").model)) == ["The prediction."]
    assert comment_of(to_sql(zoo.case("gamma, limits").model, table="t"))[1] == (
        "raw is the sum of its terms within its limits, the logarithm of prediction."
    )
    assert "for PostgreSQL" in to_sql(binary, dialect="postgresql").splitlines()[0]


def test_a_column_that_is_not_there_is_an_error(engine, dialect, rng):
    table = pd.DataFrame({"x": rng.normal(size=100), "y": rng.normal(size=100)})
    model = ModelTreeRegressor(max_depth=0).fit(table, table["x"])
    base = engine(table[["x"]])
    with pytest.raises(Exception, match="(?i)column|binder"):
        base.expression(to_sql(model, dialect=dialect))


def test_extreme_scores_raise_nothing(engine, dialect, rng):
    X = pd.DataFrame({"x": rng.normal(size=300)})
    far = pd.DataFrame({"x": [1e5, -1e5, 1e9, -1e9, 0.0, np.nan]})
    models = [
        ModelTreeClassifier(max_depth=0).fit(X, X["x"] > 0),
        ModelTreeClassifier(max_depth=0).fit(X, np.digitize(X["x"], [-0.5, 0.5])),
    ]
    base = engine(far)
    for model in models:
        for k, label in enumerate(model.classes_.tolist()):
            found = base.expression(to_sql(model, dialect=dialect, of=label))
            np.testing.assert_allclose(found, model.predict_proba(far)[:, k], atol=1e-12)


@pytest.mark.parametrize("dialect_", ["duckdb", "postgresql"])
def test_nan_in_a_column_is_missing(request, dialect_):
    case = zoo.case("squared_error")
    table = case.table[:200]
    base = Engine(dialect_, opened(dialect_, request), table)
    for name in zoo.NAMES[:4]:
        column, nan = base.quoted(name), f"'NaN'::{TYPES[dialect_]}"
        base.run(f"UPDATE {base.quoted(TABLE)} SET {column} = COALESCE({column}, {nan})")
    found = base.expression(to_sql(case.model, dialect=dialect_))
    np.testing.assert_allclose(found, case.expected[:200], rtol=1e-11)
    base.connection.close()


def test_integers_and_decimals_are_computed_as_doubles(dialect, request, rng):
    table = pd.DataFrame({"i": rng.integers(0, 9, 300), "d": rng.integers(0, 999, 300)})
    model = ModelTreeRegressor().fit(table, table["i"] * table["d"] / 7)
    connection = opened(dialect, request)
    connection.execute("CREATE TABLE t (i INTEGER, d DECIMAL(10, 2))")
    for i, d in table.itertuples(index=False):
        connection.execute(f"INSERT INTO t VALUES ({i}, {d})")
    found = connection.execute(f"SELECT i, d, {to_sql(model, dialect=dialect)} FROM t").fetchall()
    again = pd.DataFrame([row[:2] for row in found], columns=["i", "d"]).astype(float)
    np.testing.assert_allclose([float(row[2]) for row in found], model.predict(again), rtol=1e-11)
    connection.close()


def test_truth_values_and_mixed_categories(rng):
    values = rng.choice(np.array([True, False], dtype=object), 200)
    table = pd.DataFrame({"b": values, "x": rng.normal(size=200)})
    model = ModelTreeRegressor(categorical_features=["b"]).fit(table, rng.normal(size=200))
    with duckdb.connect() as connection:
        connection.register("rows", table)
        found = connection.execute(f"SELECT {to_sql(model)} FROM rows").fetchall()
    np.testing.assert_allclose(np.array(found)[:, 0], model.predict(table), rtol=1e-11)
    mixed = pd.DataFrame({"m": rng.choice(np.array(["1", 1], dtype=object), 200)})
    with pytest.raises(ExportError, match="'m'.*one type"):
        to_sql(ModelTreeRegressor().fit(mixed, rng.normal(size=200)))


def test_wrong_arguments_say_what_is_accepted(rng):
    binary, several = zoo.case("binary").model, zoo.case("multiclass").model
    with pytest.raises(ValueError, match="dialect='db2'.*duckdb, sqlite, postgresql"):
        to_sql(binary, dialect="db2")
    with pytest.raises(ValueError, match="of=None must be one of the classes: 'größer'"):
        to_sql(several)
    with pytest.raises(ValueError, match="not fitted"):
        to_sql(ModelTreeRegressor())
    with pytest.raises(TypeError, match="not a glassleaf estimator"):
        to_sql("model.json")
    leaf = pd.DataFrame({"Leaf": rng.normal(size=100)})
    model = ModelTreeRegressor(max_depth=0).fit(leaf, leaf["Leaf"])
    with pytest.raises(ValueError, match="prefix"):
        to_sql(model, table="t")
    assert '"our_leaf"' in to_sql(model, table="t", prefix="our_")


@pytest.mark.parametrize(
    "value", [0.0, 1.0, -1.5, 0.1, 1e22, 1.7976931348623157e308, 5e-324, 123456.789, 1e-7, -3e16]
)
def test_numbers_lose_no_digit(value):
    assert float(number(value)) == value and "e" in number(value)


def test_any_number_loses_no_digit(rng):
    bits = rng.integers(0, 2**64, 2000, dtype=np.uint64).view(np.float64)
    for value in bits[np.isfinite(bits)].tolist():
        assert math.copysign(1, float(number(value))) == math.copysign(1, value)
        assert float(number(value)) == value


def test_empty_fields_of_files_are_missing_in_sqlite():
    """What SQLite imports from a file is text, and an empty field an empty text."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=600) + 5, "kind": rng.choice(["a", "b"], 600)})
    table.loc[rng.random(600) < 0.2, "x"] = np.nan
    table.loc[rng.random(600) < 0.2, "kind"] = None
    y = np.where(table["x"].isna(), 3.0, table["x"]) + 2 * table["kind"].isna()
    model = ModelTreeRegressor(max_depth=2).fit(table, y)
    with sqlite3.connect(":memory:") as database:
        table.astype(object).where(table.notna(), "").map(str).to_sql("t", database)
        found = pd.read_sql_query(
            f'SELECT {to_sql(model, dialect="sqlite")} AS p FROM t ORDER BY "index"', database
        )
    np.testing.assert_allclose(found["p"], model.predict(table), rtol=1e-9)


def test_an_empty_text_that_training_knew_is_a_category_in_sqlite():
    table = pd.DataFrame({"kind": ["", "b", "c"] * 40})
    model = ModelTreeRegressor(max_depth=0, alpha=1e-6).fit(table, [1.0, 2.0, 4.0] * 40)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (kind TEXT)")
        database.executemany("INSERT INTO t VALUES (?)", [[""], ["b"], ["c"]])
        found = database.execute(f"SELECT {to_sql(model, dialect='sqlite')} FROM t").fetchall()
    np.testing.assert_allclose(np.ravel(found), model.predict(table)[:3], rtol=1e-9)


@pytest.mark.parametrize("dialect_", ["duckdb", "sqlite", "postgresql"])
def test_names_that_differ_in_case_only(rng, dialect_):
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["x", "X"])
    model = ModelTreeRegressor().fit(X, X["x"] - 3 * X["X"])
    if dialect_ == "postgresql":
        assert '"x"' in to_sql(model, dialect=dialect_)
        return
    with pytest.raises(ExportError, match="'x' and 'X'.*ignores case"):
        to_sql(model, dialect=dialect_)


@pytest.mark.parametrize("to_left", [False, True])
def test_a_chain_of_splits_is_one_case(engine, dialect, to_left):
    model, X = deep_model(2000, to_left)
    base = engine(pd.DataFrame(X, columns=["x0"]))
    found = base.expression(to_sql(model, dialect=dialect))
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-11)


def test_a_missing_value_at_a_chain_to_the_left(engine, dialect):
    model, _ = deep_model(100, to_left=True)
    table = pd.DataFrame({"x0": [None, 3.0, 50.5]}, dtype=float)
    found = engine(table).expression(to_sql(model, dialect=dialect))
    np.testing.assert_allclose(found, model.predict(table.to_numpy()), rtol=1e-11)


@pytest.mark.parametrize("categorical", [None, ["b"]])
def test_a_column_of_truth_values(dialect, request, rng, categorical):
    table = pd.DataFrame({"b": rng.uniform(size=300) < 0.5, "x": rng.normal(size=300)})
    y = np.where(table["b"], table["x"], 2 - table["x"])
    model = ModelTreeRegressor(categorical_features=categorical).fit(table, y)
    connection = opened(dialect, request)
    connection.execute(f"CREATE TABLE t (b BOOLEAN, x {TYPES[dialect]})")
    for b, x in table.itertuples(index=False):
        connection.execute(f"INSERT INTO t VALUES ({'TRUE' if b else 'FALSE'}, {x!r})")
    found = connection.execute(f"SELECT b, x, {to_sql(model, dialect=dialect)} FROM t").fetchall()
    again = pd.DataFrame([row[:2] for row in found], columns=["b", "x"]).astype({"b": bool})
    np.testing.assert_allclose([row[2] for row in found], model.predict(again), rtol=1e-11)
    connection.close()


def test_products_that_underflow_are_refused_for_postgresql(rng):
    X = rng.normal(size=(200, 1))
    model = ModelTreeRegressor(max_depth=0).fit(X, 1e-250 * X[:, 0])
    with pytest.raises(ExportError, match="'x0'.*PostgreSQL"):
        to_sql(model, dialect="postgresql")
    assert "CASE" in to_sql(model, dialect="duckdb") or "e-2" in to_sql(model, dialect="duckdb")


def test_what_is_no_number_is_refused():
    for value in (math.inf, -math.inf, math.nan):
        with pytest.raises(ExportError, match="cannot write"):
            number(value)


def test_a_tree_that_is_nested_too_deeply_is_refused(monkeypatch):
    monkeypatch.setitem(DIALECTS, "sqlite", replace(DIALECTS["sqlite"], most_nested=0))
    with pytest.raises(ExportError, match="levels deep.*SQLite"):
        to_sql(zoo.case("squared_error").model, dialect="sqlite")


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_that_would_nest_too_deeply_is_written_flat(monkeypatch, seed):
    """With the larger side in the ELSE, seven leaves are nested twice, whatever their tree."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 2))
    X[::9, 0] = np.nan
    y = np.sin(3 * X[:, 1]) + np.where(np.nan_to_num(X[:, 0]) > 0, np.cos(4 * X[:, 1]), 0.0)
    settings = {"max_leaf_nodes": 7, "significance": None, "max_numbers": None, "curves": False}
    model = ModelTreeRegressor(**settings, min_samples_leaf=10, n_jobs=1).fit(X, y)
    assert model.get_n_leaves() == 7
    monkeypatch.setitem(DIALECTS, "sqlite", replace(DIALECTS["sqlite"], most_nested=2))
    with sqlite3.connect(":memory:") as database:
        pd.DataFrame(X, columns=["x0", "x1"]).to_sql("t", database, index=False)
        found = database.execute(f"SELECT {to_sql(model, dialect='sqlite')} FROM t").fetchall()
    np.testing.assert_allclose(np.array(found)[:, 0], model.predict(X), rtol=1e-11)
