"""``glassleaf monitor``: do new rows look like those of the fit?"""

from __future__ import annotations

from typing import Annotated, Any

from glassleaf.cli import options, screen
from glassleaf.cli.failures import CHANGED, DataError
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def monitor(
    model: options.Model,
    data: options.Data,
    threshold: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Population stability index, beyond what chance explains, from which a change"
            " ends the command with exit code 3.",
        ),
    ] = 0.25,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Compare new rows with those of the fit: score, leaves and columns.

    The true values need not be known. Exit code 3: something has changed.
    """
    from glassleaf.cli.output.drift_screen import show_drift
    from glassleaf.cli.reading.model_rows import conformed_chunks, opened_for, read_model
    from glassleaf.explanations import drift
    from glassleaf.tree.fitted import fitted_model

    estimator = read_model(model)
    fitted = fitted_model(estimator)
    drift.check_kept(fitted)
    how = ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error)
    with opened_for(estimator, data, how) as reader:
        counts = [drift.count_rows(fitted, X) for X in conformed_chunks(reader) if X.num_rows]
    if not counts:
        raise DataError(f"{reader.source.name} has no usable rows.")
    found = drift.compared(fitted, sum(counts[1:], counts[0]))
    changed = found.changed(threshold)
    if json:
        screen.write_json({
            "model": str(model), "data": data, "threshold": threshold,
            "changed": [own.name or own.what for own in changed], **found.to_dict(),
        })  # fmt: skip
    else:
        show_drift(screen.console(), found, threshold, f"{model} on {data}")
    if changed:
        raise typer.Exit(CHANGED)
