"""``glassleaf reproduce``: the options. What they ask for is imported when it is run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from glassleaf.errors import GlassleafError, require
from reproduction.printed import N_FOLDS

typer: Any = require("typer", extra="cli", purpose="The command line")

# Exit codes: 0, all is well; 1, a cell failed or a value is off; 2, the call itself was wrong.
MISUSED = 2


def reproduce(
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data files; default: GLASSLEAF_DATA, else OpenML."),
    ] = None,
    dataset_names: Annotated[
        str, typer.Option("--datasets", help="Names, separated by commas; default: all eight.")
    ] = "",
    method_names: Annotated[
        str,
        typer.Option(
            "--methods",
            help="Names or beginnings of names, separated by commas; default: all.",
        ),
    ] = "",
    folds: Annotated[
        int, typer.Option(min=1, max=N_FOLDS, help="How many of the four folds to run.")
    ] = N_FOLDS,
    quick_run: Annotated[
        bool,
        typer.Option(
            "--quick", help="Breast Cancer and 5,000 rows of House, few methods; checks the values."
        ),
    ] = False,
    output: Annotated[
        Path, typer.Option(help="Folder of the report, the figures and the kept cells.")
    ] = Path("reproduction"),
    peers: Annotated[
        bool, typer.Option("--peers", help="Also LightGBM linear trees, Cubist, PILOT and EBM.")
    ] = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes for the small datasets; the threads are shared.")
    ] = os.cpu_count() or 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute every cell anew.")] = False,
    with_figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw Figures 1 to 3.")
    ] = True,
    docs: Annotated[
        Path | None,
        typer.Option("--write-docs", help="Page whose marked part is replaced by the report."),
    ] = None,
) -> None:
    """Run the evaluation of Broelemann & Kasneci (2019) again, beside the paper's numbers."""
    from reproduction import evaluation
    from reproduction import quick
    from reproduction import report
    from reproduction.schedule import Run

    console = require("rich.console", extra="cli", purpose="The report").Console()
    try:
        if docs is not None:
            report.marked_page(docs)  # a page that cannot be written is said before the work
        run = Run(
            datasets=evaluation.chosen_datasets(dataset_names, quick_run),
            methods=evaluation.chosen_methods(method_names, quick_run, peers),
            output=output,
            folder=None if data is None else str(data),
            folds=folds,
            rows=quick.ROWS if quick_run else None,
            jobs=jobs,
            fresh=fresh,
        )
        made = evaluation.run_everything(run, console, with_figures)
        if docs is not None:
            report.write_docs(docs, made)
    except (GlassleafError, ValueError) as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(MISUSED) from error
    raise typer.Exit(evaluation.verdict(made, quick_run, console))
