"""Leaves and predictions over two features (the paper, figure 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.dependence import Slice, slice_of
from glassleaf.explanations.targets import target_of_output
from glassleaf.show.plots.style import INK, label, new_axes
from glassleaf.tree.fitted import linear_model

_POINTS = 200
# What a leaf's label covers, in points of the grid (rows, columns).
_LABEL = (12, 26)
# Where in a leaf its label may stand, from below; the first is the best.
_SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9)


@dataclass
class RegionDisplay:
    """The prediction over two numeric features; black lines are the borders of leaves.

    A dashed line is where two classes are equally likely. The other features are held fixed.

    Parameters
    ----------
    surface : Slice
        Leaves and predictions over a grid.
    points : ndarray of shape (n, 2) or None
        Rows to draw.
    colors : ndarray or None
        Their targets; of classes, whether a row is of the one shown.
    output : int
        Position of the class that is shown; -1 is the last.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    surface: Slice
    points: NDArray[np.float64] | None = None
    colors: NDArray[np.float64] | None = None
    output: int = -1

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: tuple[Any, Any],
        *,
        y: Any = None,
        at: Any = None,
        output: int | None = None,
        max_points: int = 500,
        ax: Any = None,
    ) -> Self:
        """Predict over a grid of two features and draw it.

        Parameters
        ----------
        estimator : fitted model tree
        X : table
            Rows that give the range, and points where the other features play no part.
        features : two names or positions
        y : array-like or None
            Targets of the rows, to color the points; those of the class shown are filled.
        at : table of one row or None
            Values of the other features; None: their median (most frequent category) in X.
        output : int or None
            Position of the class whose probability is shown; None: the positive one of two, else
            the last.
        max_points : int
            How many rows are drawn as points.
        """
        model = linear_model(estimator)
        matrix = model.matrix(X)
        columns = (model.position(features[0], "features"), model.position(features[1], "features"))
        row = None if at is None else model.matrix(at)[0]
        shown = model.positive if output is None else output
        surface = slice_of(model, matrix, columns, row, _POINTS, shown)
        some = np.linspace(0, len(matrix) - 1, min(max_points, len(matrix))).astype(int)
        colors = None if y is None else target_of_output(model, y, shown, len(matrix))[some]
        return cls(surface, matrix[some][:, list(columns)], colors, shown).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the regions."""
        surface = self.surface
        self.ax_ = new_axes(ax, (6.2, 4.8))
        self.figure_ = self.ax_.figure
        x, y = surface.axes
        is_probability = surface.classes is not None
        limits = {"vmin": 0.0, "vmax": 1.0} if is_probability else {}
        image = self.ax_.pcolormesh(
            x, y, surface.prediction, cmap="RdBu" if is_probability else "viridis",
            shading="nearest", alpha=0.75, rasterized=True, **limits,
        )  # fmt: skip
        for leaf in np.unique(surface.leaf)[1:]:
            self.ax_.contour(x, y, surface.leaf >= leaf, [0.5], colors=INK, linewidths=1.2)
        if surface.classes is not None and len(surface.classes) == 2:
            self.ax_.contour(
                x, y, surface.prediction, [0.5], colors=INK, linewidths=1.0, linestyles="dashed"
            )
        self._points()
        self._leaf_numbers()
        bar = self.figure_.colorbar(image, ax=self.ax_)
        bar.set_label(label(surface.output_name, 40))
        self.ax_.set_xlabel(label(surface.names[0], 40))
        self.ax_.set_ylabel(label(surface.names[1], 40))
        return self

    def _points(self) -> None:
        if self.points is None:
            return
        x, y = self.surface.axes
        if self.colors is None:
            self._scatter(self.points, color=INK)
        elif self.surface.classes is None:
            self._scatter(self.points, c=self.colors, cmap="viridis")
        else:
            self._points_of_classes(self.surface.classes)
        self.ax_.set_xlim(x[0], x[-1])
        self.ax_.set_ylim(y[0], y[-1])

    def _points_of_classes(self, classes: tuple[Any, ...]) -> None:
        """Filled and empty ones can be told apart on any ground."""
        assert self.points is not None and self.colors is not None
        shown = f"rows that are {label(classes[self.output], 30)}"
        for value, color, name in ((0, "white", "other rows"), (1, INK, shown)):
            self._scatter(self.points[self.colors == value], color=color, label=name)
        self.ax_.legend(
            fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False
        )

    def _scatter(self, points: NDArray[np.float64], **given: Any) -> None:
        self.ax_.scatter(*points.T, s=11, alpha=0.85, linewidths=0.6, edgecolors=INK, **given)

    def _leaf_numbers(self) -> None:
        x, y = self.surface.axes
        taken: list[tuple[int, int]] = []
        for leaf in np.unique(self.surface.leaf):
            row, column = _free_place(self.surface.leaf == leaf, taken)
            taken.append((row, column))
            box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.8}
            self.ax_.text(
                x[column], y[row], f"leaf {leaf}", fontsize=8, ha="center", va="center", bbox=box
            )


def _free_place(region: NDArray[np.bool_], taken: list[tuple[int, int]]) -> tuple[int, int]:
    """A row and column of a region, near its middle, where a label covers none of those before."""
    rows, columns = np.nonzero(region)
    places = []
    for share in _SHARES:
        row = int(np.quantile(rows, share, method="nearest"))
        places.append((row, int(np.median(columns[rows == row]))))

    def room(place: tuple[int, int]) -> float:
        distances = (np.abs(np.subtract(place, other)) / _LABEL for other in taken)
        return min((float(distance.max()) for distance in distances), default=1.0)

    return max(places, key=lambda place: min(room(place), 1.0))  # the first of those with room
