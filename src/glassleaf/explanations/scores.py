"""How the leaves do on given rows: what they predict on average, and what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.fitted import Fitted
from glassleaf.explanations.plain_data import Record
from glassleaf.explanations.rules import all_rules, rule_text
from glassleaf.explanations.slices import output_name

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LeafScore(Record):
    """One leaf on some rows: mean target with its standard error, mean prediction, lift.

    ``lift`` is the mean target as a multiple of that of all rows.
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
class LeafScores(Record):
    """All leaves that have rows, and bins of predictions over all rows (prediction, target)."""

    leaves: tuple[LeafScore, ...]
    target: float
    name: str
    bins: tuple[tuple[float, float], ...]


def score_leaves(
    model: Fitted, X: Any, y: Any, output: int = -1, weight: Any = None, n_bins: int = 10
) -> LeafScores:
    """Compare the leaves' predictions with the target (classes: of one class, by default the last).

    The bins hold equal weight, in the order of the predictions.
    """
    matrix = model.matrix(X)
    target = target_numbers(model, y, output, len(matrix))
    weights = np.ones(len(target)) if weight is None else np.asarray(weight, dtype=np.float64)
    nodes = model.tree.apply(matrix)
    predicted = model.prediction(model.tree.raw(matrix, nodes))[:, output]
    overall = float(np.average(target, weights=weights))
    rules, found = all_rules(model.tree), []
    for k, node in enumerate(model.leaves):
        here = nodes == node
        if not weights[here].any():
            continue
        mean = float(np.average(target[here], weights=weights[here]))
        variance = float(np.average((target[here] - mean) ** 2, weights=weights[here]))
        size = float(weights[here].sum()) ** 2 / float((weights[here] ** 2).sum())
        found.append(
            LeafScore(
                leaf=k + 1,
                rule_text=rule_text(rules[node]),
                rows=int(here.sum()),
                share=float(weights[here].sum() / weights.sum()),
                target=mean,
                error=float(np.sqrt(variance / size)),
                prediction=float(np.average(predicted[here], weights=weights[here])),
                lift=mean / overall if overall else np.nan,
            )
        )
    bins = _bins(predicted, target, weights, n_bins)
    return LeafScores(tuple(found), overall, output_name(model, output), bins)


def target_numbers(model: Fitted, y: Any, output: int, n_rows: int) -> Floats:
    """y as numbers; for classes 1 where it is the class of the output."""
    given = entries(y, n_rows)
    if model.classes is None:
        return given.astype(np.float64)
    label = model.classes[output]
    return np.array([value == label for value in given.tolist()], dtype=np.float64)


def entries(y: Any, n_rows: int) -> NDArray[Any]:
    """y as a flat array, which must have an entry for every row."""
    given = np.asarray(y).ravel()
    if len(given) != n_rows:
        raise ValueError(f"y has {len(given)} entries, but X has {n_rows} rows.")
    return given


def _bins(
    predicted: Floats, target: Floats, weight: Floats, n_bins: int
) -> tuple[tuple[float, float], ...]:
    order = np.argsort(predicted, kind="stable")
    position = np.cumsum(weight[order]) / weight.sum()
    group = np.minimum((position * n_bins * (1 - 1e-12)).astype(int), n_bins - 1)
    out = []
    for g in np.unique(group):
        rows = order[group == g]
        if weight[rows].any():
            means = (np.average(v[rows], weights=weight[rows]) for v in (predicted, target))
            out.append(tuple(map(float, means)))
    return tuple((first, second) for first, second in out)
