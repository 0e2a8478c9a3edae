"""The learning curve: what more rows bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassleaf.explanations.refits import LearningCurve, learning_curve
from glassleaf.show.plots.style import INK, NEUTRAL, POSITIVE, bare_frame, new_axes

_SIZE = (6.4, 4.0)


@dataclass
class LearningCurveDisplay:
    """The main score of models of growing numbers of rows, on rows held out and on their own.

    Where the two lines have met, more rows bring little. The band is the spread over the draws.

    Parameters
    ----------
    curve : LearningCurve

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    curve: LearningCurve

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **given: Any
    ) -> Self:
        """Fit models like this one to growing shares of rows, and draw how well they do.

        ``given`` are the parameters of ``learning_curve``.
        """
        return cls(learning_curve(estimator, X, y, **given)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve."""
        self.ax_ = new_axes(ax, _SIZE)
        self.figure_ = self.ax_.figure
        points = self.curve.points
        rows = [point.rows for point in points]
        test = np.array([point.test for point in points])
        spread = np.nan_to_num(np.array([point.spread for point in points]))
        self.ax_.fill_between(rows, test - spread, test + spread, color=POSITIVE, alpha=0.15, lw=0)
        self.ax_.plot(rows, test, "o-", color=POSITIVE, ms=4, label="on rows held out")
        training = [point.training for point in points]
        self.ax_.plot(rows, training, "o--", color=NEUTRAL, ms=4, label="on rows of the fit")
        self.ax_.set_xlabel("rows of the fit", color=INK)
        self.ax_.set_ylabel(self.curve.score, color=INK)
        self.ax_.legend(frameon=False, fontsize=8.5, labelcolor=INK)
        bare_frame(self.ax_)
        return self
