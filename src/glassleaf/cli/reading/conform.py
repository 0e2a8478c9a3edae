"""Chunks of any file to the columns a model knows: the same values from text as from Parquet.

A number is parsed, a category compared as text. A cell that is neither is a problem of
its row; categories that training never saw are counted, so that they can be said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glassleaf.cli.failures import DataError, suggestion
from glassleaf.cli.output.screen import note
from glassleaf.cli.reading.cells import (
    Floats,
    as_flags,
    as_floats,
    cleaned,
    compute,
    is_numeric,
    is_temporal,
    is_text,
    numbers_as_text,
    parsed_numbers,
    plain_text,
    with_point,
)
from glassleaf.cli.reading.chunks import Chunk, Source
from glassleaf.cli.reading.files import pa
from glassleaf.cli.reading.problems import Problems
from glassleaf.cli.reading.sources import ReadOptions, read

_MOST_SHOWN = 5


@contextmanager
def opened_for(estimator: Any, path: str, options: ReadOptions) -> Iterator[Reader]:
    """A file that has all columns of a model; at its end, what was unusual in it is said."""
    with read(path, options) as (source, problems):
        reader = Reader(source, problems, options)
        reader.require_columns(estimator.tree_.columns)
        yield reader
    reader.say_unseen()
    problems.count_said()


@dataclass
class Reader:
    """Reads the columns of a model, and others that are asked for by name, from chunks."""

    source: Source
    problems: Problems
    options: ReadOptions
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    n_unseen: Counter[str] = field(default_factory=Counter)

    def require_columns(self, columns: Sequence[Any]) -> None:
        """All columns of the model must be there, before any row is read."""
        absent = [column.name for column in columns if column.name not in self.source.names]
        if absent:
            more = f" ({len(absent) - 1} more are missing, too)" if len(absent) > 1 else ""
            hint = suggestion(absent[0], self.source.names)
            raise DataError(
                f"the model needs the column {absent[0]!r}, which {self.source.name} does not"
                f" have{more}{hint}"
            )

    def conformed(self, chunk: Chunk, columns: Sequence[Any]) -> Any:
        """The model's columns as a table; unusable cells are noted as problems."""
        found = [self._column(chunk, column) for column in columns]
        return pa.table(found, names=[column.name for column in columns])

    def _column(self, chunk: Chunk, column: Any) -> Any:
        if column.categories is None:
            return pa.array(self.numbers(chunk, column.name), from_pandas=True)
        if not any(isinstance(category, str) for category in column.categories):
            return pa.array(self.numbers(chunk, column.name), from_pandas=True)
        text = self._text(chunk, column)
        self._count_unseen(text, column)
        return text

    def numbers(self, chunk: Chunk, name: str) -> Floats:
        """A column as numbers, NaN where missing or unusable."""
        column = chunk.table[name]
        if is_numeric(column):
            values = as_floats(column)
            bad = np.flatnonzero(np.isinf(values))
        elif is_text(column):
            text = cleaned(plain_text(column), self.options.missing)
            values, bad = parsed_numbers(with_point(text, self.options.dialect.decimal))
        elif pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        else:
            raise _unusable(name, column)
        for row in bad:
            cell = column[int(row)].as_py()
            self.problems.add(chunk.numbers[row], f"column {name!r}: {cell!r} is no number")
            if self.options.dialect.decimal == "." and "," in str(cell):
                self.problems.hint = "Is the comma the sign of decimals (--decimal ,)? "
        values[bad] = np.nan
        return values

    def weights(self, chunk: Chunk, name: str) -> Floats:
        """Weights of the rows; one that is missing or negative is a problem."""
        values = self.numbers(chunk, name)
        for row in np.flatnonzero(~(values >= 0)):
            if int(chunk.numbers[row]) not in self.problems.found:
                self.problems.add(chunk.numbers[row], f"the weight {name!r} is missing or negative")
        return values

    def _text(self, chunk: Chunk, column: Any) -> Any:
        found = chunk.table[column.name]
        if is_text(found):
            text = plain_text(found)
            return cleaned(text, self.options.missing) if self.source.text else text
        if is_numeric(found):
            truths = ("False", "True") if "True" in column.categories else ("false", "true")
            return numbers_as_text(found, truths)
        if pa.types.is_null(found.type):
            return compute.cast(found, pa.string())
        raise _unusable(column.name, found)

    def _count_unseen(self, text: Any, column: Any) -> None:
        known = pa.array([str(category) for category in column.categories], pa.string())
        is_new = compute.and_(compute.is_valid(text), compute.invert(compute.is_in(text, known)))
        if not as_flags(is_new).any():
            return
        counts = self.unseen.setdefault(column.name, Counter())
        for pair in compute.value_counts(compute.filter(text, is_new)).to_pylist():
            counts[pair["values"]] += pair["counts"]
            self.n_unseen[column.name] += pair["counts"]
        if len(counts) > 1000:  # a column of names: the most frequent ones are enough
            self.unseen[column.name] = Counter(dict(counts.most_common(100)))

    def say_unseen(self) -> None:
        """Categories that training never saw: they count as "the rest", and are said."""
        for name, counts in self.unseen.items():
            shown = [f"{value!r} ({n:,})" for value, n in counts.most_common(_MOST_SHOWN)]
            more = ", ..." if len(counts) > _MOST_SHOWN else ""
            rows = "row has" if self.n_unseen[name] == 1 else "rows have"
            note(
                f"{self.source.name}, column {name!r}: {self.n_unseen[name]:,} {rows} a category"
                f" never seen in training: {', '.join(shown)}{more}"
            )


def _unusable(name: str, column: Any) -> DataError:
    if is_temporal(column):
        return DataError(f"column {name!r} holds dates or times ({column.type}); {DATE_HINT}")
    return DataError(f"column {name!r} has the type {column.type}, which is no number and no text.")


DATE_HINT = "a model tree reads numbers. Turn them into numbers, for example days since 1970-01-01"
