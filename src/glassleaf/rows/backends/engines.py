"""The engines: who keeps rows outside this process and computes where they are.

An engine is one module of this package that offers what :class:`Engine` lists. ``ENGINES`` is the
only place that knows which there are; whatever lies outside this package asks the functions below.
How to write another one: docs/scaling.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from glassleaf.rows.backends import ShardedBackend, dask

Result = TypeVar("Result")


class Engine(Protocol):
    """What the module of an engine offers; importing it must not import the engine itself."""

    NAME: str  # the value of ``backend`` that stands for a cluster that lives as long as a fit
    OTHER_NAMES: tuple[str, ...]  # what else ``backend`` may be, in words
    COLLECTION: str  # what its tables are called

    def is_meant(self, backend: Any) -> bool:
        """Whether this value of the parameter ``backend`` stands for this engine."""
        ...

    def is_collection(self, X: Any) -> bool:
        """Whether X is a table or a column of this engine."""
        ...

    def outline(self, X: Any) -> Any:
        """A table in memory without rows, with the columns and types of X."""
        ...

    def pieces(self, X: Any) -> list[Any]:
        """The partitions of X in order, in a form that the backend's ``read`` takes."""
        ...

    def lazily(
        self, method: Callable[[Any], Result], X: Any, width: int | None, dtype: Any
    ) -> Result:
        """The collection of what ``method`` gives for the partitions of X; nothing runs yet.

        The method returns arrays of ``dtype`` with so many columns; None: with one dimension.
        """
        ...

    def connect(self, backend: Any, n_workers: int, n_columns: int) -> ShardedBackend:
        """The cluster that ``backend`` stands for; ``n_workers`` is for one of the fit's own."""
        ...


ENGINES: tuple[Engine, ...] = (dask,)


def engine_meant(backend: Any) -> Engine | None:
    """The engine that a value of ``backend`` stands for."""
    return next((engine for engine in ENGINES if engine.is_meant(backend)), None)


def engine_of(X: Any) -> Engine | None:
    """The engine whose collection X is."""
    return next((engine for engine in ENGINES if engine.is_collection(X)), None)


def is_collection(X: Any) -> bool:
    """Whether X is a collection of any engine."""
    return engine_of(X) is not None


def lazily(method: Callable[[Any], Result], X: Any, width: int | None, dtype: Any) -> Result:
    """A method of a fitted estimator on the partitions of a collection, when it is asked for."""
    engine = engine_of(X)
    assert engine is not None
    return engine.lazily(method, X, width, dtype)
