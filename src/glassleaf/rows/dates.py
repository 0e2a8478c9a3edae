"""Columns of dates in pieces: which parts they have is learned from all rows, then made of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glassleaf.rows.backends import Backend
from glassleaf.rows.summarize import Part
from glassleaf.tables.dated import DateSummary, Parts, date_columns, expanded, summarize_dates
from glassleaf.tables.summaries import Several
from glassleaf.tables.table import FrameTable, Table, column_name


def make_date_parts(backend: Backend, outline: Table) -> Table:
    """Put the parts of dates in the place of their columns; the outline with them."""
    columns = date_columns(outline)
    if not columns:
        return outline
    assert isinstance(outline, FrameTable)
    found: Sequence[DateSummary] = backend.sum(_summaries, [columns])[0]
    pairs = zip(columns, found, strict=True)
    parts = {j: own.parts(column_name(outline, j)) for j, own in pairs}
    backend.become(_with_parts, parts)
    return expanded(outline, parts)


def _summaries(part: Part, columns: Sequence[int]) -> Several:
    table = part.table
    assert isinstance(table, FrameTable)
    return Several(summarize_dates(table, j) for j in columns)


def _with_parts(part: Part, parts: Parts) -> Part:
    assert isinstance(part.table, FrameTable)
    return replace(part, table=expanded(part.table, parts))
