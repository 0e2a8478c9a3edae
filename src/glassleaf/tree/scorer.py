"""One row in, one prediction out: in plain Python, without numpy, numba or scikit-learn.

For a single row, calling into numpy costs more than the arithmetic. A :class:`Scorer` walks tuples
of Python floats instead.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import exp, isfinite, log
from typing import Any, NamedTuple, cast

from glassleaf.errors import GlassleafError, describe
from glassleaf.tables.categories import CategoryCodes
from glassleaf.tables.cells import is_missing
from glassleaf.tables.dates import date_text, date_value
from glassleaf.tree import plain
from glassleaf.tree.coverage import NotCalibratedError
from glassleaf.tree.favorable import direction
from glassleaf.tree.file import model_file
from glassleaf.tree.plain import (
    LARGEST_EXPONENT,
    PlainColumn,
    PlainLeaf,
    PlainModel,
    PlainOffset,
    PlainSplit,
    PlainTerm,
)

_UNKNOWN = -1  # code of a category that training never saw; None is missing

Row = Sequence[Any] | Mapping[str, Any]
# From the sum before a cell, and the cell, to the sum with it: term by term, as predict adds.
_Adder = Callable[[float, Any], float]


class ScoredReason(NamedTuple):
    """A column that hurt a row: its value, what it added, and what it is called."""

    feature: str
    value: Any
    contribution: float
    code: str
    message: str


def load_scorer(path: str | os.PathLike[str]) -> Scorer:
    """The scorer of a model file, without importing anything that fitting needs.

    Parameters
    ----------
    path : str or path
        A model file, written by the ``save`` of an estimator.

    Returns
    -------
    Scorer

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model file, or was written by a newer version.
    """
    return Scorer(plain.from_document(model_file.read(path)))


class Scorer:
    """Predicts one row at a time.

    A row is a sequence with one value per column, or a mapping from the names of the columns. A
    missing value is ``None`` or NaN; a category that training never saw is allowed. Values that
    neither the splits on the row's way nor its leaf need are not read.

    Parameters
    ----------
    model : PlainModel
        See ``tree.plain``. Usually, ``estimator.scorer()`` or :func:`load_scorer` make a scorer.
    """

    def __init__(self, model: PlainModel) -> None:
        self.model = model
        self.names = tuple(column.name for column in model.inputs)
        self._parts = tuple(zip(model.sources, model.columns, strict=True))
        self._has_dates = len(self.names) < len(model.columns) or any(c.date for c in model.columns)
        self._own_names = tuple(column.name for column in model.columns)
        self.classes = model.classes
        self._readers = tuple(map(_reader, model.columns))
        self._nodes = tuple(_prepared(node, model) for node in model.nodes)
        self._used = model.used
        self._finish = _FINISH[model.link] if model.positive else _logit_of_first

    def __reduce__(self) -> tuple[Any, ...]:
        return Scorer, (self.model,)

    def __call__(self, row: Row) -> Any:
        """The prediction: a float, or for a classifier a list with the probability of each class.

        Parameters
        ----------
        row : sequence or mapping

        Returns
        -------
        float or list of float
        """
        return self._finish(self._scores(self._values(row)))

    def predict_interval(self, row: Row, coverage: float = 0.9) -> tuple[float, float]:
        """The interval that holds the true value in a share of all cases.

        Parameters
        ----------
        row : sequence or mapping
        coverage : float, default=0.9
            That share; see ``ModelTreeRegressor.predict_interval``.

        Returns
        -------
        tuple of float
            The lower and the upper end.
        """
        if self.classes is not None:
            raise TypeError("A classifier has no intervals; call the scorer itself.")
        if self.model.intervals is None:
            raise NotCalibratedError
        values = self._values(row)
        prediction: Any = self._finish(self._scores(values))
        return self.model.intervals.around(prediction, self._sums(values)[0], coverage)

    def raw(self, row: Row) -> float | list[float]:
        """The leaf's score: log-odds of the positive class, logarithm, one score per class."""
        sums = self._scores(self._values(row))
        return sums if self.model.link == "softmax" else sums[0]

    def leaf(self, row: Row) -> int:
        """Number of the leaf, as ``apply`` gives it."""
        return self._sums(self._values(row))[0]

    def label(self, row: Row) -> Any:
        """The most probable class, as ``predict`` gives it."""
        if self.classes is None:
            raise TypeError("A regressor has no classes; call the scorer itself.")
        probabilities = self(row)
        return self.classes[probabilities.index(max(probabilities))]

    def reasons(self, row: Row, k: int = 4, *, favorable: Any = None) -> list[ScoredReason]:
        """The columns that hurt the row most, the worst first, as ``glassleaf.reasons`` finds them.

        Parameters
        ----------
        row : sequence or mapping
        k : int, default=4
            Largest number of reasons; only columns that hurt are named.
        favorable : a class label, "high", "low" or None, default=None
            What is good for the row; classifiers need it, for numbers None is "high".

        Returns
        -------
        list of ScoredReason
            Contributions are relative to the mean row of the leaf.
        """
        model = self.model
        output, sign = direction(model.classes, model.n_outputs, model.positive_class, favorable)
        values = self._values(row)
        leaf = model.nodes[self._sums(values)[0]]
        assert isinstance(leaf, PlainLeaf)
        if any(not term.usual for term in leaf.terms):
            raise GlassleafError("The model file holds no record of its training.")
        parts = [
            (self._contribution(leaf, place, values, output), term.column)
            for place, term in enumerate(leaf.terms)
        ]
        hurting = sorted((sign * part, column, part) for part, column in parts if sign * part < 0)
        return [self._reason(column, values[column], part) for _, column, part in hurting[:k]]

    def _reason(self, column: int, value: Any, part: float) -> ScoredReason:
        word = self._word(column, value)
        shown = _told(value, self.model.columns[column]) if word is None else word
        name = self._own_names[column]
        return ScoredReason(name, shown, part, *self.model.reason_code(column, word))

    def _word(self, column: int, value: Any) -> str | None:
        """The word of a special value, None for all else."""
        special = self.model.columns[column].special
        code = self._readers[column](value) if special else None
        return special[code][1] if type(code) is int else None

    def _contribution(
        self, leaf: PlainLeaf, place: int, values: Sequence[Any], output: int
    ) -> float:
        """What a term adds, relative to the mean row of the leaf and, of several, all scores."""
        column, usual = leaf.terms[place].column, leaf.terms[place].usual
        of_outputs = self._nodes[leaf.node][1]
        added: list[float] = [
            adders[place][2](0.0, values[column]) - mean
            for adders, mean in zip(of_outputs, usual, strict=True)
        ]
        return added[0] if len(added) == 1 else added[output] - sum(added) / len(added)

    def _values(self, row: Row) -> Sequence[Any]:
        """The values in the order of the model's columns."""
        values = self._given(row)
        return self._with_parts(values) if self._has_dates else values

    def _with_parts(self, values: Sequence[Any]) -> list[Any]:
        """The values with the parts of dates in their places."""
        return [
            values[source] if column.date is None else date_value(values[source], column.date)
            for source, column in self._parts
        ]

    def _given(self, row: Row) -> Sequence[Any]:
        """The values in the order of the columns of a table."""
        if isinstance(row, Mapping):
            try:
                return [row[name] for name in self.names]
            except KeyError:
                return self._some_values(row)
        values: Any = row
        if hasattr(values, "tolist"):  # numpy's floats are slow to compute with one at a time
            values = values.tolist()
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise TypeError(f"A row is a sequence or a mapping; got {describe(row)}.")
        if len(values) != len(self.names):
            raise ValueError(
                f"The row has {len(values)} values; the model has {len(self.names)} columns."
            )
        return cast("Sequence[Any]", values)

    def _some_values(self, row: Mapping[str, Any]) -> list[Any]:
        needed = (self._parts[j][1].input_name for j in self._used)
        absent = [name for name in needed if name not in row]
        if absent:
            raise ValueError(
                f"The row has no value for column {absent[0]!r}. Pass None where it is missing."
            )
        return [row.get(name) for name in self.names]

    def _scores(self, values: Sequence[Any]) -> list[float]:
        """The sums of the row's leaf, and what is known beforehand."""
        sums = self._sums(values)[1]
        for offset in self.model.offsets:
            value = self._readers[offset.column](values[offset.column])
            added = _added(offset, value, self._own_names)
            sums = [total + added for total in sums]
        return sums

    def _sums(self, values: Sequence[Any]) -> tuple[int, list[float]]:
        """The row's leaf and its score for every output."""
        nodes, readers, number = self._nodes, self._readers, 0
        while True:
            node = nodes[number]
            if len(node) == 4:
                break
            column, goes_left, threshold, missing_left, left, right = node
            value = values[column]
            if type(value) is not float or goes_left is not None or value - value != 0.0:
                value = readers[column](value)
            if value is None:
                to_left = missing_left
            elif goes_left is None or type(value) is float:
                to_left = value <= threshold
            else:
                to_left = goes_left[value]
            number = left if to_left else right
        _, outputs, intercepts, limits = node
        sums = []
        for adders, intercept in zip(outputs, intercepts, strict=True):
            total = 0.0
            for column, slope, adder in adders:
                value = values[column]
                if slope is None or type(value) is not float or value - value != 0.0:
                    total = adder(total, value)
                else:
                    total += slope * value
            sums.append(total + intercept)
        if limits is not None:
            sums = [
                min(max(total, low), high) for total, (low, high) in zip(sums, limits, strict=True)
            ]
        return number, sums


def _added(offset: PlainOffset, value: float | None, names: Sequence[str]) -> float:
    """What an offset adds to the score."""
    if value is None or (offset.is_exposure and value <= 0):
        what = "a number > 0" if offset.is_exposure else "a number"
        raise ValueError(f"Column {names[offset.column]!r} must be {what}; it is {value!r}.")
    return log(value) if offset.is_exposure else value


def _prepared(node: PlainSplit | PlainLeaf, model: PlainModel) -> tuple[Any, ...]:
    """A node as the loop wants it: a split in 6 entries, a leaf in 4."""
    if isinstance(node, PlainLeaf):
        outputs = tuple(_adders(node, model, k) for k in range(model.n_outputs))
        limits = tuple(zip(node.low, node.high, strict=True)) if node.is_limited else None
        return node.node, outputs, node.intercept, limits
    column, goes_left = model.columns[node.column], None
    if column.categories is not None or column.special:
        codes = range(len(column.special if column.categories is None else column.categories))
        goes_left = {code: code in node.left_codes for code in codes}
        goes_left[_UNKNOWN] = node.unknown_left
    return node.column, goes_left, node.threshold, node.missing_left, node.left, node.right


def _adders(leaf: PlainLeaf, model: PlainModel, output: int) -> tuple[tuple[int, Any, _Adder], ...]:
    """Column, slope (None unless the term is slope times value) and what to call otherwise."""
    out: list[tuple[int, Any, _Adder]] = []
    for term in leaf.terms:
        column = model.columns[term.column]
        missing = term.missing[output] if term.missing else 0.0
        if column.is_category:
            by_code = {code: found[output] for code, found in term.categories.items()}
            out.append((term.column, None, _category_adder(by_code, missing, column)))
            continue
        slope = term.slope[output] if term.slope else 0.0
        is_plain = not (column.knots or term.bends or term.is_clamped or column.special)
        adder = _number_adder(term, output, column)
        out.append((term.column, slope if is_plain else None, adder))
    return tuple(out)


def _category_adder(by_code: dict[int, float], missing: float, column: PlainColumn) -> _Adder:
    read = _reader(column)

    def adder(total: float, value: Any) -> float:
        code = read(value)
        return total + (missing if code is None else by_code.get(code, 0.0))

    return adder


def _number_adder(term: PlainTerm, output: int, column: PlainColumn) -> _Adder:
    slope = term.slope[output] if term.slope else 0.0
    missing = term.missing[output] if term.missing else 0.0
    bends = tuple((at, numbers[output]) for at, numbers in term.bends)
    low, high, fill, read = term.low, term.high, column.fill, _reader(column)
    is_plain = not column.special
    by_code = {code: found[output] for code, found in term.categories.items()}
    xs, zs = zip(*column.knots, strict=True) if column.knots else ((), ())

    def adder(total: float, value: Any) -> float:
        # missing, infinite, no float, or maybe special
        if type(value) is not float or value - value != 0.0 or not is_plain:
            value = read(value)
        if value is None:
            total += missing
            z = fill
        elif type(value) is int:
            total += by_code.get(value, 0.0)
            z = fill
        else:
            z = interpolated(value, xs, zs) if xs else value
        z = low if z < low else high if z > high else z
        total += slope * z
        bent = 0.0
        for at, bend in bends:
            if z <= at:
                break
            bent += bend * (z - at)
        return total + bent

    return adder


def interpolated(x: float, xs: Sequence[float], zs: Sequence[float]) -> float:
    """The piecewise linear function through the points, constant beyond their ends.

    >>> interpolated(2.5, [0.0, 2.0, 3.0], [1.0, 3.0, 5.0])
    4.0
    """
    k = bisect_right(xs, x) - 1
    if k < 0:
        return zs[0]
    if k == len(xs) - 1:
        return zs[-1]
    return (zs[k + 1] - zs[k]) / (xs[k + 1] - xs[k]) * (x - xs[k]) + zs[k]


def _told(value: Any, column: PlainColumn) -> Any:
    """A value as people know it: days are a date."""
    is_date = column.date is not None and column.date.is_input and value is not None
    return date_text(value) if is_date else value


# --- values --------------------------------------------------------------------------------------


def _reader(column: PlainColumn) -> Callable[[Any], Any]:
    """What turns a cell into a float, or a category or special value into its code (an int).

    None is missing.
    """
    if column.categories is None and column.special:
        codes = {value: code for code, (value, _) in enumerate(column.special)}
        return lambda value: _special_or_number(value, column.name, codes)
    if column.categories is None:
        return lambda value: _number(value, column.name)
    code_of = CategoryCodes(column.name, column.categories, _UNKNOWN)
    return lambda value: None if is_missing(value) else code_of(value)


def _number(value: Any, name: str) -> float | None:
    if is_missing(value):
        return None
    if isinstance(value, (str, bytes)):
        raise ValueError(
            f"Column {name!r} was numeric when the model was fitted and holds"
            f" {describe(value)} now."
        )
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"Column {name!r} holds {describe(value)}, which is no number.") from None
    if not isfinite(number):
        raise ValueError(
            f"Column {name!r} contains infinity. Replace it by a number or by a missing value."
        )
    return number


def _special_or_number(value: Any, name: str, codes: dict[float, int]) -> float | int | None:
    number = _number(value, name)
    return number if number is None else codes.get(number, number)


# --- links ---------------------------------------------------------------------------------------


def _logit(sums: list[float]) -> list[float]:
    raw = sums[0]
    small = exp(-abs(raw))
    less, more = small / (1.0 + small), 1.0 / (1.0 + small)
    return [less, more] if raw >= 0 else [more, less]


def _logit_of_first(sums: list[float]) -> list[float]:
    return _logit([-sums[0]])


def _softmax(sums: list[float]) -> list[float]:
    largest = max(sums)
    powers = [exp(raw - largest) for raw in sums]
    total = sum(powers)
    return [power / total for power in powers]


_FINISH: dict[str, Callable[[list[float]], Any]] = {
    "identity": lambda sums: sums[0],
    "log": lambda sums: exp(min(sums[0], LARGEST_EXPONENT)),
    "logit": _logit,
    "softmax": _softmax,
}
