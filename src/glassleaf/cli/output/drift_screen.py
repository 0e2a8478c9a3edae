"""What ``monitor`` shows: everything that is watched, the largest changes first."""

from __future__ import annotations

from typing import Any

from glassleaf.cli.screen import plain_table
from glassleaf.errors import require
from glassleaf.explanations import words
from glassleaf.explanations.drift import Drift, Watched

text: Any = require("rich.text", extra="cli", purpose="Tables on the screen")

_LEVELS = (("", None), ("look", "yellow"), ("changed", "red"))
_MOST_SHOWN = 30


def show_drift(out: Any, drift: Drift, threshold: float, title: str) -> None:
    """A table, and one sentence that says whether something has changed."""
    out.print(f"{title}: {drift.rows:,} rows", soft_wrap=True)
    out.print()
    table = plain_table()
    for name in ("", "what"):
        table.add_column(name)
    for name in ("PSI", "by chance", "p-value"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("largest change of a share")
    ordered = sorted(drift.watched, key=lambda own: -own.change)  # as they were, where none is
    for own in ordered[:_MOST_SHOWN]:
        table.add_row(*_cells(own), style=_LEVELS[own.level][1])
    out.print(table)
    if len(ordered) > _MOST_SHOWN:
        out.print(f"… and {len(ordered) - _MOST_SHOWN} more; --json has all.", style="dim")
    if drift.not_compared:
        names = words.listed(drift.not_compared)
        out.print(f"Not compared, for the model does not know: {names}.", soft_wrap=True)
    out.print()
    out.print(_verdict(drift, threshold), soft_wrap=True)


def _cells(own: Watched) -> list[Any]:
    name = own.what if not own.name else f"{own.what} {words.name(own.name, 40)}"
    bin_, before, after = max(
        zip(own.bins, own.training, own.new, strict=True), key=lambda one: abs(one[2] - one[1])
    )
    moved = f"{words.name(bin_, 30)}: {words.percent(before)} → {words.percent(after)}"
    return [
        _LEVELS[own.level][0], text.Text(name), f"{own.psi:.3f}", f"{own.by_chance:.3f}",
        f"{own.p_value:.2g}", text.Text(moved if after != before else ""),
    ]  # fmt: skip


def _verdict(drift: Drift, threshold: float) -> str:
    changed = drift.changed(threshold)
    if not changed:
        return f"Nothing has changed by a PSI of {threshold:g} or more, beyond chance."
    listed = ", ".join(words.name(own.name or own.what) for own in changed[:5])
    more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
    return f"Changed by a PSI of {threshold:g} or more, beyond chance: {listed}{more}."
