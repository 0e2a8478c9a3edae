"""A file to training data: columns, target and weights, with all that was inferred on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.choices import Task
from glassleaf.cli.failures import CallError, DataError, named_columns, no_column
from glassleaf.cli.reading.cells import Floats
from glassleaf.cli.reading.chunks import Chunk, Source
from glassleaf.cli.reading.columns import Dropped, Reading, check_decimals, learn
from glassleaf.cli.reading.conform import Reader
from glassleaf.cli.reading.files import pa
from glassleaf.cli.reading.inferred import Inferred
from glassleaf.cli.reading.problems import Problems
from glassleaf.cli.reading.profiles import TargetLook
from glassleaf.cli.reading.sources import ReadOptions, read
from glassleaf.cli.reading.targets import learn_target


@dataclass(frozen=True)
class Wanted:
    """What the call says about the data."""

    target: str
    task: Task | None
    weight: str | None
    drop: Sequence[str]
    keep: Sequence[str]
    categorical: Sequence[str]
    options: ReadOptions


@dataclass(frozen=True)
class Loaded:
    """Training data, and how they were understood."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None
    inferred: Inferred


def load_training(path: str, wanted: Wanted) -> Loaded:
    """Read a file whole and find out what its columns are."""
    with read(path, wanted.options) as (source, problems):
        check_names(wanted, source.names, source.name)
        chunks = []
        for chunk in source.chunks:
            problems.settle()
            chunks.append(chunk)
    if not chunks or not sum(chunk.table.num_rows for chunk in chunks):
        raise DataError(f"{source.name} has no rows.")
    whole = Chunk(
        pa.concat_tables([chunk.table for chunk in chunks]),
        np.concatenate([np.asarray(chunk.numbers, dtype=np.int64) for chunk in chunks]),
    )
    found = _understood(whole, source, problems, wanted)
    problems.count_said()
    return found


def check_names(wanted: Wanted, known: Sequence[str], source: str) -> None:
    """Whether all columns are there that the call names."""
    for name in (wanted.target, wanted.weight):
        if name is not None and name not in known:
            raise no_column(name, known, source)
    for option, given in (
        ("--drop", wanted.drop),
        ("--keep", wanted.keep),
        ("--categorical", wanted.categorical),
    ):
        names = named_columns(given, known, source)
        if wanted.target in names:
            raise CallError(f"{option} names {wanted.target!r}, which is the target.")


def _understood(whole: Chunk, source: Source, problems: Problems, wanted: Wanted) -> Loaded:
    missing, decimal = wanted.options.missing, wanted.options.dialect.decimal
    reading = Reading(source.text, missing, decimal, whole.numbers, problems)
    names = source.names
    drop = named_columns(wanted.drop, names, source.name)
    aside = {wanted.target, *drop} | ({wanted.weight} if wanted.weight else set())
    check_decimals(whole.table, reading)
    target = learn_target(
        wanted.target, whole.table[wanted.target].combine_chunks(), reading, wanted.task
    )
    weight = None
    if wanted.weight is not None:
        weight = Reader(source, problems, wanted.options).weights(whole, wanted.weight)
    known, dropped = learn(
        whole.table.select([name for name in names if name not in aside]),
        reading,
        named_columns(wanted.categorical, names, source.name),
        named_columns(wanted.keep, names, source.name),
    )
    dropped = [*(Dropped(name, "as asked for", can_keep=False) for name in drop), *dropped]
    if not known:
        raise DataError(f"{source.name}: no column is left to predict from.")
    bad = problems.settle()
    used = whole.places_without(bad) if bad else None
    X = pa.table(
        [pa.array(c.values, from_pandas=not c.is_category) for c in known],
        names=[column.name for column in known],
    )
    y = target.values
    if used is not None:
        X, y = X.take(used), y[used]
        weight = None if weight is None else weight[used]
    if len(y) == 0:
        raise DataError(f"{source.name}: all rows were skipped.")
    look = TargetLook()
    look.add(y)
    found = Inferred(
        source.name, names, len(y), problems.n_skipped, source.written,
        target.task, target.why, target.advice, look, known, dropped,
    )  # fmt: skip
    return Loaded(X, y, weight, found)
