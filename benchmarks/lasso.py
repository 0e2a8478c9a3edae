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
_MOST_ROUNDS = 50
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Linear:
    """A linear model of standardized columns, a row of coefficients per output."""

    intercept: Floats
    coef: Floats

    def raw(self, X: Any) -> Floats:
        return np.asarray(X @ self.coef.T + self.intercept)


def standardized(X: Any, *others: Any) -> list[Any]:
    """Columns of variance one; zeros of sparse tables stay zeros."""
    scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
    return [scaler.transform(table) for table in (X, *others)]


def lasso_path(X: Any, y: Floats, weight: Floats, loss: Loss, numbers: int) -> Iterator[Linear]:
    """Models of growing length: in small steps up to so many coefficients, then in large ones."""
    columns = X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)
    search = _Search(columns, y, weight / weight.sum(), loss)
    penalty = first = search.first_penalty()
    shrink = LAST ** (1 / STEPS)
    while penalty > LAST * first:
        previous, penalty = penalty, penalty * shrink
        model = search.at(penalty, previous)
        yield model
        if np.count_nonzero(model.coef) > numbers:
            shrink = 0.5


class _Search:
    """The present model, and what a smaller penalty makes of it."""

    def __init__(self, X: Any, y: Floats, weight: Floats, loss: Loss) -> None:
        self.X, self.y, self.weight, self.loss = X, y, weight, loss
        self.coef = np.zeros((loss.n_outputs, X.shape[1]))
        self.intercept = np.atleast_1d(loss.start(y, weight)).astype(float)

    def first_penalty(self) -> float:
        """The smallest at which no column is in."""
        return float(np.abs(self._slopes()).max())

    def at(self, penalty: float, previous: float) -> Linear:
        is_in = (self.coef != 0) | (np.abs(self._slopes()) >= 2 * penalty - previous)
        while True:
            self._settle(penalty, is_in)
            is_left_out = ~is_in & (np.abs(self._slopes()) > penalty * (1 + _TOLERANCE))
            if not is_left_out.any():
                return Linear(self.intercept.copy(), self.coef.copy())
            is_in |= is_left_out

    def _settle(self, penalty: float, is_in: NDArray[np.bool_]) -> None:
        """Steps with the Hessians of this moment, output by output, until nothing moves."""
        parts = [self._part(k, np.flatnonzero(is_in[k])) for k in range(len(self.coef))]
        for _ in range(_MOST_ROUNDS):
            moved = max(self._step(k, part, penalty) for k, part in enumerate(parts))
            if moved <= _TOLERANCE * float(np.abs(self.coef).max()):
                return

    def _part(self, k: int, columns: NDArray[np.intp]) -> _Part:
        """The Hessian of one output, of the columns about their weighted means."""
        hessian = self._hessian(k)
        X = self.X[:, columns]
        total = float(hessian.sum())
        mean = np.asarray(X.T @ hessian) / total
        rows = sparse.diags_array(hessian) @ X if sparse.issparse(X) else X * hessian[:, None]
        gram = X.T @ rows
        gram = gram.toarray() if sparse.issparse(gram) else gram
        return _Part(columns, X, mean, total, gram - total * np.outer(mean, mean))

    def _step(self, k: int, part: _Part, penalty: float) -> float:
        gradient = self._gradient(k)
        total = float(gradient.sum())
        old = self.coef[k, part.columns]
        pull = part.gram @ old - (np.asarray(part.X.T @ gradient) - part.mean * total)
        new = _descend(part.gram, pull, penalty, old.copy())
        self.coef[k, part.columns] = new
        self.intercept[k] -= total / part.total + float(part.mean @ (new - old))
        return float(np.abs(new - old).max(initial=abs(total / part.total)))

    def _slopes(self) -> Floats:
        """How fast the loss changes along every column."""
        gradients = [self._gradient(k) for k in range(len(self.coef))]
        return np.array([np.asarray(self.X.T @ gradient) for gradient in gradients])

    def _gradient(self, k: int) -> Floats:
        gradient = self.loss.derivatives(self.y, self._raw(), with_hessian=False)[1]
        return self.weight * gradient.reshape(len(self.y), -1)[:, k]

    def _hessian(self, k: int) -> Floats:
        hessian = self.loss.derivatives(self.y, self._raw())[2].reshape(len(self.y), -1)
        return self.weight * np.maximum(hessian[:, (k + 1) * (k + 2) // 2 - 1], 1e-6)

    def _raw(self) -> Floats:
        raw = Linear(self.intercept, self.coef).raw(self.X)
        return raw if len(self.coef) > 1 else raw[:, 0]


@dataclass(frozen=True)
class _Part:
    columns: NDArray[np.intp]
    X: Any
    mean: Floats
    total: float
    gram: Floats


@njit(cache=True)
def _descend(gram, pull, penalty, coef):  # type: ignore[no-untyped-def]
    """Minimize coef·gram·coef / 2 - pull·coef + penalty·|coef|, one coefficient after the other."""
    rest = pull - gram @ coef
    for _ in range(1000):
        moved, largest = 0.0, 0.0
        for j in range(len(coef)):
            if gram[j, j] <= 1e-12:
                continue
            best = rest[j] + gram[j, j] * coef[j]
            best = np.sign(best) * max(abs(best) - penalty, 0.0) / gram[j, j]
            change = best - coef[j]
            if change != 0:
                coef[j] = best
                rest -= gram[j] * change
            moved, largest = max(moved, abs(change)), max(largest, abs(best))
        if moved <= 1e-6 * largest:
            break
    return coef
