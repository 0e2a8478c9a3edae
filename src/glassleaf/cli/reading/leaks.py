"""Columns that predict the target all by themselves: often the target in other words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.options import Task
from glassleaf.cli.reading.cells import Floats
from glassleaf.tables.dated import with_dates
from glassleaf.tables.table import Table, frame_table

# A column says this share of what there is to say, on rows that were not looked at.
_NEARLY_EVERYTHING = 0.99
_FEWEST_ROWS = 50
_MOST_ROWS = 20_000


def leaks(X: Any, y: NDArray[Any], task: Task) -> dict[str, float]:
    """The columns that alone explain nearly all of the target, and the share that they explain.

    Half of the rows say what to expect at every value (of numbers, between neighbours), the other
    half are compared with that. Of many rows, some are enough.
    """
    if len(y) < _FEWEST_ROWS:
        return {}
    some = np.arange(0, len(y), -(-len(y) // _MOST_ROWS))
    y, table = y[some], with_dates(frame_table(X.take(some)))
    is_number = task is Task.regression
    target = y.astype(np.float64)[:, None] if is_number else y[:, None] == np.unique(y)
    shares = {
        name: _explained(_values(table, j), target.T.astype(np.float64), table.holds_text(j))
        for j, name in enumerate(table.names or ())
    }
    return {name: share for name, share in shares.items() if share > _NEARLY_EVERYTHING}


def _values(table: Table, column: int) -> Floats:
    """Numbers, or the codes of categories; a missing value is one of its own."""
    if table.holds_text(column):
        return table.labels(column).codes.astype(np.float64)
    values = table.numeric(column)
    return np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1.0, values)


def _explained(values: Floats, targets: Floats, is_category: bool) -> float:
    """The share of the second half's variance that the first half explains."""
    first, second = slice(0, None, 2), slice(1, None, 2)
    known, place = np.unique(values[first], return_inverse=True)
    is_new = is_category & ~np.isin(values[second], known)
    left = total = 0.0
    for target in targets:
        middle = target[first].mean()
        means = np.bincount(place, target[first]) / np.bincount(place)
        guess = np.where(is_new, middle, np.interp(values[second], known, means))
        left += float(((target[second] - guess) ** 2).sum())
        total += float(((target[second] - middle) ** 2).sum())
    return 1.0 - left / total if total > 0 else 0.0
