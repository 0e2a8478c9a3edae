"""The scores of a report: each with an interval, a constant guess to compare, and a meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import scores
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation
from glassleaf.show.report import intervals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DELTA = "from the spread over the rows"
WILSON = "Wilson's, for a share"
DELONG = "DeLong's"


@dataclass(frozen=True)
class ReportedScore(JsonData):
    """A score, its 95% interval, what a constant guess would reach, and what it means.

    The constant guess is the mean target (or the shares of the classes) of the training rows.
    ``is_share`` says that it is written as a percentage.
    """

    name: str
    value: float
    low: float
    high: float
    baseline: float
    meaning: str
    interval: str
    is_share: bool = False


def model_scores(
    explanation: ModelExplanation, target: Floats, prediction: Floats, weight: Floats
) -> tuple[ReportedScore, ...]:
    """The scores that suit the model.

    ``target`` are numbers, or positions of classes; ``prediction`` has one column, or one per
    class.
    """
    constant = np.tile(np.array(explanation.nodes[0].target), (len(target), 1))
    if explanation.classes is not None:
        return _class_scores(target.astype(int), prediction, constant, weight)
    rows = _Rows(target, prediction[:, 0], constant[:, 0], weight)
    loss = explanation.loss.lower()
    of_loss = _deviance_scores(loss, rows) if loss in scores.DEVIANCES else ()
    return (*of_loss, *_number_scores(rows))


@dataclass(frozen=True)
class _Rows:
    """Targets, predictions, constant guesses and weights of the test rows."""

    y: NDArray[np.float64 | np.int64]
    p: Floats
    constant: Floats
    w: Floats

    def scored(
        self,
        name: str,
        score: Callable[..., float],
        influence: Callable[..., Floats],
        meaning: str,
    ) -> ReportedScore:
        """A score with the interval that its influence values give."""
        value = score(self.y, self.p, self.w)
        low, high = intervals.around(value, influence(self.y, self.p, self.w))
        baseline = score(self.y, self.constant, self.w)
        return ReportedScore(name, value, low, high, baseline, meaning, DELTA)


def _of_mean(of_rows: Callable[[Any, Floats], Floats]) -> Callable[..., Floats]:
    """The influence values of a score that is the mean of a number per row."""
    return lambda y, p, w: intervals.mean_influence(of_rows(y, p), w)


def _number_scores(rows: _Rows) -> tuple[ReportedScore, ...]:
    return (
        rows.scored("R²", scores.r_squared, intervals.r_squared_influence,
                    "Share of the variation of the target that the model explains; 1 is perfect."),
        rows.scored("RMSE", scores.root_mean_squared_error, intervals.root_influence,
                    "Typical size of an error, in the target's units; large errors count more."),
        rows.scored("MAE", scores.mean_absolute_error, _of_mean(lambda y, p: np.abs(p - y)),
                    "Mean size of an error, in the target's units."),
        rows.scored("Mean error", scores.mean_error, _of_mean(lambda y, p: p - y),
                    "Prediction minus target on average; 0 means neither too high nor too low."),
    )  # fmt: skip


def _deviance_scores(loss: str, rows: _Rows) -> tuple[ReportedScore, ...]:
    return (
        rows.scored("D²", partial(scores.explained_deviance, loss),
                    partial(intervals.explained_deviance_influence, loss),
                    "Share of the deviance that the model explains; 1 is perfect, 0 a constant."),
        rows.scored("Mean deviance", partial(scores.mean_deviance, loss),
                    _of_mean(scores.DEVIANCES[loss]),
                    "What the model was fitted to make small; its unit has no meaning of its own."),
        rows.scored("Predicted / actual", scores.ratio_of_means,
                    intervals.ratio_of_means_influence,
                    "Sum of predictions over sum of targets; 1 is neither too high nor too low."),
    )  # fmt: skip


def _class_scores(y: Ints, p: Floats, constant: Floats, w: Floats) -> tuple[ReportedScore, ...]:
    rows, several = _Rows(y, p, constant, w), p.shape[1] > 2
    hits = scores.accuracy(y, p, w)
    of_what = " Mean over the classes that occur, each against the rest." * several
    ranking = auc_score(scores.auc(y, p, w), intervals.auc_influence(y, p, w), of_what)
    return (
        ranking,
        *(() if several else (_gini_score(ranking), _ks_score(y, p, w))),
        rows.scored("Log loss", scores.log_loss, _of_mean(scores.log_losses),
                    "Mean surprise at the true class; 0 is perfect, and sure mistakes cost much."),
        rows.scored("Brier score", scores.brier, _of_mean(scores.brier_errors),
                    "Mean squared error of the probabilities; 0 is perfect."),
        ReportedScore("Accuracy", hits, *intervals.wilson(hits, scores.effective_rows(w)),
              scores.accuracy(y, constant, w),
              "Share of rows whose most probable class is the true one.", WILSON, is_share=True),
    )  # fmt: skip


def auc_score(value: float, influence: Floats, of_what: str = "") -> ReportedScore:
    """The AUC as a score."""
    meaning = (
        "Chance that a row of the class is ranked above one that is not; 0.5 is a coin, 1 perfect."
    )
    low, high = intervals.between_0_and_1(value, influence)
    return ReportedScore("AUC", value, low, high, 0.5, meaning + of_what, DELONG)


def _gini_score(auc: ReportedScore) -> ReportedScore:
    value, low, high = (scores.gini(number) for number in (auc.value, auc.low, auc.high))
    meaning = "Twice the AUC minus 1, as credit risk has it; 0 is a coin, 1 perfect."
    return ReportedScore("Gini", value, low, high, 0.0, meaning, auc.interval)


def _ks_score(y: Ints, p: Floats, w: Floats) -> ReportedScore:
    meaning = (
        "Kolmogorov-Smirnov: the largest distance between the shares of the two classes below a"
        " probability; 1 means that one probability separates them."
    )
    value = scores.kolmogorov_smirnov(y, p, w)
    ends = intervals.between_0_and_1(value, intervals.kolmogorov_smirnov_influence(y, p, w))
    return ReportedScore("KS", value, *ends, 0.0, meaning, DELTA)
