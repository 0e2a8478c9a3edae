"""Exact interventional Shapley values of a model tree against background rows.

The value of a coalition S of features is the mean raw score, over the background rows z, of the
row that takes the features in S from x and the others from z. For one leaf and one z, a feature on
the leaf's path meets its condition in both rows, in x only (set A), in z only (B), or in neither
(then no mixture of the two reaches the leaf). The leaf is reached by the coalitions that contain A
and avoid B, and its score is a sum over features. The Shapley values of such a game have a closed
form in the sizes a and b of A and B (``_kernels.shapley_tables``). It is linear in the effects of
x and of z, so all z that meet the same conditions are added up beforehand: the cost is rows plus
background rows, not their product.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf._kernels import shapley as _kernels
from glassleaf.errors import require
from glassleaf.explanations.effects import Additive, additive, limit_parts, without_limits
from glassleaf.explanations.rules import Condition, all_rules
from glassleaf.tree.fitted import FittedModel, linear_model
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]
Patterns = NDArray[np.int64]

# Rows handled at a time, so that their patterns and values stay small.
_SLICE_ROWS = 4_096
# Features on a path up to which the tables of all patterns are made at once.
_TABULATED_PATH = 7
# One bit of a pattern per feature on a path.
_MAX_PATH = 62


@dataclass(frozen=True)
class ShapValues:
    """Shapley values of every row.

    ``values`` has the shape (rows, features), or (rows, features, classes) with several raw
    scores; ``base_values`` and ``limited`` the shape (rows,) or (rows, classes). ``base_values``
    plus the sum over the features plus ``limited`` is the raw score: ``limited`` is what the limits
    of the leaves' scores take away or add, 0 where they do not act. ``data`` are the rows as they
    were given.
    """

    values: Floats
    base_values: Floats
    limited: Floats
    data: NDArray[Any]
    feature_names: list[str]
    output_names: list[str]

    def importance(self) -> dict[str, float]:
        """Mean absolute value of every feature (over the classes too), the largest first."""
        size = np.abs(self.values)
        mean = size.mean(axis=0) if size.ndim == 2 else size.mean(axis=(0, 2))
        order = np.argsort(-mean, kind="stable")
        return {self.feature_names[j]: float(mean[j]) for j in order}

    def to_shap(self) -> Any:
        """The same as a ``shap.Explanation``, for ``shap.plots``: of the score before limits."""
        shap = require("shap", extra="shap", purpose="A shap.Explanation")
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names if self.values.ndim == 3 else None,
        )


def shap_values(estimator: Any, X: Any, background: Any) -> ShapValues:
    """Exact interventional Shapley values of the raw score.

    Parameters
    ----------
    estimator : fitted model tree
    X : table of shape (n_samples, n_features)
        Rows to explain.
    background : table of shape (n_background, n_features)
        Rows that stand for "not knowing" a feature, for example the training rows. Millions are
        fine: the cost is rows plus background rows.

    Returns
    -------
    ShapValues

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor, shap_values
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = ModelTreeRegressor(max_depth=1).fit(X, np.where(X[:, 0] > 0, X[:, 1], 0.0))
    >>> found = shap_values(model, X[:5], X)
    >>> bool(np.allclose(found.base_values + found.values.sum(axis=1), model.predict(X[:5])))
    True
    """
    model = linear_model(estimator)
    matrix = model.matrix(X)
    values, base = shapley(model, matrix, model.matrix(background))
    base_values = np.tile(base, (len(matrix), 1))
    limited = limit_parts(model.tree, matrix, model.tree.apply(matrix))
    if len(base) == 1:
        values, base_values, limited = values[:, :, 0], base_values[:, 0], limited[:, 0]
    names = list(model.outputs) if len(base) > 1 else ["score"]
    data = display_data(model, matrix)
    return ShapValues(values, base_values, limited, data, model.names, names)


def display_data(model: FittedModel, matrix: Floats) -> NDArray[Any]:
    """A raw matrix as people know it: labels instead of codes, and dates."""
    columns = enumerate(model.tree.columns)
    told = [j for j, column in columns if column.codes or column.date_unit]
    if not told:
        return matrix
    out = matrix.astype(object)
    for j in told:
        out[:, j] = [model.value(j, x) for x in matrix[:, j]]
    return out


def shapley(model: FittedModel, matrix: Floats, background: Floats) -> tuple[Floats, Floats]:
    """Values of shape (rows, columns, outputs), and the base of every output."""
    game = Game(model, background)
    return game.all_values(matrix), game.base


class Game:
    """A tree, and background rows added up by the conditions they meet."""

    def __init__(self, model: FittedModel, background: Floats) -> None:
        if not len(background):
            raise ValueError("background has no rows; at least one is needed.")
        self.model = replace(model, tree=without_limits(model.tree))
        rules = all_rules(model.tree)
        parts = additive(model.tree)
        self.n_outputs = parts.center.shape[1]
        self.leaves = [_Leaf(parts, leaf, rules[leaf]) for leaf in model.leaves]
        self.base = np.zeros(self.n_outputs)
        self.known = {
            offset: float(offset.added(background, model.tree.columns).mean())
            for offset in model.tree.offsets
        }
        for rows in _pieces(len(background)):
            self._add(background[rows])
        self.base /= len(background)
        for leaf in self.leaves:
            leaf.tabulate(len(background))

    def _add(self, piece: Floats) -> None:
        self.base += self.model.raw(piece).sum(axis=0)
        X, Z = self._both(piece)
        for leaf in self.leaves:
            leaf.add(X, Z)

    def all_values(self, matrix: Floats) -> Floats:
        """Shapley values of any number of rows, in pieces, on several threads."""
        out = np.empty((*matrix.shape, self.n_outputs))

        def explain(rows: slice) -> None:
            out[rows] = self.values(matrix[rows])

        with ThreadPoolExecutor(self.model.n_threads) as pool:
            list(pool.map(explain, _pieces(len(matrix))))
        return out

    def values(self, piece: Floats) -> Floats:
        """Shapley values of some rows, shape (rows, columns, outputs)."""
        X, Z = self._both(piece)
        out = np.zeros((piece.shape[1], self.n_outputs, len(piece)))
        for leaf in self.leaves:
            leaf.add_values(X, Z, out)
        for offset, mean in self.known.items():
            out[offset.column] += offset.added(piece, self.model.tree.columns) - mean
        return out.transpose(2, 0, 1)

    def _both(self, piece: Floats) -> tuple[Floats, Floats]:
        """Raw and transformed columns, rows along the last axis."""
        X = np.ascontiguousarray(piece.T)
        transformed = self.model.tree.terms.transformed(piece)
        return X, X if transformed is piece else np.ascontiguousarray(transformed.T)


class _Leaf:
    """One leaf: its conditions, and the background rows by the conditions that they meet."""

    def __init__(self, model: Additive, leaf: int, path: tuple[Condition, ...]) -> None:
        if len(path) > _MAX_PATH:
            raise ValueError(f"A path of the tree has more than {_MAX_PATH} features.")
        n_columns = len(model.tree.columns)
        self.model = model
        self.leaf = leaf
        self.tests = _path_tests(model.tree, path)
        self.columns = self.tests[0]
        self.place = np.full(n_columns, -1, dtype=np.int64)
        self.place[self.columns] = np.arange(len(path))
        self.bits = np.zeros(0, dtype=np.int64)
        self.count = np.zeros(0)
        self.total = np.zeros((0, n_columns, model.center.shape[1]))
        self.known: tuple[Floats, Floats, Floats] | None = None

    def _patterns(self, X: Floats) -> Patterns:
        found = np.empty(X.shape[1], dtype=np.int64)
        _kernels.patterns(X, X.view(np.uint64), *self.tests, found)
        return found

    def add(self, X: Floats, Z: Floats) -> None:
        """Add background rows to the sums of their patterns."""
        found = self._patterns(X)
        bits = np.union1d(self.bits, found)
        count = np.zeros(len(bits))
        total = np.zeros((len(bits), *self.total.shape[1:]))
        known = np.searchsorted(bits, self.bits)
        count[known], total[known] = self.count, self.total
        group = np.searchsorted(bits, found)
        _kernels.sum_effects(self.model.node_effects(Z, self.leaf), group, count, total)
        self.bits, self.count, self.total = bits, count, total

    def tabulate(self, n_background: int) -> None:
        """Sums to means, and tables for all patterns where these are few."""
        self.count /= n_background
        self.total /= n_background
        if len(self.columns) <= _TABULATED_PATH:
            self.known = self._tables(np.arange(1 << len(self.columns)))

    def add_values(self, X: Floats, Z: Floats, out: Floats) -> None:
        """Add the Shapley values of some rows in this leaf."""
        pattern, tables = self._patterns(X), self.known
        if tables is None:
            own, pattern = np.unique(pattern, return_inverse=True)
            tables = self._tables(own)
        effect = self.model.node_effects(Z, self.leaf)
        _kernels.add_shapley(effect, pattern, self.columns, self.place, *tables, out)

    def _tables(self, own: Patterns) -> tuple[Floats, Floats, Floats]:
        """What ``_kernels.add_shapley`` needs for rows that meet the conditions ``own``."""
        n_path = len(self.columns)
        slope = np.zeros((n_path, n_path + 1, len(own)))
        free_slope = np.zeros(len(own))
        constant = np.zeros((*self.total.shape[1:], len(own)))
        factorials = np.array([float(factorial(n)) for n in range(n_path + 2)])
        _kernels.shapley_tables(
            own, self.bits, self.count, self.total, self.model.center[self.leaf],
            self.columns, self.place, factorials, slope, free_slope, constant,
        )  # fmt: skip
        return slope, free_slope, constant


def _pieces(n_rows: int) -> list[slice]:
    return [slice(start, start + _SLICE_ROWS) for start in range(0, n_rows, _SLICE_ROWS)]


def _path_tests(tree: Tree, path: tuple[Condition, ...]) -> tuple[NDArray[Any], ...]:
    """The conditions of a leaf as the arrays that ``_kernels.patterns`` reads."""
    first_category, sides, used = [], [np.zeros(0, dtype=np.bool_)], 0
    for condition in path:
        known = tree.columns[condition.column].codes
        if not known:
            first_category.append(-1)
            continue
        allowed = set(condition.special if condition.categories is None else condition.categories)
        sides.append(np.array([category in allowed for category in known], dtype=np.bool_))
        first_category.append(used)
        used += len(known)
    return (
        np.array([condition.column for condition in path], dtype=np.int64),
        np.array([np.nan if c.categories is not None else c.low for c in path], dtype=np.float64),
        np.array([condition.high for condition in path], dtype=np.float64),
        np.array([condition.missing for condition in path], dtype=np.bool_),
        np.array([condition.unknown for condition in path], dtype=np.bool_),
        np.array(first_category, dtype=np.int64),
        np.concatenate(sides),
    )
