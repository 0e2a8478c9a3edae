"""Two models on the same rows: how much better one is than the other, and whether by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from glassleaf.checks import row_weights
from glassleaf.errors import describe
from glassleaf.explanations.frames import Listed
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.scores import intervals, standard_error
from glassleaf.explanations.scores.named import (
    DELONG,
    NamedScore,
    positive_last,
    suitable_scores,
)
from glassleaf.explanations.targets import all_targets
from glassleaf.tree.fitted import FittedModel, fitted_model

Floats = NDArray[np.float64]

PAIRED = "paired, from the spread over the rows"


@dataclass(frozen=True)
class Comparison(JsonData):
    """One score of two models on the same rows.

    ``difference`` is that of the challenger less that of the champion, ``low, high`` its 95%
    interval, ``p`` how often chance alone would make one as large if both were equally good.
    ``better`` says what is wanted of the score, ``test`` how the difference was judged.
    """

    score: str
    champion: float
    challenger: float
    difference: float
    low: float
    high: float
    p: float
    better: str
    test: str


def compare(
    champion: Any, challenger: Any, X: Any, y: Any, *, sample_weight: Any = None
) -> Listed[Comparison]:
    """Compare two models on rows that neither was fitted on.

    The same rows speak for both models, so that what is hard to predict for both does not count:
    differences are judged by their own spread over the rows. For the AUC this is DeLong's test.

    Parameters
    ----------
    champion : fitted model tree
    challenger : fitted estimator
        Any with ``predict``, for classes ``predict_proba`` and the same classes.
    X : table of shape (n_samples, n_features)
        What both take.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None
        Rows of weight zero are left out.

    Returns
    -------
    list of Comparison
        One for every score by which one model can be better: not for those that judge calibration.
        ``to_frame()`` gives a table.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor, compare
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=2000)
    >>> line = ModelTreeRegressor(max_depth=0, curves=False).fit(X[:1000], y[:1000])
    >>> tree = ModelTreeRegressor(max_depth=1).fit(X[:1000], y[:1000])
    >>> r2, *_ = compare(line, tree, X[1000:], y[1000:])
    >>> r2.score, round(r2.difference, 1), r2.p < 0.001
    ('R²', 1.0, True)
    """
    model = fitted_model(champion)
    matrix = model.matrix(X)
    truth = all_targets(model, y, len(matrix))
    weight = row_weights(sample_weight, len(matrix))
    own, other = model.prediction(model.raw(matrix)), predictions(model, challenger, X)
    if len(other) != len(matrix):
        raise ValueError(f"challenger predicts {len(other)} rows, but X has {len(matrix)}.")
    used = weight > 0
    return Listed(compare_predictions(model, truth[used], own[used], other[used], weight[used]))


def predictions(model: FittedModel, challenger: Any, X: Any) -> Floats:
    """What another estimator predicts, in the columns of the model's own predictions."""
    if model.class_array is None:
        return np.asarray(challenger.predict(X), dtype=np.float64).reshape(-1, 1)
    if not hasattr(challenger, "predict_proba"):
        raise TypeError(f"challenger={describe(challenger)} has no predict_proba.")
    labels = list(challenger.classes_)
    if sorted(map(str, labels)) != sorted(map(str, model.class_array)):
        raise ValueError(f"challenger knows the classes {labels}, not {list(model.class_array)}.")
    order = [labels.index(label) for label in model.class_array]
    return np.asarray(challenger.predict_proba(X), dtype=np.float64)[:, order]


def compare_predictions(
    model: FittedModel, truth: Floats, own: Floats, other: Floats, weight: Floats
) -> tuple[Comparison, ...]:
    """The same for predictions; weights are positive."""
    n_classes = len(model.classes or ())
    y, first = positive_last(model.positive, n_classes, truth, own)
    _, second = positive_last(model.positive, n_classes, truth, other)
    return tuple(
        _compared(score, y, first, second, weight)
        for score in suitable_scores(type(model.loss).__name__, n_classes)
        if score.better in ("higher", "lower")
    )


def _compared(
    score: NamedScore, y: NDArray[Any], first: Floats, second: Floats, w: Floats
) -> Comparison:
    values = score.score(y, first, w), score.score(y, second, w)
    difference = values[1] - values[0]
    influence = score.influence(y, second, w) - score.influence(y, first, w)
    low, high = intervals.around(difference, influence)
    test = DELONG if score.method == DELONG else PAIRED
    p = chance(difference, standard_error(influence))
    return Comparison(score.name, *values, difference, low, high, p, score.better, test)


def chance(difference: float, error: float) -> float:
    """How often a normal number of this standard error is as far from 0; 1 for no difference."""
    if difference == 0:
        return 1.0
    return float(2 * ndtr(-abs(difference) / error)) if error > 0 else np.nan
