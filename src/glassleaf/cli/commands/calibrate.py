"""``glassleaf calibrate``: what rows that the fit did not see say of a model, kept in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.cli.screen import note
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def calibrate(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Model file to write. Default: MODEL is replaced.",
        ),
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Learn intervals, or correct probabilities, by rows that the fit did not see."""
    from glassleaf.cli.reading.model_rows import labeled_rows, read_model

    estimator = read_model(model)
    how = ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error)
    rows = labeled_rows(estimator, data, target, None, how)
    estimator.calibrate(rows.X, rows.y)
    estimator.save(output or model)
    what = "intervals learned from" if hasattr(estimator, "predict_interval") else "calibrated on"
    note(f"{what} {len(rows.y):,} rows; written to {output or model}")
