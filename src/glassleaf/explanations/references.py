"""Columns far from zero: formulas say how far a value lies from a round number near all of them."""

from __future__ import annotations

import numpy as np

from glassleaf.tables.short_numbers import shortest_between
from glassleaf.tree.tree import Tree

# Zero is far if it lies this many times the width of a range beyond it.
_FAR = 5.0
# A reference lies this share of the spread from the mean, or less.
_NEAR = 0.5


def reference_of(tree: Tree, column: int) -> float:
    """A short number near the mean of a column that is far from zero, else 0."""
    first, knots = int(tree.terms.first_term[column]), tree.terms.knots(column)
    if first < 0 or tree.terms.is_category[column]:
        return 0.0
    low, high = float(tree.record.low[column]), float(tree.record.high[column])
    if knots is not None and not np.array_equal(knots.x, knots.z):  # on a scale of its own
        return 0.0
    if not min(abs(low), abs(high)) > _FAR * (high - low) > 0:
        return 0.0
    mean, near = tree.record.mean[0, first], _NEAR * tree.record.spread[0, first]
    return shortest_between(max(float(mean - near), low), min(float(mean + near), high))
