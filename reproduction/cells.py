"""A cell is one dataset, one method, one fold: its key, its result, and the file that keeps it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import time
import warnings
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from glassleaf import errors
from glassleaf.tree.file.atomic import write_atomically
from reproduction import datasets, sources
from reproduction.datasets import Dataset
from reproduction.methods import METHODS, TASKS
from reproduction.preparation import Rows, prepare
from reproduction.printed import N_FOLDS

SEED = 0

_FILES = {
    "Bankruptcy": datasets.BANKRUPTCY,
    "Census": datasets.CENSUS,
    "Credit Card": datasets.CREDIT_CARD,
    "Olympics": datasets.OLYMPICS,
    "House": datasets.HOUSE,
    "Weather-Temp": datasets.WEATHER,
    "Weather-Vis": datasets.WEATHER,
}


@dataclass(frozen=True)
class Cell:
    """``rows`` is the size of the part of the dataset that is used, None for all of it."""

    dataset: str
    method: str
    fold: int
    rows: int | None = None


@dataclass(frozen=True)
class Result:
    """AUC or R2 on the rows held out, times 100; or the message of what went wrong."""

    dataset: str
    method: str
    fold: int
    score: float | None = None
    seconds: float | None = None
    leaves: int | None = None
    error: str | None = None


# --- keys and files -------------------------------------------------------------------------------


def cell_key(cell: Cell, folder: str | None) -> str:
    """Hash of all that the result depends on: data, settings, and the code that fits."""
    method = METHODS[cell.method]
    file = _FILES.get(cell.dataset)
    depends = {
        "data": "scikit-learn" if file is None else sources.fingerprint(file, folder),
        "rows": cell.rows,
        "fold": [cell.fold, N_FOLDS, SEED],
        "preparation": method.prepared(cell.dataset),
        "estimator": _settings(method.build(TASKS[cell.dataset], 1)),
        "versions": [package_version(name) for name in ("scikit-learn", method.package)],
        "code": _code() if method.package == "glassleaf" else "",
    }
    text = json.dumps(depends, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _settings(estimator: Any) -> str:
    named = {name: repr(value) for name, value in sorted(estimator.get_params().items())}
    return f"{type(estimator).__name__} {named}"


def package_version(name: str) -> str:
    return f"{name} {importlib.metadata.version(name)}"


@lru_cache
def _code() -> str:
    """Hash of the code, because a version number stands still while we work."""
    found = hashlib.sha256()
    for path in code_files():
        found.update(path.read_bytes())
    return found.hexdigest()


def code_files() -> list[Path]:
    """What a fit of ours depends on: the library without its commands, and what reads the data."""
    library = Path(errors.__file__).parent
    files = [path for path in library.rglob("*.py") if path.relative_to(library).parts[0] != "cli"]
    return [*sorted(files), Path(datasets.__file__), Path(sources.__file__)]


def cell_path(output: Path, cell: Cell, key: str) -> Path:
    name = "".join(letter if letter.isalnum() else "-" for letter in cell.method)
    return output / "cells" / cell.dataset.replace(" ", "-") / f"{name}_{cell.fold}_{key}.json"


def load_result(path: Path) -> Result | None:
    """The kept result; None where there is none, or where a file was cut short."""
    try:
        return Result(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def save_result(path: Path, result: Result) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(asdict(result), indent=1).encode())


# --- running one ----------------------------------------------------------------------------------


@cache
def load_dataset(name: str, folder: str | None, rows: int | None = None) -> Dataset:
    """Read once per process; ``rows`` of it, drawn with the seed, or all."""
    data = datasets.PAPER[name](folder)
    if rows is None or rows >= len(data.y):
        return data
    drawn = np.sort(np.random.default_rng(SEED).choice(len(data.y), rows, replace=False))
    X = data.X.iloc[drawn].reset_index(drop=True)
    return Dataset(data.name, X, data.y[drawn], data.task, data.description, data.source, data.loss)


@lru_cache(maxsize=8)
def _folds(name: str, folder: str | None, rows: int | None) -> list[tuple[Rows, Rows]]:
    data = load_dataset(name, folder, rows)
    kind = StratifiedKFold if data.task == "classification" else KFold
    return list(kind(N_FOLDS, shuffle=True, random_state=SEED).split(data.y, data.y))


@lru_cache(maxsize=1)
def _prepared(
    kind: str, name: str, folder: str | None, rows: int | None, fold: int
) -> tuple[Any, Any]:
    return prepare(kind, load_dataset(name, folder, rows), *_folds(name, folder, rows)[fold])


def run_cell(cell: Cell, folder: str | None, threads: int) -> Result:
    """Fit on the other folds, score on this one. Never raises: an error is a result too."""
    try:
        return _run(cell, folder, threads)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return Result(cell.dataset, cell.method, cell.fold, error=message)


def _run(cell: Cell, folder: str | None, threads: int) -> Result:
    method = METHODS[cell.method]
    data = load_dataset(cell.dataset, folder, cell.rows)
    train, test = _folds(cell.dataset, folder, cell.rows)[cell.fold]
    kind = method.prepared(cell.dataset)
    X_train, X_test = _prepared(kind, cell.dataset, folder, cell.rows, cell.fold)
    model = method.build(data.task, threads)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # A baseline that stops a little early is no news to the reader of a table.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X_train, data.y[train])
    seconds = time.perf_counter() - start
    score = 100 * held_out_score(model, X_test, data.y[test], data.task)
    return Result(
        cell.dataset, cell.method, cell.fold, round(score, 4), round(seconds, 4), method.size(model)
    )


def held_out_score(model: Any, X: Any, y: Any, task: str) -> float:
    """R2, or the area under the ROC curve of the raw score."""
    if task == "regression":
        return float(r2_score(y, model.predict(X)))
    if hasattr(model, "decision_function"):
        return float(roc_auc_score(y, model.decision_function(X)))
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
