"""The whole run: what was asked for, in which order, and the verdict."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from typing import Any

from glassleaf.errors import require
from reproduction import datasets, figures, quick, report
from reproduction.cells import load_dataset
from reproduction.methods import METHODS
from reproduction.schedule import Run, planned_cells, progress_bar, run_cells
from reproduction.tables import summarize

FAILED = 1  # exit code: a cell failed, or a value is off


def run_everything(run: Run, console: Any, with_figures: bool) -> report.Report:
    start = time.perf_counter()
    # A missing file is reported before hours of work, not after.
    data = tuple(
        load_dataset(name, run.folder, (run.rows or {}).get(name)) for name in run.datasets
    )
    with progress_bar(len(planned_cells(run)), console) as advance:
        results = run_cells(run, advance)
    seconds = time.perf_counter() - start
    drawn = figures.draw_all(data, run.output / "figures") if with_figures else ()
    made = report.Report(command_line(sys.argv[1:]), data, tuple(results), seconds, drawn)
    report.write_report(made, run.output)
    rich_table = require("rich.table", extra="reproduce", purpose="The report")
    report.show(made, console, rich_table)
    console.print(f"Written: {run.output / 'report.md'}", highlight=False)
    return made


def verdict(made: report.Report, quick_run: bool, console: Any) -> int:
    """0 if all cells ran and, in the quick run, all values are as expected."""
    problems = [f"error: {error}" for error in made.errors()]
    if quick_run:
        problems += quick.deviations(summarize(made.results))
    for problem in problems:
        console.print(problem, style="red", markup=False, highlight=False)
    return FAILED if problems else 0


def chosen_datasets(given: str, quick_run: bool) -> tuple[str, ...]:
    names = list(quick.DATASETS if quick_run else datasets.PAPER)
    if not given.strip():
        return tuple(names)
    asked = {datasets.find_name(name, names) for name in given.split(",")}
    return tuple(name for name in names if name in asked)


def chosen_methods(given: str, quick_run: bool, peers: bool) -> tuple[str, ...]:
    """Columns by name or by the beginning of the name, in the order of the table.

    >>> chosen_methods("MT-GR, linear", quick_run=True, peers=False)
    ('Linear', 'MT-GR 1', 'MT-GR 3')
    """
    offered = [
        name
        for name, method in METHODS.items()
        if (name in quick.METHODS or not quick_run) and (peers or method.group != "peers")
    ]
    if not given.strip():
        return tuple(offered)
    chosen: set[str] = set()
    for asked in given.split(","):
        word = asked.strip().lower()
        exact = {name for name in offered if name.lower() == word}
        found = exact or {name for name in offered if name.lower().startswith(f"{word} ")}
        if not found:
            raise ValueError(f"--methods: {word!r} is not one of: {', '.join(offered)}.")
        chosen |= found
    return tuple(name for name in offered if name in chosen)


def command_line(arguments: Sequence[str]) -> str:
    """The call as it was typed, without the paths of one machine.

    >>> command_line(["--peers", "--data", "/home/me/data"])
    'python -m reproduction --peers --data DATA'
    """
    words = ["python", "-m", "reproduction"]
    for word in arguments:
        name, _, value = word.rpartition("=")
        if os.path.isabs(value):
            option = name or words[-1]
            value = option.removeprefix("--").upper()
        words.append(f"{name}={value}" if name else value)
    return shlex.join(words)
