"""The steps of ``fit`` for rows that need not fit into memory: look, fit, test, write, show."""

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
from glassleaf.cli.commands.fit_steps import Plan, new_estimator, write_report
from glassleaf.cli.failures import CallError, DataError, no_file
from glassleaf.cli.output.fit_screen import Fitted, Screen
from glassleaf.cli.output.progress import passes_shown
from glassleaf.cli.output.scores import Score
from glassleaf.cli.reading.cells import pa
from glassleaf.cli.reading.infer import target_values
from glassleaf.cli.reading.model_rows import Labeled, labeled_rows
from glassleaf.cli.reading.profile_files import (
    Looked,
    look_through,
    open_rows,
    pieces_of,
    usable_rows,
)
from glassleaf.cli.reading.training_data import Wanted
from glassleaf.cli.screen import note
from glassleaf.rows.pieces import is_usable
from glassleaf.tables.parquet import Held, ParquetRows

# Memory that a fit in memory takes for a number in the table, measured and rounded up.
_BYTES_PER_NUMBER = 64
# Of test rows, targets and predictions are held in memory: at most of so many.
_MOST_TESTED = 5_000_000
_SAMPLED = 20_000


def is_streamed(path: str, asked: bool | None) -> bool:
    """Whether rows are streamed: those of a folder, of a large Parquet file, or as asked for."""
    is_folder = os.path.isdir(path)
    if asked is False and is_folder:
        raise CallError(f"{path!r} is a folder, which can only be streamed.")
    if asked is not None or is_folder or not _is_parquet(path):
        if asked and not is_folder and Path(path).is_file() and not _is_parquet(path):
            raise CallError(f"--stream: {path!r} is no Parquet file, nor a folder of such.")
        return bool(asked) or is_folder
    rows = ParquetRows(Path(path))
    needed = rows.n_rows * len(rows.schema.names) * _BYTES_PER_NUMBER
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
        return np.inf  # not to be known here: then nothing is too large


def run(plan: Plan) -> None:
    """Fit rows that are read from disk again and again."""
    with _ended_in_order():
        _run(plan)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """A command that is told to end takes its files away first."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    usual = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _run(plan: Plan) -> None:
    if plan.folds:
        raise CallError(
            f"--folds {plan.folds}: streamed rows are not cross-validated, for that would read them"
            f" {plan.folds} times as often. Set rows aside: --test-size 0.1"
        )
    with passes_shown() as say:
        rows = open_rows(plan.data)
        looked = look_through(
            rows, plan.wanted, lambda done, total: say("looking at the rows", done / total)
        )
    estimator = new_estimator(looked.inferred, plan.tree)
    if looked.numbers:
        names = [column.name for column in looked.inferred.known if column.is_category]
        estimator.set_params(categorical_features=names)
    screen = Screen(plan.as_json)
    screen.inferred(looked.inferred, plan.wanted)
    test_rows = _test_rows(plan, looked)
    start = time.perf_counter()
    with passes_shown() as say:
        say("reading", np.nan)
        held = Held(plan.test_size, plan.seed, taken=False) if plan.test_size else None
        fitted_rows = replace(looked.rows, held=held)
        estimator.fit(fitted_rows, plan.wanted.target, plan.wanted.weight)
        seconds = time.perf_counter() - start
        estimator.save(plan.output)  # it took long: whatever happens now, the model is there
        tested = _tested(plan, test_rows, estimator, say)
    sample = tested.sample if tested else _labeled(looked.sample, plan.wanted, estimator)
    report = plan.report
    if report is not None:
        write_report(report, estimator, sample, seen=tested is None)
    scores, n_test = (tested.scores, tested.n_rows) if tested else ([], 0)
    screen.gathered |= {"streamed": True, "report_rows": len(sample.y) if report else 0}
    screen.fitted(Fitted(estimator, [], [], scores, n_test, seconds), None)
    screen.written(plan.output, report)
    _say_what_is_missing(plan, looked, screen, report, len(sample.y), tested is not None)
    screen.finish()


def _say_what_is_missing(
    plan: Plan, looked: Looked, screen: Any, report: Path | None, n_sampled: int, is_tested: bool
) -> None:
    screen.remark(
        "No cross-validated scores: every fold would read all rows once more from disk."
        + ("" if is_tested else " For scores on rows the model has not seen: --test-size 0.1")
    )
    if report is not None:
        which = "rows set aside" if is_tested else f"{looked.inferred.n_rows:,} rows of the fit"
        screen.remark(f"The report shows {n_sampled:,} of the {which}.")


# --- tests ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tested:
    """Scores on rows that the model has not seen, and some of those rows."""

    scores: list[Score]
    n_rows: int
    sample: Labeled


def _test_rows(plan: Plan, looked: Looked) -> ParquetRows | None:
    """Rows for a test that are to be streamed; errors are better told before the fit."""
    if plan.test_size:
        return replace(looked.rows, held=Held(plan.test_size, plan.seed, taken=True))
    if plan.test is None:
        return None
    if not os.path.isdir(plan.test) and not _is_parquet(plan.test):
        if not Path(plan.test).exists():
            raise no_file(Path(plan.test))
        return None
    rows = open_rows(plan.test)
    needed = {column.name for column in looked.inferred.known} | {plan.wanted.target}
    needed |= {plan.wanted.weight} if plan.wanted.weight else set()
    lacking = sorted(needed - set(rows.schema.names))
    if lacking:
        raise DataError(f"{plan.test} lacks the column(s) {', '.join(lacking)}.")
    others = frozenset(rows.schema.names) - needed
    return replace(looked.rows, source=rows.source, drop=others)


def _tested(plan: Plan, rows: ParquetRows | None, estimator: Any, say: Any) -> Tested | None:
    if rows is not None:
        return _tested_on(rows, plan.wanted, estimator, say)
    return None if plan.test is None else _tested_on_text(plan, plan.test, estimator)


def _tested_on_text(plan: Plan, path: str, estimator: Any) -> Tested:
    wanted = plan.wanted
    rows = labeled_rows(estimator, path, wanted.target, wanted.weight, wanted.options)
    scores, n_rows = score_chunks(estimator, [rows])
    return Tested(scores, n_rows, rows)


def _tested_on(rows: ParquetRows, wanted: Wanted, estimator: Any, say: Any) -> Tested | None:
    """Scores on streamed rows: only targets, weights and predictions are kept, and a sample."""
    sampled: list[Any] = []
    chunks = _test_chunks(rows, wanted, estimator, say, sampled)
    scores, n_rows = score_chunks(estimator, chunks)
    if not n_rows:
        note("there are no rows for a test.")
        return None
    return Tested(scores, n_rows, _labeled(pa.concat_tables(sampled), wanted, estimator))


def _test_chunks(
    rows: ParquetRows, wanted: Wanted, estimator: Any, say: Any, sampled: list[Any]
) -> Iterator[Labeled]:
    """The rows of a test, thinned if there are very many; even fewer go to ``sampled``."""
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
            table, _ = usable_rows(piece, table, wanted)
        else:  # what is wrong with these rows was said before
            table = table.filter(is_usable(table, wanted.target, wanted.weight))
        table = table.take(np.arange(0, table.num_rows, step))
        if classes is not None:
            known = np.isin(_labels(table, wanted, estimator), classes)
            n_unknown += int((~known).sum())
            table = table.filter(known)
        if table.num_rows:
            sampled.append(table.take(np.arange(0, table.num_rows, every)))
            yield _labeled(table, wanted, estimator)
    if n_unknown:
        note(f"{n_unknown:,} test rows have a class that the model does not know; not scored.")


def _labels(table: Any, wanted: Wanted, estimator: Any) -> NDArray[Any]:
    values = np.asarray(target_values(table[wanted.target]))
    classes = getattr(estimator, "classes_", None)
    return values if classes is None else values.astype(classes.dtype)


def _labeled(table: Any, wanted: Wanted, estimator: Any) -> Labeled:
    weight = None
    if wanted.weight is not None:
        weight = np.asarray(table[wanted.weight].cast("float64").to_numpy())
    X = table.select(list(estimator.feature_names_in_))
    return Labeled(X, _labels(table, wanted, estimator), weight, wanted.target)
