"""Delimited text, such as CSV. pyarrow reads the cells as text, and reports rows of a wrong length.

This module adds what pyarrow lacks: it finds the delimiter, names the columns, says which byte is
not text, and notices a quote that is never closed.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.cli.reading.cells import pa
from glassleaf.cli.reading.source import Chunk, Peekable, Problems, Source
from glassleaf.errors import require

arrow_csv: Any = require("pyarrow.csv", extra="cli", purpose="Reading CSV files")

# Bytes that are parsed together: at least, and per column. No record may be longer. pyarrow reads
# 32 blocks ahead: larger ones would take much memory.
_BLOCK = 1 << 19
_BLOCK_PER_COLUMN = 64
# Rows of a wrong length after which a command that stops reads no more.
_MANY_INVALID = 1000
_DELIMITERS = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
# The last field of a row that follows every text. A quote that is never closed swallows it.
_END = "\x1aend\x1a"
_UNCLOSED = "a quote is opened and never closed"


@dataclass(frozen=True)
class _Header:
    """The names of the columns, the lines down to the end of their record, bytes that hold it."""

    names: list[str]
    delimiter: str
    n_lines: int
    n_bytes: int


def open_text(stream: Peekable, options: ReadOptions, problems: Problems) -> Source:
    """A delimited text as a source of chunks."""
    delimiter = _delimiter_given(options.delimiter)
    text = Peekable(_utf8(stream, options.encoding, problems.source))
    header = _header(text, delimiter, problems.source, _BLOCK)
    rows = _Rows(text, header, problems)
    shown = {"\t": "tabs", " ": "spaces"}.get(header.delimiter, repr(header.delimiter))
    remark = f"separated by {shown}" if header.delimiter != "," else ""
    return Source(header.names, rows.chunks(), problems, options, is_text=True, remark=remark)


def _delimiter_given(given: str | None) -> str | None:
    if given is None:
        return None
    found = _WORDS.get(given, given)
    if len(found) != 1 or found in '"\r\n' or ord(found) > 127:
        raise CallError(f"--delimiter {given!r} must be one character, or tab.")
    return found


def sniffed(text: str) -> str:
    """The delimiter that cuts the header into most fields.

    >>> sniffed('id;"a, b";c\\n1,2;3,4;5'), sniffed("one")
    (';', ',')
    """
    bare = re.sub(r'"[^"]*"', "", text)
    header = next((line for line in bare.splitlines() if line.strip()), "")
    return max(_DELIMITERS, key=header.count)


def _header(text: Peekable, delimiter: str | None, source: str, n_bytes: int) -> _Header:
    """The first record that is not blank; more bytes are looked at until it ends."""
    start = text.peek(n_bytes)
    is_whole = len(start) < n_bytes
    lines = start.decode(errors="ignore") + ("\n" if is_whole else "") + _END
    used = delimiter or sniffed(lines)
    records = csv.reader(io.StringIO(lines, newline=""), delimiter=used)
    try:
        found = next(filter(lambda record: any(map(str.strip, record)), records))
    except csv.Error as error:
        raise DataError(f"{source}: the header cannot be read: {error}.") from None
    if found[-1].endswith(_END):
        if not is_whole:
            return _header(text, delimiter, source, 2 * n_bytes)
        is_empty = found == [_END]
        raise DataError(f"{source} is empty." if is_empty else f"{source}, record 1: {_UNCLOSED}.")
    names = [name.strip() or f"column_{k}" for k, name in enumerate(found, 1)]
    return _Header(names, used, records.line_num, n_bytes)


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
                f" {encoding}. Name the encoding of the file, for example: --encoding latin-1"
            ) from None
        line += text.count("\n")
        if text:
            yield text.encode()


class _Rows:
    """The rows below the header, numbered as records. The header is record 1."""

    def __init__(self, text: Peekable, header: _Header, problems: Problems) -> None:
        self._header = header
        self._problems = problems
        self._block = max(header.n_bytes, _BLOCK_PER_COLUMN * len(header.names))
        self._last_row = header.delimiter * len(header.names) + _END
        pieces = iter(partial(text.read, self._block), b"")
        self._stream = Peekable(chain(pieces, [f"\n{self._last_row}".encode()]))
        # What is wrong with rows of a wrong length, by number, until the rows before are read.
        self._invalid: dict[int, str] = {}

    def chunks(self) -> Iterator[Chunk]:
        number = 2
        try:
            for batch in self._batches():
                candidates = np.arange(number, number + batch.num_rows + len(self._invalid))
                numbers = candidates[~np.isin(candidates, list(self._invalid))][: batch.num_rows]
                if str(batch.column(batch.num_columns - 1)[-1]).endswith(_END):
                    raise self._error(numbers[-1], _UNCLOSED)
                number = int(numbers[-1]) + 1
                self._note_invalid(before=number)
                yield Chunk(pa.Table.from_batches([batch]), numbers)
        except pa.ArrowInvalid as error:
            if "straddl" in str(error):
                what = f"{_UNCLOSED}, or the record is longer than {self._block:,} bytes"
                raise self._error(number, what) from None
            if len(self._invalid) < _MANY_INVALID:
                raise
        if self._invalid:
            self._note_invalid(before=max(self._invalid) + 1)
            names = self._header.names
            yield Chunk(pa.table({name: pa.array([], pa.string()) for name in names}), [])

    def _batches(self) -> Iterator[Any]:
        """Batches of text with at least one row each."""
        names = self._header.names
        rows = arrow_csv.open_csv(
            pa.PythonFile(self._stream, mode="r"),
            read_options=arrow_csv.ReadOptions(
                column_names=names,
                skip_rows=self._header.n_lines,
                block_size=self._block,
                use_threads=False,  # with threads, invalid rows have no numbers
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._header.delimiter,
                newlines_in_values=True,
                invalid_row_handler=self._keep_invalid,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names}, strings_can_be_null=False
            ),
        )
        return (batch for batch in rows if batch.num_rows)

    def _keep_invalid(self, row: Any) -> str:
        """Called by pyarrow, perhaps ahead of the batches that it hands out."""
        if row.text == self._last_row:
            return "skip"
        fields = "field" if row.actual_columns == 1 else "fields"
        what = f"{row.actual_columns} {fields}, but the header has {row.expected_columns}"
        if row.text.endswith(_END):
            what = _UNCLOSED
        elif not row.text.replace(self._header.delimiter, "").strip():
            what = ""
        self._invalid[row.number - self._header.n_lines + 1] = what
        is_over = self._problems.on_error is OnError.stop and len(self._invalid) >= _MANY_INVALID
        return "error" if is_over else "skip"

    def _note_invalid(self, before: int) -> None:
        for number in [number for number in self._invalid if number < before]:
            what = self._invalid.pop(number)
            if what == _UNCLOSED:
                raise self._error(number, what)
            if what:
                self._problems.add(number, what)

    def _error(self, number: int, what: str) -> DataError:
        return DataError(f"{self._problems.source}, record {number}: {what}.")
