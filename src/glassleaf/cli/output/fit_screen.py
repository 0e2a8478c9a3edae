"""What ``fit`` shows: on the screen, or as one JSON document."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glassleaf.cli.options import Task
from glassleaf.cli.output import drawing
from glassleaf.cli.output.scores import Score
from glassleaf.cli.reading.profiles import DataProfile
from glassleaf.cli.reading.training_data import DataRequest
from glassleaf.cli.screen import console, note, plain_table, write_json
from glassleaf.errors import require
from glassleaf.tree.fitted import fitted_model

rich_table: Any = require("rich.table", extra="cli", purpose="Tables on the screen")
text: Any = require("rich.text", extra="cli", purpose="Tables on the screen")

_MOST_COLUMNS = 25
_TERMS = 5


@dataclass(frozen=True)
class FitOutcome:
    """What came out of a fit. ``folds_linear`` are the scores of a tree of one leaf."""

    estimator: Any
    folds: list[list[Score]]
    folds_linear: list[list[Score]]
    test: list[Score]
    n_test: int
    seconds: float


class Screen:
    """Prints as the fit goes on, or gathers everything for one JSON document."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.out = console()
        self.gathered: dict[str, Any] = {}

    def profile(self, found: DataProfile, request: DataRequest) -> None:
        """Show what columns and target were taken for."""
        self.gathered |= _as_json(found, request)
        if self.as_json:
            return
        lines = [("data", _data_line(found)), ("target", _target_line(found, request))]
        if found.advice:
            lines.append(("", found.advice))
        if request.weight:
            lines.append(("weights", request.weight))
        lines += request.known.items()
        for column in found.dropped:
            hint = f"; to keep it: --keep {shlex.quote(column.name)}" if column.can_keep else ""
            lines.append(("dropped", f"{column.name}: {column.why}{hint}"))
        grid = rich_table.Table.grid(padding=(0, 2))
        grid.add_column(style="bold")
        grid.add_column()
        for name, line in lines:
            grid.add_row(name, text.Text(line))
        self.out.print(grid)
        self.out.print()
        self.out.print(_columns_table(found))

    def leaks(self, found: dict[str, float], target: str) -> None:
        """Say which columns predict the target all by themselves."""
        self.gathered["possible_leaks"] = found
        for name, share in found.items():
            note(
                f"column {name!r} alone explains {share:.1%} of {target!r}. Is it a leak, known"
                f" only when the target is? Then leave it out: --drop {shlex.quote(name)}"
            )

    def fitted(self, fitted: FitOutcome, X: Any) -> None:
        """Show the tree and its scores. The rows X, or those of the fit, scale the bars."""
        self.gathered |= {
            "positive_class": fitted_model(fitted.estimator).positive_class,
            "leaves": fitted.estimator.get_n_leaves(),
            "depth": fitted.estimator.get_depth(),
            "numbers": fitted.estimator.complexity_.total,
            "numbers_per_row": fitted.estimator.complexity_.per_row,
            "seconds": round(fitted.seconds, 3),
            "cross_validation": _summary(fitted.folds),
            "cross_validation_linear": _summary(fitted.folds_linear),
            "test": {score.name: score.value for score in fitted.test},
            "test_rows": fitted.n_test,
        }
        if self.as_json:
            return
        self.out.print()
        drawing.print_tree(self.out, fitted.estimator, X, _TERMS)
        if _has_found_no_split(fitted.estimator):
            level = fitted.estimator.significance
            so = "worth it" if level is None else f"significant ({level:g})"
            self.remark(f"One leaf: no split that leaves enough rows on both sides is {so}.")
        if fitted.folds or fitted.test:
            self.out.print()
            self.out.print(_scores_table(fitted))

    def written(self, model: Path, report: Path | None) -> None:
        self.gathered |= {"model": str(model), "report": None if report is None else str(report)}
        if self.as_json:
            return
        self.out.print()
        files = str(model) if report is None else f"{model} and {report}"
        self.out.print(f"Written: {files}", style="green", soft_wrap=True)

    def remark(self, words: str) -> None:
        """Print a remark on what was shown."""
        if not self.as_json:
            self.out.print(words, style="dim", soft_wrap=True)

    def finish(self) -> None:
        if self.as_json:
            write_json(self.gathered)


def _has_found_no_split(estimator: Any) -> bool:
    """Whether the tree was allowed to split, and has not."""
    may_split = estimator.max_depth != 0 and estimator.max_leaf_nodes != 1
    return bool(may_split and estimator.get_n_leaves() == 1)


def _as_json(found: DataProfile, request: DataRequest) -> dict[str, Any]:
    return {
        "data": found.source,
        "rows": found.n_rows,
        "skipped_rows": found.n_skipped,
        "target": request.target,
        "task": str(found.task),
        "advice": found.advice or None,
        "weight": request.weight,
        **request.known,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "missing": column.profile.n_missing,
            }
            for column in found.columns
        ],
        "dropped": [{"name": column.name, "why": column.why} for column in found.dropped],
    }


def _data_line(found: DataProfile) -> str:
    skipped = f", {found.n_skipped:,} skipped" if found.n_skipped else ""
    remark = f", {found.remark}" if found.remark else ""
    return f"{found.source}: {found.n_rows:,} rows{skipped}, {len(found.names)} columns{remark}"


def _target_line(found: DataProfile, request: DataRequest) -> str:
    details = found.target.details(as_number=found.task is Task.regression)
    return f"{request.target}: {found.task} ({found.why}){details}"


def _columns_table(found: DataProfile) -> Any:
    table = plain_table()
    table.add_column("column", no_wrap=True, overflow="ellipsis", max_width=32)
    table.add_column("taken for", no_wrap=True)
    table.add_column("missing", justify="right", no_wrap=True)
    table.add_column("values")
    for column in found.columns[:_MOST_COLUMNS]:
        missing = column.profile.n_missing
        table.add_row(
            text.Text(column.name),
            text.Text(column.words, style="magenta" if column.is_category else "cyan"),
            f"{missing:,}" if missing else "",
            text.Text(column.profile.details()),
        )
    if len(found.columns) > _MOST_COLUMNS:
        rest = found.columns[_MOST_COLUMNS:]
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


def _scores_table(fitted: FitOutcome) -> Any:
    tree, linear = _summary(fitted.folds), _summary(fitted.folds_linear)
    table = plain_table("score")
    if fitted.folds:
        table.add_column(f"{len(fitted.folds)} folds ± spread", justify="right")
        table.add_column("linear model", justify="right", style="dim")
    if fitted.test:
        table.add_column(f"{fitted.n_test:,} test rows", justify="right")
    table.add_column("better is", style="dim")
    for k, score in enumerate(fitted.folds[0] if fitted.folds else fitted.test):
        cells = [score.name]
        if fitted.folds:
            cells += [
                f"{found['mean']:.4g} ± {found['sd']:.2g}"
                for found in (tree[score.name], linear[score.name])
            ]
        if fitted.test:
            cells.append(f"{fitted.test[k].value:.4g}")
        table.add_row(*cells, "higher" if score.higher_is_better else "lower")
    return table
