"""The steps of ``fit`` for rows that outgrow memory: profile, fit, test, write, show."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.commands.evaluate import score_chunks
from glassleaf.cli.commands.fit_steps import FitRequest, new_estimator, write_report
from glassleaf.cli.failures import CallError, DataError, no_file
from glassleaf.cli.output.fit_screen import FitOutcome, Screen
from glassleaf.cli.output.progress import passes_shown
from glassleaf.cli.output.scores import Score
from glassleaf.cli.reading.cells import pa
from glassleaf.cli.reading.infer import target_values
from glassleaf.cli.reading.leaks import leaks
from glassleaf.cli.reading.model_rows import LabeledRows, labeled_rows
from glassleaf.cli.reading.profile_files import (
    StreamedData,
    open_rows,
    pieces_of,
    profile_rows,
    usable_rows,
)
from glassleaf.cli.reading.training_data import DataRequest
from glassleaf.cli.screen import note
from glassleaf.rows.pieces import is_usable
from glassleaf.tables.parquet import ParquetRows, RandomShare

# Bytes that a fit in memory takes per number of the table, measured and rounded up.
_BYTES_PER_NUMBER = 64
# Memory holds targets and predictions of this many test rows at most.
_MOST_TESTED = 5_000_000
_SAMPLED = 20_000


def is_streamed(path: str, asked: bool | None) -> bool:
    """Whether rows are streamed: as asked, or if they are in a folder or a large Parquet file."""
    is_folder = os.path.isdir(path)
    if asked is False and is_folder:
        raise CallError(f"--no-stream: {path!r} is a folder, and folders can only be streamed.")
    if asked is not None or is_folder or not _is_parquet(path):
        if asked and not is_folder and Path(path).is_file() and not _is_parquet(path):
            raise CallError(f"--stream: {path!r} is no Parquet file and no folder.")
        return bool(asked) or is_folder
    rows = ParquetRows(Path(path))
    needed = rows.n_rows * len(rows.names) * _BYTES_PER_NUMBER
    return needed > _memory() / 2


def _is_parquet(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def _memory() -> float:
    """Bytes of this machine's memory."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return np.inf  # unknown here: nothing counts as too large


def run(request: FitRequest) -> None:
    """Fit rows that every pass reads from disk."""
    with _ended_in_order():
        _run(request)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let a command that is told to end remove its files first."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    usual = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _run(request: FitRequest) -> None:
    if request.folds:
        raise CallError(
            f"--folds {request.folds}: streamed rows are not cross-validated. Every fold would read"
            " all rows again. Set rows aside: --test-size 0.1"
        )
    if request.data.test_after is not None:
        raise CallError(
            "--test-after: streamed rows are set aside by chance only, --test-size 0.1. Or fit rows"
            " in memory: --no-stream; or put the later rows in a file of their own: --test FILE"
        )
    with passes_shown() as say:
        rows = open_rows(request.data.path)
        streamed = profile_rows(
            rows, request.data, lambda done, total: say("looking at the rows", done / total)
        )
    estimator = new_estimator(streamed.profile, request.tree)
    if streamed.numbers:
        names = [column.name for column in streamed.profile.columns if column.is_category]
        estimator.set_params(categorical_features=names)
    screen = Screen(request.as_json)
    screen.profile(streamed.profile, request.data)
    X = streamed.sample.select([column.name for column in streamed.profile.columns])
    y = np.asarray(target_values(streamed.sample[request.data.target]))
    screen.leaks(leaks(X, y, streamed.profile.task), request.data.target)
    test_rows = _test_rows(request, streamed)
    start = time.perf_counter()
    with passes_shown() as say:
        say("reading", np.nan)
        held = (
            RandomShare(request.test_size, request.seed, taken=False) if request.test_size else None
        )
        fitted_rows = replace(streamed.rows, held=held)
        data = request.data
        estimator.fit(fitted_rows, data.target, data.weight, **data.known)
        seconds = time.perf_counter() - start
        estimator.save(request.output)  # the fit took long: the model is safe now
        tested = _tested(request, test_rows, estimator, say)
    sample = tested.sample if tested else _labeled(streamed.sample, request.data, estimator)
    report = request.report
    if report is not None:
        write_report(report, estimator, sample, seen=tested is None)
    scores, n_test = (tested.scores, tested.n_rows) if tested else ([], 0)
    screen.gathered |= {"streamed": True, "report_rows": len(sample.y) if report else 0}
    screen.fitted(FitOutcome(estimator, [], [], scores, n_test, seconds), None)
    screen.written(request.output, report)
    _say_what_is_missing(request, streamed, screen, report, len(sample.y), tested is not None)
    screen.finish()


def _say_what_is_missing(
    request: FitRequest,
    streamed: StreamedData,
    screen: Any,
    report: Path | None,
    n_sampled: int,
    is_tested: bool,
) -> None:
    screen.remark(
        "No cross-validated scores: every fold would read all rows once more from disk."
        + ("" if is_tested else " For scores on rows the model has not seen: --test-size 0.1")
    )
    if report is not None:
        which = "rows set aside" if is_tested else f"{streamed.profile.n_rows:,} rows of the fit"
        screen.remark(f"The report shows {n_sampled:,} of the {which}.")


# --- tests ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TestOutcome:
    """Scores on rows that the model has not seen, and some of those rows."""

    scores: list[Score]
    n_rows: int
    sample: LabeledRows


def _test_rows(request: FitRequest, streamed: StreamedData) -> ParquetRows | None:
    """The rows of a streamed test. Errors show here, before the fit."""
    if request.test_size:
        return replace(streamed.rows, held=RandomShare(request.test_size, request.seed, taken=True))
    if request.test is None:
        return None
    if not os.path.isdir(request.test) and not _is_parquet(request.test):
        if not Path(request.test).exists():
            raise no_file(Path(request.test))
        return None
    rows = open_rows(request.test)
    needed = {column.name for column in streamed.profile.columns} | {request.data.target}
    needed |= {request.data.weight} if request.data.weight else set()
    lacking = sorted(needed - set(rows.schema.names))
    if lacking:
        raise DataError(f"{request.test} lacks the column(s) {', '.join(lacking)}.")
    others = frozenset(rows.schema.names) - needed
    return replace(streamed.rows, source=rows.source, drop=others)


def _tested(
    request: FitRequest, rows: ParquetRows | None, estimator: Any, say: Any
) -> TestOutcome | None:
    if rows is not None:
        return _tested_on(rows, request.data, estimator, say)
    return None if request.test is None else _tested_on_text(request, request.test, estimator)


def _tested_on_text(request: FitRequest, path: str, estimator: Any) -> TestOutcome:
    data = request.data
    rows = labeled_rows(estimator, path, data.target, data.weight, data.options)
    scores, n_rows = score_chunks(estimator, [rows])
    return TestOutcome(scores, n_rows, rows)


def _tested_on(
    rows: ParquetRows, data: DataRequest, estimator: Any, say: Any
) -> TestOutcome | None:
    """Scores on streamed rows. Targets, weights, predictions and a sample stay in memory."""
    sampled: list[Any] = []
    chunks = _test_chunks(rows, data, estimator, say, sampled)
    scores, n_rows = score_chunks(estimator, chunks)
    if not n_rows:
        note("there are no rows for a test.")
        return None
    return TestOutcome(scores, n_rows, _labeled(pa.concat_tables(sampled), data, estimator))


def _test_chunks(
    rows: ParquetRows, data: DataRequest, estimator: Any, say: Any, sampled: list[Any]
) -> Iterator[LabeledRows]:
    """The rows of a test, evenly thinned if they are very many. ``sampled`` gets a sample."""
    classes = getattr(estimator, "classes_", None)
    expected = rows.n_rows * (rows.held.share if rows.held is not None else 1.0)
    step = max(int(np.ceil(expected / _MOST_TESTED)), 1)
    every = max(int(np.ceil(expected / step / _SAMPLED)), 1)
    n_unknown, done = 0, 0
    for piece in pieces_of(rows):
        say("testing", done / rows.n_rows)
        done += piece.n_rows
        table = piece.read(list(rows.schema.names))
        if rows.held is None:
            table, _ = usable_rows(piece, table, data)
        else:  # the first pass has reported bad rows
            table = table.filter(is_usable(table, data.target, data.weight))
        table = table.take(np.arange(0, table.num_rows, step))
        if classes is not None:
            known = np.isin(_labels(table, data, estimator), classes)
            n_unknown += int((~known).sum())
            table = table.filter(known)
        if table.num_rows:
            sampled.append(table.take(np.arange(0, table.num_rows, every)))
            yield _labeled(table, data, estimator)
    if n_unknown:
        note(f"{n_unknown:,} test rows are not scored: the model does not know their class.")


def _labels(table: Any, data: DataRequest, estimator: Any) -> NDArray[Any]:
    values = np.asarray(target_values(table[data.target]))
    classes = getattr(estimator, "classes_", None)
    return values if classes is None else values.astype(classes.dtype)


def _labeled(table: Any, data: DataRequest, estimator: Any) -> LabeledRows:
    weight = None
    if data.weight is not None:
        weight = np.asarray(table[data.weight].cast("float64").to_numpy())
    X = table.select(list(estimator.feature_names_in_))
    return LabeledRows(X, _labels(table, data, estimator), weight, data.target)
