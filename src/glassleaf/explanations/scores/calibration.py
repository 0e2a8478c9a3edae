"""Calibration slope and intercept: a model of the outcome on what was predicted.

The slope is that of the outcome on the prediction, on the scale of the link: 1 if predictions
spread as they should, less if they are too extreme, as those of an overfitted model are. The
intercept is what has to be added to the prediction on that scale, its slope held at 1: 0 if
predictions are right on average (Van Calster and others 2019). Both solve estimating equations;
their influence values give standard errors that do not ask for the outcome's distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from glassleaf.explanations import scores

Floats = NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
_SMALLEST = 1e-300
_STEPS = 100
# A step of Newton changes no score by more than this, where it is not exact.
_REACH = 2.0
_CONVERGED = 1e-10


@dataclass(frozen=True)
class Family:
    """How outcomes follow predictions: link, its inverse, and the slope of the loss in the score.

    ``pull(y, mean)`` is minus that slope, ``curvature(y, mean)`` the second derivative.
    """

    link: Callable[[Floats], Floats]
    mean: Callable[[Floats], Floats]
    pull: Callable[[Floats, Floats], Floats]
    curvature: Callable[[Floats, Floats], Floats]
    reach: float = _REACH


def _log(p: Floats) -> Floats:
    return np.log(np.maximum(p, _SMALLEST))


def _logit(p: Floats) -> Floats:
    return np.asarray(logit(np.clip(p, _EPSILON, 1 - _EPSILON)))


# By the name of the loss; what is not here is treated as a number.
_FAMILIES = {
    "poisson": Family(_log, np.exp, lambda y, m: y - m, lambda y, m: m),
    "gamma": Family(_log, np.exp, lambda y, m: y / m - 1, lambda y, m: y / m),
    "class": Family(_logit, expit, lambda y, m: y - m, lambda y, m: m * (1 - m)),
}
_NUMBERS = Family(
    np.asarray, np.asarray, lambda y, m: y - m, lambda y, m: np.ones_like(m), reach=np.inf
)


def calibration_slope(loss: str, y: Floats, p: Floats, w: Floats) -> float:
    """The slope; NaN where predictions or outcomes do not vary, or the slope is infinite."""
    return _slope(loss, y, p, w)[0]


def calibration_slope_influence(loss: str, y: Floats, p: Floats, w: Floats) -> Floats:
    """Influence values of the slope."""
    return _slope(loss, y, p, w)[1]


def calibration_intercept(loss: str, y: Floats, p: Floats, w: Floats) -> float:
    """The intercept; NaN where it is infinite."""
    return _intercept(loss, y, p, w)[0]


def calibration_intercept_influence(loss: str, y: Floats, p: Floats, w: Floats) -> Floats:
    """Influence values of the intercept."""
    return _intercept(loss, y, p, w)[1]


def _slope(loss: str, y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
    family = _FAMILIES.get(loss, _NUMBERS)
    score = family.link(p)
    center = scores.mean(score, w)
    away = score - center
    if not (np.abs(away[w > 0]) > 1e-12 * abs(center)).any():
        return np.nan, np.full(len(y), np.nan)
    columns = np.column_stack([np.ones(len(y)), away])
    return _solved(family, y, columns, np.zeros(len(y)), np.array([center, 1.0]), w)


def _intercept(loss: str, y: Floats, p: Floats, w: Floats) -> tuple[float, Floats]:
    family = _FAMILIES.get(loss, _NUMBERS)
    return _solved(family, y, np.ones((len(y), 1)), family.link(p), np.zeros(1), w)


def _solved(
    family: Family, y: Floats, columns: Floats, offset: Floats, start: Floats, w: Floats
) -> tuple[float, Floats]:
    """The last coefficient of the model, by Newton's method, and its influence values."""
    coef = start
    for _ in range(_STEPS):
        mean = family.mean(offset + columns @ coef)
        pulls = columns * (w * family.pull(y, mean))[:, None]
        hessian = columns.T @ (columns * (w * family.curvature(y, mean))[:, None])
        if not (np.linalg.cond(hessian) < 1 / _EPSILON):
            break
        step = np.linalg.solve(hessian, pulls.sum(axis=0))
        far = np.abs(columns @ step).max()
        if far <= _CONVERGED * (1 + np.abs(offset + columns @ coef).max()):
            return float(coef[-1]), np.linalg.solve(hessian, len(y) * pulls.T)[-1]
        coef = coef + step * min(1.0, family.reach / far)
    return np.nan, np.full(len(y), np.nan)
