"""The same model for rows in which the classes have other shares.

Where rows of class k are counted ``r`` times as often, the log-odds of that class grow by
``log(r)``, whatever the columns say: an intercept moves, and no coefficient does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.path import INTERCEPT, Path, Step
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]


def with_class_shares(model: FittedModel, shares: Floats) -> FittedModel:
    """A model of log-odds whose training rows would have had these shares of the classes."""
    ratio = shares / model.tree.record.target[0]
    odds = np.log(ratio)
    if model.kind == "binary":
        odds = odds[[model.positive]] - odds[[1 - model.positive]]
    path = model.path
    if path is not None:
        steps = tuple(_moved_step(step, odds) for step in path.steps)
        path = Path(_moved(path.whole, odds, ratio), steps)
    own = model.with_other_scores()
    return replace(own, tree=_moved(model.tree, odds, ratio), path=path)


def _moved(tree: Tree, odds: Floats, ratio: Floats) -> Tree:
    by = odds if tree.intercept.ndim > 1 else odds[0]
    target = tree.record.target * ratio
    record = replace(tree.record, target=target / target.sum(axis=1, keepdims=True))
    return replace(
        tree,
        intercept=tree.intercept + by,
        score_low=tree.score_low + by,
        score_high=tree.score_high + by,
        training_record=record,
    )


def _moved_step(step: Step, odds: Floats) -> Step:
    is_constant = (step.node == 0) & (step.term == INTERCEPT)
    value = step.value + np.where(is_constant, odds[step.output], 0.0)
    limits = step.limits and (step.limits[0] + float(odds[0]), step.limits[1] + float(odds[0]))
    return replace(step, value=value, limits=limits)
