"""What explanations ask of an estimator: the one place that looks into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from glassleaf import checks as parameters
from glassleaf.errors import GlassleafError, describe
from glassleaf.losses import Loss
from glassleaf.tables.table import UNKNOWN, is_frame, raw_matrix
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]

# What the value of a category that training never saw is called.
NEW_CATEGORY = "(new category)"


class NoCoefficientsError(GlassleafError, TypeError):
    """An explanation needs linear models in the leaves, and these are the user's own."""


@dataclass(frozen=True)
class Fitted:
    """A fitted tree, its loss, and the labels of its classes (None for a regression)."""

    tree: Tree
    loss: Loss
    classes: tuple[Any, ...] | None
    estimator: Any

    @property
    def kind(self) -> str:
        """One of "regression", "binary", "multiclass"."""
        if self.classes is None:
            return "regression"
        return "binary" if len(self.classes) == 2 else "multiclass"

    @property
    def link(self) -> str:
        """Name of the link; "custom" for a loss that has its own and does not name it."""
        own = type(self.loss).inverse_link is not Loss.inverse_link
        return "custom" if own and self.loss.link == "identity" else self.loss.link

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the raw scores: one per class where there are several, else one without."""
        if self.loss.n_outputs == 1:
            return ("",)
        return tuple(str(label) for label in self.classes or ())

    @property
    def leaves(self) -> list[int]:
        """The leaves from left to right."""
        found, ahead = [], [0]
        while ahead:
            node = ahead.pop()
            if self.tree.left[node] == LEAF:
                found.append(node)
            else:
                ahead += [int(self.tree.right[node]), int(self.tree.left[node])]
        return found

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.tree.columns]

    @property
    def n_threads(self) -> int:
        return parameters.n_threads(getattr(self.estimator, "n_jobs", None))

    def matrix(self, X: Any) -> Floats:
        """Any table as a raw matrix: categories as codes, NaN for missing, -1 for unknown."""
        _, table = self.estimator._fitted(X)
        return np.ascontiguousarray(raw_matrix(table, self.tree.columns))

    def whole_columns(self, X: Any) -> list[int]:
        """Columns of whole numbers or truth values; an array has one type, which says little.

        In rows written by hand, 0 may stand for 0.0: the ends of what training saw must be whole,
        too.
        """
        if not is_frame(X):
            return []
        seen = self.tree.seen
        kinds = nw.from_native(X, eager_only=True).schema.values()
        return [
            k
            for k, kind in enumerate(kinds)
            if (kind.is_integer() or kind == nw.Boolean)
            and float(seen.low[k]).is_integer()
            and float(seen.high[k]).is_integer()
        ]

    def new_categories(self, X: Any, rows: NDArray[np.intp]) -> dict[int, tuple[Any, ...]]:
        """For every column of categories, those in some rows of X that training never saw."""
        _, table = self.estimator._fitted(X)
        table = table.take(rows)
        out = {}
        for j, column in enumerate(self.tree.columns):
            if column.categories is not None:
                seen = table.labels(j).sorted().values
                out[j] = tuple(plain(v) for v in seen if v not in set(column.categories))
        return out

    def raw(self, matrix: Floats) -> Floats:
        """Raw scores of the rows of a raw matrix, shape (rows, outputs)."""
        return self.tree.raw(matrix, self.tree.apply(matrix))

    def prediction(self, raw: Floats) -> Floats:
        """Raw scores to predictions (classes: probabilities), shape (rows, 1 or classes)."""
        given = raw[:, 0] if raw.shape[1] == 1 else raw
        found = self.loss.inverse_link(given)
        return found[:, None] if found.ndim == 1 else found

    def position(self, feature: Any, parameter: str) -> int:
        """The column that a name or a position means."""
        names = self.names
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"{parameter} names {feature!r}, which is not a column of X.")
            return names.index(feature)
        is_number = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
        if not is_number or not 0 <= feature < len(names):
            raise ValueError(
                f"{parameter} contains {describe(feature)}; columns are given by name or by"
                f" position from 0 to {len(names) - 1}."
            )
        return int(feature)

    def value(self, column: int, x: float) -> Any:
        """An entry of a raw matrix as people know it: a number, a label, None for missing."""
        categories = self.tree.columns[column].categories
        if np.isnan(x):
            return None
        if categories is None:
            return float(x)
        return NEW_CATEGORY if x == UNKNOWN else plain(categories[int(x)])


def fitted(estimator: Any, needs_coefficients: bool = True) -> Fitted:
    """Look into a fitted estimator of ours."""
    if not (hasattr(estimator, "_fitted") and hasattr(estimator, "get_n_leaves")):
        raise TypeError(
            f"{describe(estimator)} is not a glassleaf estimator. Of a Pipeline, explain the last"
            " step: explain(pipeline[-1], pipeline[:-1].transform(X))."
        )
    check_is_fitted(estimator)
    tree = estimator.tree_
    if needs_coefficients and tree.custom is not None:
        raise NoCoefficientsError(
            "This needs linear models in the leaves. The tree was fitted with"
            f" weak_model={describe(tree.custom.weak_model)}, whose models have no coefficients."
        )
    labels = getattr(estimator, "classes_", None)
    classes = None if labels is None else tuple(plain(label) for label in labels)
    return Fitted(tree, estimator._loss, classes, estimator)


def plain(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
