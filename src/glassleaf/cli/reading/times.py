"""Rows by time: those of a day and later ones are for the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.reading.cells import compute, pa
from glassleaf.cli.reading.profiles import UsedColumn
from glassleaf.cli.screen import note
from glassleaf.tables.dates import MICROSECONDS, days_in, zone_of


def check_day(given: str) -> None:
    """Whether ``--test-after`` is a date."""
    if zone_of(given) is None:
        raise CallError(f"--test-after {given!r} is no date. Write 2016-03-01.")


def only_dates(columns: Sequence[UsedColumn]) -> str:
    """The one column of dates."""
    names = [column.name for column in columns if column.kind == "date"]
    if len(names) == 1:
        return names[0]
    found = "there is no column of dates" if not names else f"dates are in {', '.join(names)}"
    raise CallError(f"--test-after: {found}. Name the one that counts: --time-column NAME.")


def is_from(column: Any, day: str, name: str) -> NDArray[np.bool_]:
    """Which dates are of this day or later ones; a missing date is none of them."""
    zone = getattr(column.type, "tz", None)
    stamps = compute.cast(compute.cast(column, pa.timestamp("us", zone)), pa.int64())
    first = round(days_in(day, name, bool(zone_of(day))) * MICROSECONDS)
    found = np.asarray(compute.fill_null(compute.greater_equal(stamps, first), False))
    if not found.any() or found.all():
        where = "no row" if not found.any() else "every row"
        raise DataError(f"--test-after {day}: {where} is of that day or later, by {name!r}.")
    if column.null_count:
        note(f"{column.null_count:,} rows without {name!r} are not for the test.")
    return found.astype(np.bool_)
