"""Effects: a node's model as a sum over features, each relative to its mean in the node.

The raw score of a row is ``center[leaf] + sum(effects)``: the score of the leaf's mean row, plus
one effect per column. Effects are taken relative to the mean so that they can be read, and so that
columns with a mean of 1e6 lose no digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        _kernels.effects(Z, Z.view(np.uint64), node, *self.arguments, out)
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
        fixed = indicator_terms(tree, column) + terms.hinge_terms(column)
        shift[:, column] = np.einsum("nkt,nt->nk", coef[:, :, fixed], mean[:, fixed])
    arguments = (
        coef, mean, shift, tree.clamp_low, tree.clamp_high,
        terms.first_term, terms.is_category, terms.missing_term,
        terms.first_special, terms.special_term, terms.fill,
        terms.first_hinge, terms.hinge_at,
    )  # fmt: skip
    return Additive(tree, center, arguments)


def indicator_terms(tree: Tree, column: int) -> list[int]:
    """The terms of a column that are 0 or 1: categories, "is missing" and special values."""
    terms = tree.terms
    first, found = int(terms.first_term[column]), []
    if first >= 0 and terms.is_category[column]:
        found += list(range(first, first + len(tree.columns[column].categories or ())))
    return found + terms.state_terms(column)


def without_limits(tree: Tree) -> Tree:
    """The same tree, whose scores are the sums themselves."""
    free = np.full_like(tree.score_high, np.inf)
    return replace(tree, score_low=-free, score_high=free)


def limit_parts(tree: Tree, matrix: Floats, leaves: NDArray[np.int64]) -> Floats:
    """What limits of the scores take away from the rows' sums, or add to them; mostly 0."""
    return np.asarray(tree.raw(matrix, leaves) - without_limits(tree).raw(matrix, leaves))


def strengths(tree: Tree) -> Floats:
    """Standard deviation of what every column adds in every node, shape (nodes, columns, outputs).

    For a number this is ``|coef| * spread``, the bars of the paper. Of a column's categories,
    one indicator is 1, so that their variance follows from their means. "Is missing" and the
    number that it replaces, with its hinges, are taken together.
    """
    n_nodes = tree.node_count
    n_outputs = 1 if tree.coef.ndim == 2 else tree.coef.shape[1]
    coef = tree.coef.reshape(n_nodes, n_outputs, -1)
    variance = np.zeros((n_nodes, len(tree.columns), n_outputs))
    for column in range(len(tree.columns)):
        indicators = indicator_terms(tree, column)
        weights, shares = coef[:, :, indicators], tree.record.mean[:, None, indicators]
        mean = (weights * shares).sum(axis=2)
        variance[:, column] = (weights**2 * shares).sum(axis=2) - mean**2
        if tree.terms.first_term[column] >= 0 and not tree.terms.is_category[column]:
            variance[:, column] += _number_variance(tree, coef, column)
    return np.sqrt(np.maximum(variance, 0.0))


def _number_variance(tree: Tree, coef: Floats, column: int) -> Floats:
    """Variance of line and hinges together, and twice their covariance with states."""
    terms, mean, spread = tree.terms, tree.record.mean, tree.record.spread
    own = number_terms(tree, column)
    out: Floats = ((coef[:, :, own] * spread[:, None, own]) ** 2).sum(axis=2)
    for (one, other), together in zip(terms.pairs, tree.record.covariance.T, strict=True):
        if one in own:
            out += 2 * coef[:, :, one] * coef[:, :, other] * together[:, None]
    for missing in terms.state_terms(
        column
    ):  # a missing number counts as the mean over all rows, not of the node
        filled = np.clip(terms.fill[column], tree.clamp_low[:, column], tree.clamp_high[:, column])
        away = number_values(tree, column, filled) - mean[:, own]
        moved = (coef[:, :, own] * away[:, None]).sum(axis=2)
        out += 2 * coef[:, :, missing] * mean[:, None, missing] * moved
    return out


def number_terms(tree: Tree, column: int) -> list[int]:
    """The terms that are functions of a number: its line and its hinges."""
    return [int(tree.terms.first_term[column]), *tree.terms.hinge_terms(column)]


def number_values(tree: Tree, column: int, z: Floats) -> Floats:
    """These terms for filled and clamped values z, shape (values, terms)."""
    above = np.maximum(z[:, None] - tree.terms.hinges(column), 0.0)
    return np.column_stack([z, above])
