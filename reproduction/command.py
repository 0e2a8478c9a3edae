"""The options of ``python -m reproduction``, and its exit codes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from glassleaf.errors import GlassleafError, require
from reproduction import evaluation, quick, report
from reproduction.printed import N_FOLDS
from reproduction.schedule import Run

typer: Any = require("typer", extra="reproduce", purpose="The command line")
rich: Any = require("rich.console", extra="reproduce", purpose="The report")

# Exit codes besides 0 (all is well) and 1 (a cell failed or a value is off).
MISUSED = 2
INTERRUPTED = 130

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()  # type: ignore[untyped-decorator]
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
    ] = Path("build/reproduction"),
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
    console = rich.Console()
    try:
        if docs is not None:
            report.marked_page(docs)  # fails before the work, not after it
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
    except KeyboardInterrupt:
        console.print("Interrupted. The finished cells are kept.", style="red")
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(evaluation.verdict(made, quick_run, console))
