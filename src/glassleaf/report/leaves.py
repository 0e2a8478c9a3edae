"""The leaves on test rows: how many came, what they were, what was predicted; calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.plain_data import Record
from glassleaf.report.scores import mean_interval, wilson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BINS = 20
# Outer shares of the rows that go into the first and last bin: one far value hides nothing.
_TAIL = 0.01


@dataclass(frozen=True)
class LeafOnTest(Record):
    """A leaf on the test rows.

    ``target`` and ``prediction`` are means (classes: one number per class); ``low, high`` is the
    95% interval of the mean target (classes: of the last class's share). ``histograms`` are
    counts per bin of ``LeavesOnTest.edges``, one list for each of ``LeavesOnTest.series``.
    """

    leaf: int
    rows: int
    share: float
    target: tuple[float, ...]
    low: float
    high: float
    prediction: tuple[float, ...]
    histograms: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class LeavesOnTest(Record):
    """All leaves on the test rows; ``axis`` says what the bins between ``edges`` hold."""

    axis: str
    edges: tuple[float, ...]
    series: tuple[str, ...]
    leaves: tuple[LeafOnTest, ...]


@dataclass(frozen=True)
class CalibrationBin(Record):
    """A tenth of the rows, by prediction: mean prediction, mean target, its 95% interval."""

    prediction: float
    target: float
    low: float
    high: float
    rows: int


def leaves_on_test(
    explanation: ModelExplanation, nodes: Ints, target: Floats, prediction: Floats
) -> LeavesOnTest:
    """``target`` are numbers or positions of classes; ``nodes`` the rows' leaves."""
    axis, edges, series, values = _histogram_parts(explanation, target, prediction)
    outcomes = _outcomes(explanation, target)
    found = []
    for leaf in explanation.leaves:
        here = nodes == leaf.id
        own = outcomes[here]
        found.append(
            LeafOnTest(
                leaf=leaf.leaf or 0,
                rows=int(here.sum()),
                share=float(here.mean()),
                target=_means(own),
                **dict(zip(("low", "high"), _interval(explanation, own[:, -1]), strict=True)),
                prediction=_means(prediction[here]),
                histograms=tuple(_counts(value[here], edges) for value in values),
            )
        )
    return LeavesOnTest(axis, tuple(edges.tolist()), series, tuple(found))


def calibration(
    explanation: ModelExplanation, target: Floats, prediction: Floats, n_bins: int = 10
) -> dict[str, tuple[CalibrationBin, ...]]:
    """Bins of equal size by prediction; one list, or one for each of several classes."""
    outcomes = _outcomes(explanation, target)
    if explanation.classes is None:
        return {"prediction": _bins(explanation, outcomes[:, 0], prediction[:, 0], n_bins)}
    shown = range(len(explanation.classes)) if prediction.shape[1] > 2 else [1]
    return {
        str(explanation.classes[k]): _bins(explanation, outcomes[:, k], prediction[:, k], n_bins)
        for k in shown
    }


def _bins(
    explanation: ModelExplanation, outcome: Floats, predicted: Floats, n_bins: int
) -> tuple[CalibrationBin, ...]:
    order = np.argsort(predicted, kind="stable")
    return tuple(
        CalibrationBin(
            float(predicted[rows].mean()),
            float(outcome[rows].mean()),
            *_interval(explanation, outcome[rows]),
            len(rows),
        )
        for rows in np.array_split(order, min(n_bins, len(order)))
    )


def _outcomes(explanation: ModelExplanation, target: Floats) -> Floats:
    """The target as columns: itself, or one indicator per class."""
    if explanation.classes is None:
        return target[:, None]
    found: Floats = np.eye(len(explanation.classes))[target.astype(int)]
    return found


def _interval(explanation: ModelExplanation, outcome: Floats) -> tuple[float, float]:
    if len(outcome) == 0:
        return np.nan, np.nan
    if explanation.classes is None:
        return mean_interval(outcome)
    return wilson(float(outcome.mean()), len(outcome))


def _means(columns: Floats) -> tuple[float, ...]:
    if len(columns) == 0:
        return tuple([np.nan] * int(columns.shape[1]))
    return tuple(float(mean) for mean in columns.mean(axis=0))


def _histogram_parts(
    explanation: ModelExplanation, target: Floats, prediction: Floats
) -> tuple[str, Floats, tuple[str, ...], list[Floats]]:
    """What is counted: targets and predictions, or the probabilities of each class's rows."""
    if explanation.classes is None:
        edges = _edges(np.concatenate([target, prediction[:, 0]]), target)
        return "target", edges, ("actual", "predicted"), [target, prediction[:, 0]]
    if len(explanation.classes) > 2:
        return "", np.zeros(0), (), []
    labels = tuple(str(label) for label in explanation.classes)
    of_class = [np.where(target == k, prediction[:, 1], np.nan) for k in (0, 1)]
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


def _counts(values: Floats, edges: Floats) -> tuple[int, ...]:
    known = values[~np.isnan(values)]
    if len(edges) < 2:
        return ()
    counts = np.histogram(np.clip(known, edges[0], edges[-1]), edges)[0]
    return tuple(counts.tolist())
