"""The loop: fit the models of new nodes, search their splits, send the rows on.

Nodes are handled in batches, so that one pass over the rows serves all of them: level by level
without a leaf budget, best node first with one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.splits.find import Limits, Models, Node, SplitSearch, find_splits, route
from glassleaf.fit.splits.refine import refine
from glassleaf.rows.backends import Backend

Floats = NDArray[np.float64]
_log = logging.getLogger("glassleaf")


def grow(
    backend: Backend,
    models: Models,
    search: SplitSearch,
    limits: Limits,
    start: Floats,
    start_level: Callable[[int], None] | None = None,
) -> list[Node]:
    """Grow a tree; the nodes come in the order in which they were made, the root first.

    ``start_level`` is told the depth of every batch of nodes before it is fitted.
    """
    root = Node(0, 0, models.root(start))
    nodes = [root]
    fresh = [root]
    chosen: list[Node] = []
    frontier: list[Node] = []
    while True:
        if start_level is not None:
            start_level(fresh[0].depth)
        models.fit([node.id for node in fresh], [node.model for node in fresh])
        if search.refine:
            assert isinstance(models, LinearModels)
            refine(backend, models, search, nodes, chosen)
        find_splits(backend, models, search, limits, fresh, root)
        frontier += [node for node in fresh if node.split is not None]
        n_leaves = (len(nodes) + 1) // 2
        chosen = _next_batch(frontier, n_leaves, limits)
        _report(fresh, n_leaves)
        if not chosen:
            break
        frontier = [node for node in frontier if node not in chosen]
        fresh = split_nodes(backend, models, nodes, chosen)
    for node in frontier:
        node.split = None
    return nodes


def _next_batch(frontier: list[Node], n_leaves: int, limits: Limits) -> list[Node]:
    """All nodes that can be split, or the best one where leaves are counted."""
    if limits.max_leaf_nodes is None:
        return list(frontier)
    if not frontier or n_leaves >= limits.max_leaf_nodes:
        return []
    return [max(frontier, key=lambda node: (node.split.gain if node.split else 0.0, -node.id))]


def split_nodes(
    backend: Backend, models: Models, nodes: list[Node], chosen: Sequence[Node]
) -> list[Node]:
    """Split nodes: send their rows to two new nodes each, whose models start from the parent's."""
    ids: list[int] = []
    for node in chosen:
        node.children = (len(nodes) + len(ids), len(nodes) + len(ids) + 1)
        ids += node.children
    route(backend, chosen)
    parents = [node for node in chosen for _ in range(2)]
    made = models.children(ids, [parent.model for parent in parents])
    fresh = [
        Node(new, parent.depth + 1, model)
        for new, parent, model in zip(ids, parents, made, strict=True)
    ]
    nodes += fresh
    return fresh


def _report(fresh: Sequence[Node], n_leaves: int) -> None:
    if _log.isEnabledFor(logging.INFO):
        rows = sum(node.model.count for node in fresh)
        loss = sum(node.model.loss for node in fresh)
        _log.info(
            "depth %d: fitted %d node(s) on %d rows, loss %.6g; %d leaves so far",
            fresh[0].depth, len(fresh), rows, loss, n_leaves,
        )  # fmt: skip
