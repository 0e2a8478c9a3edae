"""One prediction as a waterfall: from the reference, feature by feature, to the score."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.explain import explain
from glassleaf.explanations.rows import RowExplanation
from glassleaf.show.plots.style import (
    INK,
    NEUTRAL,
    bare_frame,
    label,
    new_axes,
    shown,
    signed_colors,
)


@dataclass
class RowDisplay:
    """Bars from the reference to the raw score, the largest contribution first.

    Where the score of the leaf has a limit that acts on the row, the last bar is what it changes.

    Parameters
    ----------
    row : RowExplanation
    max_features : int
        How many features have a bar of their own; the others share one.
    output : int
        Whose score is shown where there are several classes.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    row: RowExplanation
    max_features: int = 8
    output: int = -1

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        background: Any = None,
        max_features: int = 8,
        output: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Explain a row of X and draw it; ``output`` None is the predicted class."""
        found = explain(estimator, X, background=background)[row]
        if output is None:
            output = int(np.argmax(found.prediction)) if np.size(found.raw) > 1 else -1
        return cls(found, max_features, output).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the waterfall."""
        bars = self._bars()
        self.ax_ = new_axes(ax, (7.2, 1.3 + 0.36 * (len(bars) + 2)))
        self.figure_ = self.ax_.figure
        start, raw = self._number(self.row.reference), self._number(self.row.raw)
        sizes = np.array([size for _, size in bars])
        begins = start + np.concatenate([[0.0], np.cumsum(sizes)])[:-1]
        lines = np.arange(len(bars), 0, -1)
        self.ax_.barh(lines, sizes, left=begins, color=signed_colors(sizes.tolist()), height=0.62)
        ends = np.append(begins, start + sizes.sum())
        for k, line in enumerate(lines):  # a thin line from bar to bar, as water would fall
            self.ax_.plot([ends[k]] * 2, [line + 0.31, line + 1], color=NEUTRAL, lw=0.8)
        self.ax_.plot([start], [len(bars) + 1], "D", color=NEUTRAL, ms=6)
        self.ax_.plot([ends[-1]] * 2, [0, 1], color=NEUTRAL, lw=0.8)
        self.ax_.plot([raw], [0], "D", color=INK, ms=7)
        self._texts(bars, begins, sizes, start, raw)
        return self

    def _texts(self, bars: Any, begins: Any, sizes: Any, start: float, raw: float) -> None:
        all_ends = np.concatenate([begins, begins + sizes, [start, raw]])
        room = 0.02 * (np.ptp(all_ends) or 1.0)
        lines = np.arange(len(bars), 0, -1)
        for line, begin, size in zip(lines, begins, sizes, strict=True):
            self.ax_.text(
                max(begin, begin + size) + room, line, _signed(size), va="center", fontsize=8.5
            )
        for height, value in ((len(bars) + 1, start), (0, raw)):
            self.ax_.text(
                value + 1.5 * room,
                height,
                words.number(value, 4),
                va="center",
                fontsize=9,
                weight="bold",
            )
        names = [self.row.reference_text, *(name for name, _ in bars), "raw score"]
        self.ax_.set_yticks(np.arange(len(bars) + 1, -1, -1), names, fontsize=9)
        self.ax_.set_xlim(all_ends.min() - 2 * room, all_ends.max() + 8 * room)
        bare_frame(self.ax_)
        self.ax_.set_ylim(-0.6, len(bars) + 1.6)
        self.ax_.set_xlabel("raw score" + self._output_text())
        rule = textwrap.wrap(f"Leaf {self.row.leaf_number}: {self.row.rule_text}", 64)
        lines_of_title = [shown(line) for line in rule[:3]] + ["…"] * (len(rule) > 3)
        self.ax_.set_title(
            "\n".join([*lines_of_title, self._prediction_text()]), fontsize=9.5, loc="left"
        )

    def _bars(self) -> list[tuple[str, float]]:
        parts = {name: self._number(part) for name, part in self.row.contributions.items()}
        order = sorted((name for name in parts if parts[name]), key=lambda name: -abs(parts[name]))
        cut = self.max_features if len(order) > self.max_features + 1 else len(order)
        bars = [(self._named(name), parts[name]) for name in order[:cut]]
        if order[cut:]:
            rest = sum(parts[name] for name in order[cut:])
            bars.append((f"{len(order) - cut} other features", rest))
        limited = self._number(self.row.limited)
        if limited:
            bars.append((f"limited to {words.number(self._number(self.row.raw), 4)}", limited))
        return bars

    def _named(self, name: str) -> str:
        return f"{label(name)} = {shown(words.value(self.row.values[name], 4, 16))}"

    def _number(self, value: Any) -> float:
        return float(value[self.output]) if isinstance(value, (list, tuple)) else float(value)

    def _output_text(self) -> str:
        name = words.whose_score(self.row.outputs[self.output], self.row.positive_class)
        return f" of {label(name)}" if name else ""

    def _prediction_text(self) -> str:
        if self.row.label is None:
            return f"prediction {words.number(self._number(self.row.prediction))}"
        probability = max(np.atleast_1d(self.row.prediction))
        return f"predicted {label(self.row.label)} with probability {words.percent(probability)}"


def _signed(value: float) -> str:
    return ("+" if value >= 0 else "") + words.number(value, 3)
