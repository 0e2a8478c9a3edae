"""A file to training data: columns, target and weights, and what was inferred about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.failures import CallError, DataError, named_columns, no_column
from glassleaf.cli.options import ReadOptions, Task
from glassleaf.cli.reading.cells import Floats, pa
from glassleaf.cli.reading.files import read
from glassleaf.cli.reading.infer import (
    check_decimals,
    infer_columns,
    infer_target,
    target_values,
)
from glassleaf.cli.reading.profiles import DataProfile, DroppedColumn, TargetProfile, UsedColumn
from glassleaf.cli.reading.source import Chunk, Source, note_unusable
from glassleaf.cli.reading.times import is_from, only_dates


@dataclass(frozen=True)
class DataRequest:
    """What a call of ``fit`` says about the data."""

    path: str
    target: str
    task: Task | None
    weight: str | None
    drop: Sequence[str]
    keep: Sequence[str]
    categorical: Sequence[str]
    options: ReadOptions
    exposure: str | None = None
    offset: str | None = None
    test_after: str | None = None
    time_column: str | None = None

    @property
    def known(self) -> dict[str, str]:
        """The columns of exposures and offsets, as ``fit`` takes them."""
        named = {"exposure": self.exposure, "offset": self.offset}
        return {parameter: name for parameter, name in named.items() if name is not None}


@dataclass(frozen=True)
class TrainingData:
    """Training data in memory, and their profile."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None
    profile: DataProfile
    is_test: NDArray[np.bool_] | None = None  # rows from a day on


def load_training(request: DataRequest) -> TrainingData:
    """Read a whole file and infer what its columns are."""
    dropped = {name.strip() for text in request.drop for name in (text, *text.split(","))}
    with read(request.path, request.options, dropped.__contains__) as source:
        check_names(request, [*source.names, *source.left_out], source.name)
        chunks = []
        for chunk in source.chunks:
            source.problems.settle()
            chunks.append(chunk)
    if not sum(chunk.table.num_rows for chunk in chunks):
        raise DataError(f"{source.name} has no rows.")
    whole = Chunk(
        pa.concat_tables([chunk.table for chunk in chunks]).combine_chunks(),
        np.concatenate([np.asarray(chunk.numbers, dtype=np.int64) for chunk in chunks]),
    )
    found = _training_data(whole, source, request)
    source.problems.say_count()
    return found


def check_names(request: DataRequest, known: Sequence[str], source: str) -> None:
    """Check that the columns exist that the call names."""
    for name in (request.target, request.weight, request.time_column, *request.known.values()):
        if name is not None and name not in known:
            raise no_column(name, known, source)
    for option, given in (
        ("--drop", request.drop),
        ("--keep", request.keep),
        ("--categorical", request.categorical),
    ):
        names = named_columns(given, known, source)
        if request.target in names:
            raise CallError(f"{option} names {request.target!r}, which is the target.")
        for parameter, name in request.known.items():
            if name in names and option != "--keep":
                raise CallError(f"{option} names {name!r}, which is the {parameter}.")


def _training_data(whole: Chunk, source: Source, request: DataRequest) -> TrainingData:
    check_decimals(whole.table, source)
    target = infer_target(request.target, whole, source, request.task)
    outcome = {request.target: target.values}
    weight = None
    if request.weight is not None:
        weight = outcome[request.weight] = source.numbers(whole, request.weight)
    columns, dropped = _columns(whole, source, request)
    note_unusable(source.problems, pa.table(outcome), whole.numbers, request.target, request.weight)
    X = pa.table({c.name: _arrow(c) for c in columns})
    is_test = _is_test(whole, source, request, columns)
    y, bad = target.values, source.problems.settle()
    if bad:
        used = whole.places_without(bad)
        X, y = X.take(used), y.take(used)
        weight = None if weight is None else weight[used]
        is_test = None if is_test is None else is_test[used]
    if not len(y):
        raise DataError(f"{source.name}: all rows were skipped.")
    labels = target_values(y)
    target_profile = TargetProfile()
    target_profile.add(labels)
    found = DataProfile(
        source.name, source.names, len(y), source.problems.n_skipped, source.remark,
        target.task, target.why, target.advice, target_profile, columns, dropped,
    )  # fmt: skip
    return TrainingData(X, labels, weight, found, is_test)


def _is_test(
    whole: Chunk, source: Source, request: DataRequest, columns: Sequence[UsedColumn]
) -> NDArray[np.bool_] | None:
    """Which rows are for the test by their time, if that was asked for."""
    if request.test_after is None:
        return None
    name = request.time_column or only_dates(columns)
    return is_from(source.dates(whole, name), request.test_after, name)


def _arrow(column: UsedColumn) -> Any:
    is_array = isinstance(column.values, np.ndarray)
    return pa.array(column.values, from_pandas=True) if is_array else column.values


def _columns(
    whole: Chunk, source: Source, request: DataRequest
) -> tuple[list[UsedColumn], list[DroppedColumn]]:
    drop, categorical, keep = (
        named_columns(given, [*source.names, *source.left_out], source.name)
        for given in (request.drop, request.categorical, request.keep)
    )
    aside = {request.target, *drop} | ({request.weight} if request.weight else set())
    columns, dropped = infer_columns(whole, source, aside, categorical, keep)
    if not columns:
        raise DataError(f"{source.name}: no column is left to predict from.")
    return columns, [
        *(DroppedColumn(name, "as asked for", can_keep=False) for name in drop),
        *dropped,
    ]
