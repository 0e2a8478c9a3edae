"""Shards on disk, visited one after the other: rows need not fit into memory.

A shard is a file. Its arrays are mapped into memory while it is visited, changed in place, and let
go before the next one; all else (which rows belong to which node) is kept here. What is in memory
at a time is one shard and the sums.
"""

from __future__ import annotations

import io
import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from glassleaf.errors import BackendError
from glassleaf.rows.backends import summary_limit
from glassleaf.rows.backends.local import LocalBackend

# Tasks of one visit: their sums are in memory together.
_TASKS_AT_ONCE = 64
_ALIGNMENT = 64


class StoredShard:
    """An object in a file: its arrays as they are, and how to put it together from them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._recipe = b""
        self._regions: list[tuple[int, int]] = []
        self._map: Any = None

    def open(self) -> Any:
        """The object; its arrays are those in the file."""
        if self._path.exists() and self._path.stat().st_size:
            self._map = np.memmap(self._path, dtype=np.uint8, mode="r+")
        given = [
            memoryview(self._map[start:stop] if stop > start else bytearray())
            for start, stop in self._regions
        ]
        return pickle.loads(self._recipe, buffers=given)

    def close(self) -> None:
        """Let go of the file; the object must not be used any more."""
        self._map = None

    def store(self, content: Any) -> None:
        """Keep an object. Arrays that lie in the open file stay where they are."""
        buffers: list[pickle.PickleBuffer] = []
        recipe = io.BytesIO()
        pickle.Pickler(recipe, protocol=5, buffer_callback=buffers.append).dump(content)
        self._recipe = recipe.getvalue()
        raw = [buffer.raw() for buffer in buffers]
        places = [self._place(view) for view in raw]
        # Empty arrays lie nowhere. If nothing lies in the old file, it is of no use any more.
        is_new = not any(place and place[1] for place in places)
        target = self._path.with_suffix(".new") if is_new else self._path
        with target.open("wb" if is_new else "ab") as file:
            self._regions = [
                place if place is not None else _append(file, view)
                for place, view in zip(places, raw, strict=True)
            ]
        if is_new:
            target.replace(self._path)

    def _place(self, view: memoryview) -> tuple[int, int] | None:
        """Where in the open file a buffer lies, if it does."""
        if self._map is None or not view.nbytes:
            return None if view.nbytes else (0, 0)
        start = _address(view) - self._map.ctypes.data
        inside = start >= 0 and start + view.nbytes <= self._map.nbytes
        return (start, start + view.nbytes) if inside else None


def _address(view: memoryview) -> int:
    return int(np.frombuffer(view, dtype=np.uint8).ctypes.data)


def _append(file: Any, view: memoryview) -> tuple[int, int]:
    file.seek(0, io.SEEK_END)
    file.write(b"\0" * (-file.tell() % _ALIGNMENT))
    start = file.tell()
    file.write(view)
    return start, start + view.nbytes


class _PairwiseSum:
    """Adds one after the other, but pair by pair: errors of summaries grow with the depth only."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, list[Any]]] = []  # (how many were added, their sums)

    def add(self, found: list[Any], size: int = 1) -> None:
        self._waiting.append((size, found))
        while len(self._waiting) > 1 and self._waiting[-1][0] == self._waiting[-2][0]:
            self._join()

    def _join(self) -> None:
        size, last = self._waiting.pop()
        n_before, before = self._waiting.pop()
        joined = [mine + its for mine, its in zip(before, last, strict=True)]
        self._waiting.append((n_before + size, joined))

    def total(self) -> list[Any]:
        while len(self._waiting) > 1:
            self._join()
        return self._waiting[0][1]


class StreamBackend:
    """Shards in a temporary folder. Use as a context manager, which removes it."""

    def __init__(self, n_threads: int, n_columns: int) -> None:
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="glassleaf-")
        except OSError as error:
            raise BackendError(
                f"there is no folder to store the rows in: {error.strerror or error}."
                " Set TMPDIR to one that can be written."
            ) from error
        self._shards: list[StoredShard] = []
        self._local = LocalBackend(None, n_threads)
        self.largest_summary: float = summary_limit(n_columns)

    @property
    def n_shards(self) -> int:
        return max(len(self._shards), 1)

    def read(self, function: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> None:
        """Make one shard of every tuple of arguments."""
        for number, arguments in enumerate(given):
            shard = StoredShard(Path(self._folder.name) / f"{number}.shard")
            self._store(shard, function(*arguments))
            self._shards.append(shard)

    def _store(self, shard: StoredShard, content: Any) -> None:
        try:
            shard.store(content)
        except OSError as error:
            raise BackendError(
                f"the rows cannot be stored in {self._folder.name}: {error.strerror or error}. They"
                " take about twice the room of their numbers. Set TMPDIR to a folder with more."
            ) from error

    def __enter__(self) -> StreamBackend:
        self._local.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._shards = []
        self._local.__exit__(kind, error, at)
        self._folder.cleanup()

    def become(self, function: Callable[..., Any], *given: Any) -> None:
        for shard in self._shards:
            self._store(shard, function(shard.open(), *given))
            shard.close()

    def each(self, function: Callable[..., None], tasks: Sequence[Any]) -> None:
        for shard in self._shards:
            self._local.shard = shard.open()
            self._local.each(function, tasks)
            self._store(shard, self._local.shard)
            self._local.shard = None
            shard.close()

    def sum(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Any],
        then: Callable[[Any, Any], Any] | None = None,
    ) -> list[Any]:
        found: list[Any] = []
        for first in range(0, len(tasks), _TASKS_AT_ONCE):
            chunk = tasks[first : first + _TASKS_AT_ONCE]
            sums = _PairwiseSum()
            for shard in self._shards:
                self._local.shard = shard.open()
                sums.add(self._local.sum(function, chunk))
                self._local.shard = None
                shard.close()
            for task, total in zip(chunk, sums.total(), strict=True):
                found.append(total if then is None else then(task, total))
        return found
