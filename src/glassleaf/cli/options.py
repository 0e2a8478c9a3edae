"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from glassleaf.cli.choices import OnError as _OnError
from glassleaf.errors import require

if TYPE_CHECKING:
    from glassleaf.cli.reading.sources import ReadOptions

typer: Any = require("typer", extra="cli", purpose="The command line")

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
OnError = Annotated[
    _OnError,
    typer.Option(
        help="What to do with rows that cannot be used: stop, or skip and count them.",
        rich_help_panel=READING,
    ),
]


def read_options(
    delimiter: str | None,
    encoding: str,
    decimal: str,
    missing: list[str] | None,
    on_error: _OnError = _OnError.stop,
) -> ReadOptions:
    """The options on how to read data, as the steps of the commands take them."""
    from glassleaf.cli.reading.delimited import Dialect
    from glassleaf.cli.reading.sources import ReadOptions

    dialect = Dialect(delimiter, encoding, decimal)
    return ReadOptions(dialect, tuple(missing or ()), on_error)
