"""The splits of nodes: which nodes may be split, where, and where their rows go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.models.protocol import Models
from glassleaf.fit.models.units import NO_UNITS, NodeModel, NodeUnits, fixed_units
from glassleaf.fit.splits.borders import Movable, move_borders
from glassleaf.fit.splits.candidates import (
    FeatureGains,
    Rival,
    Split,
    best_split,
    readable,
    rivals,
    shortlist,
)
from glassleaf.fit.splits.gains import block_gains, complete, node_extent
from glassleaf.fit.splits.rescore import Shortlist, Sides, Test, best_rescored
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import Settings
from glassleaf.tables.binning import WHOLE
from glassleaf.tables.short_numbers import n_digits

Floats = NDArray[np.float64]

# A gain below this share of the rows' weight, times the gradients' units squared, is rounding
# (residuals are of order 1).
_NO_GAIN = 1e-18
# An exact gain below this share of the root's weight is what rounding, or the weakest penalty,
# left: sides whose models differ by less than 1e-5 of the target's spread have the same one.
_ROUNDING = 1e-10


@dataclass
class Node:
    """A node while the tree grows; ``children`` is set when it is split.

    ``refused`` is the split it does not have because it may be chance.
    """

    id: int
    depth: int
    model: NodeModel
    split: Split | None = None
    children: tuple[int, int] | None = None
    rivals: Sequence[Rival] = ()
    refused: Split | None = None
    is_given: bool = False  # its split was given by the user
    n_passed: int = 0  # splits given by the user that are made, or do not divide its rows


def find_splits(
    backend: Backend,
    models: Models,
    plan: Plan,
    settings: Settings,
    nodes: Sequence[Node],
    root: Node,
) -> None:
    """Give every node that may be split its best split."""
    able = [node for node in nodes if not node.is_given and _may_split(node, plan, settings)]
    if not able or not plan.n_searched:
        return
    set_vectors(backend, models, settings, able)
    tested = None if models.linear is None else models.linear.tested
    found = all_gains(backend, plan, settings, able, root, tested)
    least = settings.min_gain * root.model.loss
    rounding = _ROUNDING * root.model.weight if settings.loss.is_quadratic else 0.0
    looked_at = _best_splits(backend, models, settings, able, found)
    movable = []
    for node, (split, sides) in zip(able, looked_at, strict=True):
        if split is None or not split.gain > max(least, rounding if sides is not None else 0.0):
            continue
        if split.p_value > settings.significance:
            node.refused = split
            continue
        node.split = split
        if settings.rescore and sides is not None:
            along = next(own for own in found[node.id] if own.feature.column == split.column)
            movable.append((node, Movable(node.id, node.model, sides, along)))
        elif settings.round_thresholds is not None:
            node.split = readable(found[node.id], split, settings.round_thresholds)
    if models.linear is not None and movable:
        if settings.round_thresholds is not None:
            _shorten(backend, models.linear, settings, settings.round_thresholds, movable)
        _move(backend, models.linear, plan, settings, movable)
    for node in able:
        if node.split is not None:
            node.rivals = rivals(found[node.id], node.split)


def _may_split(node: Node, plan: Plan, settings: Settings) -> bool:
    deep_enough = settings.max_depth is not None and node.depth >= settings.max_depth
    return not deep_enough and node.model.count >= 2 * plan.min_count(settings)


def set_vectors(
    backend: Backend, models: Models, settings: Settings, nodes: Sequence[Node]
) -> None:
    """Store with every row what the criterion sums."""
    if settings.criterion.uses == "gradient":
        models.set_vectors([node.id for node in nodes], [node.model for node in nodes])
        return
    tasks = [on_rows.TargetTask(node.id, settings.n_classes) for node in nodes]
    backend.each(on_rows.set_target, tasks)


def _best_splits(
    backend: Backend,
    models: Models,
    settings: Settings,
    nodes: Sequence[Node],
    found: dict[int, list[FeatureGains]],
) -> Sequence[tuple[Split | None, Sides | None]]:
    """The best split of every node, by the criterion or by a close look, which knows its sides."""
    is_tested = settings.significance < 1
    floors = [_NO_GAIN * node.model.weight * _gain_unit(settings, node) for node in nodes]
    best = [best_split(found[node.id], floor) for node, floor in zip(nodes, floors, strict=True)]
    if models.linear is None or not (settings.rescore or is_tested):
        return [(split, None) for split in best]
    lists = []
    for node, floor, split in zip(nodes, floors, best, strict=True):
        own = found[node.id]
        splits = shortlist(own, settings.rescore, floor) if settings.rescore else [split]
        choices = {feature.feature.column: feature.choices for feature in own}
        lists.append(Shortlist(node.id, node.model, [s for s in splits if s], choices))
    test = None
    if is_tested:
        test = Test(settings.significance_test, settings.significance, settings.is_grouped)
    looked_at = best_rescored(backend, models.linear, settings.loss, lists, test)
    return [(None if sides is None else sides.split, sides) for sides in looked_at]


def _gain_unit(settings: Settings, node: Node) -> float:
    """The largest unit of a gradient's entries, squared: 1 but where columns are raw."""
    is_raw = settings.renormalize is None and not settings.standardized
    if not (is_raw and settings.uses_columns):
        return 1.0
    units = fixed_units(node.model, node.model, standardized=False)
    return float(max(1.0, (units.factor**2 + units.shift**2).max(initial=0.0)))


def _shorten(
    backend: Backend,
    models: LinearModels,
    settings: Settings,
    tolerance: float,
    movable: Sequence[tuple[Node, Movable]],
) -> None:
    """Take the shorter number that the criterion's gains suggest, if its exact gain is as good."""
    short = [readable([own.gains], own.split, tolerance) for _, own in movable]
    lists = [
        Shortlist(node.id, node.model, [split], {})
        for (node, _), split in zip(movable, short, strict=True)
    ]
    looked_at = best_rescored(backend, models, settings.loss, lists)
    for (node, own), sides in zip(movable, looked_at, strict=True):
        if sides is not None and sides.split.gain >= (1.0 - tolerance) * own.split.gain:
            node.split = replace(sides.split, p_value=own.split.p_value)


def _move(
    backend: Backend,
    models: LinearModels,
    plan: Plan,
    settings: Settings,
    movable: Sequence[tuple[Node, Movable]],
) -> None:
    """Put the borders of splits where their two models lose least."""
    found = move_borders(backend, models, plan, settings, [own for _, own in movable])
    for (node, _), moved in zip(movable, found, strict=True):
        if moved is not None and not _is_shorter(node.split, moved, settings.round_thresholds):
            node.split = moved


def _is_shorter(split: Split | None, moved: Split, rounding: float | None) -> bool:
    """Whether the criterion's short number is shorter than one at the border."""
    if rounding is None or split is None:
        return False
    return n_digits(split.threshold) < n_digits(moved.threshold)


def all_gains(
    backend: Backend,
    plan: Plan,
    settings: Settings,
    nodes: Sequence[Node],
    root: Node,
    tested: NDArray[np.bool_] | None = None,
) -> dict[int, list[FeatureGains]]:
    """Gains of all candidates of several nodes, or those of some ``tested`` columns alone."""
    columns, layout = settings.uses_columns, plan.design.layout
    wanted = on_rows.Wanted()
    if columns:
        needed = settings.needs_squares, settings.needs_ranges
        wanted = on_rows.Wanted(layout.n_columns, *needed)
    wholes = backend.sum(on_rows.whole_sums, [on_rows.WholeTask(node.id, wanted) for node in nodes])
    tasks = [
        on_rows.BinTask(node.id, index, block.n_bins, wanted)
        for node in nodes
        for index, block in enumerate(plan.blocks[: plan.n_searched])
    ]
    known = {}
    for node, found_sums in zip(nodes, wholes, strict=True):
        whole = complete(WHOLE, found_sums, found_sums, layout) if columns else found_sums
        known[node.id] = (
            whole,
            _units(node, root, whole, settings, tested) if columns else NO_UNITS,
        )

    def score(task: on_rows.BinTask, sums: on_rows.BinSums) -> list[FeatureGains]:
        return block_gains(plan, settings, task.block, sums, *known[task.node])

    found: dict[int, list[FeatureGains]] = {node.id: [] for node in nodes}
    for task, gains in zip(tasks, backend.sum(on_rows.bin_sums, tasks, then=score), strict=True):
        found[task.node] += gains
    return found


def _units(
    node: Node,
    root: Node,
    whole: on_rows.BinSums,
    settings: Settings,
    tested: NDArray[np.bool_] | None,
) -> NodeUnits:
    units = fixed_units(node.model, root.model, settings.standardized)
    if tested is not None:  # a column without spread takes no part
        units = replace(units, spread=np.where(tested, units.spread, 0.0), has_intercept=False)
    return units if whole.low is None else replace(units, extent=node_extent(whole))


def route(backend: Backend, nodes: Sequence[Node]) -> None:
    """Send the rows of nodes to their children."""
    tasks = []
    for node in nodes:
        split = node.split
        assert split is not None and node.children is not None
        side_of_bin = np.where(split.left_of_bin, on_rows.LEFT, on_rows.RIGHT).astype(np.uint16)
        place, last_left = 0, np.nan
        if split.border is not None:
            side_of_bin[split.border.near_bin] = on_rows.NEITHER
            place, last_left = split.border.place, split.border.last_left
        sides = split.segments(side_of_bin)
        tasks.append(on_rows.RouteTask(node.id, node.children, sides, place, last_left))
    backend.each(on_rows.route, tasks)
