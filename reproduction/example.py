"""The two-feature example of Figures 2 and 3: its points, its gain curves, its best split.

Class 1 lies above a roof: a line that rises until ``KINK`` and falls beyond it. No single straight
line follows it, and a horizontal cut leaves both parts with the same trouble; a vertical cut at the
kink gives each side a straight border of its own. Shape, size and seed were chosen so that the
paper's story holds; tests check that it does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf import ModelTreeClassifier, paper_settings
from glassleaf.criteria import GradientGain, InformationGain, Side
from glassleaf.fit.splits.renormalizers import change_units

Floats = NDArray[np.float64]

KINK = 0.62
N_POINTS = 400
AXES = ("x", "y")
MEASURES = ("cross entropy", "gradient", "renormalized gradient")


def _logistic() -> ModelTreeClassifier:
    return ModelTreeClassifier(**paper_settings("MT-GR"), max_depth=0)


def example_points(seed: int = 3) -> tuple[Floats, NDArray[np.int64]]:
    """Points (x, y) and their classes."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(N_POINTS, 2))
    distance = X[:, 0] - KINK
    roof = 0.8 - np.where(distance < 0, -1.0 * distance, 1.3 * distance)
    labels = (X[:, 1] + random.normal(scale=0.05, size=N_POINTS) > roof).astype(np.int64)
    return X, labels


@dataclass(frozen=True)
class GainCurve:
    """Gain of every split along one axis, by every measure."""

    thresholds: Floats
    gains: dict[str, Floats]


def gain_curves(X: Floats, labels: NDArray[np.int64], min_side: int = 10) -> list[GainCurve]:
    """One per axis; every measure is divided by its largest value over both."""
    raw = _logistic().fit(X, labels).decision_function(X)
    residual = 1 / (1 + np.exp(-raw)) - labels
    curves = []
    for axis in range(X.shape[1]):
        order = np.argsort(X[:, axis], kind="stable")
        values = X[order, axis]
        cut = np.arange(min_side, len(X) - min_side + 1)
        gains = {
            "cross entropy": _entropy_gain(labels[order], cut),
            "gradient": _gradient_gain(X[order], residual[order], cut, renormalized=False),
            "renormalized gradient": _gradient_gain(X[order], residual[order], cut, True),
        }
        curves.append(GainCurve((values[cut - 1] + values[cut]) / 2, gains))
    return [
        GainCurve(
            curve.thresholds,
            {
                name: gain / max(float(other.gains[name].max()) for other in curves)
                for name, gain in curve.gains.items()
            },
        )
        for curve in curves
    ]


def best_split(curves: list[GainCurve], measure: str) -> tuple[int, float]:
    """Axis and threshold with the largest gain."""
    axis = int(np.argmax([curve.gains[measure].max() for curve in curves]))
    return axis, float(curves[axis].thresholds[curves[axis].gains[measure].argmax()])


def final_loss(X: Floats, labels: NDArray[np.int64], axis: int, threshold: float) -> float:
    """Mean log loss of two logistic models, one on each side of the split."""
    left = X[:, axis] <= threshold
    total = 0.0
    for side in (left, ~left):
        if len(np.unique(labels[side])) == 2:
            model = _logistic().fit(X[side], labels[side])
            raw = model.decision_function(X[side])
            total += float(np.logaddexp(0.0, np.where(labels[side] == 1, -raw, raw)).sum())
    return total / len(X)


def _sums(values: Floats, cut: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Sums over the first ``cut`` rows, and over the others."""
    running = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return running[cut], running[-1] - running[cut]


def _sides(cut: NDArray[np.int64], n: int, left: Floats, right: Floats) -> tuple[Side, Side]:
    first, second = cut.astype(np.float64), (n - cut).astype(np.float64)
    return Side(first, first, left), Side(second, second, right)


def _entropy_gain(labels: NDArray[np.int64], cut: NDArray[np.int64]) -> Floats:
    classes = np.stack([labels == 0, labels == 1], axis=1).astype(np.float64)
    return InformationGain().gain(*_sides(cut, len(labels), *_sums(classes, cut)))


def _gradient_gain(
    X: Floats, residual: Floats, cut: NDArray[np.int64], renormalized: bool
) -> Floats:
    """Equation 6; renormalized by equation 14 with the mean and spread of each side."""
    weights, intercept = _sums(residual[:, None] * X, cut), _sums(residual[:, None], cut)
    counts = (cut[:, None], len(X) - cut[:, None])
    gradients = []
    for g_w, g_b, total, squares, count in zip(
        weights, intercept, _sums(X, cut), _sums(X**2, cut), counts, strict=True
    ):
        mean = total / count
        factor = np.ones_like(mean)
        if renormalized:
            factor = 1 / np.sqrt(squares / count - mean**2)
        shift = -mean * factor if renormalized else np.zeros_like(mean)
        gradients.append(change_units(g_w[:, None, :], g_b, factor, shift))
    return GradientGain().gain(*_sides(cut, len(X), *gradients))
