"""A model file, and the rows of other files as the model reads them, with or without true values.

Text and Parquet give the same values: numbers are parsed, categories compared as text. A cell that
is neither makes its row unusable. Categories that training never saw are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import glassleaf
from glassleaf.cli.failures import CallError, DataError, no_column, no_file, shown, suggestion
from glassleaf.cli.options import ReadOptions
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.cells import Floats, compute, pa
from glassleaf.cli.reading.files import read
from glassleaf.cli.reading.source import Chunk, Source, note_unusable, unusable_type
from glassleaf.cli.screen import note
from glassleaf.tables.categories import CategoryCodes
from glassleaf.tables.parquet import kind_of

_MOST_SHOWN = 5
_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def read_model(path: Path) -> Any:
    """The estimator in a model file."""
    if path.is_dir():
        raise CallError(f"{str(path)!r} is a folder; name a model file.")
    if not path.exists():
        raise no_file(path)
    return glassleaf.load(path)


def label_of(estimator: Any, given: str | None, option: str) -> Any:
    """The class with this name."""
    if given is None:
        return None
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise CallError(f"{option}: the model predicts numbers; it has no classes.")
    return written_like(given, classes.tolist(), option)


def written_like(given: str, labels: Sequence[Any], option: str) -> Any:
    """The label that is written like this."""
    for label in labels:
        if str(label) == given:
            return label
    raise CallError(f"{option}: no class {given!r}{suggestion(given, list(map(str, labels)))}")


# --- the model's columns -------------------------------------------------------------------------


@contextmanager
def opened_for(estimator: Any, path: str, options: ReadOptions) -> Iterator[ModelReader]:
    """Open a file that has all columns of a model. At its end, notes say what was unusual."""
    columns = [column for column in estimator.tree_.columns if column.is_input]
    needed = {column.name for column in columns}
    with read(path, options, lambda name: name not in needed) as source:
        reader = ModelReader(source, columns)
        reader.require_columns()
        yield reader
    reader.say_unseen()
    source.problems.say_count()


@dataclass
class ModelReader:
    """Reads the columns of a model from chunks."""

    source: Source
    columns: Sequence[Any]
    unseen: dict[str, Counter[str]] = field(default_factory=dict)
    n_unseen: Counter[str] = field(default_factory=Counter)

    def require_columns(self) -> None:
        """Check that the file has all columns of the model."""
        absent = [column.name for column in self.columns if column.name not in self.source.names]
        if absent:
            more = f" ({len(absent) - 1} more are missing)" if len(absent) > 1 else ""
            hint = suggestion(absent[0], self.source.names)
            raise DataError(
                f"the model needs the column {absent[0]!r}, which {self.source.name} does not"
                f" have{more}{hint}"
            )

    def conformed(self, chunk: Chunk) -> Any:
        """The model's columns as a table. Unusable cells become problems."""
        return pa.table({column.name: self._column(chunk, column) for column in self.columns})

    def _column(self, chunk: Chunk, column: Any) -> Any:
        if column.date is not None:
            return self.source.dates(chunk, column.name, column.date.zoned)
        if not any(isinstance(category, str) for category in column.categories or ()):
            return pa.array(self.source.numbers(chunk, column.name), from_pandas=True)
        text = self._text(chunk.table[column.name], column)
        self._count_unseen(text, column)
        return text

    def _text(self, found: Any, column: Any) -> Any:
        kind = kind_of(found.type)
        if kind == "text":
            return self.source.text(found, [c for c in column.categories if isinstance(c, str)])
        if kind == "numbers":
            truths = ("False", "True") if "True" in column.categories else ("false", "true")
            return cells.numbers_as_text(found, truths)
        if pa.types.is_null(found.type):
            return compute.cast(found, pa.string())
        raise unusable_type(f"column {column.name!r}", found.type)

    def _count_unseen(self, text: Any, column: Any) -> None:
        known = pa.array([str(category) for category in column.categories], pa.string())
        is_new = compute.and_(compute.is_valid(text), compute.invert(compute.is_in(text, known)))
        if not cells.as_flags(is_new).any():
            return
        code_of = CategoryCodes(column.name, column.categories, unknown=-1)
        pairs = compute.value_counts(compute.filter(text, is_new)).to_pylist()
        new = {pair["values"]: pair["counts"] for pair in pairs if code_of(pair["values"]) == -1}
        if not new:
            return
        counts = self.unseen.setdefault(column.name, Counter())
        counts.update(new)
        self.n_unseen[column.name] += sum(new.values())
        if len(counts) > 1000:  # the most frequent ones are enough
            self.unseen[column.name] = Counter(dict(counts.most_common(100)))

    def say_unseen(self) -> None:
        """Note the categories that training never saw; they count as "the rest"."""
        for name, counts in self.unseen.items():
            listed = [f"{shown(value)} ({n:,})" for value, n in counts.most_common(_MOST_SHOWN)]
            more = ", ..." if len(counts) > _MOST_SHOWN else ""
            rows = "row has" if self.n_unseen[name] == 1 else "rows have"
            note(
                f"{self.source.name}, column {name!r}: {self.n_unseen[name]:,} {rows} a category"
                f" never seen in training, or rare there: {', '.join(listed)}{more}"
            )


# --- rows ----------------------------------------------------------------------------------------


def conformed_rows(estimator: Any, path: str, options: ReadOptions) -> Any:
    """The model's columns of all usable rows."""
    with opened_for(estimator, path, options) as reader:
        tables = list(conformed_chunks(reader))
    if not tables:
        raise DataError(f"{reader.source.name} has no rows.")
    return pa.concat_tables(tables)


def conformed_chunks(reader: ModelReader) -> Iterator[Any]:
    """The model's columns of the usable rows of a file, chunk after chunk."""
    for chunk in reader.source.chunks:
        table = reader.conformed(chunk)
        bad = reader.source.problems.settle()
        yield table.take(chunk.places_without(bad)) if bad else table


def chosen_rows(estimator: Any, path: str, numbers: Sequence[int], options: ReadOptions) -> Any:
    """The model's columns of some rows, in this order. The first row is 1."""
    found: dict[int, Any] = {}
    before = 0
    with opened_for(estimator, path, options) as reader:
        problems = reader.source.problems
        for chunk in reader.source.chunks:
            problems.settle()  # a skipped row would shift those that follow
            here = [n for n in numbers if before < n <= before + chunk.table.num_rows]
            for number in here:
                row = number - before - 1
                one = Chunk(chunk.table.slice(row, 1), chunk.numbers[row : row + 1])
                found[number] = reader.conformed(one)
                problems.settle()
            before += chunk.table.num_rows
            if len(found) == len(set(numbers)):
                break
        absent = [number for number in numbers if number not in found]
        if absent:
            raise CallError(f"--row {absent[0]}: {reader.source.name} has {before:,} rows.")
    return pa.concat_tables([found[number] for number in numbers])


# --- rows with true values -----------------------------------------------------------------------


@dataclass(frozen=True)
class LabeledRows:
    """The model's columns of some rows, with targets, weights and the target's name."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None
    target: str


def labeled_rows(
    estimator: Any, path: str, target: str | None, weight: str | None, options: ReadOptions
) -> LabeledRows:
    """All usable rows of a file with their true values."""
    with opened_for(estimator, path, options) as reader:
        name = target_column(target, estimator, reader.source)
        parts = list(labeled_chunks(estimator, reader, name, weight))
    if not parts:
        raise DataError(f"{reader.source.name} has no usable rows.")
    weights = None if weight is None else np.concatenate([part.weight for part in parts])
    return LabeledRows(
        pa.concat_tables([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        weights,
        name,
    )


def labeled_chunks(
    estimator: Any, reader: ModelReader, target: str, weight: str | None
) -> Iterator[LabeledRows]:
    """The usable rows of a file with their true values, chunk after chunk."""
    source = reader.source
    if weight is not None and weight not in source.names:
        raise no_column(weight, source.names, source.name)
    classes = getattr(estimator, "classes_", None)
    for chunk in source.chunks:
        X = reader.conformed(chunk)
        truth = {target: _true_values(source, chunk, target, classes)}
        if weight is not None:
            truth[weight] = source.numbers(chunk, weight)
        known = pa.table(truth)
        note_unusable(source.problems, known, chunk.numbers, target, weight)
        bad = source.problems.settle()
        if bad:
            used = chunk.places_without(bad)
            X, known = X.take(used), known.take(used)
        if X.num_rows:
            y = np.asarray(known[target])
            yield LabeledRows(
                X,
                y if classes is None else y.astype(classes.dtype),
                None if weight is None else cells.as_floats(known[weight]),
                target,
            )


def target_column(given: str | None, estimator: Any, source: Source) -> str:
    """The column of true values: the given one, or the only one that the model lacks."""
    if given is not None:
        if given not in source.names:
            raise no_column(given, source.names, source.name)
        return given
    known = set(estimator.model_.input_names)
    others = [name for name in source.names if name not in known]
    if len(others) == 1:
        return others[0]
    if not others:
        raise CallError(f"{source.name} has only the model's columns; the target is missing.")
    raise CallError(
        f"which column holds the true values? Name it: --target NAME. Besides the model's columns,"
        f" {source.name} has {', '.join(others)}."
    )


def _true_values(source: Source, chunk: Chunk, name: str, classes: NDArray[Any] | None) -> Any:
    """The targets of a chunk as the model has them. Missing and unknown ones are null."""
    if classes is None:
        return pa.array(source.numbers(chunk, name), from_pandas=True)
    labels, known = _labels(source, chunk.table[name], classes), set(classes.tolist())
    for row, label in enumerate(labels):
        if label is not None and label not in known:
            what = f"column {name!r}: the model has no class {shown(label)}"
            source.problems.add(chunk.numbers[row], what)
            labels[row] = None
    return pa.array(labels)


def _labels(source: Source, column: Any, classes: NDArray[Any]) -> list[Any]:
    """Labels that can be compared to the classes; None where missing."""
    kind = kind_of(column.type)
    if kind in ("dates", "other"):
        raise unusable_type("the target", column.type)
    known = [label for label in classes.tolist() if isinstance(label, str)]
    found = (source.text(column, known) if kind == "text" else column).to_pylist()
    if classes.dtype.kind == "b":
        return [_TRUTHS.get(str(label).lower()) if label is not None else None for label in found]
    if classes.dtype.kind in "iuf":
        return [_number(label, source.options.decimal) for label in found]
    return [label if label is None or isinstance(label, str) else str(label) for label in found]


def _number(label: Any, decimal: str) -> Any:
    """The label as a number where it is one."""
    if not isinstance(label, str):
        return label
    try:
        return float(label.replace(decimal, "."))
    except ValueError:
        return label
