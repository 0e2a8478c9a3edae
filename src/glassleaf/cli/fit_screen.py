"""What ``fit`` says: on the screen, or as one JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glassleaf.cli import drawing
from glassleaf.cli.choices import Task
from glassleaf.cli.columns import details, n_missing
from glassleaf.cli.scores import Score
from glassleaf.cli.screen import console, write_json
from glassleaf.errors import require

if TYPE_CHECKING:
    from glassleaf.cli.fitting import Fitted
    from glassleaf.cli.training_data import Loaded, Wanted

rich_table: Any = require("rich.table", extra="cli", purpose="Tables on the screen")
box: Any = require("rich.box", extra="cli", purpose="Tables on the screen")
text: Any = require("rich.text", extra="cli", purpose="Tables on the screen")

_MOST_COLUMNS = 25
_TERMS = 5


class Screen:
    """Prints as the fit goes on, or gathers it all for the end."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.out = console()
        self.gathered: dict[str, Any] = {}

    # --- what was inferred -----------------------------------------------------------------------

    def inferred(self, loaded: Loaded, wanted: Wanted) -> None:
        self.gathered |= _as_json(loaded, wanted)
        if self.as_json:
            return
        lines = [("data", _data_line(loaded)), ("target", _target_line(loaded, wanted))]
        if loaded.target.advice:
            lines.append(("", loaded.target.advice))
        if wanted.weight:
            lines.append(("weights", wanted.weight))
        for column in loaded.dropped:
            hint = f"; to keep it: --keep {column.name}" if column.can_keep else ""
            lines.append(("dropped", f"{column.name}: {column.why}{hint}"))
        grid = rich_table.Table.grid(padding=(0, 2))
        grid.add_column(style="bold")
        grid.add_column()
        for name, line in lines:
            grid.add_row(name, text.Text(line))
        self.out.print(grid)
        self.out.print()
        self.out.print(_columns_table(loaded))

    # --- what came out ---------------------------------------------------------------------------

    def fitted(self, fitted: Fitted, loaded: Loaded) -> None:
        self.gathered |= {
            "leaves": fitted.estimator.get_n_leaves(),
            "depth": fitted.estimator.get_depth(),
            "seconds": round(fitted.seconds, 3),
            "cross_validation": _summary(fitted.folds),
            "cross_validation_without_splits": _summary(fitted.folds_without_splits),
            "test": {score.name: score.value for score in fitted.test},
            "test_rows": fitted.n_test,
        }
        if self.as_json:
            return
        self.out.print()
        drawing.print_tree(self.out, fitted.estimator, loaded.X, _TERMS)
        if fitted.folds or fitted.test:
            self.out.print()
            self.out.print(_scores_table(fitted))

    def written(self, model: Path, report: Path | None, is_tested: bool) -> None:
        self.gathered |= {"model": str(model), "report": None if report is None else str(report)}
        if self.as_json:
            return
        self.out.print()
        files = str(model) if report is None else f"{model} and {report}"
        self.out.print(f"Written: {files}", style="green", soft_wrap=True)
        if report is not None and not is_tested:
            self.out.print(
                "The report shows the rows of the fit. For rows the model has not seen:"
                " --test-size 0.2",
                style="dim",
            )

    def finish(self) -> None:
        if self.as_json:
            write_json(self.gathered)


def _as_json(loaded: Loaded, wanted: Wanted) -> dict[str, Any]:
    return {
        "data": loaded.source.name,
        "rows": len(loaded.y),
        "skipped_rows": loaded.n_skipped,
        "target": wanted.target,
        "task": str(loaded.target.task),
        "advice": loaded.target.advice or None,
        "weight": wanted.weight,
        "columns": [
            {
                "name": column.name,
                "kind": "category" if column.is_category else "number",
                "missing": n_missing(column),
            }
            for column in loaded.known
        ],
        "dropped": [{"name": column.name, "why": column.why} for column in loaded.dropped],
    }


def _data_line(loaded: Loaded) -> str:
    skipped = f", {loaded.n_skipped:,} skipped" if loaded.n_skipped else ""
    written = f", {loaded.source.written}" if loaded.source.written else ""
    rows = f"{len(loaded.y):,} rows{skipped}"
    return f"{loaded.source.name}: {rows}, {loaded.n_columns} columns{written}"


def _target_line(loaded: Loaded, wanted: Wanted) -> str:
    found = f"{wanted.target}: {loaded.target.task} ({loaded.target.why})"
    if loaded.target.task is Task.regression:
        low, high = loaded.y.min(), loaded.y.max()
        return f"{found}, {low:.6g} to {high:.6g}, mean {loaded.y.mean():.6g}"
    labels, counts = np.unique(loaded.y, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shares = [f"{labels[k]} {counts[k] / len(loaded.y):.1%}" for k in order[:6]]
    more = [f"{len(labels) - 6} more"] if len(labels) > 6 else []
    return f"{found}: {', '.join([*shares, *more])}"


def _columns_table(loaded: Loaded) -> Any:
    table = rich_table.Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("column", no_wrap=True, overflow="ellipsis", max_width=32)
    table.add_column("taken for", no_wrap=True)
    table.add_column("missing", justify="right", no_wrap=True)
    table.add_column("values")
    for column in loaded.known[:_MOST_COLUMNS]:
        missing = n_missing(column)
        table.add_row(
            text.Text(column.name),
            text.Text(column.words, style="magenta" if column.is_category else "cyan"),
            f"{missing:,}" if missing else "",
            text.Text(details(column)),
        )
    if len(loaded.known) > _MOST_COLUMNS:
        rest = loaded.known[_MOST_COLUMNS:]
        categories = sum(column.is_category for column in rest)
        table.add_row(f"and {len(rest)} more", f"{len(rest) - categories} numbers, {categories}"
                      " categories", "", "")  # fmt: skip
    return table


def _summary(folds: list[list[Score]]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation of every score over the folds."""
    out = {}
    for scores in zip(*folds, strict=True):
        values = np.array([score.value for score in scores])
        out[scores[0].name] = {"mean": float(values.mean()), "sd": float(values.std())}
    return out


def _scores_table(fitted: Fitted) -> Any:
    tree, without = _summary(fitted.folds), _summary(fitted.folds_without_splits)
    table = rich_table.Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("score")
    if fitted.folds:
        table.add_column(f"{len(fitted.folds)} folds", justify="right")
        table.add_column("without splits", justify="right", style="dim")
    if fitted.test:
        table.add_column(f"{fitted.n_test:,} test rows", justify="right")
    table.add_column("better is", style="dim")
    for k, score in enumerate(fitted.folds[0] if fitted.folds else fitted.test):
        cells = [score.name]
        if fitted.folds:
            cells += [
                f"{found['mean']:.4g} ± {found['sd']:.2g}"
                for found in (tree[score.name], without[score.name])
            ]
        if fitted.test:
            cells.append(f"{fitted.test[k].value:.4g}")
        table.add_row(*cells, "higher" if score.higher_is_better else "lower")
    return table
