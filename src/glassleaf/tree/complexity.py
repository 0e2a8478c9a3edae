"""How many numbers somebody has to read to know a model, counted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.design import Terms
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Complexity:
    """Numbers to read of a whole model, by what they are, and of one row's prediction.

    ``parts`` counts the thresholds of splits, the categories that splits name, intercepts,
    coefficients, the points of curves and the knots of transforms (two numbers each, or one where
    a value is only cut), the ranges that columns are held in, and what missing numbers count as.
    Where leaves share their formula, intercepts and coefficients are counted once, and again only
    where a node differs. ``per_row`` is the largest number that a single prediction needs.
    """

    parts: dict[str, int]
    per_row: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.parts.values())


def count_numbers(tree: Tree) -> Complexity:
    """The numbers to read of a tree with linear models."""
    coef = tree.coef.reshape(tree.node_count, -1, tree.terms.n_terms)
    leaves = np.flatnonzero(tree.left == LEAF).tolist()
    is_used = (coef[leaves] != 0).any(axis=(0, 1))
    terms = tree.terms
    lines = [
        j
        for j in range(len(tree.columns))
        if _is_numeric(terms, j) and is_used[_own_terms(terms, j)].any()
    ]
    curves = [j for j in lines if terms.curve_term[j] >= 0 and is_used[terms.curve_term[j]]]
    inner = np.flatnonzero(tree.left != LEAF).tolist()
    told = min(_told_apart(tree), _told_by_differences(tree), key=sum)
    parts = {
        "thresholds": sum(1 for node in inner if tree.first_category[node] < 0),
        "categories": sum(split_price(tree, n) for n in inner if tree.first_category[n] >= 0),
        "intercepts": told[0],
        "coefficients": told[1],
        "curve points": sum(curve_price(terms, j) for j in curves),
        "knots": sum(knot_price(terms, j) for j in lines),
        "ranges": sum(_range_price(tree, coef, leaves, j) for j in lines),
        "fills": sum(fill_price(terms, j) for j in lines),
    }
    parent = tree.parent.tolist()
    return Complexity(
        parts, max(_numbers_of_row(tree, coef, parent, leaf, lines) for leaf in leaves)
    )


def shares_formula(tree: Tree) -> bool:
    """Whether it takes fewer numbers to say what differs than to say every leaf's model."""
    return sum(_told_by_differences(tree)) < sum(_told_apart(tree))


def _told_apart(tree: Tree) -> tuple[int, int]:
    """Intercepts and coefficients, if every leaf's model is told by itself."""
    leaves = tree.left == LEAF
    return tree.intercept[leaves].size, int(np.count_nonzero(tree.coef[leaves]))


def _told_by_differences(tree: Tree) -> tuple[int, int]:
    """The same, if the root's model is told, and at every other node what differs."""
    parent = tree.parent[1:]
    intercepts = np.count_nonzero(tree.intercept[1:] != tree.intercept[parent])
    coefs = np.count_nonzero(tree.coef[1:] != tree.coef[parent])
    return (
        tree.intercept[0].size + int(intercepts),
        int(np.count_nonzero(tree.coef[0])) + int(coefs),
    )


# --- prices --------------------------------------------------------------------------------------


def categories_named(n_left: int, n_categories: int) -> int:
    """How many categories a rule names: those of the smaller side."""
    return max(1, min(n_left, n_categories - n_left))


def split_price(tree: Tree, node: int) -> int:
    """Numbers and categories that the rule of a split names."""
    sides = tree.left_categories(node)
    if sides is None:
        return 1
    return categories_named(int(sides.sum()), len(sides))


def column_price(terms: Terms, column: int) -> int:
    """What there is to read of a number's term besides its coefficients."""
    return knot_price(terms, column) + fill_price(terms, column)


def knot_price(terms: Terms, column: int) -> int:
    """Numbers of a transform: two for every knot, one where a value is only cut."""
    knots = terms.knots(column)
    if knots is None:
        return 0
    return len(knots.x) if np.array_equal(knots.x, knots.z) else 2 * len(knots.x)


def fill_price(terms: Terms, column: int) -> int:
    """One number if values of the column were missing: what those count as."""
    return int(terms.missing_term[column] >= 0)


def curve_price(terms: Terms, column: int) -> int:
    """Two numbers for every point."""
    return int(2 * (terms.first_point[column + 1] - terms.first_point[column]))


def _range_price(tree: Tree, coef: Floats, leaves: Sequence[int], column: int) -> int:
    """Ends of the ranges in which leaves hold a column; the same ends count once."""
    own = _own_terms(tree.terms, column)
    used = [leaf for leaf in leaves if coef[leaf][:, own].any()]
    ends = [(tree.clamp_low[leaf, column], tree.clamp_high[leaf, column]) for leaf in used]
    if len(set(ends)) == 1:
        ends = ends[:1]
    return int(np.isfinite(np.array(ends)).sum())


# --- odds and ends -------------------------------------------------------------------------------


def _is_numeric(terms: Terms, column: int) -> bool:
    return bool(terms.first_term[column] >= 0 and not terms.is_category[column])


def _own_terms(terms: Terms, column: int) -> list[int]:
    """The line of a number, and its curve."""
    curve = int(terms.curve_term[column])
    return [int(terms.first_term[column]), *([curve] if curve >= 0 else [])]


def _numbers_of_row(
    tree: Tree, coef: Floats, parent: Sequence[int], leaf: int, lines: Sequence[int]
) -> int:
    total = coef.shape[1] + int(np.count_nonzero(coef[leaf]))
    node = leaf
    while parent[node] >= 0:
        node = parent[node]
        total += split_price(tree, node)
    for column in lines:
        if coef[leaf][:, _own_terms(tree.terms, column)].any():
            total += column_price(tree.terms, column)
            ends = tree.clamp_low[leaf, column], tree.clamp_high[leaf, column]
            total += int(np.isfinite(ends).sum())
            curve = tree.terms.curve_term[column]
            if curve >= 0 and coef[leaf][:, curve].any():
                total += curve_price(tree.terms, column)
    return int(total)
