"""Columns to the design of the linear models, stored as the sums need it.

A model has one *term* per numeric column, one per category of a categorical column, and one per
column with missing values ("is missing"). The term of a numeric column is its value, or a monotone
transform of it (see ``transforms``); where it is missing, the term's mean. Every special value of a
numeric column has a term as "is missing" has. A numeric column that bends has one more for every
bend, a hinge: how far its term lies above some place, 0 below it. Terms are numbered in column
order, then come those of states of numeric columns ("is missing", special values), then the hinges.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf import _kernels
from glassleaf.tables.compressed import Entries
from glassleaf.tables.short_numbers import shortest_between
from glassleaf.tables.special import states_of
from glassleaf.tables.summaries import Moments, NumericSummary
from glassleaf.tables.transforms import Knots

Floats = NDArray[np.float64]

# A column this rarely different from zero is cheaper stored by its entries than densely; one whose
# entries are all 1 much sooner, for they need no values.
_SPARSE_INDICATOR_SHARE = 0.1
_SPARSE_VALUE_SHARE = 0.01
# A spread below this share of the values' magnitude is rounding noise: the column is constant.
_CONSTANT_SHARE = 1e-12
# ... and so is one whose inverse is no number.
_TINY = 1e-307


# How far a short number for missing values may lie from the mean, in spreads.
_NEAR_THE_MEAN = 0.05
# How much more a column must explain than its transform to be left as it is.
_CLEARLY_MORE = 0.005
# Collinear columns are no obstacle to that comparison.
_CHOICE_RIDGE = 1e-6


@dataclass(frozen=True)
class Terms:
    """Which terms every input column has; -1 for none.

    Those of column j's special values are ``special_term[first_special[j]:first_special[j + 1]]``.

    A numeric column's term is its value or, where column j has the knots ``first_knot[j]`` to
    ``first_knot[j + 1]`` (exclusive), the piecewise linear function through the points
    ``(knot_x, knot_z)``, constant beyond them. ``fill`` is the term of a missing number.

    The last terms are hinges. Those of column j are ``first_hinge[j]`` to ``first_hinge[j + 1]``
    (exclusive), at ascending places: hinge h is ``max(0, z - hinge_at[h])``, where z is the
    column's own term, filled where it is missing, and clamped in a leaf that clamps the column.
    """

    first_term: NDArray[np.int64]
    missing_term: NDArray[np.int64]
    is_category: NDArray[np.bool_]
    fill: Floats
    n_terms: int
    first_knot: NDArray[np.int64]
    knot_x: Floats
    knot_z: Floats
    first_hinge: NDArray[np.int64]
    hinge_at: Floats
    first_special: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    special_term: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if not len(self.first_special):  # a file without special values
            object.__setattr__(self, "first_special", np.zeros_like(self.first_hinge))

    def special_terms(self, column: int) -> list[int]:
        """The terms of a column's special values, -1 for one without."""
        own = slice(self.first_special[column], self.first_special[column + 1])
        return [int(term) for term in self.special_term[own]]

    def state_terms(self, column: int) -> list[int]:
        """The terms of a missing value and of special values, those that there are."""
        return [t for t in (int(self.missing_term[column]), *self.special_terms(column)) if t >= 0]

    @property
    def first_hinge_term(self) -> int:
        """The term of the first hinge; all later terms are hinges too."""
        return self.n_terms - len(self.hinge_at)

    def hinges(self, column: int) -> Floats:
        """The places of a column's hinges, ascending."""
        return self.hinge_at[self.first_hinge[column] : self.first_hinge[column + 1]]

    def hinge_terms(self, column: int) -> list[int]:
        """The terms of a column's hinges, in the order of their places."""
        first = self.first_hinge_term
        return list(
            range(first + self.first_hinge[column], first + int(self.first_hinge[column + 1]))
        )

    @property
    def bent(self) -> list[int]:
        """The columns that have hinges."""
        return [int(column) for column in np.flatnonzero(np.diff(self.first_hinge))]

    @cached_property
    def column_of_term(self) -> NDArray[np.int64]:
        """The input column of every term."""
        out = np.zeros(self.n_terms, dtype=np.int64)
        for column, first in enumerate(self.first_term):
            if first >= 0:
                after = self.first_term[self.first_term > first]
                last = int(after.min()) if len(after) else self.first_hinge_term
                out[first : last if self.is_category[column] else first + 1] = column
            out[self.state_terms(column)] = column
            out[self.hinge_terms(column)] = column
        return out

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Every two terms that are functions of one number: a column's line and its hinges."""
        out: list[tuple[int, int]] = []
        for column in self.bent:
            own = [int(self.first_term[column]), *self.hinge_terms(column)]
            out += combinations(own, 2)
        return np.array(out, dtype=np.int64).reshape(-1, 2)

    def with_hinges(self, places: Mapping[int, Sequence[float]]) -> Terms:
        """The same terms and, last, hinges of some columns; there are none yet."""
        own = [sorted(places.get(column, ())) for column in range(len(self.first_term))]
        at = np.array([place for found in own for place in found], dtype=np.float64)
        return replace(
            self,
            n_terms=self.n_terms + len(at),
            first_hinge=np.cumsum([0, *map(len, own)]),
            hinge_at=at,
        )

    def without_knots(self) -> Terms:
        """The same terms of columns that are not transformed."""
        none = np.zeros(0)
        return replace(self, first_knot=np.zeros_like(self.first_knot), knot_x=none, knot_z=none)

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


class Hinge(NamedTuple):
    """A bend of a numeric column at a value of its term; about its mean and spread."""

    column: int
    at: float
    center: float
    scale: float


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

    def fill_complements(self, moments: Floats, total: Floats) -> None:
        """The same in place: ``moments`` has room for the complements, after the others."""
        if not self.n_complements:
            return
        flat = moments.reshape(-1, self.n_columns)
        _kernels.fill_complements(flat, self.n_dense, self.members, self.first, total.ravel())

    def _complements(self, columns: Floats, total: Floats) -> Floats:
        others = columns[..., self.n_dense :] @ self._is_member
        return np.asarray(total[..., None] - others)

    @cached_property
    def _is_member(self) -> Floats:
        """1 where a sparse column (row) is one of the others of a complement (column), else 0."""
        out = np.zeros((self.n_sparse, self.n_complements))
        out[self.members, np.repeat(np.arange(self.n_complements), np.diff(self.first))] = 1.0
        return out

    def reduce_coef(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Coefficients of the kept columns that predict what those of all stored columns do."""
        if not self.n_complements:
            return coef, intercept
        kept = self.n_dense + self.n_sparse
        reduced, complements = coef[:, :kept].copy(), coef[:, kept:]
        reduced[:, self.n_dense :] -= complements @ self._is_member.T
        return reduced, intercept + complements.sum(axis=1)


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


@dataclass(frozen=True)
class NumberTerm:
    """How the term of a numeric column, or of one of its states, is computed from its values.

    A dense term is standardized by ``center`` and ``scale``; a scale of 0 says that it is constant.
    The state is -1 for the number itself, 0 for "is missing", k for its k-th special value.
    """

    term: int
    column: int
    state: int
    knots: Knots | None
    fill: float
    center: float
    scale: float
    is_indicator: bool = False

    def plain(self, values: Floats) -> Floats:
        """The term of every row, from the column's values."""
        if self.state >= 0:
            return np.asarray(states_of(values) == self.state, dtype=np.float64)
        missing = np.isnan(values)
        values = values if self.knots is None else self.knots(values)
        return np.where(missing, self.fill, values) if missing.any() else values

    def standardized(self, values: Floats) -> Floats:
        """The same as a dense column."""
        if not self.scale:
            return np.zeros(len(values))
        return (self.plain(values) - self.center) / self.scale

    def entries(self, values: Floats, index: int) -> Entries:
        """The same as entries of a sparse column."""
        values = self.plain(values)
        rows = np.flatnonzero(values != 0.0)  # several times faster of truth values
        return rows, np.full(len(rows), index), None if self.is_indicator else values[rows]


@dataclass(frozen=True)
class CategoryTerms:
    """The terms of a categorical column; "missing" comes last where it has one."""

    first_term: int
    column: int
    n_categories: int
    n_terms: int
    complement: int

    @property
    def stored(self) -> list[int]:
        """The terms that are stored, in order."""
        return [self.first_term + k for k in range(self.n_terms) if k != self.complement]

    def entries(self, codes: NDArray[np.int32], start: int) -> Entries:
        """Entries of the stored terms; ``codes`` are -1 where a value is missing."""
        codes = np.where(codes >= 0, codes, self.n_categories)
        rows = np.flatnonzero(codes != self.complement)
        return rows, codes[rows] - (codes[rows] > self.complement) + start, None


@dataclass(frozen=True)
class Design:
    """The terms, how they are stored, and how each is computed from its column."""

    layout: Layout
    terms: Terms
    dense: tuple[NumberTerm, ...] = ()
    sparse: tuple[NumberTerm | CategoryTerms, ...] = ()
    number_of_sparse: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))

    def with_hinges(self, hinges: Sequence[Hinge]) -> Design:
        """The same design and, as its last dense columns, hinges in this order."""
        places: dict[int, list[float]] = {}
        for hinge in hinges:
            places.setdefault(hinge.column, []).append(hinge.at)
        terms = self.terms.with_hinges(places)
        own = [
            terms.hinge_terms(hinge.column)[terms.hinges(hinge.column).tolist().index(hinge.at)]
            for hinge in hinges
        ]
        layout, n_dense = self.layout, self.layout.n_dense
        wider = replace(
            layout,
            n_dense=n_dense + len(own),
            term=np.concatenate([layout.term[:n_dense], own, layout.term[n_dense:]]).astype(int),
            center=np.concatenate([layout.center, [hinge.center for hinge in hinges]]),
            scale=np.concatenate([layout.scale, [hinge.scale for hinge in hinges]]),
        )
        return replace(self, layout=wider, terms=terms)

    def numeric_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numeric input columns of the models, and the stored column that holds each."""
        terms, layout = self.terms, self.layout
        kept = layout.n_dense + layout.n_sparse
        stored_of = np.full(terms.n_terms, -1)
        stored_of[layout.term[:kept]] = np.arange(kept)
        columns = np.flatnonzero(~terms.is_category & (terms.first_term >= 0))
        stored = stored_of[terms.first_term[columns]]
        return columns[stored >= 0], stored[stored >= 0]


class DesignPlanner:
    """Takes what is known of every column, in column order, and lays out the design."""

    def __init__(self, n_rows: int, n_columns: int, has_short_fills: bool = False) -> None:
        self._n_rows = n_rows
        self._has_short_fills = has_short_fills
        self._first_term = np.full(n_columns, -1)
        self._is_category = np.zeros(n_columns, dtype=np.bool_)
        self._missing_term = np.full(n_columns, -1)
        self._fill = np.zeros(n_columns)
        self._n_terms = 0
        self._knots: list[Knots | None] = [None] * n_columns
        self._special_term: list[list[int]] = [[] for _ in range(n_columns)]
        self._states: list[tuple[int, NumericSummary]] = []
        self._dense: list[NumberTerm] = []
        self.undecided: list[tuple[NumberTerm, NumberTerm]] = []
        self._sparse: list[NumberTerm | CategoryTerms] = []
        self._frequency: list[int] = []  # of every sparse column
        self._groups: list[tuple[int, int, int]] = []

    @property
    def settled(self) -> list[NumberTerm]:
        """The dense terms so far."""
        return self._dense

    def skip_numeric(self, column: int, found: NumericSummary) -> None:
        """Give the column a term that no model uses, so that terms stay in column order."""
        self._special_term[column] = [-1] * (len(found.states) - 1)
        self._first_term[column] = self._n_terms
        self._n_terms += 1

    def add_numeric(
        self,
        column: int,
        found: NumericSummary,
        transformed: tuple[Knots, NumericSummary] | None = None,
        or_plain: bool = False,
    ) -> None:
        """One term, and one more for every state that occurs.

        The term is transformed if there are knots; with ``or_plain`` that is decided later.
        """
        self._states.append((column, found))
        term = self._n_terms
        self._first_term[column] = term
        self._n_terms += 1
        if transformed is not None and or_plain:
            plain = self._number_term(term, column, found.moments)
            changed = self._number_term(term, column, transformed[1].moments, transformed[0])
            self.undecided.append((plain, changed))
            return
        knots, known = (None, found) if transformed is None else transformed
        self._knots[column] = knots
        own = self._number_term(term, column, known.moments, knots)
        self._fill[column] = own.fill
        n_filled = known.n_missing if own.fill != 0.0 else 0
        is_indicator = known.only_ones and (not n_filled or own.fill == 1.0)
        self._store(own, known.n_nonzero + n_filled, is_indicator)

    def settle(self, gram: Floats, product: Floats) -> None:
        """Decide what was left open: for each column, what says more beside all the others.

        ``gram`` and ``product`` are those of ``choose_columns``, of the settled and then of the
        undecided columns.
        """
        chosen = choose_columns(gram, product, len(self._dense))
        for (plain, changed), is_plain in zip(self.undecided, chosen, strict=True):
            item = plain if is_plain else changed
            self._knots[item.column] = item.knots
            self._fill[item.column] = item.fill
            self._dense.append(item)
        self._dense.sort(key=lambda item: item.term)
        self.undecided = []

    def add_categories(self, column: int, counts: Sequence[int]) -> None:
        """One term per category; "missing", counted last, is one more where it occurs."""
        first, n_categories = self._n_terms, len(counts) - 1
        self._first_term[column] = first
        self._is_category[column] = True
        if counts[-1]:
            self._missing_term[column] = first + n_categories
        else:
            counts = counts[:-1]
        n_terms = len(counts)
        complement = int(np.argmax(counts))
        start = len(self._frequency)
        self._sparse.append(CategoryTerms(first, column, n_categories, n_terms, complement))
        self._frequency += [int(n) for code, n in enumerate(counts) if code != complement]
        self._groups.append((start, start + n_terms - 1, first + complement))
        self._n_terms += n_terms

    def _store(self, item: NumberTerm, n_stored: int, is_indicator: bool) -> None:
        most = _SPARSE_INDICATOR_SHARE if is_indicator else _SPARSE_VALUE_SHARE
        if n_stored <= most * self._n_rows:
            self._sparse.append(replace(item, is_indicator=is_indicator))
            self._frequency.append(n_stored)
        else:
            self._dense.append(item)

    def _number_term(
        self, term: int, column: int, moments: Moments, knots: Knots | None = None
    ) -> NumberTerm:
        mean, spread = moments.mean, moments.spread
        is_constant = spread <= max(_CONSTANT_SHARE * np.hypot(mean, spread), _TINY)
        away = _NEAR_THE_MEAN * spread if self._has_short_fills and not is_constant else 0.0
        fill = shortest_between(mean - away, mean + away) if away > 0 else mean
        return NumberTerm(term, column, -1, knots, fill, mean, 0.0 if is_constant else spread)

    def _add_state(self, column: int, found: NumericSummary, state: int) -> int:
        """The term of a state, -1 if no row is in it."""
        if not found.state_counts[state]:
            return -1
        term = self._n_terms
        self._n_terms += 1
        item = replace(self._number_term(term, column, found.states[state]), state=state)
        self._store(item, found.state_counts[state], is_indicator=True)
        return term

    def build(self) -> Design:
        """Lay out everything that was added."""
        for column, found in self._states:
            added = [self._add_state(column, found, state) for state in range(len(found.states))]
            self._missing_term[column], self._special_term[column] = added[0], added[1:]
        none = np.zeros(0)
        terms = Terms(
            self._first_term,
            self._missing_term,
            self._is_category,
            self._fill,
            self._n_terms,
            np.cumsum([0, *(len(knots.x) if knots else 0 for knots in self._knots)]),
            np.concatenate([none, *(knots.x for knots in self._knots if knots)]),
            np.concatenate([none, *(knots.z for knots in self._knots if knots)]),
            np.zeros(len(self._knots) + 1, dtype=np.int64),
            none,
            np.cumsum([0, *map(len, self._special_term)]),
            np.array([term for own in self._special_term for term in own], dtype=np.int64),
        )
        n_sparse = len(self._frequency)
        by_frequency = np.argsort(-np.array(self._frequency, dtype=np.int64), kind="stable")
        number = np.empty(n_sparse, dtype=np.uint32)
        number[by_frequency] = np.arange(n_sparse)
        sparse_terms: list[int] = []
        for own in self._sparse:
            sparse_terms += own.stored if isinstance(own, CategoryTerms) else [own.term]
        order = [item.term for item in self._dense]
        order += [sparse_terms[k] for k in by_frequency]
        order += [complement for _, _, complement in self._groups]
        spans = [np.arange(first, last) for first, last, _ in self._groups]
        layout = Layout(
            n_dense=len(self._dense),
            n_sparse=n_sparse,
            members=number[np.concatenate([np.zeros(0, dtype=np.int64), *spans])].astype(np.int64),
            first=np.cumsum([0, *map(len, spans)]),
            term=np.array(order, dtype=np.int64),
            center=np.array([item.center for item in self._dense]),
            scale=np.array([item.scale or 1.0 for item in self._dense]),
        )
        return Design(layout, terms, tuple(self._dense), tuple(self._sparse), number)
