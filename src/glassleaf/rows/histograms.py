"""Small histograms of columns and scores, from what summaries of all rows hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.binning import learn_bins
from glassleaf.tables.short_numbers import shortest_between
from glassleaf.tables.summaries import CategorySummary, NumericSummary, Values
from glassleaf.tables.table import RARE, Column
from glassleaf.tree.histograms import Histogram, Histograms, joined

Floats = NDArray[np.float64]

# Bins of numbers, and categories of a column that have a bin of their own.
_BINS = 10
_MOST_CATEGORIES = 20


def column_histograms(
    found: Sequence[NumericSummary | CategorySummary],
    columns: Sequence[Column],
    is_used: NDArray[np.bool_],
) -> Histograms:
    """A histogram of every column that is used."""
    own = [_of_column(*each) for each in zip(found, columns, strict=True)]
    return joined([each if used else None for each, used in zip(own, is_used, strict=True)])


def _of_column(found: NumericSummary | CategorySummary, column: Column) -> Histogram | None:
    if isinstance(found, CategorySummary):
        return _of_categories(found, column)
    counted = found.counted or found.values
    states = [count / found.n_rows for count in found.state_counts]
    return None if counted is None else of_values(counted, *states)


def of_values(found: Values, missing: float = 0.0, *special: float) -> Histogram:
    """Bins of about as many rows between short numbers; few distinct values have one each.

    The shares of missing and of special values are known.
    """
    lower, upper, count = learn_bins(found, _BINS)
    edges = [shortest_between(*ends) for ends in zip(upper[:-1], lower[1:], strict=True)]
    total = float(count.sum())
    of_numbers = 1 - sum(special, missing)
    share = of_numbers * count / total if total > 0 else np.zeros(1)
    return Histogram(np.array(edges, dtype=np.float64), np.append(share, [missing, *special]))


def _of_categories(found: CategorySummary, column: Column) -> Histogram:
    """The most frequent categories, all others together, and missing."""
    labels = column.categories or ()
    count = np.array([found.counts[label] for label in labels], dtype=np.int64)
    is_own = np.array([label is not RARE for label in labels], dtype=np.bool_)
    by_count = np.argsort(np.where(is_own, -count, 0), kind="stable")
    kept = np.sort(by_count[: min(_MOST_CATEGORIES, int(is_own.sum()))])
    others = np.delete(count, kept).sum()
    share = np.array([*count[kept], others, found.n_missing]) / (count.sum() + found.n_missing)
    return Histogram(kept.astype(np.float64), share)
