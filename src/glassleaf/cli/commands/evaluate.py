"""``glassleaf evaluate`` and ``glassleaf report``: a model on rows whose true values are known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options, screen
from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def evaluate(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    weight: options.Weight = None,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Score a model on rows whose true values are known."""
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
        scores, n_rows = score_chunks(estimator, chunks)
    if not n_rows:
        raise DataError(f"{reader.source.name} has no usable rows.")
    positive = fitted_model(estimator).positive_class
    if json:
        screen.write_json(
            {
                "model": str(model),
                "data": data,
                "target": name,
                "positive_class": positive,
                "rows": n_rows,
                "skipped_rows": reader.source.problems.n_skipped,
                "scores": {score.name: score.value for score in scores},
            }
        )
        return
    out = screen.console()
    of = "" if positive is None else f", positive class {positive}"
    out.print(f"{model} on {data}: {n_rows:,} rows, target {name}{of}", soft_wrap=True)
    out.print()
    table = screen.plain_table("score")
    table.add_column("value", justify="right")
    table.add_column("better is", style="dim")
    for score in scores:
        better = "higher" if score.higher_is_better else "lower"
        table.add_row(score.name, f"{score.value:.4g}", better)
    out.print(table)


def score_chunks(estimator: Any, chunks: Iterable[Any]) -> tuple[list[Any], int]:
    """Scores on chunks of labeled rows, and the number of rows. Only predictions stay in memory."""
    import numpy as np

    from glassleaf.cli.output.scores import class_scores, number_scores

    classes = getattr(estimator, "classes_", None)
    predict = estimator.predict if classes is None else estimator.predict_proba
    found = [(predict(rows.X), rows.y, rows.weight) for rows in chunks]
    if not found:
        return [], 0
    predicted, y = (np.concatenate([part[k] for part in found]) for k in (0, 1))
    weight = None if found[0][2] is None else np.concatenate([part[2] for part in found])
    if classes is None:
        return number_scores(predicted, y, weight, estimator.loss), len(y)
    return class_scores(classes, predicted, y, weight), len(y)


def report(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    weight: options.Weight = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="HTML page to write.")
    ] = Path("report.html"),
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
    estimator.report(rows.X, rows.y, rows.weight, target=rows.target).write(output)
    positive = fitted_model(estimator).positive_class
    of = "" if positive is None else f" (positive class {positive})"
    screen.console().print(f"Written: {output}{of}", style="green", soft_wrap=True)
