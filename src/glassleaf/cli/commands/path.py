"""``glassleaf path``: the models of growing length in a model file, and any one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options, screen
from glassleaf.cli.failures import CallError, DataError
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def path(
    model: options.Model,
    numbers: Annotated[
        int | None,
        typer.Option(min=1, help="Take the longest model with at most this many numbers to read."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Model file to write, of that length."),
    ] = None,
    json: options.Json = False,
) -> None:
    """List models of growing length from one fit, or take the one of another length.

    The list says what came in at every step, and the validated loss: that of rows on which a model
    of this length was not learned. Its error is that of how much worse it is than the best.
    """
    from glassleaf.cli.output import path_screen
    from glassleaf.cli.reading.model_rows import read_model

    if output is not None and numbers is None:
        raise CallError("--output needs --numbers: which model is to be written?")
    estimator = read_model(model)
    if estimator.model_.path is None:
        raise DataError(
            f"{model} holds one model only: it was fitted with --numbers all, or by an older"
            " version."
        )
    if numbers is None:
        path_screen.show_steps(screen.console(), estimator, json)
        return
    short = estimator.at(numbers=numbers)
    if output is not None:
        short.save(output)
    path_screen.show_model(screen.console(), short, output, json)
