"""How many numbers somebody has to read to know a model, counted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.design import Terms
from glassleaf.tree.references import about_references
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]

# Numbers of a model beyond which nobody reads on.
LONGEST = 200
# Differences between nodes are known to within this share.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Complexity:
    """Numbers to read of a whole model, by what they are, and of one row's prediction.

    ``parts`` counts the thresholds of splits, the categories that splits name, intercepts,
    coefficients, the places of bends, the knots of transforms (two numbers each, or one where a
    value is only cut), the ranges that columns are held in, the limits of scores, and what missing
    numbers count as.
    Where leaves share their formula, intercepts and coefficients are counted once, and again only
    where a node differs. ``per_leaf`` says for every leaf, by its node, how many numbers a single
    prediction needs there.
    """

    parts: dict[str, int]
    per_leaf: dict[int, int]

    @property
    def per_row(self) -> int:
        """The largest number that a single prediction needs."""
        return max(self.per_leaf.values())

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
    inner = np.flatnonzero(tree.left != LEAF).tolist()
    told = min(_told_apart(tree), _told_by_differences(tree), key=sum)
    parts = {
        "thresholds": sum(1 for node in inner if tree.left_categories(node) is None),
        "categories": sum(
            split_price(tree, n) for n in inner if tree.left_categories(n) is not None
        ),
        "intercepts": told[0],
        "coefficients": told[1],
        "bends": int(is_used[terms.first_hinge_term :].sum()),
        "knots": sum(knot_price(terms, j) for j in lines),
        "ranges": sum(_range_price(tree, coef, leaves, j) for j in lines),
        "limits": _limits_price(tree, leaves),
        "fills": sum(fill_price(terms, j) for j in lines),
    }
    parent = tree.parent.tolist()
    return Complexity(
        parts, {leaf: _numbers_of_row(tree, coef, parent, leaf, lines) for leaf in leaves}
    )


def shares_formula(tree: Tree) -> bool:
    """Whether it takes no more numbers to say what differs than to say every leaf's model.

    A single leaf has the formula for all rows, if that is short enough to be read.
    """
    told = sum(_told_apart(tree))
    if tree.n_leaves == 1:
        return told <= LONGEST
    return sum(_told_by_differences(tree)) <= told


def _told_apart(tree: Tree) -> tuple[int, int]:
    """Intercepts and coefficients, if every leaf's model is told by itself."""
    leaves = tree.left == LEAF
    coef = tree.coef[leaves]
    return tree.intercept[leaves].size, int(np.count_nonzero(coef)) - _n_held(coef, tree.terms)


def _told_by_differences(tree: Tree) -> tuple[int, int]:
    """The same, if the root's model is told, and at every other node what differs."""
    parent = tree.parent[1:]
    coef = tree.coef.reshape(tree.node_count, -1, tree.terms.n_terms)
    differences = np.concatenate([coef[:1], coef[1:] - coef[parent]])
    moved = (tree.intercept[1:] - tree.intercept[parent]).reshape(differences[1:].shape[:2])
    intercepts = np.count_nonzero(about_references(tree, moved, differences[1:]))
    told = np.count_nonzero(differences) - _n_held(differences, tree.terms)
    return tree.intercept[0].size + int(intercepts), int(told)


def _n_held(coef: Floats, terms: Terms) -> int:
    """How often a number's line ends at its hinges, and is no number to read of its own."""
    rows = coef.reshape(-1, terms.n_terms)
    return sum(
        bool(held_hinges(row[terms.first_term[column]], row[terms.hinge_terms(column)]))
        for column in terms.bent
        for row in rows
    )


def held_hinges(line: float, hinges: Floats) -> tuple[int, ...]:
    """The hinges that undo a line together, so that it reads ``c * min(x, place)``; none if ().

    With several, the line is a sum of such terms: each hinge has minus the coefficient of one.

    >>> held_hinges(3.0, np.array([-1.0, 0.5, -2.0])), held_hinges(3.0, np.array([-1.0, 0.0]))
    ((0, 2), ())
    """
    used = np.flatnonzero(hinges).tolist()
    if line:
        for size in range(1, len(used) + 1):
            for own in combinations(used, size):
                if abs(line + sum(hinges[k] for k in own)) <= _ROUNDING * abs(line):
                    return own
    return ()


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
    """One number if values of the column were missing, or special: what those count as."""
    return int(bool(terms.state_terms(column)))


def _range_price(tree: Tree, coef: Floats, leaves: Sequence[int], column: int) -> int:
    """Ends of the ranges in which leaves hold a column; the same ends count once."""
    own = _own_terms(tree.terms, column)
    used = [leaf for leaf in leaves if coef[leaf][:, own].any()]
    ends = [(tree.clamp_low[leaf, column], tree.clamp_high[leaf, column]) for leaf in used]
    if len(set(ends)) == 1:
        ends = ends[:1]
    return int(np.isfinite(np.array(ends)).sum())


def _limits_price(tree: Tree, leaves: Sequence[int]) -> int:
    """Ends of what scores are held in; the same ends count once."""
    ends = {
        (tuple(np.ravel(tree.score_low[leaf])), tuple(np.ravel(tree.score_high[leaf])))
        for leaf in leaves
    }
    return int(np.isfinite(np.array(list(ends))).sum())


# --- odds and ends -------------------------------------------------------------------------------


def _is_numeric(terms: Terms, column: int) -> bool:
    return bool(terms.first_term[column] >= 0 and not terms.is_category[column])


def _own_terms(terms: Terms, column: int) -> list[int]:
    """The line of a number, and its hinges."""
    return [int(terms.first_term[column]), *terms.hinge_terms(column)]


def _numbers_of_row(
    tree: Tree, coef: Floats, parent: Sequence[int], leaf: int, lines: Sequence[int]
) -> int:
    total = coef.shape[1] + int(np.count_nonzero(coef[leaf])) + _limits_price(tree, [leaf])
    total -= _n_held(coef[leaf], tree.terms)
    node = leaf
    while parent[node] >= 0:
        node = parent[node]
        total += split_price(tree, node)
    for column in lines:
        if coef[leaf][:, _own_terms(tree.terms, column)].any():
            total += column_price(tree.terms, column)
            ends = tree.clamp_low[leaf, column], tree.clamp_high[leaf, column]
            total += int(np.isfinite(ends).sum())
            total += int(coef[leaf][:, tree.terms.hinge_terms(column)].any(axis=0).sum())
    return int(total)
