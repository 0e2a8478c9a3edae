"""Alternating refinement of a split: move the border to suit the models, refit the models, repeat.

With the two models of a split fixed, every row has a loss under either. One sum per bin is enough
to find, over all features and thresholds, the split that sends rows to the model under which they
lose less; then the two models are fitted to their new rows. A step is kept only if the penalized
loss of the two models falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from glassleaf.criteria import Side
from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.splits.candidates import Split, best_split, readable
from glassleaf.fit.splits.find import Node, all_gains, route
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Settings

Floats = NDArray[np.float64]

_MAX_STEPS = 3
# Share of the children's penalized loss that a step must promise to be worth taking.
_WORTH_A_STEP = 1e-3


@dataclass(frozen=True)
class Reassignment:
    """How much less rows lose under the model of their own side than under that of the other."""

    uses: ClassVar[Literal["target"]] = "target"

    def gain(self, left: Side, right: Side) -> Floats:
        return right.sums[:, 0] - left.sums[:, 0]


@dataclass
class _Attempt:
    """A node with two new children, and where it stood before the current step."""

    node: Node
    left: Node
    right: Node
    split: Split
    models: tuple[NodeModel, NodeModel]

    @property
    def children(self) -> tuple[Node, Node]:
        return self.left, self.right

    @property
    def objective(self) -> float:
        return self.left.model.objective + self.right.model.objective


def refine(
    backend: Backend,
    models: LinearModels,
    plan: Plan,
    settings: Settings,
    nodes: Sequence[Node],
    chosen: Sequence[Node],
) -> None:
    """Refine the splits of some nodes whose children are leaves, in place."""
    settings = replace(settings, criterion=Reassignment())
    active = []
    for node in chosen:
        if node.split is not None and node.children is not None:
            left, right = (nodes[child] for child in node.children)
            if models.share_units([node.model, left.model, right.model]):
                attempt = _Attempt(node, left, right, node.split, (left.model, right.model))
                active.append(attempt)
    for _ in range(_MAX_STEPS):
        active = _step(backend, models, plan, settings, active)
        if not active:
            return


def _step(
    backend: Backend,
    models: LinearModels,
    plan: Plan,
    settings: Settings,
    active: Sequence[_Attempt],
) -> list[_Attempt]:
    """Let every node take one step; returns the nodes that took it."""
    if not active:
        return []
    current = _set_differences(backend, models, settings, active)
    _merge(backend, active)
    nodes = [attempt.node for attempt in active]
    found = all_gains(backend, plan, settings, nodes, active[0].node)
    moving, before = [], []
    for attempt, now in zip(active, current, strict=True):
        attempt.models = (attempt.left.model, attempt.right.model)
        assert attempt.node.split is not None
        attempt.split = attempt.node.split
        better = best_split(found[attempt.node.id], now + 2 * _WORTH_A_STEP * attempt.objective)
        if better is not None:
            if settings.round_thresholds is not None:
                better = readable(found[attempt.node.id], better, settings.round_thresholds)
            attempt.node.split = replace(better, gain=attempt.split.gain)
            moving.append(attempt)
            before.append(attempt.objective)
    route(backend, nodes)
    return _refit(backend, models, moving, before)


def _refit(
    backend: Backend, models: LinearModels, moving: Sequence[_Attempt], before: Sequence[float]
) -> list[_Attempt]:
    """Fit the children to their new rows, and undo the steps that are no better."""
    if not moving:
        return []
    children = [child for attempt in moving for child in attempt.children]
    parents = [attempt.node.model for attempt in moving for _ in range(2)]
    fresh = models.refit(
        [child.id for child in children], [child.model for child in children], parents
    )
    for child, model in zip(children, fresh, strict=True):
        child.model = model
    worse = []
    for attempt, objective in zip(moving, before, strict=True):
        if not attempt.objective < objective:
            worse.append(attempt)
    if worse:
        _merge(backend, worse)
        for attempt in worse:
            attempt.left.model, attempt.right.model = attempt.models
            attempt.node.split = attempt.split
        route(backend, [attempt.node for attempt in worse])
    better = [attempt for attempt in moving if attempt not in worse]
    for attempt in better:
        assert attempt.node.split is not None
        gain = attempt.node.model.loss - attempt.objective
        attempt.node.split = replace(attempt.node.split, gain=gain)
    return better


def _set_differences(
    backend: Backend, models: LinearModels, settings: Settings, active: Sequence[_Attempt]
) -> list[float]:
    """Store every row's left loss minus its right one; returns where the splits stand."""
    tasks = [
        on_rows.DifferencesTask(
            child.id,
            models.at_rows(attempt.left.model),
            models.at_rows(attempt.right.model),
            settings.loss,
        )
        for attempt in active
        for child in attempt.children
    ]
    backend.each(on_rows.set_loss_differences, tasks)
    ids = [child.id for attempt in active for child in attempt.children]
    wholes = backend.sum(on_rows.whole_sums, [on_rows.WholeTask(node) for node in ids])
    sums = [float(whole.values[0, 0]) for whole in wholes]
    return [right - left for left, right in zip(sums[::2], sums[1::2], strict=True)]


def _merge(backend: Backend, active: Sequence[_Attempt]) -> None:
    tasks = [
        on_rows.FamilyTask(attempt.node.id, (attempt.left.id, attempt.right.id))
        for attempt in active
    ]
    backend.each(on_rows.merge, tasks)
