"""The target of a fit: labels or numbers, and which task that makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.choices import Task
from glassleaf.cli.failures import DataError
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.columns import MOSTLY, Reading
from glassleaf.cli.reading.files import pa
from glassleaf.cli.reading.profiles import TargetLook

_FEW_VALUES = 10
_FEWEST_ROWS_PER_VALUE = 3


@dataclass(frozen=True)
class Target:
    """The values to predict; rows without one have been noted as problems."""

    values: NDArray[Any]
    task: Task
    why: str
    advice: str
    look: TargetLook


def learn_target(name: str, column: Any, reading: Reading, task: Task | None) -> Target:
    """Labels or numbers of a column; see the module's docstring."""
    values, is_missing = _values(name, column, reading, task)
    for row in np.flatnonzero(is_missing):
        reading.problems.add(reading.numbers[row], f"no value of the target {name!r}")
    look = TargetLook()
    look.add(values[~is_missing])
    found, why, advice = task_of(name, look, task)
    if found is Task.classification and values.dtype.kind == "f" and look.is_whole:
        # Labels 0 and 1 rather than 0.0 and 1.0.
        values = np.asarray(np.where(np.isnan(values), 0.0, values).astype(np.int64))
    return Target(values, found, why, advice, look)


def task_of(name: str, look: TargetLook, task: Task | None) -> tuple[Task, str, str]:
    """The task that is asked for or that the target makes, why, and what else might be meant."""
    if not look.n_rows:
        raise DataError(f"the target {name!r} is empty.")
    found, why, advice = _task(look)
    if task is not None:
        found, why, advice = task, "as asked for", ""
    if found is Task.regression and not look.is_number:
        label = next(iter(look.counts or ("...",)))
        raise DataError(f"the target {name!r} holds text ({label!r}): it has classes, no numbers.")
    if found is Task.classification:
        _check_classes(name, look)
    return found, why, advice


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


def _task(look: TargetLook) -> tuple[Task, str, str]:
    many = "very many" if look.counts is None else f"{len(look.counts):,}"
    if look.kind in "USO":
        return Task.classification, f"text, {many} different", ""
    if look.kind == "b":
        return Task.classification, "true or false", ""
    if not look.is_whole:
        return Task.regression, "numbers with decimals", ""
    advice = ""
    if look.n_distinct <= min(_FEW_VALUES, look.n_rows / _FEWEST_ROWS_PER_VALUE):
        if look.n_distinct > 2:
            advice = "If these are counts or amounts: --task regression, perhaps --loss poisson."
        return Task.classification, f"{many} different whole numbers", advice
    if look.low >= 0:
        advice = "If these are counts (claims, visits, ...), --loss poisson might fit better."
    return Task.regression, f"{many} different whole numbers", advice


def _check_classes(name: str, look: TargetLook) -> None:
    if look.counts is None or len(look.counts) > max(
        _FEW_VALUES, look.n_rows // _FEWEST_ROWS_PER_VALUE
    ):
        many = "very many" if look.counts is None else f"{len(look.counts):,}"
        raise DataError(
            f"the target {name!r} has {many} different values in {look.n_rows:,} rows:"
            " too many for classes. Is another column the target? Of numbers: --task regression"
        )
    if len(look.counts) < 2:
        label = next(iter(look.counts))
        raise DataError(f"the target {name!r} is {label!r} in every row; nothing to learn.")
