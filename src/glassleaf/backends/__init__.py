"""Where rows live and how sums over them are added; no mathematics here.

Rows lie in *shards*: first parts of the table as it came in, then, after ``become``, what the tree
grows on. A backend knows nothing about either. It offers four verbs:

* ``sum(function, tasks)`` calls ``function(shard, *task)`` on every shard and adds the results of
  each task; with ``then``, the total is handed to ``then(task, total)`` as soon as it is there, and
  only what that returns is kept. Whatever is summed has a ``+``. ``work`` says roughly how many
  multiplications all tasks take together: little of it is not worth spreading.
* ``each(function, tasks)`` calls functions that change only the shards' own state: their order,
  their units, the vectors of the next search.
* ``become(function, *given)`` replaces every shard by ``function(shard, *given)``.
* ``apart(function, items)`` runs independent pieces of the driver's own work, each of which calls
  ``sum``; a backend whose passes over the rows are dear hands them all to one call instead.

``n_shards`` is their number; ``largest_summary`` is how many numbers a summary of one column may
hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np


class Backend(Protocol):
    """Adds functions of shards over all shards; see the module's docstring."""

    @property
    def n_shards(self) -> int: ...

    @property
    def largest_summary(self) -> float: ...

    def sum(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        then: Callable[[Any, Any], Any] | None = None,
        work: float = np.inf,
    ) -> list[Any]: ...

    def become(self, function: Callable[..., Any], *given: Any) -> None: ...

    def apart(self, function: Callable[[Sequence[Any]], None], items: Sequence[Any]) -> None: ...

    def each(self, function: Callable[..., None], tasks: Sequence[tuple[Any, ...]]) -> None: ...


# Bytes that the summaries of all columns of a part may take together.
_SUMMARY_BYTES = 1 << 26


def summary_limit(n_columns: int) -> int:
    """Distinct values that a summary of one column may hold where summaries are sent about.

    >>> summary_limit(30), summary_limit(200)
    (139810, 20971)
    """
    return min(max(_SUMMARY_BYTES // (16 * max(n_columns, 1)), 1 << 14), 1 << 18)
