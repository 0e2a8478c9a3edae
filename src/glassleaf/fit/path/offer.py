"""What a formula may name: columns, columns that are held at a place, and the constant.

Of a column with a sign, all that is offered rises with it, and it is kept with that sign alone: its
line, its hinges, the line held at a hinge, and what lies between two hinges. Sums of these, with
coefficients of one sign, are all broken lines that never fall (or rise) along the column.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.models.slopes import stored_chains
from glassleaf.fit.models.units import NodeModel
from glassleaf.tables.design import Design, Layout

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Offer:
    """The parameters of a formula: those of stored columns, those of held ones, and of the 1.

    A held column is ``min(x, place)``: the line of a bent column less one of its hinges. For a
    column with a sign, it may be one of its hinges less a later one as well. Columns count from
    their ``reference``, which is not zero for those far from it.
    """

    layout: Layout
    reference: Floats  # (stored columns,)
    held: Ints  # (held columns, 2): the stored columns of line and hinge, or of two hinges
    sign: NDArray[np.int8]  # (size,): that of every parameter, 0 if it is free

    @property
    def size(self) -> int:
        return self.layout.n_columns + len(self.held) + 1

    def raw_columns(self, model: NodeModel) -> Floats:
        """What makes all of them, in raw units, of the columns that rows hold, and the 1."""
        layout = self.layout
        kept, stored = layout.n_dense + layout.n_sparse, layout.n_columns
        out = np.zeros((self.size, kept + 1))
        place = np.arange(kept)
        out[place, place] = model.unit[:kept]
        out[place, -1] = model.center[:kept] - self.reference[:kept]
        for group in range(layout.n_complements):
            others = layout.members[layout.first[group] : layout.first[group + 1]]
            out[kept + group, layout.n_dense + others] = -1.0
        out[kept:stored, -1] = 1.0
        out[stored:-1] = out[self.held[:, 0]] - out[self.held[:, 1]]
        out[-1, -1] = 1.0
        return out

    def parameters(self, model: NodeModel) -> Floats:
        """Those of a model as it is, without held columns; shape (outputs, parameters)."""
        coef, intercept = model.raw_parameters()
        none = np.zeros((len(coef), len(self.held)))
        return np.column_stack([coef, none, intercept + coef @ self.reference])

    def stored(self, parameters: Floats) -> Floats:
        """The same formulas without held columns, of stored columns and the 1 alone."""
        n_stored = self.layout.n_columns
        out = np.concatenate([parameters[..., :n_stored], parameters[..., -1:]], axis=-1)
        for k, (line, hinge) in enumerate(self.held):
            out[..., line] += parameters[..., n_stored + k]
            out[..., hinge] -= parameters[..., n_stored + k]
        return out

    @property
    def is_between(self) -> NDArray[np.bool_]:
        """Which held columns lie between two hinges."""
        lines = np.isin(self.held[:, 0], self.held[:, 1])
        return np.asarray(lines)


def offer_of(design: Design, reference_of_term: Floats, signs: NDArray[np.int8]) -> Offer:
    """What the columns of a design offer."""
    terms = design.terms
    place_of = {int(term): place for place, term in enumerate(design.layout.term)}
    held = [
        (place_of[int(terms.first_term[column])], place_of[hinge])
        for column in terms.bent
        for hinge in terms.hinge_terms(column)
    ]
    for chain in stored_chains(design, signs):
        held += combinations(chain[1:].tolist(), 2)
    pairs = np.array(held, dtype=np.int64).reshape(-1, 2)
    sign = np.zeros(design.layout.n_columns + len(pairs) + 1, dtype=np.int8)
    for column in np.flatnonzero(signs).tolist():
        own = [place_of[t] for t in (int(terms.first_term[column]), *terms.hinge_terms(column))
               if t in place_of]  # fmt: skip
        sign[own] = signs[column]
    sign[design.layout.n_columns : -1] = sign[pairs[:, 0]]
    return Offer(design.layout, reference_of_term[design.layout.term], pairs, sign)
