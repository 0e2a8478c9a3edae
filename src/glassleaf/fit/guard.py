"""No leaf says what its training rows never came near.

Beyond the rows that a leaf was fitted on, its formula may go anywhere: two columns that undid each
other part, a spike that one row had comes again. So a leaf's score is held within those of its
rows, widened a little. And a leaf whose targets are all the same says that, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.splits.find import Node
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.tables.short_numbers import shortest_between
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# Scores are held within those of the training rows, widened by at most this share of their range.
_MARGIN = 0.1


def limits_of(low: float, high: float) -> tuple[float, float] | None:
    """Short numbers just outside a range of scores, None if all scores are the same.

    >>> limits_of(-2.93, 4.18), limits_of(1.0, 1.0)
    ((-3.0, 4.5), None)
    """
    margin = _MARGIN * (high - low)
    if not margin > 0:
        return None
    below, above = shortest_between(-low, -low + margin), shortest_between(high, high + margin)
    return 0.0 - below, above  # 0 rather than -0


def guarded(
    backend: Backend, models: LinearModels, nodes: Sequence[Node], plan: Plan, tree: Tree
) -> Tree:
    """A tree of one output whose leaves are held within the scores of their rows."""
    units = plan.units
    leaves = [node for node in nodes if node.children is None]
    tasks = [on_rows.ScoreTask(leaf.id, models.at_rows(leaf.model)) for leaf in leaves]
    low, high = tree.score_low.copy(), tree.score_high.copy()
    coef, intercept = tree.coef.copy(), tree.intercept.copy()
    for leaf, found in zip(leaves, backend.sum(on_rows.score_ranges, tasks), strict=True):
        limits = limits_of(*(units.score_scale * found.score + units.score_center).tolist())
        if limits is not None:
            low[leaf.id], high[leaf.id] = limits
        if units.loss.link == "identity" and found.target[0] == found.target[1]:
            coef[leaf.id], intercept[leaf.id] = 0.0, units.scale * found.target[0] + units.center
            low[leaf.id], high[leaf.id] = -np.inf, np.inf
    return replace(tree, coef=coef, intercept=intercept, score_low=low, score_high=high)
