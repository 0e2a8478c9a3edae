"""Curves: what a straight line misses of a numeric column, learned once and shared by all leaves.

The models of the nodes are linear. Where the target bends along a column, a tree can only follow by
splits, and spends its leaves on them. A *curve* is one more term of such a column: a piecewise
linear function of few points, whose weight every leaf chooses by itself. It is the mean residual of
the root's linear model along the column (a partial residual plot, drawn through the bins), without
its straight part. Curves are added one by one, the one that explains most first, and the root is
fitted again: of several columns that go together, only one gets the bend.

For a loss that is not quadratic, the residual is the step that Newton's method would take, the
gradient over the curvature, and rows count by their curvature: what a linear log-odds leaves has no
bend, though the probabilities have one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.splits.gains import complete
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Roles, Settings
from glassleaf.tables.binning import WHOLE, FeatureBins
from glassleaf.tables.design import Design
from glassleaf.tables.transforms import PiecewiseLinear

Floats = NDArray[np.float64]

# A reader can still look at this many curves.
_MOST_CURVES = 10
# Points of a curve: few enough to be read and exported.
_MAX_POINTS = 9
# A curve must explain this share of what the line leaves, and more than chance does.
_WORTH_A_CURVE = 0.01
_CHANCE = 0.001
# At a column's ends, where residuals say most, they may vary more than on average by this factor.
_UNEVEN = 2.0
_RIDGE = 1e-9
_ROUNDING = 1e-9
_NO_CURVATURE = 1e-300


@dataclass(frozen=True)
class Residuals:
    """Of one column, by bins: the term, the curvature, the mean residuals (one per output)."""

    term: Floats
    curvature: Floats
    mean: Floats


def with_curves(backend: Backend, plan: Plan, roles: Roles, settings: Settings) -> Plan:
    """Learn curves of the columns that bend, add them to the rows, and to the design."""
    tested = _tested_columns(plan, roles)
    if not tested:
        return plan
    settings = replace(
        settings, alpha=1.0, is_alpha_chosen=False, l1_ratio=0.0, shrinks_to_parent=False
    )
    straight = plan.design
    curves: dict[int, PiecewiseLinear] = {}
    rulers: dict[int, Ruler] = {}
    models = LinearModels(backend, straight, settings)
    root = models.root(plan.units.start)
    while len(curves) < min(len(tested), _MOST_CURVES):
        models.fit([0], [root])
        found, noise = _bin_residuals(backend, models, plan, settings, root)
        drawn = {}
        for column in sorted(tested - curves.keys()):
            own = found[column]
            if column not in rulers or not np.array_equal(rulers[column].size, own.curvature):
                rulers[column] = make_ruler(own.term, own.curvature)
            drawn[column] = draw_curve(own, rulers[column], noise, root.weight, len(tested))
        best = max(drawn, key=lambda column: drawn[column].explained)
        curve = drawn[best].curve
        if curve is None:
            break
        curves[best] = curve
        root = root.with_column(plan.design.layout.n_dense)
        plan = replace(plan, design=straight.with_curves(curves))
        layout, newest = plan.design.layout, on_rows.drawn_curves(plan.design)[best]
        models = LinearModels(backend, plan.design, settings)
        task = on_rows.CurvesTask(0, [newest], layout.center, layout.scale)
        backend.each(on_rows.add_curves, [task])
    return plan


def _tested_columns(plan: Plan, roles: Roles) -> set[int]:
    """The numeric columns that are free in the models and have bins to learn a curve from."""
    may_bend = roles.leaves & (roles.signs == 0)
    sources = {
        item.column
        for item in plan.design.dense
        if may_bend[item.column] and not item.of_missing and item.scale > 0
    }
    return sources & {
        feature.column
        for feature in plan.features
        if not feature.is_categorical and feature.n_values > 2
    }


def _bin_residuals(
    backend: Backend, models: LinearModels, plan: Plan, settings: Settings, root: NodeModel
) -> tuple[dict[int, Residuals], float]:
    """The root's residuals along every numeric column, by its bins, and their noise.

    The noise is the mean square of a gradient per unit of curvature: the variance of a row's
    residual times its curvature.
    """
    task = on_rows.ResidualsTask(0, models.at_rows(root), settings.loss)
    backend.each(on_rows.set_newton_residuals, [task])
    n_outputs = len(root.theta)
    squares = backend.sum(on_rows.residual_squares, [on_rows.SquaresTask(0, n_outputs)])[0]
    whole = backend.sum(on_rows.whole_sums, [on_rows.WholeTask(0)])[0]
    whole = complete(WHOLE, whole, whole, plan.design.layout)
    asked = [on_rows.BinTask(0, k, block.n_bins) for k, block in enumerate(plan.blocks)]
    found = {}
    for block, sums in zip(plan.blocks, backend.sum(on_rows.bin_sums, asked), strict=True):
        values = complete(block, sums, whole, plan.design.layout).values
        for first, feature in block:
            if not feature.is_categorical:
                own = values[first : first + feature.n_values]
                found[feature.column] = _residuals(feature, own, plan.design, n_outputs)
    return found, squares / max(float(whole.values[0, -1]), _NO_CURVATURE)


def _residuals(feature: FeatureBins, values: Floats, design: Design, n_outputs: int) -> Residuals:
    used = values[:, -1] > 0
    middle = ((feature.lower + feature.upper) / 2)[used]
    knots = design.terms.knots(feature.column)
    curvature = values[used, -1]
    term = middle if knots is None else knots(middle)
    return Residuals(term, curvature, -values[used, :n_outputs] / curvature[:, None])


@dataclass(frozen=True)
class Drawn:
    """A curve of mean 0 and spread 1, None where a straight line will do, and what it explains."""

    curve: PiecewiseLinear | None
    explained: float


@dataclass(frozen=True)
class Ruler:
    """What it takes to draw curves along a column; of the residuals it needs the curvature alone.

    ``bends`` times the mean residuals is the curve at the points: a least squares fit through the
    points, less its straight part.
    """

    size: Floats
    points: Floats
    hats: Floats
    bends: Floats


def make_ruler(term: Floats, size: Floats) -> Ruler:
    """For the bins of a column, with these terms and curvatures."""
    points = _points(term, size)
    if len(points) < 3:
        return Ruler(size, points, np.zeros((0, 0)), np.zeros((0, 0)))
    hats = _hats(term, points)
    gram = (hats * size[:, None]).T @ hats
    gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
    fitted = np.linalg.solve(gram, hats.T * size)
    return Ruler(size, points, hats, fitted - _straight_part(hats @ fitted, points, term, size))


def draw_curve(
    residuals: Residuals, along: Ruler, noise: float, weight: float, n_tested: int
) -> Drawn:
    """The curve of a column.

    ``noise`` is that of a residual per unit of curvature, ``weight`` that of all rows.
    """
    size, points = along.size, along.points
    if len(points) < 3:
        return Drawn(None, 0.0)
    bend = along.bends @ _main_output(residuals)[:, 0]
    explained = float(size @ (along.hats @ bend) ** 2)
    by_chance = _UNEVEN * chdtri(len(points) - 2, _CHANCE / n_tested)
    if not explained > max(_WORTH_A_CURVE * weight, by_chance) * noise:
        return Drawn(None, 0.0)
    return Drawn(PiecewiseLinear(points, bend / np.sqrt(explained / size.sum())), explained)


def _main_output(residuals: Residuals) -> Floats:
    """With several outputs, the direction in which they vary most along the column."""
    if residuals.mean.shape[1] == 1:
        return residuals.mean
    scaled = residuals.mean * np.sqrt(residuals.curvature)[:, None]
    direction = np.linalg.svd(scaled, full_matrices=False)[2][0]
    return np.asarray(residuals.mean @ direction[:, None])


def _points(term: Floats, size: Floats) -> Floats:
    """Quantiles of the term and its ends, or all values where these are few.

    A value that many rows share is one point, however many quantiles it holds. A quantile between
    two bins is their middle, so that the mirror image of a column has that of its points.
    """
    values = np.unique(term)  # a transform may join several bins
    if len(values) <= _MAX_POINTS:
        return values
    up_to = np.cumsum(size) / size.sum()
    share = np.linspace(0, 1, _MAX_POINTS)[1:-1]
    below, above = (np.searchsorted(up_to, share + side) for side in (-_ROUNDING, _ROUNDING))
    inner = (term[below] + term[above]) / 2
    return np.unique(np.concatenate([term[:1], inner, term[-1:]]))


def _hats(term: Floats, points: Floats) -> Floats:
    """Piecewise linear functions that are 1 at one of the points and 0 at the others."""
    left = np.clip(np.searchsorted(points, term) - 1, 0, len(points) - 2)
    share = np.clip((term - points[left]) / (points[left + 1] - points[left]), 0.0, 1.0)
    rows, hats = np.arange(len(term)), np.zeros((len(term), len(points)))
    hats[rows, left], hats[rows, left + 1] = 1.0 - share, share
    return hats


def _straight_part(values: Floats, points: Floats, term: Floats, size: Floats) -> Floats:
    """The regression lines of some values (columns) along the term, at the points."""
    center = np.average(term, weights=size)
    away = term - center
    largest = np.abs(away).max()  # squares of tiny or huge numbers would be 0 or infinite
    away /= largest
    slope = (size * away) @ values / ((size * away) @ away)
    mean = size @ values / size.sum()
    return np.asarray(mean + np.outer((points - center) / largest, slope))
