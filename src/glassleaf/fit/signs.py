"""Columns with a sign keep it: slopes of finished models, whatever rounding did to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.design import Terms
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# A slope below this share of the coefficients that it is a sum of is rounding.
_ROUNDING = 1e-9


def keeping_signs(tree: Tree, signs: NDArray[np.int8]) -> Tree:
    """A tree in whose models no piece of a broken line goes against its column's sign.

    Training sees to that but for rounding, and for pieces that it could not tell apart.
    """
    if not signs.any():
        return tree
    return replace(tree, coef=with_signs(tree.coef, tree.terms, signs))


def with_signs(coef: Floats, terms: Terms, signs: NDArray[np.int8]) -> Floats:
    """Coefficients (nodes, terms) with pieces that would go against a sign made flat.

    >>> from glassleaf.fit.signs import _kept
    >>> _kept(np.array([[0.5, 0.25, -1.0, 0.5]]), 1)
    array([[ 0.5 ,  0.25, -0.75,  0.5 ]])
    """
    out = coef.copy()
    for column in np.flatnonzero(signs).tolist():
        chain = [int(terms.first_term[column]), *terms.hinge_terms(column)]
        out[:, chain] = _kept(out[:, chain], int(signs[column]))
    return out


def _kept(coef: Floats, sign: int) -> Floats:
    """The same of a line and its hinges."""
    out, slope = coef.copy(), np.zeros(len(coef))
    for k in range(coef.shape[1]):
        is_wrong = sign * (slope + out[:, k]) < 0
        out[is_wrong, k] = 0.0 - slope[is_wrong]
        slope = slope + out[:, k]
    return out


def by_pieces(own: Mapping[int, float], terms: Terms, column: int) -> dict[tuple[int, ...], float]:
    """The slopes of a column's broken line, each with the term it begins at and that it ends at.

    ``own`` are coefficients by term. Flat pieces have no slope to tell.
    """
    chain = [t for t in (int(terms.first_term[column]), *terms.hinge_terms(column)) if t in own]
    slopes = np.cumsum([own[term] for term in chain])
    least = _ROUNDING * max((abs(own[term]) for term in chain), default=0.0)
    return {
        (term, *chain[k + 1 : k + 2]): float(slope)
        for k, (term, slope) in enumerate(zip(chain, slopes, strict=True))
        if abs(slope) > least
    }
