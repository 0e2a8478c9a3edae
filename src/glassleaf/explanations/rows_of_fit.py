"""Whether rows are those that a model was fitted on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.offset import absorbed
from glassleaf.tree.regression import leaf_terms

Floats = NDArray[np.float64]

# Means over the same rows differ by rounding: at most by this share of the term's size.
_SAME_MEAN = 1e-9


def are_rows_of_fit(
    model: FittedModel, matrix: Floats, nodes: NDArray[np.int64], weight: Floats
) -> bool:
    """Whether rows of some weights are, to all appearances, those that the model was fitted on.

    Every leaf has as many of them, and the terms of the formulas have the same means there.
    """
    tree, leaves = model.tree, np.array(model.leaves)
    if (np.bincount(nodes, minlength=tree.node_count)[leaves] != tree.n_samples[leaves]).any():
        return False
    terms = np.arange(tree.terms.first_hinge_term)  # hinges follow from their numbers
    aside = [offset.column for offset in tree.offsets]  # training has not looked at their means
    known = [matrix[:, column] for column in aside]
    _, weight = absorbed(np.zeros(len(weight)), weight, tree.offsets, known, model.loss)
    terms = terms[~np.isin(tree.terms.column_of_term[terms], aside)]
    mean = tree.record.mean[:, terms]
    least = _SAME_MEAN * (tree.record.spread[0, terms] + np.abs(mean[0]))
    for leaf in leaves[tree.n_samples[leaves] > 0].tolist():
        here = nodes == leaf
        found = leaf_terms(tree, matrix[here], leaf)[:, terms]
        off = np.average(found, axis=0, weights=weight[here]) - mean[leaf]
        if (np.abs(off) > least).any():
            return False
    return True
