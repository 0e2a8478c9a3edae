"""What came in as y or groups: numbers or labels, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from glassleaf import checks as parameters
from glassleaf.errors import describe
from glassleaf.tables.cells import is_missing
from glassleaf.tables.summaries import find_counts
from glassleaf.tables.table import Table, select_columns

Floats = NDArray[np.float64]


def numeric_target(y: Any, n_rows: int) -> Floats:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: pass the values to predict."
        )
    if getattr(getattr(y, "dtype", None), "kind", "") in ("M", "m"):
        raise TypeError(f"y has the type {y.dtype}; it must be numbers.")
    try:
        target = check_array(
            y, ensure_2d=False, dtype=np.float64, input_name="y", allow_nd=True,
            ensure_min_samples=0,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        if "y" in str(error).split():
            raise
        raise type(error)(f"y must be numbers, one per row: {error}") from None
    if target.ndim > 1 and target.shape[1] > 1:
        raise ValueError(
            f"y has the shape {target.shape}; only one target is supported."
            " Fit one estimator per target, for example with MultiOutputRegressor."
        )
    target = column_or_1d(target, warn=True)
    check_consistent_length(np.empty(n_rows), target)
    if np.abs(target).max(initial=0.0) > parameters.LARGEST_NUMBER:
        raise ValueError(
            f"y contains {float(np.abs(target).max()):g}; squares of it would overflow."
            " Divide y by a constant."
        )
    return np.array(target)


def row_groups(groups: Any, table: Table, used: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """The number of every used row's group, 0, 1, ..., from labels or the name of a column."""
    if groups is None:
        return None
    if isinstance(groups, str):
        column = int(np.argmax(select_columns(table, [groups], "groups")))
        labels = np.asarray(table.labels(column).codes)
        missing = labels < 0
    else:
        given = np.asarray(groups)
        if given.ndim != 1 or len(given) != table.n_rows:
            raise ValueError(
                f"groups has the shape {given.shape}, but X has {table.n_rows} rows: one each."
            )
        missing = np.array([is_missing(label) for label in given.tolist()], dtype=np.bool_)
        labels = given.astype(str) if given.dtype.kind == "O" else given
    if missing[used].any():
        raise ValueError(
            f"groups is missing for {int(missing[used].sum())} row(s); give each of them a group of"
            " its own, or drop them."
        )
    return np.unique(labels[used], return_inverse=True)[1].astype(np.int64)


def class_labels(y: Any, n_rows: int) -> NDArray[Any]:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: pass the labels to predict."
        )
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if labels.dtype.kind == "O" and any(is_missing(label) for label in labels):
        raise ValueError("Input y contains a missing value; every row needs a label.")
    if labels.dtype.kind == "O":
        distinct_labels(labels)  # labels of several types may have no order
    if len(labels):
        check_classification_targets(labels)
    check_consistent_length(np.empty(n_rows), labels)
    return np.asarray(labels)


def check_discrete(labels: NDArray[Any]) -> None:
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        odd = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"Unknown label type: continuous. y holds {odd:g}; labels are whole numbers or text."
            " For a quantity there is ModelTreeRegressor."
        )


def distinct_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different labels, in order, and the place of every label among them."""
    try:
        classes = np.unique(labels)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(f"y mixes labels of types that cannot be sorted: {kinds}.") from None
    return classes, np.searchsorted(classes, labels)


def class_factors(given: Any, labels: NDArray[Any], weight: Floats) -> Floats:
    """The factor of every row's weight, by its class: what ``class_weight`` asks for."""
    if isinstance(given, Mapping):
        check_numbers(given, "class_weight")
        return np.asarray(compute_sample_weight(given, labels))
    if not (isinstance(given, str) and given == "balanced"):
        raise ValueError(
            f'class_weight={describe(given)} must be a dict of labels and weights, "balanced"'
            " or None."
        )
    classes, place = distinct_labels(labels)
    total = np.bincount(place, weight, len(classes))
    share = total[total > 0].sum() / np.count_nonzero(total)
    factor = np.divide(share, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(factor[place])


def check_numbers(given: Any, parameter: str) -> None:
    """Refuse what is no dict of labels and numbers."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{parameter}={describe(given)} must be a dict of labels and numbers.")
    for value in given.values():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(
                f"{parameter}={describe(given)} must give every class a number, not"
                f" {describe(value)}."
            )


def are_counts(y: Floats) -> bool:
    """Whether targets look like counts: whole numbers, none below 0, and more than 0 and 1.

    Amounts in whole units of money do not: none of them is small.

    >>> [are_counts(np.array(y)) for y in ([0.0, 3.0, 1.0], [0.0, 1.0, 1.0], [250.0, 1200.0])]
    [True, False, False]
    """
    is_known = bool((y >= 0).all() and y.max(initial=0.0) > 1)
    return is_known and find_counts(y, np.ones_like(y)).are_counts
