"""All rows in this process, tasks on threads (the kernels release the GIL)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property
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
        self._threads_before = _blas.limit()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        _blas.release(self._threads_before)
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


class _Blas:
    """The linear algebra library, which has one thread as long as a fit needs that.

    Its number of threads is one of the process: of fits that overlap in several threads, the first
    remembers it and the last restores it, in whatever order they end. Where it is one of each
    thread, each restores its own.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_fits = 0
        self._of_process: list[int] = []

    @cached_property
    def _libraries(self) -> list[Any]:
        """Looking for the loaded libraries takes milliseconds: once per process is enough."""
        return list(ThreadpoolController().select(user_api="blas").lib_controllers)

    def limit(self) -> list[int]:
        """One thread from now on; the numbers that this thread found."""
        with self._lock:
            before = [library.num_threads for library in self._libraries]
            self._set([1] * len(before))
            if not self._n_fits:
                self._of_process = before
            self._n_fits += 1
        return before

    def release(self, before: list[int]) -> None:
        """Restore the numbers, if no other fit is under way."""
        with self._lock:
            self._n_fits -= 1
            self._set(
                own if _is_per_thread(library) else 1 if self._n_fits else of_process
                for library, own, of_process in zip(
                    self._libraries, before, self._of_process, strict=True
                )
            )

    def _set(self, numbers: Iterable[int]) -> None:
        for library, number in zip(self._libraries, numbers, strict=True):
            library.set_num_threads(number)
            # Newer versions let only one thread set the number, until that gives it up.
            getattr(library, "clear_controlling_thread", lambda: None)()


def _is_per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


_blas = _Blas()
