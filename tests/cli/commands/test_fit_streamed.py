"""``fit`` on Parquet folders: the same model as from a file, in bounded memory, with a test set."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from csv_files import Call, write_csv

import glassleaf
from glassleaf.cli.commands import fit_streamed as streaming
from glassleaf.cli.commands.demo import loans

QUICK = ("--leaves", "3", "--no-report")


def write_folder(table: pa.Table, n_files: int = 3, folder: str = "big") -> Path:
    place = Path(folder)
    place.mkdir(exist_ok=True)
    size = -(-table.num_rows // n_files)
    for number in range(n_files):
        part = table.slice(number * size, size)
        pq.write_table(part, place / f"{number}.parquet", row_group_size=100)
    return place


def numbers(n: int = 600) -> pa.Table:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, n))
    code = rng.integers(0, 4, n)
    y = np.where(code == 2, a, -a) + b + 0.1 * rng.normal(size=n)
    return pa.table({"a": a, "b": b, "code": code, "w": rng.uniform(0.5, 2, n), "y": y})


def said(call: Call, *words: object) -> dict[str, Any]:
    return dict(json.loads(call("fit", *words, "--json").stdout))


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_model_is_that_of_the_same_rows_in_memory(call: Call, kind: str) -> None:
    table = loans(600, 0)
    pq.write_table(table, "all.parquet", row_group_size=100)
    source = write_folder(table) if kind == "folder" else "all.parquet"
    found = said(call, source, "--target", "default", "--stream", *QUICK, "-o", "streamed.json")
    usual = said(call, "all.parquet", "--target", "default", "--folds", "0", *QUICK)
    for name in ("rows", "task", "columns", "dropped", "leaves", "depth", "target"):
        assert found[name] == usual[name]
    assert found["streamed"] and not found["cross_validation"]
    mine, other = (glassleaf.load(name) for name in ("streamed.json", "model.json"))
    X = table.select(list(other.feature_names_in_))
    np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), rtol=1e-6)
    assert mine.classes_.tolist() == other.classes_.tolist()


def test_screen(call: Call) -> None:
    write_folder(loans(900, 0))
    found = call("fit", "big", "--target", "default", "--leaves", "3", "--test-size", "0.2")
    for words in (
        "big: 900 rows, 7 columns, streamed from 3 files",
        "default: classification (text, 2 different): no ",
        "id: an identifier, by its name; to keep it: --keep id",
        "income           number",
        "region           category",
        "Model tree · classes no, yes · ",
        " test rows",
        "AUC",
        "Written: model.json and model.html",
        "No cross-validated scores: every fold would read all rows once more",
        "of the rows set aside",
    ):
        assert words in found.stdout, words
    assert "level 0, pass" in found.stderr and "rows/s" in found.stderr
    assert Path("model.html").stat().st_size > 10_000


def test_rows_of_the_test_are_not_fitted(call: Call) -> None:
    write_folder(numbers())
    whole = said(call, "big", "--target", "y", *QUICK)
    found = said(call, "big", "--target", "y", "--test-size", "0.25", *QUICK)
    n_fitted = int(glassleaf.load("model.json").tree_.n_samples[0])
    assert whole["test"] == {} and n_fitted + found["test_rows"] == 600
    assert 100 < found["test_rows"] < 200 and found["test"]["R2"] > 0.8
    other = said(call, "big", "--target", "y", "--test-size", "0.25", "--seed", "1", *QUICK)
    assert other["test"] != found["test"]


@pytest.mark.parametrize("kind", ["folder", "parquet", "csv"])
def test_a_test_file_or_folder(call: Call, kind: str) -> None:
    table = loans(600, 0)
    write_folder(table)
    test = loans(300, 1)
    names = {"folder": "test", "parquet": "test.parquet", "csv": "test.csv"}
    if kind == "folder":
        write_folder(test, 2, "test")
    elif kind == "parquet":
        pq.write_table(test, "test.parquet")
    else:
        write_csv(Path("test.csv"), test)
    found = said(call, "big", "--target", "default", "--test", names[kind], *QUICK)
    assert found["test_rows"] == 300
    write_csv(Path("again.csv"), test)
    scores = json.loads(
        call("evaluate", "model.json", "again.csv", "--target", "default", "--json").stdout
    )
    assert scores["scores"]["AUC"] == pytest.approx(found["test"]["AUC"])


def test_a_test_that_cannot_be_is_said_before_the_fit(call: Call) -> None:
    write_folder(numbers())
    write_folder(numbers().drop_columns("b"), folder="test")
    words = ("fit", "big", "--target", "y", *QUICK)
    assert "test lacks the column(s) b." in call(*words, "--test", "test", code=1).stderr
    assert "no file 'tests'" in call(*words, "--test", "tests", code=2).stderr
    assert not Path("model.json").exists()
    found = call(*words, "--test-size", "1e-9")
    assert "there are no rows for a test" in found.stderr and Path("model.json").exists()


def test_long_integers(call: Call) -> None:
    table = numbers()
    longs = pa.array((np.arange(600) % 7 + 1).astype(np.uint64) * np.uint64(2**60))
    write_folder(table.append_column("long", longs).append_column("big_id", longs))
    found = said(call, "big", "--target", "y", "--test-size", "0.2", *QUICK)
    assert "long" in [column["name"] for column in found["columns"]]


def test_options(call: Call) -> None:
    table = numbers()
    write_folder(table)
    pq.write_table(table, "all.parquet")
    words = (
        "--target", "y", "--weight", "w", "--drop", "b", "--categorical", "code",
        "--monotone", "a:+1", "--leaves", "2", "--task", "regression", "--no-report",
    )  # fmt: skip
    found = said(call, "big", *words, "-o", "streamed.json")
    said(call, "all.parquet", *words, "--folds", "0")
    mine, other = (glassleaf.load(name) for name in ("streamed.json", "model.json"))
    assert mine.tree_.columns == other.tree_.columns
    assert mine.tree_.columns[1].categories == ("0", "1", "2", "3")
    np.testing.assert_allclose(mine.tree_.coef, other.tree_.coef, rtol=1e-6, atol=1e-9)
    assert (mine.tree_.coef[:, 0] >= 0).all()
    assert {"name": "b", "why": "as asked for"} in found["dropped"]


def test_numbers_with_decimals_may_be_categories(call: Call) -> None:
    table = numbers()
    table = table.set_column(2, "code", table["code"].cast("float64"))
    write_folder(table)
    said(call, "big", "--target", "y", "--categorical", "code", *QUICK)
    columns = {column.name: column for column in glassleaf.load("model.json").tree_.columns}
    assert columns["code"].categories == (0.0, 1.0, 2.0, 3.0)
    call("predict", "model.json", "big/0.parquet", "--output", "out.csv")


@pytest.mark.parametrize("kind", ["bool", "float64", "int8", "dictionary"])
def test_labels_of_any_type(call: Call, kind: str) -> None:
    table = numbers()
    label = pa.array(table["y"].to_numpy() > 0)
    if kind == "dictionary":
        label = pa.array(np.where(table["y"].to_numpy() > 0, "up", "down")).dictionary_encode()
    elif kind != "bool":
        label = label.cast("int8").cast(kind)
    write_folder(table.set_column(4, "y", label))
    found = said(call, "big", "--target", "y", "--test-size", "0.2", *QUICK)
    assert found["task"] == "classification" and found["test"]["AUC"] > 0.9
    expected = {"bool": [False, True], "dictionary": ["down", "up"]}.get(kind, [0, 1])
    assert glassleaf.load("model.json").classes_.tolist() == expected


def test_errors_of_the_call(call: Call) -> None:
    write_folder(loans(300, 0))
    Path("empty").mkdir()
    Path("texts").mkdir()
    Path("texts/a.csv").write_text("a,b\n1,2\n")
    for words, message in (
        (("big", "--target", "defalut"), "no column 'defalut' in big: did you mean 'default'?"),
        (("big", "--target", "default", "--drop", "agee"), "did you mean 'age'?"),
        (("bigg", "--target", "default", "--stream"), "no file 'bigg': did you mean 'big'?"),
        (("empty", "--target", "y"), "no Parquet files in the folder 'empty': it is empty."),
        (("texts", "--target", "y"), "no Parquet files in the folder 'texts': there are a.csv."),
        (("texts/a.csv", "--target", "b", "--stream"), "no Parquet file"),
        (("big", "--target", "default", "--no-stream"), "can only be streamed"),
        (("big", "--target", "default", "--folds", "5"), "streamed rows are not cross-validated"),
    ):
        assert message in call("fit", *words, *QUICK, code=2).stderr
    assert not Path("model.json").exists()


def test_errors_of_the_data(call: Call) -> None:
    table = loans(300, 0)
    write_folder(table)
    pq.write_table(table.drop_columns("age"), "big/1.parquet")
    words = ("fit", "big", "--target", "default", *QUICK)
    assert "big/1.parquet lacks the column(s) age" in call(*words, code=1).stderr
    Path("big/1.parquet").write_bytes(b"a,b\n1,2\n")
    assert "big/1.parquet is no Parquet file, or a damaged" in call(*words, code=1).stderr
    mixed = table.set_column(1, "age", table["region"])
    pq.write_table(mixed.select(table.column_names), "big/1.parquet")
    assert "big/1.parquet: column 'age' holds text" in call(*words, code=1).stderr
    write_folder(table.append_column("days", pa.array([[0]] * 300)))
    assert "neither a number nor text" in call(*words, code=1).stderr
    assert not Path("model.json").exists()
    write_folder(table.slice(0, 0))
    assert "There are no rows at big" in call(*words, code=1).stderr


def test_bad_rows_are_named_and_can_be_skipped(call: Call) -> None:
    table = numbers()
    y, weight = table["y"].to_numpy().copy(), table["w"].to_pylist()
    y[250], weight[410] = np.nan, None
    table = table.set_column(4, "y", pa.array(y)).set_column(3, "w", pa.array(weight))
    write_folder(table)
    words = ("big", "--target", "y", "--weight", "w", *QUICK)
    found = call("fit", *words, code=1)
    assert "big/1.parquet, row 51: no value of the target 'y'" in found.stderr
    assert said(call, *words, "--on-error", "skip")["skipped_rows"] == 2
    assert glassleaf.load("model.json").tree_.n_samples[0] == 598


def test_large_files_are_streamed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(numbers(), "all.parquet")
    assert not streaming.is_streamed("all.parquet", None)
    monkeypatch.setattr(streaming, "_memory", lambda: 100_000.0)
    assert streaming.is_streamed("all.parquet", None)
    assert not streaming.is_streamed("all.parquet", False)
    assert not streaming.is_streamed("none.csv", None)


def test_test_rows_are_thinned(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(numbers())
    monkeypatch.setattr(streaming, "_MOST_TESTED", 100)
    monkeypatch.setattr(streaming, "_SAMPLED", 20)
    found = said(call, "big", "--target", "y", "--test-size", "0.5", "--leaves", "2")
    assert 80 < found["test_rows"] <= 110 and 15 <= found["report_rows"] <= 30


def started(folder: Path, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "glassleaf.cli", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder / "tmp")},
    )  # fmt: skip


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fit_leaves_nothing_behind(
    call: Call, tmp_path: Path, sent: signal.Signals
) -> None:
    (tmp_path / "tmp").mkdir()
    write_folder(numbers(200_000))
    process = started(tmp_path, "fit", "big", "--target", "y", "--set", "max_depth=12")
    assert process.stderr is not None
    for line in process.stderr:
        if b"level 0" in line:
            break
    assert os.listdir(tmp_path / "tmp")
    process.send_signal(sent)
    code = process.wait(timeout=60)
    assert code == (130 if sent is signal.SIGINT else 143), process.stderr.read()
    assert os.listdir(tmp_path / "tmp") == []
    assert not (tmp_path / "model.json").exists()


def test_no_room_for_the_shards(call: Call, tmp_path: Path) -> None:
    write_folder(numbers())
    for limit in ("ulimit -c 0", "ulimit -f 4"):  # the first run leaves compiled kernels behind
        command = f'{limit}; exec "{sys.executable}" -m glassleaf.cli fit big --target y'
        found = subprocess.run(
            ["bash", "-c", command], capture_output=True, cwd=tmp_path, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
    assert found.returncode == 1, found.stderr
    assert b"the rows cannot be stored in" in found.stderr and b"TMPDIR" in found.stderr


MEASURED = """
import resource, sys
from glassleaf.cli import main
main(["fit", *sys.argv[1:]], standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_memory_does_not_grow_with_the_folder(call: Call, tmp_path: Path) -> None:
    """1.6 million numbers take 13 MB more than 0.16 million in memory, and 100 MB in a fit."""
    peaks = {}
    for times in (1, 10):
        for number in range(times):
            write_folder(numbers(40_000), 1, "big")
            os.rename("big/0.parquet", f"big/part{number}.parquet")
        found = subprocess.run(
            [sys.executable, "-c", MEASURED, "big", "--target", "y", "--leaves", "2", "--no-report",
             "--json"],
            capture_output=True, check=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        peaks[times] = int(found.stdout.split()[-1]) / 1024
    assert peaks[10] < peaks[1] + 40, peaks
