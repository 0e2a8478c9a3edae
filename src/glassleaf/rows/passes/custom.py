"""Passes of a user's own model: fitted to the rows of a node, asked for its gradients."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from glassleaf.losses import Loss
from glassleaf.rows.passes.data import Rows

Floats = NDArray[np.float64]


@runtime_checkable
class WeakModel(Protocol):
    """A model of your own for the nodes; pass an instance as ``weak_model=``.

    ``X`` is the design as a plain array (numeric columns standardized over the training rows,
    categories one-hot, missing values imputed and flagged); ``y`` is the target, classes as 0, 1,
    ... ``fit`` returns whatever describes the fitted model, starting from the parent's where that
    helps; the other methods get it back. ``gradients`` returns one row per row of X: the gradient
    of the row's loss by the model's parameters. The same rows sum to the paper's equation 6.
    """

    def fit(self, X: Floats, y: Floats, weight: Floats, start: Any) -> Any: ...

    def raw(self, model: Any, X: Floats) -> Floats: ...

    def gradients(self, model: Any, X: Floats, y: Floats) -> Floats: ...


class CustomFitTask(NamedTuple):
    """A node, the model to be fitted to it, and where that starts."""

    node: int
    model: WeakModel
    start: Any
    loss: Loss


def fit_custom(rows: Rows, task: CustomFitTask) -> tuple[Any, float]:
    """Fit a user's model to a node's rows; returns it and its loss."""
    X, y, weight = _node_rows(rows, task.node)
    model, loss = task.model, task.loss
    fitted = model.fit(X, y, weight, task.start)
    raw = np.asarray(model.raw(fitted, X), dtype=np.float64)
    expected = (len(X),) if loss.n_outputs == 1 else (len(X), loss.n_outputs)
    if raw.shape != expected:
        raise ValueError(
            f"{type(model).__name__}.raw returned the shape {raw.shape}; expected {expected}."
        )
    return fitted, float(weight @ loss.derivatives(y, raw)[0])


class CustomGradientsTask(NamedTuple):
    """A node, and the model that was fitted to it."""

    node: int
    model: WeakModel
    fitted: Any


def set_custom_gradients(rows: Rows, task: CustomGradientsTask) -> None:
    """Store (gradient, weight) of every row of a node."""
    node, model = task.node, task.model
    X, y, weight = _node_rows(rows, node)
    gradients = np.asarray(model.gradients(task.fitted, X, y), dtype=np.float64)
    if gradients.ndim != 2 or len(gradients) != len(X):
        raise ValueError(
            f"{type(model).__name__}.gradients returned the shape {gradients.shape};"
            f" expected ({len(X)}, number of parameters)."
        )
    width = gradients.shape[1] + 1
    if node == 0:
        rows.vectors = np.zeros((len(rows.weight), width))
    elif rows.vectors.shape[1] != width:
        raise ValueError(
            f"{type(model).__name__}.gradients returned {width - 1} numbers per row, but"
            f" {rows.vectors.shape[1] - 1} at the root; every node needs the same number."
        )
    start, stop = rows.spans[node]
    rows.vectors[start:stop, :-1] = gradients * weight[:, None]
    rows.vectors[start:stop, -1] = weight


def _node_rows(rows: Rows, node: int) -> tuple[Floats, Floats, Floats]:
    start, stop = rows.spans[node]
    return rows.dense[start:stop], rows.target[start:stop], rows.weight[start:stop]
