"""``glassleaf predict``: any number of rows in, predictions out."""

from __future__ import annotations

from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the predictions (.csv, .tsv, .parquet, .arrow, .jsonl; .gz and .zst);"
            " '-' is standard output.",
        ),
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Columns to copy. May be repeated, or list several with commas."
        ),
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy all columns.")] = False,
    leaf: Annotated[
        bool, typer.Option("--leaf", help="Add the leaf, by the number of its node.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Add the ends of an interval that holds the true value in this share of all cases,"
            " for example 0.9. The model needs 'glassleaf calibrate' before.",
        ),
    ] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Prefix of the new columns.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object per row.")] = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Predict the rows of a file of any size. Memory holds one chunk of rows at a time."""
    from glassleaf.cli.commands import predict_steps as predicting

    predicting.run(
        predicting.PredictRequest(
            model=model,
            data=data,
            output=output,
            keep=tuple(keep or ()),
            keep_all=keep_all,
            leaf=leaf,
            interval=interval,
            prefix=prefix,
            as_json=json,
            options=ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error),
        )
    )
