"""``glassleaf evaluate`` and ``glassleaf report``: a model on rows whose true values are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options, screen
from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


Challenger = Annotated[
    Path | None,
    typer.Option(metavar="MODEL", help="Another model, to be compared on the same rows."),
]


def evaluate(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    weight: options.Weight = None,
    challenger: Challenger = None,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Score a model on rows whose true values are known."""
    from glassleaf.cli.output import scores as shown
    from glassleaf.cli.reading.model_rows import (
        labeled_chunks,
        opened_for,
        read_model,
        target_column,
    )
    from glassleaf.tree.fitted import fitted_model

    estimator = read_model(model)
    how = ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error)
    with opened_for(estimator, data, how) as reader:
        name = target_column(target, estimator, reader.source)
        chunks = labeled_chunks(estimator, reader, name, weight)
        rows = predicted_chunks(estimator, chunks)
    if not len(rows.y):
        raise DataError(f"{reader.source.name} has no usable rows.")
    fitted = fitted_model(estimator)
    positive = fitted.positive_class
    scores = shown.scores_with_intervals(fitted, rows)
    compared: tuple[Any, ...] = ()
    if challenger is not None:
        other = _challenger_rows(challenger, data, name, weight, how)
        compared = shown.compared_scores(fitted, rows, other)
    if json:
        screen.write_json(
            {
                "model": str(model),
                "data": data,
                "target": name,
                "positive_class": positive,
                "rows": len(rows.y),
                "skipped_rows": reader.source.problems.n_skipped,
                "scores": {score.named.key: score.value for score in scores},
                "intervals": {score.named.key: [score.low, score.high] for score in scores},
                "comparison": [one.to_dict() for one in compared],
            }
        )
        return
    out = screen.console()
    of = "" if positive is None else f", positive class {positive}"
    out.print(f"{model} on {data}: {len(rows.y):,} rows, target {name}{of}", soft_wrap=True)
    out.print()
    out.print(shown.score_table(scores))
    if compared:
        out.print(f"\nChallenger {challenger}, less {model}:", soft_wrap=True)
        out.print()
        out.print(shown.comparison_table(compared))


def _challenger_rows(
    path: Path, data: str, target: str, weight: str | None, how: ReadOptions
) -> Any:
    """What the challenger predicts for the same rows."""
    from glassleaf.cli.reading.model_rows import labeled_chunks, opened_for, read_model

    if data == "-":
        raise CallError("--challenger reads the rows again, which standard input cannot give.")
    estimator = read_model(path)
    with opened_for(estimator, data, how) as reader:
        return predicted_chunks(estimator, labeled_chunks(estimator, reader, target, weight))


def predicted_chunks(estimator: Any, chunks: Iterable[Any]) -> Any:
    """Predictions for chunks of labeled rows; nothing else of these stays in memory."""
    import numpy as np

    from glassleaf.cli.output.scores import PredictedRows

    predict = getattr(estimator, "predict_proba", estimator.predict)
    found = [(predict(rows.X), rows.y, rows.weight) for rows in chunks]
    if not found:
        return PredictedRows(np.empty(0), np.empty(0), None)
    predicted, y = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    weight = None if found[0][2] is None else np.concatenate([part[2] for part in found])
    return PredictedRows(predicted, y, weight)


def score_chunks(estimator: Any, chunks: Iterable[Any]) -> tuple[list[Any], int]:
    """The main scores on chunks of labeled rows, and the number of rows."""
    from glassleaf.cli.output.scores import class_scores, number_scores

    rows = predicted_chunks(estimator, chunks)
    if not len(rows.y):
        return [], 0
    if hasattr(estimator, "classes_"):
        found = class_scores(estimator.classes_, rows.predicted, rows.y, rows.weight)
    else:
        found = number_scores(rows.predicted, rows.y, rows.weight, estimator.loss)
    return found, len(rows.y)


def report(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    weight: options.Weight = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="HTML page to write.")
    ] = Path("report.html"),
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Another sample, whose scores stand beside those of DATA. May be repeated.",
        ),
    ] = None,
    challenger: Challenger = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Write the report of a model on rows whose true values are known."""
    from glassleaf.cli.reading.model_rows import labeled_rows, read_model
    from glassleaf.tree.fitted import fitted_model

    if not output.parent.is_dir():
        raise CallError(f"cannot write {str(output)!r}: there is no folder {str(output.parent)!r}.")
    estimator = read_model(model)
    how = ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error)
    rows = labeled_rows(estimator, data, target, weight, how)
    samples = {}
    for name, path in _named_files(beside or []):
        other = labeled_rows(estimator, path, rows.target, weight, how)
        samples[name] = other.X, other.y, other.weight
    samples[data] = rows.X, rows.y, rows.weight
    rival = None if challenger is None else read_model(challenger)
    estimator.report(samples, target=rows.target, challenger=rival).write(output)
    positive = fitted_model(estimator).positive_class
    of = "" if positive is None else f" (positive class {positive})"
    screen.console().print(f"Written: {output}{of}", style="green", soft_wrap=True)


def _named_files(given: list[str]) -> Iterator[tuple[str, str]]:
    for text in given:
        name, sign, path = text.partition("=")
        if not (name and sign and path):
            raise CallError(f"--beside {text!r} must be NAME=FILE.")
        yield name, path
