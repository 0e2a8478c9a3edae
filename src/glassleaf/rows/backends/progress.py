"""What a fit is doing: a record of every pass over the rows, for whoever listens.

Records go to the logger ``glassleaf.progress`` at the level DEBUG; each carries a
:class:`Progress` in its attribute ``progress``. Without a listener nothing is measured.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassleaf.rows.backends import Backend

_log = logging.getLogger("glassleaf.progress")
_PREPARING = -1


@dataclass(frozen=True)
class Progress:
    """One pass over the rows of some nodes, or the reading of one piece (pass 0).

    ``level`` is the depth of the nodes, -1 while columns are prepared. ``n_rows`` are all rows of
    the fit, 0 while they are not counted. ``seconds_left`` supposes that every level takes as long
    as those so far; it is NaN where nothing is known.
    """

    name: str
    level: int
    nodes: tuple[int, ...]
    n_passes: int
    n_rows: int
    seconds: float
    seconds_left: float

    @property
    def rows_per_second(self) -> float:
        return self.n_rows / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        where = "preparing" if self.level == _PREPARING else f"level {self.level}"
        if not self.n_passes:
            return f"reading: {self.name}, {self.seconds:.2f} s"
        nodes = f", {len(self.nodes)} node(s) from {self.nodes[0]}" if self.nodes else ""
        left = "" if np.isnan(self.seconds_left) else f", about {self.seconds_left:.0f} s left"
        speed = f", {self.rows_per_second:.3g} rows/s" if self.n_rows else ""
        return (
            f"{where}{nodes}: pass {self.n_passes}, {self.name}, {self.seconds:.2f} s{speed}{left}"
        )


class Observed:
    """A backend whose passes are reported."""

    def __init__(self, backend: Backend, max_depth: int | None) -> None:
        self._backend = backend
        self._max_depth = max_depth
        self._level = _PREPARING
        self._n_passes = 0
        self._growing_since = np.nan
        self._n_rows = 0

    @property
    def n_shards(self) -> int:
        return self._backend.n_shards

    @property
    def largest_summary(self) -> float:
        return self._backend.largest_summary

    def start_level(self, depth: int, n_rows: int) -> None:
        """From now on passes are those of nodes of this depth."""
        if self._level == _PREPARING:
            self._growing_since = time.perf_counter()
        self._level, self._n_rows = depth, n_rows

    def become(self, function: Callable[..., Any], *given: Any) -> None:
        start = time.perf_counter()
        self._backend.become(function, *given)
        self._report(function, (), start)

    def each(self, function: Callable[..., None], tasks: Sequence[Any]) -> None:
        start = time.perf_counter()
        self._backend.each(function, tasks)
        self._report(function, tasks, start)

    def sum(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Any],
        then: Callable[[Any, Any], Any] | None = None,
    ) -> list[Any]:
        start = time.perf_counter()
        found = self._backend.sum(function, tasks, then)
        self._report(function, tasks, start)
        return found

    def _report(self, function: Callable[..., Any], tasks: Sequence[Any], start: float) -> None:
        self._n_passes += 1
        is_growing = self._level != _PREPARING
        nodes = {task.node for task in tasks if is_growing and hasattr(task, "node")}
        now = time.perf_counter()
        left = np.nan
        if self._max_depth is not None and self._level > 0:
            per_level = (now - self._growing_since) / (self._level + 0.5)
            left = per_level * max(self._max_depth - self._level + 0.5, 0.0)
        found = Progress(
            function.__name__,
            self._level,
            tuple(sorted(nodes)),
            self._n_passes,
            self._n_rows,
            now - start,
            left,
        )
        _log.debug("%s", found, extra={"progress": found})


def reported(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls, before the first pass, are reported."""

    def call(*given: Any) -> Any:
        start = time.perf_counter()
        found = function(*given)
        took = time.perf_counter() - start
        record = Progress(function.__name__, _PREPARING, (), 0, 0, took, np.nan)
        _log.debug("%s", record, extra={"progress": record})
        return found

    return call


def observed(backend: Backend, max_depth: int | None) -> Backend:
    """The backend of a fit, whose passes are reported if anyone listens."""
    return Observed(backend, max_depth) if _log.isEnabledFor(logging.DEBUG) else backend


def start_level(backend: Backend, depth: int, n_rows: int) -> None:
    """Tell whoever listens that the passes to come are those of nodes of this depth."""
    if isinstance(backend, Observed):
        backend.start_level(depth, n_rows)
