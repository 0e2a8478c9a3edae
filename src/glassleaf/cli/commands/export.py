"""``glassleaf export``: a model in the language of another system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.cli.choices import Language, SqlDialect
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")

_SQL, _CARD = "For sql", "For scorecard"


def export(
    model: options.Model,
    to: Annotated[Language, typer.Option("--to", help="The language.", show_default=False)],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write; '-' is standard output."
        ),
    ] = "-",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="c, js: what names begin with. pmml: name of the target."
        ),
    ] = None,
    dialect: Annotated[
        SqlDialect, typer.Option(help="The database.", rich_help_panel=_SQL)
    ] = SqlDialect.duckdb,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A view of this table, instead of an expression.",
            rich_help_panel=_SQL,
        ),
    ] = None,
    view: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the view.", rich_help_panel=_SQL)
    ] = "scored",
    prefix: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="What names of the view's new columns begin with.",
            rich_help_panel=_SQL,
        ),
    ] = "",
    of: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Class whose probability the expression is.", rich_help_panel=_SQL
        ),
    ] = None,
    base_score: Annotated[float, typer.Option(rich_help_panel=_CARD)] = 600.0,
    base_odds: Annotated[
        float, typer.Option(help="Odds at the base score.", rich_help_panel=_CARD)
    ] = 50.0,
    pdo: Annotated[
        float, typer.Option(help="Points to double the odds.", rich_help_panel=_CARD)
    ] = 20.0,
    good: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Class whose odds the points raise.", rich_help_panel=_CARD
        ),
    ] = None,
    decimals: Annotated[
        int | None, typer.Option(min=0, help="Decimals of the points.", rich_help_panel=_CARD)
    ] = None,
) -> None:
    """Write a model as ONNX, PMML, SQL, C, Python, JavaScript, or a scorecard (CSV, Excel)."""
    from glassleaf.cli.commands import export_formats as exporting
    from glassleaf.cli.reading.models import label_of, read_model

    estimator = read_model(model)
    sql = {"dialect": str(dialect), "table": table, "view": view, "prefix": prefix,
           "of": label_of(estimator, of, "--of")}  # fmt: skip
    card = {"base_score": base_score, "base_odds": base_odds, "pdo": pdo, "decimals": decimals,
            "good": label_of(estimator, good, "--good")}  # fmt: skip
    content = exporting.exported(estimator, str(to), name, sql, card, Path(output).suffix)
    exporting.write(content, output)
