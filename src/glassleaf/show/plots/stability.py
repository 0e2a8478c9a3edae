"""Stability: what trees on resampled rows have in common with the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.stability import Stability
from glassleaf.show.plots.style import (
    FAINT,
    INK,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    bare_frame,
    grid_of_axes,
    label,
)

_SIZE = (11.0, 3.6)
_MOST_COLUMNS = 12
_BINS = 20


@dataclass
class StabilityDisplay:
    """Columns, the first split and predictions of trees that were grown on resampled rows.

    Left: the share of these trees that split on a column, and that name it in a formula; a dot
    marks what the model does itself. Middle: where trees whose first split is on the model's
    column split it, and where the model does; without thresholds, the columns of first splits.
    Right: how far the predictions of each tree lie from the model's (the median over rows).

    Parameters
    ----------
    stability : Stability
        See :func:`glassleaf.stability`.

    Attributes
    ----------
    ax_, axes_, figure_
        Where it was drawn: the first picture, all three, and what they stand in.
    """

    stability: Stability

    @classmethod
    def from_stability(cls, stability: Stability, ax: Any = None) -> Self:
        """Draw what :func:`glassleaf.stability` found."""
        return cls(stability).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it."""
        self.axes_ = grid_of_axes(ax, 1, 3, _SIZE)[0]
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        self._columns(self.axes_[0])
        if self.stability.thresholds:
            self._thresholds(self.axes_[1])
        else:
            self._roots(self.axes_[1])
        self._moves(self.axes_[2])
        for own in self.axes_:
            bare_frame(own)
        return self

    def _columns(self, ax: Any) -> None:
        used = [own for own in self.stability.columns if max(own.splits, own.formulas) > 0]
        shown = used[:_MOST_COLUMNS][::-1]
        place = np.arange(len(shown))
        for shift, color, what, share, own in (
            (0.2, POSITIVE, "splits", "splits", "in_splits"),
            (-0.2, NEUTRAL, "formulas", "formulas", "in_formulas"),
        ):
            ax.barh(
                place + shift, [getattr(use, share) for use in shown], 0.38, color=color, label=what
            )
            is_used = [place[k] + shift for k, use in enumerate(shown) if getattr(use, own)]
            ax.plot(np.full(len(is_used), 1.05), is_used, "o", color=color, ms=4, clip_on=False)
        ax.set_yticks(place, [label(use.name, 18) for use in shown])
        _percent_axis(ax)
        more = len(used) - len(shown)
        ax.set_title("columns used" + (f" ({more} more)" if more else ""), fontsize=10)
        ax.set_xlabel("share of trees (dot: in the model)")
        ax.legend(frameon=False, fontsize=8, loc="lower right")

    def _thresholds(self, ax: Any) -> None:
        found = self.stability
        ax.hist(found.thresholds, _BINS, color=FAINT, edgecolor=NEUTRAL, lw=0.6)
        ax.axvline(found.threshold, color=NEGATIVE, lw=1.5, label="the model")
        share = words.percent(found.root_share)
        ax.set_title(f"first split: {label(found.root, 18)} in {share}", fontsize=10)
        ax.set_xlabel("threshold")
        ax.set_ylabel("trees")
        ax.legend(frameon=False, fontsize=8)
        ax.locator_params(axis="x", nbins=5)
        ax.locator_params(axis="y", integer=True)
        ax.ticklabel_format(axis="x", useOffset=False)

    def _roots(self, ax: Any) -> None:
        roots = [own for own in self.stability.columns if own.root > 0]
        roots.sort(key=lambda own: own.root)
        shares = [own.root for own in roots]
        names = [label(own.name, 18) for own in roots]
        if sum(shares) < 1 - 1e-9:
            shares, names = [1 - sum(shares), *shares], ["no split", *names]
        colors = [POSITIVE if name == label(self.stability.root, 18) else NEUTRAL for name in names]
        ax.barh(names, shares, 0.6, color=colors)
        _percent_axis(ax)
        ax.set_title("first split", fontsize=10)
        ax.set_xlabel("share of trees")

    def _moves(self, ax: Any) -> None:
        found = self.stability
        ax.hist(found.moves, _BINS, color=FAINT, edgecolor=NEUTRAL, lw=0.6)
        ax.axvline(found.median_move, color=INK, lw=1.2, label="median")
        ax.set_xlim(left=0.0)
        ax.set_title("how far predictions move", fontsize=10)
        ax.set_xlabel(found.unit)
        ax.set_ylabel("trees")
        ax.locator_params(axis="y", integer=True)
        ax.legend(frameon=False, fontsize=8)


def _percent_axis(ax: Any) -> None:
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
