"""What every column says by itself, and which columns say nearly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.path.leaf_sums import LeafSums
from glassleaf.fit.path.offer import Offer
from glassleaf.tables.design import Terms
from glassleaf.tree.path import INTERCEPT, Step
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Correlation beyond which two columns say nearly the same.
_NEARLY_THE_SAME = 0.98
# A spread below this share of a column's square is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Alone:
    """What every numeric column says by itself in all rows, and its correlations.

    ``slope`` is that of its line in every output if no other were in the formula; NaN for
    categories and constants, whose correlations are 0. Rows count by the curvature of their loss.
    """

    slope: Floats  # (outputs, columns)
    correlation: Floats  # (columns, columns)

    @property
    def is_near(self) -> Bools:
        """Which two columns say nearly the same."""
        out = np.abs(self.correlation) > _NEARLY_THE_SAME
        np.fill_diagonal(out, False)
        return np.asarray(out)

    def noted(self, tree: Tree, steps: Sequence[Step], scale: float) -> Tree:
        """A tree whose record says it, and which columns are left out of all steps for others.

        Slopes are multiplied by ``scale``.
        """
        is_used = np.zeros(len(self.correlation), dtype=np.bool_)
        for step in steps:
            is_used[tree.terms.column_of_term[step.term[step.term != INTERCEPT]]] = True
        near = np.abs(self.correlation) * (self.is_near & is_used)
        twin = np.where(is_used | ~near.any(axis=1), -1, near.argmax(axis=1))
        correlation = self.correlation[np.arange(len(twin)), twin]
        alone = scale * (self.slope[0] if len(self.slope) == 1 else self.slope)
        record = replace(tree.record, alone=alone, twin=twin, twin_correlation=correlation)
        return replace(tree, training_record=record)


def columns_alone(sums: LeafSums, terms: Terms, offer: Offer) -> Alone:
    """By the sums over all rows."""
    lines = np.flatnonzero(np.isin(offer.layout.term, terms.first_term[~terms.is_category]))
    columns = terms.column_of_term[offer.layout.term[lines]]
    covariance, along, square = _about_means(sums, lines, offer.size)
    spread = np.einsum("kpp->kp", covariance)
    known = np.flatnonzero((spread > _ROUNDING * square).all(axis=0))
    n_columns = len(terms.first_term)
    slope = np.full((len(along), n_columns), np.nan)
    slope[:, columns[known]] = along[:, known] / spread[:, known]
    correlation = np.zeros((n_columns, n_columns))
    total = covariance[:, known[:, None], known].sum(axis=0)
    size = np.sqrt(np.diagonal(total))
    correlation[np.ix_(columns[known], columns[known])] = total / (size[:, None] * size)
    return Alone(slope, correlation)


def _about_means(sums: LeafSums, lines: Ints, size: int) -> tuple[Floats, Floats, Floats]:
    """For every output, products of lines about their means, with each other and the target.

    Their squares come last, not about means.
    """
    slope = sums.slope.sum(axis=0).reshape(-1, size)
    n_outputs = len(slope)
    hessian = sums.hessian.sum(axis=0).reshape(n_outputs, size, n_outputs, size)
    own = np.einsum("kpkq->kpq", hessian)
    mean = own[:, lines, -1] / own[:, -1, -1, None]
    products = own[:, lines[:, None], lines]
    covariance = products - mean[:, :, None] * own[:, None, lines, -1]
    return covariance, slope[:, lines] - mean * slope[:, -1:], np.einsum("kpp->kp", products)
