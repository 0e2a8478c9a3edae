"""Linear models of the nodes, fitted on sums.

``LinearModels`` fits those of many nodes at once. Everything it decides, it decides on sums over
the nodes' rows; ``NewtonFit`` does the mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.apart import ApartModel
from glassleaf.fit.models.newton import (
    HessianUse,
    NewtonFit,
    Penalty,
    Quadratic,
    QuadraticModel,
    Sums,
    axes_of_some,
    cautious_step,
    pseudo_inverse,
    root_of_ridge,
)
from glassleaf.fit.models.penalty_choice import with_best_alpha
from glassleaf.fit.models.slopes import chains_of, stored_chains
from glassleaf.fit.models.units import NodeModel, Standardizing
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.settings import Settings
from glassleaf.tables.design import Design

Floats = NDArray[np.float64]

# A spread below this share of the values' magnitude cannot be told from rounding.
_ROUNDING = 1e-7
# Share of the rows' own spread that the weighted one counts as at least.
_LEAST_OF_ROWS = 0.1
# Share of the rows below which a complement does not occur at all.
_ABSENT = 1e-12
# Distance from zero, in standard deviations, at which sums of squares lose digits; a mean below
# the second number is zero but for rounding.
_FAR_OUT = 30.0
_AT_ZERO = 1e-12
# A Hessian of more products than this is worth keeping for some rounds. Several outputs share one
# pass, which takes less time for each.
_DEAR_PRODUCTS = 4_000_000
_DEAR_PRODUCTS_OF_OUTPUTS = 200_000_000
# Share of its penalty that a loosened model keeps.
_LOOSE = 0.01
# Columns up to which many small systems of equations are solved in one call.
_TOGETHER = 128


@dataclass(frozen=True)
class SideFit:
    """A model that one Newton step made, its penalized loss, and what the step was taken on."""

    objective: float
    quadratic: Quadratic
    model: NodeModel


@dataclass(frozen=True)
class Contrast:
    """How the two sides of a split differ, seen from the model of both, and what may vary of it.

    ``difference`` are coordinates of the gradient of the left side, less what the model of both
    sides would take of it if it were fitted without a penalty. They are ``weights @ v`` summed over
    the vectors of all rows (see ``passes.scatter``), in units in which the curvature of the loss
    with its penalty is 1: half their squares are what the split gains. ``models`` are models of the
    two sides around which the rows' gradients scatter, and ``taken`` how many rows' worth of that
    scatter each has taken by being fitted; of its rows, the share ``telling`` has something to say:
    those whose outcome is certain have not. There is one of each for all parameters, or one for
    those of every output if these are apart.
    """

    difference: Sequence[Floats]
    weights: Sequence[Floats]
    models: tuple[on_rows.RowModel, on_rows.RowModel]
    taken: Floats
    telling: Floats


@dataclass(frozen=True)
class _Fitting:
    """A node whose model is being fitted, and what does not change meanwhile."""

    model: NodeModel
    newton: NewtonFit
    units: Standardizing
    pseudo_rows: tuple[Floats, Floats]


class LinearModels:
    """Linear models of the nodes of one tree, fitted on sums."""

    def __init__(
        self,
        backend: Backend,
        design: Design,
        settings: Settings,
        signs: NDArray[np.int8] | None = None,
        tested: NDArray[np.bool_] | None = None,
    ) -> None:
        """``signs`` are those that the slopes of input columns may have (see ``Roles``).

        ``tested`` are the stored columns whose weights must change at a split; None: any may.
        """
        self.tested = tested
        lower, upper = _bounds(design, signs)
        self._chains = [] if signs is None else stored_chains(design, signs)
        self._backend = backend
        self._layout = design.layout
        self._loss = settings.loss
        self._settings = settings
        self._penalty = Penalty(settings.alpha, settings.l1_ratio, lower, upper)

    @property
    def linear(self) -> LinearModels:
        return self

    def root(self, start: Floats) -> NodeModel:
        """The root's model before it is fitted; dense columns are standardized already."""
        layout = self._layout
        center, unit = np.zeros(layout.n_columns), np.ones(layout.n_columns)
        center[: layout.n_dense] = layout.center
        unit[: layout.n_dense] = layout.scale
        blank = np.zeros(layout.n_columns)
        theta = np.column_stack([np.zeros((len(start), layout.n_columns)), start])
        alpha = self._penalty.alpha
        model = NodeModel(0, 0.0, np.zeros(0), blank, blank, center, unit, theta, alpha)
        self._measure([0], [model])
        return model

    def children(self, ids: Sequence[int], parents: Sequence[NodeModel]) -> list[NodeModel]:
        """Models of new nodes, each starting from its parent's parameters."""
        models = [replace(parent) for parent in parents]
        self._measure(ids, models)
        far = [k for k, model in enumerate(models) if self._is_far_out(model)]
        if far:
            self._move([ids[k] for k in far], [models[k] for k in far])
        for model, parent in zip(models, parents, strict=True):
            self._start_from(model, parent)
        return models

    def refit(
        self,
        ids: Sequence[int],
        models: Sequence[NodeModel],
        parents: Sequence[NodeModel | None],
    ) -> list[NodeModel]:
        """Models fitted anew to rows that have changed, starting from what they were."""
        fresh = [replace(model) for model in models]
        self._measure(ids, fresh)
        for model, old, parent in zip(fresh, models, parents, strict=True):
            if parent is not None:
                self._start_from(model, parent)
            model.adopt(*old.raw_parameters())
        self.fit(ids, fresh)
        return fresh

    def share_units(self, models: Sequence[NodeModel]) -> bool:
        """Whether the rows of several nodes are stored in the same units."""
        first, *others = models
        return all(
            np.array_equal(first.center, other.center) and np.array_equal(first.unit, other.unit)
            for other in others
        )

    def _start_from(self, model: NodeModel, parent: NodeModel) -> None:
        model.adopt(*parent.raw_parameters())
        model.towards = model.theta[:, :-1] if self._settings.shrinks_to_parent else None

    def _measure(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Count the rows and take the moments of their columns."""
        tasks = [on_rows.StatisticsTask(node, self._loss) for node in ids]
        found = self._backend.sum(on_rows.node_statistics, tasks)
        for model, sums in zip(models, found, strict=True):
            self._take_moments(model, sums)

    def _take_moments(self, model: NodeModel, sums: Floats) -> None:
        """Count, weight, means and spreads from ``node_statistics``."""
        model.count, model.weight = int(sums[0]), float(sums[1])
        model.mean, model.spread, model.support = self._moments(sums)

    def _moments(self, sums: Floats) -> tuple[Floats, Floats, Floats]:
        """Means, spreads and the loss's own statistics, from those of one or of several sets."""
        layout = self._layout
        kept = layout.n_dense + layout.n_sparse
        both = (*sums.shape[:-1], 2, kept)
        first, second, support = np.split(sums[..., 2:], [2 * kept, 4 * kept], axis=-1)
        size = sums[..., 1::-1][..., None]  # weight, then rows
        mean = layout.expand_sums(first.reshape(both) / size, np.ones(both[:-1]))
        square = layout.expand_sums(second.reshape(both) / size, np.ones(both[:-1]))
        for share in (mean, square):  # a complement is a difference: absent means exactly 0
            share[..., kept:][share[..., kept:] < _ABSENT] = 0.0
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        spread[spread <= _ROUNDING * np.sqrt(np.abs(square))] = 0.0
        # Where a few rows have all the weight, the others still say how wide a column is.
        wide = np.maximum(spread[..., 0, :], _LEAST_OF_ROWS * spread[..., 1, :])
        return mean[..., 0, :], wide, support

    def _is_far_out(self, model: NodeModel) -> bool:
        """Whether sums of squares would lose digits in the units in which rows are stored."""
        n_dense = self._layout.n_dense
        distance, spread = np.abs(model.mean[:n_dense]), model.spread[:n_dense]
        return bool((distance > np.maximum(_FAR_OUT * spread, _AT_ZERO)).any())

    def _move(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Put the dense columns of nodes into the nodes' own units."""
        n_dense = self._layout.n_dense
        for what in ("center", "unit"):
            tasks = []
            for node, model in zip(ids, models, strict=True):
                center, scale = np.zeros(n_dense), np.ones(n_dense)
                if what == "center":
                    center = model.mean[:n_dense].copy()
                else:
                    scale = np.where(model.spread[:n_dense] > 0, model.spread[:n_dense], 1.0)
                model.center, model.unit = model.center.copy(), model.unit.copy()
                model.center[:n_dense] += model.unit[:n_dense] * center
                model.unit[:n_dense] *= scale
                tasks.append(on_rows.UnitsTask(node, center, scale))
            self._backend.each(on_rows.move_dense, tasks)
            self._measure(ids, models)

    def fit(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Fit the models of several nodes, with one pass over the rows per round for all."""
        far = [k for k, model in enumerate(models) if self._starts_far_off(model)]
        self._fit(ids, models)
        while far:  # choose again where they have arrived, and so on while the penalty falls
            before = [models[k].alpha for k in far]
            self._fit([ids[k] for k in far], [models[k] for k in far])
            far = [k for k, old in zip(far, before, strict=True) if models[k].alpha < old]

    def _starts_far_off(self, model: NodeModel) -> bool:
        """Whether the penalty is chosen too far from the minimum for what is known of it there.

        The criterion looks one Newton step ahead. A child starts from its parent's model, but the
        root from a constant: where classes can be told apart well, its step is a small part of the
        way, and a strong penalty seems to cost little.
        """
        is_flat = not model.theta[:, :-1].any()
        return self._settings.is_alpha_chosen and not self._loss.is_quadratic and is_flat

    def loosened(self, ids: Sequence[int], models: Sequence[NodeModel]) -> list[NodeModel]:
        """The same models with hardly any penalty.

        A penalty leaves gradients, which every set of rows has its share of. What share that is,
        the curvature of all pairs of outputs would say; without it, there must be none.
        """
        loose = [replace(model, alpha=_LOOSE * model.alpha) for model in models]
        self._fit(ids, loose, is_alpha_chosen=False)
        return loose

    def _fit(
        self, ids: Sequence[int], models: Sequence[NodeModel], is_alpha_chosen: bool = True
    ) -> None:
        fits = {
            node: self._new_fit(model, is_alpha_chosen)
            for node, model in zip(ids, models, strict=True)
        }
        while fits:
            for node, sums in self._round(fits).items():
                model, fit = fits[node].model, fits[node].newton
                fit.receive(sums)
                if fit.is_done:
                    model.theta, model.pearson = fit.theta, fit.pearson
                    model.loss = fit.loss - self._pseudo_loss(fits[node].pseudo_rows, fit.theta)
                    model.alpha, model.penalty = fit.penalty.alpha, fit.penalty.value(fit.theta)
                    del fits[node]

    def _penalty_of(self, model: NodeModel) -> Penalty:
        return replace(self._bounded(model), alpha=model.alpha, towards=model.towards)

    def _bounded(self, model: NodeModel) -> Penalty:
        """The penalty with the chains of a node, whose weights are in units of its own."""
        if not self._chains:
            return self._penalty
        return replace(self._penalty, chains=chains_of(self._chains, model.unit * model.spread))

    def _new_fit(self, model: NodeModel, is_alpha_chosen: bool) -> _Fitting:
        choose = None
        if is_alpha_chosen and self._settings.is_alpha_chosen:

            def choose(penalty: Penalty, sums: Sums) -> Penalty:
                return with_best_alpha(penalty, sums, model.theta, model.weight, self._loss)

        penalty, hessian_use = self._penalty_of(model), self._hessian_use(model)
        return _Fitting(
            model,
            NewtonFit(model.theta, penalty, hessian_use, choose, self._quadratic),
            self._units(model),
            self._loss.pseudo_rows(model.support),
        )

    def _units(self, model: NodeModel) -> Standardizing:
        return Standardizing(self._layout, model.mean, model.spread)

    def _quadratic(self, hessian: Floats, penalty: Penalty) -> Quadratic:
        kind = ApartModel if self._loss.is_apart else QuadraticModel
        return kind(hessian, penalty)

    def _hessian_use(self, model: NodeModel) -> HessianUse:
        if self._loss.is_quadratic:
            return HessianUse.CONSTANT
        if self._loss.is_apart:
            return HessianUse.LEARN
        n_parameters = self._layout.n_columns * self._loss.n_outputs
        dear = _DEAR_PRODUCTS if self._loss.n_outputs == 1 else _DEAR_PRODUCTS_OF_OUTPUTS
        is_dear = model.count * n_parameters**2 > dear
        return HessianUse.KEEP if is_dear else HessianUse.RENEW

    def _round(self, fits: dict[int, _Fitting]) -> dict[int, Sums]:
        tasks = []
        for node, own in fits.items():
            theta, with_hessian = own.newton.request
            model = own.units.at_rows(theta)
            tasks.append(on_rows.ModelTask(node, model, self._loss, with_hessian))
        found = self._backend.sum(on_rows.model_sums, tasks)
        return {
            node: self._in_units(sums, own.units, own.pseudo_rows, own.newton.request[0])
            for (node, own), sums in zip(fits.items(), found, strict=True)
        }

    def _in_units(
        self,
        sums: on_rows.ModelSums,
        units: Standardizing,
        pseudo_rows: tuple[Floats, Floats],
        theta: Floats,
    ) -> Sums:
        """Sums over rows to sums in the node's standardized units, pseudo rows included."""
        gradient, hessian = units.gradients(sums.gradient), None
        if sums.hessian is not None:
            hessian = units.grams(sums.hessian)
            hessian = hessian if self._loss.is_apart else _hessian(hessian, len(gradient))
        loss = sums.loss
        if len(pseudo_rows[0]):
            value, slope, curvature = self._pseudo_sums(pseudo_rows, theta)
            loss += value
            gradient[:, -1] += slope
            if hessian is not None and self._loss.is_apart:
                hessian[:, -1, -1] += curvature
            elif hessian is not None:
                hessian[:, -1, :, -1] += curvature
        return Sums(loss, gradient, hessian, sums.pearson)

    def _pseudo_loss(self, pseudo_rows: tuple[Floats, Floats], theta: Floats) -> float:
        return self._pseudo_sums(pseudo_rows, theta)[0] if len(pseudo_rows[0]) else 0.0

    def _pseudo_sums(
        self, pseudo_rows: tuple[Floats, Floats], theta: Floats
    ) -> tuple[float, Floats, Floats]:
        """Loss and derivatives of the imagined rows at the node's mean (see ``losses``).

        The second ones are a matrix of outputs, or a number for each if these are apart.
        """
        target, weight = pseudo_rows
        n_outputs = len(theta)
        raw = np.tile(theta[:, -1], (len(target), 1))
        if self._loss.is_apart:
            value, slope, curvature = self._loss.derivatives_apart(target, raw)
            return float(weight @ value), weight @ slope, weight @ curvature
        lower = np.zeros((n_outputs, n_outputs))
        found = self._loss.derivatives(target, raw.ravel() if n_outputs == 1 else raw)
        value, slope, curvature = found
        lower[np.tril_indices(n_outputs)] = weight @ curvature.reshape(len(target), -1)
        slope = weight @ slope.reshape(-1, n_outputs)
        return float(weight @ value), slope, lower + np.tril(lower, -1).T

    def side_objectives(self, parent: NodeModel, sides: on_rows.SegmentSums) -> Floats:
        """Penalized losses of models of their own on sets of rows, one Newton step from a parent's.

        The sums are those at the parent's parameters. For a quadratic loss this is the minimum.
        """
        size, n_outputs, l2 = self._layout.n_columns, self._loss.n_outputs, self._penalty.l2
        is_plain = (n_outputs == 1 or self._loss.is_apart) and self._penalty.is_smooth and l2 > 0
        if not is_plain or size > _TOGETHER:
            return self._one_by_one(parent, sides)
        mean, spread, support = self._moments(sides.statistics)
        coef, intercept = parent.stored_parameters()
        per_output = (np.repeat(own, n_outputs, axis=0) for own in (mean, spread))
        units = Standardizing(self._layout, *per_output)
        slope = units.gradients(sides.gradient.reshape(-1, sides.gradient.shape[-1]))
        hessian = units.grams(sides.hessian.reshape(-1, *sides.hessian.shape[-2:]))
        penalty = np.zeros(len(mean))
        if not self._settings.shrinks_to_parent:
            distance = coef * spread[:, None]
            penalty = 0.5 * l2 * (distance**2).sum(axis=(1, 2))
            slope[:, :-1] += l2 * distance.reshape(-1, size)
        diagonal = np.arange(size)
        hessian[:, diagonal, diagonal] += l2
        imagined = self._add_pseudo_rows(support, intercept + mean @ coef.T, slope, hessian)
        try:
            step = -np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # all rows of a side are so certain that nothing curves
            return self._one_by_one(parent, sides)
        decrease = -0.5 * (slope * step).reshape(len(mean), -1).sum(axis=1)
        objective: Floats = sides.loss + imagined + penalty - decrease
        return objective

    def _add_pseudo_rows(
        self, support: Floats, raw: Floats, slope: Floats, hessian: Floats
    ) -> Floats:
        """Add the derivatives of imagined rows of several sets of rows; returns their losses.

        ``raw`` are the scores at the means of the sets (sets, outputs); outputs of a set follow
        each other in the others.
        """
        losses, n_outputs = np.zeros(len(support)), self._loss.n_outputs
        for k, own in enumerate(support):
            pseudo_rows = self._loss.pseudo_rows(own)
            if len(pseudo_rows[0]):
                here = slice(k * n_outputs, (k + 1) * n_outputs)
                losses[k], more, curvature = self._pseudo_sums(pseudo_rows, raw[k][:, None])
                slope[here, -1] += more
                hessian[here, -1, -1] += curvature.ravel()
        return losses

    def _one_by_one(self, parent: NodeModel, sides: on_rows.SegmentSums) -> Floats:
        """``side_objectives`` of sides that are no plain systems of equations."""
        return np.array([self.side_fit(parent, sides, k).objective for k in range(len(sides.loss))])

    def side_fit(self, parent: NodeModel, sides: on_rows.SegmentSums, index: int) -> SideFit:
        """The same for one set, with the quadratic model and where the step led."""
        model = replace(parent)
        self._take_moments(model, sides.statistics[index])
        self._start_from(model, parent)
        pseudo_rows = self._loss.pseudo_rows(model.support)
        sums = self._in_units(sides.of(index), self._units(model), pseudo_rows, model.theta)
        assert sums.hessian is not None
        penalty = replace(self._bounded(model), towards=model.towards)
        quadratic = self._quadratic(sums.hessian, penalty)
        change, decrease = quadratic.step(model.theta, sums.gradient)
        objective = sums.loss + penalty.value(model.theta) - decrease
        model.theta = model.theta + change
        return SideFit(objective, quadratic, model)

    def contrast(self, node: NodeModel, sides: on_rows.SegmentSums) -> Contrast:
        """How the left (first) and right side of a split differ, from the sums at a node's model.

        With curvatures ``H`` and gradients ``g`` of the left side and of both sides, it is ``g_left
        - H_left inv(H) g``: zero but for chance where one model is right, wherever on the way to
        its minimum a penalty has stopped it (Neyman's orthogonal score). Its own curvature is
        ``H_left - H_left inv(H) H_left``. Where only some columns are tested, it is what is left of
        theirs when all other coefficients may differ between the sides.
        """
        units, none = self._units(node), (np.zeros(0), np.zeros(0))
        both = [self._in_units(sides.of(k), units, none, node.theta) for k in (0, 1)]
        hessians = [np.asarray(own.hessian) for own in both]
        if not self._loss.is_apart:
            hessians = [own.reshape(1, node.theta.size, -1) for own in hessians]
        slopes = [own.gradient.reshape(len(hessians[0]), -1) for own in both]
        given = zip(*hessians, *slopes, strict=True)
        differences, weights = zip(*(self._differing(units, *own) for own in given), strict=True)
        (left, n_left), (right, n_right) = (
            self._cautious(node, *own) for own in zip(hessians, slopes, strict=True)
        )
        telling = np.stack([self._telling(node, own) for own in hessians], axis=1)
        telling /= sides.statistics[:, 1]
        taken = np.stack([n_left, n_right], axis=1)
        return Contrast(differences, weights, (left, right), taken, np.minimum(telling, 1.0))

    def _differing(
        self, units: Standardizing, of_left: Floats, of_right: Floats, left: Floats, right: Floats
    ) -> tuple[Floats, Floats]:
        """Difference and weights of a ``Contrast``, of parameters that curve together."""
        whole, size = of_left + of_right, self._layout.n_columns + 1
        shared = of_left @ pseudo_inverse(whole)
        n_outputs = len(whole) // size
        ridge = np.tile(np.append(np.full(size - 1, self._penalty.l2), 0.0), n_outputs)
        curvature, bounds = of_left - shared @ of_left, np.diagonal(whole)
        if self.tested is None:
            axes = root_of_ridge(curvature, ridge, bounds).T
        else:
            of_tested = np.tile(np.append(self.tested, False), n_outputs)
            axes = axes_of_some(curvature, ridge, bounds, of_tested)
        difference = axes @ (left - shared @ (left + right))
        of_rows = [self._of_rows(units, own) for own in (axes - axes @ shared, -axes @ shared)]
        return difference, np.concatenate(of_rows, axis=1)

    def _telling(self, node: NodeModel, hessians: Floats) -> Floats:
        """How much rows weigh, each by what it has to say beside one of an open outcome."""
        curvatures = np.diagonal(hessians, axis1=1, axis2=2)
        of_intercepts = curvatures.reshape(len(hessians), -1, node.theta.shape[1])[:, :, -1]
        return np.asarray(of_intercepts.max(axis=1) / self._loss.row_curvature)

    def _cautious(
        self, node: NodeModel, hessians: Floats, slopes: Floats
    ) -> tuple[on_rows.RowModel, Floats]:
        """A model of one side around which its rows scatter, and how much of that it has taken."""
        found = [cautious_step(*own) for own in zip(hessians, slopes, strict=True)]
        steps = np.array([step for step, _ in found])
        theta = node.theta + steps.reshape(node.theta.shape)
        return self._units(node).at_rows(theta), np.array([taken for _, taken in found])

    def _of_rows(self, units: Standardizing, directions: Floats) -> Floats:
        """Linear functions of gradients in a node's units, as functions of those of its rows."""
        size = self._layout.n_columns + 1
        own = units.at_rows(directions.reshape(-1, size))
        weights = np.column_stack([own.coef, own.intercept])
        n_outputs = directions.shape[1] // size
        return weights.reshape(len(directions), n_outputs * weights.shape[1])

    def at_rows(self, model: NodeModel) -> on_rows.RowModel:
        """The model of the columns that rows hold."""
        return self._units(model).at_rows(model.theta)

    def set_vectors(self, ids: Sequence[int], models: Sequence[NodeModel]) -> None:
        """Store every row's residual, for the split search."""
        tasks = [
            on_rows.ResidualsTask(node, self.at_rows(model), self._loss)
            for node, model in zip(ids, models, strict=True)
        ]
        self._backend.each(on_rows.set_residuals, tasks)


def _bounds(design: Design, signs: NDArray[np.int8] | None) -> tuple[Floats | None, Floats | None]:
    """The bounds that signs of input columns put on the slopes of stored columns.

    Where a line takes no part, they are those of its hinges' weights: then all slopes keep them.
    """
    if signs is None or not signs.any():
        return None, None
    of_term = np.zeros(design.terms.n_terms)
    constrained = np.flatnonzero(signs)
    of_term[design.terms.first_term[constrained]] = signs[constrained]
    for column in constrained.tolist():
        of_term[design.terms.hinge_terms(column)] = signs[column]
    of_column = of_term[design.layout.term]
    return np.where(of_column > 0, 0.0, -np.inf), np.where(of_column < 0, 0.0, np.inf)


def _hessian(grams: Floats, n_outputs: int) -> Floats:
    """One matrix per pair of outputs to (outputs, columns, outputs, columns)."""
    if n_outputs == 1:
        return grams[:, :, None]
    size = grams.shape[1]
    out = np.empty((n_outputs, size, n_outputs, size))
    for gram, k, other in zip(grams, *np.tril_indices(n_outputs), strict=True):
        out[k, :, other] = out[other, :, k] = gram
    return out
