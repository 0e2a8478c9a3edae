"""Files to work on, a model fitted to them, and two ways to call the command."""
# ruff: noqa: E402 (what is needed is looked for before the command is imported)

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import needed
import pytest

needed.module("pyarrow")
needed.module("typer")

from csv_files import Call, write_csv
from typer.testing import CliRunner

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.cli import main
from glassleaf.cli.commands.demo import loans


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    runner = CliRunner()

    def run(*words: object, code: int = 0, stdin: bytes | str | None = None) -> Any:
        result = runner.invoke(main, list(map(str, words)), input=stdin)
        if result.exit_code != code:
            raise AssertionError(f"{result.exit_code}: {result.output}") from result.exception
        return result

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run a command as a process of its own; standard output is a pipe."""

    def run(*words: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "glassleaf.cli", *map(str, words)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    return run


@pytest.fixture(scope="session")
def loans_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 loans as a CSV file."""
    path = tmp_path_factory.mktemp("data") / "loans.csv"
    write_csv(path, loans(600, 0))
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of loans, fitted in Python."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    table = loans(600, 0)
    X = table.select(["age", "income", "years_employed", "region", "purpose"])
    estimator = ModelTreeClassifier(max_depth=None, max_leaf_nodes=3)
    estimator.fit(X, table["default"].to_numpy()).save(path)
    return path


@pytest.fixture(scope="session")
def regressor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A regressor of incomes."""
    path = tmp_path_factory.mktemp("regressor") / "model.json"
    table = loans(600, 0)
    X = table.select(["age", "years_employed", "region"])
    y = table["age"].to_numpy() * 2 + table["years_employed"].to_numpy()
    ModelTreeRegressor(max_depth=1).fit(X, y).save(path)
    return path
