"""The decision curve: what acting on a model is worth, whatever a mistake costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from glassleaf.checks import row_weights
from glassleaf.explanations.comparison import predictions
from glassleaf.explanations.decisions import NetBenefit, decision_curve
from glassleaf.explanations.targets import target_of_output
from glassleaf.show.plots.style import (
    FAINT,
    INK,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    bare_frame,
    label,
    new_axes,
)
from glassleaf.tree.fitted import FittedModel, fitted_model

_SIZE = (6.4, 4.0)


@dataclass
class DecisionCurveDisplay:
    """Net benefit against the probability from which one acts, beside acting on all rows and none.

    Whoever acts from 20% on takes four rows that are not of the class for one that is: these are
    the odds at which mistakes count against hits. A model helps where its line is above both
    others. The band is a 95% interval.

    Parameters
    ----------
    curve : tuple of NetBenefit
    challenger : tuple of NetBenefit
        That of another model, or empty.
    name : str
        The class.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    curve: tuple[NetBenefit, ...]
    challenger: tuple[NetBenefit, ...] = ()
    name: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        output: int | None = None,
        challenger: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Score a fitted classifier on rows and draw its curve.

        ``output`` is the position of a class; None: the positive one of two, else the last.
        ``challenger`` is another fitted classifier of the same classes.
        """
        model = fitted_model(estimator)
        if model.classes is None:
            raise ValueError("A decision curve needs classes; this model predicts numbers.")
        shown = model.positive if output is None else output
        found = [model.prediction(model.scores(X))]
        found += [] if challenger is None else [predictions(model, challenger, X)]
        curves = [_curve(model, y, p[:, shown], shown, sample_weight) for p in found]
        name = str(model.classes[shown])
        return cls(curves[0], curves[1] if challenger is not None else (), name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve."""
        self.ax_ = new_axes(ax, _SIZE)
        self.figure_ = self.ax_.figure
        threshold = [point.threshold for point in self.curve]
        ends = [[point.low for point in self.curve], [point.high for point in self.curve]]
        self.ax_.fill_between(threshold, *ends, color=POSITIVE, alpha=0.15, lw=0)
        own = np.array([point.model for point in self.curve])
        self.ax_.plot(threshold, own, color=POSITIVE, lw=1.8, label="model")
        if self.challenger:
            other = [point.model for point in self.challenger]
            self.ax_.plot(threshold, other, color=NEGATIVE, lw=1.5, ls="--", label="challenger")
        everyone = [point.everyone for point in self.curve]
        self.ax_.plot(threshold, everyone, color=NEUTRAL, lw=1, label="act on all rows")
        self.ax_.axhline(0.0, color=FAINT, lw=1.2, zorder=0, label="act on none")
        top = max(own.max(), everyone[0], 1e-9)
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(-0.15 * top, 1.1 * top)
        self.ax_.set_xlabel(f"probability of {label(self.name, 30)} from which one acts", color=INK)
        self.ax_.set_ylabel("net benefit per row", color=INK)
        self.ax_.legend(frameon=False, fontsize=8.5, labelcolor=INK)
        bare_frame(self.ax_)
        return self


def _curve(
    model: FittedModel, y: Any, p: NDArray[np.float64], output: int, sample_weight: Any
) -> tuple[NetBenefit, ...]:
    target = target_of_output(model, y, output, len(p)) > 0
    weight = row_weights(sample_weight, len(p))
    used = weight > 0
    return decision_curve(target[used], p[used], weight[used])
