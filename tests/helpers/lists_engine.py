"""A second engine in one file: tables are lists of frames, the cluster is a list of bytes.

Whatever a real cluster would send from machine to machine is pickled here. A shard is never changed
in place: a change replaces it, as in Spark.
"""

import pickle
from dataclasses import dataclass

import numpy as np

from glassleaf.rows.backends import added, summary_limit

NAME = "lists"
OTHER_NAMES = ()
COLLECTION = "list of frames"


@dataclass
class Frames:
    """A collection: frames, or columns, that together are one table."""

    frames: list


@dataclass
class Later:
    """Results that are not there yet."""

    method: bytes
    frames: list
    shape: tuple
    dtype: np.dtype

    def compute(self):
        method = pickle.loads(self.method)
        return np.concatenate([method(frame) for frame in self.frames])


def is_meant(backend):
    return isinstance(backend, str) and backend == NAME


def is_collection(X):
    return isinstance(X, Frames)


def outline(X):
    return X.frames[0].iloc[:0]


def pieces(X):
    return [pickle.dumps(frame) for frame in X.frames]


def lazily(method, X, width, dtype):
    shape = (None,) if width is None else (None, width)
    return Later(pickle.dumps(method), X.frames, shape, dtype)


def connect(backend, n_workers, n_columns):
    return ListsBackend(n_columns)


class ListsBackend:
    def __init__(self, n_columns):
        self.largest_summary = summary_limit(n_columns)
        self._shards = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._shards = []

    @property
    def n_shards(self):
        return len(self._shards)

    def read(self, function, given):
        self._shards = [_sent(_read, function, arguments) for arguments in given]

    def become(self, function, *given):
        self._shards = [_sent(_become, shard, function, given) for shard in self._shards]

    def each(self, function, tasks):
        self._shards = [_sent(_each, shard, function, tasks) for shard in self._shards]

    def sum(self, function, tasks, then=None):
        results = [pickle.loads(_sent(_results, shard, function, tasks)) for shard in self._shards]
        totals = zip(tasks, added(results), strict=True)
        return [total if then is None else then(task, total) for task, total in totals]


# --- on the machines, if there were any ----------------------------------------------------------


def _sent(call, *given):
    """What a call gives for copies of its arguments, as bytes."""
    call, given = pickle.loads(pickle.dumps((call, given)))
    return pickle.dumps(call(*given))


def _read(function, arguments):
    return function(*(pickle.loads(a) if isinstance(a, bytes) else a for a in arguments))


def _become(shard, function, given):
    return function(pickle.loads(shard), *given)


def _each(shard, function, tasks):
    content = pickle.loads(shard)
    for task in tasks:
        function(content, task)
    return content


def _results(shard, function, tasks):
    content = pickle.loads(shard)
    return [function(content, task) for task in tasks]
