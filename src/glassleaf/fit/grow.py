"""The loop: fit the models of new nodes, search their splits, send the rows on.

Nodes are handled in batches, so that one pass over the rows serves all of them: level by level
without a leaf budget, best node first with one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from glassleaf.fit.models.protocol import Models
from glassleaf.fit.splits.find import Node, find_splits, route
from glassleaf.fit.splits.given import make_given, tell_gains
from glassleaf.fit.splits.refine import refine
from glassleaf.rows.backends import Backend
from glassleaf.rows.backends.progress import start_level
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Settings

_log = logging.getLogger("glassleaf")


def grow(
    backend: Backend,
    models: Models,
    plan: Plan,
    settings: Settings,
) -> list[Node]:
    """Grow a tree; the nodes come in the order in which they were made, the root first."""
    root = Node(0, 0, models.root(plan.units.start))
    nodes = [root]
    fresh = [root]
    chosen: list[Node] = []
    frontier: list[Node] = []
    while True:
        start_level(backend, fresh[0].depth, plan.n_rows)
        models.fit([node.id for node in fresh], [node.model for node in fresh])
        if settings.refine and models.linear is not None:
            found = [node for node in chosen if not node.is_given]
            refine(backend, models.linear, plan, settings, nodes, found)
        make_given(backend, models, plan, settings, fresh, root)
        find_splits(backend, models, plan, settings, fresh, root)
        frontier += [node for node in fresh if node.split is not None]
        n_leaves = (len(nodes) + 1) // 2
        chosen = _next_batch(frontier, n_leaves, settings.max_leaf_nodes)
        _report(fresh, n_leaves)
        if not chosen:
            break
        frontier = [node for node in frontier if node not in chosen]
        fresh = split_nodes(backend, models, nodes, chosen)
    for node in frontier:
        node.split = None
    tell_gains(nodes)
    return nodes


def _next_batch(frontier: list[Node], n_leaves: int, most_leaves: int | None) -> list[Node]:
    """All nodes that can be split, or the best one where leaves are counted."""
    given = [node for node in frontier if node.is_given]
    if most_leaves is None or given:
        return given or list(frontier)
    if not frontier or n_leaves >= most_leaves:
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
        Node(new, parent.depth + 1, model, n_passed=parent.n_passed)
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
