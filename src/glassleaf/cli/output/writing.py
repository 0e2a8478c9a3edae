"""Tables to files, a piece at a time: CSV, TSV, JSON lines, Parquet, Arrow."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from glassleaf.cli.reading.files import created, kind_of_output, pa
from glassleaf.errors import require
from glassleaf.explanations.record import as_plain

arrow_csv: Any = require("pyarrow.csv", extra="cli", purpose="Writing CSV files")
parquet: Any = require("pyarrow.parquet", extra="cli", purpose="Writing Parquet files")
ipc: Any = require("pyarrow.ipc", extra="cli", purpose="Writing Arrow files")


class Writer(Protocol):
    """Takes tables with the same columns, one after the other."""

    def write(self, table: Any) -> None: ...


class _Text:
    def __init__(self, sink: Any, schema: Any, delimiter: str) -> None:
        self._sink = sink
        # Arrow's "needed" puts every text in quotes; its "none" refuses texts that need them.
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
        lines = [json.dumps(as_plain(row), ensure_ascii=False) for row in table.to_pylist()]
        if lines:
            self._sink.write(("\n".join(lines) + "\n").encode())


@contextmanager
def writer(path: str, schema: Any, *, as_json: bool = False) -> Iterator[Writer]:
    """A writer for a file, by the end of its name; the file appears when all is written."""
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
