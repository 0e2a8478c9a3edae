"""``show``, ``explain``, ``report``, ``export``, ``demo``, and the application around them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from csv_files import Call, write_csv
from rich.console import Console
from whole_models import ModelTreeClassifier, ModelTreeRegressor

import glassleaf
from glassleaf.cli.commands.demo import loans
from glassleaf.cli.output.drawing import print_tree
from glassleaf.explanations.differences import differences


@pytest.fixture
def new(call: Call) -> Path:
    write_csv(Path("new.csv"), loans(100, 5))
    return Path("new.csv")


# --- show ----------------------------------------------------------------------------------------


def test_show(call: Call, new: Path) -> None:
    model, table = Path("model.json"), loans(600, 0)
    X = table.select(["age", "income", "years_employed", "region", "purpose"])
    estimator = ModelTreeClassifier(max_depth=None, max_leaf_nodes=3)
    estimator.fit(X, table["default"].to_numpy()).save(model)
    text = call("show", model).stdout
    leaves = [node for node in range(estimator.tree_.node_count) if estimator.tree_.left[node] < 0]
    for leaf in leaves:
        assert f"leaf {leaf}" in text
        assert f"{estimator.tree_.n_samples[leaf]:,} rows" in text
    assert "classes no, yes" in text and "region ∈ {south}" in text and "█" in text
    assert re.search(r"and \d+ more columns", call("show", model, "--terms", "1").stdout)
    assert "the spread of what a column adds" in call("show", model, "--data", new).stdout


def test_show_as_json(call: Call, model: Path) -> None:
    found = json.loads(call("show", model, "--json").stdout)
    assert found == glassleaf.explain(glassleaf.load(model)).to_dict()
    assert sum(node["rows"] for node in found["nodes"] if node["leaf"]) == 600


@pytest.mark.parametrize("n_classes", [0, 3])
def test_drawing_of_bends(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = pa.table({"age": rng.uniform(20, 60, 2000), "z": rng.normal(size=2000)})
    y = np.abs(X["age"].to_numpy() - 40) / 5 + X["z"].to_numpy()
    if n_classes:
        y = np.digitize(y, [1, 3])
    maker: Any = ModelTreeClassifier if n_classes else ModelTreeRegressor
    estimator = maker(max_depth=0, curves=True).fit(X, y)
    tree = estimator.tree_
    (at, *_), (hinge, *_) = tree.terms.hinges(0), tree.terms.hinge_terms(0)
    line, more = np.atleast_2d(tree.coef[0])[0, [tree.terms.first_term[0], hinge]]
    for data in (None, X):
        written = io.StringIO()
        print_tree(Console(width=120, file=written), estimator, data, 0)
        (row,) = [row for row in written.getvalue().splitlines() if "age" in row.split()]
        if n_classes:
            assert f"bends at {at:.6g}" in row and len(re.findall("[▁-█]{8}", row)) == 3
        else:
            assert f"{line:.4g}" in row and f"{line + more:.3g} from {at:.6g} on" in row
            assert "█" in row


@pytest.mark.parametrize("kind", ["numbers", "classes", "one leaf", "log"])
def test_show_every_kind_of_tree(call: Call, kind: str) -> None:
    table = loans(300, 1)
    X = table.select(["age", "income", "region"])
    if kind == "classes":
        estimator: Any = ModelTreeClassifier(max_depth=1).fit(X, table["purpose"].to_numpy())
    elif kind == "one leaf":
        estimator = ModelTreeRegressor(max_depth=0).fit(X, table["years_employed"].to_numpy())
    elif kind == "log":
        estimator = ModelTreeRegressor(loss="poisson", max_depth=1, leaf_transform="rank")
        estimator.fit(X, table["years_employed"].to_numpy())
    else:
        estimator = ModelTreeRegressor(max_depth=2, clamp=True)
        estimator.fit(X, table["years_employed"].to_numpy())
    estimator.save("m.json")
    assert "Model tree" in call("show", "m.json").stdout
    call("show", "m.json", "--json")


def drawn(estimator: Any, X: Any = None) -> str:
    written = io.StringIO()
    print_tree(Console(file=written, width=120), estimator, X, 0)
    return written.getvalue()


def test_a_file_that_knows_no_spreads_is_drawn_without_bars() -> None:
    estimator = glassleaf.load(Path(__file__).parents[1] / "fixtures" / "model_v1_regressor.json")
    text = drawn(estimator)
    assert text.count("leaf ") >= estimator.get_n_leaves() and "--data FILE" in text
    assert not any("█" in line and "rows" not in line for line in text.splitlines())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_column_by_its_rank_is_called_so(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = pa.table({"rain": np.sinh(4 * rng.normal(size=900))})
    y = np.digitize(
        np.arcsinh(X["rain"].to_numpy()) + rng.normal(size=900), [0, 2][: n_classes - 1]
    )
    model = ModelTreeClassifier(max_depth=0, leaf_transform="rank", max_numbers=None)
    text = drawn(model.fit(X, y))
    assert "rank(rain)" in text and "rank(x): its rank" in " ".join(text.split())


def test_a_rare_category_has_a_short_bar() -> None:
    """However much it adds: bars are the spread of what is added to the rows."""
    rng = np.random.default_rng(0)
    z, kind = rng.normal(size=2000), np.where(np.arange(2000) % 200 == 0, "rare", "usual")
    X = pa.table({"z": z, "kind": kind})
    estimator = ModelTreeRegressor(max_depth=0).fit(X, z + 4.0 * (kind == "rare"))
    for data in (None, X):
        lines = drawn(estimator, data).splitlines()
        bars = {
            name: sum(line.count("█") for line in lines if line.startswith(name))
            for name in X.column_names
        }
        assert bars["z"] == 8 and bars["kind"] <= 3


# --- one formula, and models of growing length ---------------------------------------------------


@pytest.fixture(scope="session")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A formula for all rows, which differs where b is large, in a CSV file."""
    rng = np.random.default_rng(0)
    X = pa.table({name: np.round(rng.normal(size=1500), 3) for name in "abcd"})
    a, b, c, d = (X[name].to_numpy() for name in "abcd")
    y = 2 + a - 0.5 * c + 0.3 * d + (b > 0.4) * (1.5 * a - 1) + 0.2 * rng.normal(size=1500)
    path = tmp_path_factory.mktemp("costs") / "costs.csv"
    write_csv(path, X.append_column("cost", pa.array(y)))
    return path


def fit_costs(call: Call, costs: Path, *words: str) -> Any:
    return call("fit", costs, "--target", "cost", "--folds", 0, "--no-report", *words)


def test_fit_shows_the_formula_for_all_rows_and_what_differs(call: Call, costs: Path) -> None:
    text = fit_costs(call, costs, "--numbers", "10").stdout
    estimator = glassleaf.load("model.json")
    assert estimator.max_numbers == 10 and estimator.complexity_.total <= 10
    shown = differences(glassleaf.explain(estimator))
    assert len(shown) > 2 and f"{estimator.complexity_.total} numbers to read" in text
    for own in shown:
        assert f"{own.where}  {own.rows:,} rows (" in text
        assert all(words in text for words in own.texts)
    assert call("show", "model.json").stdout in text


def test_fit_says_how_many_numbers(call: Call, costs: Path) -> None:
    found = json.loads(fit_costs(call, costs, "--numbers", "12", "--json").stdout)
    complexity = glassleaf.load("model.json").complexity_
    assert found["numbers"] == complexity.total <= 12
    assert found["numbers_per_row"] == complexity.per_row
    fit_costs(call, costs, "--numbers", "all")
    assert glassleaf.load("model.json").max_numbers is None
    fit_costs(call, costs, "--numbers", "auto")
    assert glassleaf.load("model.json").max_numbers == "auto"
    for wrong in ("0", "-3", "few", "2.5"):
        words = ("fit", costs, "--target", "cost", "--numbers", wrong)
        assert "whole number from 1 on, auto, or all" in call(*words, code=2).stderr


def test_path_lists_all_steps_and_marks_the_model(call: Call, costs: Path) -> None:
    fit_costs(call, costs, "--numbers", "12")
    estimator = glassleaf.load("model.json")
    lines = call("path", "model.json").stdout.splitlines()[2:]
    rows = [line.split(maxsplit=4) for line in lines if "±" in line]
    assert len(rows) == len(estimator.path_)
    (marked,) = [row for row in rows if row[0] == "→"]
    assert int(marked[1]) == estimator.complexity_.total
    assert lines[0].rstrip().endswith("a constant")
    found = json.loads(call("path", "model.json", "--json").stdout)
    assert found["steps"] == [step.to_dict() for step in estimator.path_]
    assert found["steps"][found["chosen"]]["numbers"] == estimator.complexity_.total


def test_path_writes_the_model_of_another_length(call: Call, costs: Path) -> None:
    fit_costs(call, costs)
    longer = glassleaf.load("model.json")
    text = call("path", "model.json", "--numbers", 6, "--output", "short.json").stdout
    short = glassleaf.load("short.json")
    assert short.tree_ == longer.at(numbers=6).tree_ and short.complexity_.total <= 6
    assert f"{short.complexity_.total} numbers to read" in text and "Written: short.json" in text
    shown = json.loads(call("path", "model.json", "--numbers", 6, "--json").stdout)
    assert shown == glassleaf.explain(short).to_dict()


def test_path_says_what_it_needs(call: Call, costs: Path) -> None:
    fit_costs(call, costs, "--numbers", "all")
    assert "--numbers all" in call("path", "model.json", code=1).stderr
    assert "--output needs" in call("path", "model.json", "--output", "x", code=2).stderr


# --- explain -------------------------------------------------------------------------------------


def test_explain(call: Call, model: Path, new: Path) -> None:
    text = call("explain", model, new, "--row", "3", "--row", "100").stdout
    estimator = glassleaf.load(model)
    X = loans(100, 5).select(list(estimator.feature_names_in_))
    probability = estimator.predict_proba(X)[2]
    label = estimator.classes_[probability.argmax()]
    assert f"Row 3: {label} with probability {probability.max():.3f}" in text
    assert "Row 100" in text and "region" in text
    assert "(mean row of the leaf) plus these is" in text
    assert f"P({estimator.classes_[1]}) = 1 / (1 + exp(-score))" in text.replace("\n", " ")
    row = glassleaf.explain(estimator, X)[2]
    assert 0 in row.contributions.values()
    bars = text.partition("\n\n")[2].partition(" (mean row")[0]
    for name, added in row.contributions.items():
        assert (f"  {name} " in bars) == (added != 0)
    assert "Row 1:" in call("explain", model, new).stdout
    assert "has 100 rows" in call("explain", model, new, "--row", "101", code=2).stderr


def test_explain_as_json(call: Call, model: Path, new: Path) -> None:
    (found,) = json.loads(call("explain", model, new, "--row", "3", "--json").stdout)
    estimator = glassleaf.load(model)
    X = loans(100, 5).select(list(estimator.feature_names_in_)).slice(2, 1)
    assert found["prediction"] == estimator.predict_proba(X)[0].tolist()
    assert found["leaf"] == estimator.apply(X)[0]
    total = found["reference"] + sum(found["contributions"].values())
    assert total == pytest.approx(found["raw"]) == estimator.decision_function(X)[0]


def test_reasons(call: Call, model: Path, new: Path) -> None:
    words = ("explain", model, new, "--row", "3", "--reasons", "2")
    unsaid = call(*words, code=2).stderr
    assert "which class is good for the row, such as --favorable no or --favorable yes" in unsaid
    assert "hurt" in call(*words, "--favorable", "no").stdout
    signs = {}
    for label in ("yes", "no"):
        (found,) = json.loads(call(*words, "--favorable", label, "--json").stdout)
        assert len(found["reasons"]) <= 2
        signs[label] = {reason["contribution"] > 0 for reason in found["reasons"]}
    assert signs["yes"] <= {False} and signs["no"] <= {True}
    assert "no class 'maybe'" in call(*words, "--favorable", "maybe", code=2).stderr


def test_explain_against_a_background(call: Call, model: Path, new: Path) -> None:
    words = ("explain", model, new, "--row", "3", "--background", new)
    assert "(mean score of 100 background rows) plus these is" in call(*words).stdout
    (found,) = json.loads(call(*words, "--reasons", "9", "--favorable", "no", "--json").stdout)
    estimator = glassleaf.load(model)
    X = loans(100, 5).select(list(estimator.feature_names_in_))
    row = X.slice(2, 1)
    shap = glassleaf.shap_values(estimator, row, X).values[0]
    values = dict(zip(X.column_names, shap, strict=True))
    assert found["contributions"] == pytest.approx(values)
    hurt = {name: value for name, value in values.items() if value > 0}
    assert {r["feature"]: r["contribution"] for r in found["reasons"]} == pytest.approx(hurt)
    assert found["leaf"] == estimator.apply(row)[0]
    assert found["leaf_number"] == glassleaf.explain(estimator, row)[0].leaf_number


def test_explain_numbers_and_classes(call: Call, regressor: Path, new: Path) -> None:
    assert "Row 1: prediction" in call("explain", regressor, new).stdout
    table = loans(300, 1)
    estimator = ModelTreeClassifier(max_depth=1)
    estimator.fit(table.select(["age", "income", "region"]), table["purpose"].to_numpy())
    estimator.save("m.json")
    assert "the score of class" in call("explain", "m.json", new).stdout


# --- report --------------------------------------------------------------------------------------


def test_report(call: Call, model: Path, new: Path) -> None:
    call("report", model, new, "--target", "default", "-o", "page.html")
    page = Path("page.html").read_text()
    assert page.startswith("<!doctype html>") and "100" in page
    assert "<title>Model report: default</title>" in page
    assert r"that \u201cdefault\u201d is \u201c" in page
    assert "The test rows are weighted" not in page
    call("report", model, new, "--target", "default", "--weight", "age", "-o", "page.html")
    assert "The test rows are weighted" in Path("page.html").read_text()
    words = ("fit", new, "--target", "default", "--leaves", "1", "--folds", "0")
    call(*words)
    page = Path("model.html").read_text()
    assert page.startswith("<!doctype html>") and "It was not tested" in page
    call(*words, "--test-size", "0.3")
    assert "and tested on" in Path("model.html").read_text()


def test_report_on_several_samples(call, model, new):
    words = ("--target", "default", "--beside", f"before={new}", "--challenger", model)
    call("report", model, new, *words, "-o", "page.html")
    text = Path("page.html").read_text(encoding="utf-8")
    assert '"name":"before"' in text.replace(": ", ":") and "DeLong" in text
    failed = call("report", model, new, "--target", "default", "--beside", "before", code=2)
    assert "NAME=FILE" in failed.stderr


# --- export --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "name", "words"),
    [
        ("sql", "m.sql", b"CASE"),
        ("pmml", "m.pmml", b"<PMML"),
        ("c", "m.c", b"double"),
        ("python", "m.py", b"def predict"),
        ("js", "m.js", b"predict"),
        ("scorecard", "m.csv", b"segment"),
        ("scorecard", "m.xlsx", b"PK"),
        ("onnx", "m.onnx", b"glassleaf"),
    ],
)
def test_export(call: Call, model: Path, language: str, name: str, words: bytes) -> None:
    found = call("export", model, "--to", language, "-o", name)
    content = Path(name).read_bytes()
    assert words in content
    assert f"{len(content):,} bytes written to {name}" in found.stderr
    if language != "onnx" and not name.endswith("xlsx"):
        assert call("export", model, "--to", language).stdout.encode() == content


def test_export_options(call: Call, model: Path) -> None:
    sql = ("export", model, "--to", "sql")
    view = call(*sql, "--table", "loans", "--view", "risk", "--dialect", "sqlite").stdout
    assert "CREATE VIEW `risk`" in view and "`loans`" in view
    assert call(*sql, "--of", "no").stdout != call(*sql, "--of", "yes").stdout
    assert "no class 'maybe'" in call(*sql, "--of", "maybe", code=2).stderr
    card = call("export", model, "--to", "scorecard", "--base-score", "500").stdout
    assert card != call("export", model, "--to", "scorecard").stdout
    whole = call("export", model, "--to", "scorecard", "--exact").stdout
    assert "." in whole.splitlines()[1].split(",base,")[1] and whole != card
    assert "risk_" in call("export", model, "--to", "c", "--name", "risk").stdout
    assert "onnx" in call("export", model, "--to", "xml", code=2).stderr


def test_export_a_scorecard_with_counts(call: Call, model: Path, loans_csv: Path) -> None:
    card = ("export", model, "--to", "scorecard", "--data", loans_csv, "--target", "default",
            "--bins")  # fmt: skip
    head, base = call(*card).stdout.splitlines()[:2]
    counted = dict(zip(head.split(","), base.split(","), strict=True))
    assert int(counted["count"]) == 600 > int(counted["bads"]) > 0
    call(*card, "-o", "card.html")
    assert "<table>" in Path("card.html").read_text(encoding="utf-8")
    found = call("export", model, "--to", "scorecard", "--bins", code=2)
    assert "--bins needs rows" in found.stderr


# --- the application -----------------------------------------------------------------------------


def test_demo(call: Call) -> None:
    text = call("demo", "tour").stdout
    for words in ("$ glassleaf fit", "$ glassleaf predict", "AUC", "L00001"):
        assert words in text
    assert {path.name for path in Path("tour").iterdir()} >= {
        "loans.csv", "new.csv", "model.json", "scored.csv", "model.sql"
    }  # fmt: skip


def test_help_and_version(call: Call) -> None:
    assert call("--version").stdout == f"glassleaf {glassleaf.__version__}\n"
    text = call("--help").stdout
    for command in ("fit", "predict", "evaluate", "explain", "report", "export", "show", "demo",
                    "--install-completion"):  # fmt: skip
        assert command in text
        if not command.startswith("-"):
            assert "Usage" in call(command, "--help").stdout
    assert "No such command" in call("fti", code=2).stderr


def test_damaged_model_is_one_line(call: Call, model: Path, new: Path) -> None:
    Path("m.json").write_text(model.read_text()[:-20])
    found = call("show", "m.json", code=1)
    assert found.stderr.startswith("error: m.json: ")
    assert pa.__name__ not in found.stderr and "Traceback" not in found.output
