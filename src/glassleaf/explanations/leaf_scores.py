"""How the leaves do on given rows: what they predict on average, and what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.checks import row_weights
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.rules import all_rules, rule_text
from glassleaf.explanations.scores import error_of_mean, mean
from glassleaf.explanations.targets import target_of_output
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LeafScore(JsonData):
    """One leaf on some rows: mean target with its standard error, mean prediction, lift.

    ``share`` is that of the weight, ``lift`` is the mean target as a multiple of that of all rows.
    """

    leaf: int
    rule_text: str
    rows: int
    share: float
    target: float
    error: float
    prediction: float
    lift: float


@dataclass(frozen=True)
class LeafScores(JsonData):
    """All leaves that have rows, and bins of predictions over all rows (prediction, target)."""

    leaves: tuple[LeafScore, ...]
    target: float
    name: str
    bins: tuple[tuple[float, float], ...]
    are_shares: bool  # of a class, so that they lie between 0 and 1


def score_leaves(
    model: FittedModel, X: Any, y: Any, output: int, weight: Any = None, n_bins: int = 10
) -> LeafScores:
    """Compare the leaves' predictions with the target (classes: of one class).

    The bins are groups of about equal weight, in the order of the predictions.
    """
    matrix = model.matrix(X)
    target = target_of_output(model, y, output, len(matrix))
    weights = row_weights(weight, len(target))
    nodes = model.tree.apply(matrix)
    predicted = model.prediction(model.tree.raw(matrix, nodes))[:, output]
    overall = mean(target, weights)
    rules, found = all_rules(model.tree), []
    for k, node in enumerate(model.leaves):
        here = nodes == node
        w = weights[here]
        if not w.any():
            continue
        found.append(
            LeafScore(
                leaf=k + 1,
                rule_text=rule_text(rules[node]),
                rows=int(here.sum()),
                share=float(w.sum() / weights.sum()),
                target=mean(target[here], w),
                error=error_of_mean(target[here], w),
                prediction=mean(predicted[here], w),
                lift=mean(target[here], w) / overall if overall else np.nan,
            )
        )
    bins = tuple(
        (mean(predicted[rows], weights[rows]), mean(target[rows], weights[rows]))
        for rows in equal_groups(predicted, weights, n_bins)
    )
    are_shares = model.classes is not None
    return LeafScores(tuple(found), overall, model.output_name(output), bins, are_shares)


def equal_groups(predicted: Floats, weight: Floats, n_groups: int) -> list[NDArray[np.int64]]:
    """Rows in groups of about equal weight, from the lowest to the highest prediction.

    Rows of equal prediction stay together, in the group that holds the middle of their weight:
    neither the order of the rows nor rows given twice instead of a weight of two make a difference.

    >>> equal_groups(np.array([0.3, 0.1, 0.2, 0.1]), np.ones(4), 2)
    [array([1, 3]), array([0, 2])]
    """
    place = np.unique(predicted, return_inverse=True)[1]
    of_value = np.bincount(place, weights=weight)
    middle = (of_value.cumsum() - of_value / 2) / of_value.sum()
    # A middle on the border belongs to the upper group, however it was rounded.
    group = np.minimum((middle * n_groups + 1e-9).astype(int), n_groups - 1)[place]
    found = [np.flatnonzero((group == g) & (weight > 0)) for g in range(n_groups)]
    return [rows for rows in found if len(rows)]
