"""What the model says along one or two features: slices and partial dependence, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.kinks import kink_values, split_values
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]

# Outer quantiles between which features are shown: one far value must not hide the rest.
_TAIL = 0.005


@dataclass(frozen=True)
class Slice:
    """Leaf numbers and predictions over a grid of two features, shape (second, first)."""

    names: tuple[str, str]
    axes: tuple[Floats, Floats]
    leaf: NDArray[np.int64]
    prediction: Floats
    classes: tuple[Any, ...] | None
    output_name: str


@dataclass(frozen=True)
class Dependence:
    """Partial dependence on one feature: the mean prediction with the feature set to a value.

    ``values`` are numbers, ascending, with every kink of the model among them, or labels.
    ``kinks`` are the values where the feature splits the tree; ``rows`` are predictions of some
    single rows, shape (rows, values); ``given`` are the feature's values in X.
    """

    name: str
    values: tuple[Any, ...]
    is_categorical: bool
    mean: Floats
    rows: Floats
    kinks: tuple[float, ...]
    given: Floats
    output_name: str


def slice_of(
    model: FittedModel,
    matrix: Floats,
    columns: tuple[int, int],
    row: Floats | None,
    n_points: int,
    output: int,
) -> Slice:
    """Predict over a grid; other features as in ``row``, or typical of the matrix."""
    for column in columns:
        if model.tree.columns[column].is_categorical:
            raise ValueError(
                f"features names {model.names[column]!r}, a category; regions need two numbers."
            )
    typical = model.typical_row(matrix) if row is None else row
    x, y = (np.linspace(*shown_range(matrix[:, column]), n_points) for column in columns)
    grid = np.tile(typical, (n_points * n_points, 1))
    grid[:, columns[0]] = np.tile(x, n_points)
    grid[:, columns[1]] = np.repeat(y, n_points)
    leaves = model.tree.apply(grid)
    number = {node: k + 1 for k, node in enumerate(model.leaves)}
    prediction = model.prediction(model.tree.raw(grid, leaves))[:, output]
    shape = (n_points, n_points)
    return Slice(
        names=(model.names[columns[0]], model.names[columns[1]]),
        axes=(x, y),
        leaf=np.array([number[leaf] for leaf in leaves.tolist()]).reshape(shape),
        prediction=prediction.reshape(shape),
        classes=model.classes,
        output_name=model.output_name(output),
    )


def dependence_of(
    model: FittedModel, matrix: Floats, column: int, output: int, max_rows: int, n_points: int
) -> Dependence:
    """Partial dependence over at most ``max_rows`` rows of the matrix, evenly chosen."""
    tree, known = model.tree, model.tree.columns[column].categories
    some = np.linspace(0, len(matrix) - 1, min(max_rows, len(matrix))).astype(int)
    rows, given = matrix[some], matrix[:, column]
    kinks: tuple[float, ...] = ()
    if known is not None:
        values = np.arange(float(len(known)))
    else:
        low, high = shown_range(given)
        kinks = tuple(t for t in split_values(tree, column) if low < t < high)
        values = np.linspace(low, high, n_points)
        points = [k for k in kink_values(tree, column) if low < k < high]
        after = np.nextafter(np.array(kinks), np.inf)
        values = np.unique(np.concatenate([values, points, after]))
    found = np.empty((len(rows), len(values)))
    for k, value in enumerate(values):
        rows[:, column] = value
        found[:, k] = model.prediction(model.raw(rows))[:, output]
    return Dependence(
        name=model.names[column],
        values=tuple(values.tolist()) if known is None else tuple(known),
        is_categorical=known is not None,
        mean=found.mean(axis=0),
        rows=found[:: max(1, len(found) // 30)],
        kinks=kinks,
        given=given[~np.isnan(given)],
        output_name=model.output_name(output),
    )


def shown_range(values: Floats) -> tuple[float, float]:
    """The range without the outermost values, never empty."""
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0, 1.0
    low, high = np.quantile(known, [_TAIL, 1 - _TAIL]).tolist()
    return (low, high) if low < high else (low - 0.5, low + 0.5)
