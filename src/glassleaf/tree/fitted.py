"""One fitted model: what estimators own, and what explanations, pages, exports and files read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from glassleaf import _kernels, checks
from glassleaf.errors import GlassleafError, describe
from glassleaf.losses import Loss
from glassleaf.tables.dated import as_fitted
from glassleaf.tables.dates import date_text, part_of
from glassleaf.tables.reading import check_columns, read_table
from glassleaf.tables.special import states_of
from glassleaf.tables.table import UNKNOWN, Table, is_frame, raw_matrix, raw_slices, with_column
from glassleaf.tree.calibration import Intervals, Scaling
from glassleaf.tree.histograms import Histograms
from glassleaf.tree.offset import given_numbers
from glassleaf.tree.path import Path
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]

# The name of a category that training never saw.
NEW_CATEGORY = "(new category)"


class NoCoefficientsError(GlassleafError, TypeError):
    """An explanation needs linear models in the leaves, and these are the user's own."""


@dataclass(frozen=True)
class FittedModel:
    """A fitted tree, and what it takes to read a table and to say what comes out.

    ``class_array`` holds the labels, None for a regression. ``is_named`` says whether the table of
    the fit had names of its own. ``estimator`` and ``parameters`` say how the model was fitted;
    they do not enter a prediction.
    """

    tree: Tree
    loss: Loss
    class_array: NDArray[Any] | None
    is_named: bool
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None  # from the shortest model to the longest, where that was learned
    intervals: Intervals | None = None  # what calibration rows said of numbers,
    scaling: Scaling | None = None  # and of classes
    histograms: Histograms | None = None  # of columns and scores in training; older files lack them

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels as Python's own values, None for a regression."""
        found = self.class_array
        return None if found is None else tuple(python_value(label) for label in found)

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
    def positive_class(self) -> Any:
        """Of two classes, the label whose log-odds the score is; else None."""
        return self.classes[self.positive] if self.classes and self.kind == "binary" else None

    @property
    def positive(self) -> int:
        """The prediction that stands for all: of the positive class, or the last of several."""
        return self.loss.positive if self.kind == "binary" else len(self.classes or (0,)) - 1

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
    def inputs(self) -> list[int]:
        """The columns of the model that are columns of a table, and not one more part of a date."""
        return [j for j, column in enumerate(self.tree.columns) if column.is_input]

    @property
    def input_names(self) -> list[str]:
        """Names of the columns of X, with those that were given beside it."""
        return [self.names[j] for j in self.inputs]

    @property
    def n_features(self) -> int:
        """Columns of X, without those that were given beside it."""
        return len(self.inputs) - sum(offset.is_extra for offset in self.tree.offsets)

    @property
    def n_threads(self) -> int:
        return checks.n_threads(self.parameters.get("n_jobs"))

    def with_other_scores(self) -> FittedModel:
        """The same model without what it knows of its scores in training."""
        if self.histograms is None:
            return self
        kept = self.histograms.without_scores(len(self.tree.columns))
        return replace(self, histograms=kept)

    # --- tables in -------------------------------------------------------------------------------

    def read(self, X: Any) -> Table:
        """Any table with the columns of the fit; of dates, with the parts that the model knows."""
        _kernels.announce_compilation()
        table = read_table(X)
        names = self.input_names
        is_whole = table.n_columns == len(names)
        check_columns(
            table, names if is_whole else names[: self.n_features], self.is_named, self.estimator
        )
        return as_fitted(table, self.tree.columns)

    def read_whole(self, X: Any, exposure: Any = None, offset: Any = None) -> Table:
        """Any table with all columns of the fit, those that were given beside it at its end."""
        table = self.read(X)
        given = self._given(table, exposure, offset)
        for known in self.tree.offsets:
            name, parameter = self.names[known.column], known.parameter
            is_lacking = known.column >= table.n_columns
            if is_lacking and known.column not in given:
                raise ValueError(
                    f"The model was fitted with {parameter}: give {parameter} of these rows, too."
                )
            if is_lacking:
                table = with_column(table, name, given[known.column])
            elif known.column in given:
                raise ValueError(f"{parameter} is the column {name!r} of X: do not give it twice.")
        return table

    def matrix(self, X: Any) -> Floats:
        """Any table as a raw matrix: categories as codes, NaN for missing, -1 for unknown.

        Special values are NaN, too; see ``tables.special``.
        """
        table = self.read(X)
        found = raw_matrix(table, self.tree.columns[: table.n_columns])
        return np.ascontiguousarray(self._extended(found))

    def _extended(self, matrix: Floats) -> Floats:
        """A raw matrix with the columns that were given beside X, where it lacks them."""
        lacking = [offset for offset in self.tree.offsets if offset.column >= matrix.shape[1]]
        neutral = [np.full(len(matrix), offset.neutral) for offset in lacking]
        return np.column_stack([matrix, *neutral]) if neutral else matrix

    def scores(self, X: Any, exposure: Any = None, offset: Any = None) -> Floats:
        """Raw scores of the rows of a table, shape (rows, outputs)."""
        return self.leaves_and_scores(self.read(X), exposure, offset)[1]

    def leaves_and_scores(
        self, table: Table, exposure: Any = None, offset: Any = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """The leaf of every row of a table, and its raw scores."""
        given = self._given(table, exposure, offset)
        nodes = np.empty(table.n_rows, dtype=np.int64)
        out = np.empty((table.n_rows, self.loss.n_outputs))
        for rows, matrix in self.slices(table):
            for column, values in given.items():
                matrix[:, column] = values[rows]
            nodes[rows] = self.tree.apply(matrix)
            out[rows] = self.tree.raw(matrix, nodes[rows])
        return nodes, out

    def _given(self, table: Table, exposure: Any, offset: Any) -> dict[int, Floats]:
        """Exposures and offsets of the rows, by their columns, where they are given as arrays."""
        out = {}
        for parameter, values in (("exposure", exposure), ("offset", offset)):
            if values is None:
                continue
            own = [known for known in self.tree.offsets if known.parameter == parameter]
            if not own:
                raise ValueError(f"{parameter} is given, but the model was fitted without.")
            name = self.names[own[0].column]
            if not isinstance(values, str):
                out[own[0].column] = given_numbers(values, parameter, table.n_rows)
            elif values != name:
                raise ValueError(f"{parameter}={values!r}: the model was fitted with {name!r}.")
        return out

    def slices(self, table: Table) -> Iterator[tuple[slice, Floats]]:
        """The raw matrix of a table, a bounded number of rows at a time."""
        for rows, matrix in raw_slices(table, self.tree.columns[: table.n_columns]):
            yield rows, self._extended(matrix)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf of every row of a table, as a position in the arrays of the tree."""
        table = self.read(X)
        out = np.empty(table.n_rows, dtype=np.int64)
        for rows, matrix in self.slices(table):
            out[rows] = self.tree.apply(matrix)
        return out

    def whole_columns(self, X: Any) -> list[int]:
        """Columns of whole numbers or truth values; an array has one type, which says little.

        In rows written by hand, 0 may stand for 0.0: the ends of the training range must be whole
        as well.
        """
        if not is_frame(X):
            return []
        record = self.tree.record
        kinds = nw.from_native(X, eager_only=True).schema.values()
        return [
            k
            for k, kind in zip(self.inputs, kinds, strict=False)
            if (kind.is_integer() or kind == nw.Boolean or self.tree.columns[k].date_unit == "day")
            and float(record.low[k]).is_integer()
            and float(record.high[k]).is_integer()
        ]

    def new_categories(self, X: Any, rows: NDArray[np.intp]) -> dict[int, tuple[Any, ...]]:
        """For every column of categories, those in some rows of X that training never saw."""
        table = self.read(X).take(rows)
        out = {}
        for j, column in enumerate(self.tree.columns):
            if column.categories is not None:
                given = table.labels(j).sorted().values
                out[j] = tuple(python_value(v) for v in given if v not in set(column.categories))
        return out

    # --- numbers out -----------------------------------------------------------------------------

    def raw(self, matrix: Floats) -> Floats:
        """Raw scores of the rows of a raw matrix, shape (rows, outputs)."""
        return self.tree.raw(matrix, self.tree.apply(matrix))

    def prediction(self, raw: Floats) -> Floats:
        """Raw scores to predictions (classes: probabilities), shape (rows, 1 or classes)."""
        given = raw[:, 0] if raw.shape[1] == 1 else raw
        found = self.loss.inverse_link(given)
        return found[:, None] if found.ndim == 1 else found

    def output_name(self, output: int) -> str:
        """What a prediction is called."""
        return "prediction" if self.classes is None else f"P({self.classes[output]})"

    def typical_row(self, matrix: Floats) -> Floats:
        """Median of every number, most frequent category; missing where nothing is known."""
        out = np.full(matrix.shape[1], np.nan)
        for j, column in enumerate(self.tree.columns):
            known = matrix[~np.isnan(matrix[:, j]), j]
            if len(known) and column.is_categorical:
                values, counts = np.unique(known, return_counts=True)
                out[j] = values[np.argmax(counts)]
            elif len(known):
                out[j] = np.median(known)
        return self._with_parts(out)

    def _with_parts(self, row: Floats) -> Floats:
        """A row of a raw matrix whose parts of dates follow from their days."""
        days = np.nan
        for j, column in enumerate(self.tree.columns):
            if column.date is None:
                continue
            if column.date.is_input:
                row[j] = row[j] if column.date.timed or np.isnan(row[j]) else np.floor(row[j])
                days = row[j]
            elif not np.isnan(days):
                found = part_of(float(days), column.date.part)
                known = column.categories
                row[j] = found if known is None else _code(found, known)
        return row

    def position(self, feature: Any, parameter: str) -> int:
        """The column that a name or a position in a table means."""
        names, inputs = self.names, self.inputs
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"{parameter} names {feature!r}, which is not a column of X.")
            return names.index(feature)
        is_number = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
        if not is_number or not 0 <= feature < len(inputs):
            raise ValueError(
                f"{parameter} contains {describe(feature)}; columns are given by name or by"
                f" position from 0 to {len(inputs) - 1}."
            )
        return inputs[int(feature)]

    def value(self, column: int, x: float) -> Any:
        """An entry of a raw matrix as people know it: a number, a label, a date's text.

        A special value is its word, None is missing.
        """
        categories = self.tree.columns[column].categories
        if np.isnan(x):
            return self.special_word(column, x)
        date = self.tree.columns[column].date
        if date is not None and date.is_input:
            return date_text(float(x))
        if categories is None:
            return float(x)
        return NEW_CATEGORY if x == UNKNOWN else python_value(categories[int(x)])

    def special_numbers(self, column: int) -> list[float]:
        """The values of a column that are no numbers but stand for something else."""
        return [value for value, _ in self.tree.columns[column].special]

    def special_word(self, column: int, x: float) -> str | None:
        """The word of a special value in a raw matrix; None for all else."""
        state, special = int(states_of(np.array([x]))[0]), self.tree.columns[column].special
        return special[state - 1][1] if state > 0 and special else None


class ModelOwner:
    """What the rooms below know of an estimator: it owns a fitted model."""

    model_: FittedModel


def fitted_model(estimator: Any) -> FittedModel:
    """The model that a fitted estimator owns."""
    if not isinstance(estimator, ModelOwner):
        raise TypeError(
            f"{describe(estimator)} is not a glassleaf estimator. Pass a fitted ModelTreeRegressor"
            " or ModelTreeClassifier. Of a Pipeline, take the last step, and for X what reaches"
            " it: explain(pipeline[-1], pipeline[:-1].transform(X))."
        )
    check_is_fitted(estimator)
    return estimator.model_


def linear_model(estimator: Any) -> FittedModel:
    """The model that a fitted estimator owns, which must have coefficients."""
    model = fitted_model(estimator)
    if model.tree.custom is not None:
        raise NoCoefficientsError(
            "This needs linear models in the leaves. The tree was fitted with"
            f" weak_model={describe(model.tree.custom.weak_model)}, whose models have no"
            " coefficients."
        )
    return model


def _code(label: Any, categories: tuple[Any, ...]) -> float:
    return float(categories.index(label)) if label in categories else UNKNOWN


def python_value(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
