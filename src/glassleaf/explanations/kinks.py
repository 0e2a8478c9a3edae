"""Where the scores of a tree bend or jump along a column; between these places they are linear."""

from __future__ import annotations

import numpy as np

from glassleaf.tables.cells import ANY_NUMBER
from glassleaf.tree.tree import LEAF, Tree


def split_values(tree: Tree, column: int) -> list[float]:
    """The thresholds of a numeric column, ascending."""
    own = tree.threshold[(tree.feature == column) & (tree.left != LEAF)]
    return sorted({float(threshold) for threshold in own if threshold < ANY_NUMBER})


def kink_values(tree: Tree, column: int) -> list[float]:
    """All values of a numeric column between which every raw score is linear, ascending."""
    points = set(split_values(tree, column))
    clamps = [tree.clamp_low[:, column], tree.clamp_high[:, column]]
    ends = np.unique(np.concatenate(clamps)[np.isfinite(np.concatenate(clamps))])
    ends = np.union1d(ends, tree.terms.hinges(column))
    knots = tree.terms.knots(column)
    if knots is not None:
        points |= set(knots.x.tolist())
        inside = (ends >= knots.z[0]) & (ends <= knots.z[-1])
        ends = knots.inverse(ends[inside])
    return sorted(points | set(ends.tolist()))
