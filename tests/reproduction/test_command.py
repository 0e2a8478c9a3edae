"""The command: cells, kept results, tables beside the paper, errors that do not end the run."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import needed
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reproduction import evaluation, methods, printed, quick, report, schedule, tables
from reproduction.cells import Cell, Result, cell_key, code_files, load_dataset, run_cell
from reproduction.datasets import Dataset
from reproduction.preparation import encoded_columns, prepare

CliRunner = needed.module("typer.testing").CliRunner
from reproduction.command import app  # noqa: E402 (it needs typer)

PROJECT = Path(__file__).parents[2]


def invoke(*words):
    command = ["--no-figures", *map(str, words)]
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, command)


def in_a_process(*words):
    """The call from the project folder, as a user types it."""
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=PROJECT
    )


@pytest.fixture
def in_process(monkeypatch):
    """Run cells here, where a test can see and change them; counts those that were computed."""
    computed = []

    def run(entries, folder, jobs, threads):
        for cell, path in entries:
            computed.append(cell)
            yield cell, path, run_cell(cell, folder, 1)

    monkeypatch.setattr(schedule, "_in_processes", run)
    return computed


SMALL = ("--datasets", "breast cancer", "--methods", "Linear,DT,MT-GR 1", "--folds", 2)


# --- preparation ----------------------------------------------------------------------------------


@pytest.fixture
def mixed():
    X = pd.DataFrame(
        {
            "size": [1.0, 2.0, np.nan, 4.0, 100.0, 3.0],
            "kind": pd.Categorical(["a", "b", None, "c", "a", "b"]),
        }
    )
    return Dataset("Mixed", X, np.arange(6) % 2, "classification", "", "", "log_loss")


def test_one_hot_has_no_column_for_missing_categories_and_fills_numbers(mixed):
    train, test = np.arange(4), np.arange(4, 6)
    seen, held = prepare("one-hot", mixed, train, test)
    assert encoded_columns(mixed.X) == 4
    assert seen.tolist() == [[1, 1, 0, 0], [2, 0, 1, 0], [2, 0, 0, 0], [4, 0, 0, 1]]
    assert held.tolist() == [[100, 1, 0, 0], [3, 0, 1, 0]]


def test_ranks_are_those_of_the_training_rows(mixed):
    seen, held = prepare("quantile", mixed, np.arange(4), np.arange(4, 6))
    assert seen[:, 0].min() == 0.0
    assert seen[:, 0].max() == 1.0
    assert held[0, 0] == 1.0


def test_many_categories_stay_sparse():
    codes = pd.Categorical([f"c{k}" for k in range(150)])
    X = pd.DataFrame({"size": np.zeros(150), "code": codes})
    data = Dataset("Codes", X, np.zeros(150), "regression", "", "", "squared_error")
    seen, _ = prepare("one-hot", data, np.arange(100), np.arange(100, 150))
    assert seen.shape == (100, 151)
    assert seen.nnz == 100


# --- cells ----------------------------------------------------------------------------------------


def test_a_cell_is_one_fold_of_a_cross_validation():
    data = load_dataset("Breast Cancer", None)
    model = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    expected = 100 * cross_val_score(model, data.X, data.y, cv=folds, scoring="roc_auc")
    found = [run_cell(Cell("Breast Cancer", "Linear", fold), None, 1) for fold in range(4)]
    assert [result.score for result in found] == pytest.approx(expected, abs=0.01)
    assert all(result.leaves == 1 for result in found)


def test_keys_depend_on_the_settings_and_not_on_anything_else():
    def key(**changed):
        place = {"dataset": "Breast Cancer", "method": "MT-GR 1", "fold": 0, **changed}
        return cell_key(Cell(**place), None)

    assert key() == key()
    others = [key(method="MT-GR 2"), key(method="MT-G 1"), key(fold=1), key(rows=100)]
    assert len({key(), *others}) == 5


def test_keys_depend_on_the_code_that_fits_and_on_the_code_that_reads_the_data():
    files = {path.relative_to(PROJECT).as_posix() for path in code_files()}
    assert {"src/glassleaf/fit/train.py", "reproduction/datasets.py"} <= files
    assert not {name for name in files if name.startswith("src/glassleaf/cli/")}


def test_our_default_gets_the_table_as_it_is():
    assert methods.METHODS["glassleaf 8"].prepared("Census") == "native"
    model = methods.METHODS["glassleaf 8"].build("classification", 1)
    assert (model.max_leaf_nodes, model.max_depth) == (8, None)


def test_each_preparation_of_a_paper_column_is_run_once_per_dataset():
    for dataset in printed.TABLE_1:
        if methods.TASKS[dataset] == "regression":
            continue
        kinds = [
            methods.METHODS[name].prepared(dataset)
            for name in ("MT-GR 2", "MT-GR 2 raw", "MT-GR 2 ranks")
            if methods.METHODS[name].runs_on(dataset)
        ]
        assert sorted(kinds) == ["one-hot", "quantile"]


# --- the command ----------------------------------------------------------------------------------


def test_a_run_writes_its_report_and_a_second_run_computes_nothing(in_process, tmp_path):
    first = invoke(*SMALL, "--output", tmp_path)
    assert first.exit_code == 0, first.output
    assert len(in_process) == 6
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(results["cells"]) == 6
    assert "Breast Cancer" in (tmp_path / "report.md").read_text()
    assert invoke(*SMALL, "--output", tmp_path).exit_code == 0
    assert len(in_process) == 6
    again = json.loads((tmp_path / "results.json").read_text())
    assert again["cells"] == results["cells"]


def test_an_interrupted_run_goes_on_where_it_stopped(in_process, tmp_path):
    assert invoke(*SMALL, "--output", tmp_path).exit_code == 0
    kept = sorted(tmp_path.glob("cells/*/*.json"))
    kept[0].unlink()
    kept[1].write_text(kept[1].read_text()[:20])  # cut short, as by a full disk
    in_process.clear()
    assert invoke(*SMALL, "--output", tmp_path).exit_code == 0
    assert len(in_process) == 2
    assert invoke(*SMALL, "--output", tmp_path, "--fresh").exit_code == 0
    assert len(in_process) == 8


def test_a_failing_cell_is_reported_and_the_others_run(in_process, tmp_path, monkeypatch):
    def build(task, threads):
        model = LogisticRegression(C=-1.0)
        return model

    broken = dataclasses.replace(methods.METHODS["DT"], build=build)
    monkeypatch.setitem(methods.METHODS, "DT", broken)
    found = invoke(*SMALL, "--output", tmp_path)
    assert found.exit_code == 1
    text = (tmp_path / "report.md").read_text()
    assert "| DT | error |" in text
    assert "'C' parameter" in text
    assert "MT-GR 1 | 99" in text
    in_process.clear()
    invoke(*SMALL, "--output", tmp_path)  # an error is not kept
    assert {cell.method for cell in in_process} == {"DT"}


def test_a_missing_package_is_an_error_of_its_cells_only(in_process, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    found = invoke(
        "--datasets", "breast cancer", "--methods", "linear,XGB 2019", "--folds", 1,
        "--output", tmp_path,
    )  # fmt: skip
    assert found.exit_code == 1
    assert "glassleaf[reproduce]" in found.output
    assert [cell.method for cell in in_process if "XGB" in cell.method] == []


def test_names_that_do_not_exist_are_refused_at_once(tmp_path):
    found = invoke("--datasets", "iris", "--output", tmp_path)
    assert found.exit_code == 2
    assert "'iris' is not one of" in found.output
    found = invoke("--methods", "forest", "--output", tmp_path)
    assert found.exit_code == 2
    assert "'forest' is not one of" in found.output


def test_an_interrupted_run_says_so_by_its_exit_code(monkeypatch, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation, "run_everything", interrupt)
    found = invoke(*SMALL, "--output", tmp_path)
    assert (found.exit_code, found.output) == (130, "Interrupted. The finished cells are kept.\n")


def test_a_page_without_markers_is_told_before_anything_runs(in_process, tmp_path):
    found = invoke(*SMALL, "--output", tmp_path, "--write-docs", tmp_path / "no-such-page.md")
    assert found.exit_code == 2
    assert "no-such-page.md" in found.output.replace("\n", "")
    assert in_process == []


def test_missing_data_are_told_before_anything_runs(in_process, tmp_path):
    found = invoke("--datasets", "olympics", "--data", tmp_path, "--output", tmp_path / "out")
    assert found.exit_code == 2
    assert "olympics.parquet" in found.output
    assert in_process == []


def test_as_a_module_in_processes_of_its_own(tmp_path):
    words = ["--datasets", "breast cancer", "--methods", "linear,MT-GR 1", "--folds", "1"]
    done = in_a_process("-m", "reproduction", *words, "--no-figures", "--output", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("cells/Breast-Cancer/*.json"))) == 2
    assert not list(tmp_path.rglob("*.part"))


def test_without_the_extra_the_command_says_how_to_get_it():
    code = "import sys; sys.modules['typer'] = None; import reproduction.__main__"
    done = in_a_process("-c", code)
    assert done.returncode == 1
    assert 'pip install "glassleaf[reproduce]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_the_quick_run_fails_when_a_value_is_off(monkeypatch):
    def found(score):
        return tables.summarize([Result("House", "MT-GR 1", 0, score, 0.1, 2)])

    monkeypatch.setattr(quick, "EXPECTED", {"House": {"MT-GR 1": 83.7}})
    assert quick.deviations(found(83.8)) == []
    assert quick.deviations(found(80.0)) == ["House, MT-GR 1: 80.00, expected 83.70 within 0.3"]


# --- tables and pages -----------------------------------------------------------------------------


def test_the_papers_numbers_stand_beside_ours_with_the_difference():
    results = [Result("House", "MT-GR 3", fold, 88.0 + fold, 0.5, 8) for fold in range(2)]
    summaries = tables.summarize(results)
    (row,) = tables.beside_the_paper(summaries, ["House"]).rows
    assert row == ["MT-GR 3", "88.5 (88.2, +0.3)"]
    (row,) = tables.scores(summaries, ["House"]).rows
    assert row == ["MT-GR 3", "88.5 ± 0.7"]
    (row,) = tables.costs(summaries, ["House"]).rows
    assert row == ["MT-GR 3", "0.50 s, 8"]


def test_only_the_marked_part_of_a_page_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Ours.\n{report.BEGIN}\nold\n{report.END}\nAlso ours.\n")
    data = load_dataset("Breast Cancer", None)
    made = report.Report(
        "the command", (data,), (Result("Breast Cancer", "Linear", 0, 99.0, 0.1, 1),), 1.0
    )
    report.write_docs(page, made)
    text = page.read_text()
    assert text.startswith("Ours.\n") and text.endswith("Also ours.\n")
    assert "\nold\n" not in text and "| Linear | 99.0 (99.4, -0.4) |" in text
    page.write_text("no markers")
    with pytest.raises(ValueError, match="no line"):
        report.write_docs(page, made)


def test_large_datasets_are_never_fitted_two_at_a_time(monkeypatch, tmp_path):
    seen = []

    def run(entries, folder, jobs, threads):
        seen.append(({cell.dataset for cell, _ in entries}, jobs))
        return iter(())

    monkeypatch.setattr(schedule, "_in_processes", run)
    names = ("Breast Cancer", "Census", "Olympics", "House")
    run_of = schedule.Run(names, ("Linear",), tmp_path, str(tmp_path), jobs=2)
    schedule.run_cells(run_of, lambda cell, result: None)
    assert ({"Census", "Olympics"}, 1) in seen
    assert ({"Breast Cancer", "House"}, 2) in seen
