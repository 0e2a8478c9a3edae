"""Coordinate descent on a quadratic problem: no rows."""

from __future__ import annotations

from glassleaf._kernels.compiling import kernel


@kernel
def descend_coordinates(hessian, slope, l1, lower, upper, x, tolerance, max_rounds):
    """Minimize x'Hx / 2 + slope'x + sum(l1 * |x|) with lower <= x <= upper, in place.

    Cyclic coordinate descent; stops when a whole round changes the value by less than
    ``tolerance``.
    """
    size = x.shape[0]
    product = slope.copy()
    for j in range(size):
        for k in range(size):
            product[k] += x[j] * hessian[j, k]
    for _ in range(max_rounds):
        gained = 0.0
        for j in range(size):
            curvature = hessian[j, j]
            if curvature <= 0.0:
                continue
            old = x[j]
            free = old * curvature - product[j]
            if free > l1[j]:
                new = (free - l1[j]) / curvature
            elif free < -l1[j]:
                new = (free + l1[j]) / curvature
            else:
                new = 0.0
            new = min(max(new, lower[j]), upper[j])
            change = new - old
            if change != 0.0:
                x[j] = new
                for k in range(size):
                    product[k] += change * hessian[j, k]
                gained += 0.5 * curvature * change * change
        if gained <= tolerance:
            break
