"""The rows of a report, as a model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.checks import row_weights
from glassleaf.explanations.targets import all_targets
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TestRows:
    """Rows whose weight is not zero: ``used`` are their numbers in X.

    ``truth`` are numbers, or positions of classes; ``prediction`` has one column, or one per class.
    ``given`` are the weights as they came, ``weight`` the same as shares of the largest. ``known``
    is what scores add whatever the model says.
    """

    used: Ints
    matrix: Floats
    truth: Floats
    given: Floats
    weight: Floats
    nodes: Ints
    prediction: Floats
    known: Floats


def read_test_rows(model: FittedModel, X: Any, y: Any, sample_weight: Any) -> TestRows:
    """Rows with known targets, and what the model predicts for them."""
    matrix = model.matrix(X)
    if not len(matrix):
        raise ValueError("X has no rows; a report needs some to test the model on.")
    given = row_weights(sample_weight, len(matrix))
    used = np.flatnonzero(given)
    truth, matrix = all_targets(model, y, len(matrix))[used], matrix[used]
    nodes = model.tree.apply(matrix)
    prediction = model.prediction(model.tree.raw(matrix, nodes))
    known = model.tree.known(matrix)
    weight = given[used] / given.max()  # squares of them neither overflow nor vanish
    return TestRows(used, matrix, truth, given[used], weight, nodes, prediction, known)
