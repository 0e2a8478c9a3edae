"""How strong a penalty should be: Akaike's information criterion, on the sums of one Newton step.

Stronger shrinkage fits the rows at hand less well but spends fewer effective parameters, and each
of these is expected to lose half a unit of the likelihood ratio, one of the criterion, on new rows.
The criterion is the first-order form of leave-one-out cross-validation (Stone 1977), but leaves
nothing out: one decomposition of a small matrix gives it for every strength.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.newton import Penalty, Sums
from glassleaf.losses import Loss

Floats = NDArray[np.float64]

# In rows: the first of these is as if ten rows said "as the parent", the last as if a million did.
# In standardized units a row adds about the loss's ``row_curvature``.
STRENGTHS = np.array([10.0 * 10 ** (k / 2) for k in range(11)])
# Where numbers hardly vary around a model, ten rows are too many. For other losses, one
# Newton step does not tell that.
_WEAKER = np.array([10.0 * 10 ** (-k / 2) for k in range(1, 13)])


def with_best_alpha(
    penalty: Penalty,
    sums: Sums,
    theta: Floats,
    weight: float,
    loss: Loss,
) -> Penalty:
    """The penalty with the strength that the criterion prefers, from the sums at ``theta``."""
    assert sums.hessian is not None
    n_outputs, size = theta.shape
    hessians = sums.hessian
    if not loss.is_apart:
        hessians = hessians.reshape(1, n_outputs * size, -1)
    is_intercept = np.tile(np.arange(size) == size - 1, n_outputs // len(hessians))
    distances = penalty.distance(theta).reshape(len(hessians), -1)
    slopes = sums.gradient.reshape(len(hessians), -1)
    parts = [
        _without_intercepts(*own, is_intercept)
        for own in zip(hessians, slopes, distances, strict=True)
    ]
    curvature, slope, distance = (np.concatenate(own) for own in list(zip(*parts, strict=True))[:3])
    gained = sum(own[3] for own in parts)

    in_rows = np.append(STRENGTHS, _WEAKER) if loss.is_quadratic else STRENGTHS
    strengths = in_rows * loss.row_curvature
    alpha = strengths[:, None]
    step = -(slope + alpha * distance) / (curvature + alpha)
    fall = gained - step @ slope - 0.5 * step**2 @ curvature
    n_parameters = (curvature / (curvature + alpha)).sum(axis=1)
    price = _price(n_parameters, weight)
    best = known = 0
    for _ in strengths:  # how much targets vary is seen better with a penalty that suits them
        degrees = max(weight - float(n_parameters[known]) - n_outputs, 1.0)
        unit = dispersion(loss, sums.loss, sums.pearson, float(fall[known]), degrees)
        best = int(np.argmin(price - fall / unit)) if unit > 0 else known
        if strengths[best] >= strengths[known]:
            break
        known = best
    return replace(penalty, alpha=float(strengths[best]))


def dispersion(loss: Loss, value: float, pearson: float, fall: float, degrees: float) -> float:
    """How much more targets vary around a model than its loss assumes.

    The model's loss is ``value`` less its ``fall`` by a Newton step, and Pearson's statistic, near
    a minimum twice the loss, falls twice as much. Counts vary at least as they are assumed to.
    """
    if loss.is_overdispersed:
        return max((pearson - 2.0 * fall) / degrees, 1.0)
    return loss.dispersion(max(value - fall, 0.0) / degrees)


def _price(n_parameters: Floats, weight: float) -> Floats:
    """What effective parameters are expected to lose: one each, by Akaike's criterion.

    Those beyond what the first strength leaves cost as much as by Schwarz's, half the logarithm of
    the number of rows: a penalty weaker than usual has to be worth it without doubt.
    """
    dear = max(0.5 * np.log(weight), 1.0) if weight > 0 else 1.0
    beyond = np.maximum(n_parameters - n_parameters[0], 0.0)
    return np.asarray(n_parameters + (dear - 1.0) * beyond)


def _without_intercepts(
    hessian: Floats, gradient: Floats, distance: Floats, is_intercept: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, float]:
    """The problem of the weights alone, each time with the best intercepts, in its main axes.

    Returns curvatures of the axes, slopes and distances along them, and how far the loss falls by
    the intercepts alone.
    """
    weights = ~is_intercept
    inner = _pseudo_inverse(hessian[np.ix_(is_intercept, is_intercept)])
    mixed = hessian[np.ix_(weights, is_intercept)] @ inner
    slope = gradient[weights] - mixed @ gradient[is_intercept]
    left = hessian[np.ix_(weights, weights)] - mixed @ hessian[np.ix_(is_intercept, weights)]
    curvature, rotation = np.linalg.eigh(left)
    gained = 0.5 * float(gradient[is_intercept] @ inner @ gradient[is_intercept])
    return np.maximum(curvature, 0.0), rotation.T @ slope, rotation.T @ distance, gained


def _pseudo_inverse(matrix: Floats) -> Floats:
    """The pseudo-inverse, by a short way for a single number, which is the usual case."""
    if len(matrix) > 1:
        return np.asarray(np.linalg.pinv(matrix, hermitian=True))
    return np.divide(1.0, matrix, out=np.zeros_like(matrix), where=matrix != 0)
