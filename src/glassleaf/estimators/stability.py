"""The tree grown again on resampled rows: how much of it stays."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import checks
from glassleaf.estimators.base import Given, ModelTree
from glassleaf.explanations.stability import ColumnUse, Stability, middle
from glassleaf.fit.train import regrow
from glassleaf.tables.table import raw_matrix
from glassleaf.tree.complexity import count_numbers
from glassleaf.tree.fitted import FittedModel, linear_model
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Rows whose predictions are compared: these are told apart well enough.
_MOST_ROWS = 5_000
_MIDDLE = 0.9


def stability(
    estimator: ModelTree,
    X: Any,
    y: Any,
    n: int = 100,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    exposure: Any = None,
    offset: Any = None,
) -> Stability:
    """Grow the tree again on resampled rows, and say how much of the model stays.

    Rows are drawn with replacement, as many as there are; with groups, groups are. A row that is
    drawn twice counts twice in every sum, and as one observation where splits are tested, so that
    resampling does not make chance significant. The table is read once: bins, units, transforms and
    the places of bends are those of all rows. The trees have the parameters of the estimator, and
    models of its length: ``max_numbers`` is the number that it has, and not chosen again.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor or ModelTreeClassifier
    X : table of shape (n_samples, n_features)
        The rows of the fit, in memory.
    y : array-like of shape (n_samples,)
    n : int, default=100
        How many trees are grown.
    sample_weight : array-like of shape (n_samples,), default=None
    groups : array-like of shape (n_samples,), or str, default=None
        As in ``fit``.
    random_state : int, RandomState, Generator or None, default=0
        Which rows are drawn; None counts as 0.
    exposure, offset : array-like of shape (n_samples,), or str, default=None
        As in ``fit``.

    Returns
    -------
    Stability
        Shares, ranges and moves as data; ``print`` it to read them.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor, stability
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + random.normal(size=500)
    >>> found = stability(ModelTreeRegressor(max_depth=1).fit(X, y), X, y, n=20)
    >>> found.root, found.root_share
    ('x0', 1.0)
    """
    model = linear_model(estimator)
    n_trees = checks.whole_number("n", n, 1) or 1
    _, target, weight = estimator._read_rows(X, y, sample_weight)
    given_classes = None if target.classes is None else tuple(target.classes.tolist())
    if given_classes != model.classes:
        raise ValueError("y has other classes than the model was fitted to.")
    table = model.read_whole(X, exposure, offset)
    given = estimator._given_for(table, target, weight, groups, model.tree.offsets)
    numbers = None if given.settings.max_numbers is None else count_numbers(model.tree).total
    given = given._replace(settings=replace(given.settings, max_numbers=numbers))
    shown = np.linspace(0, len(given.y) - 1, min(_MOST_ROWS, len(given.y))).astype(np.intp)
    matrix = np.ascontiguousarray(raw_matrix(given.table.take(shown), model.tree.columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit of all rows has warned already
        trees = list(regrow(*given, _factors(given, n_trees, random_state)))
    differences = np.array([_moves(model, tree, matrix) for tree in trees])
    if model.classes is None:
        differences /= _spread(target.y, weight)
    return _described(model, trees, differences, given, numbers)


def _factors(given: Given, n: int, random_state: Any) -> Iterator[Floats]:
    """How often every row is drawn, for each resample."""
    draws = checks.random_state(random_state)
    units = np.arange(len(given.y)) if given.group is None else given.group
    n_units = int(units.max()) + 1
    for _ in range(n):
        drawn = draws.randint(0, n_units, size=n_units)
        yield np.bincount(drawn, minlength=n_units).astype(np.float64)[units]


def _moves(model: FittedModel, tree: Tree, matrix: Floats) -> Floats:
    """How far another tree's predictions lie from the model's."""
    tree = replace(tree, columns=model.tree.columns, offsets=model.tree.offsets)
    mine, its = (one.raw(matrix, one.apply(matrix)) for one in (model.tree, tree))
    if model.scaling is not None:  # calibration is no part of growing
        its = model.scaling.slope[0] * its + model.scaling.shift[0]
    return np.asarray(np.abs(model.prediction(mine) - model.prediction(its)).max(axis=1))


def _spread(y: Floats, weight: Floats) -> float:
    mean = np.average(y, weights=weight)
    return float(np.sqrt(np.average((y - mean) ** 2, weights=weight))) or 1.0


def _described(
    model: FittedModel, trees: Sequence[Tree], moves: Floats, given: Given, numbers: int | None
) -> Stability:
    own, names = model.tree, model.names
    root = int(own.feature[0])
    alike = [tree for tree in trees if tree.feature[0] == root]
    is_number = root != LEAF and own.columns[root].categories is None
    thresholds = tuple(float(tree.threshold[0]) for tree in alike) if is_number else ()
    return Stability(
        n=len(trees),
        rows=len(given.y),
        groups=None if given.group is None else int(given.group.max()) + 1,
        root=None if root == LEAF else names[root],
        root_share=len(alike) / len(trees),
        threshold=float(own.threshold[0]) if is_number else None,
        root_unit=None if root == LEAF else own.columns[root].date_unit,
        thresholds=thresholds,
        threshold_range=middle(thresholds, _MIDDLE),
        same_categories=None if root == LEAF or is_number else _same_categories(own, alike),
        columns=_columns(own, trees),
        n_leaves=own.n_leaves,
        leaves=tuple(tree.n_leaves for tree in trees),
        numbers=numbers,
        is_probability=model.classes is not None,
        median_move=float(np.median(moves)),
        move_of_most=float(np.quantile(moves, _MIDDLE)),
        moves=tuple(np.median(moves, axis=1).tolist()),
    )


def _same_categories(own: Tree, alike: Sequence[Tree]) -> float:
    """Share of trees whose first split makes the same two sets, whichever goes left."""
    found = [_sides(tree) for tree in alike]
    return float(np.mean([its == _sides(own) for its in found])) if found else 0.0


def _sides(tree: Tree) -> set[frozenset[int]]:
    """The two sets of categories that the first split makes, by their codes."""
    goes_left = tree.left_categories(0)
    assert goes_left is not None
    return {frozenset(np.flatnonzero(goes_left == side).tolist()) for side in (True, False)}


def _columns(own: Tree, trees: Sequence[Tree]) -> tuple[ColumnUse, ...]:
    """How every column is used, those that are used most first."""
    in_splits, in_formulas = _used(own)
    splits, formulas = (np.mean(used, axis=0) for used in zip(*map(_used, trees), strict=True))
    root = np.bincount([tree.feature[0] + 1 for tree in trees], minlength=len(own.columns) + 1)
    found = [
        ColumnUse(
            column.name, bool(in_splits[j]), bool(in_formulas[j]),
            float(root[j + 1] / len(trees)), float(splits[j]), float(formulas[j]),
        )
        for j, column in enumerate(own.columns)
        if j not in {offset.column for offset in own.offsets}
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda use: -(use.splits + use.formulas)))


def _used(tree: Tree) -> tuple[Bools, Bools]:
    """Which columns split, and which stand in the formula of some leaf."""
    in_splits, in_formulas = np.zeros((2, len(tree.columns)), dtype=np.bool_)
    in_splits[tree.feature[tree.left != LEAF]] = True
    coef = tree.coef[tree.left == LEAF].reshape(-1, tree.terms.n_terms)
    in_formulas[tree.terms.column_of_term[(coef != 0).any(axis=0)]] = True
    return in_splits, in_formulas
