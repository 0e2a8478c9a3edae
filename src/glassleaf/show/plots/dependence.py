"""Partial dependence with its kinks: a model tree is linear between them; nothing is smoothed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.explanations.dependence import Dependence, dependence_of
from glassleaf.show.plots.style import (
    FAINT,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    bare_frame,
    label,
    new_axes,
)
from glassleaf.tree.fitted import fitted_model

_POINTS = 100


@dataclass
class DependenceDisplay:
    """The mean prediction with a feature set to each of its values, and some single rows.

    Dashed lines are the splits on the feature, where the prediction may jump.

    Parameters
    ----------
    dependence : Dependence

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    dependence: Dependence

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        feature: Any,
        *,
        output: int | None = None,
        max_rows: int = 1000,
        ax: Any = None,
    ) -> Self:
        """Predict the rows of X with the feature set to each of its values, and draw the mean.

        ``output`` is the position of a class; None: the positive one of two, else the last.
        """
        model = fitted_model(estimator)
        column = model.position(feature, "feature")
        shown = model.positive if output is None else output
        found = dependence_of(model, model.matrix(X), column, shown, max_rows, _POINTS)
        return cls(found).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the dependence."""
        self.ax_ = new_axes(ax, (6.0, 3.8))
        self.figure_ = self.ax_.figure
        if self.dependence.is_categorical:
            self._bars()
        else:
            self._lines()
        self.ax_.set_xlabel(label(self.dependence.name, 40))
        self.ax_.set_ylabel("mean " + label(self.dependence.output_name, 30))
        bare_frame(self.ax_)
        return self

    def _lines(self) -> None:
        x = np.array(self.dependence.values)
        for row in self.dependence.rows:
            self.ax_.plot(*_with_gaps(x, row, self.dependence.kinks), color=FAINT, lw=0.7, zorder=0)
        for kink in self.dependence.kinks:
            self.ax_.axvline(kink, color=NEGATIVE, lw=0.9, ls="--", alpha=0.8)
        self.ax_.plot(
            *_with_gaps(x, self.dependence.mean, self.dependence.kinks), color=POSITIVE, lw=2.2
        )
        given = np.quantile(self.dependence.given, np.linspace(0.005, 0.995, 100))
        bottom = self.ax_.get_xaxis_transform()
        self.ax_.plot(given, np.zeros(100), "|", color=NEUTRAL, transform=bottom, ms=7, alpha=0.5)

    def _bars(self) -> None:
        order = np.argsort(self.dependence.mean)[::-1][:20]
        lines = np.arange(len(order))
        self.ax_.bar(lines, self.dependence.mean[order], color=POSITIVE, width=0.65)
        names = [label(self.dependence.values[k], 14) for k in order]
        self.ax_.set_xticks(lines, names, rotation=35 if len(order) > 4 else 0, ha="right")
        if len(order) <= 4:
            self.ax_.set_xticks(lines, names, ha="center")


def _with_gaps(x: Any, y: Any, kinks: tuple[float, ...]) -> tuple[Any, Any]:
    """A line that is broken where the tree is split."""
    after = np.searchsorted(x, np.array(kinks), side="right")
    return np.insert(x, after, np.nan), np.insert(y, after, np.nan)
