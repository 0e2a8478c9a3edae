"""The tree with the influence of the features in its leaves (the paper, figure 1)."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Self

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.effect_lines import direction
from glassleaf.explanations.explain import explain
from glassleaf.explanations.model import ModelExplanation, NodeExplanation, spread_of
from glassleaf.show.plots.style import (
    FAINT,
    INK,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    label,
    new_axes,
    shortened,
    shown,
)
from glassleaf.show.text.model import target_text

# Inches that a level of the tree, a column of bars and a leaf take.
_LEVEL, _COLUMN, _LEAF, _HEADER = 1.9, 1.05, 0.62, 1.15
# Inches that the legend takes: in a narrower figure it would push everything else together.
_LEGEND_WIDTH = 8.2

# How opaque bars are that a leaf shares with all rows.
_PALE = 0.3

_LEGEND = "bars: influence on {} (spread of what the feature adds in the leaf){}"
_SIGNS = "; blue: larger values raise it, orange: lower it, grey: no direction"


@dataclass
class TreeDisplay:
    """The tree from left to right; every leaf is a line with a bar for each feature.

    A bar is the feature's influence in the leaf: the spread of what it adds to the score, which is
    coefficient times spread, or that of a broken line. It is blue where a larger value raises the
    score, orange where it lowers it, grey where it has no direction (categories, lines that go up
    and down, several classes). All bars have the same scale. Where leaves share their formula, the
    first line has the bars of the formula for all rows, and in leaves those are pale that are
    the same there.

    Parameters
    ----------
    explanation : ModelExplanation
    max_features : int
        How many features have bars, the most important first.
    output : int
        Whose score is shown where there are several classes; -1: all together, without sign.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    explanation: ModelExplanation
    max_features: int = 6
    output: int = -1

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_features: int = 6, output: int = -1, ax: Any = None
    ) -> Self:
        """Explain a fitted model tree and draw it."""
        return cls(explain(estimator), max_features, output).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the tree."""
        explanation = self.explanation
        names = list(explanation.importance)[: self.max_features]
        depth = max(node.depth for node in explanation.nodes)
        width = max(max(depth, 0.2) * _LEVEL + 2.0 + _COLUMN * len(names), _LEGEND_WIDTH)
        self._is_shared = explanation.share_formula and depth > 0
        height = _HEADER + _LEAF * (len(explanation.leaves) + self._is_shared)
        self.ax_ = new_axes(ax, (width, height))
        self.figure_ = self.ax_.figure
        self.ax_.set_axis_off()
        self.ax_.set_xlim(-0.15, width)
        top = _HEADER / _LEAF - 0.3 + self._is_shared
        self.ax_.set_ylim(-len(explanation.leaves) + 0.0, top)
        self._branches(self._places(depth))
        self._leaves(depth * _LEVEL, names)
        legend = self._legend(len(names))
        self.ax_.text(
            width, 0.35 - len(explanation.leaves), legend, fontsize=7, color=NEUTRAL,
            ha="right", va="top",
        )  # fmt: skip
        return self

    def _legend(self, n_shown: int) -> str:
        outputs, n_features = self.explanation.outputs, len(self.explanation.features)
        some = f"; {n_shown} of {n_features} features" if n_shown < n_features else ""
        some = "; pale: as for all rows" * self._is_shared + some
        if len(outputs) > 1 and self.output < 0:
            return _LEGEND.format("the scores of all classes", "") + some
        whose = words.whose_score(outputs[self.output], self.explanation.positive_class)
        of = f" of {label(whose)}" if whose else ""
        return _LEGEND.format(f"the score{of}", _SIGNS) + some

    def _places(self, depth: int) -> dict[int, tuple[float, float]]:
        """Where every node stands: leaves in lines, inner nodes between their children."""
        nodes, places = self.explanation.nodes, {}
        for node in reversed(nodes):
            if node.split is None:
                assert node.leaf is not None
                places[node.id] = (depth * _LEVEL, 1.0 - node.leaf)
            else:
                ends = [places[node.split.left][1], places[node.split.right][1]]
                places[node.id] = (node.depth * _LEVEL, float(np.mean(ends)))
        return places

    def _branches(self, places: dict[int, tuple[float, float]]) -> None:
        for node in self.explanation.splits:
            assert node.split is not None
            x, y = places[node.id]
            for child, condition in node.split.sides:
                end_x, end_y = places[child]
                self.ax_.plot([x, x, end_x], [y, end_y, end_y], color=NEUTRAL, lw=1, zorder=1)
                self.ax_.text(
                    x + 0.08, end_y + 0.06, shortened(condition.in_words(15), 25), fontsize=8,
                    color=INK, va="bottom", ha="left",
                )  # fmt: skip
            self.ax_.plot([x], [y], "o", color=INK, ms=4, zorder=2)

    def _leaves(self, x: float, names: list[str]) -> None:
        lines = [*self.explanation.nodes[: self._is_shared], *self.explanation.leaves]
        bars = np.array([self._influences(node, names) for node in lines])
        largest = float(np.abs(bars[..., 0]).max(initial=0.0)) or 1.0
        first = x + 1.9
        for j, name in enumerate(names):
            middle = first + _COLUMN * (j + 0.5)
            self.ax_.text(
                middle - 0.2, 0.55 + self._is_shared, label(name, 20), fontsize=8.5, rotation=28,
                ha="left", va="bottom", rotation_mode="anchor", color=INK,
            )  # fmt: skip
            ends = [0.4 + self._is_shared, 0.6 - len(self.explanation.leaves)]
            self.ax_.plot([middle, middle], ends, color=FAINT, lw=0.8, zorder=0)
        for node, line in zip(lines, bars, strict=True):
            y = 1.0 - (node.leaf or 0)
            self._leaf_text(node, x, y)
            for j, (size, has_sign) in enumerate(line):
                middle = first + _COLUMN * (j + 0.5)
                length = 0.46 * _COLUMN * size / largest
                color = (POSITIVE if size >= 0 else NEGATIVE) if has_sign else NEUTRAL
                start = middle if has_sign else middle - abs(length) / 2
                pale = _PALE if self._is_shared and self._is_same(node, names[j]) else 1.0
                self.ax_.barh(y, length, left=start, height=0.5, color=color, zorder=2, alpha=pale)

    def _leaf_text(self, leaf: NodeExplanation, x: float, y: float) -> None:
        if leaf.leaf:
            self.ax_.plot([x], [y], "s", color=INK, ms=5, zorder=2)
        whole = words.rows_and_share(leaf.rows, self.explanation.rows, leaf.share)
        rows, _, weight = whole.partition(", ")  # one share fits into the line
        target = target_text(self.explanation, leaf.target)
        below = ", ".join(filter(None, (weight, target)))
        self.ax_.text(
            x + 0.12, y + 0.02, f"leaf {leaf.leaf}" if leaf.leaf else "all", fontsize=8.5,
            weight="bold", va="bottom", color=INK,
        )  # fmt: skip
        self.ax_.text(x + 0.72, y + 0.02, rows, fontsize=7.5, va="bottom", color=INK)
        text = shown("\n".join(wrap(below, 30, max_lines=2, placeholder="…")))
        self.ax_.text(x + 0.12, y - 0.04, text, fontsize=7.5, va="top", color=INK)

    def _is_same(self, leaf: NodeExplanation, name: str) -> bool:
        """Whether a feature has the coefficients of the formula for all rows in a leaf."""
        root = self.explanation.nodes[0]
        own = [t for t, term in enumerate(self.explanation.terms) if term.feature == name]
        pairs = zip(leaf.coef, root.coef, strict=True)
        return leaf is not root and all(mine[t] == all_[t] for mine, all_ in pairs for t in own)

    def _influences(self, leaf: NodeExplanation, names: list[str]) -> list[tuple[float, bool]]:
        """Size of every feature's bar, and whether its sign means anything."""
        explanation, several = self.explanation, len(self.explanation.outputs) > 1
        out = []
        for name in names:
            own = explanation.of_number.get(name)
            if own is None or (several and self.output < 0):
                out.append((leaf.strength[name], False))
                continue
            size = leaf.strength[name]
            if several:
                size = spread_of(explanation, leaf, own, self.output)
            sign = direction(explanation, leaf, name, max(self.output, 0))
            out.append((size * (sign or 1), sign != 0))
        return out
