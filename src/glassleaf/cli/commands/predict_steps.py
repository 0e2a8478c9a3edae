"""The steps of ``predict``: read a chunk, predict it, write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glassleaf.cli.failures import CallError, named_columns
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.cli.output.writing import writer
from glassleaf.cli.reading.cells import pa
from glassleaf.cli.reading.model_rows import ModelReader, opened_for, read_model
from glassleaf.cli.reading.source import Chunk, Source
from glassleaf.cli.screen import note


@dataclass(frozen=True)
class PredictRequest:
    """What a call of ``predict`` asks for."""

    model: Path
    data: str
    output: str
    keep: Sequence[str]
    keep_all: bool
    leaf: bool
    interval: float | None
    prefix: str
    as_json: bool
    options: ReadOptions


def run(request: PredictRequest) -> None:
    estimator = read_model(request.model)
    if request.output not in ("-", "/dev/null") and request.data != "-" and (
        Path(request.output).resolve() == Path(request.data).resolve()
    ):  # fmt: skip
        raise CallError(f"--output {request.output!r}: this file is being read.")
    with opened_for(estimator, request.data, request.options) as reader:
        source = reader.source
        kept = source.names if request.keep_all else _kept(request, source)
        columns = _Columns(estimator, request, source.problems.unit, kept)
        n_rows = _stream(reader, columns, request)
    if request.output != "-":
        note(f"{n_rows:,} rows written to {request.output}")


def _kept(request: PredictRequest, source: Source) -> list[str]:
    return named_columns(request.keep, source.names, source.name)


def _stream(reader: ModelReader, columns: _Columns, request: PredictRequest) -> int:
    """Predict and write chunk after chunk. The first one gives the types of the output."""
    chunks = iter(reader.source.chunks)
    first = next(chunks, None)
    if first is None:
        first = _no_rows(reader.source)
    made = columns.made(reader, first)
    n_rows = int(made.num_rows)
    with writer(request.output, made.schema, as_json=request.as_json) as out:
        out.write(made)
        for chunk in chunks:
            made = columns.made(reader, chunk)
            out.write(made)
            n_rows += int(made.num_rows)
    return n_rows


def _no_rows(source: Source) -> Chunk:
    return Chunk(pa.table({name: pa.array([], pa.string()) for name in source.names}), range(0))


class _Columns:
    """The columns of the output: those kept, then the predictions."""

    def __init__(
        self, estimator: Any, request: PredictRequest, unit: str, kept: Sequence[str]
    ) -> None:
        self.estimator = estimator
        self.kept = list(kept)
        self.unit = unit if request.options.on_error is OnError.skip else None
        self.with_leaf = request.leaf
        self.coverage = request.interval
        if self.coverage is not None and hasattr(estimator, "classes_"):
            raise CallError("--interval: a classifier has no intervals.")
        self.prefix = request.prefix
        own = self._own_names()
        clash = [name for name in own if name in self.kept]
        if clash:
            raise CallError(
                f"the data already have a column {clash[0]!r}. Rename the new columns:"
                " --prefix new_"
            )

    def _own_names(self) -> list[str]:
        classes = getattr(self.estimator, "classes_", None)
        names = ["prediction"] if classes is None else [
            "label", *(f"probability_{label}" for label in classes.tolist())
        ]  # fmt: skip
        names += ["lower", "upper"] if self.coverage is not None else []
        return [self.prefix + name for name in names + (["leaf"] if self.with_leaf else [])]

    def made(self, reader: ModelReader, chunk: Chunk) -> Any:
        X = reader.conformed(chunk)
        bad = reader.source.problems.settle()
        kept, numbers = chunk.table.select(self.kept), np.asarray(chunk.numbers, dtype=np.int64)
        if bad:
            used = chunk.places_without(bad)
            X, kept, numbers = X.take(used), kept.take(used), numbers[used]
        values = dict(zip(self.kept, kept.columns, strict=True))
        if self.unit is not None:  # skipped rows shift those that follow
            values = {self.unit: pa.array(numbers), **values}
        return pa.table(values | dict(zip(self._own_names(), self._predicted(X), strict=True)))

    def _predicted(self, X: Any) -> list[Any]:
        classes = getattr(self.estimator, "classes_", None)
        if classes is None:
            out = [pa.array(self.estimator.predict(X))]
        else:
            probability = self.estimator.predict_proba(X)
            labels = classes[probability.argmax(axis=1)]
            out = [pa.array(labels.tolist(), type=pa.array(classes.tolist()).type)]
            out += [pa.array(column) for column in probability.T]
        if self.coverage is not None:
            out += [pa.array(end) for end in self.estimator.predict_interval(X, self.coverage).T]
        if self.with_leaf:
            out.append(pa.array(self.estimator.apply(X)))
        return out
