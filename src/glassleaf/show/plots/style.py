"""Colors, labels and axes that all displays share; the one door to matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassleaf.errors import require
from glassleaf.explanations import words

# Told apart with any kind of color vision, and in print.
POSITIVE = "#1f6fb2"
NEGATIVE = "#d1603d"
NEUTRAL = "#7d838c"
INK = "#22262b"
FAINT = "#d9dde2"
# One per leaf, then again with other dashes.
_LEAF_COLORS = (
    "#1f6fb2", "#d1603d", "#2a9d74", "#8a5fb0", "#c9a227", "#4aa8c9", "#b0457b", "#5b6570",
)  # fmt: skip
_LEAF_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))


def leaf_style(leaf: int) -> tuple[str, Any]:
    """Color and dashes of the leaf with this number, which count from 1."""
    rounds, color = divmod(leaf - 1, len(_LEAF_COLORS))
    return _LEAF_COLORS[color], _LEAF_DASHES[rounds % len(_LEAF_DASHES)]


def pyplot() -> Any:
    """matplotlib's pyplot, or a sentence on how to get it."""
    require("matplotlib", extra="plot", purpose="Plotting")
    return require("matplotlib.pyplot", extra="plot", purpose="Plotting")


def label(text: Any, limit: int = 24) -> str:
    """A name for a plot: short, on one line, and no formula even if it holds dollar signs."""
    return words.name(text, limit).replace("$", r"\$")


def shown(text: str) -> str:
    """A finished text, such as a rule, without formulas."""
    return text.replace("$", r"\$")


def shortened(text: str, limit: int, keep_end: bool = False) -> str:
    """A finished text, cut at its end or at its beginning; no formula is made of it.

    >>> shortened("age > 3 and sex = f", 14), shortened("age > 3 and sex = f", 14, keep_end=True)
    ('age > 3 and s…', '… sex = f')
    """
    if len(text) <= limit:
        return shown(text)
    if not keep_end:
        return shown(text[: limit - 1]) + "…"
    end = text[-(limit - 2) :]
    return "… " + shown(end[end.find(" and ") + 5 :] if " and " in end else end)


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """The given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=size, layout="constrained")[1]


def grid_of_axes(ax: Any, n_rows: int, n_columns: int, size: tuple[float, float]) -> Any:
    """Axes in a grid: in the place of the given one, which is switched off, or in a new figure."""
    if ax is None:
        figure = pyplot().figure(figsize=size, layout="constrained")
        return figure.subplots(n_rows, n_columns, squeeze=False)
    ax.set_axis_off()
    grid = ax.get_subplotspec()
    if grid is None:
        raise ValueError("ax must be part of a grid of subplots, as plt.subplots makes them.")
    inner = grid.subgridspec(n_rows, n_columns)
    return inner.subplots(squeeze=False)


def bare_frame(ax: Any) -> None:
    """Only the left and the bottom spine."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def signed_colors(values: Sequence[float]) -> list[str]:
    """A color per sign."""
    return [POSITIVE if value >= 0 else NEGATIVE for value in np.asarray(values)]
