"""The leaves on test rows: how many came, what they were, what was predicted; calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.leaf_scores import equal_groups
from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.scores import effective_rows, intervals, mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BINS = 20
# Outer shares of the rows that go into the first and last bin: one far value hides nothing.
_TAIL = 0.01


@dataclass(frozen=True)
class LeafOnTest(JsonData):
    """A leaf on the test rows.

    ``target`` and ``prediction`` are means (classes: one number per class); ``low, high`` is the
    95% interval of the mean target (classes: of the share of the positive one, or of the last of
    several). ``share`` is that of the weight. ``histograms`` are the
    weights of the rows in the bins between ``LeavesOnTest.edges``, as shares of all test rows, one
    list for each of ``LeavesOnTest.series``.
    """

    leaf: int
    rows: int
    share: float
    target: tuple[float, ...]
    low: float
    high: float
    prediction: tuple[float, ...]
    histograms: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LeavesOnTest(JsonData):
    """All leaves on the test rows; ``axis`` says what the bins between ``edges`` hold."""

    axis: str
    edges: tuple[float, ...]
    series: tuple[str, ...]
    leaves: tuple[LeafOnTest, ...]


@dataclass(frozen=True)
class CalibrationBin(JsonData):
    """About a tenth of the rows, by prediction: mean prediction, mean target, its 95% interval."""

    prediction: float
    target: float
    low: float
    high: float
    rows: int


def leaves_on_test(
    explanation: ModelExplanation, nodes: Ints, target: Floats, prediction: Floats, weight: Floats
) -> LeavesOnTest:
    """``target`` are numbers or positions of classes; ``nodes`` the rows' leaves."""
    axis, edges, series, values = _histogram_parts(explanation, target, prediction)
    outcomes = _outcomes(explanation, target)
    found = []
    for leaf in explanation.leaves:
        here = nodes == leaf.id
        own, share = outcomes[here], weight[here] / weight.sum()
        low, high = _interval(explanation, own[:, explanation.positive], share)
        found.append(
            LeafOnTest(
                leaf=leaf.leaf or 0,
                rows=int(here.sum()),
                share=float(share.sum()),
                target=_means(own, share),
                low=low,
                high=high,
                prediction=_means(prediction[here], share),
                histograms=tuple(_heights(value[here], share, edges) for value in values),
            )
        )
    return LeavesOnTest(axis, tuple(edges.tolist()), series, tuple(found))


def calibration(
    explanation: ModelExplanation,
    target: Floats,
    prediction: Floats,
    weight: Floats,
    n_bins: int = 10,
) -> dict[str, tuple[CalibrationBin, ...]]:
    """Bins of about equal weight by prediction; one list, or one for each of several classes."""
    outcomes = _outcomes(explanation, target)

    def bins(k: int) -> tuple[CalibrationBin, ...]:
        return _bins(explanation, outcomes[:, k], prediction[:, k], weight, n_bins)

    if explanation.classes is None:
        return {"prediction": bins(0)}
    n_classes = len(explanation.classes)
    shown = range(n_classes) if n_classes > 2 else [explanation.positive]
    return {str(explanation.classes[k]): bins(k) for k in shown}


def _bins(
    explanation: ModelExplanation, outcome: Floats, predicted: Floats, weight: Floats, n_bins: int
) -> tuple[CalibrationBin, ...]:
    return tuple(
        CalibrationBin(
            mean(predicted[rows], weight[rows]),
            mean(outcome[rows], weight[rows]),
            *_interval(explanation, outcome[rows], weight[rows]),
            len(rows),
        )
        for rows in equal_groups(predicted, weight, n_bins)
    )


def _outcomes(explanation: ModelExplanation, target: Floats) -> Floats:
    """The target as columns: itself, or one indicator per class."""
    if explanation.classes is None:
        return target[:, None]
    found: Floats = np.eye(len(explanation.classes))[target.astype(int)]
    return found


def _interval(
    explanation: ModelExplanation, outcome: Floats, weight: Floats
) -> tuple[float, float]:
    if len(outcome) == 0:
        return np.nan, np.nan
    if explanation.classes is None:
        return intervals.of_mean(outcome, weight)
    return intervals.wilson(mean(outcome, weight), effective_rows(weight))


def _means(columns: Floats, weight: Floats) -> tuple[float, ...]:
    return tuple(mean(column, weight) for column in columns.T)


def _histogram_parts(
    explanation: ModelExplanation, target: Floats, prediction: Floats
) -> tuple[str, Floats, tuple[str, ...], list[Floats]]:
    """What is counted: targets and predictions, or the probabilities of each class's rows."""
    if explanation.classes is None:
        edges = _edges(np.concatenate([target, prediction[:, 0]]), target)
        return "target", edges, ("actual", "predicted"), [target, prediction[:, 0]]
    if len(explanation.classes) > 2:
        return "", np.zeros(0), (), []
    positive = explanation.positive
    order = 1 - positive, positive
    labels = tuple(str(explanation.classes[k]) for k in order)
    of_class = [np.where(target == k, prediction[:, positive], np.nan) for k in order]
    return f"P({labels[1]})", np.linspace(0, 1, _BINS + 1), labels, of_class


def _edges(values: Floats, target: Floats) -> Floats:
    distinct = np.unique(target)
    if len(distinct) <= _BINS and (distinct == np.round(distinct)).all() and len(distinct) > 1:
        low, high = distinct[0], min(distinct[-1], distinct[0] + _BINS - 1)
        return np.arange(low, high + 2) - 0.5
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    if not low < high:
        low, high = values.min() - 0.5, values.max() + 0.5
    return np.linspace(low, high, _BINS + 1)


def _heights(values: Floats, weight: Floats, edges: Floats) -> tuple[float, ...]:
    known = ~np.isnan(values)
    if len(edges) < 2:
        return ()
    inside = np.clip(values[known], edges[0], edges[-1])
    heights = np.histogram(inside, edges, weights=weight[known])[0]
    return tuple(heights.tolist())
