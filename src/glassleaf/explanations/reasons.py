"""Reason codes: which features hurt a row most, and which value would not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.explanations import words
from glassleaf.explanations.effects import additive, number_terms, number_values
from glassleaf.explanations.frames import Listed, flat
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.shapley import Game
from glassleaf.tables.special import states_of
from glassleaf.tree.favorable import direction
from glassleaf.tree.fitted import FittedModel, linear_model
from glassleaf.tree.plain import special_key
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# At most this share of a contribution is as good as none.
_NEXT_TO_NOTHING = 0.02
# Number of values of a feature among which the neutral one is searched.
_TRIED = 64
# Differences of this share of a contribution are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Reason(JsonData):
    """A feature that hurt: its value, what it added, and the value that would have been neutral.

    ``contribution`` is in units of the raw score and has the sign of the score: it is negative
    where high scores are favorable. ``neutral`` is the value at which the contribution is (next
    to) nothing, the other features unchanged (of a column of whole numbers, a whole one), and
    ``neutral_contribution`` what is left of it; None where there is no such value. ``code`` and
    ``message`` are those of the estimator's ``reason_codes``, empty where it has none.
    """

    rank: int
    feature: str
    value: Any
    contribution: float
    neutral: Any
    neutral_contribution: float | None
    code: str = ""
    message: str = ""

    @property
    def text(self) -> str:
        """The reason in one line."""
        out = (
            f"{words.name(self.feature)} = {words.value(self.value, 4)} ({self.contribution:+.3g})"
        )
        if self.code:
            out = f"{self.code} {self.message}: {out}"
        if self.neutral_contribution is None:
            return out
        neutral, left = words.value(self.neutral, 4), self.neutral_contribution
        if abs(left) <= _NEXT_TO_NOTHING * abs(self.contribution):
            return f"{out}; {neutral} would have been neutral"
        return f"{out}; {neutral} ({left:+.3g}) would have been nearest to neutral"


class Reasons(Listed[tuple[Reason, ...]]):
    """The reasons of every row; as a table, one line per reason, rows counted from 0."""

    def records(self) -> list[dict[str, Any]]:
        return [
            {"row": row, **flat(reason), "text": reason.text}
            for row, own in enumerate(self)
            for reason in own
        ]


def reasons(
    estimator: Any,
    X: Any,
    k: int = 4,
    *,
    favorable: Any = None,
    background: Any = None,
    features: Any = None,
) -> Reasons:
    """The features that hurt every row most.

    Parameters
    ----------
    estimator : fitted model tree
    X : table of shape (n_samples, n_features)
    k : int, default=4
        Largest number of reasons per row; only features that hurt are named.
    favorable : a class label, "high", "low" or None, default=None
        What is good for the row: this class; a high or a low raw score. Classifiers need it, since
        reasons against the wrong class look just as good; for numbers, None is "high". With more
        than two classes, the score of the label counts relative to the others.
    background : table or None, default=None
        What contributions are relative to. None: the mean of the row's leaf, so that the splits on
        the way to it are no reasons. Rows: contributions are Shapley values against them, which
        count the splits as well.
    features : list of names or positions, or None, default=None
        Features that may be named; None: all.

    Returns
    -------
    list of tuples of Reason
        One tuple per row, the worst reason first. ``to_frame()`` gives a table of all.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor, reasons
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = ModelTreeRegressor(max_depth=0, alpha=0).fit(X, X[:, 0] - 2 * X[:, 1])
    >>> [reason.feature for reason in reasons(model, [[-1.0, 3.0]])[0]]
    ['x1', 'x0']
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k={describe(k)} must be an integer >= 1.")
    model = linear_model(estimator)
    matrix = model.matrix(X)
    whole = model.whole_columns(X)
    kind = model.classes, model.loss.n_outputs, model.positive_class
    output, sign = direction(*kind, favorable)
    if background is None:
        game: _LeafMeans | _Background = _LeafMeans(model, matrix, output)
    else:
        game = _Background(model, matrix, model.matrix(background), output)
    known = {offset.column for offset in model.tree.offsets}
    named = [column for column in range(matrix.shape[1]) if column not in known]
    if features is not None:
        named = [model.position(feature, "features") for feature in features]
    found = (
        _row_reasons(model, matrix, game, row, named, k, sign, whole) for row in range(len(matrix))
    )
    codes = estimator.reason_codes or {}
    return Reasons(tuple(_coded(reason, codes) for reason in of_row) for of_row in found)


def _coded(reason: Reason, codes: Mapping[str, Sequence[str]]) -> Reason:
    """The reason with the code and the text of its column, or of its special value."""
    own = codes.get(special_key(reason.feature, str(reason.value))) or codes.get(reason.feature)
    if own is None:
        return reason
    code, message = own
    return replace(reason, code=code, message=message)


class _LeafMeans:
    """Contributions relative to the mean of the row's leaf, for which neutral values are exact."""

    def __init__(self, model: FittedModel, matrix: Floats, output: int) -> None:
        self.model, self.output = model, output
        self.additive = additive(model.tree)
        self.leaves = model.tree.apply(matrix)
        self.parts = _relative(self.additive.effects(matrix, self.leaves), output)

    def values(self, row: int, changed: Floats) -> Floats:
        """Contributions of the changed row in its old leaf, shape (changed rows, columns)."""
        nodes = np.full(len(changed), self.leaves[row])
        return np.asarray(_relative(self.additive.effects(changed, nodes), self.output))

    def stays(self, row: int, changed: Floats) -> NDArray[np.bool_]:
        """Whether the changed row may be compared: only within the leaf."""
        return np.asarray(self.model.tree.apply(changed) == self.leaves[row])

    def candidates(self, row: int, column: int) -> Floats:
        """Where the contribution of a number is zero, or all categories."""
        tree = self.model.tree
        known = tree.columns[column].categories
        if known is not None:
            return np.arange(float(len(known)))
        leaf, term = self.leaves[row], int(tree.terms.first_term[column])
        if term < 0:
            return np.zeros(0)
        of_terms = _relative(np.atleast_2d(tree.coef[leaf]).T, self.output)
        coef, mean = of_terms[term], tree.record.mean[leaf]
        # The means of "is missing" and of special values have to be made up for.
        states = tree.terms.state_terms(column)
        offset = float(of_terms[states] @ mean[states])
        if len(tree.terms.hinges(column)):
            return _zeros_of_broken_line(tree, int(leaf), column, of_terms, offset)
        wanted = np.array([mean[term] + (offset / coef if coef != 0 else 0.0)])
        knots = tree.terms.knots(column)
        return wanted if knots is None else np.asarray(knots.inverse(wanted))


def _zeros_of_broken_line(
    tree: Tree, leaf: int, column: int, coef: Floats, offset: float
) -> Floats:
    """Where line and hinges of a column together add nothing but an offset; maybe nowhere."""
    own, knots = number_terms(tree, column), tree.terms.knots(column)
    low, high = tree.clamp_low[leaf, column], tree.clamp_high[leaf, column]
    points = np.unique(np.clip(tree.terms.hinges(column), low, high))
    away = number_values(tree, column, points) - tree.record.mean[leaf, own]
    found = _roots(points, away @ coef[own] - offset, float(coef[own[0]]), float(coef[own].sum()))
    found = found[(found >= low) & (found <= high)]
    if knots is not None:
        found = knots.inverse(found[(found >= knots.z[0]) & (found <= knots.z[-1])])
    # Beyond what training saw, a small slope leads anywhere.
    return np.asarray(
        found[(found >= tree.record.low[column]) & (found <= tree.record.high[column])]
    )


class _Background:
    """Shapley values against background rows; neutral values are the nearest of theirs."""

    def __init__(self, model: FittedModel, matrix: Floats, background: Floats, output: int) -> None:
        self.model, self.output = model, output
        self.game = Game(model, background)
        self.parts = _relative(self.game.all_values(matrix), output)
        self.typical = model.typical_row(background)
        self.tried = [self._values_of(background, j) for j in range(matrix.shape[1])]

    def _values_of(self, background: Floats, column: int) -> Floats:
        if self.model.tree.columns[column].is_categorical:
            return np.unique(background[background[:, column] >= 0, column])
        seen = np.unique(background[~np.isnan(background[:, column]), column])
        some = np.linspace(0, max(len(seen) - 1, 0), min(_TRIED, len(seen))).astype(int)
        return np.asarray(seen[some])

    def values(self, row: int, changed: Floats) -> Floats:
        return np.asarray(_relative(self.game.values(changed), self.output))

    def stays(self, row: int, changed: Floats) -> NDArray[np.bool_]:
        return np.ones(len(changed), dtype=np.bool_)

    def candidates(self, row: int, column: int) -> Floats:
        return np.append(self.tried[column], self.typical[column])


def _roots(points: Floats, values: Floats, slope_below: float, slope_above: float) -> Floats:
    """Where a function is zero that is linear between points and beyond them."""
    first, last = values[:-1], values[1:]
    between = np.flatnonzero(first * last < 0)
    share = first[between] / (first[between] - last[between])
    found = [points[values == 0], points[between] + share * np.diff(points)[between]]
    if slope_below * values[0] > 0:
        found.append(points[:1] - values[0] / slope_below)
    if slope_above * values[-1] < 0:
        found.append(points[-1:] - values[-1] / slope_above)
    return np.concatenate(found)


def _relative(parts: Any, output: int) -> Any:
    """One output of the last axis; of several, relative to their mean."""
    if parts.shape[-1] == 1:
        return parts[..., 0]
    return parts[..., output] - parts.mean(axis=-1)


def _row_reasons(
    model: FittedModel,
    matrix: Floats,
    game: _LeafMeans | _Background,
    row: int,
    named: list[int],
    k: int,
    sign: float,
    whole: list[int],
) -> list[Reason]:
    parts = game.parts[row]
    worst = sorted((j for j in named if sign * parts[j] < 0), key=lambda j: sign * parts[j])
    found = []
    for rank, j in enumerate(worst[:k], 1):
        neutral, left = _neutral(game, matrix[row], row, j, j in whole)
        found.append(
            Reason(
                rank=rank,
                feature=model.names[j],
                value=model.value(j, matrix[row, j]),
                contribution=float(parts[j]),
                neutral=None if left is None else model.value(j, neutral),
                neutral_contribution=left,
            )
        )
    return found


def _neutral(
    game: _LeafMeans | _Background, values: Floats, row: int, column: int, is_whole: bool
) -> tuple[float, float | None]:
    """The candidate whose contribution is nearest to zero, and that contribution.

    Of several equally good ones, it is the one nearest to the row's value. For a special value
    there is none: it is no number that could be another.
    """
    if states_of(values[[column]])[0] > 0:
        return np.nan, None
    candidates = game.candidates(row, column)
    candidates = candidates[~np.isnan(candidates)]
    if is_whole:
        candidates = np.union1d(np.floor(candidates), np.ceil(candidates))
    changed = np.tile(values, (len(candidates), 1))
    changed[:, column] = candidates
    if len(candidates):
        stays = game.stays(row, changed)
        changed, candidates = changed[stays], candidates[stays]
    if not len(candidates):
        return np.nan, None
    left = game.values(row, changed)[:, column]
    now = np.abs(game.parts[row][column])
    as_good = np.abs(left) <= np.abs(left).min() + _ROUNDING * now
    away = np.abs(candidates - values[column]) if not np.isnan(values[column]) else np.abs(left)
    best = int(np.argmin(np.where(as_good, away, np.inf)))
    if np.abs(left[best]) >= now:
        return np.nan, None
    return float(candidates[best]), float(left[best])
