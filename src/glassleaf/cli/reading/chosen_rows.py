"""Rows of a file as a model reads them: all of them, or some by their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.reading.chunks import Chunk
from glassleaf.cli.reading.conform import opened_for
from glassleaf.cli.reading.files import pa
from glassleaf.cli.reading.sources import ReadOptions


def conformed_rows(estimator: Any, path: str, options: ReadOptions) -> Any:
    """The model's columns of all usable rows."""
    columns = estimator.tree_.columns
    tables = []
    with opened_for(estimator, path, options) as reader:
        for chunk in reader.source.chunks:
            table = reader.conformed(chunk, columns)
            bad = reader.problems.settle()
            tables.append(table.take(chunk.places_without(bad)) if bad else table)
    if not tables:
        raise DataError(f"{reader.source.name} has no rows.")
    return pa.concat_tables(tables)


def chosen_rows(estimator: Any, path: str, wanted: Sequence[int], options: ReadOptions) -> Any:
    """The model's columns of some rows, in the order asked for; row 1 is the first."""
    columns = estimator.tree_.columns
    found: dict[int, Any] = {}
    before = 0
    with opened_for(estimator, path, options) as reader:
        for chunk in reader.source.chunks:
            reader.problems.settle()  # a row that is not one would shift all that follow
            here = [n for n in wanted if before < n <= before + chunk.table.num_rows]
            for number in here:
                row = number - before - 1
                one = Chunk(chunk.table.slice(row, 1), chunk.numbers[row : row + 1])
                found[number] = reader.conformed(one, columns)
                reader.problems.settle()
            before += chunk.table.num_rows
            if len(found) == len(set(wanted)):
                break
        absent = [number for number in wanted if number not in found]
        if absent:
            raise CallError(f"--row {absent[0]}: {reader.source.name} has {before:,} rows.")
    return pa.concat_tables([found[number] for number in wanted])
