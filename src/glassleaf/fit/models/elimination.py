"""Which columns a short formula keeps: backward elimination on the quadratic model of a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def eliminate(matrix: Floats, theta: Floats, group: Ints, n_kept: int) -> set[int]:
    """The groups of parameters that remain when the cheapest are set to zero one by one.

    Around its minimum ``theta`` the objective is ``d' matrix d / 2``. Setting the parameters of a
    group S to zero, the others following, costs ``theta_S' inv(inv(matrix)_SS) theta_S / 2``.
    Group -1 (the intercepts) is never removed.
    """
    theta = theta.copy()
    inverse = np.linalg.pinv(matrix, hermitian=True)
    remaining = {int(g) for g in np.unique(group) if g >= 0 and np.any(theta[group == g])}
    while len(remaining) > n_kept:
        inner = {g: np.linalg.pinv(inverse[np.ix_(group == g, group == g)]) for g in remaining}
        cost = {g: float(theta[group == g] @ inner[g] @ theta[group == g]) for g in remaining}
        cheapest = min(sorted(remaining), key=lambda g: cost[g])
        here = group == cheapest
        follow = inverse[:, here] @ inner[cheapest]
        theta = theta - follow @ theta[here]
        inverse = inverse - follow @ inverse[here]
        theta[here] = 0.0
        remaining.remove(cheapest)
    return remaining
