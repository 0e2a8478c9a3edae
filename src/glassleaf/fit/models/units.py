"""The model of one node, and the units it is written in.

Rows hold columns in units of their own, and only some of them. A node's model is fitted to all
columns, of mean 0 and spread 1 within the node; sums over rows are changed to these. Gradients for
the search of a split are asked for in a third kind of units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.rows.passes import RowModel
from glassleaf.tables.design import Layout

Floats = NDArray[np.float64]


def inverse(spread: Floats) -> Floats:
    """1 / spread, and 0 for a constant column: it takes no part."""
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


def stored_parameters(theta: Floats, mean: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """Coefficients and intercepts for columns as they are, from those for (x - mean) * factor."""
    coef = theta[:, :-1] * factor
    return coef, theta[:, -1] - coef @ mean


@dataclass
class NodeModel:
    """The model of one node and the units it is fitted in.

    ``mean`` and ``spread`` are those of the stored columns in the units in which rows are stored
    (a constant column has spread 0). ``center`` and ``unit`` lead from there to raw values:
    ``raw = center + unit * stored``. ``theta`` are the parameters per output, for columns of mean
    0 and spread 1, intercept last; ``towards`` are the weights that the penalty pulls to, None for
    zero, and ``alpha`` is how hard. Columns that are left out have the weight zero. ``pearson`` is
    the sum of squared slopes over curvatures, where it tells of overdispersion.
    """

    count: int
    weight: float
    support: Floats
    mean: Floats
    spread: Floats
    center: Floats
    unit: Floats
    theta: Floats
    alpha: float = 0.0
    towards: Floats | None = None
    loss: float = np.nan
    penalty: float = 0.0
    pearson: float = 0.0
    custom: Any = None

    @property
    def objective(self) -> float:
        """The penalized loss, which the model minimizes."""
        return self.loss + self.penalty

    def raw_parameters(self) -> tuple[Floats, Floats]:
        """Coefficients and intercepts on the raw scale of the columns (the paper, section 4)."""
        coef, intercept = self.stored_parameters()
        return coef / self.unit, intercept - coef @ (self.center / self.unit)

    def stored_parameters(self) -> tuple[Floats, Floats]:
        """Coefficients and intercepts for columns as they are stored."""
        return stored_parameters(self.theta, self.mean, inverse(self.spread))

    def with_column(self, place: int) -> NodeModel:
        """The same model and one more, unused column, of about mean 0 and spread 1."""
        assert self.towards is None
        return replace(
            self,
            mean=np.insert(self.mean, place, 0.0),
            spread=np.insert(self.spread, place, 1.0),
            center=np.insert(self.center, place, 0.0),
            unit=np.insert(self.unit, place, 1.0),
            theta=np.insert(self.theta, place, 0.0, axis=1),
        )

    def adopt(self, coef: Floats, intercept: Floats) -> None:
        """Take over parameters given on the raw scale."""
        stored_coef = coef * self.unit
        stored_intercept = intercept + coef @ self.center
        weights = stored_coef * self.spread
        self.theta = np.column_stack([weights, stored_intercept + stored_coef @ self.mean])


class Standardizing:
    """The change of columns of one node (``mean`` and ``spread`` are vectors) or of several.

    The sums of several nodes come in the same order.
    """

    def __init__(self, layout: Layout, mean: Floats, spread: Floats) -> None:
        self._layout = layout
        self._mean = mean
        self._factor = inverse(spread)

    def at_rows(self, theta: Floats) -> RowModel:
        """The model of the columns that rows hold, from a node's parameters."""
        stored = stored_parameters(theta, self._mean, self._factor)
        return RowModel(*self._layout.reduce_coef(*stored))

    def gradients(self, sums: Floats) -> Floats:
        """Sums of factors times columns, the constant 1 last, one row per factor or node."""
        out = np.empty((len(sums), self._layout.n_columns + 1))
        columns, total = out[:, :-1], sums[:, -1]
        np.subtract(
            self._layout.expand_sums(sums[:, :-1], total), self._mean * total[:, None], out=columns
        )
        columns *= self._factor
        out[:, -1] = total
        return out

    def grams(self, sums: Floats) -> Floats:
        """Sums of factors times products of two columns, one matrix per factor or node."""
        layout = self._layout
        shape = (len(sums), layout.n_columns)
        out = np.empty((len(sums), layout.n_columns + 1, layout.n_columns + 1))
        # Copies: a kernel is compiled again for arrays that may not be written to.
        mean, factor = (
            np.array(np.broadcast_to(own, shape), order="C") for own in (self._mean, self._factor)
        )
        _kernels.standardize_grams(
            np.ascontiguousarray(sums),
            layout.n_dense,
            layout.members,
            layout.first,
            mean,
            factor,
            out,
        )
        return out


@dataclass(frozen=True)
class NodeUnits:
    """Spread and range of the columns in the node, and the units that gradients are asked for."""

    spread: Floats
    extent: Floats
    factor: Floats
    shift: Floats
    has_intercept: bool = True  # whether gradients by the intercepts count


NO_UNITS = NodeUnits(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))


def fixed_units(model: NodeModel, root: NodeModel, standardized: bool) -> NodeUnits:
    """The units in which a node's gradients are taken when they are not renormalized.

    Raw units or those of the root; either way one change of units for all sides of all splits.
    """
    factor, shift = model.unit.copy(), model.center.copy()
    if standardized:
        root_center = root.center + root.unit * root.mean
        root_unit = root.unit * root.spread
        per_unit = inverse(root_unit)
        factor, shift = factor * per_unit, (shift - root_center) * per_unit
    return NodeUnits(spread=model.spread, extent=model.spread, factor=factor, shift=shift)
