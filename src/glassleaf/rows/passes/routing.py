"""Pass three: which node each row goes to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.rows.passes.data import LEFT, NEITHER, BinSets, Rows, sets_of_rows

Floats = NDArray[np.float64]


def route(
    rows: Rows,
    node: int,
    children: tuple[int, int],
    sides: BinSets,
    place: int,
    last_left: float,
) -> None:
    """Send the node's rows to its children, left ones first, keeping their order otherwise.

    Of bins on neither side, the rows go left whose dense column ``place`` is at most ``last_left``.
    """
    start, stop = rows.spans.pop(node)
    side = sets_of_rows(rows, start, stop, sides)
    to_left = side == LEFT
    if (sides.of_bin == NEITHER).any():
        to_left |= (side == NEITHER) & (rows.dense[start:stop, place] <= last_left)
    order = np.concatenate([np.flatnonzero(to_left), np.flatnonzero(~to_left)])
    here = slice(start, stop)
    for own in (rows.dense, rows.target, rows.weight, rows.held):
        if own is not None:
            own[here] = np.take(own[here], order, axis=0)
    if rows.n_sparse:
        rows.sparse.reorder(start, stop, order)
    for stored in rows.blocks:
        stored.reorder(start, stop, order)
    middle = start + int(to_left.sum())
    rows.spans[children[0]] = (start, middle)
    rows.spans[children[1]] = (middle, stop)


def merge(rows: Rows, node: int, children: tuple[int, int]) -> None:
    """Undo ``route``: the rows of two children are their parent's again."""
    start, _ = rows.spans.pop(children[0])
    _, stop = rows.spans.pop(children[1])
    rows.spans[node] = (start, stop)


def cover(rows: Rows, node: int, children: tuple[int, int]) -> None:
    """Give a node the rows of its children, which keep them."""
    rows.spans[node] = (rows.spans[children[0]][0], rows.spans[children[1]][1])


def rename(rows: Rows, number: dict[int, int]) -> None:
    """Give nodes new numbers, and forget those without."""
    rows.spans = {number[node]: span for node, span in rows.spans.items() if node in number}
