"""``glassleaf demo``: a tour on made-up loans. It shows each command, then runs it."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import chdir
from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli.screen import console
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")

_ROWS = 3000


def demo(
    context: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder of the files. It is created if it does not exist."
        ),
    ] = Path("glassleaf-demo"),
) -> None:
    """Make a table of loans, fit a tree to it, and use the model: a tour of two minutes."""
    from glassleaf.cli.output.writing import writer

    folder.mkdir(parents=True, exist_ok=True)
    out, commands = console(), context.find_root().command
    for name, seed in (("loans.csv", 1), ("new.csv", 2)):
        table = loans(_ROWS, seed)
        with writer(str(folder / name), table.schema) as rows:
            rows.write(table)
    out.print(f"Made {folder / 'loans.csv'} and {folder / 'new.csv'}, {_ROWS:,} loans each.")
    with chdir(folder):
        _step(out, commands, "fit loans.csv --target default --leaves 4")
        _step(out, commands, "evaluate model.json new.csv --target default")
        _step(out, commands, "predict model.json new.csv --keep id --output scored.csv")
        _shown(out, Path("scored.csv"))
        _step(out, commands, "explain model.json new.csv --row 3")
        _step(out, commands, "export model.json --to sql --table loans --output model.sql")
    out.print()
    out.print(f"All files are in {folder}. Next, fit a tree to your own table:", style="bold")
    out.print("  glassleaf fit FILE --target COLUMN", style="bold cyan")


def loans(n_rows: int, seed: int) -> Any:
    """Loans whose risk follows one rule in the south and another elsewhere; some cells missing."""
    import numpy as np

    pa = require("pyarrow", extra="cli", purpose="The demo")
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, n_rows).astype(float)
    income = np.round(random.lognormal(3.4, 0.5, n_rows), 1)
    years = np.floor(random.uniform(0, np.maximum(age - 17, 1)))
    region = random.choice(["north", "south", "west"], n_rows, p=[0.4, 0.35, 0.25])
    purpose = random.choice(["car", "house", "studies", "other"], n_rows)
    log_odds = np.where(
        region == "south",
        -4.0 + 0.06 * age + 0.8 * (purpose == "studies"),
        1.5 - 0.08 * income - 0.05 * years,
    )
    default = random.uniform(size=n_rows) < 1 / (1 + np.exp(-log_odds))
    return pa.table(
        {
            "id": [f"L{k:05d}" for k in range(1, n_rows + 1)],
            "age": age,
            "income": pa.array(income, mask=random.uniform(size=n_rows) < 0.03),
            "years_employed": years,
            "region": region.tolist(),
            "purpose": purpose.tolist(),
            "default": np.where(default, "yes", "no").tolist(),
        }
    )


def _step(out: Any, commands: Any, words: str) -> None:
    """Show a command and run it."""
    out.print()
    out.print(f"$ glassleaf {words}", style="bold cyan")
    sys.stdout.flush()
    code = commands.main(shlex.split(words), prog_name="glassleaf", standalone_mode=False)
    if code:
        raise typer.Exit(code)


def _shown(out: Any, path: Path) -> None:
    out.print()
    out.print(f"$ head -n 4 {path}", style="bold cyan")
    with open(path, encoding="utf-8") as file:
        for _ in range(4):
            out.print(file.readline().rstrip(os.linesep))
