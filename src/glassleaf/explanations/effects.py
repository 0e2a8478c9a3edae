"""Effects: a node's model as a sum over features, each relative to its mean in the node.

The raw score of a row is ``center[leaf] + sum(effects)``: the score of the leaf's mean row, plus
one effect per column. Effects are taken relative to the mean so that they can be read, and so that
columns with a mean of 1e6 lose no digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf._kernels import shapley as _kernels
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Additive:
    """The models of all nodes in this form; ``arguments`` is what the kernels read."""

    tree: Tree
    center: Floats  # (nodes, outputs): raw score of the node's mean row
    arguments: tuple[Any, ...]

    def effects(self, matrix: Floats, nodes: NDArray[np.int64]) -> Floats:
        """What every column adds to every row in its node, shape (rows, columns, outputs)."""
        out = np.empty((*matrix.shape, self.center.shape[1]))
        transformed = self.tree.terms.transformed(matrix)
        for node in np.unique(nodes):
            here = nodes == node
            Z = np.ascontiguousarray(transformed[here].T)
            out[here] = self.node_effects(Z, int(node)).transpose(2, 0, 1)
        return out

    def node_effects(self, Z: Floats, node: int) -> Floats:
        """The same for rows of one node, which lie along the last axis; Z is transformed."""
        out = np.empty((len(Z), self.center.shape[1], Z.shape[1]))
        _kernels.effects(Z, node, *self.arguments, out)
        return out


def additive(tree: Tree) -> Additive:
    """Prepare a tree with linear models."""
    terms, n_nodes = tree.terms, tree.node_count
    n_outputs = 1 if tree.coef.ndim == 2 else tree.coef.shape[1]
    coef = np.ascontiguousarray(tree.coef.reshape(n_nodes, n_outputs, -1))
    intercept = tree.intercept.reshape(n_nodes, n_outputs)
    mean = tree.record.mean
    center = intercept + np.einsum("nkt,nt->nk", coef, mean)
    shift = np.zeros((n_nodes, len(tree.columns), n_outputs))
    for column in range(len(tree.columns)):
        fixed = indicator_terms(tree, column) + curve_terms(tree, column)
        shift[:, column] = np.einsum("nkt,nt->nk", coef[:, :, fixed], mean[:, fixed])
    arguments = (
        coef, mean, shift, tree.clamp_low, tree.clamp_high,
        terms.first_term, terms.is_category, terms.missing_term, terms.fill,
        terms.curve_term, terms.first_point, terms.point_x, terms.point_z,
    )  # fmt: skip
    return Additive(tree, center, arguments)


def indicator_terms(tree: Tree, column: int) -> list[int]:
    """The terms of a column that are 0 or 1: its categories, and "is missing"."""
    terms = tree.terms
    first, missing = int(terms.first_term[column]), int(terms.missing_term[column])
    found = []
    if first >= 0 and terms.is_category[column]:
        found += list(range(first, first + len(tree.columns[column].categories or ())))
    return found + [missing] * (missing >= 0)


def curve_terms(tree: Tree, column: int) -> list[int]:
    """The term of a column that is its curve, if it has one."""
    curve = int(tree.terms.curve_term[column])
    return [curve] * (curve >= 0)


def strengths(tree: Tree) -> Floats:
    """Standard deviation of what every column adds in every node, shape (nodes, columns, outputs).

    For a number this is ``|coef| * spread``, the bars of the paper. Of a column's categories,
    one indicator is 1, so that their variance follows from their means. "Is missing", the number
    that it replaces and its curve are taken together.
    """
    terms, n_nodes = tree.terms, tree.node_count
    n_outputs = 1 if tree.coef.ndim == 2 else tree.coef.shape[1]
    coef = tree.coef.reshape(n_nodes, n_outputs, -1)
    mean, spread = tree.record.mean[:, None, :], tree.record.spread[:, None, :]
    out = np.zeros((n_nodes, len(tree.columns), n_outputs))
    for column in range(len(tree.columns)):
        indicators = indicator_terms(tree, column)
        weights, shares = coef[:, :, indicators], mean[:, :, indicators]
        variance = (weights**2 * shares).sum(axis=2) - (weights * shares).sum(axis=2) ** 2
        first = int(terms.first_term[column])
        if first >= 0 and not terms.is_category[column]:
            own = coef[:, :, first]
            variance = variance + (own * spread[:, :, first]) ** 2
            # A missing number counts as the mean over all rows, not of the node.
            filled = np.clip(
                terms.fill[column], tree.clamp_low[:, column], tree.clamp_high[:, column]
            )
            if indicators:
                away = shares[:, :, 0] * (filled[:, None] - mean[:, :, first])
                variance = variance + 2 * own * weights[:, :, 0] * away
            curve = terms.curve(column)
            if curve is not None:
                (term,) = curve_terms(tree, column)
                bend = coef[:, :, term]
                variance = variance + (bend * spread[:, :, term]) ** 2
                variance = variance + 2 * own * bend * tree.record.bend[:, column, None]
                if indicators:
                    away = shares[:, :, 0] * (curve(filled)[:, None] - mean[:, :, term])
                    variance = variance + 2 * bend * weights[:, :, 0] * away
        out[:, column] = np.sqrt(np.maximum(variance, 0.0))
    return out
