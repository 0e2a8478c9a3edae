"""Any file to chunks of rows: text, Parquet or Arrow, compressed or not. Its first bytes tell."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from glassleaf.cli.failures import CallError, DataError, no_file
from glassleaf.cli.options import ReadOptions
from glassleaf.cli.reading.cells import pa
from glassleaf.cli.reading.delimited import open_text
from glassleaf.cli.reading.source import Chunk, Peekable, Problems, Source
from glassleaf.errors import require

parquet: Any = require("pyarrow.parquet", extra="cli", purpose="Reading Parquet files")
ipc: Any = require("pyarrow.ipc", extra="cli", purpose="Reading Arrow files")

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_FORMATS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow stream"}
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel file. Save the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "an old Excel file. Save the table as CSV or Parquet",
    b"FEA1": "a Feather file of version 1. Write it again with version 2",
    b"\x89HDF": "an HDF5 file. Save the table as CSV or Parquet",
    b"\xff\xfe": "a text in UTF-16. Say so: --encoding utf-16",
    b"\xfe\xff": "a text in UTF-16. Say so: --encoding utf-16",
}
_LOOKED_AT = 8
_PIECE = 1 << 20
_ROWS = 65_536


@contextmanager
def read(path: str, options: ReadOptions, may_leave_out: Callable[[str], bool]) -> Iterator[Source]:
    """A file, or ``-``, as chunks of rows.

    A column whose name is not unique is left out if it may be; else it is an error.
    """
    problems = Problems(name_of(path), options.on_error)
    try:
        with opened(path) as stream:
            kind = format_of(stream, path, options.encoding)
            if kind == "text":
                yield open_text(stream, options, problems).with_unique_names(may_leave_out)
                return
            problems.unit = "row"
            with _typed(kind, stream, path) as (schema, batches):
                found = Source(schema.names, _numbered(batches), problems, options, is_text=False)
                yield found.with_unique_names(may_leave_out)
    except pa.ArrowInvalid as error:
        raise DataError(f"{name_of(path)} cannot be read: {error}") from None
    except OSError as error:
        if "ompress" in str(error):  # truncated or damaged, in the words of several codecs
            raise DataError(f"{name_of(path)}: {error}") from None
        raise


def name_of(path: str) -> str:
    """The name of a file in messages."""
    return "standard input" if path == "-" else path


@contextmanager
def opened(path: str) -> Iterator[Peekable]:
    """The bytes of a file or of standard input, decompressed."""
    if path == "-":
        yield _decompressed(_peekable(sys.stdin.buffer))
        return
    if os.path.isdir(path):
        raise CallError(f"{path!r} is a folder; name a file.")
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        raise no_file(Path(path)) from None
    with file:
        yield _decompressed(_peekable(file))


def _peekable(stream: Any) -> Peekable:
    return Peekable(iter(partial(stream.read, _PIECE), b""))


def _decompressed(stream: Peekable) -> Peekable:
    start = stream.peek(_LOOKED_AT)
    for magic, codec in _COMPRESSIONS.items():
        if start.startswith(magic):
            source = pa.PythonFile(stream, mode="r")
            return _decompressed(_peekable(pa.CompressedInputStream(source, codec)))
    return stream


def format_of(stream: Peekable, path: str, encoding: str) -> str:
    """What the bytes are: "parquet", "arrow", "arrow stream", or "text"."""
    start = stream.peek(_LOOKED_AT)
    for magic, name in _FORMATS.items():
        if start.startswith(magic):
            return name
    if not encoding.lower().replace("_", "-").startswith("utf-16"):
        for magic, what in _FOREIGN.items():
            if start.startswith(magic):
                raise DataError(f"{name_of(path)} is {what}.")
    return "text"


@contextmanager
def seekable(stream: Peekable, path: str) -> Iterator[Any]:
    """A file that can be read in any order: the file itself, or a copy of the stream on disk."""
    if path != "-":
        with open(path, "rb") as file:
            if any(file.read(_LOOKED_AT).startswith(magic) for magic in _FORMATS):
                with pa.OSFile(path) as itself:
                    yield itself
                return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy, _PIECE)
        copy.seek(0)
        yield copy


@contextmanager
def _typed(kind: str, stream: Peekable, path: str) -> Iterator[tuple[Any, Iterable[Any]]]:
    """Schema and batches of a Parquet or Arrow file."""
    if kind == "arrow stream":
        with ipc.open_stream(pa.PythonFile(stream, mode="r")) as reader:
            yield reader.schema, reader
        return
    with seekable(stream, path) as file:
        if kind == "parquet":
            whole = parquet.ParquetFile(file, pre_buffer=False)
            yield whole.schema_arrow, whole.iter_batches(batch_size=_ROWS)
        else:
            reader = ipc.open_file(file)
            numbers = range(reader.num_record_batches)
            yield reader.schema, (reader.get_batch(k) for k in numbers)


def _numbered(batches: Iterable[Any]) -> Iterator[Chunk]:
    first = 1
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            piece = pa.Table.from_batches([batch.slice(start, _ROWS)])
            yield Chunk(piece, range(first, first + piece.num_rows))
            first += piece.num_rows
