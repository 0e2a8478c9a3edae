"""Columns of dates become columns that models read: days, month, day of the week, hour.

:func:`with_dates` decides for the table of a fit which parts there are, :func:`as_fitted` makes the
same of a later table. What follows works on the result as on any other table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.cells import is_missing
from glassleaf.tables.dates import (
    DAYS,
    MICROSECONDS,
    MILLISECONDS,
    MONTHS,
    PARTS,
    UNITS,
    WEEKDAYS,
    DatePart,
    check_zone,
    days_in,
    zone_of,
)
from glassleaf.tables.table import Column, FrameTable, Table, column_name

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# The parts of every column that holds dates.
Parts = Mapping[int, tuple[DatePart, ...]]

# Days after which a part comes again: only then is it more than another name for the date.
_PERIODS = {"month": 365.0, "weekday": 7.0, "hour": 1.0}
_MONDAY = 3  # 1970-01-01 was a Thursday
_MAYBE_DATES = (nw.Date, nw.Datetime, nw.Object, nw.Unknown)


def date_columns(table: Table) -> list[int]:
    """The columns whose own type says that they hold dates."""
    if not isinstance(table, FrameTable):
        return []
    kinds = enumerate(table.frame.schema.values())
    return [j for j, kind in kinds if kind in _MAYBE_DATES and _holds_dates(table, j)]


def _holds_dates(table: FrameTable, column: int) -> bool:
    kind = _series(table, column).dtype
    if kind == nw.Object:
        return isinstance(_first_object(table, column), date)
    return kind in (nw.Date, nw.Datetime)


def _series(table: FrameTable, column: int) -> nw.Series[Any]:
    """A column; narwhals does not know every time zone of pandas."""
    series = table.frame[:, column]
    native = series.to_native()
    if series.dtype == nw.Unknown and getattr(native.dtype, "tz", None) is not None:
        return nw.from_native(native.dt.tz_convert("UTC"), series_only=True)
    return series


def _first_object(table: FrameTable, column: int) -> Any:
    values = table.frame[:, column].to_list()
    return next((value for value in values if not is_missing(value)), None)


# --- which parts a column has --------------------------------------------------------------------


@dataclass(frozen=True)
class DateSummary:
    """The range of some dates, and which of their parts occur."""

    low: float
    high: float
    seen: Mapping[str, frozenset[int]]
    zoned: bool
    unit: str

    def __add__(self, other: DateSummary) -> DateSummary:
        seen = {part: own | other.seen[part] for part, own in self.seen.items()}
        return DateSummary(
            min(self.low, other.low),
            max(self.high, other.high),
            seen,
            self.zoned or other.zoned,
            min(self.unit, other.unit, key=UNITS.__getitem__),
        )

    def parts(self, name: str) -> tuple[DatePart, ...]:
        """Days, and what varies and has come again."""
        own = (part for part in PARTS if part == DAYS or self._offers(part))
        return tuple(DatePart(name, part, self.zoned, self.unit) for part in own)

    def _offers(self, part: str) -> bool:
        return len(self.seen[part]) > 1 and self.high - self.low > _PERIODS[part]


def summarize_dates(table: FrameTable, column: int) -> DateSummary:
    """The summary of a column of dates."""
    zoned = _is_zoned(table, column)
    days = _read_days(table, column, zoned)
    days = days[~np.isnan(days)]
    seen = {part: frozenset(np.unique(code(days)).tolist()) for part, code in _CODES.items()}
    low, high = days.min(initial=np.inf), days.max(initial=-np.inf)
    return DateSummary(low, high, seen, zoned, _unit(_milliseconds(days)))


def _unit(ticks: Ints) -> str:
    """The longest unit in which all stamps are whole."""
    return next(unit for unit, width in UNITS.items() if not (ticks % width).any())


def with_dates(table: Table) -> Table:
    """The table of a fit, with the parts of its dates."""
    columns = date_columns(table)
    if not columns:
        return table
    assert isinstance(table, FrameTable)
    return expanded(
        table, {j: summarize_dates(table, j).parts(column_name(table, j)) for j in columns}
    )


def as_fitted(table: Table, columns: Sequence[Column]) -> Table:
    """A table with the columns of a fit's, with the parts that the model knows of its dates."""
    if not any(column.date for column in columns):
        return table
    inputs = [column for column in columns if column.is_input]
    parts: dict[int, tuple[DatePart, ...]] = {}
    for j, own in enumerate(inputs[: table.n_columns]):
        if own.date is not None:
            source = own.date.source
            parts[j] = tuple(c.date for c in columns if c.date and c.date.source == source)
    if not isinstance(table, FrameTable):
        name = column_name(table, 0) if not parts else inputs[min(parts)].name
        raise TypeError(
            f"Column {name!r} held dates when the model was fitted, and X is an array. Pass a"
            " DataFrame."
        )
    return expanded(table, parts)


# --- the table with them -------------------------------------------------------------------------


def expanded(table: FrameTable, parts: Parts) -> FrameTable:
    """The table with the parts of dates in the place of their columns."""
    _check_names(table, parts)
    columns, dates = [], {}
    for j in range(table.n_columns):
        series = table.frame[:, j]
        if j not in parts:
            columns.append(series)
            continue
        first = parts[j][0]
        days = _read_days(table, j, first.zoned)
        if not first.timed:
            days = np.floor(days)
        for part in parts[j]:
            dates[len(columns)] = part
            columns.append(_part_series(table, part, days))
    frame = table.frame.select(*columns) if len(columns) else table.frame
    return type(table)(frame, table.where, dates)


def _check_names(table: FrameTable, parts: Parts) -> None:
    names = set(table.names or ())
    for part in (part for own in parts.values() for part in own if not part.is_input):
        if part.name in names:
            raise ValueError(
                f"X has a column {part.name!r}, which is what the {part.part} of the dates in"
                f" {part.source!r} is called. Rename or drop one of them."
            )


def _part_series(table: FrameTable, part: DatePart, days: Floats) -> nw.Series[Any]:
    """A part of dates as a column of the table's own kind."""
    values, kind = _values(part.part, days)
    series = nw.new_series(part.name, values, kind, backend=table.frame.implementation)
    if hasattr(table.frame.to_native(), "index"):
        series = nw.maybe_set_index(series, index=nw.maybe_get_index(table.frame))
    return series


def _values(part: str, days: Floats) -> tuple[Any, Any]:
    if part == DAYS:
        return days, nw.Float64
    known = ~np.isnan(days)
    codes = np.full(len(days), -1)
    codes[known] = _CODES[part](days[known])
    if part == "hour":
        return np.where(known, codes, np.nan), nw.Float64
    names = MONTHS if part == "month" else WEEKDAYS
    return np.array([*names, None], dtype=object)[codes].tolist(), nw.String


def _milliseconds(days: Floats) -> Ints:
    return np.floor(days * MILLISECONDS + 0.5).astype(np.int64)


def _months(days: Floats) -> Ints:
    months = _milliseconds(days).astype("datetime64[ms]").astype("datetime64[M]")
    return np.asarray(months.astype(np.int64) % 12)


# The place of a part's value among all that it may have, from 0; of days that are known.
_CODES: dict[str, Callable[[Floats], Ints]] = {
    "month": _months,
    "weekday": lambda days: (_milliseconds(days) // MILLISECONDS + _MONDAY) % 7,
    "hour": lambda days: _milliseconds(days) % MILLISECONDS // (MILLISECONDS // 24),
}


# --- days ----------------------------------------------------------------------------------------


def _is_zoned(table: FrameTable, column: int) -> bool:
    dtype = _series(table, column).dtype
    if dtype == nw.Object:
        return bool(zone_of(_first_object(table, column)))
    return getattr(dtype, "time_zone", None) is not None


def _read_days(table: FrameTable, column: int, zoned: bool) -> Floats:
    """A column of dates, or of texts that write them, as days; NaN where it is missing."""
    series, name = _series(table, column), column_name(table, column)
    if series.dtype in (nw.Date, nw.Datetime):
        if series.is_null().all():
            return np.full(table.n_rows, np.nan)
        check_zone(name, getattr(series.dtype, "time_zone", None) is not None, zoned)
        stamps = series.dt.timestamp("us").cast(nw.Float64).to_numpy()
        return np.asarray(stamps, dtype=np.float64) / MICROSECONDS
    if series.is_null().all():
        return np.full(table.n_rows, np.nan)
    if series.dtype == nw.Object:
        values = series.to_list()
        own = [np.nan if is_missing(v) else days_in(v, name, zoned) for v in values]
        return np.array(own, dtype=np.float64)
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        raise ValueError(
            f"Column {name!r} held dates when the model was fitted and has the type {series.dtype}"
            " now."
        )
    labels = table.labels(column)
    seen = [days_in(value, name, zoned) for value in labels.values]
    return np.array([*seen, np.nan])[labels.codes]
