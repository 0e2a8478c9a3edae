"""Pass three: which node each row goes to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from glassleaf.rows.passes.data import LEFT, NEITHER, BinSegments, Rows, segments_of_rows


class RouteTask(NamedTuple):
    """A node, its children, and the side that every bin of the split's feature is on.

    Of bins on neither side, the rows go left whose dense column ``place`` is at most ``last_left``.
    """

    node: int
    children: tuple[int, int]
    sides: BinSegments
    place: int
    last_left: float


def route(rows: Rows, task: RouteTask) -> None:
    """Send the node's rows to its children, left ones first, keeping their order otherwise."""
    start, stop = rows.spans.pop(task.node)
    side = segments_of_rows(rows, start, stop, task.sides)
    to_left = side == LEFT
    if (task.sides.of_bin == NEITHER).any():
        to_left |= (side == NEITHER) & (rows.dense[start:stop, task.place] <= task.last_left)
    order = np.concatenate([np.flatnonzero(to_left), np.flatnonzero(~to_left)])
    here = slice(start, stop)
    for own in (rows.dense, rows.target, rows.weight, rows.fold, rows.held, rows.group):
        if own is not None:
            own[here] = np.take(own[here], order, axis=0)
    if rows.n_sparse:
        rows.sparse.reorder(start, stop, order)
    for stored in rows.blocks:
        stored.reorder(start, stop, order)
    middle = start + int(to_left.sum())
    rows.spans[task.children[0]] = (start, middle)
    rows.spans[task.children[1]] = (middle, stop)


class FamilyTask(NamedTuple):
    """A node and its two children."""

    node: int
    children: tuple[int, int]


def merge(rows: Rows, task: FamilyTask) -> None:
    """Undo ``route``: the rows of two children are their parent's again."""
    start, _ = rows.spans.pop(task.children[0])
    _, stop = rows.spans.pop(task.children[1])
    rows.spans[task.node] = (start, stop)


def cover(rows: Rows, task: FamilyTask) -> None:
    """Give a node the rows of its children, which keep them."""
    left, right = task.children
    rows.spans[task.node] = (rows.spans[left][0], rows.spans[right][1])


class RenameTask(NamedTuple):
    """New numbers of nodes, by the old ones."""

    number: dict[int, int]


def rename(rows: Rows, task: RenameTask) -> None:
    """Give nodes new numbers, and forget those without."""
    number = task.number
    rows.spans = {number[node]: span for node, span in rows.spans.items() if node in number}
