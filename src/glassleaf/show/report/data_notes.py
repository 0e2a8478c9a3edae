"""Notes on the test data: gaps, categories never seen, drift against the training record.

A model keeps, of its training rows, a small histogram of every column and score, the share of
missing values, mean and spread of the terms, the ranges of the numbers and the rows of every leaf.
Test rows are compared with these:

* ``stability``: population stability index (PSI) of columns, scores and leaves, as in
  ``explanations.drift``; None where the model comes from a file without histograms.
* ``shift`` of a number: difference of the means (of the term: transformed, gaps filled as the
  model does) in standard deviations of training.
* ``outside``: share of numbers below or above the range of training.

Means, and shares of gaps and of new categories, are weighted, in training as in test; the index
counts rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from glassleaf.explanations.drift import Drift, Watched
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import Feature, ModelExplanation
from glassleaf.explanations.scores import effective_rows
from glassleaf.tables.special import states_of

Floats = NDArray[np.float64]

# From here on a change is worth a look, or large.
SHIFT = (0.25, 0.5)
GAPS = (0.02, 0.1)
OUTSIDE = (0.01, 0.05)
_CERTAINTY = 0.99
_NORMAL_QUANTILE = 2.6


@dataclass(frozen=True)
class FeatureNote(JsonData):
    """One feature in training and in test; None where training kept nothing to compare with.

    ``level`` is 0, 1 (worth a look) or 2 (a large change); ``remarks`` say why in words.
    ``special`` has the word of every special value, its share in training and in test.
    """

    feature: str
    column: int
    missing_training: float | None
    missing_test: float
    new_share: float
    new_categories: tuple[str, ...]
    outside: float
    shift: float | None
    stability: float | None
    special: tuple[tuple[str, float | None, float], ...]
    level: int
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class DataNotes(JsonData):
    """All features, and the stability of scores and of the leaves' shares.

    ``not_compared`` names columns, or the score, whose distribution the model does not know.
    """

    rows: int
    features: tuple[FeatureNote, ...]
    leaf_stability: float
    leaf_level: int
    scores: tuple[Watched, ...]
    not_compared: tuple[str, ...]


def data_notes(
    explanation: ModelExplanation,
    matrix: Floats,
    weight: Floats,
    new_categories: Mapping[int, tuple[Any, ...]],
    drift: Drift,
) -> DataNotes:
    """Compare a raw matrix of test rows with what training kept."""
    share, n = weight / weight.sum(), effective_rows(weight)
    (leaves,) = (own for own in drift.watched if own.what == "leaves")
    of_column = {own.name: own for own in drift.watched if own.what == "column"}
    return DataNotes(
        rows=len(matrix),
        features=tuple(
            _note(explanation, feature, matrix[:, feature.column], share, n,
                  tuple(map(str, new_categories.get(feature.column, ()))),
                  of_column.get(feature.name))
            for feature in explanation.features
        ),
        leaf_stability=leaves.psi,
        leaf_level=leaves.level,
        scores=tuple(own for own in drift.watched if own.what == "score"),
        not_compared=drift.not_compared,
    )  # fmt: skip


def _note(
    explanation: ModelExplanation,
    feature: Feature,
    values: Floats,
    share: Floats,
    n: float,
    new: tuple[str, ...],
    watched: Watched | None,
) -> FeatureNote:
    """``share`` is that of every row; together they tell as much as ``n`` rows of equal weight."""
    missing = float(share[states_of(values) == 0].sum())
    gaps = _training_gaps(explanation, feature)
    is_number = feature.categories is None
    new_share = 0.0 if is_number else float(share[values < 0].sum())
    beyond = (values < feature.low) | (values > feature.high)
    outside = float(share[beyond].sum()) if is_number else 0.0
    shift = _shift(explanation, feature, values, share) if is_number else None
    remarks = [
        _remark(_gaps_level(missing, gaps, n),
                "missing more often" if missing > (gaps or 0) else "missing less often"),
        _remark(1 if new_share > 0 else 0, "categories that training never saw"),
        _remark(_outside_level(outside, explanation.rows, n),
                "values outside the range of training"),
        _remark(_shift_level(shift, n), "mean has moved"),
        _remark(0 if watched is None else watched.level,
                "distributed otherwise" if is_number else "other shares of the categories"),
    ]  # fmt: skip
    found = [remark for remark in remarks if remark[0]]
    return FeatureNote(
        feature=feature.name,
        column=feature.column,
        missing_training=gaps,
        missing_test=missing,
        new_share=new_share,
        new_categories=new,
        outside=outside,
        shift=shift,
        stability=None if watched is None else watched.psi,
        special=_special_shares(explanation, feature, values, share),
        level=max((level for level, _ in found), default=0),
        remarks=tuple(text for _, text in found),
    )


def _remark(level: int, text: str) -> tuple[int, str]:
    return level, text


def _level(value: float, steps: tuple[float, float]) -> int:
    return sum(value >= step for step in steps)


def _gaps_level(missing: float, gaps: float | None, n: float) -> int:
    if gaps is None or abs(missing - gaps) < _NORMAL_QUANTILE * np.sqrt(gaps * (1 - gaps) / n):
        return 0
    return _level(abs(missing - gaps), GAPS)


def _outside_level(outside: float, n_training: float, n: float) -> int:
    """Of new rows like the old ones, 2 / (n + 1) are beyond the smallest and the largest of n."""
    expected = 2 * n / (n_training + 1)
    return _level(outside, OUTSIDE) if outside * n > poisson.ppf(_CERTAINTY, expected) else 0


def _shift_level(shift: float | None, n: float) -> int:
    """A shift that chance can explain at this number of rows has level 0."""
    if shift is None or abs(shift) * np.sqrt(n) < _NORMAL_QUANTILE:
        return 0
    return _level(abs(shift), SHIFT)


def _terms_of(explanation: ModelExplanation, feature: Feature, kind: str) -> list[int]:
    return [
        t
        for t, term in enumerate(explanation.terms)
        if term.feature == feature.name and term.kind == kind
    ]


def _training_gaps(explanation: ModelExplanation, feature: Feature) -> float | None:
    """Share of missing values in training; a feature with terms but none for gaps had none."""
    own = _terms_of(explanation, feature, "missing")
    if own:
        return explanation.nodes[0].mean[own[0]]
    kind = "number" if feature.categories is None else "category"
    return 0.0 if _terms_of(explanation, feature, kind) else None


def _shift(
    explanation: ModelExplanation, feature: Feature, values: Floats, share: Floats
) -> float | None:
    own = _terms_of(explanation, feature, "number")
    root = explanation.nodes[0]
    if not own or not root.spread[own[0]] > 0:
        return None
    term = values
    if feature.knots is not None:
        x, z = np.array(feature.knots).T
        term = np.interp(values, x, z)
    term = np.where(np.isnan(values), feature.fill, term)
    return float((share @ term - root.mean[own[0]]) / root.spread[own[0]])


def _special_shares(
    explanation: ModelExplanation, feature: Feature, values: Floats, share: Floats
) -> tuple[tuple[str, float | None, float], ...]:
    """Every special value of a number: its word, and its shares in training and in these rows."""
    states, root = states_of(values), explanation.nodes[0]
    own = {explanation.terms[t].category: root.mean[t]
           for t in _terms_of(explanation, feature, "special")}  # fmt: skip
    unseen = 0.0 if _terms_of(explanation, feature, "number") else None
    return tuple(
        (word, own.get(word, unseen), float(share[states == state].sum()))
        for state, (_, word) in enumerate(feature.special, start=1)
    )
