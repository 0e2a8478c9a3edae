"""Rows of a file as a model reads them: all of them, or some by their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassleaf.cli.choices import OnError
from glassleaf.cli.conforming import Reader
from glassleaf.cli.delimited import Dialect
from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.files import pa
from glassleaf.cli.reading import read


def conformed_rows(
    estimator: Any, path: str, dialect: Dialect, missing: Sequence[str], on_error: OnError
) -> Any:
    """The model's columns of all usable rows."""
    columns = estimator.tree_.columns
    tables = []
    with read(path, dialect, on_error) as (source, problems):
        reader = Reader(source, problems, missing, dialect.decimal)
        reader.require_columns(columns)
        for chunk in source.chunks:
            table = reader.conformed(chunk, columns)
            bad = problems.settle()
            if bad:
                table = table.filter(~np.isin(np.asarray(chunk.numbers), list(bad)))
            tables.append(table)
    reader.say_unseen()
    problems.count_said()
    if not tables:
        raise DataError(f"{source.name} has no rows.")
    return pa.concat_tables(tables)


def chosen_rows(
    estimator: Any, path: str, wanted: Sequence[int], dialect: Dialect, missing: Sequence[str]
) -> Any:
    """The model's columns of some rows, in the order asked for; row 1 is the first."""
    columns = estimator.tree_.columns
    found: dict[int, Any] = {}
    before = 0
    with read(path, dialect, OnError.stop) as (source, problems):
        reader = Reader(source, problems, missing, dialect.decimal)
        reader.require_columns(columns)
        for chunk in source.chunks:
            problems.settle()  # a row that is not one would shift all that follow
            here = [n for n in wanted if before < n <= before + chunk.table.num_rows]
            for number in here:
                row = number - before - 1
                one = type(chunk)(chunk.table.slice(row, 1), chunk.numbers[row : row + 1])
                found[number] = reader.conformed(one, columns)
                problems.settle()
            before += chunk.table.num_rows
            if len(found) == len(set(wanted)):
                break
    absent = [number for number in wanted if number not in found]
    if absent:
        raise CallError(f"--row {absent[0]}: {source.name} has {before:,} rows.")
    reader.say_unseen()
    return pa.concat_tables([found[number] for number in wanted])
