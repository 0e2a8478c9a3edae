"""What the columns and the target of a file are: numbers, categories, identifiers; which task."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.failures import DataError
from glassleaf.cli.options import Task
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.cells import Floats, compute, pa
from glassleaf.cli.reading.dates import are_dates
from glassleaf.cli.reading.profiles import (
    DateProfile,
    DroppedColumn,
    NumberProfile,
    TargetProfile,
    TextProfile,
    UsedColumn,
)
from glassleaf.cli.reading.source import DATE_HINT, Chunk, Source, unusable_type
from glassleaf.tables.parquet import kind_of

# Share of numbers (or dates) from which the other cells of a column are errors.
MOSTLY = 0.95
_FEW_VALUES = 10
_FEWEST_ROWS_PER_VALUE = 3
_NO_NUMBER = (
    "Does the column hold categories (--categorical NAME)? Does the text mean a missing value"
    " (--missing TEXT)? "
)


# --- columns -------------------------------------------------------------------------------------


def infer_columns(
    rows: Chunk, source: Source, aside: set[str], categorical: Sequence[str], keep: Sequence[str]
) -> tuple[list[UsedColumn], list[DroppedColumn]]:
    """The columns to use and the columns to drop; those aside are neither."""
    names = [name for name in rows.table.column_names if name not in aside]
    table = rows.table.select([name for name in names if name not in categorical])
    refuse_dates(table, source.options.missing)
    columns: list[UsedColumn] = []
    dropped: list[DroppedColumn] = []
    for name in names:
        found = _inferred(name, rows, source, name in categorical)
        why = None if name in [*keep, *categorical] else found.profile.no_use(name)
        if why is None:
            columns.append(found)
        else:
            dropped.append(DroppedColumn(name, why))
    return columns, dropped


def _inferred(name: str, rows: Chunk, source: Source, is_category: bool) -> UsedColumn:
    column = rows.table[name]
    kind = kind_of(column.type)
    if kind == "text":
        return _inferred_from_text(name, rows, source, is_category)
    if kind == "numbers" and is_category:
        return _category(name, cells.numbers_as_text(column))
    if kind == "dates" and not is_category:
        return _dates(name, column)
    if kind in ("dates", "other") and not pa.types.is_null(column.type):
        raise unusable_column(name, column.type)
    return _number(name, source.numbers(rows, name))


def _inferred_from_text(name: str, rows: Chunk, source: Source, is_category: bool) -> UsedColumn:
    text = source.text(rows.table[name])
    if not is_category and are_dates(text, MOSTLY):
        return _dates(name, source.dates(rows, name))
    if is_category or not source.is_text:
        return _category(name, text)
    if cells.share_matching(text, cells.CODE) > 0:
        return _category(name, text, "codes with leading zeros")
    if cells.share_matching(text, cells.TRUTH) == 1:
        return _number(name, source.numbers(rows, name), "number: true is 1")
    if _share_of_numbers(text, source) >= MOSTLY:
        return _number(name, _parsed(name, rows, source))
    return _category(name, text)


def _share_of_numbers(text: Any, source: Source) -> float:
    return cells.share_matching(cells.with_point(text, source.options.decimal), cells.NUMBER)


def _parsed(name: str, rows: Chunk, source: Source) -> Floats:
    """Numbers from text. The hint asks the user what the other cells are."""
    n_before = len(source.problems.found)
    values = source.numbers(rows, name)
    if len(source.problems.found) > n_before:
        source.problems.hint = _NO_NUMBER
    return values


def _number(name: str, values: Floats, words: str = "number") -> UsedColumn:
    profile = NumberProfile()
    profile.add(values)
    return UsedColumn(name, values, False, words, profile)


def _dates(name: str, column: Any) -> UsedColumn:
    profile = DateProfile()
    profile.add(column)
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return UsedColumn(name, values, False, "date", profile)


def _category(name: str, text: Any, words: str = "category") -> UsedColumn:
    values = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    profile = TextProfile()
    profile.add(values)
    return UsedColumn(name, values, True, words, profile)


def check_decimals(table: Any, source: Source) -> None:
    """Refuse numbers with a decimal comma, which would pass for categories."""
    if not source.is_text or source.options.decimal != ".":
        return
    for name in table.column_names:
        text = source.text(table[name])
        if cells.share_matching(text, rf"{cells.NUMBER}|{cells.WITH_COMMA}") >= MOSTLY and (
            cells.share_matching(text, cells.WITH_COMMA) > 1 - MOSTLY
        ):
            shown = compute.filter(text, compute.match_substring_regex(text, cells.WITH_COMMA))
            raise DataError(
                f"column {name!r} has numbers with a comma, such as {shown[0].as_py()!r}."
                " If the comma is the decimal sign: --decimal ,"
            )


def refuse_dates(table: Any, missing: Sequence[str]) -> None:
    """Refuse dates that are not written as ISO has them, and say what to do."""
    names = [name for name in table.column_names if _holds_odd_dates(table[name], missing)]
    if not names:
        return
    listed = ", ".join(map(repr, names))
    columns = f"column {listed} holds" if len(names) == 1 else f"columns {listed} hold"
    options = " ".join(f"--drop {shlex.quote(name)}" for name in names)
    raise DataError(f"{columns} dates; {DATE_HINT}, or leave them out: {options}")


def _holds_odd_dates(column: Any, missing: Sequence[str]) -> bool:
    if kind_of(column.type) != "text":
        return False
    text = cells.cleaned(cells.plain_text(column), missing)
    return cells.share_matching(text, cells.DATE) >= MOSTLY and not are_dates(text, MOSTLY)


def unusable_column(name: str, kind: Any) -> DataError:
    """A column holds neither numbers nor text."""
    return unusable_type(f"column {name!r}", kind, f" Leave it out: --drop {shlex.quote(name)}")


# --- the target ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class InferredTarget:
    """The values to predict as an arrow array, null where missing, and the task."""

    values: Any
    task: Task
    why: str
    advice: str


def infer_target(name: str, rows: Chunk, source: Source, task: Task | None) -> InferredTarget:
    """The labels or numbers of a column, and the task that they make."""
    values = _target_values(name, rows, source, task)
    profile = TargetProfile()
    profile.add(target_values(compute.drop_null(values)))
    found, why, advice = infer_task(name, profile, task)
    if found is Task.classification and profile.kind == "f" and profile.is_whole:
        values = compute.cast(values, pa.int64())  # labels 0 and 1 rather than 0.0 and 1.0
    return InferredTarget(values, found, why, advice)


def _target_values(name: str, rows: Chunk, source: Source, task: Task | None) -> Any:
    """Numbers, texts or truth values; null where missing."""
    column = rows.table[name]
    kind = kind_of(column.type)
    if kind in ("dates", "other"):
        raise unusable_type(f"the target {name!r}", column.type)
    if pa.types.is_boolean(column.type):
        return column
    if kind == "text":
        text = source.text(column)
        least = MOSTLY if task is not Task.classification else 1.0
        has_codes = cells.share_matching(text, cells.CODE) > 0
        if not source.is_text or has_codes or _share_of_numbers(text, source) < least:
            return text
    numbers = _parsed(name, rows, source) if kind == "text" else cells.as_floats(column)
    return pa.array(np.where(np.isinf(numbers), np.nan, numbers), from_pandas=True)


def target_values(column: Any) -> NDArray[Any]:
    """Targets as a numpy array of numbers, truth values or text."""
    if kind_of(column.type) == "text":
        return np.array(cells.plain_text(column).to_pylist(), dtype=str)
    if pa.types.is_decimal(column.type):
        return cells.as_floats(column)
    return np.asarray(column)


def infer_task(name: str, profile: TargetProfile, task: Task | None) -> tuple[Task, str, str]:
    """The task, why it was chosen, and advice on another one."""
    if not profile.n_rows:
        raise DataError(f"the target {name!r} is empty.")
    found, why, advice = _task(profile)
    if task is not None:
        found, why, advice = task, "as asked for", ""
    if found is Task.regression and not profile.is_number:
        label = next(iter(profile.counts or ("...",)))
        raise DataError(f"the target {name!r} holds text ({label!r}): classes, not numbers.")
    if found is Task.classification:
        _check_classes(name, profile)
    return found, why, advice


def _task(profile: TargetProfile) -> tuple[Task, str, str]:
    many = "very many" if profile.counts is None else f"{len(profile.counts):,}"
    if profile.kind in "USO":
        return Task.classification, f"text, {many} different", ""
    if profile.kind == "b":
        return Task.classification, "true or false", ""
    if not profile.is_whole:
        return Task.regression, "numbers with decimals", ""
    advice = ""
    if profile.n_distinct <= min(_FEW_VALUES, profile.n_rows / _FEWEST_ROWS_PER_VALUE):
        if profile.n_distinct > 2:
            advice = "If these are counts or amounts: --task regression, perhaps --loss poisson."
        return Task.classification, f"{many} different whole numbers", advice
    if profile.low >= 0:
        advice = "If these are counts (claims, visits, ...), --loss poisson may fit better."
    return Task.regression, f"{many} different whole numbers", advice


def _check_classes(name: str, profile: TargetProfile) -> None:
    if profile.counts is None or len(profile.counts) > max(
        _FEW_VALUES, profile.n_rows // _FEWEST_ROWS_PER_VALUE
    ):
        many = "very many" if profile.counts is None else f"{len(profile.counts):,}"
        raise DataError(
            f"the target {name!r} has {many} different values in {profile.n_rows:,} rows:"
            " too many for classes. Is another column the target? For numbers: --task regression"
        )
    if len(profile.counts) < 2:
        label = next(iter(profile.counts))
        raise DataError(f"the target {name!r} is {label!r} in every row: nothing to learn.")
