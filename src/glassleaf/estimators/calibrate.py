"""What calibration rows teach: half-widths of intervals, and the scale of log-odds.

Intervals are those of split-conformal prediction. A row's score is the distance of its target
from its prediction, in units of the leaf's own spread in training. The half-width for a coverage c
is the smallest score that a share c of the calibration rows and the new row does not exceed. Each
leaf with enough rows is judged by these (Mondrian); the others are one part together, which takes
in the smallest of those leaves as long as it has too few rows itself. So every leaf is in one part,
and coverage holds in every part.

Rows of a group are one observation: in a part, each counts by one over the number of its group's
rows there, and the new group counts as one at infinity (hierarchical conformal prediction; Lee,
Barber and Willett 2023). Coverage is then that of one row of a new group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from glassleaf.losses import Loss
from glassleaf.tree.calibration import Intervals, Scaling
from glassleaf.tree.coverage import LEVELS
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Observations by which a leaf is judged alone: coverage of 0.9 is then known to within 0.03.
_ENOUGH = 100
# A leaf's spread counts as at least this share of that of all rows.
_LEAST_SPREAD = 0.01
# What is known to within this, in observations, is the same.
_ROUNDING = 1e-9
# Observations, and those of each class, for which a leaf's odds have a scale of their own.
_ENOUGH_FOR_ODDS = 200
_ENOUGH_OF_CLASS = 50
_STEEPEST = 10.0


def learn_intervals(
    tree: Tree, loss: Loss, nodes: Ints, prediction: Floats, y: Floats, group: Ints
) -> Intervals:
    """Half-widths of intervals from calibration rows, of which each belongs to a group."""
    spread = leaf_spreads(tree, loss)
    unit = np.maximum(prediction**loss.spread_power, np.finfo(float).tiny)
    scores = np.abs(y - prediction) / (spread[nodes] * unit)
    level = np.array(LEVELS)
    leaves = np.flatnonzero(tree.left == LEAF)
    count = np.zeros(tree.node_count, dtype=np.int64)
    for leaf in leaves:
        count[leaf] = len(np.unique(group[nodes == leaf]))
    width = np.full((tree.node_count, len(level)), np.inf)
    for enough in np.unique(_needed(level)).tolist():
        asked = _needed(level) == enough
        for part in parts_of(leaves, count, nodes, group, enough):
            here = np.isin(nodes, part)
            found = quantiles(scores[here], group[here], level[asked])
            width[np.ix_(part, asked)] = spread[part][:, None] * found
    return Intervals(level, width, count, count >= _ENOUGH, loss.spread_power)


def leaf_spreads(tree: Tree, loss: Loss) -> Floats:
    """Spread of the training targets around every node's model, as a multiple of what it varies by.

    Any positive numbers would do that do not depend on calibration rows.
    """
    mean_loss = tree.loss / np.maximum(tree.weight, np.finfo(float).tiny)
    spread = np.sqrt([max(loss.dispersion(float(own)), 0.0) for own in mean_loss])
    least = _LEAST_SPREAD * spread[0]
    return np.maximum(spread, least) if least > 0 else np.ones_like(spread)


def _needed(level: Floats) -> Ints:
    """How many observations a part needs for a finite interval, at least those that are enough."""
    return np.maximum(np.ceil(level / (1 - level) - _ROUNDING), _ENOUGH).astype(np.int64)


def parts_of(
    leaves: Ints, count: Ints, nodes: Ints, group: Ints, enough: int
) -> list[NDArray[np.intp]]:
    """The leaves in parts: each alone that has enough observations, the others together."""
    ordered = leaves[np.argsort(count[leaves], kind="stable")]
    n_shared = int((count[ordered] < enough).sum())
    while 0 < n_shared < len(ordered) and _n_groups(ordered[:n_shared], nodes, group) < enough:
        n_shared += 1
    shared = [ordered[:n_shared]] if n_shared else []
    return [*shared, *ordered[n_shared:, None]]


def _n_groups(part: Ints, nodes: Ints, group: Ints) -> int:
    return len(np.unique(group[np.isin(nodes, part)]))


def quantiles(scores: Floats, group: Ints, level: Floats) -> Floats:
    """The smallest scores that these shares of all observations, and a new one, do not exceed.

    Rows of a group share the weight of one observation. Infinite where a level needs more of them.

    >>> quantiles(np.arange(1.0, 10.0), np.arange(9), np.array([0.5, 0.9, 0.95]))
    array([ 5.,  9., inf])
    """
    _, of_row, size = np.unique(group, return_inverse=True, return_counts=True)
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(1.0 / size[of_row][order])
    place = np.searchsorted(reached, level * (len(size) + 1) - _ROUNDING * (len(size) + 1))
    return np.append(scores[order], np.inf)[place]


# --- probabilities -------------------------------------------------------------------------------


def learn_scaling(
    tree: Tree, loss: Loss, nodes: Ints, raw: Floats, y: Floats, group: Ints, shares: bool
) -> Scaling:
    """Slope and shift of the scores by which calibration rows lose least.

    Of leaves that share a formula (``shares``), one for all: so that they still do. Else one for
    every leaf that has enough rows, and one for all others, which all rows tell.
    """
    count = np.zeros(tree.node_count, dtype=np.int64)
    slope, shift = np.empty(tree.node_count), np.empty((tree.node_count, raw.shape[1]))
    is_own = np.zeros(tree.node_count, dtype=np.bool_)
    slope[:], shift[:] = _scale(loss, raw, y, group)
    for leaf in np.flatnonzero(tree.left == LEAF).tolist():
        here = nodes == leaf
        count[leaf] = len(np.unique(group[here]))
        is_own[leaf] = not shares and _tells_odds(y[here], group[here], max(2, raw.shape[1]))
        if is_own[leaf]:
            slope[leaf], shift[leaf] = _scale(loss, raw[here], y[here], group[here])
    return Scaling(slope, shift.reshape(tree.intercept.shape), count, is_own)


def _tells_odds(y: Floats, group: Ints, n_classes: int) -> bool:
    """Whether there are enough observations, and enough of each class."""
    per_class = [len(np.unique(group[y == k])) for k in range(n_classes)]
    return len(np.unique(group)) >= _ENOUGH_FOR_ODDS and min(per_class) >= _ENOUGH_OF_CLASS


def _scale(loss: Loss, raw: Floats, y: Floats, group: Ints) -> tuple[float, Floats]:
    """The slope, not negative, and the shifts that lose least on some rows."""
    _, of_row, size = np.unique(group, return_inverse=True, return_counts=True)
    weight = 1.0 / size[of_row]
    unit = float(np.std(raw)) or 1.0
    single = raw.shape[1] == 1

    def lost(given: Floats) -> tuple[float, Floats]:
        moved = given[0] / unit * raw + given[1:]
        value, gradient, _ = loss.derivatives(
            y, moved[:, 0] if single else moved, with_hessian=False
        )
        gradient = weight[:, None] * gradient.reshape(raw.shape)
        by_slope = (gradient * raw).sum() / unit
        total = np.concatenate([[by_slope], gradient.sum(axis=0)]) / weight.sum()
        return float(weight @ value / weight.sum()), total

    start: Sequence[float] = [unit, *np.zeros(raw.shape[1])]
    bounds = [(0.0, _STEEPEST * unit), *[(None, None)] * raw.shape[1]]
    found = minimize(
        lost, start, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
    ).x  # fmt: skip
    return float(found[0] / unit), found[1:]
