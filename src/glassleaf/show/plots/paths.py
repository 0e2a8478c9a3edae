"""The path: how well models of growing length do."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from glassleaf.explanations.path import PathStep, path_steps
from glassleaf.explanations.scores import DEVIANCES
from glassleaf.show.plots.style import FAINT, INK, NEGATIVE, NEUTRAL, POSITIVE, bare_frame, new_axes
from glassleaf.tree.fitted import FittedModel, fitted_model
from glassleaf.tree.path import Path
from glassleaf.tree.tree import Tree, term_matrix

_SIZE = (6.4, 4.0)
_PENALTIES = np.logspace(-2, 4, 7)
# By the name of the loss; other numbers have a ridge regression.
_LINEAR = {
    "poisson": PoissonRegressor(alpha=1e-3, max_iter=1000),
    "gamma": GammaRegressor(alpha=1e-3, max_iter=1000),
    "binarylogloss": LogisticRegression(max_iter=1000),
    "multiclasslogloss": LogisticRegression(max_iter=1000),
}
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass
class PathDisplay:
    """How well every model on the path does, against how many numbers there are to read.

    Without rows it is the validated loss: of rows that models of this length were not learned on.
    The band is the standard error of how much worse a step is than the best. With rows, it is
    what ``estimator.score`` says of them. The model itself is marked. Lines show the longest
    formula without a split and the longest step; with rows, a linear model of the same kind on all
    columns (5 folds of these rows) and the whole tree.

    Parameters
    ----------
    steps : tuple of PathStep
    values : tuple of float
        Their validated losses, or their scores.
    chosen : int or None
        Which of them the model is.
    lines : dict of name to value
        What else is drawn, as horizontal lines.
    what : str
        What the values are called.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    """

    steps: tuple[PathStep, ...]
    values: tuple[float, ...]
    chosen: int | None
    lines: dict[str, float] = field(default_factory=dict)
    what: str = "validated loss (lower is better)"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, ax: Any = None) -> Self:
        """Score the models on the path of a fitted estimator, and draw it."""
        if (X is None) != (y is None):
            raise ValueError("Give both X and y, or neither.")
        model = fitted_model(estimator)
        path = _path(model)
        steps = path_steps(path)
        chosen = path.place(model.tree)
        if X is None:
            values = tuple(step.validated for step in steps)
            lines = {
                "one formula, no split": values[_last_without_split(path)],
                "longest model": values[-1],
            }
            return cls(steps, values, chosen, lines).plot(ax=ax)
        values = tuple(_score(estimator, path.tree(step), X, y) for step in path.steps)
        lines = {
            "linear, all columns": _linear_score(model, X, y),
            "whole tree": _score(estimator, path.whole, X, y),
        }
        number = "D²" if _loss_name(model) in DEVIANCES else "R²"
        what = "accuracy" if model.classes else number
        return cls(steps, values, chosen, lines, what).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the path."""
        self.ax_ = new_axes(ax, _SIZE)
        self.figure_ = self.ax_.figure
        numbers = [step.numbers for step in self.steps]
        values = np.array(self.values)
        if self.values == tuple(step.validated for step in self.steps):
            error = np.array([step.error for step in self.steps])
            self.ax_.fill_between(numbers, values - error, values + error, color=FAINT, lw=0)
        self.ax_.plot(numbers, values, "o-", color=POSITIVE, ms=3, lw=1.2, label="models")
        for dashes, (name, value) in zip(("--", ":"), self.lines.items(), strict=True):
            self.ax_.axhline(value, color=NEUTRAL, lw=1, linestyle=dashes, label=name)
        if self.chosen is not None:
            at = numbers[self.chosen], values[self.chosen]
            label = f"this model: {at[0]:,} numbers"
            self.ax_.plot(*at, "o", color=NEGATIVE, ms=8, label=label, zorder=3)
        self._axes(numbers[-1])
        return self

    def _axes(self, last: int) -> None:
        ticks = [tick for tick in _TICKS if tick <= last]
        self.ax_.set_xscale("log")
        self.ax_.set_xticks(ticks, [str(tick) for tick in ticks])
        self.ax_.minorticks_off()
        self.ax_.set_xlabel("numbers to read", color=INK)
        self.ax_.set_ylabel(self.what, color=INK)
        self.ax_.legend(frameon=False, fontsize=8, labelcolor=INK)
        bare_frame(self.ax_)


def _path(model: FittedModel) -> Path:
    if model.path is None:
        raise ValueError("There is no path to draw: the model was fitted with max_numbers=None.")
    return model.path


def _score(estimator: Any, tree: Tree, X: Any, y: Any) -> float:
    """The estimator's own score, if it had this tree."""
    other = copy.copy(estimator)
    other.model_ = replace(estimator.model_, tree=tree)
    return float(other.score(X, y))


def _linear_score(model: FittedModel, X: Any, y: Any) -> float:
    """A linear model of the same kind on all columns, on folds of these rows."""
    terms = model.tree.terms
    design = term_matrix(model.matrix(X), terms)[:, : terms.first_hinge_term]
    kind = _LINEAR.get(_loss_name(model), RidgeCV(_PENALTIES))
    linear = make_pipeline(StandardScaler(), kind)
    return float(cross_val_score(linear, design, np.asarray(y), cv=5).mean())


def _loss_name(model: FittedModel) -> str:
    return type(model.loss).__name__.lower()


def _last_without_split(path: Path) -> int:
    return max(k for k, step in enumerate(path.steps) if not k or not step.node.any())
