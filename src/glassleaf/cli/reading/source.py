"""A file being read: its bytes, its rows chunk by chunk, its cells as values, its unusable rows."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.failures import DataError
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.cells import Floats, pa
from glassleaf.cli.screen import note
from glassleaf.rows.pieces import is_usable
from glassleaf.tables.parquet import kind_of

_MOST_SHOWN = 5
_MOST_CELLS = 3
DATE_HINT = "a model tree reads numbers. Turn them into numbers, for example days since 1970-01-01"


class Peekable(io.RawIOBase):
    """A stream of bytes that come in pieces; its first bytes can be looked at before reading."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ahead = memoryview(b"")

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size and (more := next(self._pieces, b"")):
            self._ahead = memoryview(bytes(self._ahead) + more)
        return bytes(self._ahead[:size])

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """As many bytes as asked for, fewer only at the end."""
        found = self.peek(sys.maxsize if size < 0 else size)
        self._ahead = self._ahead[len(found) :]
        return found


@dataclass(frozen=True)
class Chunk:
    """Some rows as a pyarrow table, and the number of each."""

    table: Any
    numbers: Any  # a sequence of int

    def places_without(self, bad: set[int]) -> NDArray[np.intp]:
        """Places in the chunk of the rows whose numbers are not among the bad ones."""
        return np.flatnonzero(~np.isin(np.asarray(self.numbers), list(bad)))


@dataclass
class Problems:
    """The unusable rows of a file by number: where they are, what is wrong, whether to go on.

    ``unit`` is what the numbers count: records of a text, rows of a typed table.
    """

    source: str
    on_error: OnError
    unit: str = "record"
    found: dict[int, list[str]] = field(default_factory=dict)
    # A file may hold more bad rows than memory: beyond those shown, they are only counted.
    n_skipped: int = 0
    hint: str = ""

    def add(self, number: int, what: str) -> None:
        """Something is wrong with the row of that number."""
        self.found.setdefault(int(number), []).append(what)

    def add_all(self, numbers: Iterable[int], what: str) -> None:
        """The same is wrong with several rows, unless something else is already."""
        for number in numbers:
            if int(number) not in self.found:
                self.add(number, what)

    def settle(self) -> set[int]:
        """Numbers of the rows to leave out, of those read since the last call; or an error."""
        fresh = set(self.found)
        if fresh and self.on_error is OnError.stop:
            raise DataError(self._message())
        for number in sorted(fresh)[: max(_MOST_SHOWN - self.n_skipped, 0)]:
            note(f"skipped {self._described(number)}")
        self.n_skipped += len(fresh)
        self.found.clear()
        return fresh

    def say_count(self) -> None:
        """The number of rows that were left out, at the end."""
        if self.n_skipped:
            rows = "row" if self.n_skipped == 1 else "rows"
            note(f"{self.source}: {self.n_skipped:,} {rows} skipped.")

    def _described(self, number: int) -> str:
        found = self.found[number]
        more = [f"and {len(found) - _MOST_CELLS} more"] if len(found) > _MOST_CELLS else []
        return f"{self.source}, {self.unit} {number}: {'; '.join([*found[:_MOST_CELLS], *more])}"

    def _message(self) -> str:
        numbers = sorted(self.found)
        lines = [self._described(number) for number in numbers[:_MOST_SHOWN]]
        if len(numbers) > _MOST_SHOWN:
            lines.append(f"... and {len(numbers) - _MOST_SHOWN:,} more rows so far.")
        lines.append(f"{self.hint}To leave such rows out: --on-error skip")
        return "\n".join(lines)


@dataclass(frozen=True)
class Source:
    """A file, its columns, and its rows one chunk after the other.

    In a text every column is text, and what is a number has yet to be found out.
    """

    names: list[str]
    chunks: Iterator[Chunk]
    problems: Problems
    options: ReadOptions
    is_text: bool
    remark: str = ""

    def __post_init__(self) -> None:
        counts = Counter(self.names)
        if len(counts) < len(self.names):
            name, n = counts.most_common(1)[0]
            raise DataError(
                f"{self.name}: column names must be unique, and {name!r} is there {n} times."
            )

    @property
    def name(self) -> str:
        return self.problems.source

    def text(self, column: Any) -> Any:
        """A column of text; in a text file, blanks and marks of missing values are taken away."""
        text = cells.plain_text(column)
        return cells.cleaned(text, self.options.missing) if self.is_text else text

    def numbers(self, chunk: Chunk, name: str) -> Floats:
        """A column as numbers, NaN where missing or unusable; what is unusable is a problem."""
        column = chunk.table[name]
        kind = kind_of(column.type)
        if kind == "numbers":
            values = cells.as_floats(column)
            bad = np.flatnonzero(np.isinf(values))
        elif kind == "text":
            text = cells.cleaned(cells.plain_text(column), self.options.missing)
            values, bad = cells.parsed_numbers(cells.with_point(text, self.options.decimal))
        elif pa.types.is_null(column.type):
            return np.full(len(column), np.nan)
        else:
            raise unusable_type(f"column {name!r}", column.type)
        for row in bad:
            cell = column[int(row)].as_py()
            self.problems.add(chunk.numbers[row], f"column {name!r}: {cell!r} is no number")
            if self.options.decimal == "." and "," in str(cell):
                self.problems.hint = "Is the comma the sign of decimals (--decimal ,)? "
        values[bad] = np.nan
        return values


def unusable_type(what: str, kind: Any, advice: str = "") -> DataError:
    """A column holds neither numbers nor text."""
    if pa.types.is_temporal(kind):
        return DataError(f"{what} holds dates or times ({kind}); {DATE_HINT}{advice}")
    return DataError(f"{what} has the type {kind}, which is no number and no text.{advice}")


def note_unusable(
    problems: Problems, table: Any, numbers: Any, target: str, weight: str | None
) -> None:
    """Rows without target or weight, or with an infinite number, are problems."""
    words = {target: f"no value of the target {target!r}"}
    if weight is not None:
        words[weight] = f"the weight {weight!r} is missing or negative"
    for name in table.column_names:
        usable = is_usable(table.select([name]), target, weight)
        what = words.get(name, f"column {name!r}: infinite")
        problems.add_all(np.asarray(numbers)[~usable], what)
