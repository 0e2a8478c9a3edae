"""Arguments and options that several commands share, and the choices of those that have a few."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")


class Task(StrEnum):
    """What is to be predicted."""

    classification = "classification"
    regression = "regression"


class OnError(StrEnum):
    """What to do with a row that cannot be used."""

    stop = "stop"
    skip = "skip"


@dataclass(frozen=True)
class ReadOptions:
    """How a call wants data to be read.

    Without ``delimiter``, the header shows it. ``missing`` are more texts that stand for nothing.
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
        help="Column of the true values; may be left out if it is the only other one.",
    ),
]
Weight = Annotated[str | None, typer.Option(metavar="NAME", help="Column of the rows' weights.")]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON, for machines.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="What separates the fields; found in the header.",
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Of text files, for example latin-1.", rich_help_panel=READING
    ),
]
Decimal = Annotated[
    str,
    typer.Option(metavar="CHAR", help="Sign of decimals in text files.", rich_help_panel=READING),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="A text that stands for a missing value, beside NA, NULL, ... May be repeated.",
        rich_help_panel=READING,
    ),
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        help="What to do with rows that cannot be used: stop, or skip and count them.",
        rich_help_panel=READING,
    ),
]
