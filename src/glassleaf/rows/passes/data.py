"""The rows themselves, where each node's lie, and which of a feature's bins they are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.tables.compressed import Compressed

Floats = NDArray[np.float64]

# Rows below which a node is summed in one task, above which in two tasks, four, and so on: the
# number is even for the sake of two cores, and fixed, for results must not depend on threads.
_UNDIVIDED_ROWS = 6_000
_PAIR_ROWS = 131_072
# With fewer rows per column, adding up the tasks' Hessians would cost more than computing them.
_ROWS_PER_COLUMN = 32


@dataclass
class Rows:
    """The rows of a training set (or of a part of one) and where each node's rows lie."""

    dense: Floats
    sparse: Compressed
    n_sparse: int
    target: Floats
    weight: Floats
    blocks: list[Compressed]
    spans: dict[int, tuple[int, int]]
    vectors: Floats
    held: Floats | None = None  # weights of the rows that are set aside, which have none meanwhile

    @property
    def n_kept(self) -> int:
        """Columns that rows really hold."""
        return int(self.dense.shape[1]) + self.n_sparse


@dataclass(frozen=True)
class BinSets:
    """Which of several sets the rows in every bin of a feature belong to.

    ``default`` is the set of rows whose bin is not stored.
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


def n_parts(n_rows: int, n_columns: int = 0) -> int:
    """Into how many parts the sums over so many rows are split."""
    if n_rows < max(_UNDIVIDED_ROWS, _ROWS_PER_COLUMN * n_columns):
        return 1
    return 2 * -(-n_rows // _PAIR_ROWS)


def part_of(rows: Rows, node: int, part: int, parts: int) -> tuple[int, int]:
    """Where one of several parts of a node's rows begins and ends."""
    start, stop = rows.spans[node]
    size = stop - start
    return start + size * part // parts, start + size * (part + 1) // parts


def sets_of_rows(rows: Rows, start: int, stop: int, sets: BinSets) -> NDArray[np.uint16]:
    """The set of every row from ``start`` on."""
    out = np.empty(stop - start, dtype=np.uint16)
    given = rows.blocks[sets.block]
    _kernels.find_segments(
        given.ptr, given.idx, start, stop, sets.of_bin, sets.first_bin, sets.default, out
    )
    return out


def is_uniform(weight: Floats) -> bool:
    """Whether all weights are the same, and not zero."""
    return len(weight) > 0 and bool(weight.min() == weight.max() > 0)


def both_or_none(operation: np.ufunc, mine: Any, other: Any) -> Any:
    """Two tables as one, or None where they are not asked for."""
    return None if mine is None else operation(mine, other)


class NodeTask(NamedTuple):
    """All rows of a node."""

    node: int


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
