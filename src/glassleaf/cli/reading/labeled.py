"""Predictions beside true values: scores of a model on a file, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.failures import DataError
from glassleaf.cli.output.scores import Score, class_scores, number_scores
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.cells import Floats
from glassleaf.cli.reading.chunks import Chunk
from glassleaf.cli.reading.conform import Reader, opened_for
from glassleaf.cli.reading.files import pa
from glassleaf.cli.reading.models import check_column, target_column
from glassleaf.cli.reading.sources import ReadOptions

_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model on the rows of a file."""

    scores: list[Score]
    target: str
    n_rows: int
    n_skipped: int


@dataclass(frozen=True)
class Labeled:
    """Rows with known targets: the model's columns, targets and weights, and the target's name."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None
    target: str


def labeled_chunks(
    estimator: Any, reader: Reader, target: str, weight: str | None
) -> Iterator[Labeled]:
    """The usable rows of a file with their true values, chunk after chunk."""
    check_column(weight, reader.source)
    columns = estimator.tree_.columns
    for chunk in reader.source.chunks:
        X = reader.conformed(chunk, columns)
        y = true_values(reader, chunk, target, estimator)
        weights = None if weight is None else reader.weights(chunk, weight)
        bad = reader.problems.settle()
        if bad:
            used = chunk.places_without(bad)
            X, y = X.take(used), y[used]
            weights = None if weights is None else weights[used]
        if len(y):
            yield Labeled(X, y, weights, target)


def evaluate_file(
    estimator: Any, path: str, target: str | None, weight: str | None, options: ReadOptions
) -> Evaluation:
    """Scores of a model on a file; only targets and predictions are held in memory."""
    is_classifier = hasattr(estimator, "classes_")
    predict = estimator.predict_proba if is_classifier else estimator.predict
    predicted, truths = [], []
    weights: list[Any] = []
    with opened_for(estimator, path, options) as reader:
        name = target_column(target, estimator, reader.source)
        for rows in labeled_chunks(estimator, reader, name, weight):
            predicted.append(predict(rows.X))
            truths.append(rows.y)
            weights.append(rows.weight)
    if not truths:
        raise _no_usable_rows(reader)
    y, found = np.concatenate(truths), np.concatenate(predicted)
    total = None if weight is None else np.concatenate(weights)
    scores = (
        class_scores(estimator.classes_, found, y, total)
        if is_classifier
        else number_scores(found, y, total, estimator.loss)
    )
    return Evaluation(scores, name, len(y), reader.problems.n_skipped)


def labeled_rows(
    estimator: Any, path: str, target: str | None, weight: str | None, options: ReadOptions
) -> Labeled:
    """All usable rows of a file with their true values."""
    with opened_for(estimator, path, options) as reader:
        name = target_column(target, estimator, reader.source)
        parts = list(labeled_chunks(estimator, reader, name, weight))
    if not parts:
        raise _no_usable_rows(reader)
    weights = None if weight is None else np.concatenate([part.weight for part in parts])
    return Labeled(
        pa.concat_tables([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        weights,
        name,
    )


def _no_usable_rows(reader: Reader) -> DataError:
    return DataError(f"{reader.source.name} has no usable rows.")


def true_values(reader: Reader, chunk: Chunk, name: str, estimator: Any) -> NDArray[Any]:
    """The targets of a chunk as the model has them; others are problems."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        values = reader.numbers(chunk, name)
        for place in np.flatnonzero(np.isnan(values)):
            if int(chunk.numbers[place]) not in reader.problems.found:
                reader.problems.add(chunk.numbers[place], f"no value of the target {name!r}")
        return values
    labels = _labels(reader, chunk.table[name], classes)
    known = set(classes.tolist())
    out = np.empty(len(labels), dtype=classes.dtype)
    for row, label in enumerate(labels):
        if label in known:
            out[row] = label
            continue
        out[row] = classes[0]
        what = f"no value of the target {name!r}" if label is None else (
            f"column {name!r}: the model has no class {label!r}"
        )  # fmt: skip
        reader.problems.add(chunk.numbers[row], what)
    return out


def _labels(reader: Reader, column: Any, classes: NDArray[Any]) -> list[Any]:
    """Python objects that compare to the classes; None where missing."""
    if cells.is_text(column):
        text = cells.plain_text(column)
        found = (
            cells.cleaned(text, reader.options.missing) if reader.source.text else text
        ).to_pylist()
    elif cells.is_numeric(column):
        found = column.to_pylist()
    else:
        raise DataError(f"the target has the type {column.type}, which is no number and no text.")
    kind = classes.dtype.kind
    if kind == "b":
        return [_TRUTHS.get(str(label).lower()) if label is not None else None for label in found]
    if kind in "iuf":
        return [_number(label, reader.options.dialect.decimal) for label in found]
    return [label if label is None or isinstance(label, str) else str(label) for label in found]


def _number(label: Any, decimal: str) -> Any:
    """The label as a number where it is one."""
    if not isinstance(label, str):
        return label
    try:
        return float(label.replace(decimal, "."))
    except ValueError:
        return label
