"""Explain a model or its predictions: the entrance to this room."""

from __future__ import annotations

from typing import Any, overload

from glassleaf.explanations.model import ModelExplanation, explain_model
from glassleaf.explanations.rows import RowExplanations
from glassleaf.tree.fitted import linear_model


@overload
def explain(estimator: Any) -> ModelExplanation: ...
@overload
def explain(estimator: Any, X: Any, *, background: Any = None) -> RowExplanations: ...
def explain(
    estimator: Any, X: Any = None, *, background: Any = None
) -> ModelExplanation | RowExplanations:
    """Explain a model or, given rows, its predictions.

    Parameters
    ----------
    estimator : fitted model tree
    X : table of shape (n_samples, n_features), default=None
        Rows to explain; without them the model itself is explained.
    background : table of shape (n_background, n_features), default=None
        What contributions are relative to. None: the mean of the row's leaf, so that they are the
        summands of the leaf's formula. Rows: the mean score of these rows; contributions are
        then exact Shapley values, which count the splits as well.

    Returns
    -------
    ModelExplanation or RowExplanations
        The latter is a sequence with one :class:`RowExplanation` per row.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor, explain
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])
    >>> model = ModelTreeRegressor(max_depth=1, alpha=0).fit(X, y)
    >>> [round(leaf.coef[0][1], 2) for leaf in explain(model).leaves]
    [-1.0, 1.0]
    >>> row = explain(model, X[:1])[0]
    >>> abs(row.reference + sum(row.contributions.values()) - row.raw) < 1e-12
    True
    """
    model = linear_model(estimator)
    if X is None:
        if background is not None:
            raise ValueError("background is for explaining rows; pass them as X.")
        return explain_model(model)
    given = None if background is None else model.matrix(background)
    if given is None:
        reference = "mean row of the leaf"
    else:
        reference = f"mean score of {len(given)} background rows"
    return RowExplanations(model, model.matrix(X), given, reference)
