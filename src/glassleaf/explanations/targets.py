"""Known targets as numbers, for a model that predicted them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]


def all_targets(model: FittedModel, y: Any, n_rows: int) -> Floats:
    """y as numbers, or as positions of the classes."""
    given = _entries(y, n_rows)
    if model.classes is None:
        target = given.astype(np.float64)
        if not np.isfinite(target).all():
            raise ValueError("y holds missing or infinite values; leave those rows out.")
        model.loss.check_target(target)
        return target
    position = {label: k for k, label in enumerate(model.classes)}
    labels = given.tolist()
    unknown = next((label for label in labels if label not in position), None)
    if unknown is not None or None in labels:
        raise ValueError(
            f"y holds {describe(unknown)}, which is not one of the classes the model knows."
        )
    return np.array([position[label] for label in labels], dtype=np.float64)


def target_of_output(model: FittedModel, y: Any, output: int, n_rows: int) -> Floats:
    """y as numbers; of classes, 1 where it is the class of the output."""
    given = _entries(y, n_rows)
    if model.classes is None:
        return given.astype(np.float64)
    label = model.classes[output]
    return np.array([value == label for value in given.tolist()], dtype=np.float64)


def _entries(y: Any, n_rows: int) -> NDArray[Any]:
    """y as a flat array, which must have an entry for every row."""
    given = np.asarray(y).ravel()
    if len(given) != n_rows:
        raise ValueError(f"y has {len(given)} entries, but X has {n_rows} rows.")
    return given
