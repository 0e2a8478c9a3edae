"""Training sets that come in pieces: collections of an engine, and folders of Parquet files.

The rows are read where they are needed, each piece by :func:`read_part`, which checks what whole
tables are checked for before a fit: columns, types, targets, weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from glassleaf.checks import weights_of_rows
from glassleaf.errors import describe
from glassleaf.rows.backends import Backend, ShardedBackend, engines, total
from glassleaf.rows.backends.engines import Engine
from glassleaf.rows.backends.progress import reported
from glassleaf.rows.backends.stream import StreamBackend
from glassleaf.rows.summarize import Part
from glassleaf.tables.parquet import ParquetPiece, ParquetRows, kind_of
from glassleaf.tables.table import ArrayTable, FrameTable, Table, column_name, frame_table
from glassleaf.tables.targets import class_labels, numeric_target

Floats = NDArray[np.float64]

# Size of the numbers of one piece of a Parquet folder, and the fewest rows worth a piece.
_PIECE_BYTES = 1 << 27
_FEWEST_ROWS = 1 << 14
NO_ROWS = "There are no rows, or sample_weight is zero for all of them."
# The backends in this process.
_HERE = ("local", "stream")


def is_partitioned(X: Any) -> bool:
    """Whether X is a collection of an engine, or Parquet files."""
    return isinstance(X, (str, Path, ParquetRows)) or engines.is_collection(X)


def check_backend(backend: Any, in_memory: bool) -> None:
    """Whether there is such a backend, and whether it takes such a table."""
    engine = engines.engine_meant(backend)
    if engine is None and not _is_here(backend):
        accepted = list(map(repr, _HERE))
        for own in engines.ENGINES:
            accepted += [repr(own.NAME), *own.OTHER_NAMES]
        raise ValueError(f"backend={describe(backend)} must be one of {', '.join(accepted)}.")
    if in_memory and not (isinstance(backend, str) and backend == "local"):
        collection = "" if engine is None else f"a {engine.COLLECTION}, or "
        raise TypeError(
            f"backend={describe(backend)} takes {collection}the path of Parquet files; X is a table"
            " in memory, for which backend is 'local'."
        )


def _is_here(backend: Any) -> bool:
    return isinstance(backend, str) and backend in _HERE


class Outline(FrameTable):
    """A table without rows: names and types. A column of Python objects counts as text."""

    def holds_text(self, column: int) -> bool:
        dtype = self._dtypes[column]
        return dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object)


@dataclass(frozen=True)
class Reading:
    """What to look for in every piece: columns with their kinds, target and weight by name."""

    names: tuple[str, ...] | None
    n_columns: int
    is_text: tuple[bool, ...]
    target: str | None
    weight: str | None
    numeric_target: bool
    skip_unusable: bool = False


@dataclass(frozen=True)
class Pieces:
    """A training set in pieces, and the table without rows that says what its columns are."""

    outline: Table
    native: Any  # the outline as it came, for scikit-learn's check of names
    items: tuple[tuple[Any, Any, Any], ...]  # X, y, weight of every piece
    reading: Reading
    engine: Engine | None = None  # whose collection it is

    @contextmanager
    def open(self, backend: Any, n_threads: int) -> Iterator[ShardedBackend]:
        """The backend in which the pieces are read, until the end of a context."""
        meant = engines.engine_meant(backend)
        if self.engine is not None and meant is not self.engine:
            raise ValueError(
                f"X is a {self.engine.COLLECTION} and backend={describe(backend)}: set it to"
                f" {self.engine.NAME!r}."
            )
        read: Callable[..., Part] = read_part
        n_columns = self.outline.n_columns
        opened: ShardedBackend
        if meant is None:
            opened, read = StreamBackend(n_threads, n_columns), reported(read_part)
        else:
            opened = meant.connect(backend, n_threads, n_columns)
        with opened:
            opened.read(
                read, [(*item, number, self.reading) for number, item in enumerate(self.items)]
            )
            yield opened


def rows_per_piece(n_columns: int) -> int:
    """How many rows of a Parquet folder are read at a time.

    >>> rows_per_piece(30)
    559240
    """
    return max(_PIECE_BYTES // (8 * max(n_columns, 1)), _FEWEST_ROWS)


def find_pieces(X: Any, y: Any, sample_weight: Any, numeric_target: bool) -> Pieces:
    """The pieces of whatever came in; nothing but types is read."""
    if isinstance(y, str) and isinstance(sample_weight, str) and y == sample_weight:
        raise ValueError(f"y and sample_weight are the same column, {y!r}.")
    if isinstance(X, (str, Path)):
        X = ParquetRows(Path(X))
    if isinstance(X, ParquetRows):
        return _parquet_pieces(X, y, sample_weight, numeric_target)
    engine = engines.engine_of(X)
    assert engine is not None
    return _collection_pieces(engine, X, y, sample_weight, numeric_target)


def _collection_pieces(engine: Engine, X: Any, y: Any, weight: Any, numeric_target: bool) -> Pieces:
    meta = engine.outline(X)
    table = _outline(meta, [name for name in (y, weight) if isinstance(name, str)])
    xs = engine.pieces(X)
    columns: list[list[Any]] = []
    for name, given in (("y", y), ("sample_weight", weight)):
        if given is None or isinstance(given, str):
            columns.append([None] * len(xs))
            continue
        if not engine.is_collection(given):
            raise TypeError(
                f"{name}={describe(given)} must be a {engine.COLLECTION}, as X is, or the name of a"
                " column of X."
            )
        columns.append(engine.pieces(given))
        if len(columns[-1]) != len(xs):
            raise ValueError(
                f"X has {len(xs)} partitions and {name} has {len(columns[-1])}: they must be the"
                " same rows in the same partitions."
            )
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    reading = _reading(table, y, weight, numeric_target)
    items = tuple(zip(xs, *columns, strict=True))
    return Pieces(table, _native(table, meta), items, reading, engine)


def _native(table: Table, meta: Any) -> Any:
    return table.frame.to_native() if isinstance(table, FrameTable) else meta


def _parquet_pieces(rows: ParquetRows, y: Any, weight: Any, numeric_target: bool) -> Pieces:
    for name, given in (("y", y), ("sample_weight", weight)):
        if not isinstance(given, str) and not (given is None and name == "sample_weight"):
            raise TypeError(
                f"{name}={describe(given)} must be the name of a column, for X is a Parquet folder."
            )
    meta = rows.schema.empty_table()
    table = _outline(meta, [name for name in (y, weight) if name is not None])
    if weight is not None and kind_of(rows.schema.field(weight).type) != "numbers":
        raise TypeError(f"sample_weight must be numbers; {weight!r} holds something else.")
    most = rows_per_piece(table.n_columns)
    reading = replace(_reading(table, y, weight, numeric_target), skip_unusable=rows.skip_unusable)
    items = tuple((item, None, None) for item in rows.pieces(most))
    return Pieces(table, _native(table, meta), items, reading)


def _outline(meta: Any, others: Sequence[str]) -> Table:
    """Names and types of the columns, without the target and the weight."""
    if getattr(meta, "ndim", 2) != 2:
        raise ValueError(f"X has {meta.ndim} dimension(s); a table has rows and columns.")
    if isinstance(meta, np.ndarray):
        if meta.dtype.kind not in "fiub":
            raise TypeError(f"X has the type {meta.dtype}; an array must hold numbers.")
        return ArrayTable(meta)
    frame = frame_table(meta).frame
    absent = [name for name in others if name not in frame.columns]
    if absent:
        raise ValueError(f"X has no column {absent[0]!r}.")
    return Outline(frame.drop(list(others)))


def _reading(table: Table, y: Any, weight: Any, numeric_target: bool) -> Reading:
    names = None if table.names is None else tuple(table.names)
    is_text = tuple(table.holds_text(j) for j in range(table.n_columns))
    target, weight = (given if isinstance(given, str) else None for given in (y, weight))
    return Reading(names, table.n_columns, is_text, target, weight, numeric_target)


# --- where the rows are --------------------------------------------------------------------------


def read_part(X: Any, y: Any, weight: Any, number: int, reading: Reading) -> Part:
    """One piece, checked; columns may come in another order."""
    where = f"Partition {number}"
    names = [name for name in (reading.target, reading.weight) if name is not None]
    if isinstance(X, ParquetPiece):
        where = X.path
        X = X.read([*(reading.names or ()), *names])
        if reading.skip_unusable:
            X = X.filter(is_usable(X, reading.target, reading.weight))
    table: Table
    if reading.names is None:
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != reading.n_columns:
            raise ValueError(f"{where} has the shape {X.shape}, not {reading.n_columns} columns.")
        if np.isinf(X).any():
            raise ValueError(f"{where} contains infinity. Replace it by a missing value.")
        table = ArrayTable(X)
    else:
        frame = frame_table(X).frame
        place = {str(name): k for k, name in enumerate(frame.columns)}
        odd = {*reading.names, *names} ^ place.keys()
        if odd:
            raise ValueError(f"{where} has other columns than X: {', '.join(sorted(odd))}.")
        own: dict[str | None, Any] = {name: frame[:, place[name]].to_numpy() for name in names}
        y, weight = own.get(reading.target, y), own.get(reading.weight, weight)
        table = FrameTable(frame[:, [place[name] for name in reading.names]], where)
        _check_kinds(table, reading, where)
    with _errors_of(where):
        as_target = numeric_target if reading.numeric_target else class_labels
        target = as_target(y, table.n_rows)
        weights = weights_of_rows(weight, table.n_rows)
    return Part(table, target, weights, number)


def is_usable(rows: Any, target: str | None, weight: str | None) -> NDArray[np.bool_]:
    """Which rows of a pyarrow table have target and weight, and no infinite number."""
    usable = np.ones(rows.num_rows, dtype=bool)
    for field in rows.schema:
        needed = field.name in (target, weight)
        if kind_of(field.type) == "numbers":
            values = rows[field.name].cast("float64", safe=False).to_numpy()
            usable &= ~np.isinf(values)
            if needed:
                usable &= ~np.isnan(values)
            if field.name == weight:
                usable &= values >= 0
        elif needed:
            usable &= rows[field.name].is_valid().to_numpy()
    return usable


def _check_kinds(table: Table, reading: Reading, where: str) -> None:
    for j, is_text in enumerate(reading.is_text):
        if table.holds_text(j) == is_text or (is_text and not table.labels(j).values):
            continue
        kinds = ("text", "numbers") if is_text else ("numbers", "text")
        raise TypeError(
            f"{where}: column {column_name(table, j)!r} holds {kinds[1]}, and {kinds[0]} elsewhere."
        )


@contextmanager
def _errors_of(where: str) -> Iterator[None]:
    """Let errors say in which piece the trouble is."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None


# --- targets of all parts ------------------------------------------------------------------------


@dataclass(frozen=True)
class Labels:
    """Rows and weight of every label, and the type of all of them together."""

    rows: dict[Any, int]
    weight: dict[Any, float]
    dtype: np.dtype[Any]

    def __add__(self, other: Labels) -> Labels:
        rows, weight = dict(self.rows), dict(self.weight)
        for label, count in other.rows.items():
            rows[label] = rows.get(label, 0) + count
            weight[label] = weight.get(label, 0.0) + other.weight[label]
        return Labels(rows, weight, self._common_type(other))

    def _common_type(self, other: Labels) -> np.dtype[Any]:
        """The type of the labels of both, as one table has it; without labels there is none."""
        if not self.rows or not other.rows:
            return self.dtype if self.rows else other.dtype
        return np.promote_types(self.dtype, other.dtype)


def count_labels(part: Part) -> Labels:
    """Rows and weight of every label of a part."""
    labels, codes = np.unique(part.y, return_inverse=True)
    rows = np.bincount(codes, minlength=len(labels)).tolist()
    weight = np.bincount(codes, part.weight, minlength=len(labels)).tolist()
    names = labels.tolist()
    return Labels(
        dict(zip(names, rows, strict=True)), dict(zip(names, weight, strict=True)), labels.dtype
    )


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest target among the rows that have a weight, and their number."""

    low: float
    high: float
    n_rows: int

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(
            min(self.low, other.low), max(self.high, other.high), self.n_rows + other.n_rows
        )


def find_extremes(part: Part) -> Extremes:
    """The range of a part's targets."""
    y = part.y[part.weight > 0]
    return Extremes(float(y.min(initial=np.inf)), float(y.max(initial=-np.inf)), len(y))


def use_weighted(part: Part) -> Part:
    """The rows of a part that have a weight."""
    used = part.weight > 0
    if used.all():
        return part
    rows = np.flatnonzero(used)
    return Part(part.table.take(rows), part.y[rows], part.weight[rows], part.number)


def encode_labels(part: Part, number: dict[Any, float], factor: dict[Any, float]) -> Part:
    """A part with numbers instead of labels, and weights times those of the classes."""
    labels, codes = np.unique(part.y, return_inverse=True)
    names = labels.tolist()
    numbers = np.array([number.get(name, 0.0) for name in names], dtype=np.float64)
    times = np.array([factor[name] for name in names], dtype=np.float64)
    if len(names):
        part = replace(part, y=numbers[codes], weight=part.weight * times[codes])
    else:
        part = replace(part, y=np.zeros(0))
    return use_weighted(part)


def check_rows(backend: Backend) -> Extremes:
    """The range of all targets; an error if no row has a weight."""
    found: Extremes = total(backend, find_extremes)
    if not found.n_rows:
        raise ValueError(NO_ROWS)
    return found
