"""Tables to files, chunk by chunk: CSV, TSV, JSON lines, Parquet, Arrow."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from glassleaf.cli.failures import CallError
from glassleaf.errors import require
from glassleaf.explanations.json_data import json_ready
from glassleaf.tree.file.atomic import atomic_file

pa: Any = require("pyarrow", extra="cli", purpose="Writing files")
arrow_csv: Any = require("pyarrow.csv", extra="cli", purpose="Writing CSV files")
parquet: Any = require("pyarrow.parquet", extra="cli", purpose="Writing Parquet files")
ipc: Any = require("pyarrow.ipc", extra="cli", purpose="Writing Arrow files")


_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


class Writer(Protocol):
    """Takes tables with the same columns, one after the other."""

    def write(self, table: Any) -> None: ...


class _Text:
    def __init__(self, sink: Any, schema: Any, delimiter: str) -> None:
        self._sink = sink
        # pyarrow's "needed" quotes every text; its "none" refuses texts that need quotes.
        self._quoting = [
            arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
            for style in ("none", "needed")
        ]
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(schema.names)
        sink.write(header.getvalue().encode())

    def write(self, table: Any) -> None:
        bare, quoted = self._quoting
        try:
            self._sink.write(_csv(table, bare))
        except pa.ArrowInvalid:
            self._sink.write(_csv(table, quoted))


def _csv(table: Any, options: Any) -> bytes:
    text = io.BytesIO()
    arrow_csv.write_csv(table, text, options)
    return text.getvalue()


class _JsonLines:
    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write(self, table: Any) -> None:
        lines = [json.dumps(json_ready(row), ensure_ascii=False) for row in table.to_pylist()]
        if lines:
            self._sink.write(("\n".join(lines) + "\n").encode())


@contextmanager
def writer(path: str, schema: Any, *, as_json: bool = False) -> Iterator[Writer]:
    """A writer for a file; the end of its name tells the format. It appears when it is complete."""
    kind, codec = kind_of_output(path)
    if as_json:
        kind = "jsonl"
    with created(path, codec) as sink:
        if kind == "jsonl":
            yield _JsonLines(sink)
        elif kind in ("csv", "tsv"):
            yield _Text(sink, schema, "," if kind == "csv" else "\t")
        elif kind == "parquet":
            with parquet.ParquetWriter(sink, schema) as rows:
                yield rows
        else:
            with ipc.new_file(sink, schema) as batches:
                yield batches


def kind_of_output(path: str) -> tuple[str, str | None]:
    """Format and compression of an output file, from the end of its name.

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
            f"--output {path!r}: the name must end in .csv, .tsv, .parquet, .arrow, .feather or"
            " .jsonl. Text may be compressed: .csv.gz, .csv.zst."
        )
    return known[suffix], codec


@contextmanager
def created(path: str, codec: str | None = None) -> Iterator[Any]:
    """A file to write to, which appears when it is complete; ``-`` is standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if not target.parent.is_dir():
        raise CallError(f"cannot write {path!r}: there is no folder {str(target.parent)!r}.")
    with atomic_file(path) as file, _compressed(file, codec) as sink:
        yield sink


@contextmanager
def _compressed(file: IO[bytes], codec: str | None) -> Iterator[Any]:
    if codec is None:
        yield file
        return
    with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), codec) as sink:
        yield sink
