"""The rows of a report, as a model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.checks import row_weights
from glassleaf.explanations.targets import all_targets
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.tree import Tree, term_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Means over the same rows differ by rounding: at most by this share of the term's size.
_SAME_MEAN = 1e-9


@dataclass(frozen=True)
class TestRows:
    """Rows whose weight is not zero: ``used`` are their numbers in X.

    ``truth`` are numbers, or positions of classes; ``prediction`` has one column, or one per class.
    ``given`` are the weights as they came, ``weight`` the same as shares of the largest.
    """

    used: Ints
    matrix: Floats
    truth: Floats
    given: Floats
    weight: Floats
    nodes: Ints
    prediction: Floats


def read_test_rows(model: FittedModel, X: Any, y: Any, sample_weight: Any) -> TestRows:
    """Rows with known targets, and what the model predicts for them."""
    matrix = model.matrix(X)
    if not len(matrix):
        raise ValueError("X has no rows; a report needs some to test the model on.")
    given = row_weights(sample_weight, len(matrix))
    used = np.flatnonzero(given)
    truth, matrix = all_targets(model, y, len(matrix))[used], matrix[used]
    nodes = model.tree.apply(matrix)
    prediction = model.prediction(model.tree.raw(matrix, nodes))
    weight = given[used] / given.max()  # squares of them neither overflow nor vanish
    return TestRows(used, matrix, truth, given[used], weight, nodes, prediction)


def are_those_of_the_fit(model: FittedModel, rows: TestRows) -> bool:
    """Whether rows are, to all appearances, those that the model was fitted on.

    Every leaf has as many of them, and the terms of the formulas have the same means there, as
    they are or within the ranges at which heavy tails were cut.
    """
    tree, leaves, nodes = model.tree, np.array(model.leaves), rows.nodes
    if (np.bincount(nodes, minlength=tree.node_count)[leaves] != tree.n_samples[leaves]).any():
        return False
    terms = np.arange(tree.terms.first_hinge_term)  # hinges follow from their numbers
    known = tree.record.mean[:, terms]
    least = _SAME_MEAN * (tree.record.spread[0, terms] + np.abs(known[0]))
    for leaf in leaves.tolist():
        here = nodes == leaf
        found = term_matrix(rows.matrix[here], tree.terms)[:, terms]
        means = [
            np.average(values, axis=0, weights=rows.weight[here])
            for values in (found, _cut(tree, found))
        ]
        if (np.abs(means - known[leaf]).min(axis=0) > least).any():
            return False
    return True


def _cut(tree: Tree, found: Floats) -> Floats:
    """Terms within the ranges that their columns have in all nodes."""
    out = found.copy()
    numbers = np.flatnonzero((tree.terms.first_term >= 0) & ~tree.terms.is_category)
    own = tree.terms.first_term[numbers]
    out[:, own] = np.clip(out[:, own], tree.clamp_low[0, numbers], tree.clamp_high[0, numbers])
    return out
