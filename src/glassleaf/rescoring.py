"""A close look at the best candidates: what two models of their own would really lose.

The criterion ranks all splits cheaply, by one gradient step. For a short list of its best, the two
sides are fitted: by one Newton step from the node's own parameters, on the sums of each side. For
a quadratic loss that is the exact minimum of the penalized loss, for others nearly so. All
candidates of a feature are had from one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import rows as on_rows
from glassleaf.backends import Backend
from glassleaf.losses import Loss
from glassleaf.search import Split
from glassleaf.significance import chance
from glassleaf.weak_models import LinearModels, NodeModel, SideFit

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Shortlist:
    """The candidates of a node to look at, chosen from ``n_candidates``."""

    node: int
    model: NodeModel
    splits: Sequence[Split]
    n_candidates: int


def rescored(
    backend: Backend, models: LinearModels, loss: Loss, nodes: Sequence[Shortlist], tested: bool
) -> list[list[Split]]:
    """The short list of every node with exact gains: how much the penalized loss falls.

    If they are to be ``tested``, the best of every feature gets its p-value.
    """
    tasks: list[tuple[Any, ...]] = []
    lists: list[tuple[Shortlist, list[Split], np.ndarray[Any, Any]]] = []
    for node in nodes:
        for _, group in groupby(node.splits, key=lambda split: split.column):
            together = list(group)
            sides = np.array([split.left_of_bin for split in together])
            # Bins that are on the same side of every candidate need not be told apart.
            patterns, segment = np.unique(sides, axis=1, return_inverse=True)
            default = segment[together[0].default_bin] if together[0].default_bin >= 0 else 0
            first = together[0]
            tasks.append(
                (node.node, first.block, first.first_bin, segment.astype(np.uint8), int(default),
                 patterns.shape[1], *models.at_rows(node.model), loss)
            )  # fmt: skip
            lists.append((node, together, patterns))

    index = {id(task): k for k, task in enumerate(tasks)}

    def score(task: Any, segments: on_rows.Segments) -> list[Split]:
        node, splits, patterns = lists[index[id(task)]]
        fits = [
            [models.side_fit(node.model, _joined(segments, is_left == side)) for side in (1, 0)]
            for is_left in patterns
        ]
        # Against the same step for the node as a whole: with a penalty it is not at its minimum.
        before = models.side_fit(node.model, reduce(add, segments.sums)).objective
        gains = [before - left.objective - right.objective for left, right in fits]
        found = [replace(split, gain=gain) for split, gain in zip(splits, gains, strict=True)]
        if tested:
            best = int(np.argmax(gains))
            found[best] = replace(
                found[best], p_value=_p_value(node, gains[best], fits[best], loss)
            )
        return found

    found: dict[int, list[Split]] = {node.node: [] for node in nodes}
    results = backend.sum(on_rows.segment_sums, tasks, then=score)
    for task, splits in zip(tasks, results, strict=True):
        found[task[0]] += splits
    return [found[node.node] for node in nodes]


def _joined(segments: on_rows.Segments, chosen: Bools) -> on_rows.SideSums:
    return reduce(add, (sums for sums, here in zip(segments.sums, chosen, strict=True) if here))


def _p_value(node: Shortlist, gain: float, fits: Sequence[SideFit], loss: Loss) -> float:
    smaller = min(fits, key=lambda fit: fit.weight)
    shares = smaller.quadratic.shrinkage()
    left_over = sum(fit.weight for fit in fits) - 2 * float(shares.sum())
    if left_over <= 0:
        return 1.0  # no more rows than parameters: nothing can be said
    mean_loss = sum(fit.objective for fit in fits) / left_over
    return chance(gain, loss.dispersion(mean_loss), shares, node.n_candidates)
