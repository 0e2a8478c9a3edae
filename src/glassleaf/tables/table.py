"""Any table in, columns out: the only place that knows numpy from pandas from polars.

A :class:`Table` hands out one column at a time, either as float64 with NaN for missing
(``numeric``) or as labels (``labels``). What a fitted model must remember of a table is a tuple
of :class:`Column`; ``raw_matrix`` turns any later table into the one form that prediction reads:
a float64 matrix with categories as codes, NaN for missing (and, marked, for special values; see
``tables.special``) and ``UNKNOWN`` for a new category.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from glassleaf.errors import describe
from glassleaf.tables.categories import CategoryCodes
from glassleaf.tables.cells import is_missing
from glassleaf.tables.dates import MONTHS, WEEKDAYS, DatePart
from glassleaf.tables.special import Special, with_states

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
RowIndex = slice | NDArray[np.intp]

MISSING = -1  # code of a missing category while learning; NaN in a raw matrix
UNKNOWN = -1.0  # a category that training never saw, in a raw matrix

# Rows per piece when predicting: large enough to amortize a call, small enough for any memory.
_SLICE_ROWS = 65_536
# Beyond this, two whole numbers may be the same float.
_LARGEST_WHOLE = 2.0**53


class Rare(Enum):
    """While learning, the category that all rare ones of a column share; see ``rows.rare``."""

    RARE = "rare"


RARE = Rare.RARE


@dataclass(frozen=True)
class Column:
    """An input column as the model knows it; ``categories`` is None for a numeric one.

    ``special`` are numbers that stand for something else, see ``tables.special``.
    """

    name: str
    categories: tuple[Any, ...] | None = None
    date: DatePart | None = None  # what it is of a column of dates
    special: tuple[Special, ...] = ()

    @property
    def is_input(self) -> bool:
        """Whether it is a column of the user's table, not one more part of a date."""
        return self.date is None or self.date.is_input

    @property
    def date_unit(self) -> str | None:
        """Of days, the unit in which they are written as dates; else None."""
        return self.date.unit if self.date is not None and self.date.is_input else None

    @property
    def is_categorical(self) -> bool:
        return self.categories is not None

    @property
    def codes(self) -> tuple[Any, ...]:
        """What splits send to a side one by one: categories, or the words of special values."""
        return (
            tuple(word for _, word in self.special) if self.categories is None else self.categories
        )


class Labels:
    """A column of categories: ``values[codes[i]]`` is row i's label, code -1 is missing."""

    def __init__(self, codes: Codes, values: Sequence[Any]) -> None:
        self.codes = codes
        self.values = values

    def sorted(self) -> Labels:
        """The same labels with only the values that occur, in an order that rows do not decide."""
        seen = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values)) > 0
        kept = [value for value, is_seen in zip(self.values, seen, strict=True) if is_seen]
        return self.recoded(tuple(ordered(kept)))

    def recoded(self, categories: Sequence[Any]) -> Labels:
        """Codes into ``categories``; a label that is not among them is rare, or else missing."""
        position = {value: code for code, value in enumerate(categories)}
        other = position.get(RARE, MISSING)
        translation = np.array(
            [position.get(value, other) for value in self.values] + [MISSING], dtype=np.int32
        )
        return Labels(translation[self.codes], categories)


class Table(Protocol):
    """Columns by position: all that a source of rows has to give."""

    n_rows: int
    names: list[str] | None
    is_named: bool  # whether all names are text, as scikit-learn wants them
    n_columns: int

    def numeric(self, column: int) -> Floats:
        """Values as float64, NaN where missing; not to be written to, for they may be shared."""
        ...

    def numeric_columns(self, columns: Sequence[int]) -> list[Floats]:
        """The same for several columns, read together where that is faster."""
        ...

    def labels(self, column: int) -> Labels:
        """Values as labels."""
        ...

    def holds_text(self, column: int) -> bool:
        """Whether the column's own type says that it is one of categories."""
        ...

    def take(self, rows: RowIndex) -> Table:
        """Some of the rows."""
        ...


def date_parts(table: Table) -> tuple[DatePart | None, ...]:
    """What every column is of a column of dates; None for all others."""
    known = table.dates if isinstance(table, FrameTable) else {}
    return tuple(known.get(j) for j in range(table.n_columns))


def column_name(table: Table, column: int) -> str:
    """The column's own name, or scikit-learn's ``x0``, ``x1``, ... where there is none."""
    return table.names[column] if table.names is not None else f"x{column}"


class ArrayTable:
    """A two-dimensional array of numbers."""

    names: list[str] | None = None
    is_named = False

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values
        self.n_rows, self.n_columns = values.shape

    def numeric(self, column: int) -> Floats:
        return np.array(self.values[:, column], dtype=np.float64)

    def numeric_columns(self, columns: Sequence[int]) -> list[Floats]:
        # Adjacent columns of a row-major array: one pass over its memory, not one for each.
        first, last = min(columns), max(columns) + 1
        several = np.array(self.values[:, first:last].T, dtype=np.float64, order="C")
        return [several[column - first] for column in columns]

    def labels(self, column: int) -> Labels:
        if self.values.dtype.kind in "iu":
            return _integers_as_labels(self.values[:, column])
        return _numbers_as_labels(self.numeric(column), f"x{column}")

    def holds_text(self, column: int) -> bool:
        return False

    def take(self, rows: RowIndex) -> Table:
        return ArrayTable(self.values[rows])


class SparseTable:
    """A scipy sparse matrix; absent entries are zeros."""

    names: list[str] | None = None
    is_named = False

    def __init__(self, values: Any) -> None:
        self.values = sparse.csc_array(values)
        self.values.sum_duplicates()
        self.n_rows, self.n_columns = self.values.shape

    def entries(self, column: int) -> tuple[NDArray[np.int64], Floats]:
        """Rows and values of the stored entries of a column."""
        span = slice(self.values.indptr[column], self.values.indptr[column + 1])
        rows = self.values.indices[span].astype(np.int64)
        return rows, self.values.data[span].astype(np.float64)

    def numeric(self, column: int) -> Floats:
        out = np.zeros(self.n_rows)
        rows, values = self.entries(column)
        out[rows] = values
        return out

    def numeric_columns(self, columns: Sequence[int]) -> list[Floats]:
        return [self.numeric(column) for column in columns]

    def labels(self, column: int) -> Labels:
        return _numbers_as_labels(self.numeric(column), f"x{column}")

    def holds_text(self, column: int) -> bool:
        return False

    def take(self, rows: RowIndex) -> Table:
        return SparseTable(self._by_rows[rows])

    @cached_property
    def _by_rows(self) -> Any:
        return self.values.tocsr()


class ObjectTable:
    """A two-dimensional array of Python objects: each column is numbers or text."""

    names: list[str] | None = None
    is_named = False

    def __init__(self, values: NDArray[np.object_]) -> None:
        self.values = values
        self.n_rows, self.n_columns = values.shape

    def numeric(self, column: int) -> Floats:
        return _objects_as_numbers(self.values[:, column], f"x{column}")

    def numeric_columns(self, columns: Sequence[int]) -> list[Floats]:
        return [self.numeric(column) for column in columns]

    def labels(self, column: int) -> Labels:
        return _objects_as_labels(self.values[:, column], f"x{column}")

    def holds_text(self, column: int) -> bool:
        return any(isinstance(value, str) for value in self.values[:, column])

    def take(self, rows: RowIndex) -> Table:
        return ObjectTable(self.values[rows])


class FrameTable:
    """A pandas, polars, pyarrow, ... table, read through narwhals.

    ``where`` is where the rows are, for messages, if they are not all that was given. ``dates``
    says which columns are parts of dates, once ``tables.dated`` has made them.
    """

    def __init__(
        self, frame: nw.DataFrame[Any], where: str = "", dates: Mapping[int, DatePart] | None = None
    ) -> None:
        self.frame = frame
        self.where = where
        self.dates: Mapping[int, DatePart] = dates or {}
        self.names: list[str] | None = [str(name) for name in frame.columns]
        self.is_named = all(isinstance(name, str) for name in frame.columns)
        self.n_rows, self.n_columns = frame.shape
        self._dtypes = list(frame.schema.values())
        self.remembers = False
        self._columns: list[nw.Series[Any]] = []
        self._numbers: dict[int, Floats] = {}

    def _series(self, column: int) -> nw.Series[Any]:
        if not self._columns:
            self._columns = list(self.frame.iter_columns())
        return self._columns[column]

    def numeric(self, column: int) -> Floats:
        if column in self._numbers:
            return self._numbers[column]
        values = self._read_numbers(column)
        if self.remembers:
            self._numbers[column] = values
        return values

    def _read_numbers(self, column: int) -> Floats:
        series = self._series(column)
        name = column_name(self, column)
        if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
            if series.dtype == nw.Object:
                return _objects_as_numbers(series.to_numpy(), name)
            if series.is_null().all():
                return np.full(self.n_rows, np.nan)
            raise _unusable(name, series.dtype)
        native = series.to_native()
        if nw.dependencies.is_pyarrow_chunked_array(native):
            # Arrow's own cast, for integers of more than 53 bits have to be rounded.
            given = native.cast("float64", safe=False).to_numpy()
        else:
            is_plain = series.dtype == nw.Float64
            given = (series if is_plain else series.cast(nw.Float64)).to_numpy()
        values = np.asarray(given, dtype=np.float64)
        if np.isinf(values).any():
            column_text = f"{self.where}: column" if self.where else "Column"
            raise ValueError(
                f"{column_text} {name!r} contains infinity. Replace it by a number or by a missing"
                " value."
            )
        return values

    def numeric_columns(self, columns: Sequence[int]) -> list[Floats]:
        return [self.numeric(column) for column in columns]

    def labels(self, column: int) -> Labels:
        series = self._series(column)
        if series.dtype.is_integer() and not series.is_null().any():
            return _integers_as_labels(np.asarray(series.to_numpy()))
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return _numbers_as_labels(self.numeric(column), column_name(self, column))
        if series.dtype == nw.Object:
            return _objects_as_labels(series.to_numpy(), column_name(self, column))
        if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
            if series.is_null().all():
                return Labels(np.full(self.n_rows, MISSING, dtype=np.int32), [])
            raise _unusable(column_name(self, column), series.dtype)
        native = series.to_native()
        if hasattr(native, "cat") and hasattr(native.cat, "codes"):
            codes, values = native.cat.codes.to_numpy(), native.cat.categories
            return Labels(np.asarray(codes, dtype=np.int32), list(values))
        if hasattr(native, "factorize") and series.dtype == nw.String:
            codes, values = native.factorize()
            return Labels(np.asarray(codes, dtype=np.int32), list(values))
        text = series.cast(nw.String)
        values = text.drop_nulls().unique().to_list()
        if not values:
            return Labels(np.full(self.n_rows, MISSING, dtype=np.int32), [])
        codes = text.replace_strict(
            values, range(len(values)), default=MISSING, return_dtype=nw.Int32
        )
        return Labels(np.asarray(codes.to_numpy(), dtype=np.int32), values)

    def holds_text(self, column: int) -> bool:
        dtype = self._dtypes[column]
        if dtype == nw.Object:
            return any(isinstance(value, str) for value in self._series(column).to_numpy())
        return dtype in (nw.String, nw.Categorical, nw.Enum)

    def take(self, rows: RowIndex) -> Table:
        return FrameTable(self.frame[rows], self.where, self.dates)


def with_column(table: Table, name: str, values: Floats) -> Table:
    """The table with one more column of numbers at its end; an array has no names."""
    if isinstance(table, FrameTable):
        backend = table.frame.implementation
        series = nw.new_series(name, values, nw.Float64, backend=backend)
        native = table.frame.to_native()
        if hasattr(native, "index"):
            series = nw.maybe_set_index(series, index=nw.maybe_get_index(table.frame))
        return FrameTable(table.frame.with_columns(series), table.where, table.dates)
    if isinstance(table, SparseTable):
        more: Any = sparse.csc_array(values[:, None])
        return SparseTable(sparse.hstack([table.values, more]))
    assert isinstance(table, (ArrayTable, ObjectTable))
    return type(table)(np.column_stack([table.values, values]))


# Cells of a frame up to which it remembers its columns as numbers.
_REMEMBERED_CELLS = 4_000_000


def remembering(table: Table) -> Table:
    """The table; a frame that is not large then reads every column of numbers once.

    A fit in one piece asks for each several times, and finding and converting it takes time.
    """
    if isinstance(table, FrameTable):
        table.remembers = table.n_rows * table.n_columns <= _REMEMBERED_CELLS
    return table


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns that narwhals can read."""
    return bool(nw.dependencies.is_into_dataframe(X))


def is_one_row_or_column(X: Any) -> bool:
    """Whether X has names but only one dimension: a Series, or a dict."""
    is_dict = isinstance(X, Mapping) and not sparse.issparse(X)  # some sparse arrays are dicts
    return is_dict or bool(nw.dependencies.is_into_series(X))


def frame_table(X: Any) -> FrameTable:
    """A named table, checked for the things that narwhals leaves open."""
    frame = nw.from_native(X, eager_only=True)
    kinds = {type(name).__name__ for name in frame.columns}
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your"
            f" input has {sorted(kinds)} as feature name / column name types. If you want feature"
            " names to be stored and validated, you must convert them all to strings, by using"
            " X.columns = X.columns.astype(str) for example."
        )
    names = [str(name) for name in frame.columns]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"Column names must be unique; these are not: {', '.join(twice)}.")
    return FrameTable(frame)


def array_table(X: Any) -> ArrayTable | SparseTable | ObjectTable:
    """A two-dimensional array or sparse matrix that scikit-learn has validated."""
    if sparse.issparse(X):
        return SparseTable(X)
    if X.dtype.kind in "OUS":
        return ObjectTable(X.astype(object))
    return ArrayTable(X)


# --- what the model remembers --------------------------------------------------------------------


def raw_matrix(table: Table, columns: Sequence[Column]) -> Floats:
    """The table as prediction reads it; see the module's docstring."""
    if isinstance(table, ArrayTable) and not any(column.codes for column in columns):
        return np.array(table.values, dtype=np.float64, order="C")
    out = np.empty((table.n_rows, len(columns)))
    for j, column in enumerate(columns):
        if column.categories is None:
            if table.holds_text(j) and (table.labels(j).codes != MISSING).any():
                raise ValueError(
                    f"Column {column.name!r} was numeric when the model was fitted"
                    " and holds text now."
                )
            out[:, j] = with_states(table.numeric(j), column.special)
            continue
        out[:, j] = _known_codes(table.labels(j), column)
    return out


def _known_codes(found: Labels, column: Column) -> Floats:
    """Every row's code of a category, NaN where it is missing."""
    code_of = CategoryCodes(column.name, column.categories or (), int(UNKNOWN))
    translation = np.full(len(found.values) + 1, np.nan)  # the last is that of MISSING
    for k in np.unique(found.codes[found.codes >= 0]).tolist():
        translation[k] = code_of(found.values[k])
    return translation[found.codes]


def raw_slices(table: Table, columns: Sequence[Column]) -> Iterator[tuple[slice, Floats]]:
    """``raw_matrix`` a bounded number of rows at a time."""
    for start in range(0, table.n_rows, _SLICE_ROWS):
        stop = min(start + _SLICE_ROWS, table.n_rows)
        part = table if stop - start == table.n_rows else table.take(slice(start, stop))
        yield slice(start, stop), raw_matrix(part, columns)


def select_columns(table: Table, chosen: Any, parameter: str) -> NDArray[np.bool_]:
    """Columns named by a parameter (names, positions or a mask) as a mask."""
    mask = np.zeros(table.n_columns, dtype=np.bool_)
    places = Places(table)
    items = np.asarray(chosen, dtype=object) if not isinstance(chosen, str) else None
    if items is None or items.ndim != 1:
        raise TypeError(
            f"{parameter} must be a list of column names, of positions, or a mask;"
            f" got {describe(chosen)}."
        )
    if len(items) == len(places.inputs) and all(isinstance(i, (bool, np.bool_)) for i in items):
        items = np.flatnonzero(items.astype(np.bool_))
    for item in items:
        mask[places.all_of(item, parameter)] = True
    return mask


def column_signs(table: Table, given: Any, parameter: str) -> NDArray[np.int8]:
    """Signs by column (a dict by name or position, or one per column) as an array."""
    signs = np.zeros(table.n_columns, dtype=np.int8)
    if given is None:
        return signs
    places = Places(table)
    if isinstance(given, Mapping):
        pairs = [(places.one(item, parameter), sign) for item, sign in given.items()]
    else:
        listed = list(given) if isinstance(given, (Sequence, np.ndarray)) else []
        if isinstance(given, str) or len(listed) != len(places.inputs):
            raise ValueError(
                f"{parameter}={describe(given)} must be a dict from column names to 1, 0 or -1, or"
                f" have one of these for each of the {len(places.inputs)} columns."
            )
        pairs = list(zip(places.inputs, listed, strict=True))
    for column, sign in pairs:
        if isinstance(sign, (bool, np.bool_)) or sign not in (-1, 0, 1):
            raise ValueError(
                f"{parameter} of column {column_name(table, column)!r} is {describe(sign)}; it must"
                " be 1 (never falls), -1 (never rises) or 0 (free)."
            )
        signs[column] = sign
    return signs


class Places:
    """Where the columns are that names and positions mean: those of the user's table.

    The name of a column of dates means all its parts; "days of" it, the first alone.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._dates = date_parts(table)
        self.inputs = [j for j, own in enumerate(self._dates) if own is None or own.is_input]
        self._by_name = {name: place for place, name in enumerate(table.names or ())}
        self._alone = {f"days of {self._name(j)}": j for j in self.inputs if self._dates[j]}

    def _name(self, column: int) -> str:
        return column_name(self._table, column)

    def one(self, item: Any, parameter: str) -> int:
        """The column itself, of dates their days."""
        return self._alone[item] if self._is_alone(item) else self._position(item, parameter)

    def all_of(self, item: Any, parameter: str) -> list[int]:
        """The column, with all parts of a date."""
        found = self.one(item, parameter)
        own = self._dates[found]
        if own is None or not own.is_input or self._is_alone(item):
            return [found]
        return [j for j, part in enumerate(self._dates) if part and part.source == own.source]

    def _is_alone(self, item: Any) -> bool:
        return isinstance(item, str) and item in self._alone and item not in self._by_name

    def _position(self, item: Any, parameter: str) -> int:
        if isinstance(item, str):
            if self._table.names is None:
                raise ValueError(
                    f"{parameter} names the column {item!r}, but X has no column names."
                    " Use positions or pass a DataFrame."
                )
            if item not in self._by_name:
                raise ValueError(f"{parameter} names the column {item!r}, which X does not have.")
            return self._by_name[item]
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, np.integer)):
            raise TypeError(
                f"{parameter} must be a list of column names, of positions, or a mask with one"
                f" entry per column; it contains {describe(item)}."
            )
        n_columns = len(self.inputs)
        if not -n_columns <= item < n_columns:
            raise ValueError(
                f"{parameter} contains the position {int(item)}, but X has {n_columns} columns."
            )
        return self.inputs[int(item)]


# --- odds and ends of column types ---------------------------------------------------------------


def _numbers_as_labels(values: Floats, name: str) -> Labels:
    present = ~np.isnan(values)
    if np.abs(values[present]).max(initial=0.0) > _LARGEST_WHOLE:
        raise ValueError(
            f"Column {name!r} holds categories beyond 2^53, where floats cannot tell whole numbers"
            " apart. Give them as integers or as text."
        )
    codes = np.full(len(values), MISSING, dtype=np.int32)
    unique, inverse = np.unique(values[present], return_inverse=True)
    codes[present] = inverse
    return Labels(codes, [int(v) if v.is_integer() else float(v) for v in unique.tolist()])


def _integers_as_labels(values: NDArray[Any]) -> Labels:
    unique, inverse = np.unique(values, return_inverse=True)
    return Labels(inverse.astype(np.int32), unique.tolist())


def _objects_as_labels(values: NDArray[np.object_], name: str) -> Labels:
    position: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.int32)
    for row, value in enumerate(values):
        if is_missing(value):
            codes[row] = MISSING
            continue
        if not isinstance(value, (str, int, float, np.integer, np.floating, np.bool_)):
            raise _not_a_value(name, row, value)
        codes[row] = position.setdefault(value, len(position))
    return Labels(codes, list(position))


def _objects_as_numbers(values: NDArray[np.object_], name: str) -> Floats:
    convert: Callable[[Any], float] = float
    out = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            out[row] = np.nan if is_missing(value) else convert(value)
        except (TypeError, ValueError, OverflowError):
            raise _not_a_value(name, row, value) from None
    if np.isinf(out).any():
        raise ValueError(f"Column {name!r} contains infinity.")
    return out


def _not_a_value(name: str, row: int, value: Any) -> TypeError:
    # scikit-learn's own words for this case, which its estimator checks look for.
    return TypeError(
        f"argument must be a string or a number: column {name!r}, row {row} holds"
        f" {describe(value)}."
    )


def _unusable(name: str, dtype: Any) -> TypeError:
    return TypeError(
        f"Column {name!r} has the type {dtype}, which is neither a number nor a category nor a"
        " date. Convert it (a duration, for example, to a number of days) or drop it."
    )


def ordered(values: list[Any]) -> list[Any]:
    """Labels in an order that rows do not decide; months and days of the week as they come."""
    for calendar in (MONTHS, WEEKDAYS):
        if set(values) <= set(calendar):
            return sorted(values, key=calendar.index)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))
