"""All commands, each from its own module."""

from __future__ import annotations

from typing import Any

from glassleaf.errors import require
from glassleaf.reproduce.command import reproduce

typer: Any = require("typer", extra="cli", purpose="The command line")

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Model trees: shallow decision trees with a linear or logistic model in every leaf.",
)


def _commands() -> None:
    """A callback keeps ``reproduce`` a command of its own while it is the only one."""


app.callback()(_commands)
app.command()(reproduce)
