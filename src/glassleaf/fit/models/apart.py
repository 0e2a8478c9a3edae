"""Many outputs, each with a Hessian of its own, and what steps tell of how they curve together.

The matrix of all pairs of outputs grows with their square, and its factors with their cube. Above
``losses.MANY_OUTPUTS`` it is not summed. Every output has its own equations; the change of the
gradient along the last few steps corrects them (the limited-memory method of Broyden, Fletcher,
Goldfarb & Shanno: Nocedal 1980, from the matrix of these equations instead of a multiple of one).
The minimum is the same; only the way there differs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.newton import Penalty, QuadraticModel

Floats = NDArray[np.float64]

# Steps that are remembered.
_N_SEEN = 12


class ApartModel:
    """The Hessians of outputs (outputs, columns, columns), ready to solve for any gradient."""

    is_well_conditioned = False  # a step is no sure way to the minimum

    def __init__(self, hessian: Floats, penalty: Penalty) -> None:
        self._penalty = penalty
        self._outputs = [
            QuadraticModel(own[None, :, None], of_output(penalty, k))
            for k, own in enumerate(hessian)
        ]
        self._seen: deque[tuple[Floats, Floats]] = deque(maxlen=_N_SEEN)
        self._predicted = 0.0

    def step(self, theta: Floats, gradient: Floats) -> tuple[Floats, float]:
        """The change that minimizes the quadratic model, and the decrease it predicts."""
        if not self._penalty.is_smooth:
            return self._steps(theta, gradient)
        slope = self._penalty.slope(theta, gradient)
        change = -self._corrected(slope)
        self._predicted = -0.5 * float((slope * change).sum())
        return change, self._predicted

    def saw(self, change: Floats, slope_change: Floats) -> None:
        """Remember how the slope of the penalized loss changed along a step."""
        if self._penalty.is_smooth and float((change * slope_change).sum()) > 0:
            self._seen.append((change, slope_change))

    def shrinkage(self) -> Floats:
        """For every direction of the parameters, the share that the penalty leaves of it."""
        return np.concatenate([own.shrinkage() for own in self._outputs])

    def loss_change(self, gradient: Floats, change: Floats) -> float:
        """What the quadratic model says of the loss alone, of the last step."""
        weights = change[:, :-1]
        curved = 2.0 * self._predicted - self._penalty.l2 * float((weights**2).sum())
        return float((gradient * change).sum()) + 0.5 * curved

    def _steps(self, theta: Floats, gradient: Floats) -> tuple[Floats, float]:
        """The step of each output by itself."""
        found = [
            own.step(theta[k : k + 1], gradient[k : k + 1]) for k, own in enumerate(self._outputs)
        ]
        self._predicted = sum(predicted for _, predicted in found)
        return np.concatenate([change for change, _ in found]), self._predicted

    def _solved(self, slope: Floats) -> Floats:
        return np.concatenate([own.solved(slope[k : k + 1]) for k, own in enumerate(self._outputs)])

    def _corrected(self, slope: Floats) -> Floats:
        """The inverse Hessian times a slope, by the two loops of Nocedal (1980)."""
        left, factors = slope, []
        for change, slope_change in reversed(self._seen):
            rate = 1.0 / float((change * slope_change).sum())
            factor = rate * float((change * left).sum())
            left = left - factor * slope_change
            factors.append((factor, rate))
        out = self._solved(left)
        for (change, slope_change), (factor, rate) in zip(
            self._seen, reversed(factors), strict=True
        ):
            out = out + (factor - rate * float((slope_change * out).sum())) * change
        return out


def of_output(penalty: Penalty, output: int) -> Penalty:
    """The penalty of one output's weights."""
    if penalty.towards is None:
        return penalty
    return replace(penalty, towards=penalty.towards[output : output + 1])
