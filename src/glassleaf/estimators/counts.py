"""Whether a model of counts predicts what no count can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import warn
from glassleaf.tables.table import Table, raw_slices
from glassleaf.tables.targets import are_counts
from glassleaf.tree.fitted import FittedModel


def warn_of_negative_counts(model: FittedModel, table: Table, y: NDArray[np.float64]) -> None:
    """Warn of training rows with a prediction below 0, where targets look like counts."""
    if model.loss.link != "identity" or not are_counts(y):
        return
    tree = model.tree
    n_negative = sum(
        int(np.count_nonzero(tree.raw(matrix, tree.apply(matrix)) < 0))
        for _, matrix in raw_slices(table, tree.columns)
    )
    if n_negative:
        warn(
            f"y looks like counts (whole numbers, none below 0), but {n_negative:,} of {len(y):,}"
            " rows have a prediction below 0. loss='poisson' has none."
        )
