"""Curves: what a straight line misses of a numeric column, learned once and shared by all leaves.

The models of the nodes are linear. Where the target bends along a column, a tree can only follow by
splits, and spends its leaves on them. A *curve* is one more term of such a column: a piecewise
linear function of few points, whose weight every leaf chooses by itself. It is the mean residual of
the root's linear model along the column (a partial residual plot, drawn through the bins), without
its straight part. A second round draws it again with all others in the model (backfitting).

All of it is done on the quadratic approximation of the loss around a constant model, so that one
Newton step fits the root, whatever the loss; and on sums per bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from glassleaf import rows as on_rows
from glassleaf.backends import Backend
from glassleaf.binning import WHOLE, Block, FeatureBins
from glassleaf.design import Design
from glassleaf.losses import Loss
from glassleaf.newton import Penalty
from glassleaf.rows import DrawnCurve
from glassleaf.search import complete
from glassleaf.transforms import Distribution, PiecewiseLinear
from glassleaf.weak_models import LinearModels, NodeModel, Shrinkage

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_ROUNDS = 2
# Points of a curve: few enough to be read and exported.
_MAX_POINTS = 9
# A curve must explain this share of the residuals' squares, and more than chance does.
_WORTH_A_CURVE = 0.01
_CHANCE = 0.001
_RIDGE = 1e-9


@dataclass(frozen=True)
class Residuals:
    """Of one column: the term, the weight and the mean residuals (one per output) of every bin."""

    term: Floats
    weight: Floats
    mean: Floats


def with_curves(
    backend: Backend,
    blocks: Sequence[Block],
    design: Design,
    loss: Loss,
    start: Floats,
    may_bend: Bools,
) -> Design:
    """Learn curves of the columns that bend, add them to the rows, and to the design.

    ``start`` is the constant model; only columns that may split have bins to learn from.
    """
    sources = {
        item.column: place
        for place, item in enumerate(design.dense)
        if may_bend[item.column] and not item.of_missing and item.scale > 0
    }
    n_tested = sum(feature.column in sources for block in blocks for feature in block.features)
    if not n_tested:
        return design
    bent, root = design, None
    for _ in range(_ROUNDS):
        models = LinearModels(backend, bent.layout, loss, Penalty(), Shrinkage())
        root = models.root(start)
        curvature = models.take_step(0, root)
        found = _bin_residuals(backend, models, blocks, bent, loss, start, root)
        power = backend.sum(on_rows.residual_power, [(0,)])[0]
        curves = {}
        for column, residuals in found.items():
            if column in sources:
                partial = _without_curve(residuals, bent, column, root, curvature)
                curve = draw_curve(partial, power, n_tested)
                if curve is not None:
                    curves[column] = curve
        bent = design.with_curves(curves)
        n_dense = design.layout.n_dense
        backend.each(on_rows.widen, [(n_dense, len(curves))])
        if not curves:
            return design
        layout = bent.layout
        backend.each(on_rows.set_curves, [(0, curve_columns(bent), layout.center, layout.scale)])
    return bent


def curve_columns(design: Design) -> list[DrawnCurve]:
    """The dense columns that are curves."""
    terms = design.terms
    place_of = {int(term): place for place, term in enumerate(design.layout.term)}
    drawn = []
    for column in np.flatnonzero(terms.curve_term >= 0).tolist():
        curve = terms.curve(column)
        assert curve is not None
        place = place_of[int(terms.curve_term[column])]
        drawn.append(DrawnCurve(place, place_of[int(terms.first_term[column])], curve))
    return drawn


def _bin_residuals(
    backend: Backend,
    models: LinearModels,
    blocks: Sequence[Block],
    design: Design,
    loss: Loss,
    start: Floats,
    root: NodeModel,
) -> dict[int, Residuals]:
    """The root's residuals along every column, by its bins."""
    parts = on_rows.n_parts(root.count // backend.n_shards)
    given = models.at_rows(root)
    backend.each(
        on_rows.set_linear_residuals,
        [(0, part, parts, *given, start, loss) for part in range(parts)],
    )
    plain = (False, False, False)
    whole = backend.sum(on_rows.bin_sums, [(0, -1, 1, *plain)])[0]
    whole = complete(WHOLE, whole, whole, design.layout)
    tasks = [(0, index, block.n_bins, *plain) for index, block in enumerate(blocks)]
    found = {}
    for block, sums in zip(blocks, backend.sum(on_rows.bin_sums, tasks), strict=True):
        values = complete(block, sums, whole, design.layout).values
        for first, feature in block:
            if not feature.is_categorical:
                own = values[first : first + feature.n_values]
                found[feature.column] = _residuals(feature, own, design)
    return found


def _residuals(feature: FeatureBins, values: Floats, design: Design) -> Residuals:
    used = values[:, -1] > 0
    middle = ((feature.lower + feature.upper) / 2)[used]
    knots = design.terms.knots(feature.column)
    weight = values[used, -1]
    term = middle if knots is None else knots(middle)
    return Residuals(term, weight, -values[used, :-1] / weight[:, None])


def _without_curve(
    residuals: Residuals, design: Design, column: int, root: NodeModel, curvature: Floats
) -> Residuals:
    """What the residuals were if the column's own curve were not in the model."""
    curve = design.terms.curve(column)
    if curve is None:
        return residuals
    place = int(np.flatnonzero(design.layout.term == design.terms.curve_term[column])[0])
    coef = root.stored_parameters()[0][:, place]
    effect = curve(residuals.term)[:, None] * (curvature @ coef)
    return Residuals(residuals.term, residuals.weight, residuals.mean + effect)


def draw_curve(residuals: Residuals, power: float, n_tested: int) -> PiecewiseLinear | None:
    """The curve of a column, of mean 0 and spread 1; None where a straight line does.

    ``power`` is the sum of the squared residuals of all rows.
    """
    term, weight = residuals.term, residuals.weight
    points = _points(Distribution(term, term, weight))
    if len(points) < 3:
        return None
    hats = _hats(term, points)
    gram = (hats * weight[:, None]).T @ hats
    gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
    fitted = np.linalg.solve(gram, hats.T @ (weight[:, None] * _main_output(residuals)))[:, 0]
    straight = np.column_stack([np.ones(len(term)), _standardized(term, term, weight)])
    inner = (straight * weight[:, None]).T @ straight
    line = np.linalg.solve(inner, straight.T @ (weight * (hats @ fitted)))
    bend = (
        fitted - np.column_stack([np.ones(len(points)), _standardized(points, term, weight)]) @ line
    )
    values = hats @ bend
    explained = float(weight @ values**2)
    by_chance = chi2.isf(_CHANCE / n_tested, len(points) - 2) / weight.sum()
    if explained <= max(_WORTH_A_CURVE, by_chance) * power:
        return None
    return PiecewiseLinear(points, bend / np.sqrt(explained / weight.sum()))


def _main_output(residuals: Residuals) -> Floats:
    """With several outputs, the direction in which they vary most along the column."""
    if residuals.mean.shape[1] == 1:
        return residuals.mean
    scaled = residuals.mean * np.sqrt(residuals.weight)[:, None]
    direction = np.linalg.svd(scaled, full_matrices=False)[2][0]
    return np.asarray(residuals.mean @ direction[:, None])


def _points(column: Distribution) -> Floats:
    """Quantiles of the term and its ends, or all values where these are few."""
    values = np.unique(column.lower)  # a transform may map several bins to one term
    if len(values) <= _MAX_POINTS:
        return values
    inner = [column.quantile(share) for share in np.linspace(0, 1, _MAX_POINTS)[1:-1]]
    return np.unique(np.array([column.lower[0], *inner, column.lower[-1]]))


def _hats(term: Floats, points: Floats) -> Floats:
    """Piecewise linear functions that are 1 at one of the points and 0 at the others."""
    return np.stack([np.interp(term, points, own) for own in np.eye(len(points))], axis=1)


def _standardized(values: Floats, term: Floats, weight: Floats) -> Floats:
    mean = np.average(term, weights=weight)
    return np.asarray((values - mean) / np.sqrt(np.average((term - mean) ** 2, weights=weight)))
