"""The numbers of a finished tree as one regression: what every node adds, estimated on rows.

The splits, hinges and transforms are taken as they are. What is estimated are *parameters*: each
multiplies a term, or the 1, in the rows below a node, and counts in one score or in several. The
information of all rows is kept as its root R, a triangle with ``R' R`` the sum of what the rows
tell, for squares of columns with a large mean would lose digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from glassleaf.losses import Loss
from glassleaf.tree.tree import Tree, term_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# A column of which a smaller share is its own follows from the columns before it.
_OWN_SHARE = 1e-9
_MOST_STEPS = 60
# Rows whose terms, or gradients by all parameters, are held at a time.
ROWS_AT_ONCE = 1 << 15
_MOST_HALVINGS = 40
# Newton's method ends where a step would lower the loss by less than this share of it, and has
# failed if a step still would by more than the second one.
_FAR_ENOUGH = 1e-14
_NEARLY = 1e-9
# Loss of a row, in the units of the loss, that is none.
_NO_LOSS = 1e-12


class Parameter(NamedTuple):
    """A number that is estimated: the first of its terms less the others; without any, the 1.

    It counts in the rows below ``node``, in every score by its entry of ``outputs``.
    """

    node: int
    terms: tuple[int, ...]
    outputs: tuple[float, ...]


@dataclass(frozen=True)
class Units:
    """In which units targets and raw predictions are handed to a loss."""

    center: float
    scale: float


def loss_units(loss: Loss, y: Floats, weight: Floats) -> Units:
    """The units of a loss; with a log link, targets as they are: scores have no other scale."""
    return Units(0.0, 1.0) if loss.link == "log" else Units(*loss.target_units(y, weight))


@dataclass(frozen=True)
class LeafRows:
    """The rows of a leaf: some of their terms, and last the 1; ``place`` of a term among these.

    ``observed`` is how many observations each row is, if not as many as it weighs.
    """

    leaf: int
    terms: Floats
    place: dict[int, int]
    y: Floats
    weight: Floats
    group: Ints | None = None
    observed: Floats | None = None

    @property
    def n_observed(self) -> float:
        """How many observations these rows are."""
        return float((self.weight if self.observed is None else self.observed).sum())

    def fewer(self) -> LeafRows:
        """Rows of the same weight that say the same of all sums of squared errors."""
        root = np.sqrt(self.weight)[:, None]
        found = _triangle(np.column_stack([self.terms, self.y]) * root)
        each = float(self.weight.sum()) / len(found)
        terms, y = found[:, :-1] / np.sqrt(each), found[:, -1] / np.sqrt(each)
        return LeafRows(self.leaf, terms, self.place, y, np.full(len(y), each))

    def columns(self, parameters: Sequence[Parameter]) -> Floats:
        """What each parameter is multiplied with."""
        out = np.empty((len(self.terms), len(parameters)))
        for column, parameter in zip(out.T, parameters, strict=True):
            first, *others = [self.place[term] for term in parameter.terms] or [-1]
            column[:] = self.terms[:, first]
            for other in others:
                column -= self.terms[:, other]
        return out


def rows_of_leaves(
    tree: Tree,
    matrix: Floats,
    y: Floats,
    weight: Floats,
    used: Sequence[int],
    group: Ints | None = None,
    below: set[int] | None = None,
    observed: Floats | None = None,
) -> list[LeafRows]:
    """The rows of a raw matrix by leaf, with the terms that are used; or those below some nodes."""
    nodes = tree.apply(matrix)
    place = {term: k for k, term in enumerate(used)}
    out = []
    for leaf in np.unique(nodes).tolist():
        if below is not None and not below & nodes_above(tree, leaf):
            continue
        here = np.flatnonzero(nodes == leaf)
        terms = np.ones((len(here), len(used) + 1))
        for first in range(0, len(here), ROWS_AT_ONCE):
            some = slice(first, first + ROWS_AT_ONCE)
            terms[some, :-1] = leaf_terms(tree, matrix[here[some]], leaf)[:, list(used)]
        own = None if group is None else group[here]
        seen = None if observed is None else observed[here]
        out.append(LeafRows(leaf, terms, place, y[here], weight[here], own, seen))
    return out


def leaf_terms(tree: Tree, matrix: Floats, leaf: int) -> Floats:
    """The terms of rows of a leaf, numbers within its ranges, as its model takes them."""
    low, high = tree.clamp_low[leaf], tree.clamp_high[leaf]
    held = np.clip(tree.terms.transformed(matrix), low, high)
    held = np.where(tree.terms.is_category, matrix, held)
    fill = np.clip(tree.terms.fill, low, high)
    return term_matrix(held, replace(tree.terms.without_knots(), fill=fill))


def nodes_above(tree: Tree, leaf: int) -> set[int]:
    """A leaf and all nodes above it."""
    parent, found, node = tree.parent, set[int](), leaf
    while node >= 0:
        found.add(node)
        node = int(parent[node])
    return found


class _Block(NamedTuple):
    """Rows of a leaf in the units of the loss: their columns, and which parameters these are of."""

    columns: Floats
    place: Ints
    outputs: Floats
    y: Floats
    weight: Floats
    group: Ints | None


@dataclass(frozen=True)
class Pull:
    """What a parameter is drawn to, as if rows of this information had said it."""

    towards: Floats
    information: Floats


class Estimated(NamedTuple):
    """Parameters that lose least; NaN where one follows from others, which ``kept`` says.

    ``root`` is that of the information of those that are kept, ``loss`` that of all rows.
    """

    value: Floats
    kept: Bools
    root: Floats
    loss: float
    is_converged: bool


class Regression:
    """Parameters and the rows that tell them."""

    def __init__(
        self,
        tree: Tree,
        parameters: Sequence[Parameter],
        rows: Sequence[LeafRows],
        loss: Loss,
        units: Units,
    ) -> None:
        self.n_parameters = len(parameters)
        self.loss = loss
        self.units = units
        self.blocks = [self._block(tree, parameters, own) for own in rows]
        self.n_observed = sum(own.n_observed for own in rows)

    def _block(self, tree: Tree, parameters: Sequence[Parameter], rows: LeafRows) -> _Block:
        above = nodes_above(tree, rows.leaf)
        place = [k for k, parameter in enumerate(parameters) if parameter.node in above]
        own = [parameters[k] for k in place]
        return _Block(
            columns=rows.columns(own) / self.units.scale,
            place=np.array(place, dtype=np.int64),
            outputs=np.array([parameter.outputs for parameter in own]).reshape(len(own), -1),
            y=(rows.y - self.units.center) / self.units.scale,
            weight=rows.weight,
            group=rows.group,
        )

    @property
    def n_rows(self) -> int:
        return sum(len(block.y) for block in self.blocks)

    @property
    def n_groups(self) -> int:
        """Number of groups; none if rows have no groups."""
        groups = [block.group for block in self.blocks if block.group is not None]
        return len(np.unique(np.concatenate(groups))) if groups else 0

    @property
    def weight(self) -> float:
        return float(sum(block.weight.sum() for block in self.blocks))

    def estimated(self, start: Floats, pull: Pull | None = None) -> Estimated:
        """The best parameters, by Newton's method from ``start``."""
        root = self.root(start, pull)
        kept = _independent(root)
        value = np.where(kept, start, 0.0)
        loss, gradient = self.at(value, pull)
        share = np.inf
        for _ in range(_MOST_STEPS):
            root = _triangle(self.root(value, pull)[:, kept])
            if not _is_regular(root):
                break
            step = np.zeros(self.n_parameters)
            step[kept] = _solved(root, gradient[kept])
            share = float(gradient @ step) / (loss + _NO_LOSS * self.weight)
            if share <= _FAR_ENOUGH:
                value = value - step
                break
            value, loss, gradient, is_better = self._stepped(value, step, loss, gradient, pull)
            if not is_better:
                break
        root = _triangle(self.root(value, pull)[:, kept])
        return Estimated(np.where(kept, value, np.nan), kept, root, loss, share <= _NEARLY)

    def _stepped(
        self, value: Floats, step: Floats, loss: float, gradient: Floats, pull: Pull | None
    ) -> tuple[Floats, float, Floats, bool]:
        """The parameters after as much of a step as lowers the loss, and whether any does."""
        for halving in range(_MOST_HALVINGS):
            tried = value - step / 2**halving
            lower, slope = self.at(tried, pull)
            if lower <= loss:
                return tried, lower, slope, lower < loss
        return value, loss, gradient, False

    def at(self, value: Floats, pull: Pull | None = None) -> tuple[float, Floats]:
        """Loss of all rows, and its gradient by the parameters."""
        total, gradient = 0.0, np.zeros(self.n_parameters)
        for block in self.blocks:
            lost, slope, _ = self.loss.derivatives(block.y, self._raw(block, value), False)
            total += float(block.weight @ lost)
            np.add.at(gradient, block.place, _scores(block, slope).sum(axis=0))
        if pull is not None:
            away = value - pull.towards
            total += float(pull.information @ away**2) / 2
            gradient += pull.information * away
        return total, gradient

    def root(self, value: Floats, pull: Pull | None = None) -> Floats:
        """The root of the information of all rows."""
        return self._root(value, self.loss.information, pull)

    def _root(
        self, value: Floats, told: Callable[[Floats, Floats], Floats], pull: Pull | None = None
    ) -> Floats:
        n_outputs, found = self.loss.n_outputs, []
        for block in self.blocks:
            own = told(block.y, self._raw(block, value))
            roots = _roots(own, n_outputs) * np.sqrt(block.weight)[:, None, None]
            parts = [block.columns * (roots[:, :, k] @ block.outputs.T) for k in range(n_outputs)]
            part = _triangle(np.concatenate(parts))
            wide = np.zeros((len(part), self.n_parameters))
            wide[:, block.place] = part
            found.append(wide)
        if pull is not None:
            found.append(np.diag(np.sqrt(pull.information)))
        return _triangle(np.concatenate(found))

    def sandwich(self, value: Floats, kept: Bools) -> Floats:
        """Covariance of the kept parameters, by the gradients of all rows, or of all groups.

        Gradients are divided by the root before they are multiplied: products of columns with a
        large mean would lose digits.
        """
        root = _triangle(self._root(value, self.loss.curvature)[:, kept])
        if not _is_regular(root):
            return np.full((root.shape[1], root.shape[1]), np.nan)
        middle = np.zeros((len(root), len(root)))
        for gradients in self._gradients(value):
            half = solve_triangular(root, gradients[:, kept].T, trans="T", check_finite=False)
            middle += half @ half.T
        side = solve_triangular(root, np.eye(len(root)), check_finite=False)
        return np.asarray(side @ middle @ side.T)

    def _gradients(self, value: Floats) -> Iterator[Floats]:
        """The gradient of every row, some rows at a time, or of every group."""
        last = max((int(b.group.max()) for b in self.blocks if b.group is not None), default=-1)
        sums = np.zeros((last + 1, self.n_parameters))
        for block in self.blocks:
            _, slope, _ = self.loss.derivatives(block.y, self._raw(block, value), False)
            scores = _scores(block, slope)
            if block.group is not None:
                np.add.at(sums, (block.group[:, None], block.place), scores)
                continue
            for first in range(0, len(scores), ROWS_AT_ONCE):
                some = scores[first : first + ROWS_AT_ONCE]
                wide = np.zeros((len(some), self.n_parameters))
                wide[:, block.place] = some
                yield wide
        yield sums

    def dispersion(self, value: Floats, n_free: int) -> float:
        """How far targets vary around the model, by Pearson's statistic; 1 if the loss says it."""
        if not self.loss.has_dispersion:
            return 1.0
        total = 0.0
        for block in self.blocks:
            raw = self._raw(block, value)
            _, slope, _ = self.loss.derivatives(block.y, raw, False)
            total += float(block.weight @ (slope**2 / self.loss.information(block.y, raw)))
        freedom = self.n_observed - n_free
        return total / freedom if freedom > 0 else np.nan

    def column_sizes(self) -> Floats:
        """Root of the mean square of what every parameter is multiplied with below its node."""
        square, weight = np.zeros((2, self.n_parameters))
        for block in self.blocks:
            square[block.place] += block.weight @ block.columns**2
            weight[block.place] += block.weight.sum()
        return np.asarray(np.sqrt(square / np.maximum(weight, np.finfo(np.float64).tiny)))

    def least_information(self, value: Floats) -> float:
        """The least that a row tells, as a share of the mean."""
        own = np.cumsum(1 + np.arange(self.loss.n_outputs)) - 1  # of a score with itself
        found = (self.loss.information(b.y, self._raw(b, value)) for b in self.blocks)
        told = np.concatenate([part.reshape(len(part), -1)[:, own].sum(axis=1) for part in found])
        return float(told.min() / told.mean())

    def scores(self, value: Floats) -> list[Floats]:
        """Raw predictions of the rows of every leaf, shape (rows, outputs)."""
        return [
            self._raw(block, value).reshape(len(block.y), -1) * self.units.scale + self.units.center
            for block in self.blocks
        ]

    def _raw(self, block: _Block, value: Floats) -> Floats:
        raw = (block.columns * value[block.place]) @ block.outputs
        raw -= self.units.center / self.units.scale
        return raw[:, 0] if self.loss.n_outputs == 1 else np.ascontiguousarray(raw)


def _scores(block: _Block, slope: Floats) -> Floats:
    """The gradient of every row by the parameters of its block."""
    weighted = block.weight[:, None] * slope.reshape(len(slope), -1)
    return np.asarray(block.columns * (weighted @ block.outputs.T))


def _roots(packed: Floats, n_outputs: int) -> Floats:
    """A root of the information of every row: (rows, outputs, outputs)."""
    if n_outputs == 1:
        return np.sqrt(packed).reshape(-1, 1, 1)
    one, other = np.tril_indices(n_outputs)
    full = np.empty((len(packed), n_outputs, n_outputs))
    full[:, one, other] = full[:, other, one] = packed
    size, direction = np.linalg.eigh(full)
    return np.asarray(direction * np.sqrt(np.maximum(size, 0.0))[:, None, :])


def _triangle(columns: Floats) -> Floats:
    """The triangle R of columns with ``R' R`` the products of these."""
    (found,) = qr(columns, mode="r", check_finite=False)
    return np.asarray(found[: columns.shape[1]])


def _independent(root: Floats) -> Bools:
    """Which columns do not follow from those before them.

    >>> _independent(np.array([[1.0, 1.0, 2.0], [0.0, 1.0, 1.0]]))
    array([ True,  True, False])
    """
    kept = np.zeros(root.shape[1], dtype=np.bool_)
    basis, rank = np.zeros_like(root, order="F"), 0
    for k, column in enumerate(root.T):
        own, before = column.copy(), basis[:, :rank]
        for _ in range(2):
            own -= before @ (before.T @ own)
        size, whole = np.linalg.norm(own), np.linalg.norm(column)
        if size > _OWN_SHARE * whole:
            kept[k] = True
            basis[:, rank] = own / size
            rank += 1
    return kept


def _solved(root: Floats, right: Floats) -> Floats:
    """The solution of ``R' R x = right``."""
    half = solve_triangular(root, right, trans="T", check_finite=False)
    return np.asarray(solve_triangular(root, half, check_finite=False))


def _is_regular(root: Floats) -> bool:
    return len(root) == root.shape[1] and bool(np.diagonal(root).all())


def inverse(root: Floats) -> Floats:
    """The inverse of ``R' R``; NaN if there is none."""
    if not _is_regular(root):
        return np.full((root.shape[1], root.shape[1]), np.nan)
    half = solve_triangular(root, np.eye(len(root)), check_finite=False)
    return np.asarray(half @ half.T)
