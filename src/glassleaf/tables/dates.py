"""Dates and times as numbers, and what a model reads of them. No numpy.

A date is the number of days since 1970-01-01, a time of day the fraction of a day. All else that a
model may read of it follows from that number: the month, the day of the week and the hour. A stamp
with a time zone counts by its time in UTC, one without as it is written. Times are told apart to
the millisecond.

A column ``when`` of a table becomes up to four columns of a model: ``when`` itself, its days, and
``month of when``, ``weekday of when`` and ``hour of when``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import floor
from typing import Any

from glassleaf.errors import describe
from glassleaf.tables.cells import is_missing

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAYS = "days"
# All parts of a date, in the order of their columns.
PARTS = (DAYS, "month", "weekday", "hour")
MILLISECONDS = 86_400_000  # of a day
MICROSECONDS = 1000 * MILLISECONDS
_HOUR = MILLISECONDS // 24
# Milliseconds of the units that dates may be whole in, the longest first.
UNITS = {"day": MILLISECONDS, "hour": _HOUR, "minute": 60_000, "second": 1000, "millisecond": 1}

_NOISE = 1e-3  # milliseconds that rounding may have taken from a number of days

_START = datetime(1970, 1, 1)
_MONDAY = 3  # 1970-01-01 was a Thursday
# What Python's own reader takes, but for weeks and ordinal days, which people take for numbers.
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?"
    r"|\d{8}T\d{4,6}Z?",
    re.ASCII,
)


@dataclass(frozen=True)
class DatePart:
    """What a model's column is of a column of dates.

    ``zoned`` dates have a time zone. All that training saw are whole in their ``unit``; if it is a
    day, the time of day of a later stamp does not count.
    """

    source: str
    part: str
    zoned: bool = False
    unit: str = "day"

    @property
    def timed(self) -> bool:
        """Whether the time of day counts."""
        return self.unit != "day"

    @property
    def name(self) -> str:
        """What the model's column is called."""
        return self.source if self.part == DAYS else f"{self.part} of {self.source}"

    @property
    def is_input(self) -> bool:
        """Whether the column stands for that of the table; its other parts follow from it."""
        return self.part == DAYS


def days_in(value: Any, name: str, zoned: bool) -> float:
    """A date, a datetime or an ISO text as days since 1970-01-01.

    >>> days_in("1970-01-02", "when", False), days_in("1970-01-01T06:00Z", "when", True)
    (1.0, 0.25)
    """
    stamp = _stamp(value)
    if stamp is None:
        raise ValueError(
            f"Column {name!r} holds dates; {describe(value)} is none. Write 2016-03-01 or"
            " 2016-03-01T14:30:00."
        )
    check_zone(name, stamp.tzinfo is not None, zoned)
    if stamp.tzinfo is not None:
        stamp = stamp.astimezone(UTC).replace(tzinfo=None)
    return (stamp - _START) // timedelta(microseconds=1) / MICROSECONDS


def check_zone(name: str, has_zone: bool, zoned: bool) -> None:
    """Refuse stamps with a time zone where the others have none, or the reverse."""
    if has_zone != zoned:
        with_, without = "stamps with a time zone", "dates or stamps without one"
        held, holds = (with_, without) if zoned else (without, with_)
        raise ValueError(
            f"Column {name!r} held {held} when the model was fitted and holds {holds} now."
        )


def _stamp(value: Any) -> datetime | None:
    """The datetime that a value is or writes; None if it is none."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str) and _ISO.fullmatch(value.strip()):
        try:
            return datetime.fromisoformat(value.strip().replace(" +", "+").replace(" Z", "Z"))
        except ValueError:
            return None
    return None


def zone_of(value: Any) -> bool | None:
    """Whether a date or an ISO text has a time zone; None if it is no date.

    >>> zone_of("2016-03-01"), zone_of("20160301T000000Z"), zone_of("2016")
    (False, True, None)
    """
    stamp = _stamp(value)
    return None if stamp is None else stamp.tzinfo is not None


def milliseconds(days: float) -> int:
    """Milliseconds since 1970-01-01: days have more digits than they need, and some are noise."""
    return floor(days * MILLISECONDS + 0.5)


def part_of(days: float, part: str) -> Any:
    """A part of a date.

    >>> [part_of(16861.75, part) for part in PARTS]
    [16861.75, 'Mar', 'Tue', 18.0]
    """
    return _READ[part](days)


def date_value(value: Any, date: DatePart) -> Any:
    """What a model's column holds of a cell: a number, a name, None where it is missing."""
    if is_missing(value):
        return None
    days = days_in(value, date.source, date.zoned)
    return part_of(days if date.timed else float(floor(days)), date.part)


def _date(days: float) -> datetime:
    return _START + timedelta(milliseconds=milliseconds(days))


_READ: dict[str, Callable[[float], Any]] = {
    DAYS: lambda days: days,
    "month": lambda days: MONTHS[_date(days).month - 1],
    "weekday": lambda days: WEEKDAYS[(milliseconds(days) // MILLISECONDS + _MONDAY) % 7],
    "hour": lambda days: float(milliseconds(days) % MILLISECONDS // _HOUR),
}


def round_date(low: float, high: float) -> float | None:
    """The first of a year between two numbers of days, else of a month, else a whole day.

    >>> [date_text(round_date(16500.0 - x, 16500.0 + x)) for x in (200, 20, 2)]
    ['2015-01-01', '2015-03-01', '2015-03-08']
    """
    try:
        first, last = _date(low), _date(high)
    except (OverflowError, ValueError):
        return None
    for found in (
        datetime(last.year, 1, 1),
        datetime(last.year, last.month, 1),
        datetime(last.year, last.month, last.day),
    ):
        if first <= found <= last:
            return float((found - _START).days)
    return None


def border_text(days: float, unit: str) -> str:
    """The last date in its unit that is not above a number of days; of days, the first above it.

    >>> border_text(16860.5, "day"), border_text(16860.51, "hour")
    ('2016-03-01', '2016-02-29 12:00')
    """
    if unit == "day":
        return date_text(floor(days) + 1.0)
    width = UNITS[unit]
    return date_text(floor((days * MILLISECONDS + _NOISE) / width) * width / MILLISECONDS)


def date_text(days: float) -> str:
    """A number of days as people write it, with a time of day where it has one.

    >>> date_text(16861.0), date_text(16861.6), date_text(16861.60001)
    ('2016-03-01', '2016-03-01 14:24', '2016-03-01 14:24:00.864')
    """
    try:
        stamp = _date(days)
    except (OverflowError, ValueError):
        return f"{days:g} days after 1970-01-01"
    if milliseconds(days) % MILLISECONDS == 0:
        return f"{stamp:%Y-%m-%d}"
    if stamp.microsecond:
        return f"{stamp:%Y-%m-%d %H:%M:%S.%f}"[:-3]
    return f"{stamp:%Y-%m-%d %H:%M:%S}".removesuffix(":00")
