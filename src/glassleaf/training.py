"""From a table, a target and settings to a tree: the parts put together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels, binning
from glassleaf import rows as on_rows
from glassleaf.backends import Backend
from glassleaf.backends.local import LocalBackend
from glassleaf.binning import Block, FeatureBins
from glassleaf.compressed import Compressed
from glassleaf.criteria import Criterion
from glassleaf.design import Design, DesignBuilder, Layout, Terms, weighted_moments
from glassleaf.finishing import narrow_leaves, shorten_leaves, stored_columns
from glassleaf.growth import grow
from glassleaf.losses import Loss
from glassleaf.newton import Penalty
from glassleaf.pruning import prune_by_held_out, prune_weakest
from glassleaf.records import category_sides, mean_targets, what_was_seen
from glassleaf.renormalizers import Renormalizer
from glassleaf.rounding import to_digits
from glassleaf.rows import Rows
from glassleaf.search import Question
from glassleaf.splitting import Limits, Node, SplitSearch
from glassleaf.table import Codes, Column, Table, learn_columns, raw_matrix, raw_pieces
from glassleaf.transforms import Distribution, Knots, learn_knots
from glassleaf.tree import LEAF, CustomLeaves, Seen, Tree, term_matrix
from glassleaf.weak_models import CustomModels, LinearModels, Shrinkage, WeakModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A model with more parameters than this would need gigabytes for its Hessian alone.
_MAX_PARAMETERS = 10_000
# Size of the sums of features that are summed together: about what a core's cache holds where they
# are summed row by row, and enough to be worth a task where they are summed one after the other.
_BLOCK_BYTES = {True: 1 << 20, False: 1 << 22}


# Share of the rows that choose the size of a tree.
_HELD_SHARE = 0.2
# Size of the columns that one task reads at a time.
_GROUP_BYTES = 1 << 26


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


@dataclass(frozen=True)
class Roles:
    """What each column is and may be used for; ``signs`` are those that its weights may have.

    A sign is 1 (a prediction must not fall as the column rises), -1 or 0 (free). A column with a
    sign does not split: then no change of it leads to another leaf, and what holds for every leaf
    holds for the tree.
    """

    categorical: Bools
    splits: Bools
    leaves: Bools
    signs: NDArray[np.int8]


def train(table: Table, y: Floats, weight: Floats, roles: Roles, settings: Settings) -> Tree:
    """Grow a tree on rows of positive weight."""
    _kernels.prepare()
    columns, codes = learn_columns(table, roles.categorical)
    uniform = None if np.all(weight == weight[0]) else weight
    if settings.weak_model is None:
        center, scale = settings.loss.target_units(y, weight)
    else:
        center, scale = 0.0, 1.0
    y = (y - center) / scale
    slope = _slope_at_start(settings.loss, y, weight)
    features, bins, design = _prepare(table, columns, codes, roles, uniform, settings, slope)
    custom_units = None
    if settings.weak_model is not None:
        design, custom_units = _plain_design(table, columns, design.terms, uniform)
    _check_size(design.layout, settings)
    blocks, block_rows = binning.make_blocks(features, bins, _bins_at_once(design, settings))
    rows = Rows(
        dense=design.dense,
        sparse=design.sparse,
        n_sparse=design.layout.n_sparse,
        target=y,
        weight=weight.copy(),
        blocks=block_rows,
        spans={0: (0, len(y))},
        vectors=np.empty((len(y), _vector_width(settings))),
    )
    if settings.held_out is not None:
        rows.held = np.where(settings.held_out.random(len(y)) < _HELD_SHARE, rows.weight, 0.0)
        rows.weight -= rows.held
    search = _split_search(blocks, design, len(y), settings)
    with LocalBackend(rows, settings.n_threads) as backend:
        models: LinearModels | CustomModels
        if settings.weak_model is None:
            penalty = _with_signs(settings.penalty, design, roles.signs)
            models = LinearModels(
                backend, design.layout, settings.loss, penalty, settings.shrinkage
            )
        else:
            models = CustomModels(backend, settings.weak_model, settings.loss)
        start = settings.loss.start(y, weight)
        nodes = grow(backend, models, search, _limits(search, settings), start)
        if isinstance(models, LinearModels):
            nodes = _finished(backend, models, search, nodes, design, settings)
        ranges = _clamps(backend, nodes, design) if settings.clamp else None
        target = mean_targets(backend, nodes, settings.n_classes, center, scale)
    seen = what_was_seen(nodes, table, columns, features, design, target, scale)
    tree = _to_tree(nodes, columns, design, center, scale, ranges, seen)
    if settings.weak_model is None or custom_units is None:
        return tree
    return _with_custom_leaves(tree, nodes, settings.weak_model, custom_units)


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


def _slope_at_start(loss: Loss, y: Floats, weight: Floats) -> Floats:
    """Weighted gradients of the loss at the best constant, one column per output."""
    raw = np.tile(loss.start(y, weight), (len(y), 1))
    given = raw.ravel() if loss.n_outputs == 1 else raw
    _, slope, _ = loss.derivatives(y, given, with_hessian=False)
    return slope.reshape(len(y), -1) * weight[:, None]


# --- preparing the rows --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Prepared:
    """One column, read and binned: ``values`` if numeric, ``bins`` if it may split."""

    position: int
    values: Floats | None
    bins: tuple[FeatureBins, NDArray[np.uint16]] | None
    knots: Knots | None = None


def _prepare(
    table: Table,
    columns: Sequence[Column],
    codes: dict[int, Codes],
    roles: Roles,
    weight: Floats | None,
    settings: Settings,
    slope: Floats,
) -> tuple[list[FeatureBins], list[NDArray[np.uint16]], Design]:
    """Bins of the split features and the design of the leaf models, column by column."""
    builder = DesignBuilder(table.n_rows, table.n_columns, weight)
    # Ranges cannot be subtracted: with them every row's bin has to be stored.
    may_omit = not settings.renormalizer.needs_ranges
    transforms_columns = settings.transform != "none"
    features: list[FeatureBins] = []
    bins: list[NDArray[np.uint16]] = []

    def read(group: range) -> list[_Prepared]:
        numeric = [j for j in group if not columns[j].is_categorical]
        values = dict(zip(numeric, table.numeric_columns(numeric), strict=True)) if numeric else {}
        prepared = []
        for j in group:
            own = knots = None
            if j in values and (roles.splits[j] or (roles.leaves[j] and transforms_columns)):
                own = binning.numeric_bins(j, values[j], weight, settings.max_bins, may_omit)
                if roles.leaves[j] and transforms_columns:
                    knots = _knots(*own, slope, weight, settings.transform)
            elif roles.splits[j]:
                own = binning.category_bins(j, codes[j], len(columns[j].categories or ()), may_omit)
            bins = own if roles.splits[j] else None
            prepared.append(_Prepared(j, values.get(j), bins, knots))
        return prepared

    groups = _column_groups(table, settings.n_threads)
    with ThreadPoolExecutor(settings.n_threads) as pool:
        for first in range(0, len(groups), settings.n_threads):  # a few at a time: memory
            for column in chain.from_iterable(
                pool.map(read, groups[first : first + settings.n_threads])
            ):
                _add_to_design(builder, column, columns, codes, roles, settings.transform == "auto")
                if column.bins is not None:
                    features.append(column.bins[0])
                    bins.append(column.bins[1])
    builder.settle(slope)
    return features, bins, builder.build()


def _knots(
    bins: FeatureBins, codes: NDArray[np.uint16], slope: Floats, weight: Floats | None, kind: str
) -> Knots | None:
    """The transform of a column, learned from its bins."""
    if bins.n_values < 3:
        return None  # any function of two values is linear

    def per_bin(amount: Floats | None) -> Floats:
        return np.bincount(codes, amount, bins.n_bins)[: bins.n_values].astype(np.float64)

    mass = per_bin(weight)
    column = Distribution(bins.lower, bins.upper, mass)
    mean_slope = np.column_stack([per_bin(own) for own in slope.T]) / mass[:, None]
    return learn_knots(column, kind, mean_slope)


def _column_groups(table: Table, n_threads: int) -> list[range]:
    """Columns for one task each: few tasks, for waking a thread takes time, of bounded size."""
    fitting = max(1, _GROUP_BYTES // (8 * max(table.n_rows, 1)))
    size = min(-(-table.n_columns // (2 * n_threads)), fitting)
    last = table.n_columns
    return [range(first, min(first + size, last)) for first in range(0, last, size)]


def _add_to_design(
    builder: DesignBuilder,
    column: _Prepared,
    columns: Sequence[Column],
    codes: dict[int, Codes],
    roles: Roles,
    or_plain: bool,
) -> None:
    j = column.position
    if column.values is None:
        if roles.leaves[j]:
            builder.add_categories(j, codes[j], len(columns[j].categories or ()))
    elif roles.leaves[j]:
        builder.add_numeric(j, column.values, column.knots, or_plain)
    else:
        builder.skip_numeric(j)


def _plain_design(
    table: Table, columns: Sequence[Column], terms: Terms, weight: Floats | None
) -> tuple[Design, tuple[Floats, Floats]]:
    """The whole design as one standardized array, for models that are not linear."""
    matrix = term_matrix(raw_matrix(table, columns), terms)
    moments = np.array([weighted_moments(column, weight) for column in matrix.T]).reshape(-1, 2)
    center, scale = moments[:, 0], np.where(moments[:, 1] > 0, moments[:, 1], 1.0)
    n_terms = matrix.shape[1]
    none, no_complement = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    layout = Layout(n_terms, 0, none, no_complement, np.arange(n_terms), center, scale)
    empty = Compressed(
        np.zeros(table.n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0)
    )
    return Design((matrix - center) / scale, empty, layout, terms), (center, scale)


def _bins_at_once(design: Design, settings: Settings) -> dict[bool, int]:
    per_bin = 8 * (settings.loss.n_outputs + 2) * (design.layout.n_columns + 1)
    most = int(np.iinfo(binning.BIN_DTYPE).max)
    return {
        has_default: min(max(size // per_bin, 32), most)
        for has_default, size in _BLOCK_BYTES.items()
    }


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
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            low[node.id] = low[list(node.children)].min(axis=0)
            high[node.id] = high[list(node.children)].max(axis=0)
    return low, high


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
