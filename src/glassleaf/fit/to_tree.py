"""What training saw in every node, kept beside the tree for those who explain it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.splits.candidates import Split
from glassleaf.fit.splits.find import Node
from glassleaf.rows import passes as on_rows
from glassleaf.rows.backends import Backend
from glassleaf.tables.design import Design
from glassleaf.tables.table import Column
from glassleaf.tree.tree import Candidates, Seen

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def mean_targets(
    backend: Backend, nodes: Sequence[Node], n_classes: int, center: float, scale: float
) -> Floats:
    """Mean target of every node, shape (nodes, 1), or the shares of the classes."""
    leaves = [node for node in nodes if node.children is None]
    found = backend.sum(on_rows.target_sums, [(node.id, n_classes) for node in leaves])
    sums = np.zeros((len(nodes), max(n_classes, 1)))
    for node, total in zip(leaves, found, strict=True):
        sums[node.id] = total
    for node in reversed(nodes):  # children come after their parents
        if node.children is not None:
            sums[node.id] = sums[list(node.children)].sum(axis=0)
    mean = sums / np.array([[node.model.weight] for node in nodes])
    return mean if n_classes else np.asarray(mean * scale + center)


def curve_covariances(backend: Backend, nodes: Sequence[Node], design: Design) -> Floats:
    """Covariance of every column's term and its curve in every node, 0 for columns without one.

    Where leaves were narrowed, it is that of the clamped rows, in the nodes above them too.
    """
    columns = np.flatnonzero(design.terms.curve_term >= 0)
    out = np.zeros((len(nodes), len(design.terms.curve_term)))
    if not len(columns):
        return out
    drawn = list(on_rows.drawn_curves(design).values())
    place, source = np.array([(own.place, own.source) for own in drawn]).T
    leaves = [node for node in nodes if node.children is None]
    sums = backend.sum(on_rows.curve_products, [(node.id, drawn) for node in leaves])
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


def what_was_seen(
    nodes: Sequence[Node],
    columns: Sequence[Column],
    ranges: tuple[Floats, Floats],
    design: Design,
    target: Floats,
    bend: Floats,
    scale: float,
) -> Seen:
    """Gather the records; ``target`` are the means of ``mean_targets``.

    ``bend`` is from ``curve_covariances``; ``ranges`` are the smallest and largest value of every
    numeric column.
    """
    is_linear = nodes[0].model.custom is None
    n_terms = design.terms.n_terms if is_linear else 0
    mean, spread = np.zeros((2, len(nodes), n_terms))
    if is_linear:
        for node in nodes:
            model, term = node.model, design.layout.term
            mean[node.id, term] = model.center + model.unit * model.mean
            spread[node.id, term] = model.unit * model.spread
    return Seen(mean, spread, target, *ranges, _candidates(nodes, columns, scale), bend)


def _candidates(nodes: Sequence[Node], columns: Sequence[Column], scale: float) -> Candidates:
    found = [(node.id, rival) for node in nodes if node.split for rival in node.rivals]
    splits = [rival.split for _, rival in found]
    first_category, categories = category_sides(splits, columns)
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


def category_sides(
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
