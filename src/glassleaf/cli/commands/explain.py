"""``glassleaf explain`` and ``glassleaf show``: why a row got its prediction; the whole tree."""

from __future__ import annotations

from typing import Annotated, Any

from glassleaf.cli import options, screen
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def explain(
    model: options.Model,
    data: options.Data,
    row: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Number of a row. The first is 1, the default. May be repeated."),
    ] = None,
    reasons: Annotated[
        int | None,
        typer.Option(min=1, help="Show only the columns that hurt most, this many at most."),
    ] = None,
    favorable: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="For --reasons: the class that is good for the row, or high, or low.",
        ),
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows to compare with, such as those of the fit. Splits then count, too."
            " Default: the mean of the row's leaf.",
        ),
    ] = None,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
) -> None:
    """Explain predictions: the path through the tree, and what each column added."""
    import glassleaf
    from glassleaf.cli.output import explain_screen
    from glassleaf.cli.reading.model_rows import chosen_rows, conformed_rows, read_model

    estimator = read_model(model)
    numbers = row or [1]
    how = ReadOptions(delimiter, encoding, decimal, tuple(missing or ()))
    X = chosen_rows(estimator, data, numbers, how)
    others = None if background is None else conformed_rows(estimator, background, how)
    found = list(glassleaf.explain(estimator, X, background=others))
    hurting: list[Any] = [None] * len(found)
    if reasons is not None:
        good = explain_screen.favorable_score(estimator, favorable)
        hurting = glassleaf.reasons(estimator, X, reasons, favorable=good, background=others)
    explained = zip(numbers, found, hurting, strict=True)
    if json:
        screen.write_json([explain_screen.as_json(*one) for one in explained])
        return
    good_words = explain_screen.favorable_words(estimator, favorable)
    for one in explained:
        explain_screen.show_row(screen.console(), estimator, *one, good_words)


def show(
    model: options.Model,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows that show how much each column varies; they scale and sort the bars.",
        ),
    ] = None,
    terms: Annotated[int, typer.Option(min=0, help="Most columns per leaf; 0 shows all.")] = 8,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Draw the tree: splits in words, leaves with their rows and formulas."""
    import glassleaf
    from glassleaf.cli.output import drawing
    from glassleaf.cli.reading.model_rows import conformed_rows, read_model

    estimator = read_model(model)
    if json:
        screen.write_json(glassleaf.explain(estimator).to_dict())
        return
    X = None
    if data is not None:
        how = ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error)
        X = conformed_rows(estimator, data, how)
    drawing.print_tree(screen.console(), estimator, X, terms)
