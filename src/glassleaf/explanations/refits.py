"""What fitting again tells: how much scores are flattered, and what more rows would bring.

Rows are drawn by weights, so that a row drawn twice is one row of weight two: it lies in one fold,
and it is one observation where splits are tested.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from glassleaf.checks import row_weights, whole_number
from glassleaf.errors import describe
from glassleaf.explanations.frames import Listed
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.scores import mean_of_defined
from glassleaf.explanations.scores.named import NamedScore, positive_last, suitable_scores
from glassleaf.explanations.targets import all_targets
from glassleaf.tree.complexity import count_numbers
from glassleaf.tree.fitted import FittedModel, fitted_model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Share of the rows that a learning curve is tested on.
_HELD_OUT = 0.2
_SHARES = (0.1, 0.2, 0.35, 0.6, 1.0)
# How often rows are drawn until all classes are among them.
_TRIES = 1000
_TOO_RARE = "A class has too few rows to be among those that are drawn."


@dataclass(frozen=True)
class Optimism(JsonData):
    """How much a score of the rows of the fit is flattered.

    ``apparent`` is the score on these rows, ``optimism`` by how much models of resampled rows do
    better on these than on all, with its standard error, and ``corrected`` the difference: what to
    expect of new rows.
    """

    score: str
    apparent: float
    optimism: float
    error: float
    corrected: float
    better: str


@dataclass(frozen=True)
class LearningPoint(JsonData):
    """Models of some number of rows: means over several draws, and the spread of the test score."""

    rows: int
    training: float
    test: float
    spread: float
    leaves: float
    numbers: float


@dataclass(frozen=True)
class LearningCurve(JsonData):
    """The main score against the number of rows; ``better`` says what is wanted of it."""

    score: str
    better: str
    points: tuple[LearningPoint, ...]

    def to_frame(self) -> Any:
        """A table of the points."""
        return Listed(self.points).to_frame()


def optimism(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n: int = 50,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: int | None = 0,
    exposure: Any = None,
    offset: Any = None,
) -> Listed[Optimism]:
    """How much the scores of a model on its own training rows are flattered, by the bootstrap.

    The model is fitted again to resampled rows ``n`` times. What it then does better on these than
    on all rows is the optimism (Harrell, Lee and Mark 1996).

    Parameters
    ----------
    estimator : fitted model tree
    X, y, sample_weight
        What it was fitted to.
    n : int, default=50
        How often it is fitted.
    groups : array-like of shape (n_samples,), default=None
        Which rows belong together; they are drawn together.
    random_state : int or None, default=0
    exposure, offset : array-like of shape (n_samples,), or str, default=None
        As in ``fit``.

    Returns
    -------
    list of Optimism
        One for every score that suits the model. ``to_frame()`` gives a table.
    """
    model, rng = fitted_model(estimator), np.random.default_rng(random_state)
    rows = _Rows(model, X, y, sample_weight, groups, exposure, offset)
    scores = suitable_scores(type(model.loss).__name__, len(model.classes or ()))
    found = []
    for _ in range(whole_number("n", n, 2) or 2):
        drawn = rows.resampled(rng)
        p = rows.predicted(rows.fitted(estimator, drawn))
        found.append([rows.score(s, p, drawn) - rows.score(s, p, rows.w) for s in scores])
    gains, own = np.array(found), rows.predicted(model)
    out = Listed[Optimism]()
    for k, score in enumerate(scores):
        known = gains[np.isfinite(gains[:, k]), k]
        apparent, flattered = rows.score(score, own, rows.w), mean_of_defined(known.tolist())
        error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else np.nan
        out.append(
            Optimism(score.name, apparent, flattered, error, apparent - flattered, score.better)
        )
    return out


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    shares: Sequence[float] = _SHARES,
    n: int = 5,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: int | None = 0,
    exposure: Any = None,
    offset: Any = None,
) -> LearningCurve:
    """What more rows bring: the main score of models of growing shares of the rows.

    A fifth of the rows is held out, models are fitted to growing shares of the others, and this is
    repeated ``n`` times with other rows.

    Parameters
    ----------
    estimator : fitted model tree
    X, y, sample_weight
        Rows to fit and to test.
    shares : sequence of float
        Of the rows that are not held out.
    n : int, default=5
    groups : array-like of shape (n_samples,), default=None
        Which rows belong together; they are held out together.
    random_state : int or None, default=0
    exposure, offset : array-like of shape (n_samples,), or str, default=None
        As in ``fit``.

    Returns
    -------
    LearningCurve
        Of the AUC, D² or R², with the leaves and the numbers of the models.
    """
    model, rng = fitted_model(estimator), np.random.default_rng(random_state)
    given = np.sort(np.asarray(shares, dtype=np.float64))
    if not len(given) or given[0] <= 0 or given[-1] > 1:
        raise ValueError(f"shares={describe(shares)} must lie above 0, and at most at 1.")
    rows = _Rows(model, X, y, sample_weight, groups, exposure, offset)
    score = suitable_scores(type(model.loss).__name__, len(model.classes or ()))[0]
    found: list[list[list[float]]] = [[] for _ in given]
    for _ in range(whole_number("n", n, 1) or 1):
        held, parts = rows.split(rng, given)
        for k, part in enumerate(parts):
            other = rows.fitted(estimator, part)
            of = [rows.score(score, rows.predicted(other), w) for w in (part, held)]
            found[k].append([float((part > 0).sum()), *of, *_size(other)])
    return LearningCurve(score.name, score.better, tuple(map(_point, found)))


def _point(found: list[list[float]]) -> LearningPoint:
    rows, training, test, leaves, numbers = np.array(found).mean(axis=0).tolist()
    spread = float(np.std([one[2] for one in found], ddof=1)) if len(found) > 1 else np.nan
    return LearningPoint(round(rows), training, test, spread, leaves, numbers)


def _size(model: FittedModel) -> tuple[float, float]:
    """Leaves, and numbers to read; models of the user's own have none that can be counted."""
    tree = model.tree
    return tree.n_leaves, np.nan if tree.custom is not None else count_numbers(tree).total


def _known(model: FittedModel, X: Any, exposure: Any, offset: Any) -> dict[str, Any]:
    """Exposure and offset of a fit, each an array or the name of its column."""
    model.read_whole(X, exposure, offset)
    given = {"exposure": exposure, "offset": offset}
    return {
        own.parameter: given[own.parameter] if own.is_extra else model.names[own.column]
        for own in model.tree.offsets
    }


class _Rows:
    """Rows to fit again and again: drawn, scored."""

    def __init__(
        self,
        model: FittedModel,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        exposure: Any,
        offset: Any,
    ) -> None:
        self.X, self.y, self.groups = X, y, groups
        self.known = _known(model, X, exposure, offset)
        self.positive, self.n_classes = model.positive, len(model.classes or ())
        n = model.read(X).n_rows
        self.truth = all_targets(model, y, n)
        nothing = np.zeros((n, max(self.n_classes, 1)))
        self.target = positive_last(self.positive, self.n_classes, self.truth, nothing)[0]
        self.w = row_weights(sample_weight, n)
        labels = np.arange(n) if groups is None else np.asarray(groups)
        if labels.shape != (n,):
            raise ValueError(f"groups has the shape {labels.shape}, but X has {n} rows: one each.")
        self.group: Ints = np.unique(labels, return_inverse=True)[1].astype(np.int64)

    def fitted(self, estimator: Any, weight: Floats) -> FittedModel:
        """The model of an estimator like this, fitted with these weights."""
        given = self.known if self.groups is None else {**self.known, "groups": self.groups}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the first fit has warned already
            other = clone(estimator).fit(self.X, self.y, sample_weight=weight, **given)
        return fitted_model(other)

    def predicted(self, model: FittedModel) -> Floats:
        """What a model predicts for all rows."""
        prediction = model.prediction(model.scores(self.X, **self.known))
        return positive_last(self.positive, self.n_classes, self.truth, prediction)[1]

    def score(self, score: NamedScore, p: Floats, weight: Floats) -> float:
        """A score of predictions, the rows having these weights."""
        used = weight > 0
        return score.score(self.target[used], p[used], weight[used])

    def resampled(self, rng: np.random.Generator) -> Floats:
        """Weights of rows drawn with replacement, by group."""
        n = int(self.group.max()) + 1
        for _ in range(_TRIES):
            times = np.bincount(rng.integers(0, n, size=n), minlength=n)
            weight = np.asarray(self.w * times[self.group])
            if self._has_all_classes(weight):
                return weight
        raise ValueError(_TOO_RARE)

    def split(self, rng: np.random.Generator, shares: Floats) -> tuple[Floats, list[Floats]]:
        """Weights of the rows held out, and of growing shares of the others, by group."""
        n = int(self.group.max()) + 1
        n_held = max(1, round(_HELD_OUT * n))
        ends = [n_held + max(1, round(share * (n - n_held))) for share in shares]
        for _ in range(_TRIES):
            place = rng.permutation(n)[self.group]
            held = np.where(place < n_held, self.w, 0.0)
            parts = [np.where((place >= n_held) & (place < end), self.w, 0.0) for end in ends]
            if all(map(self._has_all_classes, [held, *parts])):
                return held, parts
        raise ValueError(_TOO_RARE)

    def _has_all_classes(self, weight: Floats) -> bool:
        classes = range(self.n_classes)
        return bool(weight.any()) and all(weight[self.truth == k].any() for k in classes)
