"""A close look at the best candidates: what two models of their own would really lose.

The criterion ranks all splits cheaply, by one gradient step. For a short list of its best, the two
sides are fitted: by one Newton step from the node's own parameters, on the sums of each side. For
a quadratic loss that is the exact minimum of the penalized loss, for others nearly so. One pass
over the rows gives the sums of all candidates of a feature.

The best of them may still be chance: ``robust`` tests it on the gradients as they are. The other
test is that of the likelihood: twice the fall of the loss, divided by the dispersion, is a
likelihood ratio statistic, if targets vary around the model as the loss assumes (see ``chance``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.penalty_choice import dispersion
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.splits.candidates import TIE, Choices, Split
from glassleaf.fit.splits.chance import chance
from glassleaf.fit.splits.robust import Tested, robust_chances
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend

Floats = NDArray[np.float64]

# Candidates whose sides fit, with the segments known before, into an integer of 64 bits.
_DIGITS = 32


@dataclass(frozen=True)
class Shortlist:
    """The candidates of a node to look at, and what those of each column were chosen from."""

    node: int
    model: NodeModel
    splits: Sequence[Split]
    choices: Mapping[int, Choices]


@dataclass(frozen=True)
class Test:
    """How it is tested whether a split is more than chance, and at which level."""

    kind: Literal["robust", "likelihood"]
    level: float
    is_grouped: bool


@dataclass(frozen=True)
class Sides:
    """A candidate with its exact gain, and the sums of its left and right side."""

    split: Split
    sums: on_rows.SegmentSums
    objective: Floats
    rank: float  # its gain, or that of the columns that are tested


def best_rescored(
    backend: Backend,
    models: LinearModels,
    loss: Loss,
    nodes: Sequence[Shortlist],
    test: Test | None = None,
) -> list[Sides | None]:
    """The best of every node's short list by its exact gain: how much the penalized loss falls.

    With a ``test`` it has a p-value.
    """
    tasks = []
    groups: dict[tuple[int, tuple[int, int]], tuple[NodeModel, list[Split], Floats]] = {}
    for node in nodes:
        for _, group in groupby(node.splits, key=lambda split: split.column):
            splits = list(group)
            bins, members = _segments(splits)
            model = models.at_rows(node.model)
            tasks.append(on_rows.SegmentTask(node.node, bins, members.shape[1], model, loss))
            groups[node.node, bins.feature] = (node.model, splits, members)

    def score(task: on_rows.SegmentTask, segments: on_rows.SegmentSums) -> Sides:
        return _best_sides(models, *groups[task.node, task.bins.feature], segments)

    found: dict[int, list[Sides]] = {node.node: [] for node in nodes}
    for task, sides in zip(
        tasks, backend.sum(on_rows.segment_sums, tasks, then=score), strict=True
    ):
        found[task.node].append(sides)
    ranked = [_ranked(found[node.node]) for node in nodes]
    if test is None:
        return [own[0] if own else None for own in ranked]
    if test.kind == "likelihood":
        return [
            _with_chance(own[0], _likelihood_chance(models, loss, node, own[0])) if own else None
            for node, own in zip(nodes, ranked, strict=True)
        ]
    return _first_significant(backend, models, loss, nodes, ranked, test)


def _ranked(found: Sequence[Sides]) -> list[Sides]:
    """The best candidates of a node's columns, the best gain first; ties by column."""
    left = sorted(found, key=lambda sides: sides.split.column)
    out: list[Sides] = []
    while left:
        best = max(sides.rank for sides in left)
        first = next(own for own in left if own.rank >= best - TIE * abs(best))
        left.remove(first)
        out.append(first)
    return out


def _first_significant(
    backend: Backend,
    models: LinearModels,
    loss: Loss,
    nodes: Sequence[Shortlist],
    ranked: Sequence[Sequence[Sides]],
    test: Test,
) -> list[Sides | None]:
    """Of every node's candidates, best gain first, the first that is significant.

    If there is none, that with the smallest p-value. Each round tests one candidate of all nodes
    that have not found theirs.
    """
    if loss.is_apart:
        loose = models.loosened([own.node for own in nodes], [own.model for own in nodes])
        nodes = [replace(own, model=model) for own, model in zip(nodes, loose, strict=True)]
    chosen: list[Sides | None] = [None] * len(nodes)
    for rank in range(max(map(len, ranked), default=0)):
        waiting = [
            k
            for k, own in enumerate(ranked)
            if rank < len(own) and not _is_significant(chosen[k], test.level)
        ]
        tested = [_tested(nodes[k], ranked[k][rank]) for k in waiting]
        chances = robust_chances(backend, models, loss, tested, test.is_grouped)
        for k, p_value in zip(waiting, chances, strict=True):
            before = chosen[k]
            if before is None or p_value < before.split.p_value:
                chosen[k] = _with_chance(ranked[k][rank], p_value)
    return chosen


def _is_significant(sides: Sides | None, level: float) -> bool:
    return sides is not None and sides.split.p_value <= level


def _tested(node: Shortlist, sides: Sides) -> Tested:
    n_columns = sum(own.n_splits > 0 for own in node.choices.values())
    choices = node.choices[sides.split.column]
    return Tested(node.node, node.model, sides.split, sides.sums, choices, n_columns)


def _with_chance(sides: Sides, p_value: float) -> Sides:
    return replace(sides, split=replace(sides.split, p_value=p_value))


def _segments(splits: Sequence[Split]) -> tuple[on_rows.BinSegments, Floats]:
    """Bins that are on the same side of every candidate need not be told apart.

    Returns the segments, and which of them are on the left of every candidate.
    """
    sides = np.array([split.left_of_bin for split in splits])
    segment = np.zeros(sides.shape[1], dtype=np.int64)
    for first in range(0, len(sides), _DIGITS):  # each bin's sides as the digits of a number
        own = sides[first : first + _DIGITS]
        number = (segment << _DIGITS) + (1 << np.arange(len(own))) @ own
        _, representative, segment = np.unique(number, return_index=True, return_inverse=True)
    return (
        splits[0].segments(segment.astype(np.uint16)),
        sides[:, representative].astype(np.float64),
    )


def _best_sides(
    models: LinearModels,
    model: NodeModel,
    splits: Sequence[Split],
    members: Floats,
    segments: on_rows.SegmentSums,
) -> Sides:
    """The best candidate of one feature."""
    n = len(splits)
    # The node as a whole takes the same step: with a penalty it need not be at its minimum.
    everything = np.ones((1, members.shape[1]))
    unions = segments.combined(np.concatenate([members, 1.0 - members, everything]))
    objective = models.side_objectives(model, unions)
    gains = objective[-1] - objective[:n] - objective[n : 2 * n]
    ranks = gains
    if models.tested is not None:
        ranks = np.array(
            [_gain_of_tested(models, model, unions.take([k, n + k])) for k in range(n)]
        )
    best = int(np.argmax(ranks))
    both = [best, n + best]
    split = replace(splits[best], gain=float(gains[best]))
    return Sides(split, unions.take(both), objective[both], float(ranks[best]))


def _gain_of_tested(models: LinearModels, model: NodeModel, sides: on_rows.SegmentSums) -> float:
    found = models.contrast(model, sides).difference
    return 0.5 * sum(float(own @ own) for own in found)


def _likelihood_chance(models: LinearModels, loss: Loss, node: Shortlist, sides: Sides) -> float:
    weight = sides.sums.statistics[:, 1]
    smaller = models.side_fit(node.model, sides.sums, int(np.argmin(weight)))
    shares = smaller.quadratic.shrinkage()
    left_over = float(weight.sum() - 2 * shares.sum())
    if left_over <= 0:
        return 1.0  # no more rows than parameters: they say nothing
    total, gain = float(sides.objective.sum()), sides.split.gain
    unit = dispersion(loss, total, node.model.pearson - 2.0 * gain, 0.0, left_over)
    n_candidates = sum(own.n_splits for own in node.choices.values())
    return chance(gain, unit, shares, n_candidates)
