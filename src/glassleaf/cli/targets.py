"""The target of a fit: labels or numbers, and which task that makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli import cells
from glassleaf.cli.choices import Task
from glassleaf.cli.columns import MOSTLY, Reading
from glassleaf.cli.failures import DataError
from glassleaf.cli.files import pa

_FEW_VALUES = 10
_FEWEST_ROWS_PER_VALUE = 3


@dataclass(frozen=True)
class Target:
    """The values to predict; rows without one have been noted as problems."""

    values: NDArray[Any]
    task: Task
    why: str
    advice: str = ""


def learn_target(name: str, column: Any, reading: Reading, task: Task | None) -> Target:
    """Labels or numbers of a column; see the module's docstring."""
    values, is_missing = _values(name, column, reading, task)
    for row in np.flatnonzero(is_missing):
        reading.problems.add(reading.numbers[row], f"no value of the target {name!r}")
    there = values[~is_missing]
    if len(there) == 0:
        raise DataError(f"the target {name!r} is empty.")
    distinct = np.unique(there)
    found, why, advice = _task(there, distinct)
    if task is not None:
        found, why, advice = task, "as asked for", ""
    if found is Task.regression and values.dtype.kind not in "fiu":
        raise DataError(
            f"the target {name!r} holds text ({there[0]!r}): it has classes, no numbers."
        )
    _check_classes(name, found, distinct, len(there))
    if found is Task.classification and values.dtype.kind == "f":
        values = _whole(values, there)
    return Target(values, found, why, advice)


def _values(
    name: str, column: Any, reading: Reading, task: Task | None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values as numbers or texts, and where there is none."""
    if cells.is_text(column):
        text = reading.text(column)
        share = cells.share_matching(cells.with_point(text, reading.decimal), cells.NUMBER)
        has_codes = cells.share_matching(text, cells.CODE) > 0
        least = MOSTLY if task is not Task.classification else 1.0
        if reading.is_text and share >= least and not has_codes:
            numbers = reading.parsed(name, text)
            return numbers, np.isnan(numbers)
        is_missing = ~cells.as_flags(text.is_valid())
        return np.array([label or "" for label in text.to_pylist()], dtype=str), is_missing
    if pa.types.is_boolean(column.type):
        return cells.as_flags(column), ~cells.as_flags(column.is_valid())
    if cells.is_numeric(column):
        numbers = cells.as_floats(column)
        return numbers, ~np.isfinite(numbers)
    raise DataError(
        f"the target {name!r} has the type {column.type}, which is no number and no text."
    )


def _task(there: NDArray[Any], distinct: NDArray[Any]) -> tuple[Task, str, str]:
    """The task, why, and what else might be meant."""
    if there.dtype.kind in "US":
        return Task.classification, f"text, {len(distinct)} different", ""
    if there.dtype.kind == "b":
        return Task.classification, "true or false", ""
    is_whole = bool((distinct == np.floor(distinct)).all())
    if not is_whole:
        return Task.regression, "numbers with decimals", ""
    if len(distinct) <= _FEW_VALUES and len(there) >= _FEWEST_ROWS_PER_VALUE * len(distinct):
        advice = ""
        if len(distinct) > 2:
            advice = "If these are counts or amounts: --task regression, perhaps --loss poisson."
        return Task.classification, f"{len(distinct)} different whole numbers", advice
    advice = ""
    if distinct[0] >= 0:
        advice = "If these are counts (claims, visits, ...), --loss poisson might fit better."
    return Task.regression, f"{len(distinct):,} different whole numbers", advice


def _check_classes(name: str, task: Task, distinct: NDArray[Any], n_rows: int) -> None:
    if task is not Task.classification:
        return
    if len(distinct) < 2:
        raise DataError(f"the target {name!r} is {distinct[0]!r} in every row; nothing to learn.")
    if len(distinct) > max(_FEW_VALUES, n_rows // _FEWEST_ROWS_PER_VALUE):
        raise DataError(
            f"the target {name!r} has {len(distinct):,} different values in {n_rows:,} rows:"
            " too many for classes. Is another column the target? Of numbers: --task regression"
        )


def _whole(values: NDArray[Any], there: NDArray[Any]) -> NDArray[Any]:
    """Labels 0 and 1 rather than 0.0 and 1.0."""
    if (there != np.floor(there)).any():
        return values
    return np.asarray(np.where(np.isnan(values), 0.0, values).astype(np.int64))
