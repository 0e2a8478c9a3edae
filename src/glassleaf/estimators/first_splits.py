"""What ``first_splits`` means: columns with thresholds, or with sets of categories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.rows.settings import GivenSplit
from glassleaf.tables.dates import UNITS, DatePart, days_in
from glassleaf.tables.table import Places, Table, column_name, date_parts

_FORM = '[("product", {"card", "loan"}), ("age", 40)]'


def given_splits(
    asked: Any, table: Table, categorical: NDArray[np.bool_], splits: NDArray[np.bool_]
) -> tuple[GivenSplit, ...]:
    """The splits that are made before any search."""
    if asked is None:
        return ()
    if isinstance(asked, str) or not isinstance(asked, Sequence):
        raise TypeError(f"first_splits={describe(asked)} must be a list such as {_FORM}.")
    return tuple(_given(pair, table, categorical, splits) for pair in asked)


def _given(
    pair: Any, table: Table, categorical: NDArray[np.bool_], splits: NDArray[np.bool_]
) -> GivenSplit:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TypeError(f"first_splits has {describe(pair)}; it is a list such as {_FORM}.")
    column = Places(table).one(pair[0], "first_splits")
    name, value = column_name(table, column), pair[1]
    if not splits[column]:
        raise ValueError(
            f"first_splits names {name!r}, which may not split: it is not in split_features, or has"
            " a sign."
        )
    if categorical[column]:
        if isinstance(value, str) or not isinstance(value, Collection) or not value:
            raise TypeError(f"first_splits of {name!r}: {describe(value)} is no set of categories.")
        return GivenSplit(column, categories=frozenset(value))
    date = date_parts(table)[column]
    if date is not None and date.is_input:
        return GivenSplit(column, _before(value, date))
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not np.isfinite(value):
        raise TypeError(f"first_splits of {name!r}: {describe(value)} is no number.")
    return GivenSplit(column, float(value))


def _before(value: Any, date: DatePart) -> float:
    """The end of what lies before a date, in the unit of the column's dates."""
    days = days_in(value, date.source, date.zoned)
    return float(days - UNITS[date.unit] / UNITS["day"] * (1.0 if date.unit == "day" else 0.5))
