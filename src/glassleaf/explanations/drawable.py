"""The explanation that drawings show: by the spreads of any rows, and of any model file."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.effects import number_terms, number_values
from glassleaf.explanations.model import ModelExplanation, explain_model
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.tree import Candidates, TrainingRecord, Tree, term_matrix

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
        covariance=unknown(n_nodes, len(tree.terms.pairs)),
    )


def record_of_rows(tree: Tree, record: TrainingRecord, matrix: Floats) -> TrainingRecord:
    """A record with the moments of the terms among the rows of a raw matrix.

    The range of the columns too, where it is not known.
    """
    nodes = tree.apply(matrix)
    mean, spread = np.zeros((2, tree.node_count, tree.terms.n_terms))
    covariance = np.zeros((tree.node_count, len(tree.terms.pairs)))
    for node in np.unique(nodes).tolist():
        found = _node_terms(tree, node, matrix[nodes == node])
        mean[node], spread[node] = found.mean(axis=0), found.std(axis=0)
        one, other = (found - mean[node])[:, tree.terms.pairs.T].transpose(1, 0, 2)
        covariance[node] = (one * other).mean(axis=0)
    low = np.where(np.isnan(record.low), np.fmin.reduce(matrix), record.low)
    high = np.where(np.isnan(record.high), np.fmax.reduce(matrix), record.high)
    return replace(record, mean=mean, spread=spread, low=low, high=high, covariance=covariance)


def _node_terms(tree: Tree, node: int, rows: Floats) -> Floats:
    """The terms of rows in a node, where numbers are clamped; shape (rows, terms)."""
    out = term_matrix(rows, tree.terms)
    for column in np.flatnonzero(~tree.terms.is_category & (tree.terms.first_term >= 0)).tolist():
        own = number_terms(tree, column)
        ends = tree.clamp_low[node, column], tree.clamp_high[node, column]
        out[:, own] = number_values(tree, column, np.clip(out[:, own[0]], *ends))
    return out
