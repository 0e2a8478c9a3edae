"""Small histograms of what training saw, kept in the model to tell later whether rows have changed.

One per column that the model reads, then one per score: the prediction without what is known
beforehand; of two classes that of the positive one, of several one per class. A number lies in bin
b if it is above ``edges[b - 1]`` and at most ``edges[b]``; a category in the bin of its code, or
in that of all others, which is also that of categories that training never saw. The bin after these
holds the missing values; special values of a number have one each, at the end. Rows are counted,
whatever their weight in the fit was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.special import states_of

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Histogram:
    """Ends of bins, or codes of categories, and the share of all rows in every bin.

    There are two bins more than edges: numbers above the last (or other categories), and missing;
    then those of special values.
    """

    edges: Floats
    share: Floats

    def places(self, values: Floats, is_categorical: bool) -> Places:
        """The bin of every value."""
        n = len(self.edges)
        if is_categorical:
            of_code = np.full(int(self.edges.max(initial=-1)) + 2, n, dtype=np.int64)
            of_code[self.edges.astype(np.intp)] = np.arange(n)
            codes = np.where(np.isnan(values), -1, values)
            found = of_code[np.clip(codes, -1, len(of_code) - 1).astype(np.intp)]
        else:
            found = np.searchsorted(self.edges, values)
        return np.where(np.isnan(values), n + 1 + states_of(values), found)

    def counted(self, values: Floats, is_categorical: bool) -> Places:
        """How many of some values are in every bin."""
        return np.bincount(self.places(values, is_categorical), minlength=len(self.share))


@dataclass(frozen=True)
class Histograms:
    """All histograms in flat arrays: of every column, then of every score.

    Number k has the edges ``first_edge[k]`` to ``first_edge[k + 1]`` (exclusive), and its shares
    likewise. Without shares nothing was kept.
    """

    first_edge: Places
    edge: Floats
    first_share: Places
    share: Floats

    def at(self, k: int) -> Histogram | None:
        """One of them, None where nothing was kept."""
        share = self.share[self.first_share[k] : self.first_share[k + 1]]
        if not len(share):
            return None
        return Histogram(self.edge[self.first_edge[k] : self.first_edge[k + 1]], share)

    def __len__(self) -> int:
        return len(self.first_edge) - 1

    def without_scores(self, n_columns: int) -> Histograms:
        """Those of columns alone: the scores of another model are others."""
        return joined([self.at(k) for k in range(n_columns)])


def joined(found: Sequence[Histogram | None]) -> Histograms:
    """Histograms in flat arrays."""
    none = np.zeros(0)
    edges = [none if own is None else own.edges for own in found]
    share = [none if own is None else own.share for own in found]
    return Histograms(
        np.cumsum([0, *map(len, edges)]), np.concatenate([none, *edges]),
        np.cumsum([0, *map(len, share)]), np.concatenate([none, *share]),
    )  # fmt: skip


def with_scores(histograms: Histograms, scores: Sequence[Histogram | None]) -> Histograms:
    """Histograms of columns, and those of scores after them."""
    return joined([*(histograms.at(k) for k in range(len(histograms))), *scores])
