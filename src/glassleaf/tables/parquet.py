"""Parquet files as one table: the columns that they agree on, and pieces of their rows."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import require

_log = logging.getLogger("glassleaf")

_SUFFIXES = (".parquet", ".pq")
_ROWS_AT_ONCE = 1 << 17
# More pieces than this are worth putting together, for each costs a file and a call in every pass.
_MANY_PIECES = 256


@dataclass(frozen=True)
class RandomShare:
    """A share of the rows, drawn by chance: the same ones in whichever pieces they are read.

    ``taken`` says whether they are read, or all others.
    """

    share: float
    seed: int
    taken: bool

    def chosen(self, stretch: Stretch) -> NDArray[np.bool_]:
        """Whether each row of a stretch is read."""
        bits = np.random.PCG64([self.seed, stretch.number]).advance(stretch.first)
        draws = np.random.Generator(bits).random(stretch.n_rows)
        return np.asarray((draws < self.share) == self.taken)


@dataclass(frozen=True)
class Stretch:
    """Some rows of a Parquet file: row groups, or a part of a single large one.

    ``number`` is that of the file, ``first`` that of the first row in it.
    """

    path: str
    number: int
    first: int
    groups: tuple[int, ...]
    skip: int
    n_rows: int

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """The rows as record batches."""
        pyarrow, parquet = _pyarrow()
        try:
            with parquet.ParquetFile(self.path) as file:
                yield from self._cut(
                    file.iter_batches(_ROWS_AT_ONCE, row_groups=self.groups, columns=list(columns))
                )
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.path} is gone since it was first looked at.") from None
        except (pyarrow.ArrowException, OSError, IndexError) as error:
            raise ValueError(f"{self.path} cannot be read: {error}") from error

    def _cut(self, batches: Iterator[Any]) -> Iterator[Any]:
        at, n_found = 0, 0
        for batch in batches:
            first, last = max(self.skip - at, 0), min(self.skip + self.n_rows - at, len(batch))
            if last > first:
                n_found += last - first
                yield batch.slice(first, last - first)
            at += len(batch)
            if at >= self.skip + self.n_rows:
                break
        if n_found != self.n_rows:
            raise OSError("it has changed since it was first looked at")


@dataclass(frozen=True)
class ParquetPiece:
    """Rows of one or several Parquet files, read together."""

    stretches: tuple[Stretch, ...]
    schema: Any
    held: RandomShare | None = None

    @property
    def n_rows(self) -> int:
        """Rows in the files; those that are held back count, too."""
        return sum(stretch.n_rows for stretch in self.stretches)

    @property
    def path(self) -> str:
        """Where the rows are, for messages."""
        more = f" to {self.stretches[-1].path}" if len(self.stretches) > 1 else ""
        return f"{self.stretches[0].path}{more}"

    def read(self, columns: Sequence[str]) -> Any:
        """The rows as a pyarrow table, of the types that the files agree on."""
        pyarrow, _ = _pyarrow()
        wanted = pyarrow.schema([self.schema.field(name) for name in columns])
        tables = [wanted.empty_table()]
        for stretch in self.stretches:
            batches = list(stretch.batches(columns))
            table = pyarrow.Table.from_batches(batches).select(list(columns))
            if self.held is not None:
                table = table.filter(self.held.chosen(stretch))
            if table.schema.types != wanted.types:
                table = pyarrow.table(
                    [_cast(table[field.name], field.type) for field in wanted], schema=wanted
                )
            tables.append(table.replace_schema_metadata(None))
        return pyarrow.concat_tables(tables)


@dataclass(frozen=True)
class ParquetRows:
    """A Parquet file, or all those of a folder, as one table.

    It stands for X in ``fit``. ``drop`` are columns to leave out, ``held`` rows to set aside; with
    ``skip_unusable``, rows without target or weight, or with an infinite number, are left out.
    ``types`` are columns to be read as another pyarrow type than the files have.
    """

    source: Path
    drop: frozenset[str] = frozenset()
    types: tuple[tuple[str, str], ...] = ()
    held: RandomShare | None = None
    skip_unusable: bool = False

    @cached_property
    def files(self) -> list[Path]:
        """The files, by name. Hidden ones and those that other programs set aside do not count."""
        if self.source.is_file():
            return [self.source]
        found = [
            path
            for path in sorted(self.source.rglob("*"))
            if path.suffix.lower() in _SUFFIXES and path.is_file()
            and not any(part[0] in "._" for part in path.relative_to(self.source).parts)
        ]  # fmt: skip
        if not found:
            raise FileNotFoundError(f"There are no Parquet files at {self.source}.")
        values = sorted(
            {p for path in found for p in path.relative_to(self.source).parts[:-1] if "=" in p}
        )
        if values:
            _log.warning(
                "Names of folders are not read as columns: write %s into the files, if it matters.",
                values[0],
            )
        return found

    @property
    def names(self) -> list[str]:
        """The names of all columns, with those to leave out."""
        return list(self._footers[0][0].names)

    @cached_property
    def schema(self) -> Any:
        """Names and types on which all files agree, without the columns that are left out."""
        pyarrow, _ = _pyarrow()
        schemas = [self._without_dropped(footer[0]) for footer in self._footers]
        names = schemas[0].names
        for path, schema in zip(self.files[1:], schemas[1:], strict=True):
            _check_names(path, schema.names, self.files[0], names)
        fields = []
        for name in names:
            types = [schema.field(name).type for schema in schemas]
            fields.append(pyarrow.field(name, self._common_type(name, types)))
        return pyarrow.schema(fields)

    def pieces(self, most: int) -> list[ParquetPiece]:
        """All rows, in pieces of bounded size; a piece lies in one file unless there are many."""
        if not self.n_rows:
            raise ValueError(f"There are no rows at {self.source}.")
        found: list[list[Stretch]] = []
        for number, (_, sizes) in enumerate(self._footers):
            found += [[stretch] for stretch in _stretches(self.files[number], number, sizes, most)]
        if len(found) > _MANY_PIECES:
            found = _put_together(found, most)
        return [ParquetPiece(tuple(own), self.schema, self.held) for own in found]

    @property
    def n_rows(self) -> int:
        """Rows in the files; those that are set aside count, too."""
        return sum(sum(sizes) for _, sizes in self._footers)

    @cached_property
    def _footers(self) -> list[tuple[Any, list[int]]]:
        """The schema and the sizes of the row groups of every file."""
        return [_footer(path) for path in self.files]

    def _without_dropped(self, schema: Any) -> Any:
        pyarrow, _ = _pyarrow()
        kept = pyarrow.schema([field for field in schema if field.name not in self.drop])
        for name, count in Counter(kept.names).items():
            if count > 1:
                raise ValueError(f"{self.source} has two columns of the name {name!r}.")
        return kept

    def _common_type(self, name: str, types: Sequence[Any]) -> Any:
        pyarrow, _ = _pyarrow()
        if name in dict(self.types):
            return pyarrow.type_for_alias(dict(self.types)[name])
        known = [(path, own) for path, own in zip(self.files, types, strict=True)
                 if not pyarrow.types.is_null(own)]  # fmt: skip
        if not known:
            return pyarrow.float64()
        first = known[0][1]
        if all(own == first for _, own in known):
            return first
        kinds = [kind_of(own) for _, own in known]
        for (path, own), kind in zip(known, kinds, strict=True):
            if kind != kinds[0] or kind == "other":
                words = {"other": f"the type {own}"}
                here, there = words.get(kind, kind), words.get(kinds[0], kinds[0])
                raise TypeError(
                    f"{path}: column {name!r} holds {here}, and {there} elsewhere ({known[0][0]})."
                )
        if kinds[0] == "dates":
            return _common_stamp(pyarrow, name, known)
        return pyarrow.string() if kinds[0] == "text" else pyarrow.float64()


def _common_stamp(pyarrow: Any, name: str, known: Sequence[tuple[Path, Any]]) -> Any:
    """The type of dates and stamps of several types: stamps, in UTC if all have a zone."""
    zones = [getattr(own, "tz", None) is not None for _, own in known]
    for (path, _), has_zone in zip(known, zones, strict=True):
        if has_zone != zones[0]:
            which = "a time zone, and none" if has_zone else "no time zone, and one"
            raise TypeError(f"{path}: column {name!r} has {which} elsewhere ({known[0][0]}).")
    return pyarrow.timestamp("us", "UTC" if zones[0] else None)


def kind_of(kind: Any) -> str:
    """What a pyarrow type holds: "text", "numbers", "dates", or something "other"."""
    types = _pyarrow()[0].types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "dates"
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return "numbers" if any(is_one(kind) for is_one in numbers) else "other"


def _cast(column: Any, kind: Any) -> Any:
    pyarrow, _ = _pyarrow()
    if column.type == kind:
        return column
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pyarrow.types.is_boolean(column.type) and not pyarrow.types.is_string(kind):
        column = column.cast(pyarrow.int8())
    # Long integers are rounded where others are floats.
    return column.cast(kind, safe=not pyarrow.types.is_floating(kind))


def _footer(path: Path) -> tuple[Any, list[int]]:
    pyarrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
            sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        raise ValueError(f"{path} is no Parquet file, or a damaged one: {error}") from None
    numbers = _row_numbers(schema)
    return pyarrow.schema([field for field in schema if field.name not in numbers]), sizes


def _row_numbers(schema: Any) -> set[str]:
    """Columns that hold an index without a name of its own: numbers of rows, and no data."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return {name for name in index if isinstance(name, str) and name[:2] == name[-2:] == "__"}


def _check_names(path: Path, names: Sequence[str], first: Path, expected: Sequence[str]) -> None:
    lacking = [name for name in expected if name not in set(names)]
    if lacking:
        raise ValueError(f"{path} lacks the column(s) {', '.join(lacking)}, which {first} has.")
    more = [name for name in names if name not in set(expected)]
    if more:
        raise ValueError(f"{path} has the column(s) {', '.join(more)}, which {first} lacks.")


def _stretches(path: Path, number: int, sizes: Sequence[int], most: int) -> list[Stretch]:
    """A file cut at its row groups, and within those that are too large."""
    found: list[Stretch] = []
    first = 0
    is_open = False  # whether the last stretch may take another row group
    for group, size in enumerate(sizes):
        if size > most:
            found += [
                Stretch(str(path), number, first + skip, (group,), skip, min(most, size - skip))
                for skip in range(0, size, most)
            ]
            is_open = False
        elif size and is_open and found[-1].n_rows + size <= most:
            last = found[-1]
            found[-1] = replace(last, groups=(*last.groups, group), n_rows=last.n_rows + size)
        elif size:
            found.append(Stretch(str(path), number, first, (group,), 0, size))
            is_open = True
        first += size
    return found


def _put_together(found: Sequence[list[Stretch]], most: int) -> list[list[Stretch]]:
    out: list[list[Stretch]] = [[]]
    n_rows = 0
    for own in found:
        size = sum(stretch.n_rows for stretch in own)
        if out[-1] and n_rows + size > most:
            out.append([])
            n_rows = 0
        out[-1] += own
        n_rows += size
    return out


def _pyarrow() -> tuple[Any, Any]:
    purpose = "Reading Parquet files"
    return (
        require("pyarrow", extra="data", purpose=purpose),
        require("pyarrow.parquet", extra="data", purpose=purpose),
    )
