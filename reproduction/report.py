"""The report: tables as text for people, results as JSON for programs, and the part of the docs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from glassleaf.tree.file.atomic import write_atomically
from reproduction import tables
from reproduction.cells import Result
from reproduction.datasets import Dataset
from reproduction.tables import Table

BEGIN = "<!-- written by python -m reproduction: begin -->"
END = "<!-- written by python -m reproduction: end -->"

_PACKAGES = (
    "glassleaf", "numpy", "scipy", "scikit-learn", "numba", "pandas", "xgboost", "lightgbm",
    "cubist", "fast-model-trees", "interpret-core",
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """Everything that is printed about a run."""

    command: str
    data: tuple[Dataset, ...]
    results: tuple[Result, ...]
    seconds: float
    figures: tuple[str, ...] = ()

    def tables(self) -> list[Table]:
        summaries = tables.summarize(self.results)
        names = [data.name for data in self.data]
        found = [
            tables.table_1(self.data),
            tables.beside_the_paper(summaries, names),
            tables.agreement(summaries, names),
            tables.scales(summaries, names),
            tables.scores(summaries, names),
            tables.costs(summaries, names),
        ]
        return [table for table in found if table.rows]

    def errors(self) -> list[str]:
        summaries = tables.summarize(self.results)
        return [
            f"{dataset}, {method}: {error}"
            for (dataset, method), summary in summaries.items()
            for error in summary.errors
        ]

    def markdown(self, *, with_figures: bool) -> str:
        """Tables and notes, and the figures, which are in a folder beside the page."""
        parts = [f"    {self.command}", _about(self)]
        parts += [f"**{table.title}**\n\n{table.markdown()}" for table in self.tables()]
        if self.errors():
            parts.append("**Errors**\n\n" + "\n".join(f"* {error}" for error in self.errors()))
        parts.append(
            "Data: " + "; ".join(f"{data.name}: {data.source}" for data in self.data) + "."
        )
        if with_figures:
            parts += [f"![{name}](figures/{name}.png)" for name in self.figures]
        return "\n\n".join(parts) + "\n"

    def json(self) -> str:
        found = {
            "command": self.command,
            "finished": _today(),
            "machine": machine(),
            "versions": versions(),
            "seconds": round(self.seconds, 1),
            "data": {data.name: data.source for data in self.data},
            "cells": [asdict(result) for result in _sorted(self.results)],
        }
        return json.dumps(found, indent=1) + "\n"


def _sorted(results: Iterable[Result]) -> list[Result]:
    return sorted(results, key=lambda result: (result.dataset, result.method, result.fold))


def _about(report: Report) -> str:
    fitted = sum(result.seconds or 0.0 for result in report.results)
    listed = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"Finished {_today()} on {machine()}. {len(report.results)} cells;"
        f" {report.seconds / 60:.1f} minutes, cells kept from earlier runs not counted;"
        f" {fitted / 60:.1f} minutes of fitting in all. {listed}."
    )


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def machine() -> str:
    """Processor, cores, memory, system; no name of a host, no path.

    >>> "cores" in machine()
    True
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB,"
        f" {platform.system()}, Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def write_report(report: Report, output: Path) -> None:
    title = "# The paper's evaluation, run again\n\n"
    output.mkdir(parents=True, exist_ok=True)
    write_atomically(output / "report.md", (title + report.markdown(with_figures=True)).encode())
    write_atomically(output / "results.json", report.json().encode())


def marked_page(page: Path) -> tuple[str, str]:
    """What stands before and after the part that the command writes."""
    text = page.read_text() if page.is_file() else ""
    if BEGIN not in text or END not in text.split(BEGIN, 1)[1]:
        raise ValueError(f"{page} has no line {BEGIN!r} followed by {END!r} to write between.")
    before, rest = text.split(BEGIN, 1)
    return before, rest.split(END, 1)[1]


def write_docs(page: Path, report: Report) -> None:
    """Replace what stands between the two markers; the rest of the page is people's.

    Without the figures: such a page is kept under version control, and they are not.
    """
    before, after = marked_page(page)
    body = report.markdown(with_figures=False)
    write_atomically(page, f"{before}{BEGIN}\n\n{body}\n{END}{after}".encode())


def show(report: Report, console: Any, rich_table: Any) -> None:
    """The same tables on the terminal."""
    for table in report.tables():
        shown = rich_table.Table(title=table.title, title_justify="left")
        for name in table.header:
            shown.add_column(name, justify="left" if name in table.words else "right")
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)
