"""The model of one node, and the units it is fitted in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.standardizing import inverse, stored_parameters
from glassleaf.fit.splits.renormalizers import NodeUnits

Floats = NDArray[np.float64]


@dataclass
class NodeModel:
    """The model of one node and the units it is fitted in.

    ``mean`` and ``spread`` are those of the stored columns in the units in which rows are stored
    (a constant column has spread 0). ``center`` and ``unit`` lead from there to raw values:
    ``raw = center + unit * stored``. ``theta`` are the parameters per output, for columns of mean
    0 and spread 1, intercept last; ``towards`` are the weights that the penalty pulls to, None for
    zero, and ``alpha`` is how hard. Columns that are left out have the weight zero.
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
    is_left_out: NDArray[np.bool_] | None = None
    loss: float = np.nan
    penalty: float = 0.0
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
        assert self.towards is None and self.is_left_out is None
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
