"""Passes over the rows of a node, cut into slices of about the same work.

The slices depend on the rows and on the pass, never on the number of threads, and their results are
added in order: so a tree is the same on any machine, and many threads find something to do. Work is
counted in units of one dense column of one row, multiplied and added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from typing import Any, TypeVar

Pass = TypeVar("Pass", bound=Callable[..., Any])

# The work of a slice, some tenths of a millisecond: enough to be worth handing to a thread.
GRAIN = 1 << 20
# What a slice costs beside its rows is at most one part in so many of its work.
_WORTH_A_SLICE = 8
# Slices that are enough for any number of threads, and rows that are enough for a slice.
_MOST_SLICES = 32
_MOST_ROWS = 1 << 16


@dataclass(frozen=True)
class Slicing:
    """How a pass is cut: the work of a row, and that of a slice however few rows it has.

    ``n_beside`` is how many tasks a pass has for the same rows, which are something to share too.
    """

    row_work: Callable[[Any, Any], float]
    slice_work: Callable[[Any, Any], float]
    n_beside: Callable[[Any], int]

    def work(self, rows: Any, task: Any) -> float:
        """The work of a task."""
        start, stop = rows.spans[task.node]
        return float((stop - start) * self.row_work(rows, task))

    def cut(self, rows: Any, task: Any) -> list[Any]:
        """Tasks for slices of the rows, a power of two of them."""
        grain = max(GRAIN, _WORTH_A_SLICE * self.slice_work(rows, task))
        n_grains = max(self.work(rows, task) / grain, 1.0)
        start, stop = rows.spans[task.node]
        most = max(_MOST_SLICES // self.n_beside(rows), 1)
        n_slices = min(1 << round(math.log2(n_grains)), most)
        n_slices = max(n_slices, -(-(stop - start) // _MOST_ROWS))
        if n_slices == 1:
            return [task]
        ends = [start + (stop - start) * k // n_slices for k in range(n_slices + 1)]
        return [task._replace(span=span) for span in pairwise(ends)]


def in_slices(
    row_work: Callable[[Any, Any], float],
    slice_work: Callable[[Any, Any], float] = lambda rows, task: 0.0,
    n_beside: Callable[[Any], int] = lambda rows: 1,
) -> Callable[[Pass], Pass]:
    """Let a pass run slice by slice; a backend may ask its ``slicing`` and spread the slices."""
    slicing = Slicing(row_work, slice_work, n_beside)

    def decorate(function: Pass) -> Pass:
        @wraps(function)
        def run(rows: Any, task: Any) -> Any:
            slices = [task] if task.span is not None else slicing.cut(rows, task)
            return add_up(function(rows, own) for own in slices)

        run.slicing = slicing  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def add_up(results: Iterable[Any]) -> Any:
    """The results of all slices, added to the first in order; None where nothing is returned."""
    total: Any = None
    for own in results:
        if total is None:
            total = own
        else:
            total += own
    return total
