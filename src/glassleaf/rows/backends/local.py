"""All rows in this process, tasks on threads (the kernels release the GIL)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from glassleaf._kernels import scratch
from glassleaf.rows.slices import GRAIN, add_up

# Work below which threads cost more, in waking and waiting, than they bring.
_WORTH_THREADS = 2 * GRAIN


class LocalBackend:
    """One shard, ``n_threads`` threads. Use as a context manager."""

    n_shards = 1
    largest_summary = np.inf  # nothing is sent anywhere

    def __init__(self, shard: Any, n_threads: int) -> None:
        self.shard = shard
        self._n_helpers = n_threads - 1  # this thread works too: it need not be woken
        self._pool = ThreadPoolExecutor(self._n_helpers) if self._n_helpers else None

    def __enter__(self) -> LocalBackend:
        # Our threads and those of the linear algebra library would fight for the same cores, and
        # results must not depend on how many there are.
        self._blas = _threadpools().limit(limits=1, user_api="blas").__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._blas.__exit__(kind, error, at)
        scratch.clear()

    def become(self, function: Callable[..., Any], *given: Any) -> None:
        self.shard = function(self.shard, *given)

    def sum(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Any],
        then: Callable[[Any, Any], Any] | None = None,
    ) -> list[Any]:
        slices = self._slices(function, tasks)
        if slices is not None:
            return self._shared(function, tasks, slices, then)
        found = (function(self.shard, task) for task in tasks)
        if then is None:
            return list(found)
        return [then(task, total) for task, total in zip(tasks, found, strict=True)]

    def each(self, function: Callable[..., None], tasks: Sequence[Any]) -> None:
        self.sum(function, tasks)

    def _slices(self, function: Callable[..., Any], tasks: Sequence[Any]) -> list[list[Any]] | None:
        """The slices of every task, None if they are too little work to be worth threads."""
        if self._pool is None:
            return None
        slicing = getattr(function, "slicing", None)
        if slicing is None:
            return [[task] for task in tasks] if len(tasks) > 1 else None
        if sum(slicing.work(self.shard, task) for task in tasks) < _WORTH_THREADS:
            return None
        return [slicing.cut(self.shard, task) for task in tasks]

    def _shared(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Any],
        slices: Sequence[Sequence[Any]],
        then: Callable[[Any, Any], Any] | None,
    ) -> list[Any]:
        """The results of tasks whose slices all threads take one by one.

        Whoever brings the last slice of a task adds them up.
        """
        assert self._pool is not None
        found: list[list[Any]] = [[None] * len(own) for own in slices]
        n_left = [len(own) for own in slices]
        waiting = deque((k, place) for k, own in enumerate(slices) for place in range(len(own)))
        n_slices, lock = len(waiting), Lock()

        def work() -> None:
            try:
                while waiting:
                    try:
                        k, place = waiting.popleft()
                    except IndexError:  # another thread took the last one
                        return
                    found[k][place] = function(self.shard, slices[k][place])
                    with lock:
                        n_left[k] -= 1
                        is_last = not n_left[k]
                    if is_last:
                        total = add_up(found[k])
                        found[k] = [total if then is None else then(tasks[k], total)]
            finally:
                waiting.clear()  # after an error nobody needs the rest

        helpers = [self._pool.submit(work) for _ in range(min(self._n_helpers, n_slices - 1))]
        try:
            work()
        finally:  # rows may not change any more, whatever happened here
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        return [result for (result,) in found]


_controller: list[ThreadpoolController] = []


def _threadpools() -> ThreadpoolController:
    """Looking for the loaded libraries takes milliseconds: once per process is enough."""
    if not _controller:
        _controller.append(ThreadpoolController())
    return _controller[0]
