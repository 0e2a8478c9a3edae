"""All rows in this process, tasks on threads (the kernels release the GIL)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from glassleaf._kernels import scratch

# Nanoseconds below which threads cost more, in waking and waiting, than they bring.
_WORTH_A_THREAD = 1e6


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
        work: float = np.inf,
    ) -> list[Any]:
        def run(task: Any) -> Any:
            total = function(self.shard, task)
            return total if then is None else then(task, total)

        if self._pool is None or len(tasks) < 2 or work < _WORTH_A_THREAD:
            return [run(task) for task in tasks]
        return self._shared(run, tasks)

    def _shared(self, run: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        """The results of tasks that all threads take one by one."""
        assert self._pool is not None
        results: list[Any] = [None] * len(tasks)
        waiting = deque(enumerate(tasks))

        def work() -> None:
            try:
                while waiting:
                    try:
                        place, task = waiting.popleft()
                    except IndexError:  # another thread took the last one
                        return
                    results[place] = run(task)
            finally:
                waiting.clear()  # after an error nobody needs the rest

        helpers = [self._pool.submit(work) for _ in range(min(self._n_helpers, len(tasks) - 1))]
        try:
            work()
        finally:  # rows may not change any more, whatever happened here
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        return results

    def each(self, function: Callable[..., None], tasks: Sequence[Any]) -> None:
        self.sum(function, tasks)


_controller: list[ThreadpoolController] = []


def _threadpools() -> ThreadpoolController:
    """Looking for the loaded libraries takes milliseconds: once per process is enough."""
    if not _controller:
        _controller.append(ThreadpoolController())
    return _controller[0]
