"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


class Task(StrEnum):
    """What the model predicts."""

    classification = "classification"
    regression = "regression"


class OnError(StrEnum):
    """What a command does with a row that it cannot use."""

    stop = "stop"
    skip = "skip"


@dataclass(frozen=True)
class ReadOptions:
    """How a command reads data.

    Without ``delimiter``, the header shows it. ``missing`` are texts that mean a missing value.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    missing: tuple[str, ...] = ()
    on_error: OnError = OnError.stop


READING = "How to read the data"

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file, written by 'glassleaf fit'.")
]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, Arrow or Feather file, compressed or not; '-' is standard input.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of the true values. Not needed if it is the only column that the model lacks.",
    ),
]
Weight = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the rows' weights.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Character between the fields. Default: found in the header.",
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Encoding of text files, for example latin-1.", rich_help_panel=READING
    ),
]
Decimal = Annotated[
    str,
    typer.Option(metavar="CHAR", help="Decimal sign of text files.", rich_help_panel=READING),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="A text that means a missing value, as NA and NULL do. May be repeated.",
        rich_help_panel=READING,
    ),
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        help="What happens at a row that cannot be used: stop, or skip and count it.",
        rich_help_panel=READING,
    ),
]
