"""How many numbers there are to read in other people's models: one rule for all.

The rule is that of ``complexity_``. It counts what somebody needs who predicts a row by hand:
thresholds, categories that a rule names, intercepts, coefficients, edges and values of shape
functions and of bins, and what missing numbers count as. The coefficient of a category and the
value of a category's bin are one number each. Constants that center or scale a column do not count:
they fold into coefficients and intercept. With several classes every class has its own numbers.

In doubt a rival is favored: limits of predictions (Cubist, PILOT) and the side that missing values
take are free, and neighboring bins of the same value are one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.tree.complexity import categories_named


def linear(intercept: Any, coef: Any, has_fill: Any = ()) -> int:
    """Intercepts, coefficients that are not zero, and a fill for every column with one.

    ``coef`` has a row per class, or is a single row; ``has_fill`` says per column whether missing
    values were replaced, and may be shorter than a row.

    >>> linear(0.5, [1.0, 0.0, 2.0], has_fill=[True, True])
    4
    """
    rows = np.atleast_2d(coef)
    is_used = (rows != 0).any(axis=0)
    fills = np.count_nonzero(is_used[: len(has_fill)] & np.asarray(has_fill, bool))
    return int(np.size(intercept) + np.count_nonzero(rows) + fills)


def constant_tree(leaves: int, values: int = 1) -> int:
    """A tree of thresholds and constants, or one whose splits name a single category.

    >>> constant_tree(4)
    7
    """
    return leaves - 1 + leaves * values


def boosted_trees(leaves: Sequence[int], intercepts: int = 1) -> int:
    """The same for a sum of trees.

    >>> boosted_trees([4, 2])
    11
    """
    return intercepts + sum(constant_tree(n) for n in leaves)


def point_score(is_threshold: Any) -> int:
    """A risk score of points for 0/1 columns: a threshold has its own number, a category none.

    >>> point_score([True, True, False])
    6
    """
    return int(1 + np.size(is_threshold) + np.count_nonzero(is_threshold))


# --- shape functions -----------------------------------------------------------------------------


def steps(values: Any) -> int:
    """A function of one number that is constant in each bin: a value per bin, edges between them.

    ``values`` has a row per bin, from the lowest to the highest, and a column per class.

    >>> steps([0.1, 0.1, 0.3])
    3
    """
    table = _table(values)
    bins = 1 + _changes(table)
    return bins * table.shape[1] + bins - 1


def groups(values: Sequence[float], sizes: Sequence[int]) -> int:
    """A value per group of categories; all groups but the largest are named category by category.

    >>> groups([0.1, 0.2], sizes=[1, 5])
    3
    """
    return len(values) + sum(sizes) - max(sizes, default=0)


def surface(values: Any, has_edges: Sequence[bool]) -> int:
    """A function of two columns that is constant in each cell, axis by axis with or without edges.

    ``values`` has an axis per column, and one for the classes if there are several.

    >>> surface([[1, 2], [3, 4], [3, 4]], has_edges=[True, False])
    5
    """
    grid = np.asarray(values)
    bins = [1 + _changes(_table(np.moveaxis(grid, axis, 0))) for axis in (0, 1)]
    edges = sum(n - 1 for n, is_cut in zip(bins, has_edges, strict=True) if is_cut)
    classes = grid[0, 0].size
    return bins[0] * bins[1] * classes + edges


def _table(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    return array.reshape(len(array), -1)


def _changes(table: NDArray[Any]) -> int:
    return int((np.diff(table, axis=0) != 0).any(axis=1).sum())


def boosting_machine(model: Any) -> int:
    """An explainable boosting machine: intercepts, and the shape functions of all its terms.

    Scores have a bin for missing values before the others and one for unseen values after them; the
    first counts where training saw missing values.
    """
    total = int(np.size(model.intercept_))
    for columns, scores, weights in zip(
        model.term_features_, model.term_scores_, model.bin_weights_, strict=True
    ):
        known = tuple(slice(1, -1) for _ in columns)
        has_edges = [model.feature_types_in_[j] == "continuous" for j in columns]
        if len(columns) == 2:
            total += surface(scores[known], has_edges)
        else:
            total += steps(scores[known]) if has_edges[0] else int(scores[known].size)
            total += int(weights[0] > 0) * scores[0].size
    return total


# --- texts and tables of rivals ------------------------------------------------------------------


def cubist_rules(text: str) -> int:
    """Thresholds, categories named, intercepts and coefficients in Cubist's model file.

    >>> cubist_rules('type="3" att="color" elts="red","blue"' + chr(10) + 'coeff="1" att="x"')
    3
    """
    thresholds = len(re.findall(r'^type="2".*\bcut="', text, re.MULTILINE))
    named = re.findall(r'^type="3".*\belts=(.*)$', text, re.MULTILINE)
    categories = sum(len(re.findall(r'"[^"]*"', names)) for names in named)
    return thresholds + categories + len(re.findall(r'\bcoeff="', text))


# Thresholds and slopes of a node; its intercepts fold into the constants of the leaves below.
_PILOT_NUMBERS = {"con": 1, "lin": 1, "pcon": 1, "blin": 3, "plin": 3}


def pilot_tree(nodes: Any, n_categories: Sequence[int], has_fill: Sequence[bool] = ()) -> int:
    """PILOT's table of nodes: what it names at splits, slopes, constants of leaves, fills."""
    total = 0
    for kind, column, left in zip(
        nodes["node_type"], nodes["feature_index"], nodes["pivot_values"], strict=True
    ):
        if kind == "pconc":
            total += categories_named(len(left), n_categories[int(column)])
        else:
            total += _PILOT_NUMBERS[kind]
    used = {int(column) for column in nodes["feature_index"] if column >= 0}
    return total + sum(1 for column in used if column < len(has_fill) and has_fill[column])
