"""Hinges: where a straight line along a numeric column has to bend.

The models of the nodes are linear. Where the target bends along a column, a tree can only follow by
splits, and spends its leaves on them. A *hinge* is one more term of such a column: how far its term
lies above some place, 0 below it. With its line and a few hinges, a column's effect is one broken
line. Hinges are learned from the residuals of the root's linear model, summed over the bins of a
column (a partial residual plot). In every round, the columns that bend most get one more hinge, at
the place where it explains most beside their line, and the root is fitted again.

For a loss that is not quadratic, the residual is the step that Newton's method would take, the
gradient over the curvature, and rows count by their curvature: what a linear log-odds leaves has no
bend, though the probabilities have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.rising import explained_by_rising
from glassleaf.fit.splits.gains import complete
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Roles, Settings
from glassleaf.tables.binning import WHOLE, FeatureBins
from glassleaf.tables.design import Design, Hinge
from glassleaf.tables.short_numbers import shortest_between

Floats = NDArray[np.float64]

# Rounds, columns that get a hinge in one, and hinges altogether.
_MOST_ROUNDS = 10
_PER_ROUND = 3
_MOST_HINGES = 20
# A column gets a hinge together with the best one if it explains this share of what that does.
_NEARLY_AS_MUCH = 0.5
# Shares of the rows at which a column may bend.
_PLACES = np.linspace(0, 1, 33)[1:-1]
# How far a place may be moved, as a share of the rows, so that it is a short number.
_MOVE = 0.01
# A hinge must explain more than chance does and, where splits may follow a curve as well, this
# share of what the line leaves.
_WORTH_A_HINGE = 0.0001
_CHANCE = 0.01
# A step that explains this share of all that bends is a jump.
_NEARLY_ALL = 0.75
_FEW_VALUES = 16
# A spread below this share of a hinge's square is rounding.
_ROUNDING = 1e-9
_NO_CURVATURE = 1e-300


@dataclass(frozen=True)
class Residuals:
    """Of one column, by bins: the term, the curvature, the mean residuals (one per output).

    A column with a sign has residuals with what it adds itself.
    """

    term: Floats
    curvature: Floats
    mean: Floats
    sign: int = 0


def with_hinges(backend: Backend, plan: Plan, roles: Roles, settings: Settings) -> Plan:
    """Learn hinges of the columns that bend, add them to the rows, and to the design."""
    tested = _tested_columns(plan, roles)
    if not tested:
        return plan
    settings = replace(
        settings, alpha=1.0, is_alpha_chosen=False, l1_ratio=0.0, shrinks_to_parent=False
    )
    straight = plan.design
    hinges: list[Hinge] = []
    places: dict[int, Floats] = {}
    models = LinearModels(backend, straight, settings, roles.signs)
    root = models.root(plan.units.start)
    for _ in range(_MOST_ROUNDS):
        models.fit([0], [root])
        found, noise = _bin_residuals(backend, models, plan, settings, root)
        for column in np.flatnonzero(roles.signs).tolist():
            if column in found:
                sign = int(roles.signs[column])
                found[column] = _with_effect(found[column], plan.design, root, column, sign)
        if not places:
            move = _MOVE if settings.max_numbers is not None else 0.0
            places = {column: places_of(found[column], move) for column in tested}
        may_split = roles.splits & (settings.max_depth != 0 and not roles.is_asked)
        best = {
            column: best_hinge(
                column,
                found[column],
                places[column],
                _at(hinges, column),
                noise if may_split[column] else None,
            )
            for column in tested
        }
        by_chance = chdtri(1, _CHANCE / (len(tested) * len(_PLACES)))
        least = noise * np.maximum(may_split * _WORTH_A_HINGE * root.weight, by_chance)
        new = _taken(best, least, _MOST_HINGES - len(hinges))
        if not new:
            break
        hinges += new
        for _ in new:
            root = root.with_column(plan.design.layout.n_dense)
        plan = replace(plan, design=straight.with_hinges(hinges))
        layout = plan.design.layout
        newest = [
            own
            for own in on_rows.stored_hinges(plan.design)
            if own.place >= layout.n_dense - len(new)
        ]
        models = LinearModels(backend, plan.design, settings, roles.signs)
        task = on_rows.HingesTask(
            0, sorted(newest, key=lambda own: own.place), layout.center, layout.scale
        )
        backend.each(on_rows.add_hinges, [task])
    return plan


def _at(hinges: Sequence[Hinge], column: int) -> list[float]:
    return [hinge.at for hinge in hinges if hinge.column == column]


def _taken(best: Mapping[int, BestHinge], least: Floats, n_free: int) -> list[Hinge]:
    """The best hinges of the columns that bend most, each by more than the ``least`` of its own."""
    bent = [own for own in best.values() if own.explained > least[own.hinge.column]]
    order = sorted(bent, key=lambda own: (-own.explained, own.hinge.column))
    enough = _NEARLY_AS_MUCH * max((own.explained for own in order), default=0.0)
    return [own.hinge for own in order[: min(_PER_ROUND, n_free)] if own.explained >= enough]


def _tested_columns(plan: Plan, roles: Roles) -> list[int]:
    """The numeric columns that may bend and have bins to learn a hinge from."""
    sources = {
        item.column
        for item in plan.design.dense
        if roles.bends[item.column] and item.state < 0 and item.scale > 0
    }
    return [
        feature.column
        for feature in plan.features
        if feature.column in sources and not feature.is_categorical and feature.n_values > 2
    ]


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


def _with_effect(
    residuals: Residuals, design: Design, root: NodeModel, column: int, sign: int
) -> Residuals:
    """Residuals of a column with a sign, with what the root's model says of it (partial ones)."""
    terms, coef = design.terms, np.zeros(design.terms.n_terms)
    coef[design.layout.term] = root.raw_parameters()[0][0]
    effect = coef[terms.first_term[column]] * residuals.term
    for term, at in zip(terms.hinge_terms(column), terms.hinges(column), strict=True):
        effect = effect + coef[term] * np.maximum(residuals.term - at, 0.0)
    return replace(residuals, mean=residuals.mean + effect[:, None], sign=sign)


# --- one hinge -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BestHinge:
    """The hinge of a column that explains most beside its line and its other hinges."""

    hinge: Hinge
    explained: float


def best_hinge(
    column: int,
    residuals: Residuals,
    places: Floats,
    others: Sequence[float],
    noise: float | None = None,
) -> BestHinge:
    """Where a column should bend; ``explained`` is 0 where it should not.

    A jump is for a split: where a step explains more than any hinge, and but for ``noise`` nearly
    all that line and hinges leave, there is none; without ``noise``, jumps are bends. At
    ``others`` the column bends already.
    """
    if not len(places):
        return BestHinge(Hinge(column, 0.0, 0.0, 1.0), 0.0)
    unit = np.ptp(residuals.term)  # squares of tiny or huge numbers would be 0 or infinite
    term, size = residuals.term / unit, residuals.curvature
    above, known = (_above(term, np.asarray(found) / unit) for found in (places, others))
    beside = np.column_stack([np.ones_like(term), term, known])
    if residuals.sign:
        target = residuals.sign * residuals.mean[:, 0]
        explained = explained_by_rising(
            term, size, target, places / unit, [at / unit for at in others]
        )
    else:
        explained = _explained(above, beside, residuals)
    if noise is not None and _jumps(above, beside, residuals, noise, explained.max()):
        return BestHinge(Hinge(column, 0.0, 0.0, 1.0), 0.0)
    best = int(np.argmax(explained))
    mean = np.average(above[:, best], weights=size)
    spread = np.sqrt(np.average((above[:, best] - mean) ** 2, weights=size))
    hinge = Hinge(column, float(places[best]), float(unit * mean), float(unit * spread))
    return BestHinge(hinge, float(explained[best]))


def places_of(residuals: Residuals, move: float) -> Floats:
    """Where a column may bend: quantiles of its term inside its range.

    Each is the shortest number that holds between a share ``move`` of the rows more and less.
    """
    term, size = residuals.term, residuals.curvature
    up_to = np.cumsum(size) / size.sum()
    low, high = (
        term[np.minimum(np.searchsorted(up_to, _PLACES + by), len(term) - 1)]
        for by in (-move, move)
    )
    pairs = set(zip(low.tolist(), high.tolist(), strict=True))
    found = {shortest_between(a, b) if a < b else a for a, b in pairs}
    return np.array(sorted(place for place in found if term.min() < place < term.max()))


def _above(term: Floats, places: Floats) -> Floats:
    """How far every term (rows) lies above every place (columns)."""
    return np.asarray(np.maximum(term[:, None] - places, 0.0))


def _jumps(
    above: Floats, beside: Floats, residuals: Residuals, noise: float, explained: float
) -> bool:
    """Whether a step explains more than that, and nearly all that other columns leave.

    Among few values, a jump and a bend are the same.
    """
    n_bins, n_outputs = residuals.mean.shape
    if n_bins <= _FEW_VALUES:
        return False
    root = np.sqrt(residuals.curvature)[:, None]
    basis, _ = np.linalg.qr(root * beside)
    scaled = root * residuals.mean
    left = ((scaled - basis @ (basis.T @ scaled)) ** 2).sum()
    left -= noise * n_outputs * (n_bins - beside.shape[1])
    found = _explained((above > 0).astype(np.float64), beside, residuals).max()
    return bool(found > max(explained, _NEARLY_ALL * left))


def _explained(columns: Floats, beside: Floats, residuals: Residuals) -> Floats:
    """What each column explains of the residuals beside other columns: a sum of squares."""
    root = np.sqrt(residuals.curvature)[:, None]
    basis, _ = np.linalg.qr(root * beside)
    scaled = root * columns
    free = scaled - basis @ (basis.T @ scaled)
    square = (free**2).sum(axis=0)
    is_free = square > _ROUNDING * (scaled**2).sum(axis=0)
    product = ((free.T @ (root * residuals.mean)) ** 2).sum(axis=1)
    return np.where(is_free, product / np.where(is_free, square, 1.0), 0.0)
