"""The way of the lasso from no column to all of them, for every loss of the evaluation.

scikit-learn has it for squared error alone. Here each penalty's model is found by proximal Newton
steps from the one before: one Hessian per penalty, over the columns that the strong rule leaves
(Tibshirani and others 2012), and gradients until nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from glassleaf.losses import Loss

Floats = NDArray[np.float64]

STEPS, LAST = 100, 1e-4  # penalties, and the last one as a share of the first, as in glmnet
_MOST_ROUNDS = 20
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Linear:
    """A linear model of standardized columns, a row of coefficients per output."""

    intercept: Floats
    coef: Floats

    def raw(self, X: Floats) -> Floats:
        """A column per output, or a single one flat."""
        found = X @ self.coef.T + self.intercept
        return found if len(self.coef) > 1 else found[:, 0]


def standardized(X: Any, *others: Any) -> list[Floats]:
    """Columns of mean zero and variance one, in memory column by column."""
    tables = [table.toarray() if sparse.issparse(table) else table for table in (X, *others)]
    scaler = StandardScaler().fit(tables[0])
    return [np.asfortranarray(scaler.transform(table)) for table in tables]


def lasso_path(X: Floats, y: Floats, weight: Floats, loss: Loss, most: int) -> Iterator[Linear]:
    """Models of growing length: in small steps up to so many coefficients, then in large ones."""
    search = _Search(X, y, weight / weight.sum(), loss)
    penalty = first = float(np.abs(search.slopes()).max())
    shrink = LAST ** (1 / STEPS)
    while penalty > LAST * first:
        previous, penalty = penalty, penalty * shrink
        model = search.at(penalty, previous)
        yield model
        if np.count_nonzero(model.coef) > most:
            shrink = 0.5


class _Search:
    """The present model, and what a smaller penalty makes of it."""

    def __init__(self, X: Floats, y: Floats, weight: Floats, loss: Loss) -> None:
        self.X, self.y, self.weight, self.loss = X, y, weight, loss
        self.coef = np.zeros((loss.n_outputs, X.shape[1]))
        self.intercept = np.atleast_1d(loss.start(y, weight)).astype(float)

    def at(self, penalty: float, previous: float) -> Linear:
        is_in = (self.coef != 0) | (np.abs(self.slopes()) >= 2 * penalty - previous)
        while True:
            self._settle(penalty, is_in)
            is_left_out = ~is_in & (np.abs(self.slopes()) > penalty * (1 + _TOLERANCE))
            if not is_left_out.any():
                return Linear(self.intercept.copy(), self.coef.copy())
            is_in |= is_left_out

    def slopes(self) -> Floats:
        """How fast the loss changes along every column, output by output."""
        return self._gradient().T @ self.X

    def _settle(self, penalty: float, is_in: NDArray[np.bool_]) -> None:
        """Steps with the Hessian of this moment until nothing moves."""
        hessian = self._hessian(is_in)
        prices = np.concatenate([[0.0] + [penalty] * n for n in is_in.sum(axis=1)])
        for _ in range(_MOST_ROUNDS):
            old = self._values(is_in)
            gradient = self._gradient()
            slopes = np.column_stack([gradient.sum(axis=0), gradient.T @ self.X])
            pull = hessian @ old - slopes[_with_intercepts(is_in)]
            new = _descend(hessian, pull, prices, old.copy())
            self._set_values(is_in, new)
            if np.abs(new - old).max() <= _TOLERANCE * np.abs(self.coef).max():
                return

    def _values(self, is_in: NDArray[np.bool_]) -> Floats:
        """Intercept and coefficients that are in, one output after the other."""
        return np.column_stack([self.intercept, self.coef])[_with_intercepts(is_in)]

    def _set_values(self, is_in: NDArray[np.bool_], values: Floats) -> None:
        table = np.zeros((len(self.coef), self.coef.shape[1] + 1))
        table[_with_intercepts(is_in)] = values
        self.intercept, self.coef = table[:, 0], table[:, 1:]

    def _gradient(self) -> Floats:
        raw = Linear(self.intercept, self.coef).raw(self.X)
        gradient = self.loss.derivatives(self.y, raw, with_hessian=False)[1]
        return self.weight[:, None] * gradient.reshape(len(self.y), -1)

    def _hessian(self, is_in: NDArray[np.bool_]) -> Floats:
        """Of the values, block by block."""
        raw = Linear(self.intercept, self.coef).raw(self.X)
        curvature = self.loss.derivatives(self.y, raw)[2].reshape(len(self.y), -1)
        ones = np.ones((len(self.y), 1))
        columns = [np.hstack([ones, self.X[:, used]]) for used in is_in]
        blocks = [[np.empty(0)] * len(columns) for _ in columns]
        for k in range(len(columns)):
            for other in range(k + 1):
                by_row = self.weight * curvature[:, k * (k + 1) // 2 + other]
                blocks[k][other] = columns[k].T @ (by_row[:, None] * columns[other])
                blocks[other][k] = blocks[k][other].T
        return np.ascontiguousarray(np.block(blocks))


def _with_intercepts(is_in: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.column_stack([np.ones(len(is_in), dtype=bool), is_in])


@njit(cache=True)
def _descend(hessian, pull, prices, values):  # type: ignore[no-untyped-def]
    """Minimize values·hessian·values / 2 - pull·values + prices·|values|, one after the other."""
    rest = pull - hessian @ values
    for _ in range(1000):
        moved, largest = 0.0, 0.0
        for j in range(len(values)):
            if hessian[j, j] <= 1e-12:
                continue
            best = rest[j] + hessian[j, j] * values[j]
            best = np.sign(best) * max(abs(best) - prices[j], 0.0) / hessian[j, j]
            change = best - values[j]
            if change != 0:
                values[j] = best
                rest -= hessian[j] * change
            moved, largest = max(moved, abs(change)), max(largest, abs(best))
        if moved <= 1e-6 * largest:
            break
    return values
