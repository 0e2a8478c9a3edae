"""The application: all commands, and what happens when one fails.

The modules of the commands import little. A command imports what it needs when it runs, so that
``--help`` and completion answer at once.
"""

from __future__ import annotations

import errno
import os
from typing import Annotated, Any

from glassleaf._version import __version__
from glassleaf.cli import screen
from glassleaf.cli.commands.calibrate import calibrate
from glassleaf.cli.commands.demo import demo
from glassleaf.cli.commands.evaluate import evaluate, report
from glassleaf.cli.commands.explain import explain, show
from glassleaf.cli.commands.export import export
from glassleaf.cli.commands.fit import fit
from glassleaf.cli.commands.monitor import monitor
from glassleaf.cli.commands.path import path
from glassleaf.cli.commands.predict import predict
from glassleaf.cli.failures import FAILED, INTERRUPTED, MISUSED, CallError
from glassleaf.errors import GlassleafError, require

typer: Any = require("typer", extra="cli", purpose="The command line")
typer_core: Any = require("typer.core", extra="cli", purpose="The command line")


class Commands(typer_core.TyperGroup):  # type: ignore[misc]
    """Turns errors into one message on standard error and an exit code."""

    def invoke(self, context: Any) -> Any:
        try:
            with screen.warnings_as_notes():
                return super().invoke(context)
        except KeyboardInterrupt:
            screen.complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except (GlassleafError, ValueError, TypeError, OSError) as error:
            if getattr(error, "errno", None) == errno.EPIPE:
                raise  # whoever read the output has gone: nobody is there to tell
            if os.environ.get("GLASSLEAF_DEBUG"):
                raise
            screen.complain(_words(error))
            raise typer.Exit(MISUSED if isinstance(error, CallError) else FAILED) from error


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    help="Model trees: shallow decision trees with a linear or logistic model in every leaf.",
    epilog="Exit codes: 0 success, 1 the data or the model, 2 the call, 3 monitor found a change,"
    " 130 interrupted."
    " To begin: glassleaf demo",
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"glassleaf {__version__}")
        raise typer.Exit


@app.callback()  # type: ignore[untyped-decorator]
def _commands(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


for _command in (
    fit, predict, calibrate, evaluate, explain, report, monitor, export, show, path, demo,
):  # fmt: skip
    app.command()(_command)
