"""Files as they come: names twice, names of people, long texts, columns that know the target."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from csv_files import Call, write_csv


def people(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(0)
    age, income = rng.integers(18, 80, n), rng.normal(30, 5, n)
    return pa.table({"age": age, "income": income, "y": age * 0.5 + rng.normal(size=n) * 9})


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_columns_of_the_same_name_can_be_dropped(call: Call, end: str) -> None:
    table = people()
    twice = table.append_column("age", table["income"]).append_column("a,b", table["income"])
    if end == "csv":
        write_csv(Path("rows.csv"), twice.rename_columns(["age", "income", "y", "x", "a,b"]))
        text = Path("rows.csv").read_text().replace("age,income,y,x", "age,income,y,age", 1)
        Path("rows.csv").write_text(text)
    else:
        pyarrow.parquet.write_table(twice, "rows.parquet")
    file = f"rows.{end}"
    found = call("fit", file, "--target", "y", code=1)
    assert "'age' occurs 2 times" in found.stderr and "--drop age" in found.stderr
    call("fit", file, "--target", "y", "--drop", "age")
    call("fit", file, "--target", "y", "--drop", "age,a,b", "--drop", "a,b", code=2)
    call("fit", file, "--target", "y", "--drop", "a,b", "--drop", "age", "--json")
    assert call("predict", "model.json", file).stdout.startswith("prediction")


def test_columns_of_the_same_name_that_the_model_needs(call: Call) -> None:
    write_csv(Path("rows.csv"), people())
    call("fit", "rows.csv", "--target", "y")
    call("predict", "model.json", "-", stdin="age,income,note,note\n30,20,a,b\n")
    found = call("predict", "model.json", "-", stdin="age,income,age\n30,20,1\n", code=1)
    assert "'age' occurs 2 times" in found.stderr


@pytest.mark.parametrize("text", ["\n", "\r\n", "\n\n\n", " \n"])
def test_a_file_of_newlines_is_empty(call: Call, text: str) -> None:
    write_csv(Path("rows.csv"), people())
    call("fit", "rows.csv", "--target", "y")
    Path("nothing.csv").write_text(text)
    for words in (
        ("fit", "nothing.csv", "--target", "y"),
        ("predict", "model.json", "nothing.csv"),
    ):
        assert "nothing.csv is empty" in call(*words, code=1).stderr


def test_long_texts_are_shortened(call: Call) -> None:
    k = np.arange(200.0)
    table = pa.table({"g": ["a", "b"] * 100, "x": np.sin(k), "y": k % 7 / 3})
    write_csv(Path("rows.csv"), table)
    call("fit", "rows.csv", "--target", "y")
    long = "z" * 300_000
    found = call("predict", "model.json", "-", stdin=f"g,x\n{long},1\n")
    assert "never seen" in found.stderr and len(found.stderr) < 500
    found = call("predict", "model.json", "-", stdin=f"g,x\na,{long}\n", code=1)
    assert "is not a number" in found.stderr and len(found.stderr) < 500


def test_names_are_dropped(call: Call) -> None:
    rng = np.random.default_rng(0)
    name = [f"{first} {last}" for first, last in rng.integers(0, 22, (400, 2))]
    assert 0.5 < len(set(name)) / 400 < 0.9
    write_csv(Path("rows.csv"), people().append_column("name", pa.array(name)))
    found = call("fit", "rows.csv", "--target", "y", "--json")
    dropped = {entry["name"]: entry["why"] for entry in json.loads(found.stdout)["dropped"]}
    assert "names or identifiers" in dropped["name"] and set(dropped) == {"name"}


@pytest.mark.parametrize("target", ["y", "class"])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_column_that_alone_predicts_the_target_is_reported(
    call: Call, target: str, end: str
) -> None:
    table = people(600)
    y = table["y"].to_numpy()
    table = table.append_column("paid", pa.array(np.round(2 * y - 1, 6)))
    labels = np.where(y > 25, "high", "low")
    table = table.append_column("class", pa.array(labels))
    table = table.append_column("outcome", pa.array(np.where(labels == "high", "A", "B")))
    table = table.drop_columns(["class" if target == "y" else "y"])
    if target == "class":
        table = table.drop_columns(["paid"])
    if end == "csv":
        write_csv(Path("rows.csv"), table)
    else:
        Path("rows").mkdir()
        pyarrow.parquet.write_table(table, "rows/part.parquet")
    source = "rows.csv" if end == "csv" else "rows"
    found = call("fit", source, "--target", target, "--json")
    expected = {"y": {"paid"}, "class": {"outcome"}}[target]
    assert set(json.loads(found.stdout)["possible_leaks"]) == expected
    assert f"column {next(iter(expected))!r} alone explains" in found.stderr
    assert "--drop" in found.stderr
