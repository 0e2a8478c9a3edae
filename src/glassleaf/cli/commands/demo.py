"""``glassleaf demo``: the commands, one after the other, on data made for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


def demo(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Where the files go; it is made if it is not there."),
    ] = Path("glassleaf-demo"),
) -> None:
    """Make a table of loans, fit a tree to it, and use the model: a tour of two minutes."""
    from glassleaf.cli.commands import tour

    tour.run(folder)
