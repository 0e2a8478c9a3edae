"""Mimic learning: a model tree that predicts what another model predicts, and how well it does.

The paper names it: fit a transparent model to the predictions of an opaque one, then read it. A
classifier is mimicked by its probabilities: every row enters once per class, weighted by the
class's probability, which is cross-entropy on soft labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.estimators import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.rules import all_rules, rule_text
from glassleaf.explanations.scores import auc_of_class, mean_of_defined, r_squared
from glassleaf.tree.fitted import fitted_model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LeafFidelity(JsonData):
    """How well one leaf follows the teacher on held-out rows."""

    leaf: int
    rule_text: str
    rows: int
    mean_difference: float
    agreement: float | None


@dataclass(frozen=True)
class Fidelity(JsonData):
    """How well the student follows the teacher on rows it was not fitted on.

    ``r2`` is that of the predictions (classes: of the probabilities, the mean over classes);
    ``agreement`` the share of rows with the same label, ``auc`` how well the student's probability
    ranks the teacher's labels (two classes). A score that is not defined, such as the R² of a
    constant, is NaN, and left out of a mean. ``mean_difference`` is the mean absolute difference
    of predictions, ``leaves`` the same leaf by leaf, the worst first, and ``rows_apart`` the
    positions in X of the held-out rows where they differ most.
    """

    rows: int
    r2: float
    mean_difference: float
    agreement: float | None
    auc: float | None
    leaves: tuple[LeafFidelity, ...]
    rows_apart: tuple[int, ...]

    @property
    def worst_leaf(self) -> LeafFidelity:
        """The leaf that follows the teacher worst."""
        return self.leaves[0]


@dataclass(frozen=True)
class Mimic:
    """A student, fitted, and its fidelity."""

    student: ModelTreeRegressor | ModelTreeClassifier
    fidelity: Fidelity


def mimic(
    teacher: Any,
    X: Any,
    *,
    holdout: float = 0.25,
    n_apart: int = 10,
    random_state: int = 0,
    **parameters: Any,
) -> Mimic:
    """Fit a model tree to another model's predictions.

    Parameters
    ----------
    teacher : fitted estimator, function or array
        Something with ``predict_proba`` or ``predict``, a function of X, or the predictions
        themselves: one number per row, or one probability per row and class.
    X : table of shape (n_samples, n_features)
        Rows to ask the teacher about; no target is needed.
    holdout : float, default=0.25
        Share of the rows that the student is not fitted on, for the fidelity.
    n_apart : int, default=10
        How many of the rows with the largest differences are named.
    random_state : int, default=0
        Which rows are held out.
    **parameters
        Of the student; see :class:`ModelTreeRegressor`.

    Returns
    -------
    Mimic
        ``student`` and ``fidelity``.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import mimic
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> found = mimic(lambda X: np.abs(X[:, 0]), X, max_depth=1)
    >>> found.fidelity.r2 > 0.99
    True
    """
    if not 0.0 < holdout < 1.0:
        raise ValueError(f"holdout={describe(holdout)} must lie between 0 and 1.")
    predictions, classes = _ask(teacher, X)
    order = np.random.default_rng(random_state).permutation(len(predictions))
    n_held = max(1, round(holdout * len(order)))
    held, used = np.sort(order[:n_held]), np.sort(order[n_held:])
    if not len(used):
        raise ValueError(f"X has {len(order)} row(s); nothing is left to fit on.")
    student: ModelTreeRegressor | ModelTreeClassifier
    if classes is None:
        student = ModelTreeRegressor(**parameters).fit(take(X, used), predictions[used])
    else:
        student = _fit_soft(take(X, used), predictions[used], classes, parameters)
    fidelity = _fidelity(student, take(X, held), predictions[held], held, n_apart)
    return Mimic(student, fidelity)


def _ask(teacher: Any, X: Any) -> tuple[Floats, NDArray[Any] | None]:
    """Predictions of the teacher, and the labels of its classes if they are probabilities."""
    classes = None
    if hasattr(teacher, "predict_proba"):
        found, classes = teacher.predict_proba(X), getattr(teacher, "classes_", None)
    elif hasattr(teacher, "predict"):
        found = teacher.predict(X)
    else:
        found = teacher(X) if callable(teacher) else teacher
    found = np.asarray(found, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("The teacher's predictions contain NaN or infinity.")
    if found.ndim == 1 or found.shape[1] == 1:
        return found.reshape(-1), None
    is_share = (found >= -1e-9).all() and np.allclose(found.sum(axis=1), 1.0, atol=1e-4)
    if found.ndim != 2 or not is_share:
        raise ValueError(
            f"The teacher's predictions have the shape {found.shape} and are not probabilities;"
            " one number per row, or probabilities that sum to 1, are needed."
        )
    return np.clip(found, 0.0, 1.0), np.arange(found.shape[1]) if classes is None else classes


def _fit_soft(
    X: Any, shares: Floats, classes: NDArray[Any], parameters: dict[str, Any]
) -> ModelTreeClassifier:
    """Cross-entropy on soft labels: a row per class, weighted by the class's probability."""
    row, label = np.nonzero(shares > 0)
    rows, weight = take(X, row), shares[row, label]
    entries_per_row = len(row) / len(shares)
    least = parameters.get("min_samples_leaf")
    if least is None:  # the usual number, which depends on the terms of a model
        root = ModelTreeClassifier(**{**parameters, "max_depth": 0})
        root.fit(rows, classes[label], sample_weight=weight)
        least = max(10, root.tree_.terms.n_terms + 1)
    if isinstance(least, int):
        parameters = {**parameters, "min_samples_leaf": round(least * entries_per_row)}
    student = ModelTreeClassifier(**parameters).fit(rows, classes[label], sample_weight=weight)
    # Rows were entered once per class; the tree shall count every row once.
    counts = np.asarray(student.decision_path(X).sum(axis=0)).ravel()
    tree = replace(student.tree_, n_samples=counts.astype(np.int64))
    student.model_ = replace(student.model_, tree=tree)
    return student


def take(X: Any, rows: NDArray[Any]) -> Any:
    """Rows of any table that the estimators read."""
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[rows].to_native()
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return np.asarray(X)[rows]


def _fidelity(
    student: ModelTreeRegressor | ModelTreeClassifier,
    X: Any,
    wanted: Floats,
    positions: NDArray[Any],
    n_apart: int,
) -> Fidelity:
    predict: Callable[[Any], Floats] = getattr(student, "predict_proba", student.predict)
    found = predict(X)
    apart = np.abs(found - wanted).reshape(len(wanted), -1).max(axis=1)
    same = None if wanted.ndim == 1 else found.argmax(axis=1) == wanted.argmax(axis=1)
    auc = None
    if wanted.ndim == 2 and wanted.shape[1] == 2:
        auc = auc_of_class(wanted[:, 1] > wanted[:, 0], found[:, 1], np.ones(len(wanted)))
    return Fidelity(
        rows=len(wanted),
        r2=_r2(wanted, found),
        mean_difference=float(apart.mean()),
        agreement=None if same is None else float(same.mean()),
        auc=auc,
        leaves=_by_leaf(student, X, apart, same),
        rows_apart=tuple(positions[np.argsort(-apart, kind="stable")[:n_apart]].tolist()),
    )


def _r2(wanted: Floats, found: Floats) -> float:
    n_rows = len(wanted)
    pairs = zip(wanted.reshape(n_rows, -1).T, found.reshape(n_rows, -1).T, strict=True)
    return mean_of_defined([r_squared(y, p, np.ones(n_rows)) for y, p in pairs])


def _by_leaf(
    student: Any, X: Any, apart: Floats, same: NDArray[np.bool_] | None
) -> tuple[LeafFidelity, ...]:
    model = fitted_model(student)
    nodes, rules = student.apply(X), all_rules(model.tree)
    found = [
        LeafFidelity(
            leaf=k + 1,
            rule_text=rule_text(rules[node]),
            rows=int((nodes == node).sum()),
            mean_difference=float(apart[nodes == node].mean()),
            agreement=None if same is None else float(same[nodes == node].mean()),
        )
        for k, node in enumerate(model.leaves)
        if (nodes == node).any()
    ]
    return tuple(sorted(found, key=lambda leaf: -leaf.mean_difference))
