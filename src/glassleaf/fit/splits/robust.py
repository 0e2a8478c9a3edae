"""Whether a split is more than chance, whatever the noise: a test on the gradients as they are.

Where the node's one model is right, the rows' gradients at its parameters are zero on average, on
either side of any split. How far their sums may lie from zero by chance is seen from the gradients
themselves, from their outer products: spread that varies, heavy tails and overdispersion are in
them (the sandwich of Huber 1967 and White 1980; as a test of trees Zeileis, Hothorn & Hornik 2008).
The statistic is what the split gains (see ``LinearModels.contrast``): a sum of squares. Where no
split is true it is distributed as a weighted sum of chi-squared variables, whose weights are the
variances of its parts, estimated by outer products (Rao & Scott 1981). The matrix of these is not
inverted, so that a small side with many parameters does no harm; only directions that scatter far
more than others are measured in units of their own. Outputs that are apart (see ``Loss.is_apart``)
have parts of their own, whose correlations are those of their residuals; an output with fewer rows
than parameters on a side says nothing. A row weighs by its square: one of weight 2 is
one observation that matters twice, not two. Where rows come in groups, the sums over groups are
the observations (Liang & Zeger 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    """A candidate split of a node, the sums of its sides, and what it was chosen from.

    For outputs that are apart, the model is a loosened one (see ``LinearModels.loosened``).
    """

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
    if loss.is_apart:
        candidates = _summed_anew(backend, models, loss, candidates)
    contrasts = [models.contrast(own.model, own.sums) for own in candidates]
    tasks = []
    for own, contrast in zip(candidates, contrasts, strict=True):
        sides = _sides(own.split, on_rows.LEFT, on_rows.RIGHT)
        tasks.append(on_rows.ScatterTask(own.node, sides, contrast.models, loss))
    found = backend.sum(on_rows.group_scatter if is_grouped else on_rows.row_scatter, tasks)
    return [_chance(*given) for given in zip(candidates, contrasts, found, strict=True)]


def _sides(split: Split, left: int, right: int) -> on_rows.BinSegments:
    return split.segments(np.where(split.left_of_bin, left, right).astype(np.uint16))


def _summed_anew(
    backend: Backend, models: LinearModels, loss: Loss, candidates: Sequence[Tested]
) -> list[Tested]:
    """The candidates with the sums of their sides at other models, those they are tested with."""
    tasks = [
        on_rows.SegmentTask(own.node, _sides(own.split, 0, 1), 2, models.at_rows(own.model), loss)
        for own in candidates
    ]
    found = backend.sum(on_rows.segment_sums, tasks)
    return [replace(own, sums=sums) for own, sums in zip(candidates, found, strict=True)]


def _chance(tested: Tested, contrast: Contrast, scatter: on_rows.Scatter) -> float:
    count = scatter.count * contrast.telling
    left_over = count - np.maximum(contrast.taken, 1.0)
    telling = np.flatnonzero(left_over.min(axis=1) > 0)
    if not len(telling) or not np.isfinite(scatter.products).all():
        return 1.0  # no more rows than parameters, or beyond all numbers: they say nothing
    # Residuals are smaller than errors by what their model has taken (MacKinnon & White 1985, HC1).
    factor = np.sqrt(count[telling] / left_over[telling])
    parts = [
        _parts(contrast.difference[k], contrast.weights[k], own, scatter.products[k])
        for k, own in zip(telling.tolist(), factor, strict=True)
    ]
    variances, along = (np.concatenate(own) for own in zip(*parts, strict=True))
    of_output = np.repeat(np.arange(len(parts)), [len(own) for own, _ in parts])
    # A few rows far out may scatter more than all others: their directions count in units of that.
    unit = np.maximum(variances, _FAR_OUT * np.median(variances)) if len(variances) else variances
    unit = np.where(unit > 0, unit, 1.0)
    statistic = float((along**2 / unit).sum())
    weight = tested.sums.statistics[:, 1]
    share = float(weight[0] / weight.sum())
    choices = (tested.choices.n_splits, tested.choices.n_paths, tested.n_columns)
    weights = _together(variances / unit, of_output, scatter.between[np.ix_(telling, telling)])
    return best_of_all(statistic, weights, share, *choices)


def _parts(
    difference: Floats, weights: Floats, factor: Floats, products: Floats
) -> tuple[Floats, Floats]:
    """Variances of a difference along its main axes, and how far it lies along them."""
    scaled = weights * np.repeat(factor, weights.shape[1] // 2)
    variances, axes = np.linalg.eigh(scaled @ products @ scaled.T)
    return np.maximum(variances, 0.0), axes.T @ difference


def _together(variances: Floats, of_output: NDArray[np.intp], between: Floats) -> Floats:
    """Variances of outputs that are apart, as those of parts that are independent of each other.

    If all outputs scattered alike, these would be the products of their variances and the
    eigenvalues of their residuals' correlations (those of a Kronecker product). Here the outputs
    that scatter most have the largest, which errs on the safe side; the sum is kept.
    """
    if len(between) == 1:
        return variances
    spread = np.sqrt(np.diagonal(between))
    spread = np.where(spread > 0, spread, 1.0)
    shares = np.maximum(np.linalg.eigvalsh(between / spread / spread[:, None])[::-1], 0.0)
    totals = np.bincount(of_output, weights=variances, minlength=len(between))
    factor = np.empty(len(between))
    factor[np.argsort(-totals, kind="stable")] = shares
    out = variances * factor[of_output]
    return np.asarray(out * variances.sum() / out.sum()) if out.any() else variances
