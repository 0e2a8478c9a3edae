"""Coefficients with their intervals: a forest plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.estimates import Estimate, read_estimates
from glassleaf.explanations.inference import inference
from glassleaf.explanations.lines import CONSTANT
from glassleaf.show.plots.style import (
    FAINT,
    INK,
    NEUTRAL,
    POSITIVE,
    bare_frame,
    label,
    new_axes,
    shortened,
)

_WIDTH = 8.0
_LINE_HEIGHT = 0.27

# A text at the left and, unless it is a heading, what is known.
Row = tuple[str, Estimate | None]


@dataclass
class CoefficientDisplay:
    """Estimates and intervals of a table of ``glassleaf.inference``, node after node.

    Below "all rows" stands the formula for all rows; below a rule, what differs there. So that
    columns of any unit compare, points are for one standard deviation of a number, or for being of
    a category; the numbers at the right are the coefficients themselves. An interval that holds 0
    is grey. Constants are left out.

    Parameters
    ----------
    table : pandas.DataFrame
        From ``glassleaf.inference``, or some of its rows.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    table: Any

    @classmethod
    def from_inference(cls, table: Any, ax: Any = None) -> Self:
        """Draw a table of ``glassleaf.inference``."""
        return cls(table).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, ax: Any = None, **given: Any) -> Self:
        """Draw what ``glassleaf.inference(estimator, X, y, **given)`` finds."""
        return cls.from_inference(inference(estimator, X, y, **given), ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the intervals."""
        estimates = read_estimates(self.table)
        rows = _rows([line for line in estimates.lines if line.term != CONSTANT])
        self.ax_ = new_axes(ax, (_WIDTH, 1.0 + _LINE_HEIGHT * len(rows)))
        self.figure_ = self.ax_.figure
        self.ax_.axvline(0.0, color=FAINT, lw=1, zorder=0)
        for place, (_, line) in enumerate(rows):
            if line is not None:
                self._interval(place, line)
        self._axes(rows, estimates.coverage_text)
        return self

    def _interval(self, place: int, line: Estimate) -> None:
        low, value, high = (line.unit * end for end in (line.low, line.value, line.high))
        color = NEUTRAL if low <= 0 <= high or np.isnan(low) else POSITIVE
        self.ax_.plot([low, high], [place, place], color=color, lw=1.6, solid_capstyle="butt")
        self.ax_.plot([value], [place], "o", color=color, ms=5)
        text = "no estimate"
        if not np.isnan(value):
            text = f"{words.number(line.value, 3)} ({line.interval_text})"
        self.ax_.text(
            1.02, place, text, transform=self.ax_.get_yaxis_transform(), color=INK, fontsize=8,
            va="center",
        )  # fmt: skip

    def _axes(self, rows: list[Row], coverage: str) -> None:
        self.ax_.set_yticks(range(len(rows)), [text for text, _ in rows], fontsize=8.5, color=INK)
        for tick, (_, line) in zip(self.ax_.get_yticklabels(), rows, strict=True):
            if line is None:
                tick.set_fontweight("bold")
        self.ax_.set_ylim(len(rows) - 0.5, -0.5)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.tick_params(axis="x", labelsize=8)
        self.ax_.set_xlabel(
            "added to the score by one standard deviation, or by the category;"
            f" {coverage} interval",
            color=INK,
            fontsize=9,
        )
        bare_frame(self.ax_)


def _rows(lines: list[Estimate]) -> list[Row]:
    """What stands at the left from top to bottom: a rule, then its terms."""
    out: list[Row] = []
    for k, line in enumerate(lines):
        if not k or line.where != lines[k - 1].where:
            out.append((shortened(line.where, 44, keep_end=True), None))
        of_class = f"{label(line.output, 16)}: " if line.output else ""
        out.append((of_class + shortened(line.term, 40), line))
    return out
