"""Which scores suit a model, by the names that people know, with intervals and meanings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import scores
from glassleaf.explanations.scores import calibration, intervals

Floats = NDArray[np.float64]

DELTA = "from the spread over the rows"
WILSON = "Wilson's, for a share"
DELONG = "DeLong's"

Ends = tuple[float, float]


def _around(value: float, influence: Floats, w: Floats) -> Ends:
    return intervals.around(value, influence)


@dataclass(frozen=True)
class NamedScore:
    """A score, what each row adds to its error, its 95% interval, and what it means.

    ``key`` is its name in files and commands. ``better`` says what is wanted: "higher", "lower",
    "near 0" or "near 1". ``interval`` takes the value, the influence values and the weights;
    ``method`` says what interval that is.
    """

    name: str
    key: str
    better: str
    meaning: str
    score: Callable[..., float]
    influence: Callable[..., Floats]
    interval: Callable[[float, Floats, Floats], Ends] = _around
    method: str = DELTA
    is_share: bool = False

    def with_interval(self, y: Any, p: Floats, w: Floats) -> tuple[float, float, float]:
        """The score and the ends of its interval."""
        value = self.score(y, p, w)
        return (value, *self.interval(value, self.influence(y, p, w), w))


def suitable_scores(loss: str, n_classes: int) -> tuple[NamedScore, ...]:
    """The scores of a model with this loss; of more than two classes, of two, or of numbers (0).

    Those of two classes take the positive one as the second.
    """
    if n_classes:
        return _of_classes(n_classes)
    loss = loss.lower()
    return (*(_of_deviance(loss) if loss in scores.DEVIANCES else ()), *_of_numbers(loss))


def positive_last(
    positive: int, n_classes: int, target: Floats, prediction: Floats
) -> tuple[NDArray[Any], Floats]:
    """Targets and predictions as scores take them.

    Numbers have one prediction per row; classes one column each, the positive of two the second.
    """
    if not n_classes:
        return target, prediction[:, 0]
    y = target.astype(np.int64)
    return (1 - y, prediction[:, ::-1]) if n_classes == 2 and positive == 0 else (y, prediction)


def _of_mean(of_rows: Callable[[Any, Floats], Floats]) -> Callable[..., Floats]:
    """The influence values of a score that is the mean of a number per row."""
    return lambda y, p, w: intervals.mean_influence(of_rows(y, p), w)


def _within_0_and_1(value: float, influence: Floats, w: Floats) -> Ends:
    return intervals.between_0_and_1(value, influence)


def _of_numbers(loss: str) -> tuple[NamedScore, ...]:
    return (
        NamedScore("R²", "R2", "higher",
                   "Share of the variation of the target that the model explains; 1 is perfect.",
                   scores.r_squared, intervals.r_squared_influence),
        NamedScore("RMSE", "RMSE", "lower",
                   "Typical size of an error, in the target's units; large errors count more.",
                   scores.root_mean_squared_error, intervals.root_influence),
        NamedScore("MAE", "MAE", "lower", "Mean size of an error, in the target's units.",
                   scores.mean_absolute_error, _of_mean(lambda y, p: np.abs(p - y))),
        NamedScore("Mean error", "mean error", "near 0",
                   "Prediction minus target on average; 0 means neither too high nor too low.",
                   scores.mean_error, _of_mean(lambda y, p: p - y)),
        _slope(loss),
    )  # fmt: skip


def _of_deviance(loss: str) -> tuple[NamedScore, ...]:
    return (
        NamedScore("D²", "D2", "higher",
                   "Share of the deviance that the model explains; 1 is perfect, 0 a constant.",
                   partial(scores.explained_deviance, loss),
                   partial(intervals.explained_deviance_influence, loss)),
        NamedScore("Mean deviance", f"{loss} deviance", "lower",
                   "What the model was fitted to make small; its unit has no meaning of its own.",
                   partial(scores.mean_deviance, loss), _of_mean(scores.DEVIANCES[loss])),
        NamedScore("Predicted / actual", "predicted / actual", "near 1",
                   "Sum of predictions over sum of targets; 1 is neither too high nor too low.",
                   scores.ratio_of_means, intervals.ratio_of_means_influence),
    )  # fmt: skip


def _slope(loss: str) -> NamedScore:
    return NamedScore(
        "Calibration slope", "calibration slope", "near 1",
        "Slope of the target on the prediction, on the scale of the score; below 1, predictions"
        " are too extreme.",
        partial(calibration.calibration_slope, loss),
        partial(calibration.calibration_slope_influence, loss),
    )  # fmt: skip


def _of_classes(n_classes: int) -> tuple[NamedScore, ...]:
    several = n_classes > 2
    of_what = " Mean over the classes that occur, each against the rest." * several
    return (
        NamedScore("AUC", "AUC", "higher", AUC_MEANING + of_what, scores.auc,
                   intervals.auc_influence, _within_0_and_1, DELONG),
        *(() if several else _of_ranking()),
        NamedScore("Log loss", "log loss", "lower",
                   "Mean surprise at the true class; 0 is perfect, and sure mistakes cost much.",
                   scores.log_loss, _of_mean(scores.log_losses)),
        NamedScore("Brier score", "Brier score", "lower",
                   "Mean squared error of the probabilities; 0 is perfect.",
                   scores.brier, _of_mean(scores.brier_errors)),
        NamedScore("Accuracy", "accuracy", "higher",
                   "Share of rows whose most probable class is the true one.",
                   scores.accuracy, _of_mean(lambda y, p: p.argmax(axis=1) == y),
                   lambda value, _, w: intervals.wilson(value, scores.effective_rows(w)),
                   WILSON, is_share=True),
        *(() if several else _of_calibration()),
    )  # fmt: skip


AUC_MEANING = (
    "Chance that a row of the class is ranked above one that is not; 0.5 is a coin, 1 perfect."
)


def _of_ranking() -> tuple[NamedScore, ...]:
    return (
        NamedScore("Gini", "Gini", "higher",
                   "Twice the AUC minus 1, as credit risk has it; 0 is a coin, 1 perfect.",
                   lambda *rows: scores.gini(scores.auc(*rows)),
                   lambda *rows: 2 * intervals.auc_influence(*rows), _gini_interval, DELONG),
        NamedScore("KS", "KS", "higher",
                   "Kolmogorov-Smirnov: the largest distance between the shares of the two classes"
                   " below a probability; 1 means that one probability separates them.",
                   scores.kolmogorov_smirnov, intervals.kolmogorov_smirnov_influence,
                   _within_0_and_1),
    )  # fmt: skip


def _gini_interval(value: float, influence: Floats, w: Floats) -> Ends:
    low, high = intervals.between_0_and_1((value + 1) / 2, influence / 2)
    return scores.gini(low), scores.gini(high)


def _of_calibration() -> tuple[NamedScore, ...]:
    def of_second(score: Callable[..., Any]) -> Callable[..., Any]:
        return lambda y, p, w: score("class", y, p[:, 1], w)

    return (
        NamedScore("Calibration slope", "calibration slope", "near 1",
                   "Slope of the outcome on the predicted log-odds; below 1, probabilities are too"
                   " extreme.",
                   of_second(calibration.calibration_slope),
                   of_second(calibration.calibration_slope_influence)),
        NamedScore("Calibration intercept", "calibration intercept", "near 0",
                   "What has to be added to the predicted log-odds for the right share on average;"
                   " above 0, probabilities are too low.",
                   of_second(calibration.calibration_intercept),
                   of_second(calibration.calibration_intercept_influence)),
    )  # fmt: skip
