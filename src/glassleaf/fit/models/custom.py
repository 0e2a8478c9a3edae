"""Any model that is trained by its gradient may stand in a node: your own, or scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from glassleaf.fit.models.units import NodeModel
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.passes import WeakModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SklearnModel:
    """A scikit-learn estimator in every node, with the per-row gradient of its loss.

    ``gradients(estimator, X, y)`` returns an array of shape (rows, parameters) for a fitted
    estimator; ``raw(estimator, X)`` its raw prediction (default: ``decision_function`` if there is
    one, else ``predict``).
    """

    estimator: Any
    gradients_of: Callable[[Any, Floats, Floats], Floats]
    raw_of: Callable[[Any, Floats], Floats] | None = None

    def fit(self, X: Floats, y: Floats, weight: Floats, start: Any) -> Any:
        fitted = clone(self.estimator)
        if np.all(weight == weight[0]):
            return fitted.fit(X, y)
        return fitted.fit(X, y, sample_weight=weight)

    def raw(self, model: Any, X: Floats) -> Floats:
        if self.raw_of is not None:
            return np.asarray(self.raw_of(model, X))
        predict = getattr(model, "decision_function", model.predict)
        return np.asarray(predict(X))

    def gradients(self, model: Any, X: Floats, y: Floats) -> Floats:
        return np.asarray(self.gradients_of(model, X, y))


class CustomModels:
    """A user's weak model in every node."""

    linear = None

    def __init__(self, backend: Backend, model: WeakModel, loss: Loss) -> None:
        self._backend = backend
        self._model = model
        self._loss = loss

    def root(self, start: Floats) -> NodeModel:
        """The root's model before it is fitted."""
        return self._counted([0], [None])[0]

    def children(self, ids: Sequence[int], parents: Sequence[NodeModel]) -> list[NodeModel]:
        """Models of new nodes, each starting from its parent's."""
        return self._counted(ids, [parent.custom for parent in parents])

    def _counted(self, ids: Sequence[int], starts: Sequence[Any]) -> list[NodeModel]:
        found = self._backend.sum(
            on_rows.node_statistics, [on_rows.StatisticsTask(node, self._loss) for node in ids]
        )
        none = np.zeros(0)
        theta = np.zeros((self._loss.n_outputs, 1))
        return [
            NodeModel(
                int(sums[0]), float(sums[1]), none, none, none, none, none, theta, custom=start
            )
            for sums, start in zip(found, starts, strict=True)
        ]

    def fit(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Fit the models of several nodes."""
        tasks = [
            on_rows.CustomFitTask(node, self._model, model.custom, self._loss)
            for node, model in zip(ids, models, strict=True)
        ]
        found = self._backend.sum(on_rows.fit_custom, tasks)
        for model, (fitted, loss) in zip(models, found, strict=True):
            model.custom, model.loss = fitted, loss

    def set_vectors(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Store every row's gradient, for the split search."""
        tasks = [
            on_rows.CustomGradientsTask(node, self._model, model.custom)
            for node, model in zip(ids, models, strict=True)
        ]
        self._backend.each(on_rows.set_custom_gradients, tasks)
