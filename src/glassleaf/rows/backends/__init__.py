"""Where rows live and how sums over them are added; no mathematics here.

Rows lie in *shards*: first parts of the table as it came in, then, after ``become``, what the tree
grows on. A backend knows nothing about either. It offers three verbs:

* ``sum(function, tasks)`` calls ``function(shard, task)`` on every shard and adds the results of
  each task; with ``then``, the total is handed to ``then(task, total)`` as soon as it is there, and
  only what that returns is kept. Whatever is summed has a ``+``. A function that has a
  ``slicing`` (see ``rows.slices``) can be cut into slices that threads share.
* ``each(function, tasks)`` calls functions that change only the shards' own state: their order,
  their units, the vectors of the next search.
* ``become(function, *given)`` replaces every shard by ``function(shard, *given)``.

``n_shards`` is their number; ``largest_summary`` is how many numbers a summary of one column may
hold. ``local`` and ``stream`` are in this process; the others are engines of their own, of which
``engines`` has the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self


class Backend(Protocol):
    """Adds functions of shards over all shards; see the module's docstring."""

    @property
    def n_shards(self) -> int: ...

    @property
    def largest_summary(self) -> float: ...

    def sum(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Any],
        then: Callable[[Any, Any], Any] | None = None,
    ) -> list[Any]: ...

    def become(self, function: Callable[..., Any], *given: Any) -> None: ...

    def each(self, function: Callable[..., None], tasks: Sequence[Any]) -> None: ...


class ShardedBackend(Backend, Protocol):
    """A backend that reads its shards itself, and lets go of them at the end of a context."""

    def read(self, function: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> None:
        """Make one shard, ``function(*arguments)``, of every tuple of arguments."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None: ...


def total(backend: Backend, function: Callable[[Any], Any]) -> Any:
    """A function of whole shards, added over all of them."""
    return backend.sum(_of_shard, [function])[0]


def _of_shard(shard: Any, function: Callable[[Any], Any]) -> Any:
    return function(shard)


def added(parts: Sequence[list[Any]]) -> list[Any]:
    """Results of several shards added pair by pair: errors of summaries grow with the depth.

    >>> added([[1, "a"], [2, "b"], [3, "c"]])
    [6, 'abc']
    """
    while len(parts) > 1:
        pairs = [parts[first : first + 2] for first in range(0, len(parts), 2)]
        parts = [
            [mine + its for mine, its in zip(*pair, strict=True)] if len(pair) == 2 else pair[0]
            for pair in pairs
        ]
    return parts[0]


# Bytes that the summaries of all columns of a part may take together.
_SUMMARY_BYTES = 1 << 26


def summary_limit(n_columns: int) -> int:
    """Distinct values that a summary of one column may hold where summaries are sent about.

    >>> summary_limit(30), summary_limit(200)
    (139810, 20971)
    """
    return min(max(_SUMMARY_BYTES // (16 * max(n_columns, 1)), 1 << 14), 1 << 18)
