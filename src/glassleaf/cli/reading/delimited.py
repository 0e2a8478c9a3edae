"""CSV and its kin, a block of lines at a time, so that every row keeps its line number.

pyarrow parses the blocks, as text. Where a block has something unusual (a row of another length, a
blank line, a line break in quotes) Python's own ``csv`` parses it again and counts the lines: slow,
exact, and rare.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.reading.chunks import Chunk, Source
from glassleaf.cli.reading.files import Peekable, name_of, pa
from glassleaf.cli.reading.problems import Problems
from glassleaf.errors import require

arrow_csv: Any = require("pyarrow.csv", extra="cli", purpose="Reading CSV files")

_BLOCK = 1 << 22
# A quote that is not closed within so many bytes was no quote.
_LONGEST_RECORD = 1 << 26
_DELIMITERS = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Dialect:
    """How the text is written; None: the delimiter is found in the header."""

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."


def open_text(stream: Peekable, path: str, dialect: Dialect, problems: Problems) -> Source:
    """A delimited text as a source of chunks."""
    blocks = _blocks(_utf8(stream, dialect.encoding), path, _delimiter_given(dialect))
    try:
        first, first_line = next(blocks)
    except StopIteration:
        raise DataError(f"{name_of(path)} is empty.") from None
    header, first, line = _header(first, first_line, name_of(path))
    delimiter = _delimiter_given(dialect) or sniffed(header)
    names = _names(next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter)), path)

    def chunks() -> Iterator[Chunk]:
        if first:
            yield _parsed(first, line, names, delimiter, problems)
        for block, start in blocks:
            yield _parsed(block, start, names, delimiter, problems)

    shown = {"\t": "tabs", " ": "spaces"}.get(delimiter, repr(delimiter))
    written = f"separated by {shown}" if delimiter != "," else ""
    return Source(name_of(path), names, "line", chunks(), text=True, written=written)


def _delimiter_given(dialect: Dialect) -> str | None:
    if dialect.delimiter is None:
        return None
    found = _WORDS.get(dialect.delimiter, dialect.delimiter)
    if len(found) != 1 or found in '"\r\n' or ord(found) > 127:
        raise CallError(f"--delimiter {dialect.delimiter!r} must be one character, or: tab.")
    return found


def sniffed(header: str) -> str:
    """The delimiter that cuts the header into most fields.

    >>> sniffed('id;"a, b";c'), sniffed("one")
    (';', ',')
    """
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)


def _names(found: list[str], path: str) -> list[str]:
    names = [name.strip() or f"column_{k}" for k, name in enumerate(found, 1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{name_of(path)}, line 1: column names must be unique, and {twice[0]!r} is there"
            f" {names.count(twice[0])} times."
        )
    return names


# --- blocks --------------------------------------------------------------------------------------


def _utf8(stream: Peekable, encoding: str) -> Iterator[bytes]:
    """The text in UTF-8, in pieces of any size."""
    try:
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        raise CallError(f"--encoding {encoding!r} is unknown; try utf-8 or latin-1.") from None
    decoder = None if is_utf8 else codecs.getincrementaldecoder(encoding)()
    if stream.peek(len(_BOM)) == _BOM:
        stream.read(len(_BOM))
    try:
        while piece := stream.read(_BLOCK):
            yield piece if decoder is None else decoder.decode(piece).encode()
        if decoder is not None:
            yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        raise DataError(f"the text is not in {encoding}: {error.reason}.") from None


def _blocks(
    pieces: Iterator[bytes], path: str, delimiter: str | None
) -> Iterator[tuple[bytes, int]]:
    """Whole records and the line on which they begin; every block ends with a line break."""
    pending, line = b"", 1
    only_returns = None  # line breaks of the old Mac
    for piece in pieces:
        if only_returns is None and piece:
            only_returns = b"\r" in piece and b"\n" not in piece
        pending += piece.replace(b"\r", b"\n") if only_returns else piece
        cut = _end_of_records(pending, delimiter)
        if cut > 0:
            yield pending[:cut], line
            line += pending.count(b"\n", 0, cut)
            pending = pending[cut:]
        elif len(pending) > _LONGEST_RECORD:
            raise _unclosed(pending, line, delimiter, path)
    if pending:
        pending += b"\n"
        if _end_of_records(pending, delimiter) < len(pending):
            raise _unclosed(pending, line, delimiter, path)
        yield pending, line


def _quoting(delimiter: str | None) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Patterns of a closed quoted field, and of a quote that opens one."""
    edges = re.escape(delimiter or "".join(_DELIMITERS)).encode() + b"\n"
    opening = rb"(?:(?<=[" + edges + rb'])|\A)"'
    return re.compile(opening + rb'[^"]*(?:""[^"]*)*"'), re.compile(opening)


def _end_of_records(text: bytes, delimiter: str | None) -> int:
    """Position after the last line break that is not in quotes; 0: there is none."""
    if b'"' not in text:
        return text.rfind(b"\n") + 1
    closed, opening = _quoting(delimiter)
    quoted = [match.span() for match in closed.finditer(text)]
    after = quoted[-1][1] if quoted else 0
    unclosed = opening.search(text, after)
    stop = unclosed.start() if unclosed else len(text)
    for start, end in reversed(quoted):
        found = text.rfind(b"\n", end, stop)
        if found >= 0:
            return found + 1
        stop = start
    return text.rfind(b"\n", 0, stop) + 1


def _unclosed(text: bytes, line: int, delimiter: str | None, path: str) -> DataError:
    closed, opening = _quoting(delimiter)
    after = max((match.end() for match in closed.finditer(text)), default=0)
    found = opening.search(text, after)
    line += text.count(b"\n", 0, found.start() if found else 0)
    return DataError(f"{name_of(path)}, line {line}: a quote is opened and never closed.")


def _header(block: bytes, line: int, source: str) -> tuple[str, bytes, int]:
    """The first record that is not blank, what comes after it, and the line of that."""
    while True:
        end = _end_of_first(block)
        record, block = block[:end], block[end:]
        line += record.count(b"\n")
        if record.strip() or not block:
            return _decoded(record, line - 1, source).rstrip("\r\n"), block, line


def _end_of_first(block: bytes) -> int:
    end = block.find(b"\n") + 1
    while block.count(b'"', 0, end) % 2 and end < len(block):
        end = (block.find(b"\n", end) + 1) or len(block)
    return end


# --- records -------------------------------------------------------------------------------------


def _parsed(block: bytes, line: int, names: list[str], delimiter: str, problems: Problems) -> Chunk:
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=len(block) + 1),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names}, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return _reparsed(block, line, names, delimiter, problems)
    if table.num_rows != block.count(b"\n"):
        return _reparsed(block, line, names, delimiter, problems)
    return Chunk(table, range(line, line + table.num_rows))


def _reparsed(
    block: bytes, line: int, names: list[str], delimiter: str, problems: Problems
) -> Chunk:
    """The block by Python's own parser; rows of another length are problems."""
    csv.field_size_limit(_LONGEST_RECORD)
    text = _decoded(block, line, problems.source)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    numbers: list[int] = []
    last = 0
    for row in reader:
        number, last = line + last, reader.line_num
        if len(row) == len(names):
            rows.append(row)
            numbers.append(number)
        elif any(field.strip() for field in row):
            fields = "field" if len(row) == 1 else "fields"
            problems.add(number, f"{len(row)} {fields}, but the header has {len(names)}")
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    table = pa.table([pa.array(column, pa.string()) for column in columns], names=names)
    return Chunk(table, numbers)


def _decoded(block: bytes, line: int, source: str) -> str:
    try:
        return block.decode()
    except UnicodeDecodeError as error:
        line += block.count(b"\n", 0, error.start)
        raise DataError(
            f"{source}, line {line}: the byte {block[error.start]:#x} is not UTF-8."
            " If you know how the file is encoded, say so, for example: --encoding latin-1"
        ) from None
