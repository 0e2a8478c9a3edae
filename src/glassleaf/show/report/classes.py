"""Predicted against true classes on test rows: confusion, rates of every class, the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.scores import auc_of_class
from glassleaf.explanations.scores.intervals import auc_of_class_influence
from glassleaf.show.report.scores import ReportedScore, auc_score

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Largest number of points of a ROC curve: more could not be seen.
_ROC_POINTS = 200


@dataclass(frozen=True)
class ClassOnTest(JsonData):
    """One class on the test rows.

    ``share`` of the rows belong to the class, and ``predicted`` of them are predicted to.
    ``recall`` is the share of its rows that are found, ``precision`` the share of the rows
    predicted to belong to it that do. ``auc`` is that of the class against the rest. NaN where
    there are no such rows.
    """

    name: str
    share: float
    predicted: float
    recall: float
    precision: float
    auc: ReportedScore


@dataclass(frozen=True)
class ClassesOnTest(JsonData):
    """All classes on the test rows.

    ``confusion[i][j]`` are the rows (or the sum of their weights) of class i that are predicted to
    be of class j, the most probable one. ``roc`` has points (threshold, false positive rate, true
    positive rate) for taking rows whose probability of the positive class is at least the
    threshold; it is empty for more than two classes.
    """

    confusion: tuple[tuple[float, ...], ...]
    classes: tuple[ClassOnTest, ...]
    roc: tuple[tuple[float, float, float], ...]


def classes_on_test(
    explanation: ModelExplanation, target: Floats, prediction: Floats, weight: Floats
) -> ClassesOnTest | None:
    """``target`` are positions of classes; None for a model of numbers."""
    if explanation.classes is None:
        return None
    y = target.astype(int)
    counts = confusion(y, prediction, weight)
    positive = explanation.positive
    return ClassesOnTest(
        confusion=tuple(map(tuple, counts.tolist())),
        classes=tuple(
            _class(str(label), k, counts, y == k, prediction[:, k], weight)
            for k, label in enumerate(explanation.classes)
        ),
        roc=tuple(map(tuple, thinned(roc(y == positive, prediction[:, positive], weight)).tolist()))
        if len(explanation.classes) == 2
        else (),
    )


def confusion(y: Ints, p: Floats, weight: Floats) -> Floats:
    """Weight of the rows by true class (first) and most probable class."""
    n = p.shape[1]
    counts = np.bincount(y * n + p.argmax(axis=1), weights=weight, minlength=n * n)
    return np.asarray(counts.reshape(n, n))


def roc(positive: NDArray[np.bool_], p: Floats, weight: Floats) -> Floats:
    """Points (threshold, false positive rate, true positive rate), from none taken to all.

    Empty where only one of the sides has rows.
    """
    if positive.all() or not positive.any():
        return np.zeros((0, 3))
    values, place = np.unique(p, return_inverse=True)
    sides = [np.bincount(place, weights=np.where(side, weight, 0.0), minlength=len(values))
             for side in (~positive, positive)]  # fmt: skip
    taken = np.array([side[::-1].cumsum() / side.sum() for side in sides])
    points = np.column_stack([values[::-1], taken.T])
    return np.vstack([[np.inf, 0.0, 0.0], points])


def thinned(points: Floats, at_most: int = _ROC_POINTS) -> Floats:
    """Some points of a curve, about equally far from each other along it, and both ends."""
    if len(points) <= at_most:
        return points
    along = points[:, 1] + points[:, 2]
    chosen = np.searchsorted(along, np.linspace(0.0, along[-1], at_most))
    some: Floats = points[np.unique(np.minimum(chosen, len(points) - 1))]
    return some


def _class(
    name: str, k: int, counts: Floats, positive: NDArray[np.bool_], p: Floats, weight: Floats
) -> ClassOnTest:
    rows = positive, p, weight
    total, own, said, both = counts.sum(), counts[k].sum(), counts[:, k].sum(), counts[k, k]
    return ClassOnTest(
        name=name,
        share=float(own / total),
        predicted=float(said / total),
        recall=float(both / own) if own > 0 else np.nan,
        precision=float(both / said) if said > 0 else np.nan,
        auc=auc_score(auc_of_class(*rows), auc_of_class_influence(*rows)),
    )
