"""The gain of every candidate split, from the sums of its two sides.

A criterion sees sums, never rows, thresholds or features. ``uses`` says which sums it wants:
``"gradient"`` (of the node's model) or ``"target"`` (of y itself); ``units`` in which units of the
columns gradients are taken. To add one, write a class like those below and pass an instance as
``criterion=``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

Floats = NDArray[np.float64]

# "zscore", "minmax": the side's own, with mean 0 and standard deviation 1, or from 0 to 1;
# "standardized": the same for all sides, with mean 0 and standard deviation 1 over all rows;
# "raw": as the columns are.
GradientUnits = Literal["zscore", "minmax", "standardized", "raw"]


@dataclass(frozen=True)
class Side:
    """One side of every candidate: ``count`` rows of total ``weight``.

    ``sums`` has one row per candidate: the gradient by all parameters, or the sums of the
    target's statistics (regression: y, y**2; classification: the weight of each class).
    """

    count: Floats
    weight: Floats
    sums: Floats


@runtime_checkable
class Criterion(Protocol):
    """Gain of all candidates at once; larger is better.

    A criterion of gradients may have an attribute ``units``, one of ``GradientUnits``; without it
    they are "zscore".
    """

    @property
    def uses(self) -> Literal["gradient", "target"]: ...

    def gain(self, left: Side, right: Side) -> Floats: ...


@dataclass(frozen=True)
class GradientGain:
    """The paper's criterion (equation 6); of "raw" columns it is MT-G, of "zscore" MT-GR."""

    uses: ClassVar[Literal["gradient"]] = "gradient"
    units: GradientUnits = "zscore"

    def gain(self, left: Side, right: Side) -> Floats:
        return gradient_gain(left) + gradient_gain(right)


def gradient_gain(side: Side) -> Floats:
    """``|g_S|^2 / |S|``: the loss that one gradient step of length 1 takes off the side.

    >>> gradient_gain(Side(np.array([2.0]), np.array([2.0]), np.array([[3.0, 1.0]])))
    array([5.])
    """
    return np.asarray(np.einsum("cp,cp->c", side.sums, side.sums) / side.weight)


@dataclass(frozen=True)
class VarianceReduction:
    """The regression tree's criterion: how much the squared error of the mean falls."""

    uses: ClassVar[Literal["target"]] = "target"

    def gain(self, left: Side, right: Side) -> Floats:
        difference = left.sums[:, 0] / left.weight - right.sums[:, 0] / right.weight
        return left.weight * right.weight / (left.weight + right.weight) * difference**2


@dataclass(frozen=True)
class InformationGain:
    """The classification tree's criterion: how much the entropy falls, times the weight."""

    uses: ClassVar[Literal["target"]] = "target"

    def gain(self, left: Side, right: Side) -> Floats:
        whole = Side(left.count + right.count, left.weight + right.weight, left.sums + right.sums)
        return entropy(whole) - entropy(left) - entropy(right)


def entropy(side: Side) -> Floats:
    """Weight times entropy in nats: the log loss of predicting the shares of the classes."""
    sums = np.maximum(side.sums, 0.0)  # a difference of sums may be a rounding below zero
    return np.asarray(xlogy(side.weight, side.weight) - xlogy(sums, sums).sum(axis=1))
