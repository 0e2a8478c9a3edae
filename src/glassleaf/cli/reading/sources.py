"""Any file to chunks of rows: text, Parquet or Arrow, told apart by how it begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from glassleaf.cli.choices import OnError
from glassleaf.cli.failures import DataError
from glassleaf.cli.reading.chunks import Chunk, Source
from glassleaf.cli.reading.delimited import Dialect, open_text
from glassleaf.cli.reading.files import Peekable, format_of, name_of, opened, pa, seekable
from glassleaf.cli.reading.problems import Problems
from glassleaf.errors import require

parquet: Any = require("pyarrow.parquet", extra="cli", purpose="Reading Parquet files")
ipc: Any = require("pyarrow.ipc", extra="cli", purpose="Reading Arrow files")

_ROWS = 65_536


@dataclass(frozen=True)
class ReadOptions:
    """How a call wants data to be read; ``missing`` are further texts that stand for nothing."""

    dialect: Dialect = Dialect()
    missing: tuple[str, ...] = ()
    on_error: OnError = OnError.stop


@contextmanager
def read(path: str, options: ReadOptions) -> Iterator[tuple[Source, Problems]]:
    """A file, or ``-``, as chunks; with the place where unusable rows are noted."""
    problems = Problems(name_of(path), options.on_error)
    try:
        with opened(path) as stream:
            kind = format_of(stream, path, options.dialect.encoding)
            if kind == "text":
                yield open_text(stream, path, options.dialect, problems), problems
                return
            problems.unit = "row"
            with _typed(kind, stream, path) as (schema, batches):
                yield (
                    Source(name_of(path), schema.names, "row", _numbered(batches), False),
                    problems,
                )
    except pa.ArrowInvalid as error:
        raise DataError(f"{name_of(path)} cannot be read: {error}") from None
    except OSError as error:
        if "ompress" in str(error):  # truncated or damaged, in the words of several codecs
            raise DataError(f"{name_of(path)}: {error}") from None
        raise


@contextmanager
def _typed(kind: str, stream: Peekable, path: str) -> Iterator[tuple[Any, Iterable[Any]]]:
    """Schema and batches of a file that knows the types of its columns."""
    if kind == "arrow stream":
        with ipc.open_stream(pa.PythonFile(stream, mode="r")) as reader:
            yield _unique(reader.schema, path), reader
        return
    with seekable(stream, path) as file:
        if kind == "parquet":
            whole = parquet.ParquetFile(file, pre_buffer=False)
            yield _unique(whole.schema_arrow, path), whole.iter_batches(batch_size=_ROWS)
        else:
            reader = ipc.open_file(file)
            numbers = range(reader.num_record_batches)
            yield _unique(reader.schema, path), (reader.get_batch(k) for k in numbers)


def _unique(schema: Any, path: str) -> Any:
    if len(set(schema.names)) < len(schema.names):
        twice = next(name for name in schema.names if schema.names.count(name) > 1)
        raise DataError(f"{name_of(path)} has two columns of the name {twice!r}.")
    return schema


def _numbered(batches: Iterable[Any]) -> Iterator[Chunk]:
    first = 1
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            piece = pa.Table.from_batches([batch.slice(start, _ROWS)])
            yield Chunk(piece, range(first, first + piece.num_rows))
            first += piece.num_rows
