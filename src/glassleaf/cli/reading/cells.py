"""Cells of a text to values: what is missing, what is a number, what is neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import require

pa: Any = require("pyarrow", extra="cli", purpose="Reading files")
compute: Any = require("pyarrow.compute", extra="cli", purpose="Reading files")

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Texts that mean a missing value in any column of a text file; --missing adds others.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "<NA>")

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
WITH_COMMA = r"^[+-]?\d+(\.\d{3})*,\d+$"
# 01234 is a code, not the number 1234.
CODE = r"^0\d+$"
TRUTH = r"^(?i:true|false)$"
DATE = (
    r"^(\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d{1,2}/\d{1,2})$"
)


def cleaned(column: Any, missing: Sequence[str] = (), known: Sequence[str] = ()) -> Any:
    """Text without blanks around it; null where it means a missing value.

    Known categories stay as they are, unless ``missing`` lists them.

    >>> cleaned(pa.array([" a", "NA", "None", "-"]), missing=["-"], known=["NA", "-"]).to_pylist()
    ['a', 'NA', None, None]
    """
    stays = pa.array([text for text in known if text not in missing], pa.string())
    text = compute.utf8_trim_whitespace(column)
    text = compute.if_else(compute.is_in(column, value_set=stays), column, text)
    is_nothing = compute.is_in(text, value_set=pa.array([*MISSING, *missing]))
    is_nothing = compute.and_not(is_nothing, compute.is_in(text, value_set=stays))
    return compute.if_else(is_nothing, pa.scalar(None, pa.string()), text)


def with_point(text: Any, decimal: str) -> Any:
    """Numbers with a decimal point, whatever decimal sign they had."""
    if decimal == ".":
        return text
    return compute.replace_substring(compute.replace_substring(text, ".", ""), decimal, ".")


def share_matching(text: Any, pattern: str) -> float:
    """Share of the cells that match, of those that are not null."""
    found = compute.mean(compute.match_substring_regex(text, pattern)).as_py()
    return 0.0 if found is None else float(found)


def parsed_numbers(text: Any) -> tuple[Floats, Rows]:
    """Cleaned text as numbers, NaN where missing; and the rows where it is not a number.

    If all numbers are 0 or 1, true is 1 and false is 0.
    """
    is_number = compute.match_substring_regex(text, NUMBER)
    usable = compute.if_else(compute.fill_null(is_number, False), text, None)
    values = as_floats(compute.cast(usable, pa.float64()))
    is_bad = ~as_flags(compute.fill_null(is_number, True)) | np.isinf(values)
    if is_bad.any() and np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        is_truth = as_flags(compute.match_substring_regex(text, TRUTH))
        is_true = as_flags(compute.equal(compute.utf8_lower(text), "true"))
        values[is_truth] = is_true[is_truth]
        is_bad &= ~is_truth
    return values, np.flatnonzero(is_bad)


def as_floats(column: Any) -> Floats:
    """A copy of a column of numbers as float64, NaN for null; long integers are rounded."""
    values = compute.fill_null(compute.cast(column, pa.float64(), safe=False), float("nan"))
    return np.asarray(values).astype(np.float64)  # arrow's memory is read-only


def as_flags(column: Any) -> NDArray[np.bool_]:
    """A column of truth values; null is False."""
    return np.asarray(compute.fill_null(column, False)).astype(np.bool_)


def plain_text(column: Any) -> Any:
    """A column of text in arrow's plain string type."""
    if pa.types.is_dictionary(column.type):
        column = compute.cast(column, column.type.value_type)
    return compute.cast(column, pa.string())


def numbers_as_text(column: Any, truths: tuple[str, str] = ("false", "true")) -> Any:
    """Numbers as a text file writes them: 3, not 3.0; null where missing.

    >>> numbers_as_text(pa.array([3.0, 2.5, None])).to_pylist()
    ['3', '2.5', None]
    """
    if pa.types.is_boolean(column.type):
        return compute.if_else(column, truths[1], truths[0])
    if pa.types.is_integer(column.type):
        return compute.cast(column, pa.string())
    values = as_floats(column).tolist()
    texts = (
        None if value != value else str(int(value)) if value.is_integer() else repr(value)
        for value in values
    )
    return pa.array(texts, pa.string())
