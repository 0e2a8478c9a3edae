"""The paper's three figures, as SVG, PDF and PNG."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import ModelTreeClassifier, paper_settings
from glassleaf.errors import require
from reproduction import example
from reproduction.datasets import Dataset
from reproduction.preparation import prepare

Floats = NDArray[np.float64]

FORMATS = ("svg", "pdf", "png")
BLUE, ORANGE, GREEN, DARK, LIGHT = "#2f6db5", "#d9772b", "#3b8f5a", "#222222", "#9a9a9a"
_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "glassleaf",  # the same figure gives the same file
}


def draw_all(data: Iterable[Dataset], folder: Path) -> tuple[str, ...]:
    """Draw what can be drawn from these data; the names of the figures."""
    drawn = {"figure-2-example": figure_2(), "figure-3-gains": figure_3()}
    for dataset in data:
        if dataset.name == "Bankruptcy":
            drawn["figure-1-stump"] = figure_1(dataset)
    for name, figure in drawn.items():
        _save(figure, folder, name)
    return tuple(sorted(drawn))


def _save(figure: Any, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for form in FORMATS:
        # Without a date, the same figure gives the same file.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
        figure.savefig(folder / f"{name}.{form}", dpi=160, metadata=metadata)


def _styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Draw with our fonts and lines, and leave the user's settings alone."""

    @functools.wraps(draw)
    def drawn(*given: Any, **named: Any) -> Any:
        matplotlib = require("matplotlib", extra="plot", purpose="Drawing figures")
        with matplotlib.rc_context(_STYLE):
            return draw(*given, **named)

    return drawn


def _panels(width: float, height: float, columns: int, **options: Any) -> tuple[Any, Any]:
    """A figure of its own, outside pyplot's list of open windows."""
    module = require("matplotlib.figure", extra="plot", purpose="Drawing figures")
    figure = module.Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    return figure, figure.subplots(1, columns, **options)


# --- Figure 1 -------------------------------------------------------------------------------------


@_styled
def figure_1(data: Dataset, n_shown: int = 10) -> Any:
    """The model stump of Bankruptcy: its rule, and the strongest coefficients of both leaves."""
    everything = np.arange(len(data.y))
    ranks, _ = prepare("quantile", data, everything, everything)
    tree = ModelTreeClassifier(**paper_settings("MT-GR"), max_depth=1).fit(ranks, data.y).tree_
    names = [str(name).replace("Attr", "X") for name in data.X]
    column, rank = int(tree.feature[0]), float(tree.threshold[0])
    value = float(np.quantile(data.X.iloc[:, column].dropna(), rank))
    leaves = [int(tree.left[0]), int(tree.right[0])]
    strength = np.abs(tree.coef[leaves]).max(axis=0)
    shown = np.argsort(-strength, kind="stable")[:n_shown][::-1]

    figure, axes = _panels(7.2, 4.2, 2, sharex=True, sharey=True)
    figure.suptitle(
        f"{names[column]} ≤ {value:.3g} ?   (the lowest {100 * rank:.0f} % of companies)",
        fontsize=11,
        bbox={"boxstyle": "round,pad=0.4", "facecolor": "#f2f2f2", "edgecolor": LIGHT},
    )
    shares = _shares(tree.apply(ranks), data.y, leaves)
    for axis, leaf, answer, share in zip(axes, leaves, ("yes", "no"), shares, strict=True):
        weights = tree.coef[leaf][shown]
        axis.barh(range(len(shown)), weights, color=[ORANGE if w > 0 else BLUE for w in weights])
        axis.axvline(0.0, color=DARK, linewidth=0.8)
        axis.set_yticks(range(len(shown)), [names[place] for place in shown])
        axis.tick_params(axis="y", length=0, labelleft=True)
        axis.set_title(
            f"{answer}: {tree.n_samples[leaf]:,} companies, {100 * share:.1f} % bankrupt"
        )
        axis.set_xlabel("change of log-odds from lowest to highest rank")
    return figure


def _shares(leaf_of_row: Any, y: Any, leaves: list[int]) -> list[float]:
    return [float(np.mean(y[leaf_of_row == leaf])) for leaf in leaves]


# --- Figure 2 -------------------------------------------------------------------------------------


def example_trees() -> dict[str, ModelTreeClassifier]:
    """The three models of Figure 2, fitted to the example."""
    X, labels = example.example_points()
    settings: dict[str, dict[str, Any]] = {
        "(a) logistic regression": {**paper_settings("MT-GR"), "max_depth": 0},
        "(b) split by cross entropy": {**paper_settings("MT-DT"), "max_depth": 1},
        "(c) split by gradients": {**paper_settings("MT-GR"), "max_depth": 1},
    }
    return {
        name: ModelTreeClassifier(min_samples_leaf=10, max_bins=1000, **each).fit(X, labels)
        for name, each in settings.items()
    }


@_styled
def figure_2() -> Any:
    """Points, the split (solid) and the 50 % lines of the leaves (dashed), for three models."""
    X, labels = example.example_points()
    figure, axes = _panels(9.6, 3.7, 3, sharex=True, sharey=True)
    for axis, (name, model) in zip(axes, example_trees().items(), strict=True):
        for label, color, marker in ((0, BLUE, "o"), (1, ORANGE, "^")):
            points = X[labels == label]
            axis.scatter(
                *points.T, s=11, c=color, marker=marker, alpha=0.65, linewidths=0,
                label=f"class {label}",
            )  # fmt: skip
        _draw_borders(axis, model.tree_)
        accuracy = float(np.mean(model.predict(X) == labels))
        axis.set_title(f"{name}\n{100 * accuracy:.0f} % of the points are right")
        axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="x", aspect="equal")
    axes[0].set_ylabel("y")
    handles, names = axes[-1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_borders(axis: Any, tree: Any) -> None:
    """A leaf's 50 % line is drawn only where the leaf answers."""
    grid = np.linspace(0.0, 1.0, 401)
    points = np.stack([side.ravel() for side in np.meshgrid(grid, grid)], axis=1)
    leaf_of_point = tree.apply(points)
    for place, leaf in enumerate(np.unique(leaf_of_point)):
        raw = (tree.intercept[leaf] + points @ tree.coef[leaf]).reshape(len(grid), -1)
        own = leaf_of_point.reshape(len(grid), -1) == leaf
        axis.contour(
            grid, grid, np.where(own, raw, np.nan), levels=[0.0], colors=DARK,
            linestyles="dashed", linewidths=1.6,
        )  # fmt: skip
        if place == 0:
            axis.plot([], [], "--", color=DARK, linewidth=1.6, label="50 % line of a leaf")
    if tree.left[0] >= 0:
        line = axis.axvline if tree.feature[0] == 0 else axis.axhline
        line(tree.threshold[0], color=DARK, linewidth=2.0, label="split")


# --- Figure 3 -------------------------------------------------------------------------------------


@_styled
def figure_3() -> Any:
    """Gain along both axes, every measure divided by its maximum; a dot marks the split taken."""
    X, labels = example.example_points()
    curves = example.gain_curves(X, labels)
    figure, axes = _panels(8.4, 3.5, 2, sharey=True)
    looks = {
        "cross entropy": (BLUE, ":", 1.8),
        "gradient": (GREEN, "--", 1.6),
        "renormalized gradient": (ORANGE, "-", 1.8),
    }
    for place, (axis, curve) in enumerate(zip(axes, curves, strict=True)):
        for measure, (color, line, width) in looks.items():
            axis.plot(
                curve.thresholds, curve.gains[measure], line, color=color, linewidth=width,
                label=measure,
            )  # fmt: skip
            best_axis, threshold = example.best_split(curves, measure)
            if best_axis == place:
                loss = example.final_loss(X, labels, place, threshold)
                axis.plot([threshold], [1.0], "o", color=color, markersize=6)
                axis.annotate(
                    f"loss {loss:.3f}", (threshold, 1.0), xytext=(0, 6), color=color,
                    textcoords="offset points", ha="center", fontsize=8,
                )  # fmt: skip
        axis.set(xlim=(0, 1), ylim=(0, 1.15), xlabel=f"split at {example.AXES[place]}")
        axis.set_title("vertical splits" if place == 0 else "horizontal splits")
    axes[0].set_ylabel("gain, largest = 1")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    return figure
