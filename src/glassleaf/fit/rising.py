"""What one more bend explains of a curve that may only rise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf._kernels import descend_coordinates
from glassleaf.fit.models.slopes import Chain, by_slopes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MAX_DESCENTS = 1000
# What a descent may leave, as a share of what there is to explain.
_ENOUGH = 1e-12


def explained_by_rising(
    term: Floats, curvature: Floats, target: Floats, places: Floats, others: Sequence[float]
) -> Floats:
    """What a bend at each place explains beside the ``others``: a sum of squares.

    The curves are the broken lines through all of them that never fall and are nearest to the
    targets of the bins, each with a constant of its own.
    """
    hinges = np.concatenate([np.asarray(others, dtype=np.float64), places])
    columns = np.column_stack([term, np.maximum(term[:, None] - hinges, 0.0)])
    columns = columns - np.average(columns, axis=0, weights=curvature)
    gram, product = columns.T @ (curvature[:, None] * columns), columns.T @ (curvature * target)
    known = np.arange(1, len(others) + 1)
    before = _fall(gram, product, known, hinges)
    return np.array([
        2.0 * (_fall(gram, product, np.append(known, 1 + len(others) + k), hinges) - before)
        for k in range(len(places))
    ])  # fmt: skip


def _fall(gram: Floats, product: Floats, used: Ints, hinges: Floats) -> float:
    """By how much a line and some hinges, of slopes >= 0, lower half the sum of squares."""
    own = np.append(0, used[np.argsort(hinges[used - 1], kind="stable")])
    chain = (Chain(np.arange(len(own)), np.ones(len(own))),)
    matrix = by_slopes(by_slopes(gram[np.ix_(own, own)], chain).T, chain)
    linear = by_slopes(-product[own], chain)
    slopes, none = np.zeros((2, len(own)))
    most = float((linear**2 / np.maximum(np.diagonal(matrix), np.finfo(float).tiny)).max())
    descend_coordinates(
        np.ascontiguousarray(matrix), linear, none, none, np.full(len(own), np.inf), slopes,
        _ENOUGH * most, _MAX_DESCENTS,
    )  # fmt: skip
    return -float(linear @ slopes + slopes @ matrix @ slopes / 2)
