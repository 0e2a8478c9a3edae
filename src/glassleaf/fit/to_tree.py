"""The end of training: nodes become a tree of plain arrays on the raw scale, with its record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.splits.candidates import Split
from glassleaf.fit.splits.find import Node
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.passes import WeakModel
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Settings
from glassleaf.tables.design import Design, Terms
from glassleaf.tables.short_numbers import without_noise
from glassleaf.tables.table import Column
from glassleaf.tree.tree import LEAF, Candidates, CustomLeaves, TrainingRecord, Tree

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def to_tree(backend: Backend, nodes: Sequence[Node], plan: Plan, settings: Settings) -> Tree:
    """The finished tree, on the raw scale of columns and target."""
    clamps = _no_clamps(nodes, plan.design)
    if settings.clamp and settings.is_linear:
        clamps = _clamps(backend, nodes, plan.design)
    if settings.transform == "cut":
        plan, clamps = _ranges_of_cuts(plan, clamps)
    if settings.weak_model is None:
        coef, intercept, custom = _linear_leaves(nodes, plan, clamps)
    else:
        coef, intercept, custom = _custom_leaves(nodes, plan, settings.weak_model)
    splits = [node.split for node in nodes]
    first_category, categories = _category_sides(splits, plan.columns)
    worth = plan.units.worth
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
        score_low=np.full_like(intercept, -np.inf),
        score_high=np.full_like(intercept, np.inf),
        n_samples=np.array([node.model.count for node in nodes]),
        weight=np.array([node.model.weight for node in nodes]),
        gain=worth * np.array([s.gain if s else 0.0 for s in splits]),
        loss=worth * np.array([node.model.loss for node in nodes]),
        training_record=_training_record(backend, nodes, plan, settings),
        custom=custom,
        given=np.array([node.is_given for node in nodes]) if plan.given else None,
    )


# --- the models ----------------------------------------------------------------------------------


Leaves = tuple[Floats, Floats, CustomLeaves | None]


def _linear_leaves(nodes: Sequence[Node], plan: Plan, clamps: tuple[Floats, Floats]) -> Leaves:
    """Coefficients and intercepts of linear models."""
    n_outputs, scale = len(nodes[0].model.theta), plan.units.score_scale
    coef = np.zeros((len(nodes), n_outputs, plan.design.terms.n_terms))
    intercept = np.zeros((len(nodes), n_outputs))
    for node in nodes:
        weights, constant = node.model.raw_parameters()
        coef[node.id][:, plan.design.layout.term] = scale * weights
        intercept[node.id] = scale * constant + plan.units.score_center
    _fold_straight_hinges(coef, intercept, plan.design.terms, *clamps)
    return (coef[:, 0], intercept[:, 0], None) if n_outputs == 1 else (coef, intercept, None)


def _custom_leaves(nodes: Sequence[Node], plan: Plan, weak_model: WeakModel) -> Leaves:
    """A user's models as they are."""
    assert plan.term_units is not None
    models = tuple(node.model.custom for node in nodes)
    custom = CustomLeaves(weak_model, models, *plan.term_units)
    return np.zeros((len(nodes), 0)), np.full(len(nodes), np.nan), custom


def _fold_straight_hinges(
    coef: Floats, intercept: Floats, terms: Terms, low: Floats, high: Floats
) -> None:
    """Where a node sees no bend of a hinge, let the column's own coefficient say its slope.

    The two would only add up to it: predictions stay as they are.
    """
    for column in terms.bent:
        line = terms.first_term[column]
        for term, at in zip(terms.hinge_terms(column), terms.hinges(column), strict=True):
            above, below = low[:, column] >= at, high[:, column] <= at
            slope = np.where(above[:, None], coef[:, :, term], 0.0)
            coef[:, :, line] += slope
            intercept -= at * slope
            coef[above | below, :, term] = 0.0


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


def _ranges_of_cuts(
    plan: Plan, clamps: tuple[Floats, Floats]
) -> tuple[Plan, tuple[Floats, Floats]]:
    """Say a transform that only cuts as a range of the column in all nodes."""
    terms = plan.design.terms
    low, high = clamps[0].copy(), clamps[1].copy()
    for column in np.flatnonzero(np.diff(terms.first_knot)).tolist():
        first, last = terms.knot_x[terms.first_knot[column] : terms.first_knot[column + 1]]
        if first > plan.low[column]:
            low[:, column] = np.maximum(low[:, column], first)
        if last < plan.high[column]:
            high[:, column] = np.minimum(high[:, column], last)
    return replace(plan, design=replace(plan.design, terms=terms.without_knots())), (low, high)


# --- what training saw ---------------------------------------------------------------------------


def _training_record(
    backend: Backend, nodes: Sequence[Node], plan: Plan, settings: Settings
) -> TrainingRecord:
    """Records of every node, kept beside the tree for those who explain it."""
    target = _mean_targets(backend, nodes, plan, settings.n_classes, settings.loss.positive)
    covariance = _covariances(backend, nodes, plan.design)
    candidates = _candidates(nodes, plan.columns, plan.units.worth)
    mean, spread = _moments(nodes, plan.design)
    tests = _tests(nodes)
    return TrainingRecord(mean, spread, target, plan.low, plan.high, candidates, covariance, *tests)


def _tests(nodes: Sequence[Node]) -> tuple[Floats, NDArray[np.int32]]:
    """The p-value of every node's split or of the one it was refused, and that one's column."""
    tested = [node.split or node.refused for node in nodes]
    p_value = np.array([split.p_value if split else np.nan for split in tested])
    refused = [LEAF if node.refused is None else node.refused.column for node in nodes]
    return p_value, np.array(refused, dtype=np.int32)


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


def _covariances(backend: Backend, nodes: Sequence[Node], design: Design) -> Floats:
    """Covariance of every pair of terms that are functions of one number, in every node.

    Narrowed leaves, and the nodes above them, have that of the clamped rows.
    """
    place_of = {int(term): place for place, term in enumerate(design.layout.term)}
    pairs = [(place_of[one], place_of[other]) for one, other in design.terms.pairs.tolist()]
    out, mean = np.zeros((len(nodes), len(pairs))), np.zeros((len(nodes), 2, len(pairs)))
    if not pairs:
        return out
    both = np.array(pairs).T
    leaves = [node for node in nodes if node.children is None]
    sums = backend.sum(
        on_rows.column_products, [on_rows.ProductsTask(node.id, pairs) for node in leaves]
    )
    weight = np.array([node.model.weight for node in nodes])
    for node, total in zip(leaves, sums, strict=True):
        model, (one, other, product) = node.model, total.T / node.model.weight
        out[node.id] = model.unit[both].prod(axis=0) * (product - one * other)
        mean[node.id] = model.center[both] + model.unit[both] * [one, other]
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            below = list(node.children)
            share = weight[below] / weight[below].sum()
            mean[node.id] = np.tensordot(share, mean[below], axes=1)
            out[node.id] = share @ (out[below] + (mean[below] - mean[node.id]).prod(axis=1))
    return out


def _candidates(nodes: Sequence[Node], columns: Sequence[Column], worth: float) -> Candidates:
    found = [(node.id, rival) for node in nodes if node.split for rival in node.rivals]
    splits = [rival.split for _, rival in found]
    first_category, categories = _category_sides(splits, columns)
    none = np.zeros(0)
    return Candidates(
        node=np.array([node for node, _ in found], dtype=np.int32),
        feature=np.array([split.column for split in splits], dtype=np.int32),
        gain=worth * np.array([split.gain for split in splits], dtype=np.float64),
        threshold=np.array([split.threshold for split in splits], dtype=np.float64),
        missing_left=np.array([split.missing_left for split in splits], dtype=np.bool_),
        has_missing=np.array([rival.has_missing for _, rival in found], dtype=np.bool_),
        first_category=first_category,
        categories=categories,
        first_point=np.cumsum([0, *(len(rival.gains) for _, rival in found)]),
        position=np.concatenate([none, *(rival.position for _, rival in found)]),
        curve=worth * np.concatenate([none, *(rival.gains for _, rival in found)]),
    )


def _category_sides(
    splits: Sequence[Split | None], columns: Sequence[Column]
) -> tuple[NDArray[np.int64], Bools]:
    """For every split the place of its categories' sides in one flat array, -1 for a number.

    A number with special values has the sides of these there.
    """
    first = np.full(len(splits), -1, dtype=np.int64)
    sides: list[Bools] = []
    used = 0
    for k, split in enumerate(splits):
        n_codes = 0 if split is None else len(columns[split.column].codes)
        if split is None or not (n_codes or split.is_categorical):
            continue
        first[k] = used
        sides.append(split.left_of_bin[:n_codes] if split.is_categorical else split.special_left)
        used += n_codes
    return first, np.concatenate(sides) if sides else np.zeros(0, dtype=np.bool_)
