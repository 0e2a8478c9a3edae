"""How the predictions of a finished tree are distributed over the rows that it was fitted on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.rare import rare_terms
from glassleaf.fit.splits.find import Node
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.histograms import of_values
from glassleaf.rows.plan import Plan
from glassleaf.tables.summaries import Several
from glassleaf.tables.table import Table, raw_slices
from glassleaf.tree.histograms import Histogram
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]


def scores_of_table(tree: Tree, table: Table, loss: Loss) -> list[Histogram]:
    """A histogram of every score, from rows in memory."""
    raw = np.concatenate([
        tree.raw(matrix, tree.apply(matrix)) for _, matrix in raw_slices(table, tree.columns)
    ])  # fmt: skip
    return _histograms(on_rows.summarized_predictions(raw, loss, np.inf))


def scores_of_leaves(
    backend: Backend, nodes: Sequence[Node], plan: Plan, tree: Tree, loss: Loss
) -> list[Histogram]:
    """The same from the rows of a backend, which lie in the leaves of these nodes.

    The tree may be a shorter one, cut from that of the nodes.
    """
    low, high = (end.reshape(tree.node_count, -1) for end in (tree.score_low, tree.score_high))
    limit = backend.largest_summary
    tasks = [
        on_rows.PredictionsTask(
            nodes[node].id, _row_model(nodes[node], plan, tree, place), low[place], high[place],
            loss, limit,
        )
        for node, place in _places(nodes, tree)
        if nodes[node].children is None
    ]  # fmt: skip
    first, *others = backend.sum(on_rows.predictions, tasks)
    return _histograms(sum(others, first))


def _places(nodes: Sequence[Node], tree: Tree) -> list[tuple[int, int]]:
    """Every node, and the node of the tree whose model its rows have."""
    found, ahead = [], [(0, 0)]
    while ahead:
        node, place = ahead.pop()
        found.append((node, place))
        is_leaf = tree.left[place] == LEAF
        below = (place, place) if is_leaf else (int(tree.left[place]), int(tree.right[place]))
        ahead += zip(nodes[node].children or (), below, strict=False)
    return found


def _row_model(node: Node, plan: Plan, tree: Tree, place: int) -> on_rows.RowModel:
    """The model of a node of the finished tree for the columns as the rows of a leaf hold them."""
    layout, terms = plan.design.layout, plan.design.terms
    n_outputs = tree.intercept.size // tree.node_count
    kept = np.delete(np.arange(terms.n_terms), rare_terms(plan.columns, terms))
    coef = np.zeros((n_outputs, terms.n_terms))
    coef[:, kept] = tree.coef[place].reshape(n_outputs, -1)
    stored = coef[:, layout.term]
    at_center = tree.intercept[place].reshape(n_outputs) + stored @ node.model.center
    return on_rows.RowModel(*layout.reduce_coef(stored * node.model.unit, at_center))


def _histograms(found: Several) -> list[Histogram]:
    return [of_values(values) for values in found]
