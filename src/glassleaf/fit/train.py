"""From a table, a target and settings to a tree: the parts put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.criteria import Criterion
from glassleaf.fit.curves import with_curves
from glassleaf.fit.finish import narrow_leaves, rounded, shorten_leaves
from glassleaf.fit.grow import grow
from glassleaf.fit.models.custom import CustomModels, WeakModel
from glassleaf.fit.models.linear import LinearModels, Shrinkage
from glassleaf.fit.models.newton import Penalty
from glassleaf.fit.prune import prune_by_held_out, prune_weakest
from glassleaf.fit.splits.find import Limits, Node, SplitSearch
from glassleaf.fit.splits.gains import Question
from glassleaf.fit.splits.renormalizers import Renormalizer
from glassleaf.fit.to_tree import to_tree
from glassleaf.losses import Loss
from glassleaf.rows.backends import Backend
from glassleaf.rows.backends.local import LocalBackend
from glassleaf.rows.backends.progress import Observed, is_watched
from glassleaf.rows.build import build_rows
from glassleaf.rows.plan import Roles, Wishes, learn
from glassleaf.rows.summarize import Part
from glassleaf.tables.binning import Block
from glassleaf.tables.design import Design, Layout
from glassleaf.tables.table import Table, column_name, remembering
from glassleaf.tree.tree import Tree

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
    coef_digits: int | None
    ccp_alpha: float
    held_out: np.random.RandomState | None


@dataclass(frozen=True)
class Trained:
    """A tree, and the share by which shorter coefficients made its loss larger, if any did."""

    tree: Tree
    rounding_cost: float | None = None


def train(table: Table, y: Floats, weight: Floats, roles: Roles, settings: Settings) -> Trained:
    """Grow a tree on rows of positive weight in this process."""
    names = [column_name(table, j) for j in range(table.n_columns)]
    if table.n_rows * table.n_columns < _FEW_CELLS:
        settings = replace(settings, n_threads=1)
    with LocalBackend(Part(remembering(table), y, weight), settings.n_threads) as backend:
        tree = train_on(backend, names, roles, settings)
    if settings.coef_digits is None or settings.weak_model is not None:
        return Trained(tree)
    return Trained(*rounded(tree, settings.coef_digits, table, y, weight, settings.loss))


def train_on(backend: Backend, names: Sequence[str], roles: Roles, settings: Settings) -> Tree:
    """Grow a tree on the rows of a backend, whose shards are parts of a table."""
    _kernels.announce_compilation()
    watched = Observed(backend, settings.max_depth) if is_watched() else None
    backend = backend if watched is None else watched
    plan = learn(backend, names, roles, _wishes(settings))
    _check_size(plan.design.layout, settings)
    backend.become(build_rows, plan)
    if settings.curves and settings.weak_model is None:
        plan = with_curves(backend, plan, settings.loss, roles.leaves & (roles.signs == 0))
    if watched is not None:
        watched.n_rows = plan.n_rows
    search = _split_search(plan.blocks, plan.design, plan.n_rows, settings)
    models: LinearModels | CustomModels
    if settings.weak_model is None:
        penalty = _with_signs(settings.penalty, plan.design, roles.signs)
        layout = plan.design.layout
        models = LinearModels(backend, layout, settings.loss, penalty, settings.shrinkage)
    else:
        models = CustomModels(backend, settings.weak_model, settings.loss)
    start_level = None if watched is None else watched.start_level
    nodes = grow(backend, models, search, _limits(search, settings), plan.units.start, start_level)
    if isinstance(models, LinearModels):
        nodes = _finished(backend, models, search, nodes, plan.design, settings)
    is_clamped = bool(settings.clamp) and settings.weak_model is None
    return to_tree(backend, nodes, plan, is_clamped, settings.n_classes, settings.weak_model)


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
