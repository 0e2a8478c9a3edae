"""The loss of every leaf around its model, as sums over its rows, fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.path.offer import Offer
from glassleaf.fit.splits.find import Node
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.summarize import TargetUnits

Floats = NDArray[np.float64]

N_FOLDS = 5


@dataclass(frozen=True)
class LeafSums:
    """The loss of every leaf around its model: ``c' H c / 2 - slope' c + constant``.

    The parameters c are on the raw scale of the columns; the first axis is the leaf.
    """

    hessian: Floats
    slope: Floats
    constant: Floats

    def __add__(self, other: LeafSums) -> LeafSums:
        return LeafSums(
            self.hessian + other.hessian,
            self.slope + other.slope,
            self.constant + other.constant,
        )

    def __sub__(self, other: LeafSums) -> LeafSums:
        return LeafSums(
            self.hessian - other.hessian,
            self.slope - other.slope,
            self.constant - other.constant,
        )

    def loss(self, models: Floats) -> Floats:
        """The loss of several models, shape (models, leaves, parameters), all leaves together."""
        square = np.matmul(models.transpose(1, 0, 2), self.hessian)
        per_leaf = (square.transpose(1, 0, 2) * models).sum(axis=2) / 2
        per_leaf -= np.einsum("slp,lp->sl", models, self.slope)
        return np.asarray(per_leaf.sum(axis=1) + self.constant.sum())


def added(folds: Sequence[LeafSums]) -> LeafSums:
    total = folds[0]
    for fold in folds[1:]:
        total = total + fold
    return total


def leaf_sums(
    backend: Backend, models: LinearModels, leaves: Sequence[Node], offer: Offer, units: TargetUnits
) -> list[LeafSums]:
    """What the rows of each fold say of the models of the leaves, on the way to a constant."""
    tasks = [
        on_rows.FoldTask(leaf.id, models.at_rows(leaf.model), units.start, units.loss, N_FOLDS)
        for leaf in leaves
    ]
    found = backend.sum(on_rows.fold_sums, tasks)
    folds = []
    for fold in range(N_FOLDS):
        own = [
            _around(leaf.model, offer, sums.loss[fold], sums.gradient[fold], sums.hessian[fold])
            for leaf, sums in zip(leaves, found, strict=True)
        ]
        hessian, slope, constant = (np.array(part) for part in zip(*own, strict=True))
        folds.append(LeafSums(hessian, slope, constant))
    return folds


def _around(
    model: NodeModel, offer: Offer, loss: float, gradient: Floats, pairs: Floats
) -> tuple[Floats, Floats, float]:
    """Sums at a model to the quadratic loss around it, on the raw scale of the columns."""
    to_raw = offer.raw_columns(model)
    n_outputs, size = len(gradient), len(to_raw)
    blocks = np.zeros((n_outputs, size, n_outputs, size))
    for pair, (one, other) in enumerate(zip(*np.tril_indices(n_outputs), strict=True)):
        full = np.tril(pairs[pair]) + np.tril(pairs[pair], -1).T
        blocks[one, :, other] = blocks[other, :, one] = to_raw @ full @ to_raw.T
    hessian = blocks.reshape(n_outputs * size, n_outputs * size)
    slope = (gradient @ to_raw.T).ravel()
    at = offer.parameters(model).ravel()
    curved = hessian @ at
    return hessian, curved - slope, float(loss - slope @ at + at @ curved / 2)
