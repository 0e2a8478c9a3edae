"""``predict`` and ``evaluate``: the numbers of Python, from any file, a chunk at a time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from csv_files import Call, read_csv, write_csv

import glassleaf
from glassleaf.cli.commands.demo import loans
from glassleaf.cli.reading import delimited


@pytest.fixture
def new(call: Call) -> pa.Table:
    table = loans(300, 5)
    write_csv(Path("new.csv"), table)
    return table


def test_predictions_are_those_of_python(
    call: Call, model: Path, new: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator = glassleaf.load(model)
    expected = estimator.predict_proba(new.select(list(estimator.feature_names_in_)))
    call("predict", model, "new.csv", "--keep", "id", "--leaf", "-o", "whole.csv")
    rows = read_csv("whole.csv")
    assert [row["id"] for row in rows] == new["id"].to_pylist()
    np.testing.assert_array_equal([float(row["probability_yes"]) for row in rows], expected[:, 1])
    assert {row["label"] for row in rows} == {"no", "yes"}
    assert {int(row["leaf"]) for row in rows} <= set(range(5))
    monkeypatch.setattr(delimited, "_BLOCK", 1000)
    call("predict", model, "new.csv", "--keep", "id", "--leaf", "-o", "pieces.csv")
    assert Path("whole.csv").read_text() == Path("pieces.csv").read_text()


def test_all_formats_out_and_in(call: Call, model: Path, new: pa.Table) -> None:
    text = call("predict", model, "new.csv").stdout
    expected = [float(row["probability_yes"]) for row in read_csv("", text)]
    pyarrow.parquet.write_table(new, "new.parquet", row_group_size=50)
    for source in ("new.csv", "new.parquet"):
        for end in ("csv", "csv.gz", "csv.zst", "tsv", "parquet", "arrow", "jsonl"):
            call("predict", model, source, "-o", f"out.{end}")
            found = call("predict", model, source, "-o", "again.csv", "--keep", "id")
            assert "300 rows written to again.csv" in found.stderr
    assert pyarrow.parquet.read_table("out.parquet")["probability_yes"].to_pylist() == expected
    assert pa.ipc.open_file("out.arrow").read_all()["probability_yes"].to_pylist() == expected
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [line["probability_yes"] for line in lines] == expected
    assert call("predict", model, "new.csv", "--json").stdout == Path("out.jsonl").read_text()
    assert call("predict", model, "-", stdin=Path("new.csv").read_bytes()).stdout == text
    assert call("predict", model, "-", stdin=Path("new.parquet").read_bytes()).stdout == text


def test_kept_columns_come_out_as_they_were(call: Call, model: Path) -> None:
    table = loans(30, 5).set_column(0, "id", pa.array([f'"{k:03d}", or so' for k in range(30)]))
    write_csv(Path("new.csv"), table)
    text = call("predict", model, "new.csv", "--keep-all").stdout
    rows = read_csv("", text)
    assert [row["id"] for row in rows] == table["id"].to_pylist()
    assert list(rows[0])[:3] == ["id", "age", "income"]
    write_csv(Path("new.csv"), table.append_column("label", table["id"]))
    found = call("predict", model, "new.csv", "--keep-all", code=2)
    assert "--prefix" in found.stderr
    text = call("predict", model, "new.csv", "--keep-all", "--prefix", "new_").stdout
    assert {"label", "new_label"} <= set(read_csv("", text)[0])


def test_regressor(call: Call, regressor: Path, new: pa.Table) -> None:
    estimator = glassleaf.load(regressor)
    expected = estimator.predict(new.select(list(estimator.feature_names_in_)))
    rows = read_csv("", call("predict", regressor, "new.csv").stdout)
    np.testing.assert_array_equal([float(row["prediction"]) for row in rows], expected)


def test_bad_rows_stop_or_are_skipped(call: Call, model: Path, new: pa.Table) -> None:
    lines = Path("new.csv").read_text().splitlines()
    lines[10] += ",more"
    lines[20] = "just,two"
    fields = lines[30].split(",")
    fields[1] = "old"
    lines[30] = ",".join(fields)
    Path("bad.csv").write_text("\n".join(lines))
    Path("out.csv").write_text("before")
    found = call("predict", model, "bad.csv", "-o", "out.csv", code=1)
    assert "bad.csv, record 11: 8 fields, but the header has 7" in found.stderr
    assert "bad.csv, record 21: 2 fields" in found.stderr
    assert "bad.csv, record 31: column 'age': 'old' is not a number" in found.stderr
    assert Path("out.csv").read_text() == "before"
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["bad.csv", "new.csv", "out.csv"]
    found = call("predict", model, "bad.csv", "-o", "out.csv", "--on-error", "skip", "--keep", "id")
    assert "bad.csv: 3 rows skipped." in found.stderr
    rows = read_csv("out.csv")
    assert len(rows) == 297
    assert {int(row["record"]) for row in rows} == set(range(2, 302)) - {11, 21, 31}
    assert all(row["id"] == new["id"][int(row["record"]) - 2].as_py() for row in rows)


def test_unseen_categories_are_said(call: Call, model: Path, new: pa.Table) -> None:
    text = Path("new.csv").read_text().replace(",south,", ",moon,")
    Path("new.csv").write_text(text)
    n = text.count(",moon,")
    found = call("predict", model, "new.csv", "-o", "out.csv")
    assert f"column 'region': {n} rows have a category never seen" in found.stderr
    assert f"'moon' ({n})" in found.stderr


def test_columns_that_are_not_there(call: Call, model: Path, new: pa.Table) -> None:
    write_csv(Path("new.csv"), new.rename_columns(["id", "age", "incone", *new.column_names[3:]]))
    found = call("predict", model, "new.csv", code=1)
    assert "needs the column 'income'" in found.stderr
    assert "did you mean 'incone'?" in found.stderr
    assert (
        "did you mean" in call("predict", str(model).replace(".json", ".jsn"), "-", code=2).stderr
    )
    Path("no_model.json").write_text("{}")
    assert "no_model.json" in call("predict", "no_model.json", "new.csv", code=1).stderr


def test_empty_file_gives_a_header(call: Call, model: Path, new: pa.Table) -> None:
    Path("new.csv").write_text(",".join(new.column_names) + "\n")
    assert call("predict", model, "new.csv").stdout == "label,probability_no,probability_yes\n"


def test_whole_numbers_from_typed_files_are_texts_of_categories(call: Call) -> None:
    n = 60
    table = pa.table({"code": [1, 2, 30] * 20, "on": [True, False, True] * 20, "x": range(n)})
    y = [float(code) for code in table["code"].to_pylist()]
    write_csv(Path("t.csv"), table.append_column("y", pa.array(y)))
    words = ("--task", "regression", "--categorical", "code", "--keep", "x")
    call("fit", "t.csv", "--target", "y", "--folds", "0", "--no-report", *words)
    pyarrow.parquet.write_table(table, "t.parquet")
    from_text = call("predict", "model.json", "t.csv")
    assert from_text.stdout == call("predict", "model.json", "t.parquet").stdout
    assert "never seen" not in from_text.stderr


def test_output_over_input_is_refused(call: Call, model: Path, new: pa.Table) -> None:
    assert (
        "the name must end in .csv" in call("predict", model, "new.csv", "-o", "x.y", code=2).stderr
    )
    assert "is being read" in call("predict", model, "new.csv", "-o", "new.csv", code=2).stderr


# --- evaluate ------------------------------------------------------------------------------------


def test_evaluate(call: Call, model: Path, new: pa.Table) -> None:
    found = json.loads(call("evaluate", model, "new.csv", "--target", "default", "--json").stdout)
    estimator = glassleaf.load(model)
    y = new["default"].to_numpy()
    X = new.select(list(estimator.feature_names_in_))
    assert found["rows"] == 300
    assert found["scores"]["accuracy"] == pytest.approx(estimator.score(X, y))
    low, high = found["intervals"]["calibration slope"]
    assert low < found["scores"]["calibration slope"] < high
    shown = call("evaluate", model, "new.csv", "--target", "default").stdout
    assert "AUC" in shown and f"{found['scores']['AUC']:.4g}" in shown
    failed = call("evaluate", model, "new.csv", code=2)
    assert "id, default" in failed.stderr
    write_csv(Path("new.csv"), new.drop_columns(["id"]))
    assert "target default" in call("evaluate", model, "new.csv").stdout


def test_evaluate_compares_a_challenger(call: Call, model: Path, new: pa.Table) -> None:
    estimator = glassleaf.load(model)
    other = glassleaf.ModelTreeClassifier(max_depth=0, positive_class=estimator.positive_class)
    X = new.select(list(estimator.feature_names_in_))
    other.fit(X, new["default"].to_numpy()).save("other.json")
    words = ("new.csv", "--target", "default", "--challenger", "other.json")
    (found, *_) = json.loads(call("evaluate", model, *words, "--json").stdout)["comparison"]
    expected = glassleaf.compare(estimator, other, X, new["default"].to_numpy())[0]
    assert found["score"] == "AUC" and found["p"] == pytest.approx(expected.p)
    assert found["difference"] == pytest.approx(expected.difference)
    assert f"{expected.difference:+.4g}" in call("evaluate", model, *words).stdout
    failed = call("evaluate", model, "-", *words[1:], code=2, stdin=Path("new.csv").read_text())
    assert "standard input" in failed.stderr


def test_evaluate_reports_bad_targets(call: Call, model: Path, new: pa.Table) -> None:
    text = Path("new.csv").read_text().splitlines()
    text[5] = text[5].rsplit(",", 1)[0] + ",maybe"
    text[6] = text[6].rsplit(",", 1)[0] + ","
    Path("new.csv").write_text("\n".join(text))
    found = call("evaluate", model, "new.csv", "--target", "default", code=1)
    assert "record 6: column 'default': the model has no class 'maybe'" in found.stderr
    assert "record 7: no value of the target 'default'" in found.stderr
    words = ("--target", "default", "--on-error", "skip", "--json")
    found = json.loads(call("evaluate", model, "new.csv", *words).stdout)
    assert (found["rows"], found["skipped_rows"]) == (298, 2)


def test_evaluate_weighs_rows(call: Call, regressor: Path) -> None:
    table = loans(100, 8)
    y = np.arange(100.0)
    weight = np.where(y < 50, 2.0, 0.0)
    full = table.append_column("y", pa.array(y)).append_column("w", pa.array(weight))
    write_csv(Path("all.csv"), full)
    write_csv(Path("half.csv"), full.slice(0, 50))
    weighed = call("evaluate", regressor, "all.csv", "--target", "y", "--weight", "w", "--json")
    half = call("evaluate", regressor, "half.csv", "--target", "y", "--json")
    assert json.loads(weighed.stdout)["scores"] == pytest.approx(json.loads(half.stdout)["scores"])


def test_a_known_category_is_no_missing_value(call: Call) -> None:
    rng = np.random.default_rng(0)
    group = rng.choice(["NA", "None", " x", "y"], 400)
    value = np.array([{"NA": 0.0, "None": 5.0, " x": -3.0, "y": 9.0}[g] for g in group])
    table = pa.table({"group": group, "value": value})
    model = glassleaf.ModelTreeRegressor(max_numbers=None)
    model.fit(table.select(["group"]), value).save("m.json")
    pyarrow.parquet.write_table(table, "rows.parquet")
    write_csv(Path("rows.csv"), table)
    expected = call("predict", "m.json", "rows.parquet").stdout
    assert call("predict", "m.json", "rows.csv").stdout == expected
    scores = json.loads(call("evaluate", "m.json", "rows.csv", "--json").stdout)["scores"]
    assert scores["R2"] > 0.99
    asked = call("predict", "m.json", "rows.csv", "--missing", "NA").stdout
    is_asked = np.array(asked.split()) != np.array(expected.split())
    np.testing.assert_array_equal(is_asked[1:], group == "NA")


def test_a_class_may_be_called_na(call: Call) -> None:
    x = np.random.default_rng(0).normal(size=300)
    table = pa.table({"x": x, "land": np.where(x > 0, "NA", "DE")})
    model = glassleaf.ModelTreeClassifier()
    model.fit(table.select(["x"]), table["land"].to_numpy()).save("m.json")
    write_csv(Path("rows.csv"), table)
    found = json.loads(call("evaluate", "m.json", "rows.csv", "--json").stdout)
    assert found["rows"] == 300 and found["skipped_rows"] == 0


def test_numbers_as_text_are_no_new_categories(call: Call) -> None:
    table = pa.table({"g": ["1", "2", "3"] * 50, "y": [1.0, 2.0, 3.0] * 50})
    glassleaf.ModelTreeRegressor().fit(table.select(["g"]), table["y"].to_numpy()).save("m.json")
    expected = call("predict", "m.json", "-", stdin="g\n1\n3\n")
    found = call("predict", "m.json", "-", stdin="g\n1.0\n3.0\n")
    assert found.stdout == expected.stdout and "never seen" not in found.stderr
