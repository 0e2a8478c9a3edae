"""Columns of dates in files: dates and stamps of Parquet, ISO texts of any file."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassleaf.cli.reading.cells import Rows, compute, pa
from glassleaf.tables.dates import MICROSECONDS, days_in, zone_of

_STAMP = "us"


def are_dates(text: Any, share: float) -> bool:
    """Whether this share of the texts that are not missing write dates as ISO has them."""
    counts = compute.value_counts(compute.drop_null(text)).to_pylist()
    found = sum(pair["counts"] for pair in counts if zone_of(pair["values"]) is not None)
    return bool(found) and found >= share * sum(pair["counts"] for pair in counts)


def parsed_dates(text: Any, zoned: bool | None = None) -> tuple[Any, Rows]:
    """Texts as stamps, null where missing, and the rows whose text is no such date.

    Without ``zoned``, the first date says whether all have a time zone, which then is UTC.
    """
    encoded = compute.dictionary_encode(text)
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    known = encoded.dictionary.to_pylist()
    if zoned is None:
        zoned = bool(next((own for own in map(zone_of, known) if own is not None), False))
    stamps = [_microseconds(value, zoned) for value in known]
    codes = np.asarray(compute.fill_null(encoded.indices, -1), dtype=np.intp)
    values = np.array([*stamps, None], dtype=object)[codes]
    bad = np.flatnonzero((values == None) & (codes >= 0))  # noqa: E711
    kind = pa.timestamp(_STAMP, "UTC" if zoned else None)
    return pa.array(values.tolist(), pa.int64()).cast(kind), bad


def _microseconds(text: str, zoned: bool) -> int | None:
    """A date as a stamp of Arrow's; None for a text that is no such date."""
    if zone_of(text) is not zoned:
        return None
    return round(days_in(text, "", zoned) * MICROSECONDS)
