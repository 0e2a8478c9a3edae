"""Dense columns that are hinges of others: their values, and products with these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.rows.passes.data import Rows, Span
from glassleaf.rows.slices import in_slices
from glassleaf.tables.design import Design

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StoredHinge:
    """A dense column that says how far another one lies above a place."""

    place: int
    source: int
    at: float


def stored_hinges(design: Design) -> list[StoredHinge]:
    """The dense columns that are hinges, in the order of their terms."""
    terms = design.terms
    place_of = {int(term): place for place, term in enumerate(design.layout.term)}
    return [
        StoredHinge(place_of[term], place_of[int(terms.first_term[column])], float(at))
        for column in terms.bent
        for term, at in zip(terms.hinge_terms(column), terms.hinges(column), strict=True)
    ]


class HingesTask(NamedTuple):
    """A node and its hinges; ``center`` and ``unit`` are those of its dense columns."""

    node: int
    hinges: Sequence[StoredHinge]
    center: Floats
    unit: Floats
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 8 * len(task.hinges))
def set_hinges(rows: Rows, task: HingesTask) -> None:
    """Compute the hinges of a node's rows."""
    dense, center, unit = rows.dense[slice(*rows.span_of(task))], task.center, task.unit
    for own in task.hinges:
        above = center[own.source] + unit[own.source] * dense[:, own.source] - own.at
        dense[:, own.place] = (np.maximum(above, 0.0) - center[own.place]) / unit[own.place]


def add_hinges(rows: Rows, task: HingesTask) -> None:
    """The same of hinges that are new: the last dense columns, for which there is no room yet."""
    rows.dense = np.column_stack([rows.dense, np.empty((len(rows.dense), len(task.hinges)))])
    set_hinges(rows, task)


class ProductsTask(NamedTuple):
    """A node and pairs of its dense columns."""

    node: int
    pairs: Sequence[tuple[int, int]]
    span: Span | None = None


@in_slices(row_work=lambda rows, task: 16 * len(task.pairs))
def column_products(rows: Rows, task: ProductsTask) -> Floats:
    """For every pair the weighted sums of its columns, and of their product, as stored."""
    here = slice(*rows.span_of(task))
    dense, weight = rows.dense[here], rows.weight[here]
    out = np.empty((len(task.pairs), 3))
    for k, (one, other) in enumerate(task.pairs):
        a, b = dense[:, one], dense[:, other]
        out[k] = weight @ a, weight @ b, (weight * a) @ b
    return out
