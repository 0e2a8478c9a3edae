"""Accuracy against numbers to read, a panel per table: what ``benchmarks.readability`` draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from reproduction import datasets

# Color, width of the line (0: a single point), marker.
STYLES: dict[str, tuple[str, float, str]] = {
    "glassleaf": ("#0b4f9e", 2.4, "o"),
    "glassleaf, 8 leaves": ("#0b4f9e", 0, "s"),
    "glassleaf, 32 leaves": ("#0b4f9e", 0, "D"),
    "lasso": ("#e07b00", 1.3, ""),
    "decision tree": ("#4c9a2a", 1.3, ""),
    "FasterRisk": ("#8e44ad", 1.3, ""),
    "scorecard": ("#a0522d", 1.3, ""),
    "Cubist": ("#d6409f", 1.3, ""),
    "PILOT": ("#12a5a5", 1.3, ""),
    "ridge": ("#e07b00", 0, "P"),
    "XGBoost 2019": ("#c0392b", 0, "X"),
    "EBM": ("#222222", 0, "*"),
}
COLUMNS = 3
LEFT, RIGHT = 6, 3000  # of the axis; what has more numbers stands at the right edge
_GREY = "#555555"
_SETTINGS = {
    "svg.hashsalt": "glassleaf",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "text.color": _GREY,
    "xtick.color": _GREY,
    "ytick.color": _GREY,
    "axes.edgecolor": "#bbbbbb",
    "axes.grid": True,
    "grid.color": "#eeeeee",
    "axes.axisbelow": True,
}

Points = list[tuple[float, float]]


def draw(results: dict[str, Any], path: Path) -> None:
    """The same bytes from the same results."""
    points = {
        name: {rival: points_of(cells.get(rival, {}), results) for rival in STYLES}
        for name, cells in results["tables"].items()
    }
    names = [name for name in datasets.ALL if any(points.get(name, {}).values())]
    rows = -(-len(names) // COLUMNS)
    with plt.rc_context(_SETTINGS):
        height = 0.7 + 1.75 * rows
        figure, axes = plt.subplots(
            rows, COLUMNS, figsize=(9.375, height), squeeze=False, facecolor="white"
        )
        for axis, name in zip(axes.flat, names, strict=False):
            _panel(axis, points[name])
            _title(axis, name, results["tables"][name])
        for axis in axes.flat[len(names) :]:
            axis.axis("off")
        _legend(figure, [rival for rival in STYLES if any(points[name][rival] for name in names)])
        label = f"numbers to read (at the right edge: {RIGHT:,} and more)"
        figure.text(0.5, 0.06 / height, label, ha="center", va="bottom")
        figure.tight_layout(rect=(0, 0.2 / height, 1, 1 - 0.5 / height), h_pad=0.8, w_pad=0.8)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)


def points_of(cell: dict[str, Any], results: dict[str, Any]) -> Points:
    """Mean numbers and score at every limit that all folds have a model for, and without one."""
    found = []
    for limit in [*map(str, results["run"]["numbers"]), "all"]:
        folds = [fold["found"].get(limit) for fold in cell.get("folds", [])]
        if folds and None not in folds:
            score, numbers = np.mean(folds, axis=0)
            found.append((float(numbers), float(score)))
    return sorted(set(found))


def _title(axis: Any, name: str, cells: dict[str, Any]) -> None:
    score = next(cell["score"] for cell in cells.values() if "score" in cell)
    axis.set_title(name, fontsize=9, loc="left", pad=3, color="#333333", fontweight="bold")
    axis.set_title(f"{score} × 100", fontsize=7, loc="right", pad=3, color=_GREY)


def _panel(axis: Any, points: dict[str, Points]) -> None:
    for rival, found in points.items():
        if found:
            _series(axis, rival, found)
    axis.set_xscale("log")
    axis.set_xlim(LEFT, 1.2 * RIGHT)  # room for markers at the edge
    axis.set_xticks([10, 20, 40, 80, 160, 1000], ["10", "20", "40", "80", "160", "1,000"])
    axis.minorticks_off()
    axis.set_ylim(*_range(points))
    axis.tick_params(length=0, pad=2)
    axis.spines[["top", "right"]].set_visible(False)


def _series(axis: Any, rival: str, found: Points) -> None:
    color, width, marker = STYLES[rival]
    is_line = width > 0
    x, y = np.array(found if is_line else found[-1:]).T
    top = 3 if rival.startswith("glassleaf") else 2
    if is_line:
        axis.plot(x, y, color=color, lw=width, marker=marker, ms=4, zorder=top)
    else:
        at = np.minimum(x, RIGHT)
        axis.plot(at, y, color=color, ls="", marker=marker, ms=6, zorder=top)


def _range(points: dict[str, Points]) -> tuple[float, float]:
    """From the worst with 15 numbers or more, but not far below the best, to a little above it."""
    found = sorted(point for one in points.values() for point in one)
    scores = [y for x, y in found if x >= min(15, found[-1][0])]
    best = max(scores)
    worst = max(min(scores), best - 30)
    return worst - 0.06 * (best - worst) - 0.1, best + 0.08 * (best - worst) + 0.1


def _legend(figure: Any, rivals: list[str]) -> None:
    handles = [
        Line2D([], [], color=color, lw=width, marker=marker or None, ms=5, label=rival)
        for rival, (color, width, marker) in STYLES.items()
        if rival in rivals
    ]
    figure.legend(
        handles=handles, loc="upper center", ncols=6, frameon=False, fontsize=8, handlelength=1.8,
        columnspacing=1.4, labelcolor=_GREY,
    )  # fmt: skip
