"""Calibration and lift of every leaf on given rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.leaf_scores import LeafScores, score_leaves
from glassleaf.show.plots.style import (
    FAINT,
    INK,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    bare_frame,
    label,
    new_axes,
    shortened,
)
from glassleaf.tree.fitted import fitted_model


@dataclass
class LeafScoresDisplay(ABC):
    """What displays of the leaves on given rows share: where their scores come from."""

    scores: LeafScores

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        output: int | None = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Score the leaves of a fitted model tree on rows and draw them.

        ``output`` is the position of a class; None: the positive one of two, else the last.
        """
        model = fitted_model(estimator)
        shown = model.positive if output is None else output
        return cls(score_leaves(model, X, y, shown, sample_weight)).plot(ax=ax)

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw the scores."""


class CalibrationDisplay(LeafScoresDisplay):
    """Mean target against mean prediction: a point per leaf, a line over tenths of all rows.

    Bars are two standard errors; a well calibrated leaf touches the diagonal. The size of a point
    is the leaf's share of the weight.

    Parameters
    ----------
    scores : LeafScores

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def plot(self, ax: Any = None) -> Self:
        """Draw the calibration."""
        leaves = self.scores.leaves
        self.ax_ = new_axes(ax, (5.4, 5.0))
        self.figure_ = self.ax_.figure
        predicted = np.array([leaf.prediction for leaf in leaves])
        target = np.array([leaf.target for leaf in leaves])
        bins = np.array(self.scores.bins)
        both = np.concatenate([predicted, target, bins.ravel()])
        low, high = both.min(), both.max()
        room = 0.06 * (high - low or 1.0)
        ends = [low - room, high + room]
        self.ax_.plot(ends, ends, color=FAINT, lw=1.5, zorder=0)
        self.ax_.plot(bins[:, 0], bins[:, 1], ".-", color=NEUTRAL, lw=1, label="tenths of the rows")
        errors = np.tile([2 * leaf.error for leaf in leaves], (2, 1))
        if self.scores.are_shares:
            errors = np.minimum(errors, [target, 1 - target])
        self.ax_.errorbar(predicted, target, yerr=errors, fmt="none", ecolor=POSITIVE, alpha=0.6)
        sizes = [120 + 600 * leaf.share for leaf in leaves]
        self.ax_.scatter(predicted, target, s=sizes, color=POSITIVE, alpha=0.75, label="leaves")
        self._numbers(predicted, target, high - low or 1.0)
        self.ax_.set_xlim(*ends)
        self.ax_.set_ylim(*ends)
        self.ax_.set_xlabel("mean " + label(self.scores.name, 30))
        self.ax_.set_ylabel("mean target")
        self.ax_.legend(frameon=False, fontsize=8.5, loc="upper left", markerscale=0.5)
        bare_frame(self.ax_)
        return self

    def _numbers(self, predicted: Any, target: Any, extent: float) -> None:
        """The leaves' numbers, put aside where they would cover each other."""
        placed: list[tuple[float, float]] = []
        for leaf, x, y in zip(self.scores.leaves, predicted, target, strict=True):
            place = (x, y)
            for step in range(12):
                if all(np.hypot(place[0] - a, place[1] - b) > 0.04 * extent for a, b in placed):
                    break
                angle = step * np.pi / 3
                away = 0.05 * extent * (1 + step // 6)
                place = (x + away * np.cos(angle), y + away * np.sin(angle))
            placed.append(place)
            is_aside = place != (x, y)
            self.ax_.annotate(
                str(leaf.leaf), (x, y), place, fontsize=7.5, ha="center", va="center",
                color=INK if is_aside else "white",
                arrowprops={"arrowstyle": "-", "color": NEUTRAL, "lw": 0.6} if is_aside else None,
            )  # fmt: skip


class LiftDisplay(LeafScoresDisplay):
    """Mean target of every leaf as a multiple of the overall one, the highest first.

    Parameters
    ----------
    scores : LeafScores

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    def plot(self, ax: Any = None) -> Self:
        """Draw the lift."""
        leaves = sorted(self.scores.leaves, key=lambda leaf: leaf.target)
        self.ax_ = new_axes(ax, (7.4, 1.2 + 0.36 * len(leaves)))
        self.figure_ = self.ax_.figure
        lines = np.arange(len(leaves))
        lift = np.array([leaf.lift for leaf in leaves])
        predicted = np.array([leaf.prediction for leaf in leaves]) / self.scores.target
        colors = [POSITIVE if value >= 1 else NEGATIVE for value in lift]
        self.ax_.barh(lines, lift, color=colors, height=0.6, alpha=0.85, label="target")
        self.ax_.plot(predicted, lines, "|", color=INK, ms=12, mew=2, label="prediction")
        self.ax_.axvline(1.0, color=NEUTRAL, lw=1)
        names = [_leaf_name(leaf.leaf, leaf.rule_text) for leaf in leaves]
        self.ax_.set_yticks(lines, names, fontsize=8.5)
        end, n_rows = max(lift.max(), predicted.max()), sum(leaf.rows for leaf in leaves)
        for line, leaf, most in zip(lines, leaves, np.maximum(lift, predicted), strict=True):
            rows = words.rows_and_share(leaf.rows, n_rows, leaf.share).replace(", ", "\n")
            text = f"{leaf.lift:.2f}   {rows}"
            ground = {"fc": "white", "ec": "none", "pad": 1.0}  # for the line at 1
            self.ax_.text(most + 0.035 * end, line, text, va="center", fontsize=8, bbox=ground)
        self.ax_.set_xlim(min(0.0, 1.1 * lift.min()), 1.6 * end)
        overall = words.number(self.scores.target, 4)
        self.ax_.set_xlabel(f"target / overall mean {overall} (mark: prediction)", fontsize=9)
        bare_frame(self.ax_)
        return self


def _leaf_name(number: int, rule: str) -> str:
    return f"{shortened(rule, 48, keep_end=True)}   leaf {number}"
