"""The explanation that drawings show: by the spreads of any rows, and of any model file."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.model import ModelExplanation, explain_model
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.tree import Candidates, TrainingRecord, Tree

Floats = NDArray[np.float64]


def drawable(model: FittedModel, X: Any = None) -> ModelExplanation:
    """The explanation of a model, with means and spreads of the rows X instead of the training's.

    What a model file without a training record does not say is NaN.
    """
    tree = model.tree
    record = tree.training_record or unknown_record(model)
    if X is not None:
        record = record_of_rows(tree, record, model.matrix(X))
    return explain_model(replace(model, tree=replace(tree, training_record=record)))


def unknown_record(model: FittedModel) -> TrainingRecord:
    """A record that knows nothing: NaN, and no candidates."""
    tree = model.tree
    n_nodes, n_columns = tree.node_count, len(tree.columns)
    no_candidates: dict[str, Any] = {field.name: np.zeros(0) for field in fields(Candidates)}

    def unknown(*shape: int) -> Floats:
        return np.full(shape, np.nan)

    return TrainingRecord(
        mean=unknown(n_nodes, tree.terms.n_terms),
        spread=unknown(n_nodes, tree.terms.n_terms),
        target=unknown(n_nodes, len(model.classes or (0,))),
        low=unknown(n_columns),
        high=unknown(n_columns),
        candidates=Candidates(**no_candidates),
        bend=unknown(n_nodes, n_columns),
    )


def record_of_rows(tree: Tree, record: TrainingRecord, matrix: Floats) -> TrainingRecord:
    """A record with the means and spreads of the terms among the rows of a raw matrix."""
    nodes, Z = tree.apply(matrix), tree.terms.transformed(matrix)
    mean, spread = np.zeros((2, tree.node_count, tree.terms.n_terms))
    bend = np.zeros((tree.node_count, len(tree.columns)))
    for node in np.unique(nodes).tolist():
        here = Z[nodes == node]
        for column in range(len(tree.columns)):
            bend[node, column] = _fill_in(tree, node, column, here[:, column], mean, spread)
    return replace(record, mean=mean, spread=spread, bend=bend)


def _fill_in(
    tree: Tree, node: int, column: int, values: Floats, mean: Floats, spread: Floats
) -> float:
    """Enter the terms of a column in a node; returns the covariance of its number and curve."""
    terms, gaps = tree.terms, np.isnan(values)
    first, missing = int(terms.first_term[column]), int(terms.missing_term[column])

    def enter(where: int | slice, shares: Any) -> None:
        mean[node, where], spread[node, where] = shares, np.sqrt(shares * (1 - shares))

    if missing >= 0:
        enter(missing, gaps.mean())
    if first >= 0 and terms.is_category[column]:
        n = len(tree.columns[column].categories or ())
        codes = values[values >= 0].astype(np.intp)
        enter(slice(first, first + n), np.bincount(codes, minlength=n) / len(values))
    elif first >= 0:
        number = np.clip(
            np.where(gaps, terms.fill[column], values),
            tree.clamp_low[node, column],
            tree.clamp_high[node, column],
        )
        mean[node, first], spread[node, first] = number.mean(), number.std()
        curve, own = terms.curve(column), int(terms.curve_term[column])
        if curve is not None:
            bent = curve(number)
            mean[node, own], spread[node, own] = bent.mean(), bent.std()
            return float(np.mean((number - number.mean()) * (bent - bent.mean())))
    return 0.0
