"""The summands of the models, each by name, and the curves among them.

A curve is a function of its column's term. Where the column has a transform, both together are
still piecewise linear in the raw value, with kinks where either has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.tree.fitted import python_value
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Term(JsonData):
    """A summand of the models.

    ``kind`` is "number", "category" (one of a feature), "missing" (whether it is), or "curve".
    """

    name: str
    feature: str
    kind: str
    category: Any = None


def all_terms(tree: Tree) -> tuple[Term, ...]:
    """The terms in the order of the coefficients."""
    found: list[Term] = [Term("", "", "number")] * tree.terms.n_terms
    names = tree.term_names
    for j, column in enumerate(tree.columns):
        first, missing = int(tree.terms.first_term[j]), int(tree.terms.missing_term[j])
        curve = int(tree.terms.curve_term[j])
        if missing >= 0:
            found[missing] = Term(names[missing], column.name, "missing")
        if curve >= 0:
            found[curve] = Term(names[curve], column.name, "curve")
        if first < 0:
            continue
        if column.categories is None:
            found[first] = Term(names[first], column.name, "number")
        for code, category in enumerate(column.categories or ()):
            term = Term(names[first + code], column.name, "category", python_value(category))
            found[first + code] = term
    return tuple(found)


@dataclass(frozen=True)
class Curve(JsonData):
    """A function of a feature that every leaf adds with a weight of its own.

    Over the training rows it has mean 0 and spread 1, and no straight part. ``points`` are (raw
    value, curve): linear between them, constant beyond. ``of_term`` are the points that were
    learned: (term, curve), the same where the feature has no transform.
    """

    feature: str
    column: int
    points: Points
    of_term: Points

    def at(self, term: Floats) -> Floats:
        """The curve at terms: transformed, filled and clamped values."""
        return np.asarray(np.interp(term, *np.array(self.of_term).T))


def all_curves(tree: Tree) -> tuple[Curve, ...]:
    """The curves of a tree, by column."""
    found = []
    for j, column in enumerate(tree.columns):
        curve = tree.terms.curve(j)
        if curve is None:
            continue
        of_term = points = tuple(zip(curve.x.tolist(), curve.z.tolist(), strict=True))
        knots = tree.terms.knots(j)
        if knots is not None:
            inside = curve.x[(curve.x > knots.z[0]) & (curve.x < knots.z[-1])]
            x = np.union1d(knots.x, knots.inverse(inside))
            points = tuple(zip(x.tolist(), curve(knots(x)).tolist(), strict=True))
        found.append(Curve(column.name, j, points, of_term))
    return tuple(found)


def to_term(values: Floats, knots: Sequence[tuple[float, float]] | None) -> Floats:
    """Raw values on the scale of a transform."""
    return values if knots is None else np.asarray(np.interp(values, *np.array(knots).T))


def to_raw(terms: Floats, knots: Sequence[tuple[float, float]] | None) -> Floats:
    """Terms as raw values; beyond a transform's ends they are not reached, and stay at these."""
    if knots is None:
        return terms
    x, z = np.array(knots).T
    return np.asarray(np.interp(terms, z, x))
