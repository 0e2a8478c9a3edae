"""CSV and its kin: pyarrow reads rows as text, and tells which ones have too few or many fields.

What it cannot do is done here: find the delimiter, name the columns, say where a byte is no text,
and notice a quote that is never closed.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.options import ReadOptions
from glassleaf.cli.reading.cells import pa
from glassleaf.cli.reading.source import Chunk, Peekable, Problems, Source
from glassleaf.errors import require

arrow_csv: Any = require("pyarrow.csv", extra="cli", purpose="Reading CSV files")

# Bytes that are parsed together; neither the header nor a row may be longer.
_BLOCK = 1 << 22
_DELIMITERS = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
# The last field of a row that is put behind every text. A quote that is never closed swallows it.
_END = "\x1aend\x1a"


def open_text(stream: Peekable, options: ReadOptions, problems: Problems) -> Source:
    """A delimited text as a source of chunks."""
    delimiter = _delimiter_given(options.delimiter)
    text = Peekable(_utf8(stream, options.encoding, problems.source))
    start = text.peek(_BLOCK).decode(errors="ignore")
    delimiter = delimiter or sniffed(start)
    names, n_lines = _header(start, delimiter, problems.source)
    rows = _Rows(text, names, n_lines, delimiter, problems)
    shown = {"\t": "tabs", " ": "spaces"}.get(delimiter, repr(delimiter))
    remark = f"separated by {shown}" if delimiter != "," else ""
    return Source(names, rows.chunks(), problems, options, is_text=True, remark=remark)


def _delimiter_given(given: str | None) -> str | None:
    if given is None:
        return None
    found = _WORDS.get(given, given)
    if len(found) != 1 or found in '"\r\n' or ord(found) > 127:
        raise CallError(f"--delimiter {given!r} must be one character, or: tab.")
    return found


def sniffed(text: str) -> str:
    """The delimiter that cuts the first line into most fields.

    >>> sniffed('id;"a, b";c\\n1,2;3,4;5'), sniffed("one")
    (';', ',')
    """
    bare = re.sub(r'"[^"]*"', "", text)
    header = next((line for line in bare.splitlines() if line.strip()), "")
    return max(_DELIMITERS, key=header.count)


def _header(text: str, delimiter: str, source: str) -> tuple[list[str], int]:
    """The names in the first record that is not blank, and the lines down to its end."""
    records = csv.reader(io.StringIO(f"{text}\n{_END}", newline=""), delimiter=delimiter)
    try:
        found = next(filter(lambda record: any(map(str.strip, record)), records))
    except csv.Error as error:
        raise DataError(f"{source}: the header cannot be read: {error}.") from None
    if found == [_END]:
        raise DataError(f"{source} is empty.")
    if found[-1].endswith(_END):
        raise _unclosed(source, 1)
    names = [name.strip() or f"column_{k}" for k, name in enumerate(found, 1)]
    return names, records.line_num


def _unclosed(source: str, number: int, otherwise: str = "") -> DataError:
    return DataError(f"{source}, record {number}: a quote is opened and never closed{otherwise}.")


def _utf8(stream: Peekable, encoding: str, source: str) -> Iterator[bytes]:
    """The text in UTF-8, in pieces of any size."""
    try:
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        raise CallError(f"--encoding {encoding!r} is unknown; try utf-8 or latin-1.") from None
    decoder = codecs.getincrementaldecoder("utf-8-sig" if is_utf8 else encoding)()
    line = 1
    for piece in chain(iter(partial(stream.read, _BLOCK), b""), [b""]):
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise DataError(
                f"{source}, line {line}: the byte {error.object[error.start]:#x} is not in"
                f" {encoding}. If you know how the file is encoded, say so, for example:"
                " --encoding latin-1"
            ) from None
        line += text.count("\n")
        if text:
            yield text.encode()


class _Rows:
    """The rows below the header. A row is known by the number of its record; the header is 1."""

    def __init__(
        self, text: Peekable, names: list[str], n_lines: int, delimiter: str, problems: Problems
    ) -> None:
        self._names = names
        self._n_lines = n_lines
        self._delimiter = delimiter
        self._problems = problems
        self._last_row = delimiter * len(names) + _END
        pieces = iter(partial(text.read, _BLOCK), b"")
        self._stream = Peekable(chain(pieces, [f"\n{self._last_row}".encode()]))
        # Rows of another length, by number, until the rows before them have been handed out.
        self._invalid: dict[int, Any] = {}

    def chunks(self) -> Iterator[Chunk]:
        number = 2
        try:
            for batch in self._batches():
                candidates = np.arange(number, number + batch.num_rows + len(self._invalid))
                numbers = candidates[~np.isin(candidates, list(self._invalid))][: batch.num_rows]
                if _has_end(batch):
                    raise _unclosed(self._problems.source, numbers[-1])
                number = int(numbers[-1]) + 1
                self._note_invalid(before=number)
                yield Chunk(pa.Table.from_batches([batch]), numbers)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
            otherwise = f", or the record is longer than {_BLOCK:,} bytes"
            raise _unclosed(self._problems.source, number, otherwise) from None
        if self._invalid:
            self._note_invalid(before=max(self._invalid) + 1)
            yield Chunk(pa.table({name: pa.array([], pa.string()) for name in self._names}), [])

    def _batches(self) -> Iterator[Any]:
        """Batches of text; each has a row at least."""
        rows = arrow_csv.open_csv(
            pa.PythonFile(self._stream, mode="r"),
            read_options=arrow_csv.ReadOptions(
                column_names=self._names,
                skip_rows=self._n_lines,
                block_size=_BLOCK,
                use_threads=False,  # with threads, invalid rows would have no numbers
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                invalid_row_handler=self._keep_invalid,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in self._names}, strings_can_be_null=False
            ),
        )
        return (batch for batch in rows if batch.num_rows)

    def _keep_invalid(self, row: Any) -> str:
        if row.text != self._last_row:
            self._invalid[row.number - self._n_lines + 1] = row
        return "skip"

    def _note_invalid(self, before: int) -> None:
        for number in [number for number in self._invalid if number < before]:
            row = self._invalid.pop(number)
            if row.text.endswith(_END):
                raise _unclosed(self._problems.source, number)
            if row.text.replace(self._delimiter, "").strip():
                fields = "field" if row.actual_columns == 1 else "fields"
                self._problems.add(
                    number,
                    f"{row.actual_columns} {fields}, but the header has {row.expected_columns}",
                )


def _has_end(batch: Any) -> bool:
    """Whether a quote has swallowed the end of the text."""
    return str(batch.column(batch.num_columns - 1)[-1]).endswith(_END)
