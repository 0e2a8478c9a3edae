"""``fit``: what it infers, what it says, what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dated
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from csv_files import Call, write_csv

import glassleaf
from glassleaf.cli.commands.demo import loans

QUICK = ("--folds", "0", "--leaves", "2", "--no-report")


def infer(call: Call, columns: dict[str, Any], *words: object, target: str = "y") -> dict[str, Any]:
    """What ``fit --json`` says about a table."""
    write_csv(Path("t.csv"), pa.table(columns))
    found = call("fit", "t.csv", "--target", target, "--json", *QUICK, *words)
    return dict(json.loads(found.stdout))


def numbers(n: int = 60, seed: int = 0) -> list[float]:
    return np.random.default_rng(seed).normal(size=n).round(3).tolist()


def test_screen_and_files(call: Call, loans_csv: Path) -> None:
    found = call("fit", loans_csv, "--target", "default", "--leaves", "3", "--test-size", "0.2")
    for words in (
        "600 rows, 7 columns",
        "default: classification (text, 2 different)",
        "id: an identifier, by its name; to keep it: --keep id",
        "income           number",
        "region           category",
        "Model tree · classes no, yes · ",
        "P(yes) = 1 / (1 + exp(-score))",
        "5 folds",
        "120 test rows",
        "AUC",
        "Written: model.json",
    ):
        assert words in found.stdout
    estimator = glassleaf.load("model.json")
    assert 2 <= estimator.get_n_leaves() <= 3
    assert f"{estimator.get_n_leaves()} leaves" in found.stdout
    assert list(estimator.feature_names_in_) == [
        "age", "income", "years_employed", "region", "purpose"
    ]  # fmt: skip


def test_same_tree_as_in_python(call: Call, loans_csv: Path) -> None:
    call("fit", loans_csv, "--target", "default", *QUICK)
    table = loans(600, 0)
    X = table.select(["age", "income", "years_employed", "region", "purpose"])
    ours = glassleaf.ModelTreeClassifier(max_leaf_nodes=2, max_depth=None)
    ours.fit(X, table["default"].to_numpy())
    assert glassleaf.load("model.json").tree_ == ours.tree_


def test_formats_give_the_same_model(call: Call) -> None:
    table = loans(300, 3)
    write_csv(Path("t.csv"), table)
    write_csv(Path("t.tsv"), table, delimiter="\t")
    pyarrow.parquet.write_table(table, "t.parquet")
    models = []
    for name in ("t.csv", "t.tsv", "t.parquet"):
        call("fit", name, "--target", "default", "-o", f"{name}.json", *QUICK)
        models.append(Path(f"{name}.json").read_text())
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize(
    ("values", "task", "advice"),
    [
        (["a", "b"], "classification", None),
        ([0, 1], "classification", None),
        ([1.0, 2.0], "classification", None),
        (["True", "False"], "classification", None),
        (["0012", "0100"], "classification", None),
        ([0, 1, 2, 3], "classification", "--loss poisson"),
        (list(range(15)), "regression", "--loss poisson"),
        (list(range(-7, 8)), "regression", None),
        ([0.5, 1.0, 1.5], "regression", None),
    ],
)
def test_task(call: Call, values: list[Any], task: str, advice: str | None) -> None:
    found = infer(call, {"x": numbers(), "y": (values * 60)[:60]})
    assert found["task"] == task
    assert (advice or "") in (found["advice"] or "") and bool(advice) == bool(found["advice"])


def test_task_as_asked_for(call: Call) -> None:
    columns = {"x": numbers(), "y": [0, 1, 2] * 20}
    assert infer(call, columns, "--task", "regression")["task"] == "regression"
    found = infer(call, columns, "--task", "regression", "--loss", "poisson")
    assert found["task"] == "regression"
    assert glassleaf.load("model.json").loss == "poisson"
    write_csv(Path("t.csv"), pa.table({"x": numbers(), "y": ["a", "b"] * 30}))
    failed = call("fit", "t.csv", "--target", "y", "--task", "regression", code=1)
    assert "'y' holds text" in failed.stderr


def test_kinds_of_columns_and_dropped_ones(call: Call) -> None:
    n = 60
    columns = {
        "id": numbers(n, 9),
        "__index_level_0__": numbers(n, 8),
        "": list(range(100, 100 + n)),
        "customer_id": list(range(n))[::-1],
        "region_id": [1, 2, 3] * 20,
        "name": [f"person {k}" for k in range(n)],
        "constant": [3] * n,
        "nothing": [None] * n,
        "zip": ["01234", "56789"] * 30,
        "grade": ["A", "B", "C+"] * 20,
        "x": numbers(n),
        "gaps": [*map(str, numbers(n)[:-2]), "NA", " "],
        "y": numbers(n, 1),
    }
    found = infer(call, columns)
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds == {
        "region_id": "number", "zip": "category", "grade": "category", "x": "number",
        "gaps": "number",
    }  # fmt: skip
    assert [column["name"] for column in found["dropped"]] == [
        "id", "__index_level_0__", "column_3", "customer_id", "name", "constant", "nothing"
    ]  # fmt: skip
    found = infer(
        call, columns, "--keep", "id,customer_id", "--drop", "x", "--categorical", "region_id"
    )
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds["id"] == kinds["customer_id"] == "number"
    assert kinds["region_id"] == "category" and "x" not in kinds
    assert {"name": "x", "why": "as asked for"} in found["dropped"]


def test_dates_that_are_not_iso_are_refused_with_a_hint(call: Call) -> None:
    n = 40
    write_csv(Path("t.csv"), pa.table({
        "x": numbers(n), "day": [f"2024/01/{k % 28 + 1:02d}" for k in range(n)],
        "then": [f"{k % 28 + 1}.12.2024" for k in range(n)], "y": numbers(n, 1),
    }))  # fmt: skip
    found = call("fit", "t.csv", "--target", "y", *QUICK, code=1)
    assert "columns 'day', 'then' hold dates; write them as 2016-03-01" in found.stderr
    assert "--drop day --drop then" in found.stderr
    call("fit", "t.csv", "--target", "y", *QUICK, "--drop", "day,then")
    call("fit", "t.csv", "--target", "y", *QUICK, "--drop", "then", "--categorical", "day")


@pytest.mark.parametrize("kind", dated.KINDS)
def test_dates_of_text_and_parquet_give_the_same_model(call: Call, kind: str) -> None:
    X, y = dated.table(kind, 300)
    X.assign(y=y).to_parquet("t.parquet", index=False)
    X.assign(y=y, when=dated.texts(X)).to_csv("t.csv", index=False)
    found = json.loads(call("fit", "t.csv", "--target", "y", *QUICK, "--json").stdout)
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds == {"x": "number", "when": "date"}
    call("fit", "t.parquet", "--target", "y", *QUICK, "-o", "p.json")
    expected = glassleaf.load("model.json").predict(X)
    np.testing.assert_allclose(glassleaf.load("p.json").predict(X), expected, rtol=1e-12)
    for source in ("t.csv", "t.parquet"):
        call("predict", "p.json", source, "-o", "found.csv")
        np.testing.assert_allclose(pd.read_csv("found.csv")["prediction"], expected, rtol=1e-12)


def test_later_rows_are_for_the_test(call: Call) -> None:
    X, y = dated.table("date", 400)
    X.assign(y=y, other=X["when"]).to_csv("t.csv", index=False)
    given = ("fit", "t.csv", "--target", "y", *QUICK, "--test-after", "2016-01-01")
    assert "dates are in when, other" in call(*given, code=2).stderr
    found = call(*given, "--time-column", "other", "--drop", "other", "--json")
    later = (X["when"] >= "2016-01-01").to_numpy()
    model = glassleaf.load("model.json")
    assert model.tree_.n_samples[0] == (~later).sum()
    assert json.loads(found.stdout)["test_rows"] == later.sum()
    assert "8 rows without 'other' are not for the test" in found.stderr
    assert (
        "no row is of that day" in call(*given[:-1], "2030-01-01", "--drop", "other", code=1).stderr
    )
    assert "is no date" in call(*given[:-1], "soon", code=2).stderr
    assert "choose one" in call(*given, "--test-size", "0.2", code=2).stderr
    assert "--no-stream" in call("fit", ".", *given[2:], code=2).stderr


def test_a_cell_that_is_no_date_is_a_bad_cell(call: Call) -> None:
    X, y = dated.table("date", 200)
    texts = dated.texts(X)
    texts[7] = "soon"
    X.assign(y=y, when=texts).to_csv("t.csv", index=False)
    found = call("fit", "t.csv", "--target", "y", *QUICK, code=1)
    assert "t.csv, record 9: column 'when': 'soon' is no date" in found.stderr
    call("fit", "t.csv", "--target", "y", *QUICK, "--on-error", "skip")
    assert glassleaf.load("model.json").tree_.n_samples[0] == 199


def test_bad_cells_have_file_record_column_and_value(call: Call) -> None:
    n = 200
    x: list[Any] = numbers(n)
    x[17], x[30] = "12,5", "inf"
    y: list[Any] = numbers(n, 1)
    y[40] = None
    write_csv(Path("t.csv"), pa.table({"x": list(map(str, x)), "y": y}))
    found = call("fit", "t.csv", "--target", "y", *QUICK, code=1)
    assert "t.csv, record 19: column 'x': '12,5' is not a number" in found.stderr
    assert "t.csv, record 32: column 'x': 'inf' is not a number" in found.stderr
    assert "t.csv, record 42: no value of the target 'y'" in found.stderr
    assert "--on-error skip" in found.stderr and "--categorical" in found.stderr
    assert not Path("model.json").exists()
    found = call("fit", "t.csv", "--target", "y", *QUICK, "--on-error", "skip")
    assert "t.csv: 3 rows skipped." in found.stderr
    assert "197 rows, 3 skipped" in found.stdout
    assert glassleaf.load("model.json").tree_.n_samples[0] == 197


def test_missing_marks_and_decimal_commas(call: Call) -> None:
    x = [f"{value:.2f}".replace(".", ",") for value in numbers(60)]
    write_csv(Path("t.csv"), pa.table({"x": [*x[:-1], "?"], "y": x[::-1]}), delimiter=";")
    found = call("fit", "t.csv", "--target", "y", *QUICK, code=1)
    assert "--decimal ," in found.stderr
    found = call("fit", "t.csv", "--target", "y", *QUICK, "--decimal", ",", code=1)
    assert (
        "record 61: column 'x': '?' is not a number" in found.stderr and "--missing" in found.stderr
    )
    call("fit", "t.csv", "--target", "y", *QUICK, "--decimal", ",", "--missing", "?")


def test_weights(call: Call) -> None:
    columns = {"x": numbers(), "w": [1.0, 2.0, 0.0] * 20, "y": numbers(60, 1)}
    found = infer(call, columns, "--weight", "w")
    assert [column["name"] for column in found["columns"]] == ["x"]
    ours = glassleaf.ModelTreeRegressor(max_leaf_nodes=2, max_depth=None)
    ours.fit(pa.table({"x": columns["x"]}), columns["y"], columns["w"])
    assert glassleaf.load("model.json").tree_ == ours.tree_
    write_csv(Path("t.csv"), pa.table({**columns, "w": [-1.0] + [1.0] * 59}))
    found = call("fit", "t.csv", "--target", "y", "--weight", "w", *QUICK, code=1)
    assert "record 2: the weight 'w' is missing or negative" in found.stderr


def test_test_file_and_folds(call: Call, loans_csv: Path) -> None:
    write_csv(Path("test.csv"), loans(200, 7))
    words = ("fit", loans_csv, "--target", "default", "--leaves", "2", "--no-report")
    found = json.loads(call(*words, "--test", "test.csv", "--folds", "3", "--json").stdout)
    assert found["test_rows"] == 200
    assert 0.5 < found["test"]["AUC"] < 1 and 0.5 < found["cross_validation"]["AUC"]["mean"] < 1
    assert (
        "--test-size and --test"
        in call(*words, "--test", "test.csv", "--test-size", "0.5", code=2).stderr
    )
    same = call("evaluate", "model.json", "test.csv", "--target", "default", "--json")
    scores = json.loads(same.stdout)["scores"]
    assert {name: scores[name] for name in found["test"]} == found["test"]


def test_too_few_rows_for_folds(call: Call) -> None:
    write_csv(Path("t.csv"), pa.table({"x": numbers(30), "y": ["a"] * 28 + ["b"] * 2}))
    found = call("fit", "t.csv", "--target", "y", "--leaves", "1", "--no-report")
    assert "the rarest class has only 2 rows: 2 folds" in found.stderr


def test_a_tree_without_splits_says_why(call: Call, loans_csv: Path) -> None:
    x, noise = np.random.default_rng(0).normal(size=(2, 200))
    write_csv(Path("t.csv"), pa.table({"x": x, "y": 2 * x + noise}))
    words = ("fit", "t.csv", "--target", "y", "--folds", "0", "--no-report")
    assert "One leaf: no split" in call(*words).stdout
    assert "significant (0.01)" in call(*words, "--set", "significance=0.01").stdout
    assert "One leaf:" not in call(*words, "--leaves", "1").stdout
    found = call("fit", loans_csv, "--target", "default", *QUICK)
    assert "One leaf:" not in found.stdout


def test_settings(call: Call, loans_csv: Path) -> None:
    words = ("fit", loans_csv, "--target", "default", "--folds", "0", "--no-report")
    call(
        *words,
        "--depth",
        "1",
        "--alpha",
        "2",
        "--set",
        "min_samples_leaf=50",
        "--set",
        "clamp=True",
    )
    params = glassleaf.load("model.json").get_params()
    expected = {"max_depth": 1, "alpha": 2.0, "min_samples_leaf": 50, "clamp": True}
    assert {name: params[name] for name in expected} == expected
    found = call(*words, "--set", "min_sample_leaf=50", code=2)
    assert "no parameter 'min_sample_leaf': did you mean 'min_samples_leaf'?" in found.stderr
    assert "must be one of" in call(*words, "--set", "criterion=foo", code=1).stderr


def test_monotone(call: Call, loans_csv: Path) -> None:
    words = ("fit", loans_csv, "--target", "default", *QUICK, "--monotone")
    call(*words, "age:+1, income:-1")
    params = glassleaf.load("model.json").get_params()
    assert params["monotonic_cst"] == {"age": 1, "income": -1}
    assert "did you mean 'age'" in call(*words, "aeg:+1", code=2).stderr
    assert "must be NAME:+1 or NAME:-1" in call(*words, "age", code=2).stderr
    assert "have no order" in call(*words, "region:+1", code=2).stderr
    assert "the model does not use the column 'id'" in call(*words, "id:+1", code=2).stderr


def test_names_with_commas_and_blanks(call: Call) -> None:
    n = 60
    columns = {"debt, %": numbers(n), "row id": ["a"] * n, "y": numbers(n, 1)}
    write_csv(Path("t.csv"), pa.table(columns))
    words = ("fit", "t.csv", "--target", "y", *QUICK)
    said = call(*words, "--monotone", "debt, %:+1").stdout
    assert glassleaf.load("model.json").monotonic_cst == {"debt, %": 1}
    assert "--keep 'row id'" in said
    call(*words, "--keep", "debt, %", "--drop", "row id")


def test_what_looks_like_an_identifier_is_said_once(call: Call) -> None:
    n = 400
    columns = {"city": [f"c{k % 80}" for k in range(n)], "x": numbers(n), "y": numbers(n, 1)}
    write_csv(Path("t.csv"), pa.table(columns))
    said = call("fit", "t.csv", "--target", "y", "--leaves", "1", "--folds", "2").stderr
    assert said.count("Column 'city' has 80 categories in 400 rows") == 1
    assert said.count("categories") == 1 and "UserWarning" not in said


def test_truth_values_are_numbers_from_text_as_from_parquet(call: Call) -> None:
    n = 60
    car = [True, False, None, False, True, True] * 10
    table = pa.table({"car": car, "x": numbers(n), "y": numbers(n, 1)})
    pyarrow.parquet.write_table(table, "t.parquet")
    shouted = [None if value is None else str(value).upper() for value in car]
    write_csv(Path("t.csv"), table.set_column(0, "car", pa.array(shouted)))
    models, scores = [], []
    for name in ("t.csv", "t.parquet"):
        call("fit", name, "--target", "y", "-o", f"{name}.json", *QUICK)
        models.append(Path(f"{name}.json").read_text())
        for model in ("t.csv.json", "t.parquet.json")[: len(models)]:
            scores.append(call("predict", model, name, "--output", "-").stdout)
    assert models[0] == models[1] and len(set(scores)) == 1
    found = infer(call, {"car": shouted, "y": numbers(n, 1)}, "--categorical", "car")
    assert found["columns"][0]["kind"] == "category"
    spoilt = ["true", "1", "maybe", "", "False", "0"]
    write_csv(Path("new.csv"), pa.table({"car": spoilt, "x": numbers(6)}))
    assert "'maybe' is not a number" in call("predict", "t.csv.json", "new.csv", code=1).stderr
    words = ("predict", "t.csv.json", "new.csv", "--on-error", "skip", "--output", "-")
    kept = call(*words).stdout.splitlines()[1:]
    assert len(kept) == 5
    x = [numbers(6)[k] for k in (0, 1, 3, 4, 5)]
    write_csv(Path("new.csv"), pa.table({"car": ["1", "1", "", "0", "0"], "x": x}))
    predicted = [line.rpartition(",")[2] for line in call(*words).stdout.splitlines()[1:]]
    assert predicted == [line.rpartition(",")[2] for line in kept]
    write_csv(Path("new.csv"), pa.table({"car": ["true", "7"], "x": numbers(2)}))
    assert "'true' is not a number" in call("predict", "t.csv.json", "new.csv", code=1).stderr
    mixed = ["true", "false", "maybe"] * 20
    found = infer(call, {"car": mixed, "y": numbers(n, 1)})
    assert found["columns"][0]["kind"] == "category"


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (("--target", "defalut"), "no column 'defalut' in t.csv: did you mean 'default'?", 2),
        (("--target", "xyz"), "no column 'xyz' in t.csv. There are: id, age", 2),
        (("--target", "default", "--drop", "agee"), "did you mean 'age'?", 2),
        (("--target", "default", "--weight", "wieght"), "no column 'wieght'", 2),
        (("--target", "default", "--drop", "default"), "which is the target", 2),
        (("--target", "id"), "too many for classes", 1),
        (("--target", "default", "--folds", "1"), "at least 2", 2),
        (("--target", "default", "-o", "no/where.json"), "there is no folder 'no'", 2),
        ((), "--target", 2),
        (("--target", "default", "--leafs", "3"), "--leaves", 2),
    ],
)
def test_errors_suggest(call: Call, words: tuple[str, ...], message: str, code: int) -> None:
    write_csv(Path("t.csv"), loans(60, 0))
    found = call("fit", "t.csv", *words, code=code)
    assert message in found.stderr
    assert "Traceback" not in found.output


def test_no_rows_and_one_class(call: Call) -> None:
    Path("t.csv").write_text("x,y\n")
    assert "has no rows" in call("fit", "t.csv", "--target", "y", code=1).stderr
    write_csv(Path("t.csv"), pa.table({"x": numbers(30), "y": ["a"] * 30}))
    assert "in every row" in call("fit", "t.csv", "--target", "y", code=1).stderr
    write_csv(Path("t.csv"), pa.table({"x": [1] * 30, "y": ["a", "b"] * 15}))
    assert "no column is left" in call("fit", "t.csv", "--target", "y", code=1).stderr


def test_the_positive_class(call: Call, loans_csv: Path) -> None:
    given = ("--target", "default", "--positive-class", "no", "--monotone", "income:+1")
    found = call("fit", loans_csv, *given, *QUICK)
    assert "P(no) = 1 / (1 + exp(-score))" in found.stdout
    model = glassleaf.load("model.json")
    assert model.positive_class == "no"
    place = model.feature_names_in_.tolist().index("income")
    assert model.tree_.coef[:, place].max() > 0
    said = call("fit", loans_csv, *given, *QUICK, "--json")
    assert json.loads(said.stdout)["positive_class"] == "no"
    evaluated = call("evaluate", "model.json", loans_csv, "--target", "default")
    assert "target default, positive class no" in evaluated.stdout
    evaluated = call("evaluate", "model.json", loans_csv, "--target", "default", "--json")
    assert json.loads(evaluated.stdout)["positive_class"] == "no"
    explained = call("explain", "model.json", loans_csv).stdout
    assert "to the right lead to no." in explained and "P(no) = 1 /" in explained
    hurt = call("explain", "model.json", loans_csv, "--reasons", 2, "--favorable", "high").stdout
    assert ", if a high score of no is good" in hurt
    explained = json.loads(call("explain", "model.json", loans_csv, "--json").stdout)
    assert explained[0]["positive_class"] == "no"
    assert "P(no) = 1 /" in call("show", "model.json").stdout
    assert json.loads(call("show", "model.json", "--json").stdout)["positive_class"] == "no"
    written = call("report", "model.json", loans_csv, "--target", "default").stdout
    assert "(positive class no)" in written
    sql = call("export", "model.json", "--to", "sql").stdout
    assert "The probability of 'no'." in sql


def test_the_positive_class_of_numbers_and_truths(call: Call) -> None:
    x = numbers()
    for labels, name in (([0, 1], "0"), ([False, True], "False"), ([False, True], "True")):
        y = [labels[value > 0] for value in x]
        pyarrow.parquet.write_table(pa.table({"x": x, "y": y}), "t.parquet")
        for way in ("--stream", "--no-stream"):
            call("fit", "t.parquet", "--target", "y", "--positive-class", name, way, *QUICK)
            model = glassleaf.load("model.json")
            assert str(model.positive_class) == name and model.positive_class in labels


def test_positive_classes_that_are_none(call: Call) -> None:
    table = {"x": numbers(), "y": ["a", "b", "c"] * 20, "z": ["bad", "good"] * 30}
    write_csv(Path("t.csv"), pa.table(table))
    for target, name, message in (
        ("x", "bad", "it has no classes"),
        ("y", "a", "for two classes; the target has 3"),
        ("z", "god", "no class 'god': did you mean 'good'?"),
    ):
        given = ("--target", target, "--positive-class", name)
        found = call("fit", "t.csv", *given, *QUICK, code=2)
        assert f"--positive-class{'' if target == 'y' else ':'}" in found.output
        assert message in found.output


def test_the_screen_says_both_shares(call: Call) -> None:
    x = numbers(400)
    y, w = [abs(value) for value in x], [3.0 if value > 0 else 1.0 for value in x]
    write_csv(Path("t.csv"), pa.table({"x": x, "y": y, "w": w}))
    whole = ("--numbers", "all", "--set", "curves=false")
    said = call("fit", "t.csv", "--target", "y", "--weight", "w", *whole, *QUICK).stdout
    assert said.count("% of the weight") == 2
    assert "of the weight" not in call("fit", "t.csv", "--target", "y", *QUICK).stdout


def claims(n: int = 800) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    age, years = rng.uniform(18, 80, n).round(1), rng.uniform(0.1, 1.0, n).round(3)
    counts = rng.poisson(years * np.exp(-0.02 * age))
    return {"age": age, "years": years, "y": counts}


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_an_exposure(call: Call, file: str) -> None:
    table = pa.table(claims())
    write_csv(Path("t.csv"), table)
    pyarrow.parquet.write_table(table, "t.parquet")
    given = ("--target", "y", "--exposure", "years", "--loss", "poisson", "--no-report")
    streamed = ("--stream",) if file == "t.parquet" else ("--folds", "2")
    found = call("fit", file, *given, *streamed)
    assert "exposure  years" in found.stdout
    assert "Every score then adds log(years)." in " ".join(found.stdout.split())
    model = glassleaf.load("model.json")
    X = table.select(["age", "years"])
    rates = glassleaf.ModelTreeRegressor(loss="poisson").fit(X, claims()["y"], exposure="years")
    np.testing.assert_allclose(model.predict(X), rates.predict(X), rtol=1e-6)
    predicted = call("predict", "model.json", file, "--output", "p.csv")
    assert predicted.exit_code == 0
    from_file = np.loadtxt("p.csv", skiprows=1)
    np.testing.assert_allclose(from_file, model.predict(X), rtol=1e-6)


def test_wrong_exposures(call: Call) -> None:
    write_csv(Path("t.csv"), pa.table(claims()))
    start = ("fit", "t.csv", "--target", "y", *QUICK)
    for words, said in (
        (("--exposure", "year"), "no column 'year'"),
        (("--exposure", "years", "--drop", "years"), "--drop names 'years', which is the exposure"),
        (("--exposure", "years", "--task", "classification"), "--exposure is for numbers"),
        (("--exposure", "years"), "exposure needs a loss with a log link"),
        (("--loss", "quantile:2"), "quantile=2.0 must be a number between 0 and 1"),
    ):
        found = call(*start, *words, code=1 if said.startswith("exposure") else 2)
        assert said in found.output


def test_losses_with_a_number(call: Call) -> None:
    write_csv(Path("t.csv"), pa.table(claims()))
    call("fit", "t.csv", "--target", "y", "--task", "regression", "--loss", "tweedie:1.7", *QUICK)
    assert glassleaf.load("model.json").loss == glassleaf.losses.Tweedie(1.7)


def test_special_values(call: Call) -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random(400) < 0.1, -9.0, rng.integers(0, 50, 400))
    y = np.where(x == -9, 9.0, 0.1 * x) + rng.normal(size=400)
    write_csv(Path("t.csv"), pa.table({"x": x, "z": x.copy(), "y": y}))
    fit = ("fit", "t.csv", "--target", "y", "--set", "max_numbers=8", *QUICK)
    assert "far below all others: -9 in 'x'" in " ".join(call(*fit).output.split())
    found = call(*fit, "--special", "-9=no record", "--special", "z:-8=none, or so")
    assert "no record" in found.stdout and "far below" not in found.output
    x, z = glassleaf.load("model.json").tree_.columns
    assert x.special == ((-9.0, "no record"),)
    assert z.special == ((-9.0, "no record"), (-8.0, "none, or so"))
    for bad in ("-9", "no record", "x:-9=", "x:nine=no record"):
        said = call(*fit, "--special", bad, code=2).output
        assert "must be VALUE=WORD or NAME:VALUE=WORD" in " ".join(said.split())
    assert "'w'" in call(*fit, "--special", "w:-9=no record", code=2).output
