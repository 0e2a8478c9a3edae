"""Scores as a small table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassleaf.cli.output.scores import Score
from glassleaf.errors import require

rich_table: Any = require("rich.table", extra="cli", purpose="Tables on the screen")
box: Any = require("rich.box", extra="cli", purpose="Tables on the screen")


def score_table(scores: Sequence[Score]) -> Any:
    table = rich_table.Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("score")
    table.add_column("value", justify="right")
    table.add_column("better is", style="dim")
    for score in scores:
        better = "higher" if score.higher_is_better else "lower"
        table.add_row(score.name, f"{score.value:.4g}", better)
    return table
