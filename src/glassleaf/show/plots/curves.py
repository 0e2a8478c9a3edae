"""Curves: what a column that bends adds to the score, a broken line in every leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.effect_lines import bends, effect_lines
from glassleaf.explanations.explain import explain
from glassleaf.explanations.model import ModelExplanation
from glassleaf.show.plots.style import (
    FAINT,
    INK,
    NEUTRAL,
    bare_frame,
    grid_of_axes,
    label,
    leaf_style,
    shortened,
)

_PANEL = (3.5, 2.7)
# Leaves that the legend gives the rules of; more are named in columns.
_MOST_RULES = 16


@dataclass
class CurveDisplay:
    """One panel per feature that bends: what it adds to the score, a line per leaf.

    A line is what the feature adds, relative to its mean in the leaf, over the values that the
    leaf holds. The wider it is, the more rows the leaf has. Dots are where it bends. All panels
    have the same scale.

    Parameters
    ----------
    explanation : ModelExplanation
    output : int
        Whose score is shown where there are several classes.
    max_curves : int
        How many features are drawn, the most important first.

    Attributes
    ----------
    axes_, ax_, figure_
        The panels, the first of them, and their figure.
    """

    explanation: ModelExplanation
    output: int = -1
    max_curves: int = 9

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, output: int = -1, max_curves: int = 9, ax: Any = None
    ) -> Self:
        """Explain a fitted model tree and draw the features that bend."""
        return cls(explain(estimator), output, max_curves).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the features that bend."""
        explanation = self.explanation
        names = [name for name in explanation.importance if name in explanation.bent]
        names = names[: self.max_curves]
        if not names:
            raise ValueError(
                "No column of this model bends: curves=False, or the target bends along none."
            )
        n_places = len(names) + 1  # the legend takes one
        across = 2 if n_places in (2, 4) else 3
        down = -(-n_places // across)
        size = (_PANEL[0] * across, _PANEL[1] * down)
        cells = grid_of_axes(ax, down, across, size).ravel()
        self.axes_ = cells[: len(names)]
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        for panel, name in zip(self.axes_, names, strict=True):
            self._panel(panel, name)
        ends = np.array([panel.get_ylim() for panel in self.axes_])
        for k, panel in enumerate(self.axes_):
            panel.set_ylim(ends[:, 0].min(), ends[:, 1].max())
            if k % across:
                panel.set_yticklabels([])
            else:
                panel.set_ylabel("adds to the score" + self._of_output(), fontsize=8.5)
        for cell in cells[len(names) :]:
            cell.set_axis_off()
        self._legend(cells[len(names)])
        return self

    def _panel(self, panel: Any, name: str) -> None:
        explanation = self.explanation
        panel.axhline(0.0, color=FAINT, lw=1, zorder=0)
        for line, leaf in zip(
            effect_lines(explanation, name, self.output), explanation.leaves, strict=True
        ):
            x, y = np.array(line.points).T
            color, dashes = leaf_style(line.leaf)
            width = 1.1 + 1.6 * np.sqrt(leaf.share)
            panel.plot(x, y, color=color, linestyle=dashes, lw=width, label=f"leaf {line.leaf}")
            dots = np.isin(x, bends(explanation, leaf, name, self.output))
            panel.plot(x[dots], y[dots], "o", color=color, ms=3.5)
        panel.set_xlabel(label(name, 30), fontsize=9, color=INK)
        panel.tick_params(labelsize=8)
        panel.locator_params(axis="x", nbins=5)
        bare_frame(panel)

    def _legend(self, cell: Any) -> None:
        leaves = self.explanation.leaves
        lines, names = self.axes_[0].get_legend_handles_labels()
        if len(leaves) <= _MOST_RULES:
            length = 50 if len(leaves) <= 8 else 58
            names = [
                f"{leaf.leaf}: {shortened(leaf.rule_text, length, keep_end=True)}"
                for leaf in leaves
            ]
        cell.legend(
            lines, names, loc="center left", frameon=False, handlelength=2.2,
            fontsize=7.5 if len(leaves) <= 8 else 6.5, labelspacing=0.3, title="leaf",
            title_fontsize=8, alignment="left", ncols=1 if len(leaves) <= _MOST_RULES else 3,
            labelcolor=INK, borderaxespad=0.0, columnspacing=1.0, edgecolor=NEUTRAL,
        )  # fmt: skip

    def _of_output(self) -> str:
        explanation = self.explanation
        name = words.whose_score(explanation.outputs[self.output], explanation.positive_class)
        return f" of {label(name)}" if name else ""
