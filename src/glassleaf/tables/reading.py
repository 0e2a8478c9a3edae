"""Whatever came in as X: a table, or an error that says what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array

from glassleaf.errors import describe, warn
from glassleaf.tables.table import (
    Table,
    array_table,
    column_name,
    frame_table,
    is_frame,
    is_one_row_or_column,
)

_LISTED_NAMES = 5


def read_table(X: Any) -> Table:
    """Any table in memory."""
    if is_frame(X):
        table = frame_table(X)
        if table.n_columns == 0:
            raise ValueError(_too_small(table))
        return table
    _check_in_memory(X)
    if is_one_row_or_column(X):
        raise ValueError(
            f"X is a {type(X).__name__}, and a table is needed: of a DataFrame, df.iloc[[0]] is"
            " one of one row and df[['name']] one of one column; of a dict, make a DataFrame."
        )
    X = _plain_array(X)
    is_text = _is_text_array(X)
    checked = check_array(
        X,
        accept_sparse=["csc", "csr"],
        dtype=None if is_text else "numeric",
        ensure_all_finite=not is_text and "allow-nan",
        input_name="X",
    )
    return array_table(checked)


def _check_in_memory(X: Any) -> None:
    if isinstance(X, (str, os.PathLike)):
        raise TypeError(
            f"X={describe(X)} names files; only a table in memory will do here."
            " The command line predicts on files: glassleaf predict MODEL FILES."
        )
    if callable(getattr(X, "compute", None)) and hasattr(X, "npartitions"):
        raise TypeError(
            f"X is a {type(X).__name__} whose partitions are computed elsewhere; only a table in"
            " memory will do here: X.compute()."
        )
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise TypeError("X is a lazy table; only a table in memory will do here: X.collect().")


def check_has_rows(table: Table) -> None:
    """A fit needs at least one row."""
    if table.n_rows == 0:
        raise ValueError(_too_small(table))


def _too_small(table: Table) -> str:
    return (
        f"X has {table.n_rows} row(s) and {table.n_columns} column(s);"
        " at least one of each is needed."
    )


def _plain_array(X: Any) -> Any:
    """Arrays of kinds that numpy would silently turn into numbers, made plain or refused."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise TypeError(
            f"X has the type {X.dtype}, which is neither a number nor a category."
            " Convert it, for example to days since a fixed day."
        )
    return X.astype(str) if kind == "S" else X


def _is_text_array(X: Any) -> bool:
    """Whether X is an array of objects or strings that may hold categories."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in "OUS" and kind and getattr(X, "ndim", 0) == 2:
        return any(isinstance(value, (str, bytes)) for value in np.asarray(X, object).flat)
    return False


# --- a later table has the columns of the first --------------------------------------------------


def check_columns(table: Table, known: Sequence[str], is_named: bool, owner: str) -> None:
    """A table must have the columns that a model knows, in their order.

    The words are scikit-learn's, whose tools look for them.
    """
    if is_named and table.is_named:
        _check_names([column_name(table, j) for j in range(table.n_columns)], known)
    elif is_named:
        warn(f"X does not have valid feature names, but {owner} was fitted with feature names")
    elif table.is_named:
        warn(f"X has feature names, but {owner} was fitted without feature names")
    if table.n_columns != len(known):
        raise ValueError(
            f"X has {table.n_columns} features, but {owner} is expecting {len(known)} features"
            " as input."
        )


def _check_names(found: Sequence[str], known: Sequence[str]) -> None:
    if list(found) == list(known):
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(found) - set(known)), sorted(set(known) - set(found))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        place = [a == b for a, b in zip(found, known, strict=True)].index(False)
        message += (
            "Feature names must be in the same order as they were in fit.\n"
            f"Column {place} is {found[place]!r} and was {known[place]!r} in fit."
        )
    raise ValueError(message)


def _listed(names: Sequence[str]) -> str:
    more = "- ...\n" if len(names) > _LISTED_NAMES else ""
    return "".join(f"- {name}\n" for name in names[:_LISTED_NAMES]) + more
