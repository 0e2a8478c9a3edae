"""The scores that commands show, by task: names people know, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli import screen
from glassleaf.cli.failures import DataError
from glassleaf.explanations import scores
from glassleaf.explanations.comparison import Comparison, compare_predictions
from glassleaf.explanations.scores.named import NamedScore, positive_last, suitable_scores
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """A measure of predictions; NaN where it is not defined for these rows."""

    name: str
    value: float
    higher_is_better: bool


def all_scores(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> list[Score]:
    """The scores of an estimator on rows with known targets."""
    if hasattr(estimator, "classes_"):
        return class_scores(estimator.classes_, estimator.predict_proba(X), y, weight)
    return number_scores(estimator.predict(X), y, weight, estimator.loss)


def class_scores(
    classes: NDArray[Any], probabilities: Floats, y: NDArray[Any], weight: Floats | None
) -> list[Score]:
    """AUC, accuracy, log loss."""
    w = np.ones(len(y)) if weight is None else weight
    rows = np.searchsorted(classes, y), probabilities, w
    return [
        Score("AUC", scores.auc(*rows), True),
        Score("accuracy", scores.accuracy(*rows), True),
        Score("log loss", scores.log_loss(*rows), False),
    ]


def number_scores(
    predicted: Floats, y: NDArray[Any], weight: Floats | None, loss: Any
) -> list[Score]:
    """R2, root mean squared and mean absolute error; for counts and amounts D2 and the deviance."""
    rows = y.astype(np.float64), predicted, np.ones(len(y)) if weight is None else weight
    out = [
        Score("R2", scores.r_squared(*rows), True),
        Score("RMSE", scores.root_mean_squared_error(*rows), False),
        Score("MAE", scores.mean_absolute_error(*rows), False),
    ]
    if isinstance(loss, str) and loss in scores.DEVIANCES:
        out.insert(0, Score("D2", scores.explained_deviance(loss, *rows), True))
        out.append(Score(f"{loss} deviance", scores.mean_deviance(loss, *rows), False))
    return out


# --- scores with intervals, and comparisons ------------------------------------------------------


@dataclass(frozen=True)
class PredictedRows:
    """Predictions (one per row, or a column per class), targets and weights."""

    predicted: Floats
    y: NDArray[Any]
    weight: Floats | None

    def weighed(self, model: FittedModel) -> tuple[Floats, Floats, Floats]:
        """Targets as numbers, columns of predictions, weights; of rows that have a weight."""
        w = np.ones(len(self.y)) if self.weight is None else self.weight
        known = self.y if model.class_array is None else np.searchsorted(model.class_array, self.y)
        columns, used = self.predicted.reshape(len(self.y), -1), w > 0
        return known[used].astype(np.float64), columns[used], w[used]


@dataclass(frozen=True)
class ScoreWithInterval:
    """A score, and the ends of its 95% interval."""

    named: NamedScore
    value: float
    low: float
    high: float


def scores_with_intervals(model: FittedModel, rows: PredictedRows) -> list[ScoreWithInterval]:
    """All scores that suit a model."""
    target, columns, w = rows.weighed(model)
    n_classes = len(model.classes or ())
    y, p = positive_last(model.positive, n_classes, target, columns)
    return [
        ScoreWithInterval(own, *own.with_interval(y, p, w))
        for own in suitable_scores(type(model.loss).__name__, n_classes)
    ]


def compared_scores(
    model: FittedModel, rows: PredictedRows, other: PredictedRows
) -> tuple[Comparison, ...]:
    """The scores of a model and of a challenger on the same rows."""
    if rows.predicted.shape != other.predicted.shape or not np.array_equal(rows.y, other.y):
        raise DataError("the challenger cannot use the same rows, or has other classes.")
    target, columns, w = rows.weighed(model)
    return compare_predictions(model, target, columns, other.weighed(model)[1], w)


def score_table(scores: list[ScoreWithInterval]) -> Any:
    """Scores as a table for the terminal."""
    table = screen.plain_table("score")
    table.add_column("value", justify="right")
    table.add_column("95% interval", justify="right")
    table.add_column("better is", style="dim")
    for score in scores:
        ends = f"{score.low:.4g} to {score.high:.4g}"
        table.add_row(score.named.key, f"{score.value:.4g}", ends, score.named.better)
    return table


def comparison_table(compared: tuple[Comparison, ...]) -> Any:
    """Comparisons as a table for the terminal."""
    table = screen.plain_table("score")
    for title in ("difference", "95% interval", "p"):
        table.add_column(title, justify="right")
    table.add_column("better is", style="dim")
    for one in compared:
        ends = f"{one.low:+.4g} to {one.high:+.4g}"
        table.add_row(one.score, f"{one.difference:+.4g}", ends, f"{one.p:.2g}", one.better)
    return table
