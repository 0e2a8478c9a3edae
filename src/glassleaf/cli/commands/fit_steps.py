"""The steps of ``fit``: load, cross-validate, fit, test, write, show."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import model_selection

import glassleaf
from glassleaf import losses
from glassleaf.cli.failures import CallError, named_columns, no_column, suggestion
from glassleaf.cli.options import Task
from glassleaf.cli.output.fit_screen import FitOutcome, Screen
from glassleaf.cli.output.progress import progress
from glassleaf.cli.output.scores import Score, all_scores
from glassleaf.cli.reading.leaks import leaks
from glassleaf.cli.reading.model_rows import LabeledRows, labeled_rows, written_like
from glassleaf.cli.reading.profiles import DataProfile
from glassleaf.cli.reading.times import check_day
from glassleaf.cli.reading.training_data import DataRequest, TrainingData, load_training
from glassleaf.cli.screen import note

_FOLDS = 5
_LOSSES_WITH_NUMBER = {
    "tweedie": losses.Tweedie,
    "negative_binomial": losses.NegativeBinomial,
    "quantile": losses.Quantile,
}


@dataclass(frozen=True)
class TreeOptions:
    """What the call says about the tree."""

    leaves: int | None
    depth: int | None
    numbers: str | None
    loss: str | None
    alpha: float | None
    settings: Sequence[str]
    special: Sequence[str]
    monotone: Sequence[str]
    positive_class: str | None


@dataclass(frozen=True)
class FitRequest:
    """What a call of ``fit`` asks for."""

    data: DataRequest
    tree: TreeOptions
    test_size: float | None
    test: str | None
    folds: int | None
    seed: int
    output: Path
    report: Path | None
    as_json: bool


def run(request: FitRequest) -> None:
    """Fit rows that fit into memory."""
    loaded = load_training(request.data)
    estimator = new_estimator(loaded.profile, request.tree)
    screen = Screen(request.as_json)
    screen.profile(loaded.profile, request.data)
    screen.leaks(leaks(loaded.X, loaded.y, loaded.profile.task), request.data.target)
    rows, test_rows = _test_rows(loaded, request)
    part = _part(request, loaded, rows)
    start = time.perf_counter()
    folds, linear = _fit_all(request, loaded.profile.task, part, estimator)
    seconds = time.perf_counter() - start
    test = _test_part(request, loaded, estimator, test_rows)
    scores = [] if test is None else all_scores(estimator, test.X, test.y, test.weight)
    estimator.save(request.output)
    if request.report is not None:
        write_report(request.report, estimator, test or part, seen=test is None)
    n_test = 0 if test is None else len(test.y)
    screen.fitted(FitOutcome(estimator, folds, linear, scores, n_test, seconds), loaded.X)
    screen.written(request.output, request.report)
    if request.report is not None and test is None:
        screen.remark(
            "The report shows the rows of the fit. For rows the model has not seen: --test-size 0.2"
        )
    screen.finish()


def task_of(task: Task | None, exposure: str | None, offset: str | None) -> Task | None:
    """Exposures and offsets are those of numbers."""
    if exposure is None and offset is None:
        return task
    if task is Task.classification:
        name = "--offset" if exposure is None else "--exposure"
        raise CallError(f"{name} is for numbers, and --task says classification.")
    return Task.regression


def check(request: FitRequest) -> None:
    """Find errors of the call before the data are read."""
    asked = {"--test-size": request.test_size, "--test": request.test,
             "--test-after": request.data.test_after}  # fmt: skip
    named = [option for option, given in asked.items() if given is not None]
    if len(named) > 1:
        raise CallError(f"{named[0]} and {named[1]}: choose one of the two.")
    if request.data.test_after is not None:
        check_day(request.data.test_after)
    elif request.data.time_column is not None:
        raise CallError("--time-column says where --test-after looks; give that, too.")
    if request.folds == 1:
        raise CallError("--folds 1: cross-validation needs at least 2; 0 turns it off.")
    for path in filter(None, (request.output, request.report)):
        if not path.parent.is_dir():
            raise CallError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}.")


# --- the estimator -------------------------------------------------------------------------------


def new_estimator(profile: DataProfile, tree: TreeOptions) -> Any:
    """The estimator of the task with the parameters of the call."""
    is_classifier = profile.task is Task.classification
    kind: Any = glassleaf.ModelTreeClassifier if is_classifier else glassleaf.ModelTreeRegressor
    known = kind().get_params()
    given: dict[str, Any] = {}
    if tree.leaves is not None:
        given["max_leaf_nodes"] = tree.leaves
    if tree.depth is not None:
        given["max_depth"] = tree.depth
    if tree.numbers is not None:
        given["max_numbers"] = _max_numbers(tree.numbers)
    if tree.loss is not None:
        given["loss"] = _loss(tree.loss)
    if tree.alpha is not None:
        given["alpha"] = tree.alpha
    if tree.special:
        given["special_values"] = special_values(tree.special, profile)
    if tree.monotone:
        given["monotonic_cst"] = monotone_columns(tree.monotone, profile)
    if tree.positive_class is not None:
        given["positive_class"] = _positive_class(tree.positive_class, profile)
    for text in tree.settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise CallError(f"--set {text!r} must be NAME=VALUE.")
        if name not in known:
            raise CallError(f"--set: no parameter {name!r}{suggestion(name, sorted(known))}")
        given[name] = _value(value)
    return kind(**given)


def _max_numbers(given: str) -> int | str | None:
    if given in ("auto", "all"):
        return None if given == "all" else given
    if not given.isdecimal() or not int(given):
        raise CallError(f"--numbers {given!r} must be a whole number from 1 on, auto, or all.")
    return int(given)


def _loss(given: str) -> Any:
    """The name of a loss, or the loss with the number that follows its name."""
    name, colon, number = given.partition(":")
    if not colon or name not in _LOSSES_WITH_NUMBER:
        return given
    try:
        return _LOSSES_WITH_NUMBER[name](float(number))
    except ValueError as error:
        raise CallError(f"--loss {given}: {error}") from None


def _positive_class(given: str, profile: DataProfile) -> Any:
    """The label of the target that is written like this."""
    if profile.task is Task.regression:
        raise CallError("--positive-class: the target holds numbers; it has no classes.")
    labels = sorted(profile.target.counts or ())
    if len(labels) != 2:
        raise CallError(f"--positive-class is for two classes; the target has {len(labels)}.")
    return written_like(given, labels, "--positive-class")


def _value(text: str) -> Any:
    """A value as JSON or Python writes it; anything else is text."""
    try:
        return json.loads({"None": "null", "True": "true", "False": "false"}.get(text, text))
    except ValueError:
        return text


def _items(text: str, names: Sequence[str]) -> list[str]:
    """The items of a list with commas. A name may contain a comma."""
    return [text] if text.rpartition(":")[0] in names else text.split(",")


def special_values(given: Sequence[str], profile: DataProfile) -> dict[str, dict[float, str]]:
    """The special values of columns, from VALUE=WORD and NAME:VALUE=WORD."""
    out: dict[str, dict[float, str]] = {}
    for text in given:
        left, equals, word = text.partition("=")
        name, colon, number = left.rpartition(":")
        try:
            value = float(number)
        except ValueError:
            value = np.nan
        if not equals or not word.strip() or not np.isfinite(value):
            raise CallError(f"--special {text!r} must be VALUE=WORD or NAME:VALUE=WORD.")
        if colon and name not in [column.name for column in profile.columns]:
            named_columns([name], profile.names, profile.source)
            raise CallError(f"--special: the model does not use the column {name!r}.")
        out.setdefault(name if colon else "*", {})[value] = word.strip()
    return out


def monotone_columns(given: Sequence[str], profile: DataProfile) -> dict[str, int]:
    """The signs of columns, from NAME:+1 and NAME:-1."""
    names = [column.name for column in profile.columns]
    out: dict[str, int] = {}
    for item in (part.strip() for text in given for part in _items(text, names)):
        name, colon, sign = item.rpartition(":")
        if not colon or sign not in ("+1", "-1", "1", "0"):
            raise CallError(f"--monotone {item!r} must be NAME:+1 or NAME:-1.")
        if name not in names:
            named_columns([name], profile.names, profile.source)
            raise CallError(f"--monotone: the model does not use the column {name!r}.")
        if next(column for column in profile.columns if column.name == name).is_category:
            raise CallError(f"--monotone: the categories of the column {name!r} have no order.")
        out[name] = int(sign)
    if not out:
        raise no_column("", names, profile.source)
    return out


# --- rows ----------------------------------------------------------------------------------------


def _part(request: FitRequest, loaded: TrainingData, rows: NDArray[np.intp] | None) -> LabeledRows:
    target = request.data.target
    if rows is None:
        return LabeledRows(loaded.X, loaded.y, loaded.weight, target)
    weight = None if loaded.weight is None else loaded.weight[rows]
    return LabeledRows(loaded.X.take(rows), loaded.y[rows], weight, target)


def _test_rows(
    loaded: TrainingData, request: FitRequest
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp] | None]:
    """Rows to fit and rows to test. None stands for all rows, and for no test."""
    if loaded.is_test is not None:
        return np.flatnonzero(~loaded.is_test), np.flatnonzero(loaded.is_test)
    if not request.test_size:
        return None, None
    strata = loaded.y if loaded.profile.task is Task.classification else None
    kept, tested = model_selection.train_test_split(
        np.arange(len(loaded.y)),
        test_size=request.test_size,
        random_state=request.seed,
        stratify=strata,
    )
    return np.sort(kept), np.sort(tested)


def fold_rows(
    part: LabeledRows, task: Task, n_folds: int, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to fit and to score of each fold. Few rows make fewer folds, or none."""
    if not n_folds:
        return []
    fewest = len(part.y)
    if task is Task.classification:
        labels, counts = np.unique(part.y, return_counts=True)
        fewest = int(counts.min())
    n = min(n_folds, fewest)
    if n < n_folds:
        where = "there are only" if task is Task.regression else "the rarest class has only"
        what = f"{n} folds" if n > 1 else "no cross-validation"
        note(f"{where} {fewest} {'row' if fewest == 1 else 'rows'}: {what}.")
    if n < 2:
        return []
    kind = model_selection.StratifiedKFold if task is Task.classification else model_selection.KFold
    return list(kind(n, shuffle=True, random_state=seed).split(np.zeros(len(part.y)), part.y))


# --- fits ----------------------------------------------------------------------------------------


def _fit_all(
    request: FitRequest, task: Task, part: LabeledRows, estimator: Any
) -> tuple[list[list[Score]], list[list[Score]]]:
    """Fit the tree. Then score trees and linear models on each fold."""
    folds = fold_rows(part, task, _FOLDS if request.folds is None else request.folds, request.seed)
    scores: list[list[Score]] = []
    linear: list[list[Score]] = []
    with progress(1 + 2 * len(folds)) as begin:
        begin("fitting the tree")
        estimator.fit(part.X, part.y, part.weight, **request.data.known)
        for k, (train, held) in enumerate(folds, 1):
            begin(f"fold {k} of {len(folds)}")
            scores.append(_fold_scores(request, estimator, part, train, held, {}))
            begin(f"fold {k}, linear model")
            linear.append(_fold_scores(request, estimator, part, train, held, {"max_depth": 0}))
    return scores, linear


def _test_part(
    request: FitRequest, loaded: TrainingData, estimator: Any, test_rows: Any
) -> LabeledRows | None:
    """The rows set aside for a test, or those of a file."""
    if test_rows is not None:
        return _part(request, loaded, test_rows)
    if request.test is None:
        return None
    data = request.data
    return labeled_rows(estimator, request.test, data.target, data.weight, data.options)


def _fold_scores(
    request: FitRequest,
    estimator: Any,
    part: LabeledRows,
    train: Any,
    held: Any,
    changes: dict[str, Any],
) -> list[Score]:
    params = {**estimator.get_params(deep=False), **changes}
    copy = type(estimator)(**params)
    weight = part.weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit of all rows has warned already
        own = None if weight is None else weight[train]
        copy.fit(part.X.take(train), part.y[train], own, **request.data.known)
    return all_scores(
        copy, part.X.take(held), part.y[held], None if weight is None else weight[held]
    )


def write_report(path: Path, estimator: Any, part: LabeledRows, *, seen: bool) -> None:
    """Write the report on some rows. ``seen`` says that the model was fitted to them."""
    report = estimator.report(part.X, part.y, part.weight, target=part.target, seen=seen)
    report.write(path)
