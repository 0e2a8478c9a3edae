"""``glassleaf show``: the tree of a model file in the terminal."""

from __future__ import annotations

from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.cli.choices import OnError
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def show(
    model: options.Model,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows that say how much each column varies, for bars and their order.",
        ),
    ] = None,
    terms: Annotated[int, typer.Option(min=0, help="How many columns per leaf; 0: all.")] = 8,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnError = OnError.stop,
) -> None:
    """Draw the tree: its splits in words, its leaves with their rows and formulas."""
    import glassleaf
    from glassleaf.cli.output import drawing, screen
    from glassleaf.cli.reading.chosen_rows import conformed_rows
    from glassleaf.cli.reading.models import read_model

    estimator = read_model(model)
    if json:
        screen.write_json(glassleaf.explain(estimator).to_dict())
        return
    X = None
    if data is not None:
        how = options.read_options(delimiter, encoding, decimal, missing, on_error)
        X = conformed_rows(estimator, data, how)
    drawing.print_tree(screen.console(), estimator, X, terms)
