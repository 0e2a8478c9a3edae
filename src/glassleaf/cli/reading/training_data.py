"""A file to training data: columns, target and weights, with all that was inferred on the way."""

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
    learn_columns,
    learn_target,
    target_values,
)
from glassleaf.cli.reading.profiles import Dropped, Inferred, Known, TargetLook
from glassleaf.cli.reading.source import Chunk, Source, note_unusable


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
    with read(path, wanted.options) as source:
        check_names(wanted, source.names, source.name)
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
    found = _understood(whole, source, wanted)
    source.problems.count_said()
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


def _understood(whole: Chunk, source: Source, wanted: Wanted) -> Loaded:
    check_decimals(whole.table, source)
    target = learn_target(wanted.target, whole, source, wanted.task)
    outcome = {wanted.target: target.values}
    weight = None
    if wanted.weight is not None:
        weight = outcome[wanted.weight] = source.numbers(whole, wanted.weight)
    known, dropped = _columns(whole, source, wanted)
    note_unusable(source.problems, pa.table(outcome), whole.numbers, wanted.target, wanted.weight)
    X = pa.table({c.name: pa.array(c.values, from_pandas=not c.is_category) for c in known})
    y, bad = target.values, source.problems.settle()
    if bad:
        used = whole.places_without(bad)
        X, y = X.take(used), y.take(used)
        weight = None if weight is None else weight[used]
    if not len(y):
        raise DataError(f"{source.name}: all rows were skipped.")
    labels = target_values(y)
    look = TargetLook()
    look.add(labels)
    found = Inferred(
        source.name, source.names, len(y), source.problems.n_skipped, source.written,
        target.task, target.why, target.advice, look, known, dropped,
    )  # fmt: skip
    return Loaded(X, labels, weight, found)


def _columns(whole: Chunk, source: Source, wanted: Wanted) -> tuple[list[Known], list[Dropped]]:
    drop, categorical, keep = (
        named_columns(given, source.names, source.name)
        for given in (wanted.drop, wanted.categorical, wanted.keep)
    )
    aside = {wanted.target, *drop} | ({wanted.weight} if wanted.weight else set())
    known, dropped = learn_columns(whole, source, aside, categorical, keep)
    if not known:
        raise DataError(f"{source.name}: no column is left to predict from.")
    return known, [*(Dropped(name, "as asked for", can_keep=False) for name in drop), *dropped]
