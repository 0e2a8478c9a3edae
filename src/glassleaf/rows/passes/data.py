"""The rows themselves, where each node's lie, and which of a feature's bins they are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.tables.compressed import Compressed

Floats = NDArray[np.float64]

Span = tuple[int, int]


@dataclass
class Rows:
    """The rows of a training set (or of a part of one) and where each node's rows lie."""

    dense: Floats
    sparse: Compressed
    n_sparse: int
    target: Floats
    weight: Floats
    blocks: list[Compressed]
    spans: dict[int, Span]
    vectors: Floats
    fold: NDArray[np.uint8] | None = None  # which rows are left out together
    held: Floats | None = None  # weights of the rows that are set aside, which have none meanwhile
    group: NDArray[np.int64] | None = None  # which rows belong together

    @property
    def n_kept(self) -> int:
        """Columns that rows really hold."""
        return int(self.dense.shape[1]) + self.n_sparse

    @property
    def n_dense(self) -> int:
        return int(self.dense.shape[1])

    @property
    def n_entries(self) -> float:
        """Sparse entries of a row, on average."""
        return len(self.sparse.idx) / max(len(self.weight), 1)

    def span_of(self, task: Any) -> Span:
        """Where the rows of a task begin and end: a slice of its node's, or all of them."""
        return task.span or self.spans[task.node]


@dataclass(frozen=True)
class BinSegments:
    """The segment that the rows in every bin of a feature belong to.

    ``default`` is the segment of rows whose bin is not stored.
    """

    block: int
    first_bin: int
    of_bin: NDArray[np.uint16]
    default: int

    @property
    def feature(self) -> tuple[int, int]:
        """Which feature it is: its block, and the first of its bins there."""
        return self.block, self.first_bin


# Where the rows of a bin are, seen from a border.
NEITHER, LEFT, RIGHT = 0, 1, 2


# Work of a sparse entry, in units of a dense column.
_ENTRY_WORK = 3.0


def column_work(rows: Rows) -> float:
    """Work of all columns of a row, each added once."""
    return rows.n_dense + _ENTRY_WORK * rows.n_entries


def segments_of_rows(rows: Rows, start: int, stop: int, bins: BinSegments) -> NDArray[np.uint16]:
    """The segment of every row from ``start`` on."""
    out = np.empty(stop - start, dtype=np.uint16)
    given = rows.blocks[bins.block]
    _kernels.find_segments(
        given.ptr, given.idx, start, stop, bins.of_bin, bins.first_bin, bins.default, out
    )
    return out


def copy_rows(rows: Rows, start: int, places: NDArray[np.intp]) -> Rows:
    """The rows ``start + places`` as those of node 0, without what only a search needs."""
    dense, target, weight = (
        np.take(own[start:], places, axis=0) for own in (rows.dense, rows.target, rows.weight)
    )
    sparse = rows.sparse.taken(start, places) if rows.n_sparse else rows.sparse
    spans = {0: (0, len(places))}
    return Rows(dense, sparse, rows.n_sparse, target, weight, [], spans, np.zeros((0, 0)))


def resampled(rows: Rows, factor: Floats) -> Rows:
    """A copy of the rows before a tree grows, each of them that many times; not those of zero."""
    places = np.flatnonzero(factor)
    own = copy_rows(rows, 0, places)
    own.weight *= factor[places]
    own.blocks = [block.taken(0, places) for block in rows.blocks]
    own.vectors = np.empty((len(places), rows.vectors.shape[1]))
    own.fold = None if rows.fold is None else rows.fold[places]
    own.group = None if rows.group is None else rows.group[places]
    own.held = None if rows.held is None else rows.held[places] * factor[places]
    return own


def is_uniform(weight: Floats) -> bool:
    """Whether all weights are the same, and not zero."""
    return len(weight) > 0 and bool(weight.min() == weight.max() > 0)


def both_or_none(operation: np.ufunc, mine: Any, other: Any) -> Any:
    """Two tables as one, or None where they are not asked for."""
    return None if mine is None else operation(mine, other)


def add_into(operation: np.ufunc, mine: Any, other: Any) -> None:
    """The same in place of the first table."""
    if mine is not None:
        operation(mine, other, out=mine)


class NodeTask(NamedTuple):
    """All rows of a node, or a slice of them."""

    node: int
    span: Span | None = None


class UnitsTask(NamedTuple):
    """Other units for the dense columns of a node."""

    node: int
    center: Floats
    scale: Floats


def move_dense(rows: Rows, task: UnitsTask) -> None:
    """Put the dense columns of a node into other units."""
    start, stop = rows.spans[task.node]
    rows.dense[start:stop] -= task.center
    rows.dense[start:stop] /= task.scale


class ClipTask(NamedTuple):
    """Limits of the dense columns of a node."""

    node: int
    low: Floats
    high: Floats


def clip_dense(rows: Rows, task: ClipTask) -> None:
    """Clamp the dense columns of a node."""
    start, stop = rows.spans[task.node]
    np.clip(rows.dense[start:stop], task.low, task.high, out=rows.dense[start:stop])


def take_back(rows: Rows, task: NodeTask) -> None:
    """Give the rows of a node that are set aside their weight again."""
    assert rows.held is not None
    here = slice(*rows.spans[task.node])
    rows.weight[here] += rows.held[here]
    rows.held[here] = 0.0
