"""A file being read: its bytes, its rows chunk by chunk, its cells as values, its unusable rows."""

from __future__ import annotations

import io
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.failures import DataError, shown
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.cells import Floats, pa
from glassleaf.cli.reading.dates import parsed_dates
from glassleaf.cli.screen import note
from glassleaf.rows.pieces import is_usable
from glassleaf.tables.parquet import kind_of

_MOST_SHOWN = 5
_MOST_CELLS = 3
DATE_HINT = "write them as 2016-03-01 or 2016-03-01T14:30:00"


class Peekable(io.RawIOBase):
    """A stream of bytes from an iterator of pieces. Its next bytes can be seen before reading."""

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
        """The next bytes: as many as asked for, fewer only at the end."""
        found = self.peek(sys.maxsize if size < 0 else size)
        self._ahead = self._ahead[len(found) :]
        return found


@dataclass(frozen=True)
class Chunk:
    """Some rows as a pyarrow table, and the number of each."""

    table: Any
    numbers: Any  # a sequence of int

    def places_without(self, bad: set[int]) -> NDArray[np.intp]:
        """Positions in the chunk of all rows but the bad ones."""
        return np.flatnonzero(~np.isin(np.asarray(self.numbers), list(bad)))


@dataclass
class Problems:
    """The unusable rows of a file by number: what is wrong, and whether to stop.

    ``unit`` is what the numbers count: records of a text, rows of a typed table.
    """

    source: str
    on_error: OnError
    unit: str = "record"
    found: dict[int, list[str]] = field(default_factory=dict)
    # A file may have more bad rows than memory holds: only the first few are kept.
    n_skipped: int = 0
    hint: str = ""

    def add(self, number: int, what: str) -> None:
        """Note what is wrong with a row."""
        self.found.setdefault(int(number), []).append(what)

    def add_all(self, numbers: Iterable[int], what: str) -> None:
        """Note what is wrong with several rows, unless they have a problem already."""
        for number in numbers:
            if int(number) not in self.found:
                self.add(number, what)

    def settle(self) -> set[int]:
        """The bad rows since the last call, to be left out; or an error that lists them."""
        fresh = set(self.found)
        if fresh and self.on_error is OnError.stop:
            raise DataError(self._message())
        for number in sorted(fresh)[: max(_MOST_SHOWN - self.n_skipped, 0)]:
            note(f"skipped {self._described(number)}")
        self.n_skipped += len(fresh)
        self.found.clear()
        return fresh

    def say_count(self) -> None:
        """Note the number of rows that were left out."""
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
    """A file: its columns, its rows chunk by chunk, and how its cells are read.

    In a text file every cell is text, and the numbers among them are yet to be inferred.
    """

    names: list[str]
    chunks: Iterator[Chunk]
    problems: Problems
    options: ReadOptions
    is_text: bool
    remark: str = ""
    left_out: tuple[str, ...] = ()  # names that were not unique

    def with_unique_names(self, may_leave_out: Callable[[str], bool]) -> Source:
        """The same file without the columns whose names are not unique, if these may go."""
        repeated = refuse_repeated(self.names, self.name, may_leave_out)
        places = [k for k, name in enumerate(self.names) if name not in repeated]
        if not repeated:
            return self
        return replace(
            self,
            names=[self.names[k] for k in places],
            chunks=(Chunk(chunk.table.select(places), chunk.numbers) for chunk in self.chunks),
            left_out=tuple(repeated),
        )

    @property
    def name(self) -> str:
        return self.problems.source

    def text(self, column: Any, known: Sequence[str] = ()) -> Any:
        """A column of text. In text files, blanks go, and marks of missing values become null.

        What is known as a category is one.
        """
        text = cells.plain_text(column)
        return cells.cleaned(text, self.options.missing, known) if self.is_text else text

    def dates(self, chunk: Chunk, name: str, zoned: bool | None = None) -> Any:
        """A column as dates or stamps, null where missing. Unusable cells become problems."""
        column = chunk.table[name]
        if kind_of(column.type) == "dates":
            return column
        if pa.types.is_null(column.type):
            return column.cast(pa.timestamp("us"))
        if kind_of(column.type) != "text":
            raise unusable_type(f"column {name!r}", column.type)
        text = cells.cleaned(cells.plain_text(column), self.options.missing)
        values, bad = parsed_dates(text, zoned)
        for row in bad:
            cell = shown(column[int(row)].as_py())
            self.problems.add(
                chunk.numbers[row], f"column {name!r}: {cell} is no date, or has another time zone"
            )
        return values

    def numbers(self, chunk: Chunk, name: str) -> Floats:
        """A column as numbers, NaN where missing or unusable. Unusable cells become problems."""
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
            self.problems.add(chunk.numbers[row], f"column {name!r}: {shown(cell)} is not a number")
            if self.options.decimal == "." and "," in str(cell):
                self.problems.hint = "Is the comma the decimal sign (--decimal ,)? "
        values[bad] = np.nan
        return values


def refuse_repeated(
    names: Sequence[str], source: str, may_leave_out: Callable[[str], bool]
) -> list[str]:
    """The names that are not unique; an error if one may not be left out."""
    repeated = {name: n for name, n in Counter(names).items() if n > 1}
    for name, n in repeated.items():
        if not may_leave_out(name):
            raise DataError(
                f"{source}: column names must be unique, but {shown(name)} occurs {n} times. To fit"
                f" without these columns: --drop {shlex.quote(name)}"
            )
    return list(repeated)


def unusable_type(what: str, kind: Any, advice: str = "") -> DataError:
    """A column holds neither numbers nor text."""
    if kind_of(kind) == "dates":
        return DataError(f"{what} holds dates ({kind}), not numbers or text.{advice}")
    return DataError(f"{what} has the type {kind}, which is neither a number nor text.{advice}")


def note_unusable(
    problems: Problems, table: Any, numbers: Any, target: str, weight: str | None
) -> None:
    """Note rows without target or weight, or with an infinite number, as problems."""
    words = {target: f"no value of the target {target!r}"}
    if weight is not None:
        words[weight] = f"the weight {weight!r} is missing or negative"
    for name in table.column_names:
        usable = is_usable(table.select([name]), target, weight)
        what = words.get(name, f"column {name!r} is infinite")
        problems.add_all(np.asarray(numbers)[~usable], what)
