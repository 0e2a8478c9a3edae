"""When two categories are the same, whatever container or file they come from. No numpy.

A value is the category that it equals. If there is none, numbers and texts are compared by the
number that they write: 2, "2" and "2.0" are the same, as are True, "true" and 1; "02" is a word. A
word where the model knows only numbers, or a number where it knows only words, is an error.
``scorer.js`` and the exported Python follow the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from glassleaf.errors import describe

_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTHS = {"true": 1, "false": 0}


def number_in(text: str) -> int | float | None:
    """The number that a text writes; None if it writes none.

    >>> number_in("2"), number_in("-2.50"), number_in("True"), number_in("02")
    (2, -2.5, 1, None)
    """
    if not _NUMBER.fullmatch(text):
        return _TRUTHS.get(text.lower())
    try:
        return int(text)
    except ValueError:
        return float(text)


def codes_by_number(categories: Sequence[Any]) -> dict[Any, int | None]:
    """The codes of the categories that are or write numbers; None if several write the same.

    >>> codes_by_number(["a", "2", 3, "4", "4.0"])
    {2: 1, 3: 2, 4: None}
    """
    found: dict[Any, int | None] = {}
    for code, category in enumerate(categories):
        number = number_in(category) if isinstance(category, str) else category
        if number is not None:
            found[number] = None if number in found else code
    return found


class CategoryCodes:
    """Finds the code of a value among the categories of a column."""

    def __init__(self, name: str, categories: Sequence[Any], unknown: int) -> None:
        self._name = name
        self._codes = {category: code for code, category in enumerate(categories)}
        self._unknown = unknown

    def __call__(self, value: Any) -> int:
        """The code of a value that is not missing."""
        code = self._codes.get(value)
        return self._code_by_number(value) if code is None else code

    def _code_by_number(self, value: Any) -> int:
        number = number_in(value) if isinstance(value, str) else value
        if number is None and self._codes and not self._holds_text:
            raise self._error("numbers", value)
        if not isinstance(value, str) and self._codes and not self._by_number:
            raise self._error("text", value)
        code = self._by_number.get(number, self._unknown)
        if code is None:
            raise self._error("several texts for this number", value)
        return code

    @cached_property
    def _holds_text(self) -> bool:
        return any(isinstance(category, str) for category in self._codes)

    @cached_property
    def _by_number(self) -> dict[Any, int | None]:
        return codes_by_number(list(self._codes))

    def _error(self, held: str, value: Any) -> ValueError:
        return ValueError(
            f"Column {self._name!r} held {held} when the model was fitted and holds"
            f" {describe(value)} now."
        )
