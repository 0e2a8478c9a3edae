"""What the columns of a file are: numbers, categories, identifiers; said, and never silent."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassleaf.cli import cells
from glassleaf.cli.cells import Floats, compute
from glassleaf.cli.conforming import DATE_HINT
from glassleaf.cli.failures import DataError
from glassleaf.cli.files import pa
from glassleaf.cli.problems import Problems

# So much of a column must be numbers (or dates) for the rest to be errors.
MOSTLY = 0.95
# So many of the values must be distinct for a column to name its rows.
_NEARLY_ALL = 0.9
_FEWEST_ROWS = 20
_MANY_CATEGORIES = 100

_NAMED_ID = re.compile(r"^(id|uuid|guid|index|row_?id|row|unnamed: \d+)$", re.IGNORECASE)
_LIKE_ID = re.compile(r"([_ .-](id|uuid|guid|key|no|nr)|[a-z]I[dD])$")


@dataclass(frozen=True)
class Known:
    """A column that the model gets: its values, and in words what it was taken for."""

    name: str
    values: Any  # float64 with NaN, or an arrow array of text
    is_category: bool
    words: str


@dataclass(frozen=True)
class Dropped:
    """A column that the model does not get, and why."""

    name: str
    why: str
    can_keep: bool = True


@dataclass(frozen=True)
class Reading:
    """How the cells of this file are to be understood."""

    is_text: bool
    missing: Sequence[str]
    decimal: str
    numbers: Any
    problems: Problems

    def text(self, column: Any) -> Any:
        """A column of text; in a text file blanks and marks of missing values are taken away."""
        text = cells.plain_text(column)
        return cells.cleaned(text, self.missing) if self.is_text else text

    def parsed(self, name: str, text: Any) -> Floats:
        """Text as numbers; what is none is a problem of its line."""
        values, bad = cells.parsed_numbers(cells.with_point(text, self.decimal))
        for row in bad:
            cell = text[int(row)].as_py()
            self.problems.add(self.numbers[row], f"column {name!r}: {cell!r} is no number")
        if len(bad):
            self.problems.hint = (
                "Is the column one of categories (--categorical NAME)? Does the text stand for a"
                " missing value (--missing TEXT)? "
            )
        values[bad] = np.nan
        return values


def learn(
    table: Any, reading: Reading, categorical: Sequence[str], keep: Sequence[str]
) -> tuple[list[Known], list[Dropped]]:
    """Every column of the table, either known or dropped."""
    known: list[Known] = []
    dropped: list[Dropped] = []
    dates: list[str] = []
    for name in table.column_names:
        column = table[name].combine_chunks()
        if _holds_dates(column, reading) and name not in categorical:
            dates.append(name)
            continue
        found = _learned(name, column, reading, name in categorical)
        why = None if name in [*keep, *categorical] else _no_use(found)
        if why is None:
            known.append(found)
        else:
            dropped.append(Dropped(name, why))
    if dates:
        raise DataError(_dates_said(dates))
    return known, dropped


def check_decimals(table: Any, reading: Reading) -> None:
    """Numbers with a decimal comma would pass for categories: they must be said."""
    if not reading.is_text or reading.decimal != ".":
        return
    for name in table.column_names:
        text = reading.text(table[name])
        if cells.share_matching(text, rf"{cells.NUMBER}|{cells.WITH_COMMA}") >= MOSTLY and (
            cells.share_matching(text, cells.WITH_COMMA) > 1 - MOSTLY
        ):
            shown = compute.filter(text, compute.match_substring_regex(text, cells.WITH_COMMA))
            raise DataError(
                f"column {name!r} has numbers with a comma, like {shown[0].as_py()!r}."
                " If that is the sign of decimals: --decimal ,"
            )


def _dates_said(names: list[str]) -> str:
    listed = ",".join(names)
    columns = f"column {names[0]!r} holds" if len(names) == 1 else f"columns {listed} hold"
    return f"{columns} dates; {DATE_HINT}, or leave them out: --drop {shlex.quote(listed)}"


def _holds_dates(column: Any, reading: Reading) -> bool:
    if cells.is_text(column):
        return cells.share_matching(reading.text(column), cells.DATE) >= MOSTLY
    return cells.is_temporal(column)


def _learned(name: str, column: Any, reading: Reading, is_category: bool) -> Known:
    if cells.is_text(column):
        text = reading.text(column)
        if not is_category and reading.is_text:
            dotted = cells.with_point(text, reading.decimal)
            if cells.share_matching(text, cells.CODE) > 0:
                return Known(name, text, True, "codes with leading zeros")
            if cells.share_matching(dotted, cells.NUMBER) >= MOSTLY:
                return Known(name, reading.parsed(name, text), False, "number")
        return Known(name, text, True, "category")
    if cells.is_numeric(column):
        if is_category:
            return Known(name, cells.numbers_as_text(column), True, "category")
        values = cells.as_floats(column)
        for row in np.flatnonzero(np.isinf(values)):
            reading.problems.add(reading.numbers[row], f"column {name!r}: infinite")
            values[row] = np.nan
        return Known(name, values, False, "number")
    if pa.types.is_null(column.type):
        return Known(name, np.full(len(column), np.nan), False, "number")
    raise DataError(
        f"column {name!r} has the type {column.type}, which is no number and no text."
        f" Leave it out: --drop {name!r}"
    )


# --- columns without use -------------------------------------------------------------------------


def _no_use(column: Known) -> str | None:
    """Why a column cannot help to predict a new row; None: it may."""
    return _text_no_use(column) if column.is_category else _number_no_use(column)


def _number_no_use(column: Known) -> str | None:
    values = column.values[~np.isnan(column.values)]
    if len(values) == 0:
        return "empty"
    if len(values) == len(column.values) and values.min() == values.max():
        return f"the same in every row ({values[0]:g})"
    is_whole = bool((values == np.floor(values)).all())
    if _NAMED_ID.match(column.name):
        return "an identifier, by its name"
    if not is_whole or len(values) < _FEWEST_ROWS:
        return None
    if len(values) == len(column.values) and (np.diff(values) == 1).all():
        return "an identifier: it numbers the rows"
    distinct = len(np.unique(values)) / len(values)
    if _LIKE_ID.search(column.name) and distinct >= _NEARLY_ALL:
        return "an identifier: its name, and a value of its own in nearly every row"
    return None


def _text_no_use(column: Known) -> str | None:
    n_there = len(column.values) - column.values.null_count
    n_distinct = compute.count_distinct(column.values).as_py()
    if n_there == 0:
        return "empty"
    if n_distinct == 1 and n_there == len(column.values):
        return f"the same in every row ({compute.drop_null(column.values)[0].as_py()!r})"
    if _NAMED_ID.match(column.name):
        return "an identifier, by its name"
    if n_there >= _FEWEST_ROWS and n_distinct >= _NEARLY_ALL * n_there:
        return "an identifier: nearly every row has a text of its own"
    return None


def details(column: Known) -> str:
    """What was found in a column, for the screen."""
    if column.is_category:
        counts = compute.value_counts(compute.drop_null(column.values)).to_pylist()
        counts.sort(key=lambda pair: (-pair["counts"], pair["values"]))
        shown = [str(pair["values"]) for pair in counts[:4]]
        more = [f"{len(counts) - 4:,} more"] if len(counts) > 4 else []
        many = "many: " if len(counts) > _MANY_CATEGORIES else ""
        return f"{many}{', '.join([*shown, *more])}"
    values = column.values[~np.isnan(column.values)]
    return f"{values.min():.6g} to {values.max():.6g}" if len(values) else "empty"


def n_missing(column: Known) -> int:
    if column.is_category:
        return int(column.values.null_count)
    return int(np.isnan(column.values).sum())
