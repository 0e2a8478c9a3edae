"""From a table, a target and settings to a tree: the story of a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.errors import warn
from glassleaf.fit.finish import narrow_leaves, rounded
from glassleaf.fit.grow import grow
from glassleaf.fit.guard import guarded
from glassleaf.fit.hinges import with_hinges
from glassleaf.fit.models.custom import CustomModels
from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.protocol import Models
from glassleaf.fit.path.leaf_sums import N_FOLDS
from glassleaf.fit.path.learn import learn_path, learn_step, shortest_good
from glassleaf.fit.prune import prune_by_held_out, prune_weakest
from glassleaf.fit.rare import without_rare
from glassleaf.fit.scores import scores_of_leaves, scores_of_table
from glassleaf.fit.signs import keeping_signs
from glassleaf.fit.splits.find import Node
from glassleaf.fit.to_tree import to_tree
from glassleaf.losses import MANY_OUTPUTS, Loss
from glassleaf.rows.backends import Backend
from glassleaf.rows.backends.local import LocalBackend
from glassleaf.rows.backends.progress import observed
from glassleaf.rows.build import build_rows
from glassleaf.rows.passes import resampled
from glassleaf.rows.plan import Plan, learn
from glassleaf.rows.settings import Roles, Settings
from glassleaf.rows.summarize import Part
from glassleaf.tables.table import Table, column_name, remembering
from glassleaf.tree.histograms import Histograms, with_scores
from glassleaf.tree.path import Path, Step
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# Targets that vary this many times as much as counts are no counts, or come in clusters.
_MUCH_DISPERSED = 10.0
# Cells of a table below which one thread is faster than several: they would wait to be woken.
_FEW_CELLS = 100_000
# Cells of all tables on which trees grow at the same time: each has a copy of the rows.
_MANY_CELLS = 50_000_000
# Resamples that are drawn at a time, for each thread.
_PER_THREAD = 5
# What the sums of all leaves and folds may take before short models are not learned unasked.
_MOST_BYTES = 2e9


@dataclass(frozen=True)
class Trained:
    """A tree, the path it was cut from, and what rounding cost, as a share of its loss.

    ``histograms`` are those of columns and scores.
    """

    tree: Tree
    path: Path | None = None
    rounding_cost: float | None = None
    histograms: Histograms | None = None


def train(
    table: Table,
    y: Floats,
    weight: Floats,
    roles: Roles,
    settings: Settings,
    group: NDArray[np.int64] | None = None,
) -> Trained:
    """Grow a tree on rows of positive weight in this process."""
    names = [column_name(table, j) for j in range(table.n_columns)]
    if table.n_rows * table.n_columns < _FEW_CELLS:
        settings = replace(settings, n_threads=1)
    part = Part(remembering(table), y, weight, group=group)
    with LocalBackend(part, settings.n_threads) as backend:
        trained = train_on(backend, names, roles, settings)
    if settings.coef_digits is not None and settings.is_linear:
        tree, cost = rounded(
            trained.tree, settings.coef_digits, table, y, weight, settings.loss, roles.signs
        )
        trained = replace(trained, tree=tree, rounding_cost=cost)
    elif settings.is_linear:
        return trained
    return with_scores_of(trained, table, settings.loss)


def with_scores_of(trained: Trained, table: Table, loss: Loss) -> Trained:
    """What was trained, with the histograms of its scores on these rows."""
    assert trained.histograms is not None
    columns = trained.histograms.without_scores(len(trained.tree.columns))
    scores = scores_of_table(trained.tree, table, loss)
    return replace(trained, histograms=with_scores(columns, scores))


def train_on(backend: Backend, names: Sequence[str], roles: Roles, settings: Settings) -> Trained:
    """Grow a tree on the rows of a backend, whose shards are parts of a table."""
    backend = observed(backend, settings.max_depth)
    plan = _built(backend, names, roles, settings)
    nodes, trained = _grown(backend, plan, roles, settings, learn_path)
    if not settings.is_linear:
        return replace(trained, histograms=plan.histograms)
    scores = scores_of_leaves(backend, nodes, plan, trained.tree, settings.loss)
    return replace(trained, histograms=with_scores(plan.histograms, scores))


def regrow(
    table: Table,
    y: Floats,
    weight: Floats,
    roles: Roles,
    settings: Settings,
    group: NDArray[np.int64] | None,
    factors: Iterable[Floats],
) -> Iterator[Tree]:
    """Trees on rows that are weighted anew, by the factors of each resample.

    The table is read once: units, bins, transforms and the places of bends are those of all rows,
    and so are the rows that are set aside. All else is done again for every tree. ``max_numbers``
    must not be "auto": the length of a model is not chosen again.
    """
    names = [column_name(table, j) for j in range(table.n_columns)]
    part = Part(remembering(table), y, weight, group=group)
    with LocalBackend(part, settings.n_threads) as backend:
        plan = _built(backend, names, roles, settings)
        rows = backend.shard
    n_at_once = max(1, min(settings.n_threads, _MANY_CELLS // (table.n_rows * len(names))))
    n_threads = settings.n_threads // n_at_once

    def grown(factor: Floats) -> Tree:
        with LocalBackend(resampled(rows, factor), n_threads) as backend:
            own = replace(plan, n_rows=len(backend.shard.weight))
            tree = _grown(backend, own, roles, settings, learn_step)[1].tree
        if settings.coef_digits is None:
            return tree
        digits = settings.coef_digits
        return rounded(tree, digits, table, y, weight, settings.loss, roles.signs)[0]

    left = iter(factors)
    with ThreadPoolExecutor(n_at_once) as pool:
        while some := list(islice(left, _PER_THREAD * n_at_once)):
            yield from pool.map(grown, some)


def _built(backend: Backend, names: Sequence[str], roles: Roles, settings: Settings) -> Plan:
    """What is learned of all rows; the backend then has rows to grow on."""
    _kernels.announce_compilation()
    plan = learn(backend, names, roles, settings)
    n_folds = N_FOLDS if settings.max_numbers is not None else 0
    backend.become(build_rows, plan, settings.vector_width, settings.n_threads, n_folds)
    if roles.bends.any() and settings.is_linear:
        plan = with_hinges(backend, plan, roles, settings)
    return plan


def _grown(
    backend: Backend, plan: Plan, roles: Roles, settings: Settings, learned: Callable[..., Path]
) -> tuple[list[Node], Trained]:
    """Grow a tree on the rows of a backend; if it is to be short, it is cut from a path.

    The nodes are those of the whole tree.
    """
    models = _models(backend, plan, roles, settings)
    nodes = grow(backend, models, plan, settings)
    if models.linear is not None:
        nodes = _pruned(backend, models.linear, nodes, settings)
        if isinstance(settings.clamp, tuple):
            narrow_leaves(backend, models.linear, plan, nodes, settings.clamp)
    _tell_dispersion(nodes, plan, settings.loss)
    tree = keeping_signs(to_tree(backend, nodes, plan, settings), roles.signs)
    if models.linear is None or not _is_shortened(plan, settings, tree.n_leaves):
        if models.linear is not None and settings.is_held and settings.loss.n_outputs == 1:
            tree = guarded(backend, models.linear, nodes, plan, tree)
        return nodes, Trained(without_rare(tree))
    path = learned(backend, models.linear, nodes, plan, roles, settings, tree)
    return nodes, Trained(path.tree(_chosen(path, settings)), path)


def _is_shortened(plan: Plan, settings: Settings, n_leaves: int) -> bool:
    """Whether a short model is learned: it is asked for and, if not by a number, has room."""
    if settings.max_numbers is None or (settings.loss.is_apart and _is_not_short(settings)):
        return False
    if settings.max_numbers != "auto":
        return True
    n_outputs, n_columns = settings.loss.n_outputs, plan.design.layout.n_columns + 1
    size = 8.0 * (N_FOLDS + 1) * n_leaves * (n_outputs * n_columns) ** 2
    if size <= _MOST_BYTES:
        return True
    warn(
        f"One formula for all rows of {n_outputs:,} scores and {n_columns:,} columns would need"
        f" {size / 1e9:.0f} GB to be learned, so that every leaf has one of its own. Group rare"
        " classes or drop columns for a short model; max_numbers=None is without this warning."
    )
    return False


def _is_not_short(settings: Settings) -> bool:
    """Say that a formula of so many classes is not short."""
    n_classes = settings.loss.n_outputs
    told = (
        f"There are {n_classes:,} classes: a formula for all rows has a score for each, and is"
        f" learned for up to {MANY_OUTPUTS}. "
    )
    if settings.max_numbers != "auto":
        raise ValueError(told + "Group rare classes, or set max_numbers=None.")
    warn(told + "Every leaf has one of its own; max_numbers=None is without this warning.")
    return True


def _tell_dispersion(nodes: Sequence[Node], plan: Plan, loss: Loss) -> None:
    """Say so where targets vary much more around the models than counts do."""
    if not loss.is_overdispersed:
        return
    leaves = [node.model for node in nodes if node.children is None]
    n_rows = max(sum(model.count for model in leaves), sum(model.weight for model in leaves))
    found = plan.units.scale * sum(model.pearson for model in leaves) / n_rows
    if found > _MUCH_DISPERSED:
        warn(
            f"The target varies {found:,.3g} times as much around the model as"
            f" {type(loss).__name__} assumes: this is its dispersion. For counts that come in"
            " clusters there is loss='negative_binomial', for amounts 'tweedie' or, where none is"
            " 0, 'gamma'."
        )


def _chosen(path: Path, settings: Settings) -> Step:
    """The step that is asked for, or the shortest that is as good as any."""
    if isinstance(settings.max_numbers, int):
        return path.at(settings.max_numbers)
    return shortest_good(path.steps)


def _models(backend: Backend, plan: Plan, roles: Roles, settings: Settings) -> Models:
    if settings.weak_model is None:
        column_of = plan.design.terms.column_of_term[plan.design.layout.term]
        tested = None if roles.tested is None else roles.tested[column_of]
        return LinearModels(backend, plan.design, settings, roles.signs, tested)
    return CustomModels(backend, settings.weak_model, settings.loss)


def _pruned(
    backend: Backend, models: LinearModels, nodes: list[Node], settings: Settings
) -> list[Node]:
    """A smaller tree, if that is asked for."""
    if settings.held_out is not None:
        nodes = prune_by_held_out(backend, models, settings.loss, nodes)
    if settings.ccp_alpha > 0:
        nodes = prune_weakest(backend, nodes, settings.ccp_alpha)
    return nodes
