"""Columns far from zero: formulas say how far a value lies from a round number near all of them.

A model of years says ``3 + 0.31 (year - 2005)``: there 3 is a score that occurs, not one of the
year 0. Short models are learned like that, too: where a slope differs, it turns about this number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.dates import round_date
from glassleaf.tables.short_numbers import shortest_between
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# Zero is far if it lies this many times the width of a range beyond it.
_FAR = 5.0
# A reference lies this share of the spread from the mean, or less.
_NEAR = 0.5
_ROUNDING = 1e-9


def reference_of(tree: Tree, column: int) -> float:
    """A short number near the mean of a column that is far from zero, else 0; of dates, a date."""
    first, knots = int(tree.terms.first_term[column]), tree.terms.knots(column)
    if first < 0 or tree.terms.is_category[column] or tree.training_record is None:
        return 0.0
    low, high = float(tree.record.low[column]), float(tree.record.high[column])
    if knots is not None and not np.array_equal(knots.x, knots.z):  # on a scale of its own
        return 0.0
    is_date = tree.columns[column].date_unit is not None
    if not (is_date or min(abs(low), abs(high)) > _FAR * (high - low)) or not high > low:
        return 0.0
    mean, near = tree.record.mean[0, first], _NEAR * tree.record.spread[0, first]
    ends = max(float(mean - near), low), min(float(mean + near), high)
    found = round_date(*ends) if is_date else None
    return shortest_between(*ends) if found is None else found


def references_of_terms(tree: Tree) -> Floats:
    """The reference of every term that is a number, 0 of all others."""
    out = np.zeros(tree.terms.n_terms)
    for column in range(len(tree.columns)):
        if tree.terms.first_term[column] >= 0 and not tree.terms.is_category[column]:
            out[tree.terms.first_term[column]] = reference_of(tree, column)
    return out


def about_references(tree: Tree, intercept: Floats, coef: Floats) -> Floats:
    """Intercepts, or their differences, where all numbers are at their references.

    What differs from zero by rounding only is zero.
    """
    reference = references_of_terms(tree)
    found = intercept + coef @ reference
    size = np.abs(intercept) + np.abs(coef) @ np.abs(reference)
    return np.where(np.abs(found) > _ROUNDING * size, found, 0.0)
