"""Shards on the workers of a Dask cluster: sums come back, rows never do.

Every shard is a future. Changing it makes a new future from the old one, so that the scheduler
knows how each came to be: if a worker dies, its shards are read again from their source and every
change is made again, in order. Shards are changed in place; a counter in each makes sure that no
change is ever made twice.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from glassleaf.errors import BackendError, require
from glassleaf.rows.backends import added, summary_limit

Result = TypeVar("Result")
NAME = "dask"
OTHER_NAMES: tuple[str, ...] = (
    "the address of a Dask scheduler ('tcp://...')",
    "a distributed.Client",
)
COLLECTION = "Dask collection"
_log = logging.getLogger("glassleaf")

# Tasks that one call on a worker does, calls on their way at a time, and how many results are added
# by one call.
_TASKS_AT_ONCE = 16
_CALLS_AT_ONCE = 4
_ADDED_AT_ONCE = 8
# Seconds between looks at the cluster while waiting, and how long it may be gone.
_LOOK_EVERY = 2.0
_PATIENCE = 30.0
# How the addresses of schedulers begin.
_PROTOCOLS = ("tcp://", "tls://", "ws://", "wss://", "ucx://", "ucxx://", "inproc://")


def is_meant(backend: Any) -> bool:
    """Whether a value of ``backend`` is ours: the name, an address, or a client."""
    if isinstance(backend, str):
        return backend == NAME or backend.startswith(_PROTOCOLS)
    return hasattr(backend, "submit") and hasattr(backend, "scheduler_info")


def is_collection(X: Any) -> bool:
    """Whether X is a Dask DataFrame, Series or Array; Dask need not be installed to know."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def outline(X: Any) -> Any:
    """An empty table with the columns and types of a collection."""
    return X._meta if hasattr(X, "_meta_nonempty") else np.empty((0, *X.shape[1:]), X.dtype)


def pieces(X: Any) -> list[Any]:
    """The partitions of a collection, in order, as delayed objects."""
    if hasattr(X, "rechunk"):
        if X.ndim == 2 and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def lazily(method: Callable[[Any], Result], X: Any, width: int | None, dtype: Any) -> Result:
    """A method of a fitted estimator on every partition, when it is asked for: a Dask Array."""
    dask: Any = require("dask", extra="dask", purpose="Predicting on a Dask collection")
    array: Any = require("dask.array", extra="dask", purpose="Predicting on a Dask collection")
    known = X.chunks[0] if hasattr(X, "rechunk") else [np.nan] * X.npartitions
    call = dask.delayed(method, pure=True)
    parts = [
        array.from_delayed(call(piece), (size, *([] if width is None else [width])), dtype)
        for size, piece in zip(known, pieces(X), strict=True)
    ]
    whole: Result = array.concatenate(parts, allow_unknown_chunksizes=True)
    return whole


def connect(backend: Any, n_workers: int, n_columns: int) -> DaskBackend:
    """Shards on the cluster that ``backend`` stands for."""
    where = None if isinstance(backend, str) and backend == NAME else backend
    return DaskBackend(where, n_workers, n_columns)


@dataclass
class _Shard:
    """What a worker holds, and how often it has been changed."""

    content: Any
    changes: int = 0


class DaskBackend:
    """Shards on a cluster. Use as a context manager.

    ``where`` is a ``distributed.Client``, the address of a scheduler, or None for a cluster of
    ``n_workers`` processes on this machine that lives as long as the context.
    """

    def __init__(self, where: Any, n_workers: int, n_columns: int) -> None:
        distributed: Any = require("distributed", extra="dask", purpose="backend='dask'")
        self._distributed = distributed
        self._cluster = None
        self._is_own_client = isinstance(where, str) or where is None
        self._shards: list[Any] = []
        self._n_changes = 0
        self.largest_summary: float = summary_limit(n_columns)
        if where is None:
            self._cluster = where = distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            )
        try:
            self._client = self._connect(where)
        except BaseException:
            if self._cluster is not None:
                self._cluster.close()
            raise
        _log.info("Dask: %s", self._client.dashboard_link)

    def _connect(self, where: Any) -> Any:
        if not self._is_own_client:
            return where
        try:
            return self._distributed.Client(where, set_as_default=False, timeout=_PATIENCE)
        except (OSError, TimeoutError) as error:
            raise BackendError(f"No Dask scheduler answers at {where!r}: {error}") from error

    @property
    def n_shards(self) -> int:
        return max(len(self._shards), 1)

    def read(self, function: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> None:
        """Make one shard of every tuple of arguments, which may be delayed objects."""
        dask: Any = require("dask", extra="dask", purpose="backend='dask'")
        call = dask.delayed(_read, pure=False)
        token = uuid.uuid4().hex
        tasks = [
            call(function, *arguments, dask_key_name=(f"glassleaf-read-{token}", k))
            for k, arguments in enumerate(given)
        ]
        self._shards = self._client.compute(tasks)
        self._n_changes = 0

    def __enter__(self) -> DaskBackend:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._shards = []
        if self._is_own_client:
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def become(self, function: Callable[..., Any], *given: Any) -> None:
        self._change(function.__name__, _become, function, given)

    def each(self, function: Callable[..., None], tasks: Sequence[Any]) -> None:
        self._change(function.__name__, _each, function, list(tasks))

    def sum(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Any],
        then: Callable[[Any, Any], Any] | None = None,
    ) -> list[Any]:
        found: list[Any] = []
        waiting: list[tuple[Sequence[Any], Any]] = []
        rest = _chunks(tasks, _TASKS_AT_ONCE)
        while True:
            while len(waiting) < _CALLS_AT_ONCE and (chunk := next(rest, None)):
                waiting.append((chunk, self._total(function, chunk)))
            if not waiting:
                return found
            chunk, future = waiting.pop(0)
            for task, total in zip(chunk, self._result(future), strict=True):
                found.append(total if then is None else then(task, total))

    # --- talking to the cluster ------------------------------------------------------------------

    def _change(self, name: str, call: Callable[..., Any], *given: Any) -> None:
        expected = self._n_changes
        self._shards = [
            self._submit(name, k, call, shard, expected, *given)
            for k, shard in enumerate(self._shards)
        ]
        self._n_changes += 1

    def _submit(self, name: str, number: int, call: Callable[..., Any], *given: Any) -> Any:
        if self._client.status in ("closing", "closed"):
            raise self._lost("the client was closed")
        key = (f"glassleaf-{name}-{uuid.uuid4().hex}", number)
        return self._client.submit(call, *given, key=key, pure=False)

    def _total(self, function: Callable[..., Any], tasks: Sequence[Any]) -> Any:
        """The future of the results of some tasks, added over all shards in a tree."""
        name = function.__name__
        parts = [
            self._submit(name, k, _results, shard, self._n_changes, function, tasks)
            for k, shard in enumerate(self._shards)
        ]
        while len(parts) > 1:
            groups = _chunks(parts, _ADDED_AT_ONCE)
            parts = [self._submit(f"add_{name}", k, added, group) for k, group in enumerate(groups)]
        return parts[0]

    def _result(self, future: Any) -> Any:
        """Wait for a result, but not for a cluster that is no more."""
        last_seen = time.monotonic()
        while True:
            try:
                with self._client.as_current():
                    self._distributed.wait([future], timeout=_LOOK_EVERY)
                if future.status == "error":
                    raise self._failure(future)
                return future.result(timeout=_PATIENCE)
            except self._distributed.CancelledError as error:
                raise self._lost(repr(error)) from error
            except TimeoutError:
                if self._is_there():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > _PATIENCE:
                    reason = f"no scheduler or no worker for {_PATIENCE:g} s"
                    raise self._lost(reason) from None

    def _failure(self, future: Any) -> BaseException:
        """What went wrong on a worker: an error of its own, or that it died."""
        error: BaseException = future.exception(timeout=_PATIENCE)
        if not isinstance(error, self._distributed.KilledWorker):
            return error
        return BackendError(
            f"Workers died again and again on the same rows: {error} They may be out of memory: use"
            " more workers, or smaller partitions."
        )

    def _lost(self, reason: str) -> BackendError:
        return BackendError(
            f"The Dask cluster lost this fit ({reason}). Its scheduler or its workers may be gone,"
            " or rows that cannot be read again (scattered or persisted data)."
        )

    def _is_there(self) -> bool:
        if self._client.status != "running":
            return False
        try:
            return bool(self._client.nthreads())
        except (OSError, TimeoutError):
            return False


# --- on the workers ------------------------------------------------------------------------------


def _read(function: Callable[..., Any], *given: Any) -> _Shard:
    return _Shard(function(*given))


def _checked(shard: _Shard, expected: int) -> _Shard:
    if shard.changes != expected:
        raise BackendError(
            f"A shard was changed {shard.changes} times where {expected} were expected: a worker"
            " was lost in a way that its rows cannot be restored from. Fit again."
        )
    return shard


def _become(
    shard: _Shard, expected: int, function: Callable[..., Any], given: Sequence[Any]
) -> _Shard:
    return _Shard(function(_checked(shard, expected).content, *given), expected + 1)


def _each(
    shard: _Shard, expected: int, function: Callable[..., Any], tasks: Sequence[Any]
) -> _Shard:
    _checked(shard, expected).changes = -1  # broken off half-way, it is no shard any more
    for task in tasks:
        function(shard.content, task)
    shard.changes = expected + 1
    return shard


def _results(
    shard: _Shard, expected: int, function: Callable[..., Any], tasks: Sequence[Any]
) -> list[Any]:
    content = _checked(shard, expected).content
    return [function(content, task) for task in tasks]


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[first : first + size] for first in range(0, len(items), size))
