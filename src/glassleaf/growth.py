"""The loop: fit the models of new nodes, search their splits, send the rows on.

Nodes are handled in batches, so that one pass over the rows serves all of them: level by level
without a leaf budget, best node first with one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from glassleaf import rows as on_rows
from glassleaf.backends import Backend
from glassleaf.binning import WHOLE, Block
from glassleaf.design import Layout
from glassleaf.renormalizers import NO_UNITS, NodeUnits
from glassleaf.search import (
    FeatureGains,
    Question,
    Rival,
    Split,
    best_split,
    block_gains,
    complete,
    node_extent,
    rivals,
)
from glassleaf.weak_models import NodeModel, fixed_units

Floats = NDArray[np.float64]
_log = logging.getLogger("glassleaf")

# A gain below this share of the rows' weight (residuals are of order 1) is rounding.
_NO_GAIN = 1e-18


class Models(Protocol):
    """What the loop asks of the models in the nodes; see ``weak_models``."""

    uses_columns: bool

    def root(self, start: Floats) -> NodeModel: ...
    def children(self, ids: Sequence[int], parents: Sequence[NodeModel]) -> list[NodeModel]: ...
    def fit(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None: ...
    def set_vectors(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None: ...


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    max_depth: int | None
    max_leaf_nodes: int | None
    min_count: int
    min_gain: float


@dataclass(frozen=True)
class SplitSearch:
    """Where and by what nodes are split."""

    blocks: Sequence[Block]
    layout: Layout
    question: Question
    standardized: bool
    n_classes: int


@dataclass
class Node:
    """A node while the tree grows; ``children`` is set when it is split."""

    id: int
    depth: int
    model: NodeModel
    split: Split | None = None
    children: tuple[int, int] | None = None
    rivals: Sequence[Rival] = ()


def grow(
    backend: Backend, models: Models, search: SplitSearch, limits: Limits, start: Floats
) -> list[Node]:
    """Grow a tree; the nodes come in the order in which they were made, the root first."""
    root = Node(0, 0, models.root(start))
    nodes = [root]
    fresh = [root]
    frontier: list[Node] = []
    while True:
        models.fit([node.id for node in fresh], [node.model for node in fresh])
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
    tasks: list[tuple[Any, ...]] = []
    ids: list[int] = []
    for node in chosen:
        assert node.split is not None
        node.children = (len(nodes) + len(ids), len(nodes) + len(ids) + 1)
        ids += node.children
        split = node.split
        tasks.append(
            (node.id, node.children, split.block, split.first_bin, split.left_of_bin,
             split.default_left)
        )  # fmt: skip
    backend.each(on_rows.route, tasks)
    parents = [node for node in chosen for _ in range(2)]
    made = models.children(ids, [parent.model for parent in parents])
    fresh = [
        Node(new, parent.depth + 1, model)
        for new, parent, model in zip(ids, parents, made, strict=True)
    ]
    nodes += fresh
    return fresh


def find_splits(
    backend: Backend,
    models: Models,
    search: SplitSearch,
    limits: Limits,
    nodes: Sequence[Node],
    root: Node,
) -> None:
    """Give every node that may be split its best split."""
    able = [node for node in nodes if _may_split(node, limits)]
    if not able or not search.blocks:
        return
    ids = [node.id for node in able]
    question = search.question
    if question.criterion.uses == "gradient":
        models.set_vectors(ids, [node.model for node in able])
    else:
        tasks = [
            (node.id, part, on_rows.n_parts(node.model.count), search.n_classes)
            for node in able
            for part in range(on_rows.n_parts(node.model.count))
        ]
        backend.each(on_rows.set_target, tasks)
    found = all_gains(backend, models, search, able, root)
    for node in able:
        floor = max(limits.min_gain * root.model.loss, _NO_GAIN * node.model.weight)
        node.split = best_split(found[node.id], floor)
        if node.split is not None:
            node.rivals = rivals(found[node.id], node.split)


def _may_split(node: Node, limits: Limits) -> bool:
    deep_enough = limits.max_depth is not None and node.depth >= limits.max_depth
    return not deep_enough and node.model.count >= 2 * limits.min_count


def all_gains(
    backend: Backend, models: Models, search: SplitSearch, nodes: Sequence[Node], root: Node
) -> dict[int, list[FeatureGains]]:
    """Gains of all candidates of several nodes."""
    question = search.question
    columns = question.criterion.uses == "gradient" and models.uses_columns
    renormalizer = question.renormalizer if columns else None
    squares = renormalizer is not None and renormalizer.needs_squares
    ranges = renormalizer is not None and renormalizer.needs_ranges
    sums_of = (columns, squares, ranges)
    wholes = backend.sum(on_rows.bin_sums, [(node.id, -1, 1, *sums_of) for node in nodes])
    tasks = [
        (node.id, index, block.n_bins, *sums_of)
        for node in nodes
        for index, block in enumerate(search.blocks)
    ]
    known = {}
    for node, found_sums in zip(nodes, wholes, strict=True):
        whole = complete(WHOLE, found_sums, found_sums, search.layout) if columns else found_sums
        known[node.id] = (whole, _units(node, root, whole, search) if columns else NO_UNITS)

    def score(task: tuple[int, int, int, bool, bool, bool], sums: on_rows.BinSums) -> Any:
        node, index = task[:2]
        whole, units = known[node]
        block = search.blocks[index]
        return block_gains(block, index, sums, whole, search.layout, units, question)

    found: dict[int, list[FeatureGains]] = {node.id: [] for node in nodes}
    for task, gains in zip(tasks, backend.sum(on_rows.bin_sums, tasks, then=score), strict=True):
        found[task[0]] += gains
    return found


def _units(node: Node, root: Node, whole: on_rows.BinSums, search: SplitSearch) -> NodeUnits:
    units = fixed_units(node.model, root.model, search.standardized)
    return units if whole.low is None else replace(units, extent=node_extent(whole))


def _report(fresh: Sequence[Node], n_leaves: int) -> None:
    if _log.isEnabledFor(logging.INFO):
        rows = sum(node.model.count for node in fresh)
        loss = sum(node.model.loss for node in fresh)
        _log.info(
            "depth %d: fitted %d node(s) on %d rows, loss %.6g; %d leaves so far",
            fresh[0].depth, len(fresh), rows, loss, n_leaves,
        )  # fmt: skip
