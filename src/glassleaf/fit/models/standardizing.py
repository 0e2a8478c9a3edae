"""Between the columns that rows hold and a node's own: all of them, of mean 0 and spread 1.

Sums over rows come in the former, models are fitted in the latter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.tables.design import Layout

Floats = NDArray[np.float64]


def inverse(spread: Floats) -> Floats:
    """1 / spread, and 0 for a constant column: it takes no part."""
    return np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


def stored_parameters(theta: Floats, mean: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """Coefficients and intercepts for columns as they are, from those for (x - mean) * factor."""
    coef = theta[:, :-1] * factor
    return coef, theta[:, -1] - coef @ mean


class Standardizing:
    """The change of columns of one node (``mean`` and ``spread`` are vectors) or of several.

    Of several nodes, sums are given in the same order.
    """

    def __init__(self, layout: Layout, mean: Floats, spread: Floats) -> None:
        self._layout = layout
        self._mean = mean
        self._factor = inverse(spread)

    def at_rows(self, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients and intercepts for the columns that rows hold, from a node's parameters."""
        return self._layout.reduce_coef(*stored_parameters(theta, self._mean, self._factor))

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
