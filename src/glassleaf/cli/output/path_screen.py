"""What ``path`` shows: all steps, or the model of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glassleaf
from glassleaf.cli.output.drawing import print_tree
from glassleaf.cli.screen import plain_table, write_json
from glassleaf.errors import require
from glassleaf.explanations import words
from glassleaf.tree.fitted import fitted_model

text: Any = require("rich.text", extra="cli", purpose="Tables on the screen")


def show_steps(out: Any, estimator: Any, as_json: bool) -> None:
    """All steps of the path; an arrow marks the one that the model is."""
    model, steps = fitted_model(estimator), estimator.path_
    chosen = None if model.path is None else model.path.place(model.tree)
    if as_json:
        write_json({"chosen": chosen, "steps": [step.to_dict() for step in steps]})
        return
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("numbers", justify="right", no_wrap=True)
    table.add_column("validated loss", justify="right", no_wrap=True)
    table.add_column("what came in")
    for k, step in enumerate(steps):
        loss = f"{words.number(step.validated, 4)} ± {words.number(step.error, 2)}"
        mark = "→" if k == chosen else ""
        style = "bold" if k == chosen else None
        table.add_row(mark, str(step.numbers), loss, text.Text(step.what), style=style)
    out.print(table)
    out.print()
    out.print("Another one: --numbers N, and --output FILE to write it.", style="dim")


def show_model(out: Any, estimator: Any, output: Path | None, as_json: bool) -> None:
    """The model of a step, and where it was written."""
    if as_json:
        write_json(glassleaf.explain(estimator).to_dict())
        return
    print_tree(out, estimator, None, 0)
    if output is not None:
        out.print()
        out.print(f"Written: {output}", style="green", soft_wrap=True)
