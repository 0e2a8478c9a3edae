"""Parts of dates in SQL, from a column of dates, of stamps or of ISO texts."""

from __future__ import annotations

from dataclasses import dataclass

from glassleaf.tables.dates import MONTHS, WEEKDAYS, DatePart


@dataclass(frozen=True)
class DateSql:
    """What the engines write differently; ``{}`` is a stamp without a zone, months are from 1.

    ``stamp`` and ``zoned`` make one of a column, the latter in UTC.
    """

    stamp: str
    zoned: str
    days: str
    whole_days: str
    month: str
    weekday: str  # Monday is 1
    hour: str

    def part(self, cell: str, date: DatePart) -> str:
        """A part of a cell's date: a number, or a name."""
        stamp = (self.zoned if date.zoned else self.stamp).format(cell)
        if date.part == "days":
            return (self.days if date.timed else self.whole_days).format(stamp)
        found = {"month": self.month, "weekday": self.weekday, "hour": self.hour}[date.part]
        place = found.format(stamp)
        if date.part == "hour":
            return place
        names = "".join(MONTHS if date.part == "month" else WEEKDAYS)
        return f"SUBSTR('{names}', 3 * {place} - 2, 3)"


DUCKDB = DateSql(
    stamp="CAST({} AS TIMESTAMP)",
    zoned="MAKE_TIMESTAMP(EPOCH_US(CAST({} AS TIMESTAMPTZ)))",
    days="(EPOCH_US({}) / 8.64e10)",
    whole_days="FLOOR(EPOCH_US({}) / 8.64e10)",
    month="EXTRACT(MONTH FROM {})",
    weekday="EXTRACT(ISODOW FROM {})",
    hour="EXTRACT(HOUR FROM {})",
)
POSTGRESQL = DateSql(
    stamp="CAST({} AS TIMESTAMP)",
    zoned="(CAST({} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')",
    days="(CAST(EXTRACT(EPOCH FROM {}) AS DOUBLE PRECISION) / 8.64e4)",
    whole_days="FLOOR(EXTRACT(EPOCH FROM {}) / 86400)",
    month="CAST(EXTRACT(MONTH FROM {}) AS INTEGER)",
    weekday="CAST(EXTRACT(ISODOW FROM {}) AS INTEGER)",
    hour="EXTRACT(HOUR FROM {})",
)
# Texts; a time zone in them leads to UTC. Not every build knows FLOOR, and %s counts whole seconds.
SQLITE = DateSql(
    stamp="{}",
    zoned="{}",
    days="((STRFTIME('%s', {0}) + STRFTIME('%f', {0}) - STRFTIME('%S', {0})) / 8.64e4)",
    whole_days="(STRFTIME('%s', DATE({})) / 86400)",
    month="STRFTIME('%m', {})",
    weekday="((STRFTIME('%w', {}) + 6) % 7 + 1)",
    hour="STRFTIME('%H', {})",
)
