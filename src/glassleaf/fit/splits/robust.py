"""Whether a split is more than chance, whatever the noise: a test on the gradients as they are.

Where the node's one model is right, the rows' gradients at its parameters are zero on average, on
either side of any split. How far their sums may lie from zero by chance is seen from the gradients
themselves, from their outer products: spread that varies, heavy tails and overdispersion are in
them (the sandwich of Huber 1967 and White 1980; as a test of trees Zeileis, Hothorn & Hornik 2008).
The statistic is what the split gains (see ``LinearModels.contrast``): a sum of squares. Where no
split is true it is distributed as a weighted sum of chi-squared variables, whose weights are the
variances of its parts, estimated by outer products (Rao & Scott 1981). The matrix of these is not
inverted, so that a small side with many parameters does no harm; only directions that scatter far
more than others are measured in units of their own. A row weighs by its square: one of weight 2 is
one observation that matters twice, not two. Where rows come in groups, the sums over groups are
the observations (Liang & Zeger 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import Contrast, LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.splits.candidates import Choices, Split
from glassleaf.fit.splits.chance import best_of_all
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend

Floats = NDArray[np.float64]

# Variance of a direction of the gradients, in units of the median one, from which on it is divided
# out of the statistic.
_FAR_OUT = 10.0


@dataclass(frozen=True)
class Tested:
    """A candidate split of a node, the sums of its sides, and what it was chosen from."""

    node: int
    model: NodeModel
    split: Split
    sums: on_rows.SegmentSums
    choices: Choices
    n_columns: int


def robust_chances(
    backend: Backend,
    models: LinearModels,
    loss: Loss,
    candidates: Sequence[Tested],
    is_grouped: bool,
) -> list[float]:
    """Probability of such a split where none is true, for several candidates in one pass."""
    contrasts = [models.contrast(own.model, own.sums) for own in candidates]
    tasks = []
    for own, contrast in zip(candidates, contrasts, strict=True):
        side = np.where(own.split.left_of_bin, on_rows.LEFT, on_rows.RIGHT).astype(np.uint16)
        sides = own.split.segments(side)
        tasks.append(on_rows.ScatterTask(own.node, sides, contrast.models, loss))
    found = backend.sum(on_rows.group_scatter if is_grouped else on_rows.row_scatter, tasks)
    return [_chance(*given) for given in zip(candidates, contrasts, found, strict=True)]


def _chance(tested: Tested, contrast: Contrast, scatter: on_rows.Scatter) -> float:
    count = scatter.count * contrast.telling
    left_over = count - np.maximum(contrast.taken, 1.0)
    if left_over.min() <= 0 or not np.isfinite(scatter.products).all():
        return 1.0  # no more rows than parameters, or beyond all numbers: they say nothing
    # Residuals are smaller than errors by what their model has taken (MacKinnon & White 1985, HC1).
    factor = np.sqrt(count / left_over)
    weights = contrast.weights * np.repeat(factor, contrast.weights.shape[1] // 2)
    variances, axes = np.linalg.eigh(weights @ scatter.products @ weights.T)
    variances = np.maximum(variances, 0.0)
    # A few rows far out may scatter more than all others: their directions count in units of that.
    unit = np.maximum(variances, _FAR_OUT * np.median(variances)) if len(variances) else variances
    unit = np.where(unit > 0, unit, 1.0)
    statistic = float(((axes.T @ contrast.difference) ** 2 / unit).sum())
    weight = tested.sums.statistics[:, 1]
    share = float(weight[0] / weight.sum())
    choices = (tested.choices.n_splits, tested.choices.n_paths, tested.n_columns)
    return best_of_all(statistic, variances / unit, share, *choices)
