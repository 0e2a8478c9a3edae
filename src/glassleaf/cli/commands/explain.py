"""``glassleaf explain``: why a row got its prediction."""

from __future__ import annotations

from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def explain(
    model: options.Model,
    data: options.Data,
    row: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Number of a row; 1, the default, is the first. May be repeated."),
    ] = None,
    reasons: Annotated[
        int | None, typer.Option(min=1, help="Only reasons: at most so many columns that hurt.")
    ] = None,
    favorable: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="For --reasons: the class that is good for the row; or high, low."
        ),
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows to compare with, such as those of the fit: splits count then, too."
            " Default: the mean of the row's leaf.",
        ),
    ] = None,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
) -> None:
    """Explain predictions: the way through the tree, and what every column added."""
    import glassleaf
    from glassleaf.cli.output import explain_screen, screen
    from glassleaf.cli.reading.chosen_rows import chosen_rows, conformed_rows
    from glassleaf.cli.reading.models import read_model

    estimator = read_model(model)
    numbers = row or [1]
    how = options.read_options(delimiter, encoding, decimal, missing)
    X = chosen_rows(estimator, data, numbers, how)
    others = None if background is None else conformed_rows(estimator, background, how)
    found = list(glassleaf.explain(estimator, X, background=others))
    hurting: list[Any] = [None] * len(found)
    if reasons is not None:
        good = explain_screen.favorable_score(estimator, favorable)
        hurting = glassleaf.reasons(estimator, X, reasons, favorable=good, background=others)
    if json:
        pairs = zip(numbers, found, hurting, strict=True)
        screen.write_json([explain_screen.as_json(*pair) for pair in pairs])
        return
    good_words = explain_screen.favorable_words(estimator, favorable)
    for place, number in enumerate(numbers):
        explain_screen.show_row(
            screen.console(), estimator, X, place, number, found[place], hurting[place], good_words
        )
