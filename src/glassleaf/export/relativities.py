"""The tree as a rate book: a base rate, and factors by which levels of columns multiply it.

Where leaves share their formula, there is one book for all rows and a few more factors for every
segment that differs; else there is a book per leaf. The rate of a row is the product of the base
rate and all relativities that hold, in all parts whose segment it belongs to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import groupby
from math import exp, isfinite, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import ExportError, describe
from glassleaf.export import sheets
from glassleaf.export.levels import (
    Edges,
    Level,
    Limits,
    Part,
    banded_parts,
    begins,
    range_text,
    rows_of_nodes,
    score,
)
from glassleaf.tables.short_numbers import to_digits
from glassleaf.tables.special import state_value, with_states
from glassleaf.tables.table import Column
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import FittedModel, linear_model
from glassleaf.tree.plain import PlainModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Bands of a number at most, and by what share the rates of a band may spread around its mean.
_MOST_BANDS = 8
_FINEST = 0.02
_DIGITS = 4  # of a relativity
_RATE_DIGITS = 6


@dataclass(frozen=True)
class Rate:
    """A line of the book: by what a level of a factor multiplies the rate of the base level.

    The first line without a factor is the base rate or, of a segment that differs, by what that
    differs where all its factors have their base levels; a second one says within which ends rates
    are held. ``exposure`` and ``claims`` are those of the rows
    that the line is for, and ``actual_expected`` is what they claimed by what the model expects.
    """

    node: int
    segment: str
    factor: str
    level: str
    above: float | None
    up_to: float | None
    exposure: float
    claims: float | None
    relativity: float
    actual_expected: float | None


@dataclass(frozen=True)
class RateBook:
    """All lines; ``rounding`` is the largest difference from the model's rate, as a share of it."""

    rates: tuple[Rate, ...]
    rounding: float
    _fitted: FittedModel = field(repr=False, compare=False)
    _parts: tuple[Part, ...] = field(repr=False, compare=False)
    _limits: Limits = field(repr=False, compare=False)

    def rate(self, X: Any) -> Floats:
        """The rates of rows, by the book."""
        return np.exp(score(self._fitted, self._parts, self._limits, self._fitted.matrix(X)))

    def rows(self) -> list[dict[str, Any]]:
        """The lines as dicts, for a DataFrame or a template."""
        return [asdict(rate) for rate in self.rates]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The book as CSV text, written to a file if there is a path."""
        return sheets.csv_text(self._table(), path)

    def to_excel(self, path: str | os.PathLike[str]) -> None:
        """The book as an Excel file."""
        sheets.write_excel(path, {"rates": self._table()})

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The book as one page, written to a file if there is a path."""
        shown = [name for name in _SHOWN if any(getattr(rate, name) for rate in self.rates)]
        tables = [
            sheets.html_table(segment, shown, [
                ["" if (cell := getattr(line, name)) is None else cell for name in shown]
                for line in lines
            ])
            for (_, segment), lines in groupby(self.rates, lambda rate: (rate.node, rate.segment))
        ]  # fmt: skip
        return sheets.html_page("Relativities", tables, path)

    def _table(self) -> list[list[Any]]:
        names = [each.name for each in fields(Rate)]
        return [names, *(list(row.values()) for row in self.rows())]


_SHOWN = ("factor", "level", "exposure", "claims", "relativity", "actual_expected")


def relativities(
    estimator: Any,
    X: Any,
    y: Any = None,
    exposure: Any = None,
    *,
    base: str | Mapping[str, Any] = "largest",
    bands: str | Mapping[str, Edges] = "auto",
) -> RateBook:
    """The tree as a rate book.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor with a log link, such as ``loss="poisson"``
    X : table
        The rows that exposure and claims are counted over, such as those of the fit.
    y : array, default=None
        What was claimed, all in all in the time of exposure; without it there are no claims.
    exposure : array, default=None
        How long the rows were exposed; None: as the model knows from X, else each one unit. The
        book has rates per unit.
    base : {"largest"} or dict from columns to values, default="largest"
        The level of every factor whose relativity is 1: that with the largest exposure, or that of
        a value, such as ``{"age": 40, "region": "north"}``.
    bands : {"auto"} or dict from columns to ends of ranges, default="auto"
        "auto": at most 8 ranges per number. A range holds its upper end, and its relativity is that
        of the mean of what the model adds over the rows in it.

    Returns
    -------
    RateBook

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from glassleaf import ModelTreeRegressor, relativities
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.integers(18, 80, 5000), "town": rng.choice(["a", "b"], 5000)})
    >>> claims = rng.poisson(np.where(X["town"] == "b", 0.4, 0.2))
    >>> model = ModelTreeRegressor(loss="poisson").fit(X, claims)
    >>> book = relativities(model, X, claims, base={"town": "a"})
    >>> [(rate.factor, rate.level, rate.relativity) for rate in book.rates[:3]]
    [('', 'base', 0.201897), ('town', '= a', 1.0), ('town', 'any other', 2.014)]
    """
    fitted = linear_model(estimator)
    model = plain_model(fitted)
    if model.link != "log":
        raise ExportError(
            "Rates are multiplied: this needs a model with a log link, such as loss='poisson'."
        )
    if not all(known.is_exposure for known in model.offsets):
        raise ExportError("A rate book is not supported for a model that was fitted with offset.")
    matrix = fitted.matrix(X)
    known = fitted.tree.known(matrix)
    weight = np.exp(known) if exposure is None else _numbers("exposure", exposure, len(matrix))
    claims = None if y is None else _numbers("y", y, len(matrix))
    raw = fitted.raw(matrix)[:, 0] - known
    counts = _Counts(weight, claims, weight * fitted.loss.inverse_link(raw))
    under, given = rows_of_nodes(fitted, matrix), _base_codes(fitted, base)
    parts = tuple(
        _rounded(_on_base(part, given, under[part.node], matrix, weight))
        for part in banded_parts(fitted, model, matrix, _edges(fitted, bands), _MOST_BANDS, _FINEST)
    )
    limits = _limits(model)
    lines: list[Rate] = []
    for part in parts:
        leaf = model.leaves[0].node if model.differences else part.node
        held = limits.get(leaf) if begins(model, part) else None
        lines += _lines(fitted, part, under[part.node], matrix, counts, held)
    off = np.exp(score(fitted, parts, limits, matrix) - raw) - 1.0
    return RateBook(tuple(lines), float(np.abs(off).max()), fitted, parts, limits)


def _numbers(name: str, given: Any, n_rows: int) -> Floats:
    found = np.asarray(given, dtype=np.float64).ravel()
    if len(found) != n_rows or not (found >= 0).all():
        raise ValueError(f"{name} must have a number >= 0 for each of the {n_rows} rows of X.")
    return found


def _edges(fitted: FittedModel, bands: Any) -> dict[int, list[float]]:
    if bands == "auto":
        return {}
    if not isinstance(bands, Mapping):
        raise ValueError(
            f"bands={describe(bands)} must be 'auto' or a dict from columns to ends of ranges."
        )
    return {fitted.position(name, "bands"): sorted(ends) for name, ends in bands.items()}


def _limits(model: PlainModel) -> Limits:
    """The logarithms of the ends of rates, by leaf."""

    def short(end: float) -> float | None:
        return _log_of_short(end, _DIGITS) if isfinite(end) else None

    return {
        leaf.node: (short(leaf.low[0]), short(leaf.high[0]))
        for leaf in model.leaves
        if leaf.is_limited
    }


# --- base levels ---------------------------------------------------------------------------------


def _base_codes(fitted: FittedModel, base: Any) -> dict[int, float]:
    """Given base values by column, as entries of a raw matrix."""
    if base == "largest":
        return {}
    if not isinstance(base, Mapping):
        raise ValueError(
            f"base={describe(base)} must be 'largest' or a dict from columns to values."
        )
    out = {}
    for name, value in base.items():
        column = fitted.position(name, "base")
        out[column] = _base_code(fitted.tree.columns[column], value)
    return out


def _base_code(column: Column, value: Any) -> float:
    """A given base value as an entry of a raw matrix."""
    is_number = column.categories is None and not isinstance(value, str)
    if is_number:
        return float(with_states(np.array([value], dtype=np.float64), column.special)[0])
    if value not in column.codes:
        name = column.name
        raise ValueError(f"base has {describe(value)} for {name!r}, which training never saw.")
    code = column.codes.index(value)
    return state_value(code + 1) if column.categories is None else float(code)


def _on_base(
    part: Part, given: dict[int, float], here: Bools, matrix: Floats, weight: Floats
) -> Part:
    """A part whose levels are relative to the base levels."""
    constant, found = part.constant, []
    for levels in part.levels:
        start = _base_level(levels, given, here, matrix, weight)
        constant += start.added
        found.append(tuple(replace(one, added=one.added - start.added) for one in levels))
    return replace(part, constant=constant, levels=tuple(found))


def _base_level(
    levels: Sequence[Level], given: dict[int, float], here: Bools, matrix: Floats, weight: Floats
) -> Level:
    column = levels[0].column
    if column in given:
        value = np.array([given[column]])
        return next(level for level in levels if level.holds(value)[0])
    exposed = [float(weight[here & level.holds(matrix[:, column])].sum()) for level in levels]
    return levels[int(np.argmax(exposed))]


def _rounded(part: Part) -> Part:
    """The logarithms of factors with few digits."""
    levels = tuple(
        tuple(replace(one, added=_log_of_short(one.added, _DIGITS)) for one in own)
        for own in part.levels
    )
    return replace(part, constant=_log_of_short(part.constant, _RATE_DIGITS), levels=levels)


def _log_of_short(added: float, digits: int) -> float:
    return log(to_digits(exp(added), digits))


# --- lines ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counts:
    exposure: Floats
    claims: Floats | None
    expected: Floats

    def of(
        self, held: Bools, relativity: float, digits: int
    ) -> tuple[float, float | None, float, float | None]:
        """Exposure, claims, the relativity, and claims by what was expected."""
        exposure, relativity = float(self.exposure[held].sum()), to_digits(relativity, digits)
        if self.claims is None:
            return exposure, None, relativity, None
        claims, expected = float(self.claims[held].sum()), float(self.expected[held].sum())
        return exposure, claims, relativity, claims / expected if expected > 0 else None


def _lines(
    fitted: FittedModel,
    part: Part,
    here: Bools,
    matrix: Floats,
    counts: _Counts,
    limits: tuple[float | None, float | None] | None,
) -> Iterator[Rate]:
    whose = (part.node, part.segment)
    yield Rate(*whose, "", "base", None, None, *counts.of(here, exp(part.constant), _RATE_DIGITS))
    for level in (level for own in part.levels for level in own):
        held = here & level.holds(matrix[:, level.column])
        known = counts.of(held, exp(level.added), _DIGITS)
        name = fitted.names[level.column]
        yield Rate(*whose, name, level.text, level.above, level.up_to, *known)
    if limits:
        low, high = (None if end is None else to_digits(exp(end), _DIGITS) for end in limits)
        known = counts.of(here, 1.0, _DIGITS)
        yield Rate(*whose, "", f"rate {range_text(low, high, '≥')}", low, high, *known)
