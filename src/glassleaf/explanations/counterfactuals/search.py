"""Counterfactuals: the smallest change of one or two features that changes the outcome.

Between its kinks (thresholds, bends, knots of the transform, ends of clamps) every raw score is
linear in a number, whatever leaf it falls into. So the scores at the kinks tell where the outcome
changes, exactly. For two features, one of them is put on each of its kinks (or values) while the
other is solved for: with one condition on the score, the best of all pairs is among these (with a
``background``, which asks for more conditions, a good one). Every answer is predicted before it is
given, and given as a round number where one is near.

A change is measured in spreads of the feature over the training rows; another category counts as
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.explanations import words
from glassleaf.explanations.counterfactuals.features import (
    Feature,
    decimals_of,
    features_of,
)
from glassleaf.explanations.counterfactuals.goals import Goal, goal_of
from glassleaf.explanations.counterfactuals.nearest import nearest_in_pieces, nearest_point
from glassleaf.explanations.effects import without_limits
from glassleaf.explanations.frames import Listed, flat
from glassleaf.explanations.json_data import JsonData
from glassleaf.tree.fitted import FittedModel, linear_model

Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]

# Steps past a solution, as shares of its piece, until the prediction agrees: rounding.
_NUDGES = (0.0, 1e-12, 1e-9, 1e-6)
# How many of the best candidates are predicted before a search is given up.
_VERIFIED = 20


@dataclass(frozen=True)
class Change(JsonData):
    """One feature's change."""

    feature: str
    old: Any
    new: Any

    @property
    def text(self) -> str:
        """The new number has all its digits; the old one as many as tell them apart."""
        new = old = words.value(self.new)
        if isinstance(self.new, float):
            new = next(text for text in _longer(self.new) if float(text) == self.new)
        if not isinstance(self.old, float):
            old = words.value(self.old)
        else:
            old = next((text for text in _longer(self.old) if text != new), repr(self.old))
        return f"{words.name(self.feature)}: {old} → {new}"


def _longer(number: float) -> Iterator[str]:
    """A number with more and more digits, up to all that it has."""
    return (words.number(number, digits) for digits in range(6, 18))


@dataclass(frozen=True)
class Counterfactual(JsonData):
    """Changes, how large they are together, and the prediction that follows from them."""

    changes: tuple[Change, ...]
    size: float
    prediction: float | list[float]
    label: Any
    leaf: int

    @property
    def text(self) -> str:
        """The changes in one line."""
        return ", ".join(change.text for change in self.changes)


class Counterfactuals(Listed[Counterfactual]):
    """Answers, the smallest change first; as a table, one line per change."""

    def records(self) -> list[dict[str, Any]]:
        return [
            {
                "answer": k,
                **flat(change),
                "size": answer.size,
                "prediction": answer.prediction,
                "label": answer.label,
                "leaf": answer.leaf,
            }
            for k, answer in enumerate(self)
            for change in answer.changes
        ]


def counterfactuals(
    estimator: Any,
    row: Any,
    target: Any = None,
    *,
    actionable: Sequence[Any] | None = None,
    immutable: Sequence[Any] = (),
    bounds: Mapping[Any, tuple[float | None, float | None]] | None = None,
    levels: Mapping[Any, Sequence[Any]] | None = None,
    integers: Sequence[Any] | None = None,
    linked_features: Sequence[Sequence[Any]] = (),
    background: Any = None,
    probability: float | None = None,
    max_changes: int = 2,
    n: int = 5,
) -> Counterfactuals:
    """The smallest changes of one or two features that change the outcome.

    Parameters
    ----------
    estimator : fitted model tree
    row : table of one row
    target : class label or number, default=None
        The class wanted (None: the other one of two), or the number that the prediction has to
        reach, from whichever side it is now.
    actionable : list of names or positions, or None, default=None
        Features that may change; None: all but the immutable ones.
    immutable : list of names or positions, default=()
        Features that may not.
    bounds : dict of feature to (low, high), default=None
        Limits of numbers, None for no limit; by default the range that training saw.
    levels : dict of feature to labels, default=None
        Categories that a feature may take; by default all that training saw.
    integers : list of names or positions, or None, default=None
        Numbers that must be whole; None: the columns of ``row`` whose type says so, if it is a
        DataFrame and training saw nothing that speaks against it.
    linked_features : list of groups of names or positions, default=()
        Numbers that move together, such as ``[("income", "taxes")]``: all of a group by the same
        number of their spreads, each as far as its limits allow. If one may not change, none of
        them does. A missing one stays missing, and the others move without it. The change counts
        once.
    background : table or None, default=None
        Rows of training. Of two numbers whose ranges there overlap, and of which one never exceeded
        the other, it does not in answers either.
    probability : float or None, default=None
        Probability that the class wanted must have (two classes); None: it is the likeliest.
    max_changes : {1, 2}, default=2
        How many features may change at once.
    n : int, default=5
        Largest number of answers, one per set of features, the smallest change first.

    Returns
    -------
    list of Counterfactual
        Empty if no change within the limits is enough. ``to_frame()`` gives a table of all.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor, counterfactuals
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = ModelTreeRegressor(max_depth=0, alpha=0, max_numbers=None)
    >>> _ = model.fit(X, X[:, 0] + 4 * X[:, 1])
    >>> counterfactuals(model, [[0.0, 0.0]], target=2.0)[0].text
    'x1: 0 → 0.5'
    """
    if max_changes not in (1, 2):
        raise ValueError(f"max_changes={describe(max_changes)} must be 1 or 2.")
    model = linear_model(estimator)
    matrix = model.matrix(row)
    if len(matrix) != 1:
        raise ValueError(f"row has {len(matrix)} rows; one is needed.")
    values = matrix[0]
    goal = goal_of(model, values, target, probability)
    whole = model.whole_columns(row) if integers is None else integers
    features = features_of(
        model, values, actionable, immutable, bounds, levels, whole, linked_features
    )
    orders = _orders(model, values, background)
    matters = _used_columns(model) | set(orders.ravel().tolist())
    features = [feature for feature in features if matters & feature.columns]
    search = _Search(model, values, goal, orders)
    found = [search.one(feature) for feature in features]
    if max_changes == 2:
        found += [search.two(*pair) for pair in combinations(features, 2)]
    answers = [answer for answer in found if answer is not None]
    answers.sort(key=lambda answer: (answer.size, len(answer.changes)))
    return Counterfactuals([answer for answer in answers if _is_needed(answer, answers)][:n])


def _orders(model: FittedModel, values: Floats, background: Any) -> Pairs:
    """Pairs of numbers, the first of which never exceeded the second in the background.

    Pairs whose ranges are apart cannot tell, and those that the row itself does not keep are none.
    """
    if background is None:
        return np.zeros((0, 2), dtype=np.int64)
    matrix = model.matrix(background)
    numeric = [j for j, column in enumerate(model.tree.columns) if not column.is_categorical]
    low, high = (end(matrix, axis=0) for end in (np.fmin.reduce, np.fmax.reduce))
    out = []
    for one in numeric:
        exceeds = (matrix[:, [one]] > matrix).any(axis=0)
        is_order = ~exceeds & ~(values[one] > values) & (high[one] > low)
        out += [(one, j) for j in numeric if j != one and is_order[j]]
    return np.array(out, dtype=np.int64).reshape(-1, 2)


def _used_columns(model: FittedModel) -> set[int]:
    """The columns that a prediction depends on."""
    tree = model.tree
    leaves = tree.coef[model.leaves].reshape(len(model.leaves), -1, tree.terms.n_terms)
    terms = np.flatnonzero((leaves != 0).any(axis=(0, 1)))
    return {*tree.feature[tree.feature >= 0].tolist(), *tree.terms.column_of_term[terms].tolist()}


def _is_needed(answer: Counterfactual, answers: list[Counterfactual]) -> bool:
    """Whether every change is needed: not if fewer of them are an answer that is no larger."""
    names = {change.feature for change in answer.changes}
    return not any(
        {change.feature for change in other.changes} < names and other.size <= answer.size
        for other in answers
    )


class _Search:
    """One row, and the outcome that is wanted."""

    def __init__(self, model: FittedModel, values: Floats, goal: Goal, orders: Pairs) -> None:
        self.model = model
        self.values = values
        self.goal = goal
        self.orders = orders
        self.sums = without_limits(model.tree)

    def one(self, feature: Feature) -> Counterfactual | None:
        """The smallest change of one feature."""
        return self._best(feature, self.values[None])

    def two(self, first: Feature, second: Feature) -> Counterfactual | None:
        """The smallest change of two features: one on its points, the other solved for."""
        answers = []
        for fixed, solved in ((first, second), (second, first)):
            now = self.values[fixed.column]
            points = fixed.points[fixed.points != now]
            lines = np.tile(self.values, (len(points), 1))
            fixed.put(lines, points, self.values)
            answers.append(self._best(solved, lines, fixed))
        found = [answer for answer in answers if answer is not None]
        return min(found, key=lambda answer: answer.size, default=None)

    def _best(
        self, solved: Feature, lines: Floats, fixed: Feature | None = None
    ) -> Counterfactual | None:
        """The best over some rows ("lines"), in each of which one feature is solved for."""
        column, points = solved.column, solved.points
        orders = self._touched(solved, fixed)
        grid = np.repeat(lines[:, None], len(points), axis=1)
        solved.put(grid, points, self.values)
        margins = self._margins(grid.reshape(-1, grid.shape[2]), orders)
        margins = margins.reshape(len(lines), len(points), -1)
        now = float(self.values[column])
        start = float(self.model.tree.terms.fill[column]) if np.isnan(now) else now
        solve = nearest_point if solved.is_discrete else nearest_in_pieces
        value, inside = solve(points, margins, start, solved.is_whole, solved.gap)
        found = lines.copy()
        solved.put(found, value, self.values)
        total = self._sizes(found, solved, fixed)
        total[np.isnan(value) | (value == now)] = np.inf
        for line in np.argsort(total, kind="stable")[:_VERIFIED]:
            if not np.isfinite(total[line]):
                break
            rows = self._as_given(found[line], float(inside[line]), solved, fixed)
            rows = rows[(_distances(rows, orders) >= 0).all(axis=1) & self._are_numbers(rows)]
            raw = self.model.raw(rows)
            for k in range(len(rows)):
                if self.goal.is_met(raw[k : k + 1]):
                    return self._answer(
                        rows[k], float(self._sizes(rows[k : k + 1], solved, fixed)[0])
                    )
        return None

    def _are_numbers(self, rows: Floats) -> NDArray[np.bool_]:
        """Whether no number of a row is one that stands for something else."""
        out = np.ones(len(rows), dtype=np.bool_)
        for j in range(rows.shape[1]):
            out &= ~np.isin(rows[:, j], self.model.special_numbers(j))
        return out

    def _touched(self, *moved: Feature | None) -> Pairs:
        """The ordered pairs of which a number moves."""
        columns = set[int]().union(*(feature.columns for feature in moved if feature is not None))
        return self.orders[np.isin(self.orders, list(columns)).any(axis=1)]

    def _margins(self, rows: Floats, orders: Pairs) -> Floats:
        """The goal's margins before limits, for these are linear; and whether limits let it be.

        Those of pairs come with them. Limits of several scores are only seen when an answer is
        predicted.
        """
        tree, leaves = self.model.tree, self.model.tree.apply(rows)
        raw = self.sums.raw(rows, leaves)
        margins = np.column_stack([self.goal.margins(raw), _distances(rows, orders)])
        if tree.score_low.ndim > 1:
            return margins
        ends = tree.score_low[leaves], tree.score_high[leaves]
        best = np.maximum(*(self.goal.margins(end[:, None]) for end in ends))
        return np.column_stack([margins, np.where(best >= 0, 0.0, -1.0)])

    def _sizes(self, rows: Floats, solved: Feature, fixed: Feature | None) -> Floats:
        """How large the changes to each of the rows are."""
        out = np.zeros(len(rows))
        for feature in [solved] if fixed is None else [fixed, solved]:
            out += feature.size(float(self.values[feature.column]), rows[:, feature.column])
        return out

    def _as_given(
        self, row: Floats, inside: float, solved: Feature, fixed: Feature | None
    ) -> Floats:
        """A solution in all readings of its numbers, the roundest first."""
        choices = [(solved, inside)]
        if fixed is not None:
            choices.insert(0, (fixed, float(row[fixed.column])))
        readings = [
            product(
                _readings(f, float(self.values[f.column]), float(row[f.column]), well_inside),
                (True, False) if f.followers else (False,),
            )
            for f, well_inside in choices
        ]
        ways = np.array(list(product(*readings)), dtype=np.float64)
        rows = np.tile(row, (len(ways), 1))
        for k, (feature, _) in enumerate(choices):
            feature.put(rows, ways[:, k, 0], self.values, ways[:, k, 1] > 0)
        return rows

    def _answer(self, row: Floats, size: float) -> Counterfactual:
        model = self.model
        prediction = model.prediction(model.raw(row[None]))[0]
        changed = [
            j for j, (old, new) in enumerate(zip(self.values, row, strict=True))
            if not (old == new or (np.isnan(old) and np.isnan(new)))
        ]  # fmt: skip
        return Counterfactual(
            changes=tuple(
                Change(model.names[j], model.value(j, self.values[j]), model.value(j, row[j]))
                for j in changed
            ),
            size=size,
            prediction=float(prediction[0]) if len(prediction) == 1 else prediction.tolist(),
            label=None if model.classes is None else model.classes[int(np.argmax(prediction))],
            leaf=int(model.tree.apply(row[None])[0]),
        )


def _distances(rows: Floats, orders: Pairs) -> Floats:
    """How far the smaller number of every ordered pair lies below the larger."""
    out = rows[:, orders[:, 1]] - rows[:, orders[:, 0]]
    return np.where(np.isnan(out), 0.0, out)  # what is missing breaks no order


def _readings(feature: Feature, now: float, value: float, inside: float) -> list[float]:
    """A solution as it may be given: a round number just past it, else as near as rounding allows.

    "Just past" is at most a thousandth of the feature's spread.
    """
    if feature.is_discrete or feature.is_whole:
        return [value]
    decimals = decimals_of(feature.unit)
    step = 10.0**-decimals
    away = 1.0 if value >= now else -1.0
    past = [away * (np.ceil(away * value / step) + k) * step for k in (0, 1)]
    rounded = [round(float(x), max(decimals, 0)) for x in past]
    low, high = feature.points[0], feature.points[-1]
    past = [x for x in rounded if low <= x <= high]
    return list(dict.fromkeys(past + [value + nudge * (inside - value) for nudge in _NUDGES]))
