"""The summands of the models, each by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glassleaf.explanations.json_data import JsonData
from glassleaf.tree.fitted import python_value
from glassleaf.tree.tree import Tree


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
