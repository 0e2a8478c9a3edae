"""One pass over Parquet files of any size: it profiles columns and target, and finds bad rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glassleaf.cli.failures import CallError, DataError, named_columns, no_file
from glassleaf.cli.options import OnError, Task
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.cells import pa
from glassleaf.cli.reading.dates import are_dates
from glassleaf.cli.reading.infer import (
    MOSTLY,
    infer_task,
    refuse_dates,
    target_values,
    unusable_column,
)
from glassleaf.cli.reading.profiles import (
    ColumnProfile,
    DataProfile,
    DateProfile,
    DroppedColumn,
    NumberProfile,
    TargetProfile,
    TextProfile,
    UsedColumn,
)
from glassleaf.cli.reading.source import (
    Problems,
    note_unusable,
    refuse_repeated,
    unusable_type,
)
from glassleaf.cli.reading.training_data import DataRequest, check_names
from glassleaf.rows.pieces import is_usable, rows_per_piece
from glassleaf.tables.parquet import ParquetPiece, ParquetRows, kind_of

_PROFILES: dict[str, type[TextProfile] | type[DateProfile]] = {
    "text": TextProfile,
    "dates": DateProfile,
}
# Rows that the report shows.
_SAMPLED = 20_000


@dataclass(frozen=True)
class StreamedData:
    """The profile of the data, the rows of the fit, and a sample of them.

    ``numbers`` are the columns of categories that are numbers in the model, too.
    """

    profile: DataProfile
    rows: ParquetRows
    numbers: list[str]
    sample: Any


def open_rows(path: str) -> ParquetRows:
    """The Parquet files at a path. If there are none, the error says what is there instead."""
    place = Path(path)
    if not place.exists():
        raise no_file(place)
    rows = ParquetRows(place)
    try:
        assert rows.files
    except FileNotFoundError:
        inside = sorted(file.name for file in place.iterdir())
        what = f"there are {', '.join(inside[:3])}" if inside else "it is empty"
        raise CallError(f"no Parquet files in the folder {path!r}: {what}.") from None
    return rows


def profile_rows(
    rows: ParquetRows,
    request: DataRequest,
    begin: Callable[[int, int], None] = lambda done, all: None,
) -> StreamedData:
    """Read all rows once. ``begin`` learns how many rows have been read."""
    source = str(rows.source)
    known = rows.names
    check_names(request, known, source)
    drop = named_columns(request.drop, known, source)
    rows = replace(rows, drop=frozenset(drop))
    refuse_repeated(rows.names, source, rows.drop.__contains__)
    categorical = named_columns(request.categorical, known, source)
    rows = replace(rows, types=_as_text(rows, categorical))
    rows = replace(rows, types=(*rows.types, *_as_stamps(rows, request, categorical)))
    _check_types(rows, request)
    profiles, target, sample, n_skipped = _profiles(rows, request, begin)
    task, why, advice = infer_task(request.target, target, request.task)
    columns, dropped = _columns(rows, request, profiles)
    if not columns:
        raise DataError(f"{source}: no column is left to predict from.")
    rows = replace(
        rows,
        drop=rows.drop | {column.name for column in dropped},
        skip_unusable=request.options.on_error is OnError.skip,
    )
    is_whole = target.kind == "f" and target.is_whole and not n_skipped
    if task is Task.classification and is_whole:
        rows = replace(rows, types=(*rows.types, (request.target, "int64")))
        target = replace(target, counts=_whole_labels(target))
    asked = [DroppedColumn(name, "as asked for", can_keep=False) for name in drop]
    n_files = len(rows.files)
    remark = f"streamed from {n_files:,} file{'' if n_files == 1 else 's'}"
    profile = DataProfile(
        source, known, target.n_rows, n_skipped, remark,
        task, why, advice, target, columns, [*asked, *dropped],
    )  # fmt: skip
    numbers = [c.name for c in columns if c.is_category and isinstance(c.profile, NumberProfile)]
    return StreamedData(profile, rows, numbers, sample)


def _as_text(rows: ParquetRows, categorical: list[str]) -> tuple[tuple[str, str], ...]:
    """Read whole numbers that are categories as text, as from a text file."""
    types = pa.types
    return tuple(
        (name, "string") for name in categorical if name in rows.schema.names
        and (types.is_integer(rows.schema.field(name).type)
             or types.is_boolean(rows.schema.field(name).type))
    )  # fmt: skip


def _as_stamps(
    rows: ParquetRows, request: DataRequest, categorical: list[str]
) -> Iterator[tuple[str, str]]:
    """Read texts as stamps if they write dates; the first rows say whether they do."""
    aside = {request.target, request.weight, *categorical}
    names = [f.name for f in rows.schema if kind_of(f.type) == "text" and f.name not in aside]
    first = next(pieces_of(rows)).read(names)
    for name in names:
        text = cells.plain_text(first[name])
        if not are_dates(text, MOSTLY):
            continue
        try:
            text.cast(pa.timestamp("us"))
        except pa.ArrowInvalid as error:
            raise DataError(
                f"{rows.source}: column {name!r} holds dates as texts, which cannot all be read"
                f" while rows are streamed: {error} Write them as a type of dates."
            ) from None
        yield name, "timestamp[us]"


def _whole_labels(target: TargetProfile) -> Any:
    counts = target.counts
    return None if counts is None else type(counts)({int(k): n for k, n in counts.items()})


def _check_types(rows: ParquetRows, request: DataRequest) -> None:
    """Refuse types that cannot be used, and dates in the first rows."""
    kinds = {field.name: kind_of(field.type) for field in rows.schema}
    if request.weight is not None and kinds[request.weight] != "numbers":
        raise DataError(f"the weights {request.weight!r} are not numbers.")
    if kinds[request.target] in ("dates", "other"):
        raise unusable_type(
            f"the target {request.target!r}", rows.schema.field(request.target).type
        )
    names = [name for name in kinds if name not in (request.target, request.weight)]
    categorical = named_columns(request.categorical, list(kinds), str(rows.source))
    first = next(pieces_of(rows)).read([name for name in names if name not in categorical])
    refuse_dates(first, request.options.missing)
    for name in names:
        if kinds[name] == "other" or (kinds[name] == "dates" and name in categorical):
            raise unusable_column(name, rows.schema.field(name).type)


def pieces_of(rows: ParquetRows) -> Iterator[ParquetPiece]:
    """Pieces of one stretch each, so that each row has a number in its file."""
    for piece in rows.pieces(rows_per_piece(len(rows.schema.names))):
        for stretch in piece.stretches:
            yield replace(piece, stretches=(stretch,))


def _profiles(
    rows: ParquetRows, request: DataRequest, begin: Callable[[int, int], None]
) -> tuple[dict[str, ColumnProfile], TargetProfile, Any, int]:
    """Profiles of columns and target, a sample of rows, and the number of skipped rows."""
    aside = {request.target, request.weight}
    profiles: dict[str, ColumnProfile] = {
        field.name: _PROFILES.get(kind_of(field.type), NumberProfile)()
        for field in rows.schema if field.name not in aside
    }  # fmt: skip
    target = TargetProfile()
    step = max(-(-rows.n_rows // _SAMPLED), 1)
    sampled, done, n_skipped = [], 0, 0
    for piece in pieces_of(rows):
        begin(done, rows.n_rows)
        table = piece.read(rows.schema.names)
        done += table.num_rows
        table, n_bad = usable_rows(piece, table, request, n_skipped)
        n_skipped += n_bad
        for name, profile in profiles.items():
            column = table[name]
            if isinstance(profile, DateProfile):
                profile.add(column)
            elif isinstance(profile, TextProfile):
                profile.add(cells.plain_text(column))
            else:
                profile.add(cells.as_floats(column))
        target.add(target_values(table[request.target]))
        sampled.append(table.take(np.arange(0, table.num_rows, step)))
    if n_skipped:
        problems = Problems(str(rows.source), request.options.on_error, "row", n_skipped=n_skipped)
        problems.say_count()
    return profiles, target, pa.concat_tables(sampled), n_skipped


def usable_rows(
    piece: ParquetPiece, table: Any, request: DataRequest, n_before: int = 0
) -> tuple[Any, int]:
    """The usable rows, and the number of others, which are noted or stop the command."""
    usable = is_usable(table, request.target, request.weight)
    if usable.all():
        return table, 0
    stretch = piece.stretches[0]
    problems = Problems(stretch.path, request.options.on_error, "row", n_skipped=n_before)
    numbers = stretch.first + 1 + np.flatnonzero(~usable)
    note_unusable(problems, table.filter(~usable), numbers, request.target, request.weight)
    problems.settle()
    return table.filter(usable), len(numbers)


def _columns(
    rows: ParquetRows, request: DataRequest, profiles: dict[str, ColumnProfile]
) -> tuple[list[UsedColumn], list[DroppedColumn]]:
    source = str(rows.source)
    categorical = named_columns(request.categorical, rows.schema.names, source)
    keep = named_columns(request.keep, [*rows.schema.names, *rows.drop], source)
    columns: list[UsedColumn] = []
    dropped: list[DroppedColumn] = []
    for name, profile in profiles.items():
        why = None if name in [*keep, *categorical] else profile.no_use(name)
        if why is not None:
            dropped.append(DroppedColumn(name, why))
            continue
        is_category = name in categorical or isinstance(profile, TextProfile)
        used = UsedColumn(name, None, is_category, "", profile)
        columns.append(replace(used, words=used.kind))
    return columns, dropped
