"""Splits that the user gives: made as they are, without search or test, before all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.fit.models.protocol import Models
from glassleaf.fit.splits.candidates import FeatureGains, Rival, Split
from glassleaf.fit.splits.find import Node, all_gains, set_vectors
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.rows.settings import GivenSplit, Settings
from glassleaf.tables.table import Column

Floats = NDArray[np.float64]


def make_given(
    backend: Backend,
    models: Models,
    plan: Plan,
    settings: Settings,
    nodes: Sequence[Node],
    root: Node,
) -> None:
    """Give every node the first of the splits still ahead of it that divides its rows."""
    waiting = [node for node in nodes if node.n_passed < len(plan.given)]
    if not waiting:
        return
    if nodes[0] is root:
        _check_categories(plan)
    set_vectors(backend, models, settings, waiting)
    found = all_gains(backend, plan, settings, waiting, root)
    for node in waiting:
        by_column = {own.feature.column: own for own in found[node.id]}
        for place in range(node.n_passed, len(plan.given)):
            node.n_passed = place + 1
            given = plan.given[place]
            own = by_column[given.column]
            split = _split(given, own, plan.columns[given.column])
            if split is not None:
                node.split, node.is_given = split, True
                some_missing = bool(own.count[own.feature.n_values] > 0)
                node.rivals = (Rival(split, np.zeros(0), np.zeros(0), some_missing),)
                break
    if nodes[0] is root and not root.is_given:
        first = plan.given[0]
        raise ValueError(
            f"first_splits: {describe(first.value)} of {plan.columns[first.column].name!r} leaves a"
            " side without rows, and so do all others."
        )


def _check_categories(plan: Plan) -> None:
    for given in plan.given:
        column = plan.columns[given.column]
        unknown = sorted(map(str, given.categories - set(column.categories or ())))
        if unknown:
            raise ValueError(
                f"first_splits: no row has {unknown[0]!r} in {column.name!r}, or too few have."
            )


def _split(given: GivenSplit, found: FeatureGains, column: Column) -> Split | None:
    """The split of a node, None if all its rows are on one side.

    Missing values and special ones go right.
    """
    bins = found.feature
    left = np.zeros(bins.n_bins, dtype=np.bool_)
    if bins.is_categorical:
        assert column.categories is not None
        left[: bins.n_values] = [own in given.categories for own in column.categories]
    else:
        left[: bins.n_values] = bins.upper <= given.threshold
    if not found.count[left].any() or not found.count[~left].any():
        return None
    return Split(
        gain=0.0,
        column=bins.column,
        block=found.block,
        first_bin=found.first_bin,
        left_of_bin=left,
        default_bin=bins.default_bin,
        threshold=np.nan if bins.is_categorical else given.threshold,
        is_categorical=bins.is_categorical,
        missing_left=False,
        special_left=left[bins.n_values + 1 :],
        unknown_left=False,
        candidate=0,
    )


def tell_gains(nodes: Sequence[Node]) -> None:
    """What given splits gain is known once the models of their children are."""
    for node in nodes:
        if node.is_given and node.split is not None and node.children is not None:
            fall = node.model.loss - sum(nodes[child].model.loss for child in node.children)
            node.split = replace(node.split, gain=max(fall, 0.0))
