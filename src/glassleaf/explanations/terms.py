"""The summands of the models, each by name.

What a number adds is one function: a line or, where it has hinges, a broken line of its term. Where
the column has a transform, both together are still piecewise linear in the raw value.
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

    ``kind`` is "number", "category" (one of a feature), "missing" (whether it is), "special" (a
    special value of a number, by its word in ``category``), or "hinge": how far the number lies
    above a place, 0 below it. ``at`` is that place as a raw value, ``above`` the same on the scale
    of the number's transform; equal where it has none.
    """

    name: str
    feature: str
    kind: str
    category: Any = None
    at: float | None = None
    above: float | None = None


def all_terms(tree: Tree) -> tuple[Term, ...]:
    """The terms in the order of the coefficients."""
    found: list[Term] = [Term("", "", "number")] * tree.terms.n_terms
    names = tree.term_names
    for j, column in enumerate(tree.columns):
        first, missing = int(tree.terms.first_term[j]), int(tree.terms.missing_term[j])
        if missing >= 0:
            found[missing] = Term(names[missing], column.name, "missing")
        for own, (_, word) in zip(tree.terms.special_terms(j), column.special, strict=True):
            if own >= 0:
                found[own] = Term(names[own], column.name, "special", word)
        for hinge, above in zip(
            tree.terms.hinge_terms(j), tree.terms.hinges(j).tolist(), strict=True
        ):
            knots = tree.terms.knots(j)
            at = above if knots is None else float(knots.inverse(np.array(above)))
            found[hinge] = Term(names[hinge], column.name, "hinge", at=at, above=above)
        if first < 0:
            continue
        if column.categories is None:
            found[first] = Term(names[first], column.name, "number")
        for code, category in enumerate(column.categories or ()):
            term = Term(names[first + code], column.name, "category", python_value(category))
            found[first + code] = term
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
