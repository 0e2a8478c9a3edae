"""A close look at the best candidates: what two models of their own would really lose.

The criterion ranks all splits cheaply, by one gradient step. For a short list of its best, the two
sides are fitted: by one Newton step from the node's own parameters, on the sums of each side. For
a quadratic loss that is the exact minimum of the penalized loss, for others nearly so. One pass
over the rows gives the sums of all candidates of a feature.

The best of them may still be chance. Twice the fall of the loss, divided by the dispersion, is a
likelihood ratio statistic. If the node's one model is right, that of a split chosen beforehand is
distributed as chi-squared with as many degrees of freedom as the second model has parameters. Two
things differ here:

* the models are penalized. A direction of the parameters of which the penalty leaves the share s
  adds s times a chi-squared variable; the sum is approximated by a scaled chi-squared variable of
  the same mean and variance (Satterthwaite 1946);
* the split is the best of many. The probability is multiplied by their number (Bonferroni), which
  is on the safe side: neighbouring splits are nearly the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.splits.candidates import TIE, Split
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend

Floats = NDArray[np.float64]

# Candidates whose sides fit, with the segments known before, into an integer of 64 bits.
_DIGITS = 32


@dataclass(frozen=True)
class Shortlist:
    """The candidates of a node to look at, chosen from ``n_candidates``."""

    node: int
    model: NodeModel
    splits: Sequence[Split]
    n_candidates: float


@dataclass(frozen=True)
class Sides:
    """A candidate with its exact gain, and the sums of its left and right side."""

    split: Split
    sums: on_rows.SegmentSums
    objective: Floats


def best_rescored(
    backend: Backend, models: LinearModels, loss: Loss, nodes: Sequence[Shortlist], tested: bool
) -> list[Sides | None]:
    """The best of every node's short list by its exact gain: how much the penalized loss falls.

    ``tested`` asks for p-values too.
    """
    tasks = []
    groups: dict[tuple[int, tuple[int, int]], tuple[NodeModel, list[Split], Floats]] = {}
    for node in nodes:
        for _, group in groupby(node.splits, key=lambda split: split.column):
            splits = list(group)
            sets, members = _segments(splits)
            model = models.at_rows(node.model)
            tasks.append(on_rows.SegmentTask(node.node, sets, members.shape[1], model, loss))
            groups[node.node, sets.feature] = (node.model, splits, members)

    def score(task: on_rows.SegmentTask, segments: on_rows.SegmentSums) -> Sides:
        return _best_sides(models, *groups[task.node, task.sets.feature], segments)

    found: dict[int, list[Sides]] = {node.node: [] for node in nodes}
    for task, sides in zip(
        tasks, backend.sum(on_rows.segment_sums, tasks, then=score), strict=True
    ):
        found[task.node].append(sides)
    return [_choice(models, loss, node, found[node.node], tested) for node in nodes]


def _segments(splits: Sequence[Split]) -> tuple[on_rows.BinSets, Floats]:
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
        splits[0].sets(segment.astype(np.uint16)),
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
    best = int(np.argmax(gains))
    both = [best, n + best]
    split = replace(splits[best], gain=float(gains[best]))
    return Sides(split, unions.take(both), objective[both])


def _choice(
    models: LinearModels, loss: Loss, node: Shortlist, found: Sequence[Sides], tested: bool
) -> Sides | None:
    if not found:
        return None
    best = max(sides.split.gain for sides in found)
    good = [sides for sides in found if sides.split.gain >= best - TIE * abs(best)]
    chosen = min(good, key=lambda sides: sides.split.column)
    if not tested:
        return chosen
    p_value = _p_value(models, loss, node, chosen)
    return replace(chosen, split=replace(chosen.split, p_value=p_value))


def _p_value(models: LinearModels, loss: Loss, node: Shortlist, sides: Sides) -> float:
    weight = sides.sums.statistics[:, 1]
    smaller = models.side_fit(node.model, sides.sums, int(np.argmin(weight)))
    shares = smaller.quadratic.shrinkage()
    left_over = float(weight.sum() - 2 * shares.sum())
    if left_over <= 0:
        return 1.0  # no more rows than parameters: they say nothing
    dispersion = loss.dispersion(max(float(sides.objective.sum()), 0.0) / left_over)
    return chance(sides.split.gain, dispersion, shares, node.n_candidates)


def chance(gain: float, dispersion: float, shares: Floats, n_candidates: float) -> float:
    """Probability that the best of many splits gains this much where none is true.

    >>> round(chance(gain=1.92, dispersion=1.0, shares=np.ones(1), n_candidates=1), 3)
    0.05
    """
    if gain <= 0 or not shares.any():
        return 1.0
    if dispersion <= 0:
        return 0.0
    total, squares = float(shares.sum()), float((shares**2).sum())
    degrees, unit = total**2 / squares, squares / total
    # The upper tail of chi-squared with d degrees of freedom is that of gamma with d / 2.
    return min(1.0, n_candidates * float(gammaincc(degrees / 2, gain / dispersion / unit)))
