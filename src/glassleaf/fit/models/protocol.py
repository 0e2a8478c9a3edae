"""What a growing tree asks of the models in its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel

Floats = NDArray[np.float64]


class Models(Protocol):
    """The models of the nodes of one tree.

    Only linear models can be fitted from sums to the sides of a split, to rows near a border or to
    fewer columns. ``linear`` are the models that can; None says that these cannot.
    """

    @property
    def linear(self) -> LinearModels | None: ...

    def root(self, start: Floats) -> NodeModel:
        """The root's model before it is fitted."""
        ...

    def children(self, ids: Sequence[int], parents: Sequence[NodeModel]) -> list[NodeModel]:
        """Models of new nodes, each starting from its parent's."""
        ...

    def fit(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Fit the models of several nodes."""
        ...

    def set_vectors(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Store every row's gradient, for the search of splits."""
        ...
