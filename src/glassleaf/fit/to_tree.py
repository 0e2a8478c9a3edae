"""The end of training: nodes become a tree of plain arrays on the raw scale, with its record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.splits.candidates import Split
from glassleaf.fit.splits.find import Node
from glassleaf.fit.splits.short_numbers import without_noise
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.passes import WeakModel
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Settings
from glassleaf.tables.design import Design, Terms
from glassleaf.tables.table import Column
from glassleaf.tree.tree import LEAF, Candidates, CustomLeaves, TrainingRecord, Tree

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def to_tree(backend: Backend, nodes: Sequence[Node], plan: Plan, settings: Settings) -> Tree:
    """The finished tree, on the raw scale of columns and target."""
    clamps = _no_clamps(nodes, plan.design)
    if settings.clamp and settings.is_linear:
        clamps = _clamps(backend, nodes, plan.design)
    if settings.weak_model is None:
        coef, intercept, custom = _linear_leaves(nodes, plan, clamps)
    else:
        coef, intercept, custom = _custom_leaves(nodes, plan, settings.weak_model)
    splits = [node.split for node in nodes]
    first_category, categories = _category_sides(splits, plan.columns)
    squared = plan.units.scale**2
    return Tree(
        columns=plan.columns,
        terms=plan.design.terms,
        feature=np.array([s.column if s else LEAF for s in splits], dtype=np.int32),
        threshold=np.array([s.threshold if s else np.nan for s in splits]),
        left=np.array([n.children[0] if n.children else LEAF for n in nodes], dtype=np.int32),
        right=np.array([n.children[1] if n.children else LEAF for n in nodes], dtype=np.int32),
        missing_left=np.array([s.missing_left if s else False for s in splits]),
        unknown_left=np.array([s.unknown_left if s else False for s in splits]),
        first_category=first_category,
        categories=categories,
        coef=coef,
        intercept=intercept,
        clamp_low=clamps[0],
        clamp_high=clamps[1],
        n_samples=np.array([node.model.count for node in nodes]),
        weight=np.array([node.model.weight for node in nodes]),
        gain=squared * np.array([s.gain if s else 0.0 for s in splits]),
        loss=squared * np.array([node.model.loss for node in nodes]),
        training_record=_training_record(backend, nodes, plan, settings),
        custom=custom,
    )


# --- the models ----------------------------------------------------------------------------------


Leaves = tuple[Floats, Floats, CustomLeaves | None]


def _linear_leaves(nodes: Sequence[Node], plan: Plan, clamps: tuple[Floats, Floats]) -> Leaves:
    """Coefficients and intercepts of linear models."""
    n_outputs, scale = len(nodes[0].model.theta), plan.units.scale
    coef = np.zeros((len(nodes), n_outputs, plan.design.terms.n_terms))
    intercept = np.zeros((len(nodes), n_outputs))
    for node in nodes:
        weights, constant = node.model.raw_parameters()
        coef[node.id][:, plan.design.layout.term] = scale * weights
        intercept[node.id] = scale * constant + plan.units.center
    _fold_straight_curves(coef, intercept, plan.design.terms, *clamps)
    return (coef[:, 0], intercept[:, 0], None) if n_outputs == 1 else (coef, intercept, None)


def _custom_leaves(nodes: Sequence[Node], plan: Plan, weak_model: WeakModel) -> Leaves:
    """A user's models as they are."""
    assert plan.term_units is not None
    models = tuple(node.model.custom for node in nodes)
    custom = CustomLeaves(weak_model, models, *plan.term_units)
    return np.zeros((len(nodes), 0)), np.full(len(nodes), np.nan), custom


def _fold_straight_curves(
    coef: Floats, intercept: Floats, terms: Terms, low: Floats, high: Floats
) -> None:
    """Where a node sees no bend of a curve, let the column's own coefficient say its slope.

    The two would only add up to it: predictions stay as they are.
    """
    for column in np.flatnonzero(terms.curve_term >= 0).tolist():
        curve, line, bend = terms.curve(column), terms.first_term[column], terms.curve_term[column]
        assert curve is not None
        for node in range(len(coef)):
            straight = curve.straight_between(low[node, column], high[node, column])
            if straight is not None:
                slope, constant = straight
                coef[node, :, line] += slope * coef[node, :, bend]
                intercept[node] += constant * coef[node, :, bend]
                coef[node, :, bend] = 0.0


# --- how far columns reached ---------------------------------------------------------------------


def _no_clamps(nodes: Sequence[Node], design: Design) -> tuple[Floats, Floats]:
    everywhere = np.full((len(nodes), len(design.terms.first_term)), np.inf)
    return -everywhere, everywhere


def _clamps(backend: Backend, nodes: Sequence[Node], design: Design) -> tuple[Floats, Floats]:
    """What every node saw of every numeric column, in the units of the terms."""
    shape = (len(nodes), len(design.terms.first_term))
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    numeric, stored = design.numeric_columns()
    leaves = [node for node in nodes if node.children is None]
    found = backend.sum(on_rows.column_ranges, [on_rows.NodeTask(node.id) for node in leaves])
    for node, ranges in zip(leaves, found, strict=True):
        center, unit = node.model.center[stored], node.model.unit[stored]
        low[node.id, numeric] = center + unit * ranges.low[stored]
        high[node.id, numeric] = center + unit * ranges.high[stored]
    ids = np.ix_(np.array([node.id for node in leaves]), numeric)
    center = abs(nodes[0].model.center[stored])  # near these, stored values have lost digits
    for end in (low, high):
        end[ids] = without_noise(end[ids], np.maximum(center, abs(end[ids])))
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            low[node.id] = low[list(node.children)].min(axis=0)
            high[node.id] = high[list(node.children)].max(axis=0)
    return low, high


# --- what training saw ---------------------------------------------------------------------------


def _training_record(
    backend: Backend, nodes: Sequence[Node], plan: Plan, settings: Settings
) -> TrainingRecord:
    """Records of every node, kept beside the tree for those who explain it."""
    target = _mean_targets(backend, nodes, plan, settings.n_classes, settings.loss.positive)
    bend = _curve_covariances(backend, nodes, plan.design)
    candidates = _candidates(nodes, plan.columns, plan.units.scale)
    mean, spread = _moments(nodes, plan.design)
    return TrainingRecord(mean, spread, target, plan.low, plan.high, candidates, bend)


def _moments(nodes: Sequence[Node], design: Design) -> tuple[Floats, Floats]:
    """Mean and spread of every term in every node; those of custom models are not known."""
    is_linear = nodes[0].model.custom is None
    mean, spread = np.zeros((2, len(nodes), design.terms.n_terms if is_linear else 0))
    if is_linear:
        for node in nodes:
            model, term = node.model, design.layout.term
            mean[node.id, term] = model.center + model.unit * model.mean
            spread[node.id, term] = model.unit * model.spread
    return mean, spread


def _mean_targets(
    backend: Backend, nodes: Sequence[Node], plan: Plan, n_classes: int, positive: int
) -> Floats:
    """Mean target of every node, shape (nodes, 1), or the shares of the sorted classes."""
    leaves = [node for node in nodes if node.children is None]
    tasks = [on_rows.TargetSumsTask(node.id, n_classes) for node in leaves]
    found = backend.sum(on_rows.target_sums, tasks)
    sums = np.zeros((len(nodes), max(n_classes, 1)))
    for node, total in zip(leaves, found, strict=True):
        sums[node.id] = total
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            sums[node.id] = sums[list(node.children)].sum(axis=0)
    mean = sums / np.array([[node.model.weight] for node in nodes])
    if not n_classes:
        return np.asarray(mean * plan.units.scale + plan.units.center)
    # Of two classes, training knows the positive one as 1, wherever it is among the labels.
    return np.asarray(mean if positive else mean[:, ::-1])


def _curve_covariances(backend: Backend, nodes: Sequence[Node], design: Design) -> Floats:
    """Covariance of every column's term and its curve in every node, 0 for columns without one.

    Narrowed leaves, and the nodes above them, have that of the clamped rows.
    """
    columns = np.flatnonzero(design.terms.curve_term >= 0)
    out = np.zeros((len(nodes), len(design.terms.curve_term)))
    if not len(columns):
        return out
    drawn = list(on_rows.drawn_curves(design).values())
    place, source = np.array([(own.place, own.source) for own in drawn]).T
    leaves = [node for node in nodes if node.children is None]
    tasks = [on_rows.CurveProductsTask(node.id, drawn) for node in leaves]
    sums = backend.sum(on_rows.curve_products, tasks)
    weight = np.array([node.model.weight for node in nodes])
    mean = np.zeros((len(nodes), 2, len(columns)))
    for node, total in zip(leaves, sums, strict=True):
        model, (curve, own, product) = node.model, total.T / node.model.weight
        unit = model.unit[place] * model.unit[source]
        out[node.id, columns] = unit * (product - curve * own)
        mean[node.id, 0] = model.center[place] + model.unit[place] * curve
        mean[node.id, 1] = model.center[source] + model.unit[source] * own
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            below = list(node.children)
            share = weight[below] / weight[below].sum()
            mean[node.id] = np.tensordot(share, mean[below], axes=1)
            apart = (mean[below] - mean[node.id]).prod(axis=1)
            out[node.id, columns] = share @ (out[below][:, columns] + apart)
    return out


def _candidates(nodes: Sequence[Node], columns: Sequence[Column], scale: float) -> Candidates:
    found = [(node.id, rival) for node in nodes if node.split for rival in node.rivals]
    splits = [rival.split for _, rival in found]
    first_category, categories = _category_sides(splits, columns)
    none = np.zeros(0)
    return Candidates(
        node=np.array([node for node, _ in found], dtype=np.int32),
        feature=np.array([split.column for split in splits], dtype=np.int32),
        gain=scale**2 * np.array([split.gain for split in splits], dtype=np.float64),
        threshold=np.array([split.threshold for split in splits], dtype=np.float64),
        missing_left=np.array([split.missing_left for split in splits], dtype=np.bool_),
        has_missing=np.array([rival.has_missing for _, rival in found], dtype=np.bool_),
        first_category=first_category,
        categories=categories,
        first_point=np.cumsum([0, *(len(rival.gains) for _, rival in found)]),
        position=np.concatenate([none, *(rival.position for _, rival in found)]),
        curve=scale**2 * np.concatenate([none, *(rival.gains for _, rival in found)]),
    )


def _category_sides(
    splits: Sequence[Split | None], columns: Sequence[Column]
) -> tuple[NDArray[np.int64], Bools]:
    """For every split the place of its categories' sides in one flat array, -1 for a number."""
    first = np.full(len(splits), -1, dtype=np.int64)
    sides: list[Bools] = []
    used = 0
    for k, split in enumerate(splits):
        if split is None or not split.is_categorical:
            continue
        n_categories = len(columns[split.column].categories or ())
        first[k] = used
        sides.append(split.left_of_bin[:n_categories])
        used += n_categories
    return first, np.concatenate(sides) if sides else np.zeros(0, dtype=np.bool_)
