"""The tree as the selection sees it: who is whose child, what may differ where, at which price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf._kernels.selection import Prices, Rules
from glassleaf.fit.path.alone import Alone
from glassleaf.fit.path.leaf_sums import LeafSums
from glassleaf.fit.path.offer import Offer
from glassleaf.fit.rare import rare_terms
from glassleaf.fit.splits.find import Node
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Roles
from glassleaf.tables.table import RARE
from glassleaf.tree.complexity import categories_named, column_price, fill_price

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Rows in which a category must occur in a node to differ there.
_FEWEST_ROWS = 10
# Rows, or a share of them and one more, of which an entry must say something of its own.
_OWN_ROWS = 10.0
_OWN_SHARE = 0.2


@dataclass(frozen=True)
class Shape:
    """The tree as the selection sees it: who is whose child, and what may differ at which price."""

    leaves: Ints
    parent: Ints
    prices: Prices
    rules: Rules

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    def deeper(self) -> Ints:
        """For every two nodes the lower one, -1 if no path leads through both."""
        n_nodes = self.n_nodes
        out = np.full((n_nodes, n_nodes), -1, dtype=np.int64)
        for node in range(n_nodes):
            above = node
            while above >= 0:
                out[node, above] = out[above, node] = node
                above = int(self.parent[above])
        return out

    def node_sums(self, sums: LeafSums) -> tuple[Floats, Floats]:
        """Hessian and slope of every node: the sums of the leaves below it."""
        size = sums.slope.shape[1]
        hessian, slope = np.zeros((self.n_nodes, size, size)), np.zeros((self.n_nodes, size))
        hessian[self.leaves], slope[self.leaves] = sums.hessian, sums.slope
        for node in range(self.n_nodes - 1, 0, -1):  # children come after their parents
            hessian[self.parent[node]] += hessian[node]
            slope[self.parent[node]] += slope[node]
        return hessian, slope

    def models(self, entries: Floats) -> Floats:
        """The models of the leaves, from the differences of all nodes on the last two axes."""
        models = entries.copy()
        for node in range(1, self.n_nodes):
            models[:, node] += models[:, self.parent[node]]
        return np.asarray(models[:, self.leaves])


def siblings(parent: Ints) -> Ints:
    """The other child of every node's parent; the root's is itself."""
    out = np.zeros(len(parent), dtype=np.int64)
    for node in range(1, len(parent)):
        both = np.flatnonzero(parent == parent[node])
        out[node] = both[both != node][0]
    return out


def shape_of(
    nodes: Sequence[Node], plan: Plan, roles: Roles, offer: Offer, sums: LeafSums, alone: Alone
) -> Shape:
    """The tree that was grown: what may differ where, and the price of every entry."""
    parent = np.full(len(nodes), -1, dtype=np.int64)
    for node in nodes:
        for child in node.children or ():
            parent[child] = node.id
    n_outputs = sums.slope.shape[1] // offer.size
    of_stored = plan.design.terms.column_of_term[offer.layout.term]
    column = np.concatenate([of_stored, of_stored[offer.held[:, 0]], [-1]])
    group_of, group_price = _groups(plan, offer, of_stored)
    price = np.ones(offer.size, dtype=np.int64)
    price[offer.layout.n_columns : -1] += offer.is_between  # these read as two hinges
    prices = Prices(
        entry=np.tile(price, n_outputs),
        group_of=np.tile(group_of, (n_outputs, 1)),
        group=group_price,
        split=np.array([_split_price(node, plan) for node in nodes]),
        parent=parent,
        sibling=siblings(parent),
    )
    intercept = np.repeat(offer.size * (np.arange(n_outputs) + 1) - 1, offer.size)
    allowed = np.ones((len(nodes), n_outputs * offer.size), dtype=np.bool_)
    is_shared = np.append(roles.shared, False)[column]
    allowed[1:] = np.tile(~is_shared, n_outputs)
    is_rare = np.isin(offer.layout.term, rare_terms(plan.columns, plan.design.terms))
    allowed &= ~np.tile(np.append(is_rare, np.zeros(len(offer.held) + 1, dtype=bool)), n_outputs)
    own_rows = min(_OWN_ROWS, 1.0 + _OWN_SHARE * nodes[0].model.weight)
    required = np.tile(_is_required(plan, roles, offer, of_stored), n_outputs)
    leaves = np.array([node.id for node in nodes if node.children is None])
    rules = Rules(
        allowed,
        np.tile(offer.sign.astype(np.float64), n_outputs),
        intercept,
        required,
        column=np.tile(column, n_outputs),
        bars=np.pad(alone.is_near & ~roles.required, (0, 1)),
        own_rows=own_rows,
    )
    shape = Shape(leaves, parent, prices, rules)
    allowed &= _is_frequent(shape, sums, nodes, offer)
    return shape


def _is_required(plan: Plan, roles: Roles, offer: Offer, column_of: Ints) -> Bools:
    """Which parameters every formula has: the lines and the categories of required columns."""
    terms, term = plan.design.terms, offer.layout.term
    is_line = np.isin(term, terms.first_term[~terms.is_category])
    out = np.zeros(offer.size, dtype=np.bool_)
    out[: len(term)] = roles.required[column_of] & (is_line | terms.is_category[column_of])
    return out


def _is_frequent(shape: Shape, sums: LeafSums, nodes: Sequence[Node], offer: Offer) -> Bools:
    """Whether what a node would differ in occurs in enough of its rows; a number always does."""
    hessian, _ = shape.node_sums(sums)
    square = np.einsum("vpp->vp", hessian)
    share = square / np.maximum(square[:, shape.rules.intercept], np.finfo(np.float64).tiny)
    count = np.array([node.model.weight for node in nodes])[:, None] * share
    place = np.arange(offer.size)
    is_indicator = (place >= offer.layout.n_dense) & (place < offer.layout.n_columns)
    n_outputs = square.shape[1] // offer.size
    return np.asarray((count >= _FEWEST_ROWS) | ~np.tile(is_indicator, n_outputs))


def _groups(plan: Plan, offer: Offer, column_of: Ints) -> tuple[Ints, Ints]:
    """The groups of every parameter, and what it takes to read the first of a group.

    The group of its column has the knots and range of that and what a missing value counts as; that
    of a hinge has its place, and there may be two hinges. The last group has nothing.
    """
    terms, layout = plan.design.terms, offer.layout
    n_columns, n_hinges = len(terms.first_term), len(terms.hinge_at)
    nothing = n_columns + n_hinges
    price = np.concatenate([np.zeros(n_columns), np.ones(n_hinges), [0]]).astype(np.int64)
    for column in np.flatnonzero((terms.first_term >= 0) & ~terms.is_category).tolist():
        price[column] = _column_price(plan, column)
    groups = np.full((offer.size, 3), nothing)
    is_value = np.isin(layout.term, terms.first_term[~terms.is_category])
    hinge = layout.term - terms.first_hinge_term
    groups[: layout.n_columns, 0] = np.where(is_value | (hinge >= 0), column_of, nothing)
    groups[: layout.n_columns, 1] = np.where(hinge >= 0, n_columns + hinge, nothing)
    groups[layout.n_columns : -1] = groups[offer.held[:, 1]]
    groups[layout.n_columns : -1, 2] = groups[offer.held[:, 0], 1]
    return groups, price


def _column_price(plan: Plan, column: int) -> int:
    """Numbers to read of a numeric column besides its coefficients; a cut has those of its ends."""
    terms = plan.design.terms
    knots = terms.knots(column)
    if knots is None or not np.array_equal(knots.x, knots.z):
        return column_price(terms, column)
    n_cuts = int(knots.x[0] > plan.low[column]) + int(knots.x[-1] < plan.high[column])
    return n_cuts + fill_price(terms, column)


def _split_price(node: Node, plan: Plan) -> int:
    """Numbers and categories that the rule of a split names."""
    split = node.split
    if split is None or not split.is_categorical:
        return 1
    categories = plan.columns[split.column].categories or ()
    n_categories = len(categories) - (RARE in categories)  # which the finished tree does not name
    n_left = int(split.left_of_bin[:n_categories].sum())
    return categories_named(n_left, n_categories)
