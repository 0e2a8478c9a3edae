"""Making a grown tree smaller: by what its splits gain, or by what they are worth on other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.splits.find import Node
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend


def prune_weakest(backend: Backend, nodes: Sequence[Node], share: float) -> list[Node]:
    """Cost-complexity pruning: cut the weakest link while it is weaker than a share of the loss.

    The strength of a link is the fall of the penalized loss below it, per leaf that it costs
    (Breiman et al. 1984). ``share`` is a share of the root's loss.
    """
    least = share * nodes[0].model.loss
    while True:
        inner = [node for node in nodes if node.children is not None and not node.is_given]
        weakest = min(inner, key=lambda node: _strength(nodes, node), default=None)
        if weakest is None or _strength(nodes, weakest) >= least:
            return renumbered(backend, nodes)
        collapse(backend, nodes, weakest)


def _strength(nodes: Sequence[Node], node: Node) -> float:
    leaves = [leaf for leaf in below(nodes, node) if leaf.children is None]
    fall = node.model.objective - sum(leaf.model.objective for leaf in leaves)
    return fall / (len(leaves) - 1)


def prune_by_held_out(
    backend: Backend, models: LinearModels, loss: Loss, nodes: Sequence[Node]
) -> list[Node]:
    """Keep a split only if it lowers the loss of the rows that were set aside; then use them too.

    No other way to cut this tree is better on those rows. The models are then fitted to all rows.
    """
    cover_inner_nodes(backend, nodes)
    tasks = [on_rows.HeldLossTask(node.id, models.at_rows(node.model), loss) for node in nodes]
    own = dict(zip((node.id for node in nodes), backend.sum(on_rows.held_loss, tasks), strict=True))
    best = dict(own)
    for node in reversed(nodes):  # children come after their parents
        if node.children is None:
            continue
        kept = sum(best[child] for child in node.children)
        best[node.id] = kept if node.is_given else min(own[node.id], kept)
        if own[node.id] <= kept and not node.is_given:
            collapse(backend, nodes, node)
    backend.each(on_rows.take_back, [on_rows.NodeTask(0)])
    nodes = renumbered(backend, nodes)
    cover_inner_nodes(backend, nodes)
    _refit(models, nodes)
    return nodes


def _refit(models: LinearModels, nodes: Sequence[Node]) -> None:
    """Fit all nodes anew, parents first. Nodes whose rows have several units keep their models."""
    parent_of = {child: node for node in nodes for child in node.children or ()}
    for level in range(1 + max(node.depth for node in nodes)):
        here = [
            node
            for node in nodes
            if node.depth == level
            and models.share_units([node.model, *(own.model for own in below(nodes, node))])
        ]
        parents = [parent_of[node.id].model if node.id in parent_of else None for node in here]
        ids = [node.id for node in here]
        fresh = models.refit(ids, [node.model for node in here], parents) if here else []
        for node, model in zip(here, fresh, strict=True):
            node.model = model
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            node.model.weight = sum(nodes[child].model.weight for child in node.children)


# --- nodes and the rows that belong to them ------------------------------------------------------


def below(nodes: Sequence[Node], node: Node) -> Iterator[Node]:
    """The descendants of a node, parents first."""
    for child in node.children or ():
        yield nodes[child]
        yield from below(nodes, nodes[child])


def collapse(backend: Backend, nodes: Sequence[Node], node: Node) -> None:
    """Make a node a leaf; its descendants stay in the list, without a parent."""
    inner = [own for own in (node, *below(nodes, node)) if own.children is not None]
    for own in reversed(inner):
        assert own.children is not None
        backend.each(on_rows.merge, [on_rows.FamilyTask(own.id, own.children)])
        own.children = own.split = None


def renumbered(backend: Backend, nodes: Sequence[Node]) -> list[Node]:
    """The nodes that are still part of the tree, with new numbers."""
    kept = [nodes[0], *sorted(below(nodes, nodes[0]), key=lambda node: node.id)]
    number = {node.id: place for place, node in enumerate(kept)}
    backend.each(on_rows.rename, [on_rows.RenameTask(number)])
    for node in kept:
        node.id = number[node.id]
        if node.children is not None:
            node.children = (number[node.children[0]], number[node.children[1]])
    return kept


def cover_inner_nodes(backend: Backend, nodes: Sequence[Node]) -> None:
    """Give inner nodes the rows of their leaves."""
    for node in reversed(nodes):
        if node.children is not None:
            backend.each(on_rows.cover, [on_rows.FamilyTask(node.id, node.children)])
