"""Which cells there are, in which order and in how many processes they run."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, paper_settings
from glassleaf.errors import require
from glassleaf.estimators.paper import PAPER_METHODS
from reproduction.cells import Cell, Result, cell_key, cell_path, load_result, run_cell, save_result
from reproduction.methods import METHODS
from reproduction.sources import pandas

# Their tables take gigabytes while a model is fitted: one at a time, with all threads.
LARGE = ("Census", "Olympics")


@dataclass(frozen=True)
class Run:
    """What was asked for."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    output: Path
    folder: str | None = None
    folds: int = 4
    rows: dict[str, int] | None = None
    jobs: int = 1
    fresh: bool = False


def planned_cells(run: Run) -> list[Cell]:
    """Neighbours share a dataset, then a fold, then what is made of the table."""
    cells = [
        Cell(dataset, method, fold, (run.rows or {}).get(dataset))
        for dataset in run.datasets
        for fold in range(run.folds)
        for method in run.methods
        if METHODS[method].runs_on(dataset)
    ]
    order = {name: place for place, name in enumerate(run.datasets)}
    return sorted(
        cells,
        key=lambda cell: (
            order[cell.dataset], cell.fold, METHODS[cell.method].prepared(cell.dataset)
        ),
    )  # fmt: skip


def run_cells(run: Run, progress: Callable[[Cell, Result], None]) -> list[Result]:
    """All results: those kept from before, then the others as they come."""
    waiting: list[tuple[Cell, Path]] = []
    results: list[Result] = []
    for cell in planned_cells(run):
        try:
            path = cell_path(run.output, cell, cell_key(cell, run.folder))
        except Exception as error:  # a package is missing
            result = Result(cell.dataset, cell.method, cell.fold, error=str(error))
        else:
            kept = None if run.fresh else load_result(path)
            if kept is None:
                waiting.append((cell, path))
                continue
            result = kept
        results.append(result)
        progress(cell, result)
    for cell, path, result in _computed(run, waiting):
        if result.error is None:
            save_result(path, result)
        results.append(result)
        progress(cell, result)
    return results


def _computed(run: Run, waiting: list[tuple[Cell, Path]]) -> Iterator[tuple[Cell, Path, Result]]:
    cores = os.cpu_count() or 1
    large = [entry for entry in waiting if entry[0].dataset in LARGE]
    small = [entry for entry in waiting if entry[0].dataset not in LARGE]
    for entries, jobs in ((small, run.jobs), (large, 1)):
        if entries:
            yield from _in_processes(entries, run.folder, jobs, max(1, cores // jobs))


def _in_processes(
    entries: list[tuple[Cell, Path]], folder: str | None, jobs: int, threads: int
) -> Iterator[tuple[Cell, Path, Result]]:
    # "spawn": a fork would copy the state of threads that other packages have started.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _start_worker, (threads,)) as pool:
        futures: dict[Future[Result], tuple[Cell, Path]] = {
            pool.submit(run_cell, cell, folder, threads): (cell, path) for cell, path in entries
        }
        try:
            for future in as_completed(futures):
                cell, path = futures[future]
                yield cell, path, _outcome(future, cell)
        except BaseException:  # interrupted: what is kept is kept, the rest need not start
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_worker(threads: int) -> None:
    threadpool_limits(threads)
    _load_kernels()


def _load_kernels() -> None:
    """One small fit of each kind, so that no cell's seconds include loading or compiling."""
    numbers = np.random.default_rng(0).normal(size=(200, 3))
    table = pandas().DataFrame(numbers, columns=["a", "b", "c"])
    table["d"] = pandas().Series(["x", "y"] * 100, dtype="category")
    table.loc[:20, "a"] = np.nan
    for X in (numbers, sparse.csr_matrix(np.maximum(numbers, 0.0)), table):
        ModelTreeRegressor(max_leaf_nodes=3).fit(X, numbers[:, 1]).predict(X)
        ModelTreeClassifier(max_leaf_nodes=3).fit(X, numbers[:, 1] > 0).predict(X)
        for method in PAPER_METHODS:
            ModelTreeRegressor(**paper_settings(method), max_depth=1).fit(X, numbers[:, 1])
            ModelTreeClassifier(**paper_settings(method), max_depth=1).fit(X, numbers[:, 1] > 0)


def _outcome(future: Future[Result], cell: Cell) -> Result:
    try:
        return future.result()
    except Exception as error:  # the process died: most often, the memory was too small
        message = f"the worker process ended ({type(error).__name__}); run again to go on"
        return Result(cell.dataset, cell.method, cell.fold, error=message)


@contextmanager
def progress_bar(total: int, console: Any) -> Iterator[Callable[[Cell, Result], None]]:
    """A bar with the time left. Each error is printed when it happens."""
    rich = require("rich.progress", extra="reproduce", purpose="The progress bar")
    columns: Iterable[Any] = (
        rich.TextColumn("{task.description:<32}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(elapsed_when_finished=False),
    )
    with rich.Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=total)

        def advance(cell: Cell, result: Result) -> None:
            bar.update(task, advance=1, description=f"{cell.dataset}: {cell.method}"[:32])
            if result.error is not None:
                bar.console.print(
                    f"{cell.dataset}, {cell.method}, fold {cell.fold}: {result.error}",
                    style="red",
                    markup=False,
                )

        yield advance
