"""What the columns of a file are: numbers, categories, identifiers; said, and never silent."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassleaf.cli.failures import DataError
from glassleaf.cli.reading import cells
from glassleaf.cli.reading.cells import Floats, compute
from glassleaf.cli.reading.conform import DATE_HINT
from glassleaf.cli.reading.files import pa
from glassleaf.cli.reading.problems import Problems
from glassleaf.cli.reading.profiles import Look, NumberLook, TextLook

# So much of a column must be numbers (or dates) for the rest to be errors.
MOSTLY = 0.95


@dataclass(frozen=True)
class Known:
    """A column that the model gets: its values, and in words what it was taken for.

    Values of rows that are streamed are None: they are not kept.
    """

    name: str
    values: Any  # float64 with NaN, or an arrow array of text
    is_category: bool
    words: str
    look: Look


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
        """Text as numbers; what is none is a problem of its row."""
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
        if holds_dates(column, reading) and name not in categorical:
            dates.append(name)
            continue
        found = _learned(name, column, reading, name in categorical)
        why = None if name in [*keep, *categorical] else found.look.no_use(name)
        if why is None:
            known.append(found)
        else:
            dropped.append(Dropped(name, why))
    if dates:
        raise dates_refused(dates)
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


def dates_refused(names: list[str]) -> DataError:
    """What to do about columns of dates."""
    listed = ", ".join(map(repr, names))
    columns = f"column {listed} holds" if len(names) == 1 else f"columns {listed} hold"
    options = " ".join(f"--drop {shlex.quote(name)}" for name in names)
    return DataError(f"{columns} dates; {DATE_HINT}, or leave them out: {options}")


def holds_dates(column: Any, reading: Reading) -> bool:
    """Whether a column holds dates, as such or as text."""
    if cells.is_text(column):
        return cells.share_matching(reading.text(column), cells.DATE) >= MOSTLY
    return cells.is_temporal(column)


def _learned(name: str, column: Any, reading: Reading, is_category: bool) -> Known:
    if cells.is_text(column):
        text = reading.text(column)
        if not is_category and reading.is_text:
            dotted = cells.with_point(text, reading.decimal)
            if cells.share_matching(text, cells.CODE) > 0:
                return _category(name, text, "codes with leading zeros")
            if cells.share_matching(text, cells.TRUTH) == 1:
                return _number(name, reading.parsed(name, text), "number: true is 1")
            if cells.share_matching(dotted, cells.NUMBER) >= MOSTLY:
                return _number(name, reading.parsed(name, text))
        return _category(name, text)
    if cells.is_numeric(column):
        if is_category:
            return _category(name, cells.numbers_as_text(column))
        values = cells.as_floats(column)
        for row in np.flatnonzero(np.isinf(values)):
            reading.problems.add(reading.numbers[row], f"column {name!r}: infinite")
            values[row] = np.nan
        return _number(name, values)
    if pa.types.is_null(column.type):
        return _number(name, np.full(len(column), np.nan))
    raise unusable_type(name, column.type)


def unusable_type(name: str, kind: Any) -> DataError:
    """A column that is neither numbers nor text."""
    return DataError(
        f"column {name!r} has the type {kind}, which is no number and no text."
        f" Leave it out: --drop {shlex.quote(name)}"
    )


def _number(name: str, values: Floats, words: str = "number") -> Known:
    look = NumberLook()
    look.add(values)
    return Known(name, values, False, words, look)


def _category(name: str, values: Any, words: str = "category") -> Known:
    look = TextLook()
    look.add(values)
    return Known(name, values, True, words, look)
