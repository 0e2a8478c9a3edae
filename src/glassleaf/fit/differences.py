"""One formula for all rows, and what differs: from the shortest model to the longest.

A node's model is its parent's plus a difference, and most entries of a difference are zero. Which
are not is learned on sums over the rows of the leaves alone: around the models of the leaves, the
loss is a quadratic function of the entries (for squared error, everywhere). Entries come in by how
much they lower it per number that somebody has to read, and go again when others make them needless
(``_kernels.selection``). The same is done without each of a few folds of the rows, whose loss then
says how long a model is worth its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf._kernels.selection import Prices, Quadratic, Rules, select_entries
from glassleaf.fit.finish import column_of_stored
from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.units import NodeModel
from glassleaf.fit.splits.find import Node
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Roles, Settings
from glassleaf.tables.design import Design, Layout
from glassleaf.tree.complexity import categories_named, column_price, curve_price
from glassleaf.tree.path import INTERCEPT, Step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

N_FOLDS = 5
# Numbers on a path beyond which nobody reads on.
LONGEST = 200
# An entry goes again if it is missed less than this share of what the newest one gained.
_BACK = 0.5
# Rows' worth of doubt about an entry, in the units of its column.
_RIDGE_ROWS = 1.0
_INTERCEPT_RIDGE = 1e-9
# A spread below this share of a column's square is rounding.
_ROUNDING = 1e-12
# Steps of a path that are kept, and how often their entries are fitted again to the true loss.
_MOST_STEPS = 60
_REFIT_ROUNDS = 3
# Rows in which a category must occur in a node to differ there.
_FEWEST_ROWS = 10


@dataclass(frozen=True)
class LeafSums:
    """The loss of every leaf around its model: ``c' H c / 2 - slope' c + constant``.

    The parameters c are on the raw scale of the columns; the first axis is the leaf.
    """

    hessian: Floats
    slope: Floats
    constant: Floats

    def __add__(self, other: LeafSums) -> LeafSums:
        return LeafSums(
            self.hessian + other.hessian,
            self.slope + other.slope,
            self.constant + other.constant,
        )

    def __sub__(self, other: LeafSums) -> LeafSums:
        return LeafSums(
            self.hessian - other.hessian,
            self.slope - other.slope,
            self.constant - other.constant,
        )

    def loss(self, models: Floats) -> Floats:
        """The loss of several models, shape (models, leaves, parameters), all leaves together."""
        square = np.matmul(models.transpose(1, 0, 2), self.hessian)
        per_leaf = (square.transpose(1, 0, 2) * models).sum(axis=2) / 2
        per_leaf -= np.einsum("slp,lp->sl", models, self.slope)
        return np.asarray(per_leaf.sum(axis=1) + self.constant.sum())


# --- sums over the rows of leaves ----------------------------------------------------------------


def leaf_sums(
    backend: Backend, models: LinearModels, leaves: Sequence[Node], layout: Layout, loss: Loss
) -> list[LeafSums]:
    """What the rows of each fold say of the models of the leaves."""
    tasks = [
        on_rows.FoldTask(leaf.id, models.at_rows(leaf.model), loss, N_FOLDS) for leaf in leaves
    ]
    found = backend.sum(on_rows.fold_sums, tasks)
    folds = []
    for fold in range(N_FOLDS):
        own = [
            _around(leaf.model, layout, sums.loss[fold], sums.gradient[fold], sums.hessian[fold])
            for leaf, sums in zip(leaves, found, strict=True)
        ]
        hessian, slope, constant = (np.array(part) for part in zip(*own, strict=True))
        folds.append(LeafSums(hessian, slope, constant))
    return folds


def _around(
    model: NodeModel, layout: Layout, loss: float, gradient: Floats, pairs: Floats
) -> tuple[Floats, Floats, float]:
    """Sums at a model to the quadratic loss around it, on the raw scale of the columns."""
    to_raw = raw_columns(model, layout)
    n_outputs, size = len(gradient), len(to_raw)
    blocks = np.zeros((n_outputs, size, n_outputs, size))
    for pair, (one, other) in enumerate(zip(*np.tril_indices(n_outputs), strict=True)):
        full = np.tril(pairs[pair]) + np.tril(pairs[pair], -1).T
        blocks[one, :, other] = blocks[other, :, one] = to_raw @ full @ to_raw.T
    hessian = blocks.reshape(n_outputs * size, n_outputs * size)
    slope = (gradient @ to_raw.T).ravel()
    at = np.column_stack(model.raw_parameters()).ravel()
    curved = hessian @ at
    return hessian, curved - slope, float(loss - slope @ at + at @ curved / 2)


def raw_columns(model: NodeModel, layout: Layout) -> Floats:
    """What makes the columns on their raw scale, and the 1, of those that rows hold, and the 1."""
    kept, size = layout.n_dense + layout.n_sparse, layout.n_columns + 1
    out = np.zeros((size, kept + 1))
    place = np.arange(kept)
    out[place, place] = model.unit[:kept]
    out[place, -1] = model.center[:kept]
    for group in range(layout.n_complements):
        others = layout.members[layout.first[group] : layout.first[group + 1]]
        out[kept + group, layout.n_dense + others] = -1.0
    out[kept:, -1] = 1.0
    return out


# --- the path ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """The tree as the selection sees it: who is whose child, and what may differ at which price."""

    leaves: Ints
    parent: Ints
    prices: Prices
    rules: Rules

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    def deeper(self) -> Ints:
        """For every two nodes the lower one, -1 if no path leads through both."""
        n_nodes = self.n_nodes
        out = np.full((n_nodes, n_nodes), -1, dtype=np.int64)
        for node in range(n_nodes):
            above = node
            while above >= 0:
                out[node, above] = out[above, node] = node
                above = int(self.parent[above])
        return out

    def node_sums(self, sums: LeafSums) -> tuple[Floats, Floats]:
        """Hessian and slope of every node: the sums of the leaves below it."""
        size = sums.slope.shape[1]
        hessian, slope = np.zeros((self.n_nodes, size, size)), np.zeros((self.n_nodes, size))
        hessian[self.leaves], slope[self.leaves] = sums.hessian, sums.slope
        for node in range(self.n_nodes - 1, 0, -1):  # children come after their parents
            hessian[self.parent[node]] += hessian[node]
            slope[self.parent[node]] += slope[node]
        return hessian, slope

    def models(self, entries: Floats) -> Floats:
        """The models of the leaves, from the differences of all nodes on the last two axes."""
        models = entries.copy()
        for node in range(1, self.n_nodes):
            models[:, node] += models[:, self.parent[node]]
        return np.asarray(models[:, self.leaves])


def siblings(parent: Ints) -> Ints:
    """The other child of every node's parent; the root's is itself."""
    out = np.zeros(len(parent), dtype=np.int64)
    for node in range(1, len(parent)):
        both = np.flatnonzero(parent == parent[node])
        out[node] = both[both != node][0]
    return out


@dataclass(frozen=True)
class Steps:
    """Models of growing length: numbers to read, fall of the loss, differences of all nodes."""

    numbers: Ints
    fall: Floats
    entries: Floats  # (steps, nodes, parameters)


def select(shape: Shape, sums: LeafSums, unit: Floats, most_numbers: int) -> Steps:
    """The way from the shortest model to one of ``most_numbers``.

    ``unit`` is the size of every parameter's column, by which columns are divided meanwhile.
    """
    hessian, slope = shape.node_sums(sums)
    hessian /= unit[:, None] * unit
    slope /= unit
    ridge = np.full_like(slope, _RIDGE_ROWS)
    is_intercept = shape.rules.intercept == np.arange(len(unit))
    ridge[:, is_intercept] = _INTERCEPT_RIDGE * hessian[0, is_intercept, is_intercept]
    n_steps, most = 3 * most_numbers, min(most_numbers + 2, slope.size)
    numbers, size = np.zeros((2, n_steps), dtype=np.int64)
    fall = np.zeros(n_steps)
    entry, theta = np.zeros((n_steps, most), dtype=np.int64), np.zeros((n_steps, most))
    quadratic = Quadratic(hessian, slope, ridge, shape.deeper())
    n_found = select_entries(
        quadratic, shape.prices, shape.rules, most_numbers, _BACK, numbers, fall, size, entry, theta
    )
    kept = _best_so_far(numbers[:n_found], fall[:n_found])
    entries = np.zeros((len(kept), slope.size))
    for step, found in enumerate(kept):
        own = slice(0, size[found])
        entries[step, entry[found, own]] = theta[found, own]
    entries = entries.reshape(-1, *slope.shape) / unit
    return Steps(numbers[kept], fall[kept], entries)


def _best_so_far(numbers: Ints, fall: Floats) -> Ints:
    """The steps that no shorter one beats.

    >>> _best_so_far(np.array([1, 3, 2, 3]), np.array([0.0, 4.0, 3.0, 5.0]))
    array([0, 2, 3])
    """
    order = np.lexsort((-fall, numbers))
    best = np.maximum.accumulate(fall[order])
    is_better = np.append(True, best[1:] > best[:-1])
    return np.asarray(order[is_better])


def validated(shape: Shape, folds: Sequence[LeafSums], unit: Floats, most_numbers: int) -> Floats:
    """Loss on the rows of every fold of models learned without it: (folds, numbers from 0 on)."""
    everything = _added(folds)
    out = np.full((len(folds), most_numbers + 1), np.inf)
    for k, fold in enumerate(folds):
        steps = select(shape, everything - fold, unit, most_numbers)
        loss = fold.loss(shape.models(steps.entries))
        place = np.searchsorted(steps.numbers, np.arange(most_numbers + 1), side="right") - 1
        out[k] = np.where(place >= 0, loss[place], np.inf)
    return out


def _added(folds: Sequence[LeafSums]) -> LeafSums:
    total = folds[0]
    for fold in folds[1:]:
        total = total + fold
    return total


# --- prices and rules ----------------------------------------------------------------------------


def shape_of(nodes: Sequence[Node], plan: Plan, roles: Roles, sums: LeafSums) -> Shape:
    """The tree that was grown: what may differ where, and the price of every entry."""
    parent = np.full(len(nodes), -1, dtype=np.int64)
    for node in nodes:
        for child in node.children or ():
            parent[child] = node.id
    design = plan.design
    size = design.layout.n_columns + 1
    n_outputs = sums.slope.shape[1] // size
    column = np.append(column_of_stored(design), -1)
    group_of, group_price = _groups(design)
    prices = Prices(
        entry=np.ones(n_outputs * size, dtype=np.int64),
        group_of=np.tile(group_of, n_outputs),
        group=group_price,
        split=np.array([_split_price(node, plan) for node in nodes]),
        parent=parent,
        sibling=siblings(parent),
    )
    signs = np.append(roles.signs, 0)[column].astype(np.float64)
    intercept = np.repeat(size * np.arange(n_outputs) + size - 1, size)
    allowed = np.ones((len(nodes), n_outputs * size), dtype=np.bool_)
    allowed[1:] = np.tile(signs == 0, n_outputs)
    leaves = np.array([node.id for node in nodes if node.children is None])
    shape = Shape(leaves, parent, prices, Rules(allowed, np.tile(signs, n_outputs), intercept))
    allowed &= _is_frequent(shape, sums, nodes, design.layout)
    return shape


def _is_frequent(shape: Shape, sums: LeafSums, nodes: Sequence[Node], layout: Layout) -> Bools:
    """Whether what a node would differ in occurs in enough of its rows; a number always does."""
    hessian, _ = shape.node_sums(sums)
    square = np.einsum("vpp->vp", hessian)
    share = square / np.maximum(square[:, shape.rules.intercept], np.finfo(np.float64).tiny)
    count = np.array([node.model.count for node in nodes])[:, None] * share
    is_indicator = np.append(np.arange(layout.n_columns) >= layout.n_dense, False)
    n_outputs = square.shape[1] // len(is_indicator)
    return np.asarray((count >= _FEWEST_ROWS) | ~np.tile(is_indicator, n_outputs))


def _groups(design: Design) -> tuple[Ints, Ints]:
    """The group of every stored column, and of the 1; what it takes to read the first of a group.

    The line of a column needs its knots and what a missing value counts as; a curve its points.
    """
    terms = design.terms
    n_columns = len(terms.first_term)
    price = np.zeros(2 * n_columns + 1, dtype=np.int64)
    group_of_term = np.full(terms.n_terms, 2 * n_columns)
    for column in range(n_columns):
        line, curve = terms.first_term[column], terms.curve_term[column]
        if line >= 0 and not terms.is_category[column]:
            group_of_term[line] = column
            price[column] = column_price(terms, column)
        if curve >= 0:
            group_of_term[curve] = n_columns + column
            price[n_columns + column] = curve_price(terms, column)
    return np.append(group_of_term[design.layout.term], 2 * n_columns), price


def _split_price(node: Node, plan: Plan) -> int:
    """Numbers and categories that the rule of a split names."""
    split = node.split
    if split is None or not split.is_categorical:
        return 1
    n_categories = len(plan.columns[split.column].categories or ())
    n_left = int(split.left_of_bin[:n_categories].sum())
    return categories_named(n_left, n_categories)


# --- the path of a fit ---------------------------------------------------------------------------


def learn_path(
    backend: Backend, models: LinearModels, nodes: Sequence[Node], plan: Plan, roles: Roles,
    settings: Settings,
) -> tuple[Step, ...]:  # fmt: skip
    """Models of growing length, each the best of its length, with what they lose on other rows."""
    leaves = [node for node in nodes if node.children is None]
    layout = plan.design.layout
    folds = leaf_sums(backend, models, leaves, layout, settings.loss)
    sums = _added(folds)
    shape = shape_of(nodes, plan, roles, sums)
    unit = _units(sums, shape.rules.intercept, nodes[0].model.weight)
    asked = settings.max_numbers
    most = max(LONGEST, asked if isinstance(asked, int) else 0)
    steps = select(shape, sums, unit, most)
    if not settings.loss.is_quadratic:  # others are fitted again, each step at a price
        steps = _thinned(steps, asked if isinstance(asked, int) else most)
    loss_of_folds = validated(shape, folds, unit, int(steps.numbers[-1]))
    loss = sums.loss(shape.models(steps.entries))
    optimism = loss_of_folds[:, steps.numbers].sum(axis=0) - loss
    if not settings.loss.is_quadratic:
        refit = Refit(backend, leaves, layout, settings.loss, shape, shape.node_sums(sums)[0])
        steps, loss = refit.improved(steps, unit)
    return _described(steps, loss, optimism, loss_of_folds, plan, nodes[0].model.weight)


def _thinned(steps: Steps, asked: int) -> Steps:
    """About ``_MOST_STEPS`` of the steps, by ratios of their numbers, and the one asked for."""
    wanted = np.geomspace(steps.numbers[0], steps.numbers[-1], _MOST_STEPS).round()
    last = int(np.searchsorted(steps.numbers, asked, side="right")) - 1
    kept = np.unique([*np.searchsorted(steps.numbers, wanted).tolist(), max(last, 0)])
    return Steps(steps.numbers[kept], steps.fall[kept], steps.entries[kept])


@dataclass(frozen=True)
class Refit:
    """Newton's method on the true loss of several models at once.

    Every round needs gradients alone: the Hessian stays that of the models of the leaves.
    """

    backend: Backend
    leaves: Sequence[Node]
    layout: Layout
    loss: Loss
    shape: Shape
    hessian: Floats  # of every node

    def improved(self, steps: Steps, unit: Floats) -> tuple[Steps, Floats]:
        """The steps with entries that lose less, and what they lose."""
        best = steps.entries
        loss, gradient = self._at(best)
        for _ in range(_REFIT_ROUNDS):
            tried = np.array([
                entries - self._newton_step(entries, own, unit)
                for entries, own in zip(best, gradient, strict=True)
            ])  # fmt: skip
            found, slope = self._at(tried)
            keeps_signs = (self.shape.rules.sign * tried >= 0).all(axis=(1, 2))
            is_better = keeps_signs & (found < loss)
            best = np.where(is_better[:, None, None], tried, best)
            gradient = np.where(is_better[:, None, None], slope, gradient)
            loss = np.where(is_better, found, loss)
        return Steps(steps.numbers, steps.fall, best), loss

    def _at(self, entries: Floats) -> tuple[Floats, Floats]:
        """Loss and gradient by the entries of all nodes, of several models."""
        models = self.shape.models(entries)
        n_models, size = len(entries), self.layout.n_columns + 1
        tasks = [
            on_rows.ModelTask(leaf.id, self._row_model(leaf, own), self.loss, False)
            for k, leaf in enumerate(self.leaves)
            for own in models[:, k].reshape(n_models, -1, size)
        ]
        found = self.backend.sum(on_rows.model_sums, tasks)
        loss, gradient = np.zeros(n_models), np.zeros_like(entries)
        for k, leaf in enumerate(self.leaves):
            to_raw = raw_columns(leaf.model, self.layout)
            for model, sums in enumerate(found[k * n_models : (k + 1) * n_models]):
                loss[model] += sums.loss
                gradient[model, leaf.id] = (sums.gradient @ to_raw.T).ravel()
        for node in range(self.shape.n_nodes - 1, 0, -1):  # children come after their parents
            gradient[:, self.shape.parent[node]] += gradient[:, node]
        return loss, gradient

    def _row_model(self, leaf: Node, parameters: Floats) -> on_rows.RowModel:
        """A leaf's model for the columns as its rows hold them."""
        coef, intercept = parameters[:, :-1], parameters[:, -1]
        at_center = intercept + coef @ leaf.model.center
        return on_rows.RowModel(*self.layout.reduce_coef(coef * leaf.model.unit, at_center))

    def _newton_step(self, entries: Floats, gradient: Floats, unit: Floats) -> Floats:
        node, parameter = np.nonzero(entries)
        lower = self.shape.deeper()[np.ix_(node, node)]
        size = unit[parameter]
        gram = self.hessian[lower, parameter[:, None], parameter] / (size[:, None] * size)
        gram[lower < 0] = 0.0
        gram[np.diag_indices_from(gram)] += _RIDGE_ROWS
        step = np.zeros_like(entries)
        step[node, parameter] = np.linalg.solve(gram, gradient[node, parameter] / size) / size
        return step


def _units(sums: LeafSums, intercept: Ints, weight: float) -> Floats:
    """What columns are divided by: the spread of each, by curvature; an intercept has none."""
    hessian = sums.hessian.sum(axis=0)
    square, own = np.diagonal(hessian), np.arange(len(hessian))
    spread = square - hessian[own, intercept] ** 2 / square[intercept]
    is_known = spread > _ROUNDING * square
    return np.asarray(np.sqrt(np.where(is_known, spread, np.maximum(square, _ROUNDING)) / weight))


def _described(
    steps: Steps, loss: Floats, optimism: Floats, of_folds: Floats, plan: Plan, weight: float
) -> tuple[Step, ...]:
    """Steps in the units of columns and target; ``optimism`` is what a loss flatters them by."""
    layout, scale = plan.design.layout, plan.units.scale
    per_row = (loss + optimism) * scale**2 / weight
    best = int(np.argmin(per_row))
    apart = of_folds[:, steps.numbers] - of_folds[:, steps.numbers[[best]]]
    error = apart.std(axis=0, ddof=1) * np.sqrt(len(of_folds)) * scale**2 / weight
    term_of = np.append(layout.term, INTERCEPT)
    is_intercept = np.arange(steps.entries.shape[2]) % len(term_of) == len(term_of) - 1
    out = []
    for k, entries in enumerate(steps.entries):
        is_kept = entries != 0
        is_kept[0] |= is_intercept  # zero in the units of training is none in those of the target
        node, parameter = np.nonzero(is_kept)
        output, place = np.divmod(parameter, len(term_of))
        value = scale * entries[node, parameter]
        value[(node == 0) & is_intercept[parameter]] += plan.units.center
        out.append(
            Step(
                numbers=int(steps.numbers[k]),
                loss=float(loss[k] * scale**2 / weight),
                validated=float(per_row[k]),
                error=float(error[k]),
                node=node,
                output=output,
                term=term_of[place],
                value=value,
            )
        )
    return tuple(out)


def shortest_good(steps: Sequence[Step]) -> Step:
    """The shortest step whose validated loss is within one standard error of the best."""
    best = min(step.validated for step in steps)
    return next(step for step in steps if step.validated <= best + step.error)
