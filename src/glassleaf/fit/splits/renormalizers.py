"""Gradient sums to comparable gradient sums (equations 10 to 14 of the paper).

For a side S of a split and a linear change of units ``x' = a * x + c``, the gradient by the
parameters in the new units is ``g'_w = a * g_w + c * g_b`` and ``g'_b = g_b``. The renormalizers
differ only in a and c. Each takes the sums of one side of many candidates at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.units import NodeUnits
from glassleaf.rows.settings import Renormalization

Floats = NDArray[np.float64]

# A column whose spread on a side is below this share of its spread in the node counts as constant
# there: its weight cannot be told from the intercept, and noise must not win by a tiny divisor.
CONSTANT_SIDE = 1e-5


@dataclass(frozen=True)
class SideSums:
    """Sums over one side of every candidate (first axis), in the units in which rows are stored.

    ``values`` are the summed row vectors: the gradients by the raw outputs (or the target's
    statistics), then the weight. ``moments`` are the sums of vector times design column, shape
    (candidates, vector, columns): the gradients by the weights, then the weighted columns, and
    last, if asked for, the weighted squares of the columns. ``low`` and ``high`` are their ranges.
    """

    count: Floats
    values: Floats
    moments: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None

    @property
    def weight(self) -> Floats:
        return self.values[:, -1]

    @property
    def slopes(self) -> Floats:
        """The gradients by the intercepts."""
        return self.values[:, :-1]

    @property
    def column_slopes(self) -> Floats:
        """The gradients by the weights, in the units in which rows are stored."""
        assert self.moments is not None
        return self.moments[:, : self.values.shape[1] - 1]


class Renormalizer(Protocol):
    """Gradient of one side by all parameters, in the side's own units."""

    def gradient(self, side: SideSums, node: NodeUnits) -> Floats: ...


def change_units(columns: Floats, intercept: Floats, factor: Floats, shift: Floats) -> Floats:
    """Equation 14: ``(a * g_w + c * g_b, g_b)``, flattened over outputs.

    >>> change_units(np.array([[[6.0]]]), np.array([[2.0]]), np.array([0.5]), np.array([-1.0]))
    array([[1., 2.]])
    """
    if factor.ndim == 2:  # per candidate
        factor, shift = factor[:, None, :], shift[:, None, :]
    weights = columns * factor
    weights += intercept[:, :, None] * shift
    return np.concatenate([weights.reshape(len(weights), -1), intercept], axis=1)


@dataclass(frozen=True)
class Unchanged:
    """No renormalization: gradients in fixed units, raw or standardized over all rows."""

    def gradient(self, side: SideSums, node: NodeUnits) -> Floats:
        return change_units(side.column_slopes, side.slopes, node.factor, node.shift)


@dataclass(frozen=True)
class ZScore:
    """Mean 0 and standard deviation 1 on the side: ``a = 1 / sigma, c = -mu / sigma``."""

    def gradient(self, side: SideSums, node: NodeUnits) -> Floats:
        assert side.moments is not None
        weight = side.weight[:, None]
        share = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
        mean = side.moments[:, -2] * share
        variance = side.moments[:, -1] * share - mean**2
        varies = variance > self.floor(node)
        factor = np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
        return change_units(side.column_slopes, side.slopes, factor, -mean * factor)

    @staticmethod
    def floor(node: NodeUnits) -> Floats:
        """Variance at which a column counts as constant on a side."""
        return np.where(node.spread > 0, (CONSTANT_SIDE * node.spread) ** 2, np.inf)


@dataclass(frozen=True)
class MinMax:
    """Range 0 to 1 on the side: ``a = 1 / (max - min), c = -min / (max - min)``."""

    def gradient(self, side: SideSums, node: NodeUnits) -> Floats:
        assert side.low is not None and side.high is not None
        extent = side.high - side.low
        varies = extent > CONSTANT_SIDE * node.extent
        factor = np.divide(1.0, extent, out=np.zeros_like(extent), where=varies)
        shift = -np.where(varies, side.low, 0.0) * factor
        return change_units(side.column_slopes, side.slopes, factor, shift)


RENORMALIZERS: dict[Renormalization, Renormalizer] = {
    None: Unchanged(),
    "zscore": ZScore(),
    "minmax": MinMax(),
}
