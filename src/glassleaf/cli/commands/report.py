"""``glassleaf report``: a model on rows with known targets, as a page to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.cli.choices import OnError
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def report(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    weight: options.Weight = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Page to write.")
    ] = Path("report.html"),
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnError = OnError.stop,
) -> None:
    """Write the report of a model on rows whose true values are known."""
    from glassleaf.cli.failures import CallError
    from glassleaf.cli.output import screen
    from glassleaf.cli.reading.labeled import labeled_rows
    from glassleaf.cli.reading.models import read_model

    if not output.parent.is_dir():
        raise CallError(f"cannot write {str(output)!r}: there is no folder {str(output.parent)!r}.")
    estimator = read_model(model)
    how = options.read_options(delimiter, encoding, decimal, missing, on_error)
    rows = labeled_rows(estimator, data, target, weight, how)
    estimator.report(rows.X, rows.y, rows.weight, target=rows.target).write(output)
    screen.console().print(f"Written: {output}", style="green", soft_wrap=True)
