"""Columns to the design of the linear models, stored as the sums need it.

A model has one *term* per numeric column, one per category of a categorical column, and one per
column with missing values ("is missing"). The term of a numeric column is its value, or a monotone
transform of it (see ``transforms``); where it is missing, the term's mean. Terms are numbered in
column order, the "is missing" ones of numeric columns last.

In memory a term is one of three things:

* **dense**: a float64 column, standardized;
* **sparse**: raw values, stored only where they are not zero (indicators, one-hot codes, rare
  values);
* **complement**: the most frequent category of a column, not stored at all. It is one minus the
  column's other indicators, so every sum of it follows from theirs.

Dense, sparse and complement terms, in this order, are the *stored columns*; ``Layout.term`` says
which term each is. ``expand_sums`` and ``reduce_coef`` translate between the stored columns and
the ones that rows really hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.compressed import Compressed, Entries, from_columns
from glassleaf.transforms import Knots

Floats = NDArray[np.float64]

# A column this rarely different from zero is cheaper stored by its entries than densely; one whose
# entries are all 1 much sooner, for they need no values.
_SPARSE_INDICATOR_SHARE = 0.1
_SPARSE_VALUE_SHARE = 0.01
# A spread below this share of the values' magnitude is rounding noise: the column is constant.
_CONSTANT_SHARE = 1e-12


# How much more a column must explain than its transform to be left as it is.
_CLEARLY_MORE = 0.005
# Collinear columns are no obstacle to that comparison.
_CHOICE_RIDGE = 1e-6


@dataclass(frozen=True)
class Terms:
    """Which terms every input column has; -1 for none.

    A numeric column's term is its value or, where column j has the knots ``first_knot[j]`` to
    ``first_knot[j + 1]`` (exclusive), the piecewise linear function through the points
    ``(knot_x, knot_z)``, constant beyond them. ``fill`` is the term of a missing number.
    """

    first_term: NDArray[np.int64]
    missing_term: NDArray[np.int64]
    is_category: NDArray[np.bool_]
    fill: Floats
    n_terms: int
    first_knot: NDArray[np.int64]
    knot_x: Floats
    knot_z: Floats

    def knots(self, column: int) -> Knots | None:
        """The transform of a column, None where its term is the value itself."""
        here = slice(self.first_knot[column], self.first_knot[column + 1])
        return Knots(self.knot_x[here], self.knot_z[here]) if here.stop > here.start else None

    def transformed(self, X: Floats) -> Floats:
        """A raw matrix (see ``table.raw_matrix``) with its columns transformed."""
        if not len(self.knot_x):
            return X
        out = X.copy()
        for column in np.flatnonzero(np.diff(self.first_knot)):
            knots = self.knots(int(column))
            assert knots is not None
            out[:, column] = knots(X[:, column])
        return out


@dataclass(frozen=True)
class Layout:
    """How terms are stored.

    The other categories of complement g are the sparse columns ``members[first[g]:first[g + 1]]``.
    Sparse columns are numbered from the most to the least frequent: what is often added to lies
    together, in the processor's cache.
    """

    n_dense: int
    n_sparse: int
    members: NDArray[np.int64]
    first: NDArray[np.int64]
    term: NDArray[np.int64]
    center: Floats
    scale: Floats

    @property
    def n_complements(self) -> int:
        return len(self.first) - 1

    @property
    def n_columns(self) -> int:
        return self.n_dense + self.n_sparse + self.n_complements

    def expand_sums(self, columns: Floats, total: Floats) -> Floats:
        """Append the complements: ``total`` (the sum without x) minus the other categories.

        ``columns`` has the stored dense and sparse columns on its last axis.
        """
        if not self.n_complements:
            return columns
        return np.concatenate([columns, self._complements(columns, total)], axis=-1)

    def _complements(self, columns: Floats, total: Floats) -> Floats:
        others = np.zeros((*columns.shape[:-1], self.n_complements))
        has_others = self.first[1:] > self.first[:-1]
        if has_others.any():
            members = columns[..., self.n_dense + self.members]
            others[..., has_others] = np.add.reduceat(members, self.first[:-1][has_others], axis=-1)
        return np.asarray(total[..., None] - others)

    def expand_gram(self, gram: Floats) -> Floats:
        """Products of the kept columns and 1 (last) to products of all stored columns and 1.

        The last two axes are those of the columns.
        """
        if not self.n_complements:
            return gram
        kept = self.n_dense + self.n_sparse
        full = np.empty((*gram.shape[:-2], self.n_columns + 1, self.n_columns + 1))
        full[..., :kept, :kept] = gram[..., :-1, :-1]
        full[..., -1, :kept] = full[..., :kept, -1] = gram[..., -1, :-1]
        full[..., -1, -1] = gram[..., -1, -1]
        # Rows of the complements: the row of the constant minus those of the group.
        own = self._complements(np.swapaxes(gram[..., :-1, :], -1, -2), gram[..., -1, :])
        full[..., :kept, kept:-1] = own[..., :-1, :]
        full[..., kept:-1, :kept] = np.swapaxes(own[..., :-1, :], -1, -2)
        full[..., -1, kept:-1] = full[..., kept:-1, -1] = own[..., -1, :]
        full[..., kept:-1, kept:-1] = self._complements(
            np.swapaxes(own[..., :-1, :], -1, -2), own[..., -1, :]
        )
        return full

    def reduce_coef(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Coefficients of the kept columns that predict what those of all stored columns do."""
        kept = self.n_dense + self.n_sparse
        reduced, complements = coef[:, :kept].copy(), coef[:, kept:]
        n_others = np.diff(self.first)
        reduced[:, self.n_dense + self.members] -= np.repeat(complements, n_others, axis=1)
        return reduced, intercept + complements.sum(axis=1)


@dataclass
class Design:
    """The rows of the design."""

    dense: Floats
    sparse: Compressed
    layout: Layout
    terms: Terms


def weighted_moments(values: Floats, weight: Floats | None) -> tuple[float, float]:
    """Mean and standard deviation, in two passes so that a large mean costs no digits."""
    mean = float(np.average(values, weights=weight))
    deviation = values - mean
    # Squares of very large or very small numbers would leave the range of a float.
    largest = float(np.abs(deviation).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return mean, largest
    deviation /= largest
    return mean, largest * float(np.sqrt(np.average(deviation * deviation, weights=weight)))


def choose_columns(gram: Floats, product: Floats, n_settled: int) -> list[bool]:
    """For every pair of columns after the settled ones, whether the first is the better regressor.

    ``gram`` are the products of all columns with each other, ``product`` those with the targets.
    The second of each pair is preferred: the first has to explain clearly more, beside all other
    columns and one of each other pair.
    """

    def explained(columns: list[int]) -> float:
        inner = gram[np.ix_(columns, columns)]
        ridge = _CHOICE_RIDGE * np.eye(len(columns)) * np.diagonal(gram).max(initial=0.0)
        target = product[columns]
        return float((target * np.linalg.solve(inner + ridge, target)).sum())

    settled, n_pairs = list(range(n_settled)), (len(gram) - n_settled) // 2
    chosen = [n_settled + 2 * pair + 1 for pair in range(n_pairs)]
    best = explained(settled + chosen)
    for pair in range(n_pairs):
        trial = [*chosen[:pair], n_settled + 2 * pair, *chosen[pair + 1 :]]
        found = explained(settled + trial)
        if found > (1 + _CLEARLY_MORE) * best:
            chosen, best = trial, found
    return [column == n_settled + 2 * pair for pair, column in enumerate(chosen)]


# One dense term: its number, its standardized values, and the mean and scale they had.
_Dense = tuple[int, Floats, float, float]


class DesignBuilder:
    """Collects columns one by one, in column order, and lays them out."""

    def __init__(self, n_rows: int, n_columns: int, weight: Floats | None) -> None:
        self._n_rows = n_rows
        self._weight = weight
        self._first_term = np.full(n_columns, -1)
        self._is_category = np.zeros(n_columns, dtype=np.bool_)
        self._fill = np.zeros(n_columns)
        self._n_terms = 0
        self._knots: list[Knots | None] = [None] * n_columns
        self._missing: list[tuple[int, int, NDArray[np.bool_]]] = []
        self._dense: list[_Dense] = []
        self._undecided: list[tuple[int, _Dense, _Dense, Knots]] = []
        self._sparse: list[tuple[list[int], Entries]] = []
        self._groups: list[tuple[int, int, int]] = []

    def skip_numeric(self, column: int) -> None:
        """Give the column a term that no model uses, so that terms stay in column order."""
        self._first_term[column] = self._n_terms
        self._n_terms += 1

    def add_numeric(
        self, column: int, values: Floats, knots: Knots | None, or_plain: bool = False
    ) -> None:
        """One term, and one more if values are missing.

        The term is transformed if there are knots; with ``or_plain`` that is decided later.
        """
        missing = np.isnan(values)
        if missing.any():
            self._missing.append((column, -1, missing))
        term = self._n_terms
        self._first_term[column] = term
        self._n_terms += 1
        if knots is not None and or_plain:
            plain, transformed = (
                self._standardized(term, *self._filled(given, missing))
                for given in (values, knots(values))
            )
            self._undecided.append((column, plain, transformed, knots))
            return
        self._knots[column] = knots
        filled, mean, spread = self._filled(values if knots is None else knots(values), missing)
        self._fill[column] = mean
        self._store(term, filled, mean, spread)

    def _filled(self, values: Floats, missing: NDArray[np.bool_]) -> tuple[Floats, float, float]:
        """Values with the gaps filled by the mean, the mean, and the standard deviation."""
        if not missing.any():
            return values, *weighted_moments(values, self._weight)
        present = ~missing
        if not present.any():
            return np.zeros(len(values)), 0.0, 0.0
        weight = None if self._weight is None else self._weight[present]
        mean, spread = weighted_moments(values[present], weight)
        return np.where(missing, mean, values), mean, spread

    def settle(self, slope: Floats) -> None:
        """Decide what was left open: for each column, what says more beside all the others.

        ``slope`` is what the terms have to explain, weighted: the gradient of the loss at a
        constant model. All this is linear regression, on one matrix of products.
        """
        if not self._undecided:
            return
        open_terms = [[plain, changed] for _, plain, changed, _ in self._undecided]
        dense = self._dense + [item for pair in open_terms for item in pair]
        columns = np.column_stack([values for _, values, _, _ in dense])
        weighted = columns if self._weight is None else columns * self._weight[:, None]
        n_settled = len(self._dense)
        chosen = choose_columns(columns.T @ weighted, columns.T @ slope, n_settled)
        for (column, plain, changed, knots), is_plain in zip(self._undecided, chosen, strict=True):
            item = plain if is_plain else changed
            self._knots[column] = None if is_plain else knots
            self._fill[column] = item[2]
            self._dense.append(item)
        self._dense.sort(key=lambda item: item[0])
        self._undecided = []

    def add_categories(self, column: int, codes: NDArray[np.int32], n_categories: int) -> None:
        """One term per category; "missing" is one more where it occurs."""
        first = self._n_terms
        self._first_term[column] = first
        self._is_category[column] = True
        n_terms = n_categories
        if (codes < 0).any():
            codes = np.where(codes >= 0, codes, n_categories)
            self._missing.append((column, first + n_categories, np.zeros(0, dtype=np.bool_)))
            n_terms += 1
        complement = int(np.argmax(np.bincount(codes, minlength=n_terms)))
        rows = np.flatnonzero(codes != complement)
        terms = [first + code for code in range(n_terms) if code != complement]
        position = codes[rows] - (codes[rows] > complement)
        start = sum(len(t) for t, _ in self._sparse)
        self._sparse.append((terms, (rows, position + start, None)))
        self._groups.append((start, start + len(terms), first + complement))
        self._n_terms += n_terms

    def _store(self, term: int, values: Floats, mean: float, spread: float) -> None:
        stored = np.flatnonzero(values)
        given = values[stored] if len(stored) <= _SPARSE_INDICATOR_SHARE * self._n_rows else None
        if given is not None:
            is_indicator = bool((given == 1.0).all())
            if is_indicator or len(stored) <= _SPARSE_VALUE_SHARE * self._n_rows:
                start = sum(len(t) for t, _ in self._sparse)
                index = np.full(len(stored), start)
                self._sparse.append(([term], (stored, index, None if is_indicator else given)))
                return
        self._dense.append(self._standardized(term, values, mean, spread))

    def _standardized(self, term: int, values: Floats, mean: float, spread: float) -> _Dense:
        is_constant = spread <= _CONSTANT_SHARE * np.hypot(mean, spread)
        if is_constant:
            return term, np.zeros(self._n_rows), mean, 1.0
        return term, (values - mean) / spread, mean, spread

    def build(self) -> Design:
        """Lay out everything that was added."""
        missing_term = np.full(len(self._first_term), -1)
        for column, term, is_missing in self._missing:
            if term < 0:
                term = self._n_terms
                self._n_terms += 1
                indicator = is_missing.astype(np.float64)
                self._store(term, indicator, *weighted_moments(indicator, self._weight))
            missing_term[column] = term
        none = np.zeros(0)
        terms = Terms(
            self._first_term,
            missing_term,
            self._is_category,
            self._fill,
            self._n_terms,
            np.cumsum([0, *(len(knots.x) if knots else 0 for knots in self._knots)]),
            np.concatenate([none, *(knots.x for knots in self._knots if knots)]),
            np.concatenate([none, *(knots.z for knots in self._knots if knots)]),
        )
        dense = np.empty((self._n_rows, len(self._dense)))
        for j, (_, values, _, _) in enumerate(self._dense):
            dense[:, j] = values
        order = [term for term, _, _, _ in self._dense]
        order += [term for several, _ in self._sparse for term in several]
        n_sparse = len(order) - len(self._dense)
        sparse = from_columns(self._n_rows, (entries for _, entries in self._sparse), np.uint32)
        by_frequency = np.argsort(-np.bincount(sparse.idx, minlength=n_sparse), kind="stable")
        number = np.empty(n_sparse, dtype=np.uint32)
        number[by_frequency] = np.arange(n_sparse)
        sparse.idx = number[sparse.idx]
        n_dense = len(self._dense)
        order[n_dense:] = [order[n_dense + k] for k in by_frequency]
        order += [complement for _, _, complement in self._groups]
        spans = [np.arange(first, last) for first, last, _ in self._groups]
        layout = Layout(
            n_dense=n_dense,
            n_sparse=n_sparse,
            members=number[np.concatenate([np.zeros(0, dtype=np.int64), *spans])].astype(np.int64),
            first=np.cumsum([0, *map(len, spans)]),
            term=np.array(order, dtype=np.int64),
            center=np.array([mean for _, _, mean, _ in self._dense]),
            scale=np.array([scale for _, _, _, scale in self._dense]),
        )
        return Design(dense, sparse, layout, terms)
