"""What a reader of the formulas should know of their columns.

* Of columns that say nearly the same, formulas name one: which is left out for which.
* A column whose effect in the formula for all rows goes one way, while by itself it goes with
  scores the other way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import words
from glassleaf.tree.complexity import shares_formula
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# A slope by itself that is less than this share of the formula's is none.
_NO_SLOPE = 0.1


def twins(tree: Tree) -> dict[int, int]:
    """Columns that are left out of the formulas, each with the one that says nearly the same."""
    twin = tree.record.twin
    if twin is None:
        return {}
    return {column: int(twin[column]) for column in np.flatnonzero(twin >= 0).tolist()}


def notes(model: FittedModel) -> tuple[str, ...]:
    """Sentences about the columns of a model."""
    return (*_left_out(model), *_against_themselves(model))


def _left_out(model: FittedModel) -> list[str]:
    tree = model.tree
    is_used = np.zeros(len(tree.columns), dtype=np.bool_)
    coef = tree.coef.reshape(-1, tree.terms.n_terms)
    is_used[tree.terms.column_of_term[coef.any(axis=0)]] = True
    correlation = tree.record.twin_correlation
    return [
        f"{words.name(model.names[column])} says nearly the same as"
        f" {words.name(model.names[twin])} (correlation {correlation[column]:.3f}) and is left out"
        " of the formulas."
        for column, twin in twins(tree).items()
        if correlation is not None and is_used[twin]
    ]


def _against_themselves(model: FittedModel) -> list[str]:
    tree = model.tree
    alone = tree.record.alone
    if alone is None or not shares_formula(tree):
        return []
    alone, own = alone.reshape(-1, len(tree.columns)), _root_slopes(tree)
    differs = (own * alone < 0) & (np.abs(alone) >= _NO_SLOPE * np.abs(own))
    return [
        f"{words.name(model.names[column])} {'raises' if own[k, column] > 0 else 'lowers'} the"
        f" score{_of(model, k)} beside the other columns, though by itself it goes with a"
        f" {'lower' if own[k, column] > 0 else 'higher'} one."
        for column, k in np.argwhere(differs.T).tolist()
    ]


def _of(model: FittedModel, output: int) -> str:
    name = model.outputs[output]
    return f" of {words.class_name(name)}" if name else ""


def _root_slopes(tree: Tree) -> Floats:
    """The slope of every number in the formula for all rows: (outputs, columns).

    That of a broken line is its steepest, or 0 if it has no single direction. Scores of classes
    count relative to each other.
    """
    terms = tree.terms
    coef = tree.coef[0].reshape(-1, terms.n_terms)
    if len(coef) > 1:
        coef = coef - coef.mean(axis=0)
    out = np.zeros((len(coef), len(tree.columns)))
    for column in np.flatnonzero((terms.first_term >= 0) & ~terms.is_category).tolist():
        own = [int(terms.first_term[column]), *terms.hinge_terms(column)]
        pieces = np.cumsum(coef[:, own], axis=1)
        low, high = pieces.min(axis=1), pieces.max(axis=1)
        out[:, column] = np.where(low >= 0, high, np.where(high <= 0, low, 0.0))
    return out
