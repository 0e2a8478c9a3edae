"""A table of ``glassleaf.inference`` as data, for those who show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from glassleaf.errors import describe
from glassleaf.explanations import words
from glassleaf.explanations.json_data import JsonData

_COLUMNS = ("where", "term", "estimate", "standard error", "lower", "upper", "p")


@dataclass(frozen=True)
class Estimate(JsonData):
    """A number of the model with its standard error, interval and p-value; NaN where unknown.

    ``unit`` is a step of the term that compares with others: one standard deviation of a number,
    1 for a category. ``output`` is the class, empty if there is one score.
    """

    where: str
    output: str
    term: str
    value: float
    error: float
    low: float
    high: float
    p: float
    unit: float

    @property
    def interval_text(self) -> str:
        """``0.31 to 0.52``."""
        if np.isnan(self.low):
            return "none"
        return f"{words.number(self.low, 3)} to {words.number(self.high, 3)}"

    @property
    def p_text(self) -> str:
        """``0.031``, ``< 0.001``."""
        return "none" if np.isnan(self.p) else words.p_value(self.p).removeprefix("p ").lstrip("= ")


@dataclass(frozen=True)
class Estimates(JsonData):
    """The numbers of a model, whether effects differ between segments, and what else to say."""

    coverage: float
    lines: tuple[Estimate, ...]
    differences: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def coverage_text(self) -> str:
        """``95%``."""
        return words.percent(self.coverage)


def read_estimates(table: Any) -> Estimates:
    """The data in a table of ``glassleaf.inference``, or in some of its rows."""
    columns = list(getattr(table, "columns", ()))
    if not set(_COLUMNS) <= set(columns):
        raise TypeError(f"{describe(table)} must be a table that glassleaf.inference returned.")
    units = table.attrs.get("unit", {})
    lines = tuple(
        Estimate(
            where=record["where"],
            output=record.get("class", ""),
            term=record["term"],
            value=record["estimate"],
            error=record["standard error"],
            low=record["lower"],
            high=record["upper"],
            p=record["p"],
            unit=units.get(index, 1.0),
        )
        for index, record in zip(table.index, table.to_dict("records"), strict=True)
    )
    said = (tuple(table.attrs.get(kind, ())) for kind in ("differences", "notes"))
    return Estimates(table.attrs.get("coverage", 0.95), lines, *said)
