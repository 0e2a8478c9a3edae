"""From the shortest model to the longest, on sums over the rows of the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf._kernels.selection import Quadratic, select_entries
from glassleaf.fit.path.leaf_sums import LeafSums, added
from glassleaf.fit.path.shape import Shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# An entry goes again if it is missed less than this share of what the newest one gained.
_BACK = 0.5
# Rows' worth of doubt about an entry, in the units of its column.
RIDGE_ROWS = 1.0
_INTERCEPT_RIDGE = 1e-9
_NO_ROWS = 1e-9
# A spread below this share of a column's square is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Steps:
    """Models of growing length: numbers to read, fall of the loss, differences of all nodes."""

    numbers: Ints
    fall: Floats
    entries: Floats  # (steps, nodes, parameters)


def select(shape: Shape, sums: LeafSums, unit: Floats, most_numbers: int) -> Steps:
    """The way from the shortest model to one of ``most_numbers``.

    ``unit`` is the size of every parameter's column, by which columns are divided meanwhile.
    """
    hessian, slope = shape.node_sums(sums)
    hessian /= unit[:, None] * unit
    slope /= unit
    ridge = np.full_like(slope, RIDGE_ROWS)
    is_intercept = shape.rules.intercept == np.arange(len(unit))
    # Without the rows of a fold there may be none.
    weight = np.maximum(hessian[0, is_intercept, is_intercept], _NO_ROWS)
    ridge[:, is_intercept] = _INTERCEPT_RIDGE * weight
    n_first = int(is_intercept.sum() + shape.rules.required.sum())
    n_steps, most = 3 * most_numbers, min(max(most_numbers, n_first), slope.size) + 2
    numbers, size = np.zeros((2, n_steps), dtype=np.int64)
    fall = np.zeros(n_steps)
    entry, theta = np.zeros((n_steps, most), dtype=np.int64), np.zeros((n_steps, most))
    quadratic = Quadratic(hessian, slope, ridge, shape.deeper())
    n_found = select_entries(
        quadratic, shape.prices, shape.rules, most_numbers, _BACK, numbers, fall, size, entry, theta
    )
    kept = _best_so_far(numbers[:n_found], fall[:n_found])
    entries = np.zeros((len(kept), slope.size))
    for step, found in enumerate(kept):
        own = slice(0, size[found])
        entries[step, entry[found, own]] = theta[found, own]
    entries = entries.reshape(-1, *slope.shape) / unit
    return Steps(numbers[kept], fall[kept], entries)


def _best_so_far(numbers: Ints, fall: Floats) -> Ints:
    """The steps that no shorter one beats.

    >>> _best_so_far(np.array([1, 3, 2, 3]), np.array([0.0, 4.0, 3.0, 5.0]))
    array([0, 2, 3])
    """
    order = np.lexsort((-fall, numbers))
    best = np.maximum.accumulate(fall[order])
    is_better = np.append(True, best[1:] > best[:-1])
    return np.asarray(order[is_better])


def learned_without(shape: Shape, folds: Sequence[LeafSums], unit: Floats, numbers: Ints) -> Floats:
    """Entries of models of these lengths, learned without each fold: (folds, steps, ...)."""
    everything = added(folds)
    out = []
    for fold in folds:
        steps = select(shape, everything - fold, unit, int(numbers[-1]))
        place = np.searchsorted(steps.numbers, numbers, side="right") - 1
        out.append(steps.entries[np.maximum(place, 0)])
    return np.array(out)


def units_of(sums: LeafSums, intercept: Ints, weight: float) -> Floats:
    """What columns are divided by: the spread of each, by curvature; an intercept has none."""
    hessian = sums.hessian.sum(axis=0)
    square, own = np.diagonal(hessian), np.arange(len(hessian))
    spread = square - hessian[own, intercept] ** 2 / square[intercept]
    is_known = spread > _ROUNDING * square
    return np.asarray(np.sqrt(np.where(is_known, spread, np.maximum(square, _ROUNDING)) / weight))
