"""``glassleaf predict``: rows in, predictions out, however many there are."""

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
        bool, typer.Option("--leaf", help="Also the leaf, as a node of the tree.")
    ] = False,
    prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="What the names of new columns begin with.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON object per row.")] = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Predict the rows of a file of any size, in the memory of a few thousand rows."""
    from glassleaf.cli.commands import predict_steps as predicting

    predicting.run(
        predicting.PredictRequest(
            model=model,
            data=data,
            output=output,
            keep=tuple(keep or ()),
            keep_all=keep_all,
            leaf=leaf,
            prefix=prefix,
            as_json=json,
            options=ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error),
        )
    )
