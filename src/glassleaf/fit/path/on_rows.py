"""Several short models at once on the rows of the leaves: losses, gradients, ranges of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.path.offer import Offer
from glassleaf.fit.path.select import RIDGE_ROWS, Steps
from glassleaf.fit.path.shape import Shape
from glassleaf.fit.splits.find import Node
from glassleaf.losses import Loss
from glassleaf.rows import passes
from glassleaf.rows.backends import Backend

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# How often entries are fitted again to the true loss.
_ROUNDS = 2


class Found(NamedTuple):
    """Of several models: losses, gradients by all entries, smallest and largest scores."""

    loss: Floats  # (models,)
    gradient: Floats  # (models, nodes, parameters)
    low: Floats  # (models, outputs)
    high: Floats

    def without_limits(self) -> Found:
        everywhere = np.full_like(self.low, np.inf)
        return self._replace(low=-everywhere, high=everywhere)


@dataclass(frozen=True)
class OnRows:
    """Short models, given by the entries of their differences, and the rows that they predict."""

    backend: Backend
    leaves: Sequence[Node]
    offer: Offer
    loss: Loss
    shape: Shape
    hessian: Floats  # of every node, around the models of the leaves

    def losses_of_folds(self, entries: Floats, start: Found) -> Floats:
        """Losses of the models of every fold on its own rows: (folds, models).

        Their scores are held within those at the ``start``.
        """
        models = np.array([self.shape.models(own) for own in entries])
        tasks = [
            passes.FoldLossTask(
                leaf.id,
                [self._row_models(leaf, own[:, k]) for own in models],
                start.low.ravel(),
                start.high.ravel(),
                self.loss,
            )
            for k, leaf in enumerate(self.leaves)
        ]
        return np.asarray(sum(self.backend.sum(passes.fold_losses, tasks)))

    def improved(self, steps: Steps, start: Found, unit: Floats) -> tuple[Steps, Floats]:
        """The steps with entries that lose less than at the ``start``, and what they lose.

        Newton's method. Every round needs gradients alone: the Hessian stays that of the models of
        the leaves.
        """
        best, loss, gradient = steps.entries, start.loss, start.gradient
        for left in range(_ROUNDS, 0, -1):
            tried = np.array([
                entries - self._newton_step(entries, own, unit)
                for entries, own in zip(best, gradient, strict=True)
            ])  # fmt: skip
            found = self.at(tried, with_gradient=left > 1)
            keeps_signs = (self.shape.rules.sign * tried >= 0).all(axis=(1, 2))
            is_better = keeps_signs & (found.loss < loss)
            best = np.where(is_better[:, None, None], tried, best)
            gradient = np.where(is_better[:, None, None], found.gradient, gradient)
            loss = np.where(is_better, found.loss, loss)
        return Steps(steps.numbers, steps.fall, best), loss

    def gram(self, is_used: Bools) -> Floats:
        """The Hessian of the loss by some entries of a model."""
        node, parameter = np.nonzero(is_used)
        lower = self.shape.deeper()[np.ix_(node, node)]
        gram = self.hessian[lower, parameter[:, None], parameter]
        gram[lower < 0] = 0.0
        return gram

    def at(self, entries: Floats, with_gradient: bool = True) -> Found:
        """What the rows say of several models; gradients that are not asked for are zero."""
        models, n_models = self.shape.models(entries), len(entries)
        tasks = [
            passes.SeveralTask(
                leaf.id, self._row_models(leaf, models[:, k]), self.loss, with_gradient
            )
            for k, leaf in enumerate(self.leaves)
        ]
        found = self.backend.sum(passes.several_sums, tasks)
        gradient = np.zeros_like(entries)
        for leaf, sums in zip(self.leaves, found, strict=True):
            to_raw = self.offer.raw_columns(leaf.model)
            gradient[:, leaf.id] = (sums.gradient @ to_raw.T).reshape(n_models, -1)
        for node in range(self.shape.n_nodes - 1, 0, -1):  # children come after their parents
            gradient[:, self.shape.parent[node]] += gradient[:, node]
        return Found(
            loss=np.sum([sums.loss for sums in found], axis=0),
            gradient=gradient,
            low=np.min([sums.low for sums in found], axis=0).reshape(n_models, -1),
            high=np.max([sums.high for sums in found], axis=0).reshape(n_models, -1),
        )

    def _row_models(self, leaf: Node, parameters: Floats) -> passes.SeveralModels:
        """Several models of a leaf for the columns as its rows hold them."""
        stored = self.offer.stored(parameters.reshape(-1, self.offer.size))
        coef, intercept = stored[:, :-1], stored[:, -1]
        at_center = intercept + coef @ (leaf.model.center - self.offer.reference)
        return passes.SeveralModels(
            *self.offer.layout.reduce_coef(coef * leaf.model.unit, at_center)
        )

    def _newton_step(self, entries: Floats, gradient: Floats, unit: Floats) -> Floats:
        node, parameter = np.nonzero(entries)
        size = unit[parameter]
        gram = self.gram(entries != 0) / (size[:, None] * size)
        gram[np.diag_indices_from(gram)] += RIDGE_ROWS
        step = np.zeros_like(entries)
        step[node, parameter] = np.linalg.solve(gram, gradient[node, parameter] / size) / size
        return step
