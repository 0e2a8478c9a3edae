"""Models of dates in every language: rows with dates in, the predictions of ``predict`` out."""

import ctypes
import json
import sqlite3
import subprocess

import dated
import duckdb
import needed
import numpy as np
import pytest

from glassleaf.export import to_c, to_javascript, to_onnx, to_pmml, to_python, to_sql

FORMS = [{}, {"max_numbers": None}]


@pytest.fixture(scope="module", params=dated.KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module", params=FORMS, ids=["short", "whole"])
def model(request, kind):
    return dated.model(kind, **request.param)


@pytest.fixture(scope="module")
def rows(kind):
    return dated.table(kind, 400, seed=1)[0]


def records(X):
    pairs = zip(X["x"].tolist(), dated.texts(X), strict=True)
    return [{"x": x, "when": when} for x, when in pairs]


def check(model, X, found):
    expected = model.predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_duckdb(model, rows):
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE given AS SELECT * FROM rows")
        connection.execute(to_sql(model, table="given"))
        found = connection.execute("SELECT prediction FROM scored").fetchnumpy()
        check(model, rows, found["prediction"])
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        connection.register("of_texts_given", rows.assign(when=dated.texts(rows)))
        connection.execute("CREATE TABLE texts AS SELECT * FROM of_texts_given")
        connection.execute(to_sql(model, table="texts", view="of_texts"))
        found = connection.execute("SELECT prediction FROM of_texts").fetchnumpy()
        check(model, rows, found["prediction"])


def test_sqlite(model, rows, kind):
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE given (x REAL, `when` TEXT)")
        texts = [(r["x"], r["when"]) for r in records(rows)]
        if kind == "zoned":  # SQLite wants a colon
            texts = [(x, None if t is None else f"{t[:-2]}:{t[-2:]}") for x, t in texts]
        connection.executemany("INSERT INTO given VALUES (?, ?)", texts)
        connection.execute(to_sql(model, table="given", dialect="sqlite"))
        check(model, rows, [one for (one,) in connection.execute("SELECT prediction FROM scored")])


def test_postgresql(model, rows, kind, postgres):
    psycopg = needed.module("psycopg")
    types = {"date": "DATE", "stamp": "TIMESTAMP", "zoned": "TIMESTAMPTZ"}
    with psycopg.connect(postgres) as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        connection.execute(f'CREATE TEMP TABLE given (x FLOAT8, "when" {types[kind]}, n INT)')
        given = [(r["x"], r["when"], k) for k, r in enumerate(records(rows))]
        connection.cursor().executemany("INSERT INTO given VALUES (%s, %s, %s)", given)
        sql = to_sql(model, table="given", dialect="postgresql").replace("VIEW", "TEMP VIEW")
        connection.execute(sql)
        found = connection.execute("SELECT prediction FROM scored ORDER BY n").fetchall()
        check(model, rows, [one for (one,) in found])


def test_python(model, rows):
    module = {}
    exec(to_python(model), module)
    check(model, rows, [module["predict"](row) for row in records(rows)])
    check(model, rows, [module["predict"](list(row)) for row in rows.itertuples(index=False)])
    assert module["COLUMNS"] == ("x", "when")


def test_scorer(model, rows):
    score = model.scorer()
    check(model, rows, [score(row) for row in records(rows)])
    check(model, rows, [score(list(row)) for row in rows.itertuples(index=False)])
    with pytest.raises(ValueError, match="'when'"):
        score({"x": 1.0, "when": "soon"})


def test_javascript(model, rows, node, tmp_path):
    (tmp_path / "model.js").write_text(to_javascript(model), encoding="ascii")
    (tmp_path / "rows.json").write_text(json.dumps(records(rows)))
    call = (
        "const m = require('./model.js'); const rows = require('./rows.json');"
        "console.log(JSON.stringify(rows.map((row) => m.predict(row))));"
    )
    run = subprocess.run(
        [node, "-e", call], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    check(model, rows, json.loads(run.stdout))


def test_c(model, rows, gcc, tmp_path):
    (tmp_path / "model.c").write_text(to_c(model), encoding="ascii")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, "model.c", "-o", "m.so", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "m.so"))
    matrix = np.ascontiguousarray(dated.parts(rows)[["x", "when"]].to_numpy(dtype=float))
    pointer, out = ctypes.POINTER(ctypes.c_double), np.empty((len(matrix), 1))
    for row, found in zip(matrix, out, strict=True):
        library.model_predict(row.ctypes.data_as(pointer), found.ctypes.data_as(pointer))
    check(model, rows, out[:, 0])
    assert "days since 1970-01-01" in to_c(model)


def test_onnx_takes_the_parts(model, rows):
    onnxruntime = needed.module("onnxruntime")
    exported = to_onnx(model)
    session = onnxruntime.InferenceSession(
        exported.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    table, feed = dated.parts(rows), {}
    for given in session.get_inputs():
        values = table[given.name]
        if given.type == "tensor(string)":
            feed[given.name] = values.fillna("").to_numpy(dtype=object)[:, None]
        else:
            feed[given.name] = values.to_numpy(dtype=float)[:, None]
    check(model, rows, session.run(["prediction"], feed)[0])
    assert "when is days since 1970-01-01" in exported.doc_string


def test_pmml_says_which_parts_it_takes(model):
    text = to_pmml(model)
    assert "when is days since 1970-01-01" in text and 'name="month of when"' in text
