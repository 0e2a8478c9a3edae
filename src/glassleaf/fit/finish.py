"""The last steps after growing: narrower ranges of leaves, and short numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.linear import LinearModels
from glassleaf.fit.signs import with_signs
from glassleaf.fit.splits.find import Node
from glassleaf.fit.splits.gains import complete
from glassleaf.losses import Loss
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.rows.plan import Plan
from glassleaf.tables.binning import WHOLE
from glassleaf.tables.short_numbers import to_digits
from glassleaf.tables.table import Table, raw_slices
from glassleaf.tables.transforms import Distribution
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def narrow_leaves(
    backend: Backend,
    models: LinearModels,
    plan: Plan,
    nodes: Sequence[Node],
    shares: tuple[float, float],
) -> None:
    """Clamp every leaf's columns to two quantiles, and fit its model to the clamped rows.

    Quantiles are known to within a bin, and for columns that may split; others keep their range.
    """
    leaves = [node for node in nodes if node.children is None]
    design = plan.design
    columns, stored = design.numeric_columns()
    place = dict(zip(columns.tolist(), stored.tolist(), strict=True))
    n_dense = design.layout.n_dense
    limits = {leaf.id: (np.full(n_dense, -np.inf), np.full(n_dense, np.inf)) for leaf in leaves}
    for index, block in enumerate(plan.blocks):
        for leaf, sums in zip(leaves, _weights(backend, leaves, plan, index), strict=True):
            for first, feature in block:
                own = place.get(feature.column, n_dense)
                weight = sums[first : first + feature.n_values]
                if feature.is_categorical or own >= n_dense or not weight.any():
                    continue
                column = Distribution(feature.lower, feature.upper, weight)
                ends = np.array([column.quantile(share) for share in shares])
                knots = design.terms.knots(feature.column)
                ends = ends if knots is None else knots(ends)
                ends = (ends - leaf.model.center[own]) / leaf.model.unit[own]
                limits[leaf.id][0][own], limits[leaf.id][1][own] = ends
    clips = [on_rows.ClipTask(node, *ends) for node, ends in limits.items()]
    backend.each(on_rows.clip_dense, clips)
    hinges = on_rows.stored_hinges(design)
    if hinges:
        tasks = [
            on_rows.HingesTask(
                leaf.id, hinges, leaf.model.center[:n_dense], leaf.model.unit[:n_dense]
            )
            for leaf in leaves
        ]
        backend.each(on_rows.set_hinges, tasks)
    parent_of = {child: node.model for node in nodes for child in node.children or ()}
    fresh = models.refit(
        [leaf.id for leaf in leaves],
        [leaf.model for leaf in leaves],
        [parent_of.get(leaf.id) for leaf in leaves],
    )
    for leaf, model in zip(leaves, fresh, strict=True):
        leaf.model = model


def _weights(backend: Backend, leaves: Sequence[Node], plan: Plan, index: int) -> list[Floats]:
    """Weight of every bin of a block, in every leaf."""
    block, layout = plan.blocks[index], plan.design.layout
    # What the search stored last may be other numbers than weights, or nothing at all.
    backend.each(on_rows.set_target, [on_rows.TargetTask(leaf.id, 0) for leaf in leaves])
    wholes = backend.sum(on_rows.whole_sums, [on_rows.WholeTask(leaf.id) for leaf in leaves])
    tasks = [on_rows.BinTask(leaf.id, index, block.n_bins) for leaf in leaves]
    found = backend.sum(on_rows.bin_sums, tasks)
    whole_sums = [complete(WHOLE, whole, whole, layout) for whole in wholes]
    return [
        complete(block, sums, whole, layout).values[:, -1]
        for sums, whole in zip(found, whole_sums, strict=True)
    ]


# --- shorter numbers -----------------------------------------------------------------------------


def rounded(
    tree: Tree,
    digits: int,
    table: Table,
    y: Floats,
    weight: Floats,
    loss: Loss,
    signs: NDArray[np.int8],
) -> tuple[Tree, float]:
    """A tree with shorter coefficients, and the share by which the loss of its rows grows."""
    shorter = _with_rounded_coefficients(tree, digits, signs)
    before, after = (_total_loss(own, table, y, weight, loss) for own in (tree, shorter))
    return shorter, after / before - 1.0 if before > 0 else 0.0


def _with_rounded_coefficients(tree: Tree, digits: int, signs: NDArray[np.int8]) -> Tree:
    """Coefficients of this many digits, and intercepts that keep every node's mean prediction.

    Intercepts are rounded too, to the last digit that matters beside the node's spread of scores.
    """
    coef = tree.coef.reshape(tree.node_count, -1, tree.terms.n_terms)
    intercept = tree.intercept.reshape(tree.node_count, -1)
    rounded = np.vectorize(to_digits, otypes=[np.float64])(coef, digits)
    if signs.any():
        rounded[:, 0] = with_signs(rounded[:, 0], tree.terms, signs)
    shift = np.einsum("nkt,nt->nk", coef - rounded, tree.record.mean)
    spread = np.sqrt(np.einsum("nkt,nt->nk", coef**2, tree.record.spread**2))
    moved = intercept + shift
    size = np.where(spread > 0, spread, np.abs(moved))
    exponent = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    decimals = (digits - 1 - exponent).astype(int)
    moved = np.vectorize(round, otypes=[np.float64])(moved, decimals)
    return replace(
        tree, coef=rounded.reshape(tree.coef.shape), intercept=moved.reshape(tree.intercept.shape)
    )


def _total_loss(tree: Tree, table: Table, y: Floats, weight: Floats, loss: Loss) -> float:
    """The loss of a finished tree on some rows, in the units in which it was fitted."""
    center, scale = loss.target_units(y, weight) if loss.link == "identity" else (0.0, 1.0)
    total = 0.0
    for rows, matrix in raw_slices(table, tree.columns):
        raw = (tree.raw(matrix, tree.apply(matrix)) - center) / scale
        given = raw.ravel() if loss.n_outputs == 1 else raw
        value, _, _ = loss.derivatives((y[rows] - center) / scale, given, with_hessian=False)
        total += float(weight[rows] @ value)
    return total
