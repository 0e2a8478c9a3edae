"""``glassleaf export``: a model in the language of another system."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.cli.failures import CallError
from glassleaf.cli.options import ReadOptions
from glassleaf.cli.screen import note
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")

_SQL, _CARD = "For sql", "For scorecard"


class Language(StrEnum):
    """The languages that a model can be written in."""

    onnx = "onnx"
    pmml = "pmml"
    sql = "sql"
    c = "c"
    python = "python"
    js = "js"
    scorecard = "scorecard"


class SqlDialect(StrEnum):
    """The databases that there is SQL for."""

    duckdb = "duckdb"
    sqlite = "sqlite"
    postgresql = "postgresql"
    snowflake = "snowflake"
    bigquery = "bigquery"
    databricks = "databricks"
    spark = "spark"
    redshift = "redshift"
    tsql = "tsql"
    oracle = "oracle"
    mysql = "mysql"
    mariadb = "mariadb"
    clickhouse = "clickhouse"


def export(
    model: options.Model,
    to: Annotated[Language, typer.Option("--to", help="Language to write.", show_default=False)],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write; '-' is standard output."
        ),
    ] = "-",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For c and js, the prefix of all names. For pmml, the name of the target.",
        ),
    ] = None,
    dialect: Annotated[
        SqlDialect, typer.Option(help="Database.", rich_help_panel=_SQL)
    ] = SqlDialect.duckdb,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a view of this table instead of an expression.",
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
            help="Prefix of the view's new columns.",
            rich_help_panel=_SQL,
        ),
    ] = "",
    of: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Class whose probability the expression gives.",
            rich_help_panel=_SQL,
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Add the ends of an interval to the view, for example of 0.9.",
            rich_help_panel=_SQL,
        ),
    ] = None,
    base_score: Annotated[
        float, typer.Option(help="Points at the base odds.", rich_help_panel=_CARD)
    ] = 600.0,
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
    exact: Annotated[
        bool, typer.Option("--exact", help="Points with all digits.", rich_help_panel=_CARD)
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows with their targets, to count in every line.",
            rich_help_panel=_CARD,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of their targets.", rich_help_panel=_CARD),
    ] = None,
    bins: Annotated[
        bool,
        typer.Option(
            "--bins", help="Ranges with points of their own, by these rows.", rich_help_panel=_CARD
        ),
    ] = False,
) -> None:
    """Write a model as ONNX, PMML, SQL, C, Python, JavaScript or scorecard (CSV, Excel, HTML)."""
    from glassleaf.cli.reading.model_rows import label_of, labeled_rows, read_model

    if interval is not None and to is not Language.sql:
        raise CallError("--interval is for --to sql. Other languages give the prediction alone.")
    estimator = read_model(model)
    if bins and data is None:
        raise CallError("--bins needs rows that fall into them: --data FILE")
    rows = None if data is None else labeled_rows(estimator, data, target, None, ReadOptions())
    sql = {"dialect": str(dialect), "table": table, "view": view, "prefix": prefix,
           "of": label_of(estimator, of, "--of"), "interval": interval}  # fmt: skip
    card = {"base_score": base_score, "base_odds": base_odds, "pdo": pdo, "integer": not exact,
            "good": label_of(estimator, good, "--good"), "bins": "auto" if bins else None,
            **({} if rows is None else {"X": rows.X, "y": rows.y})}  # fmt: skip
    _write(_exported(estimator, str(to), name, sql, card, Path(output).suffix), output)


def _exported(
    estimator: Any,
    language: str,
    name: str | None,
    sql: dict[str, Any],
    card: dict[str, Any],
    suffix: str,
) -> bytes:
    """The model in a language. The suffix says whether a scorecard is Excel, HTML or CSV."""
    from glassleaf import export as languages

    named = {} if name is None else {"name": name}
    writers: dict[str, Callable[[], str | bytes]] = {
        "onnx": lambda: languages.to_onnx(estimator).SerializeToString(),
        "pmml": lambda: languages.to_pmml(estimator, **({} if name is None else {"target": name})),
        "sql": lambda: languages.to_sql(estimator, **sql),
        "c": lambda: languages.to_c(estimator, **named),
        "python": lambda: languages.to_python(estimator),
        "js": lambda: languages.to_javascript(estimator, **named),
        "scorecard": lambda: _scorecard(languages.to_scorecard(estimator, **card), suffix),
    }
    content = writers[language]()
    if isinstance(content, bytes):
        return content
    return content.encode() if content.endswith("\n") else content.encode() + b"\n"


def _scorecard(found: Any, suffix: str) -> str | bytes:
    if suffix.lower() != ".xlsx":
        return str(found.to_html() if suffix.lower() in (".html", ".htm") else found.to_csv())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scorecard.xlsx")
        found.to_excel(path)
        return Path(path).read_bytes()


def _write(content: bytes, output: str) -> None:
    from glassleaf.cli.output.writing import created

    if output == "-" and sys.stdout.isatty() and b"\0" in content:
        raise CallError("the output is binary, not text for a terminal. Name a file: --output FILE")
    with created(output) as sink:
        sink.write(content)
    if output != "-":
        note(f"{len(content):,} bytes written to {output}")
