"""``glassleaf fit``: a file in, a model file and a report out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from glassleaf.cli import options
from glassleaf.cli.options import OnError, ReadOptions, Task
from glassleaf.errors import require

typer: Any = require("typer", extra="cli", purpose="The command line")

_COLUMNS = "Columns"
_TREE = "The tree"
_TESTS = "Tests and output"
_SEVERAL = "May be repeated, or list several with commas."


def fit(
    data: options.Data,
    target: Annotated[
        str, typer.Option(metavar="NAME", help="Column to predict.", show_default=False)
    ],
    task: Annotated[
        Task | None,
        typer.Option(help="What to predict. Default: inferred from the target."),
    ] = None,
    positive_class: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Of two classes, the one that scores, signs and formulas are about; the second in"
            " sorted order, if it is not said.",
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of the rows' weights.", rich_help_panel=_COLUMNS),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of exposures: the target is a total of so much. It needs a --loss with a"
            " log link, such as poisson, and is no feature.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of what is known of the scores beforehand, which is no feature.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help=f"Columns to leave out. {_SEVERAL}", rich_help_panel=_COLUMNS
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Columns to use although they look like identifiers. {_SEVERAL}",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Columns whose numbers name categories. {_SEVERAL}",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    special: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME:]VALUE=WORD",
            help="A number that stands for something else: '-9=no record' in all columns of numbers"
            " in which it occurs, 'age:-9=no record' in one. May be repeated.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:SIGN",
            help="With age:+1 the prediction never falls as age rises; with age:-1 it never rises."
            f" {_SEVERAL}",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    leaves: Annotated[
        int | None,
        typer.Option(min=1, help="Most leaves. The best splits come first.", rich_help_panel=_TREE),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=0, help="Most splits above a leaf.", rich_help_panel=_TREE)
    ] = None,
    numbers: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto|all",
            help="Most numbers to read in the whole model: one formula for all rows, and what"
            " differs below each split. auto, the default, takes as many as pay; with all, every"
            " leaf has a formula of its own.",
            rich_help_panel=_TREE,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For regression: squared_error, huber, poisson, gamma, tweedie, negative_binomial"
            " or quantile; with a number, as in tweedie:1.7 (power), negative_binomial:0.5 (theta)"
            " or quantile:0.9.",
            rich_help_panel=_TREE,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(min=0, help="Penalty of the leaves' models.", rich_help_panel=_TREE),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other parameter of the estimator. May be repeated.",
            rich_help_panel=_TREE,
        ),
    ] = None,
    test_size: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=0.9,
            help="Share of the rows to set aside for a test.",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    test_after: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Rows of this day and later ones are for a test, the earlier ones for the fit.",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of dates for --test-after. Default: the only one. It may be dropped.",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File of rows for a test.", rich_help_panel=_TESTS),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Folds of cross-validation; 0 turns it off. Default: 5, but 0 for streamed rows.",
            show_default=False,
            rich_help_panel=_TESTS,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Random seed of test rows and folds.", rich_help_panel=_TESTS)
    ] = 0,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Model file to write.", rich_help_panel=_TESTS
        ),
    ] = Path("model.json"),
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Report to write. Default: beside the model, ending in .html.",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no report.", rich_help_panel=_TESTS)
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read Parquet rows from disk in every pass instead of keeping them in memory."
            " Default: for folders, and for files that would take more than half of the memory.",
            show_default=False,
            rich_help_panel=options.READING,
        ),
    ] = None,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    decimal: options.Decimal = ".",
    missing: options.Missing = None,
    on_error: options.OnErrorOption = OnError.stop,
) -> None:
    """Fit a model tree to a file, or to a folder of Parquet files of any size.

    Prints what it found in the data, the tree and its scores.
    """
    from glassleaf.cli.commands import fit_steps as fitting
    from glassleaf.cli.commands import fit_streamed as streaming
    from glassleaf.cli.reading.training_data import DataRequest

    request = fitting.FitRequest(
        data=DataRequest(
            path=data,
            target=target,
            task=fitting.task_of(task, exposure, offset),
            weight=weight,
            drop=tuple(drop or ()),
            keep=(*(keep or ()), *filter(None, (exposure, offset))),
            categorical=tuple(categorical or ()),
            options=ReadOptions(delimiter, encoding, decimal, tuple(missing or ()), on_error),
            exposure=exposure,
            offset=offset,
            test_after=test_after,
            time_column=time_column,
        ),
        tree=fitting.TreeOptions(
            leaves=leaves,
            depth=depth,
            numbers=numbers,
            loss=loss,
            alpha=alpha,
            settings=tuple(settings or ()),
            special=tuple(special or ()),
            monotone=tuple(monotone or ()),
            positive_class=positive_class,
        ),
        test_size=test_size,
        test=test,
        folds=folds,
        seed=seed,
        output=output,
        report=None if no_report else report or output.with_suffix(".html"),
        as_json=json,
    )
    fitting.check(request)
    if streaming.is_streamed(data, stream):
        streaming.run(request)
    else:
        fitting.run(request)
