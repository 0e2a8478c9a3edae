"""The finished tree as plain data, on the raw scale of the input; routing and raw prediction.

Everything that comes after fitting reads these arrays and nothing else. Node 0 is the root; for
node i,

* ``left[i], right[i]`` are its children, -1 for a leaf, and ``feature[i]`` the column it splits;
* a number goes left if ``x <= threshold[i]``. A category goes left if its entry of
  ``left_categories(i)`` is true, or by ``unknown_left[i]`` if training never saw it. A missing
  value goes by ``missing_left[i]``, a special value of a number by its entry of
  ``left_special(i)``; the threshold is ``ANY_NUMBER`` if only these go right;
* the raw prediction of its model is ``intercept[i] + sum(coef[i] * terms)``. For a numeric table
  the first terms are the columns in their order, so that this is ``intercept[i] + coef[i] @ x``;
  see ``Terms`` for transforms, categories and missing values. With K outputs (classes),
  ``coef[i]`` has the shape (K, terms) and ``intercept[i]`` the length K;
* the term of numeric column j is clamped to ``clamp_low[i, j] .. clamp_high[i, j]``, infinite
  where it is not: what training saw in the node, so that the model does not extrapolate. Its
  hinges are functions of the clamped term;
* a raw prediction beyond ``score_low[i] .. score_high[i]`` (one number per output, infinite where
  there is no such limit) counts as that end;
* what is known of the score beforehand, ``offsets``, is added after that.

Inner nodes keep the model that chose their split.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from glassleaf import _kernels
from glassleaf.errors import GlassleafError
from glassleaf.tables.design import Terms
from glassleaf.tables.special import states_of
from glassleaf.tables.table import Column
from glassleaf.tree.offset import Offset

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

LEAF = -1


@dataclass(frozen=True)
class CustomLeaves:
    """The user's own models of the nodes, and the units of the design that they see."""

    weak_model: Any
    models: tuple[Any, ...]
    center: Floats
    scale: Floats


@dataclass(frozen=True)
class Candidates:
    """At every split, the best candidates of the best features, by the criterion.

    The feature of the split itself comes first. Candidate k stood at ``node[k]`` and is described
    as splits are in :class:`Tree`. Its feature's gains are the points ``first_point[k]`` to
    ``first_point[k + 1]`` (exclusive) of ``position`` and ``curve``: thresholds ascending, or for
    categories the ranks of the candidates.
    """

    node: Ints
    feature: Ints
    gain: Floats
    threshold: Floats
    missing_left: Bools
    has_missing: Bools
    first_category: NDArray[np.int64]
    categories: Bools
    first_point: NDArray[np.int64]
    position: Floats
    curve: Floats

    def taken(self, kept: NDArray[Any], number: Ints) -> Candidates:
        """Some of the candidates, whose nodes have other numbers now."""
        points = [np.arange(self.first_point[k], self.first_point[k + 1]) for k in kept]
        place = np.concatenate([np.zeros(0, dtype=np.int64), *points])
        return Candidates(
            node=number[self.node[kept]],
            feature=self.feature[kept],
            gain=self.gain[kept],
            threshold=self.threshold[kept],
            missing_left=self.missing_left[kept],
            has_missing=self.has_missing[kept],
            first_category=self.first_category[kept],
            categories=self.categories,
            first_point=np.cumsum([0, *map(len, points)]),
            position=self.position[place],
            curve=self.curve[place],
        )


@dataclass(frozen=True)
class TrainingRecord:
    """What training saw in the nodes. Explanations read it; predictions do not.

    ``mean[i], spread[i]`` are those of the terms in node i (none for models of your own),
    ``covariance[i, p]`` that of the two terms ``Terms.pairs[p]`` there. ``target[i]`` is the mean
    of y (one number) or the share of every class. ``low[j], high[j]`` is the range of numeric
    column j in all rows, NaN where all values are missing. ``p_value[i]`` is that of the split of
    node i or, if it is a leaf, of the best split on ``refused[i]`` (-1: none was refused); NaN
    where nothing was tested.

    Of trees with one formula for all rows: ``alone`` is the slope that each column's line would
    have in each output if no other column were in that formula, NaN for categories and constants.
    Column j is left out of formulas for ``twin[j]``, which says nearly the same; -1: it is not.
    ``twin_correlation`` is that of the two.
    """

    mean: Floats
    spread: Floats
    target: Floats
    low: Floats
    high: Floats
    candidates: Candidates
    covariance: Floats
    p_value: Floats = field(default_factory=lambda: np.zeros(0))
    refused: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    alone: Floats | None = None
    twin: NDArray[np.int64] | None = None
    twin_correlation: Floats | None = None

    def taken(self, kept: NDArray[Any], closed: Bools, number: Ints) -> TrainingRecord:
        """The records of some nodes; ``number`` is the new number of every node that stays."""
        is_split = np.isin(self.candidates.node, kept[~closed])
        return replace(
            self,
            mean=self.mean[kept],
            spread=self.spread[kept],
            target=self.target[kept],
            covariance=self.covariance[kept],
            p_value=np.where(closed & (self.refused[kept] < 0), np.nan, self.p_value[kept]),
            refused=self.refused[kept],
            candidates=self.candidates.taken(np.flatnonzero(is_split), number),
        )

    def __post_init__(self) -> None:
        if not self.p_value.size:  # a file from before these were kept
            object.__setattr__(self, "p_value", np.full(len(self.target), np.nan))
            object.__setattr__(self, "refused", np.full(len(self.target), -1, dtype=np.int32))


@dataclass(frozen=True)
class Tree:
    """A model tree; see the module's docstring."""

    columns: tuple[Column, ...]
    terms: Terms
    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    unknown_left: Bools
    first_category: NDArray[np.int64]
    categories: Bools
    coef: Floats
    intercept: Floats
    clamp_low: Floats
    clamp_high: Floats
    score_low: Floats
    score_high: Floats
    n_samples: NDArray[np.int64]
    weight: Floats
    gain: Floats
    loss: Floats
    training_record: TrainingRecord | None = None
    custom: CustomLeaves | None = None
    offsets: tuple[Offset, ...] = ()
    given: NDArray[np.bool_] | None = None  # nodes whose splits the user gave

    @property
    def record(self) -> TrainingRecord:
        """The training record, which explanations need and an older model file lacks."""
        if self.training_record is None:
            raise GlassleafError(
                "This model comes from a file that holds no record of its training, which"
                " explanations need. Fit the model and save it again."
            )
        return self.training_record

    @property
    def node_count(self) -> int:
        return len(self.left)

    @property
    def n_leaves(self) -> int:
        return int((self.left == LEAF).sum())

    @property
    def parent(self) -> Ints:
        """The parent of every node, -1 for the root."""
        parent = np.full(self.node_count, -1, dtype=np.int32)
        for node in np.flatnonzero(self.left != LEAF):
            parent[self.left[node]] = parent[self.right[node]] = node
        return parent

    @property
    def depth(self) -> Ints:
        """Number of splits above every node."""
        depth = np.zeros(self.node_count, dtype=np.int32)
        for node in np.flatnonzero(self.left != LEAF):  # parents come before their children
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @property
    def max_depth(self) -> int:
        return int(self.depth.max())

    def left_categories(self, node: int) -> Bools | None:
        """For a split on categories, which of the column's categories go left; else None."""
        is_number = self.columns[self.feature[node]].categories is None
        return None if is_number or self.left[node] == LEAF else self._left_codes(node)

    def left_special(self, node: int) -> Bools:
        """For a split on numbers, which of the column's special values go left."""
        is_number = self.columns[self.feature[node]].categories is None
        return self._left_codes(node) if is_number else np.zeros(0, dtype=np.bool_)

    def _left_codes(self, node: int) -> Bools:
        first, n_codes = int(self.first_category[node]), len(self.columns[self.feature[node]].codes)
        return self.categories[first : first + n_codes] if first >= 0 else self.categories[:0]

    @property
    def term_names(self) -> list[str]:
        """What each entry of ``coef`` belongs to.

        "age", "region = north", "age is missing", "age = no record", "age above 30".
        """
        names = [""] * self.terms.n_terms
        for j, column in enumerate(self.columns):
            first, missing = self.terms.first_term[j], self.terms.missing_term[j]
            if missing >= 0:
                names[missing] = f"{column.name} is missing"
            for term, (_, word) in zip(self.terms.special_terms(j), column.special, strict=True):
                if term >= 0:
                    names[term] = f"{column.name} = {word}"
            if first < 0:
                continue
            for term, at in zip(self.terms.hinge_terms(j), self.terms.hinges(j), strict=True):
                names[term] = f"{column.name} above {at:.12g}"
            if column.categories is None:
                names[first] = column.name
            else:
                for code, category in enumerate(column.categories):
                    names[first + code] = f"{column.name} = {category}"
        return names

    def apply(self, X: Floats) -> NDArray[np.int64]:
        """Leaf of every row of a raw matrix (see ``table.raw_matrix``)."""
        leaves = np.empty(len(X), dtype=np.int64)
        _kernels.find_leaves(
            X, X.view(np.uint64), self.feature, self.threshold, self.left, self.right,
            self.missing_left, self.unknown_left, self.first_category, self.categories, leaves,
        )  # fmt: skip
        return leaves

    def raw(self, X: Floats, nodes: NDArray[np.int64]) -> Floats:
        """Raw prediction of every row under the model of its node, shape (rows, outputs)."""
        out = self._of_models(X, nodes)
        return out + self.known(X)[:, None] if self.offsets else out

    def known(self, X: Floats) -> Floats:
        """What is known of the scores of the rows of a raw matrix beforehand."""
        added = (offset.added(X, self.columns) for offset in self.offsets)
        return sum(added, np.zeros(len(X)))

    def _of_models(self, X: Floats, nodes: NDArray[np.int64]) -> Floats:
        if self.custom is not None:
            return self._custom_raw(X, nodes)
        n_outputs = 1 if self.coef.ndim == 2 else self.coef.shape[1]
        out = np.empty((len(X), n_outputs))
        terms = self.terms
        _kernels.sum_terms(
            terms.transformed(X), X.view(np.uint64), nodes,
            np.ascontiguousarray(self.coef.reshape(self.node_count, n_outputs, -1)),
            np.ascontiguousarray(self.intercept.reshape(self.node_count, n_outputs)),
            self.clamp_low, self.clamp_high,
            terms.first_term, terms.is_category, terms.missing_term,
            terms.first_special, terms.special_term, terms.fill,
            terms.first_hinge, terms.hinge_at,
            np.ascontiguousarray(self.score_low.reshape(self.node_count, n_outputs)),
            np.ascontiguousarray(self.score_high.reshape(self.node_count, n_outputs)), out,
        )  # fmt: skip
        return out

    def _custom_raw(self, X: Floats, nodes: NDArray[np.int64]) -> Floats:
        assert self.custom is not None
        design = (term_matrix(X, self.terms) - self.custom.center) / self.custom.scale
        out: Floats | None = None
        for node in np.unique(nodes):
            here = nodes == node
            raw = np.asarray(self.custom.weak_model.raw(self.custom.models[node], design[here]))
            raw = raw.reshape(int(here.sum()), -1)
            if out is None:
                out = np.empty((len(X), raw.shape[1]))
            out[here] = raw
        return np.empty((0, 1)) if out is None else out

    def decision_path(self, leaves: NDArray[np.int64]) -> Any:
        """Indicator matrix (rows, nodes) of the nodes on every row's way to its leaf."""
        parent = self.parent
        paths = []
        for node in range(self.node_count):
            path = [node]
            while parent[path[-1]] >= 0:
                path.append(int(parent[path[-1]]))
            paths.append(path[::-1])
        length = np.array([len(path) for path in paths])[leaves]
        indptr = np.concatenate([[0], np.cumsum(length)])
        indices = np.array([node for leaf in leaves for node in paths[leaf]], dtype=np.int64)
        data = np.ones(indptr[-1], dtype=np.int64)
        return sparse.csr_matrix(
            (data, indices, indptr),
            shape=(len(leaves), self.node_count),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]


def _same(mine: Any, other: Any) -> bool:
    if is_dataclass(mine):
        return type(mine) is type(other) and all(
            _same(getattr(mine, f.name), getattr(other, f.name)) for f in fields(mine)
        )
    if isinstance(mine, tuple) and isinstance(other, tuple):
        return len(mine) == len(other) and all(map(_same, mine, other))
    if isinstance(mine, np.ndarray):
        return np.array_equal(mine, other, equal_nan=mine.dtype.kind == "f")
    return bool(mine == other)


def term_matrix(X: Floats, terms: Terms) -> Floats:
    """The terms of every row of a raw matrix as a plain array, for models that want one."""
    X = terms.transformed(X)
    out = np.zeros((len(X), terms.n_terms))
    for column in range(X.shape[1]):
        x, first = X[:, column], int(terms.first_term[column])
        missing = np.isnan(x)
        states = states_of(x)
        for state, term in enumerate([terms.missing_term[column], *terms.special_terms(column)]):
            if term >= 0:
                out[states == state, term] = 1.0
        if first < 0:
            continue
        if terms.is_category[column]:
            known = np.flatnonzero(~missing & (x >= 0))
            out[known, first + x[known].astype(np.intp)] = 1.0
        else:
            out[:, first] = np.where(missing, terms.fill[column], x)
            above = out[:, [first]] - terms.hinges(column)
            out[:, terms.hinge_terms(column)] = np.maximum(above, 0.0)
    return out
