"""From a table, a target and settings to a tree: the parts put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.criteria import Criterion
from glassleaf.fit.curves import with_curves
from glassleaf.fit.finish import narrow_leaves, shorten_leaves, stored_columns
from glassleaf.fit.grow import grow
from glassleaf.fit.models.custom import CustomModels, WeakModel
from glassleaf.fit.models.linear import LinearModels, Shrinkage
from glassleaf.fit.models.newton import Penalty
from glassleaf.fit.prune import prune_by_held_out, prune_weakest
from glassleaf.fit.splits.find import Limits, Node, SplitSearch
from glassleaf.fit.splits.gains import Question
from glassleaf.fit.splits.renormalizers import Renormalizer
from glassleaf.fit.splits.short_numbers import to_digits, without_noise
from glassleaf.fit.to_tree import category_sides, curve_covariances, mean_targets, what_was_seen
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.backends.local import LocalBackend
from glassleaf.rows.backends.progress import Observed, is_watched
from glassleaf.rows.build import build_rows
from glassleaf.rows.plan import Roles, Wishes, learn
from glassleaf.rows.summarize import Part
from glassleaf.tables.binning import Block
from glassleaf.tables.design import Design, Layout, Terms
from glassleaf.tables.table import Column, Table, column_name, raw_pieces, remembering
from glassleaf.tree.tree import LEAF, CustomLeaves, Seen, Tree

Floats = NDArray[np.float64]

# A model with more parameters than this would need gigabytes for its Hessian alone.
_MAX_PARAMETERS = 10_000
# Cells of a table below which one thread is faster than several: they would wait to be woken.
_FEW_CELLS = 100_000


@dataclass(frozen=True)
class Settings:
    """Everything that a fit needs to know besides the data, checked and resolved."""

    loss: Loss
    criterion: Criterion
    renormalizer: Renormalizer
    penalty: Penalty
    standardized: bool
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_leaf: int | float | None
    min_gain: float
    max_bins: int
    n_threads: int
    n_classes: int
    weak_model: WeakModel | None
    transform: str
    curves: bool
    clamp: bool | tuple[float, float]
    shrinkage: Shrinkage
    rescore: int
    significance: float
    refine: bool
    subsets: bool
    round_thresholds: float | None
    max_leaf_terms: int | None
    ccp_alpha: float
    held_out: np.random.RandomState | None


def train(table: Table, y: Floats, weight: Floats, roles: Roles, settings: Settings) -> Tree:
    """Grow a tree on rows of positive weight in this process."""
    names = [column_name(table, j) for j in range(table.n_columns)]
    if table.n_rows * table.n_columns < _FEW_CELLS:
        settings = replace(settings, n_threads=1)
    with LocalBackend(Part(remembering(table), y, weight), settings.n_threads) as backend:
        return train_on(backend, names, roles, settings)


def train_on(backend: Backend, names: Sequence[str], roles: Roles, settings: Settings) -> Tree:
    """Grow a tree on the rows of a backend, whose shards are parts of a table."""
    _kernels.announce_compilation()
    watched = Observed(backend, settings.max_depth) if is_watched() else None
    backend = backend if watched is None else watched
    plan = learn(backend, names, roles, _wishes(settings))
    design, units = plan.design, plan.units
    _check_size(design.layout, settings)
    backend.become(build_rows, plan)
    if settings.curves and settings.weak_model is None:
        may_bend = roles.leaves & (roles.signs == 0)
        design = with_curves(backend, plan.blocks, design, settings.loss, units.start, may_bend)
    if watched is not None:
        watched.n_rows = plan.n_rows
    search = _split_search(plan.blocks, design, plan.n_rows, settings)
    models: LinearModels | CustomModels
    if settings.weak_model is None:
        penalty = _with_signs(settings.penalty, design, roles.signs)
        models = LinearModels(backend, design.layout, settings.loss, penalty, settings.shrinkage)
    else:
        models = CustomModels(backend, settings.weak_model, settings.loss)
    start_level = None if watched is None else watched.start_level
    nodes = grow(backend, models, search, _limits(search, settings), units.start, start_level)
    if isinstance(models, LinearModels):
        nodes = _finished(backend, models, search, nodes, design, settings)
    is_clamped = bool(settings.clamp) and settings.weak_model is None
    ranges = _clamps(backend, nodes, design) if is_clamped else None
    target = mean_targets(backend, nodes, settings.n_classes, units.center, units.scale)
    bend = curve_covariances(backend, nodes, design)
    ranges_seen = plan.low, plan.high
    seen = what_was_seen(nodes, plan.columns, ranges_seen, design, target, bend, units.scale)
    tree = _to_tree(nodes, plan.columns, design, units.center, units.scale, ranges, seen)
    if settings.weak_model is None or plan.plain is None:
        return tree
    return _with_custom_leaves(tree, nodes, settings.weak_model, plan.plain)


def _wishes(settings: Settings) -> Wishes:
    return Wishes(
        loss=settings.loss,
        transform=settings.transform,
        max_bins=settings.max_bins,
        # Ranges cannot be subtracted: with them every row's bin has to be stored.
        may_omit=not settings.renormalizer.needs_ranges,
        vector_width=_vector_width(settings),
        is_linear=settings.weak_model is None,
        n_threads=settings.n_threads,
        held_out=settings.held_out,
    )


def _split_search(
    blocks: Sequence[Block], design: Design, n_rows: int, settings: Settings
) -> SplitSearch:
    is_linear = settings.weak_model is None
    question = Question(
        settings.criterion,
        settings.renormalizer,
        _min_count(design, n_rows, settings),
        settings.subsets,
    )
    return SplitSearch(
        blocks,
        design.layout,
        design.terms,
        question,
        settings.standardized,
        settings.n_classes,
        settings.loss,
        settings.rescore if is_linear else 0,
        settings.refine and is_linear,
        settings.round_thresholds,
    )


def _limits(search: SplitSearch, settings: Settings) -> Limits:
    return Limits(
        settings.max_depth,
        settings.max_leaf_nodes,
        search.question.min_count,
        settings.min_gain,
        settings.significance if settings.weak_model is None else 1.0,
    )


def _finished(
    backend: Backend,
    models: LinearModels,
    search: SplitSearch,
    nodes: list[Node],
    design: Design,
    settings: Settings,
) -> list[Node]:
    """The tree pruned, and its leaves made narrower and shorter, as far as that is asked for."""
    if settings.held_out is not None:
        nodes = prune_by_held_out(backend, models, settings.loss, nodes)
    if settings.ccp_alpha > 0:
        nodes = prune_weakest(backend, nodes, settings.ccp_alpha)
    if isinstance(settings.clamp, tuple):
        narrow_leaves(backend, models, search.blocks, nodes, design, settings.clamp)
    if settings.max_leaf_terms is not None:
        shorten_leaves(models, nodes, design, settings.max_leaf_terms)
    return nodes


def _with_signs(penalty: Penalty, design: Design, signs: NDArray[np.int8]) -> Penalty:
    """The penalty with the bounds that signs put on the weights of stored columns."""
    if not signs.any():
        return penalty
    of_term = np.zeros(design.terms.n_terms)
    constrained = np.flatnonzero(signs)
    of_term[design.terms.first_term[constrained]] = signs[constrained]
    of_column = of_term[design.layout.term]
    return replace(
        penalty,
        lower=np.where(of_column > 0, 0.0, -np.inf),
        upper=np.where(of_column < 0, 0.0, np.inf),
    )


def _vector_width(settings: Settings) -> int:
    if settings.criterion.uses == "target":
        return (settings.n_classes or 2) + 1
    return settings.loss.n_outputs + 1


def _min_count(design: Design, n_rows: int, settings: Settings) -> int:
    wanted = settings.min_samples_leaf
    if wanted is None:
        return max(10, design.layout.n_columns + 1)
    return wanted if isinstance(wanted, int) else max(1, int(np.ceil(wanted * n_rows)))


def _check_size(layout: Layout, settings: Settings) -> None:
    n_parameters = (layout.n_columns + 1) * settings.loss.n_outputs
    if n_parameters > _MAX_PARAMETERS:
        raise ValueError(
            f"Every leaf model would have {n_parameters} parameters ({layout.n_columns} terms,"
            f" {settings.loss.n_outputs} output(s)); at most {_MAX_PARAMETERS} are supported."
            " Name fewer columns in leaf_features, or group rare categories."
        )


# --- the finished tree ---------------------------------------------------------------------------


def _clamps(backend: Backend, nodes: Sequence[Node], design: Design) -> tuple[Floats, Floats]:
    """What every node saw of every numeric column, in the units of the terms."""
    shape = (len(nodes), len(design.terms.first_term))
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    numeric, stored = stored_columns(design)
    leaves = [node for node in nodes if node.children is None]
    found = backend.sum(on_rows.column_ranges, [(node.id,) for node in leaves])
    for node, ranges in zip(leaves, found, strict=True):
        center, unit = node.model.center[stored], node.model.unit[stored]
        low[node.id, numeric] = center + unit * ranges.low[stored]
        high[node.id, numeric] = center + unit * ranges.high[stored]
    ids = np.ix_(np.array([node.id for node in leaves]), numeric)
    center = abs(nodes[0].model.center[stored])  # next to which stored values have lost digits
    for end in (low, high):
        end[ids] = without_noise(end[ids], np.maximum(center, abs(end[ids])))
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            low[node.id] = low[list(node.children)].min(axis=0)
            high[node.id] = high[list(node.children)].max(axis=0)
    return low, high


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


def _to_tree(
    nodes: Sequence[Node],
    columns: tuple[Column, ...],
    design: Design,
    center: float,
    scale: float,
    clamps: tuple[Floats, Floats] | None,
    seen: Seen,
) -> Tree:
    """Plain arrays on the raw scale of columns and target."""
    n_nodes, n_outputs = len(nodes), len(nodes[0].model.theta)
    coef = np.zeros((n_nodes, n_outputs, design.terms.n_terms))
    intercept = np.zeros((n_nodes, n_outputs))
    for node in nodes:
        if node.model.custom is None:
            weights, constant = node.model.raw_parameters()
            coef[node.id][:, design.layout.term] = scale * weights
            intercept[node.id] = scale * constant + center
    if clamps is not None:
        _fold_straight_curves(coef, intercept, design.terms, *clamps)
    if n_outputs == 1:
        coef, intercept = coef[:, 0], intercept[:, 0]
    if clamps is None:
        everywhere = np.full((n_nodes, len(columns)), np.inf)
        clamps = -everywhere, everywhere
    splits = [node.split for node in nodes]
    first_category, categories = category_sides(splits, columns)
    return Tree(
        columns=columns,
        terms=design.terms,
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
        gain=scale**2 * np.array([s.gain if s else 0.0 for s in splits]),
        loss=scale**2 * np.array([node.model.loss for node in nodes]),
        records=seen,
    )


def _with_custom_leaves(
    tree: Tree, nodes: Sequence[Node], weak_model: WeakModel, units: tuple[Floats, Floats]
) -> Tree:
    models = tuple(node.model.custom for node in nodes)
    return replace(
        tree,
        custom=CustomLeaves(weak_model, models, *units),
        coef=np.zeros((len(nodes), 0)),
        intercept=np.full(len(nodes), np.nan),
    )


# --- shorter numbers -----------------------------------------------------------------------------


def with_rounded_coefficients(tree: Tree, digits: int) -> Tree:
    """Coefficients of so many digits, and intercepts that keep every node's mean prediction.

    An intercept is rounded too, to what that many digits of the node's spread of scores need.
    """
    coef = tree.coef.reshape(tree.node_count, -1, tree.terms.n_terms)
    intercept = tree.intercept.reshape(tree.node_count, -1)
    rounded = np.vectorize(to_digits, otypes=[np.float64])(coef, digits)
    shift = np.einsum("nkt,nt->nk", coef - rounded, tree.seen.mean)
    spread = np.sqrt(np.einsum("nkt,nt->nk", coef**2, tree.seen.spread**2))
    moved = intercept + shift
    size = np.where(spread > 0, spread, np.abs(moved))
    exponent = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    decimals = (digits - 1 - exponent).astype(int)
    moved = np.vectorize(round, otypes=[np.float64])(moved, decimals)
    return replace(
        tree, coef=rounded.reshape(tree.coef.shape), intercept=moved.reshape(tree.intercept.shape)
    )


def total_loss(tree: Tree, table: Table, y: Floats, weight: Floats, loss: Loss) -> float:
    """The loss of a finished tree on some rows, in the units in which it was fitted."""
    center, scale = loss.target_units(y, weight)
    total = 0.0
    for rows, matrix in raw_pieces(table, tree.columns):
        raw = (tree.raw(matrix, tree.apply(matrix)) - center) / scale
        given = raw.ravel() if loss.n_outputs == 1 else raw
        value, _, _ = loss.derivatives((y[rows] - center) / scale, given, with_hessian=False)
        total += float(weight[rows] @ value)
    return total
