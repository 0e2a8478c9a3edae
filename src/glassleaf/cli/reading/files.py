"""Bytes from anywhere: files or standard input, compressed or not, told apart by how they begin."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from glassleaf.cli.failures import CallError, DataError, no_file
from glassleaf.errors import require
from glassleaf.tree.file.atomic import atomic_file

pa: Any = require("pyarrow", extra="cli", purpose="Reading and writing files")

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
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


def name_of(path: str) -> str:
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
    """What Parquet and Arrow files need: the file itself, or a copy of the stream on disk."""
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


# --- writing -------------------------------------------------------------------------------------


def kind_of_output(path: str) -> tuple[str, str | None]:
    """Format and compression of a file to be written, by the end of its name.

    >>> kind_of_output("scored.csv.gz"), kind_of_output("-"), kind_of_output("a.parquet")
    (('csv', 'gzip'), ('csv', None), ('parquet', None))
    """
    if path == "-":
        return "csv", None
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    codec = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if codec is not None:
        suffixes.pop()
    known = {
        ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "csv", ".parquet": "parquet",
        ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
        ".jsonl": "jsonl", ".ndjson": "jsonl",
    }  # fmt: skip
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in known:
        raise CallError(
            f"--output {path!r}: the end of the name must say what to write:"
            " .csv, .tsv, .parquet, .arrow, .feather or .jsonl, perhaps with .gz or .zst."
        )
    return known[suffix], codec


@contextmanager
def created(path: str, codec: str | None = None) -> Iterator[Any]:
    """A file to write to, in its place only when it is whole; ``-`` is standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if not target.parent.is_dir():
        raise CallError(f"cannot write {path!r}: there is no folder {str(target.parent)!r}.")
    if target.exists() and not target.is_file():  # /dev/null, a named pipe
        with open(path, "wb") as direct:
            yield direct
        return
    with atomic_file(path) as file, _compressed(file, codec) as sink:
        yield sink


@contextmanager
def _compressed(file: IO[bytes], codec: str | None) -> Iterator[Any]:
    if codec is None:
        yield file
        return
    with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), codec) as sink:
        yield sink
