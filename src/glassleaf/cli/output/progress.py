"""How far a fit has come: a bar in a terminal. Elsewhere a streamed fit prints lines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from glassleaf.cli.screen import console
from glassleaf.errors import require
from glassleaf.rows.backends.progress import Progress


@contextmanager
def progress(total: int, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Show a bar if standard error is a terminal. Call the result when a step begins."""
    on = console(stderr=True)
    if not (shown and on.is_terminal):
        yield lambda text: None
        return
    rich = require("rich.progress", extra="cli", purpose="The progress bar")
    columns = (
        rich.SpinnerColumn(finished_text=" "),
        rich.TextColumn("{task.description:<28}"),
        rich.BarColumn(bar_width=30),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=on, transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = 0

        def begin(text: str) -> None:
            nonlocal begun
            bar.update(task, completed=begun, description=text[:28])
            begun += 1

        yield begin


class _Passes(logging.Handler):
    """Hands the progress of a fit to the function that shows it."""

    def __init__(self, show: Callable[[Progress], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        found = getattr(record, "progress", None)
        if found is not None:
            self._show(found)


@contextmanager
def passes_shown() -> Iterator[Callable[[str, float], None]]:
    """Show the passes of a fit. Call the result with any other step, and its share of the work.

    The bar's length is the share of the time, as far as it is known.
    """
    on = console(stderr=True)
    with _bar(on) if on.is_terminal else _lines(on) as (say, show):
        handler = _Passes(show)
        log = logging.getLogger("glassleaf.progress")
        usual = log.level, log.propagate
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        log.propagate = False
        try:
            yield say
        finally:
            log.removeHandler(handler)
            log.setLevel(usual[0])
            log.propagate = usual[1]


Shown = tuple[Callable[[str, float], None], Callable[[Progress], None]]


@contextmanager
def _bar(on: Any) -> Iterator[Shown]:
    rich = require("rich.progress", extra="cli", purpose="The progress bar")
    columns = (
        rich.SpinnerColumn(finished_text=" "),
        rich.TextColumn("{task.description:<52}"),
        rich.BarColumn(bar_width=24),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[left]}"),
    )
    start = time.perf_counter()
    with rich.Progress(*columns, console=on, transient=True) as bar:
        task = bar.add_task("", total=None, left="")

        def say(words: str, share: float) -> None:
            total = None if np.isnan(share) else 1.0
            bar.update(task, description=words, total=total, completed=share if total else 0)

        def show(found: Progress) -> None:
            spent = time.perf_counter() - start
            share = spent / (spent + found.seconds_left)
            say(described(found), share)
            left = "" if np.isnan(share) else f"about {found.seconds_left:.0f} s left"
            bar.update(task, left=left)

        yield say, show


@contextmanager
def _lines(on: Any) -> Iterator[Shown]:
    last: list[Any] = [None]

    def say(words: str, share: float) -> None:
        if words != last[0]:
            on.print(words, soft_wrap=True)
        last[0] = words

    def show(found: Progress) -> None:
        if not found.n_passes:
            say(described(found), np.nan)
            return
        if found.level == last[0]:
            return
        last[0] = found.level
        left = "" if np.isnan(found.seconds_left) else f", about {found.seconds_left:.0f} s left"
        on.print(f"{described(found)}{left}", soft_wrap=True)

    yield say, show


def described(found: Progress) -> str:
    """A pass in words.

    >>> described(Progress("bin_sums", 1, (1, 2), 14, 3_000_000, 2.0, 8.0))
    'level 1, pass 14, bin_sums, 1.5 M rows/s'
    """
    if not found.n_passes:
        return "reading"
    where = "preparing" if found.level < 0 else f"level {found.level}"
    speed = f", {found.rows_per_second / 1e6:.2g} M rows/s" if found.n_rows else ""
    return f"{where}, pass {found.n_passes}, {found.name}{speed}"
