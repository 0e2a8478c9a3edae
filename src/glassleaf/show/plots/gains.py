"""How good every split would have been: gains along the features (the paper, figure 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.errors import describe
from glassleaf.explanations.explain import explain
from glassleaf.explanations.model import Candidate, ModelExplanation, SplitExplanation
from glassleaf.show.plots.style import (
    FAINT,
    NEUTRAL,
    POSITIVE,
    bare_frame,
    grid_of_axes,
    label,
    shortened,
)


@dataclass
class GainDisplay:
    """One panel per feature: the gain of its candidates at a node, the chosen split in blue.

    Numbers have a line along their thresholds; categories, which have no order, one bar per
    candidate, the best first. Gains are those of the criterion, which finds the best few; with
    ``rescore``, the split is the one of these that really gains most. That gain is another number:
    ``tree_.gain``, which texts name.

    Parameters
    ----------
    explanation : ModelExplanation
    node : int
        Whose split is shown; 0 is the root.

    Attributes
    ----------
    axes_, ax_, figure_
        The panels, the first of them, and their figure.
    """

    explanation: ModelExplanation
    node: int = 0

    @classmethod
    def from_estimator(cls, estimator: Any, *, node: int = 0, ax: Any = None) -> Self:
        """Explain a fitted model tree and draw the candidates of one of its splits."""
        return cls(explain(estimator), node).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the gains."""
        split = self._split()
        n = len(split.candidates)
        size = (max(2.5 * n, 4.0), 2.7)
        self.axes_ = grid_of_axes(ax, 1, n, size)[0]
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        gains = [gain for candidate in split.candidates for _, gain in candidate.gains]
        best = max(*gains, *(candidate.gain for candidate in split.candidates))
        for panel, candidate in zip(self.axes_, split.candidates, strict=True):
            self._panel(panel, candidate)
            panel.set_ylim(0, 1.08 * best)
            panel.axhline(best, color=FAINT, lw=1, zorder=0)
            bare_frame(panel)
            if panel is not self.ax_:
                panel.set_yticklabels([])
        self.ax_.set_ylabel("gain by the criterion")
        return self

    def _panel(self, panel: Any, candidate: Candidate) -> None:
        color = POSITIVE if candidate.is_chosen else NEUTRAL
        points = np.array(candidate.gains).reshape(-1, 2)
        if candidate.condition.categories is None:
            panel.plot(points[:, 0], points[:, 1], color=color, lw=1.5)
            place = candidate.condition.high
            if np.isfinite(place) and len(points):
                panel.plot([place], [candidate.gain], "o", color=color, ms=5)
            panel.set_xlabel(label(candidate.feature))
            panel.locator_params(axis="x", nbins=4)
        else:
            panel.bar(points[:, 0], points[:, 1], color=color)
            panel.set_xlabel(label(candidate.feature) + " (candidates)")
            panel.set_xticks([])
        panel.set_title(shortened(candidate.condition.in_words(16), 30), fontsize=8.5, color=color)
        panel.tick_params(labelsize=8)

    def _split(self) -> SplitExplanation:
        nodes = self.explanation.nodes
        inner = [node.id for node in self.explanation.splits]
        if self.node not in inner:
            raise ValueError(
                f"node={describe(self.node)} has no split; inner nodes are {inner or 'none'}."
            )
        split = nodes[self.node].split
        assert split is not None
        return split
