"""Lists of data objects that can be had as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from glassleaf.errors import require

T = TypeVar("T")

_WHAT = "A table of results"


class Listed(list[T]):
    """A list of data objects; ``to_frame`` gives them as rows of a table.

    >>> Listed([{"a": 1}, {"a": 2}]).records()
    [{'a': 1}, {'a': 2}]
    """

    def records(self) -> list[dict[str, Any]]:
        """One dict per row of the table."""
        return [flat(entry) for entry in self]

    def to_frame(self) -> Any:
        """A pandas DataFrame, or a polars one where only polars is installed."""
        return frame(self.records())


def flat(entry: Any) -> dict[str, Any]:
    """The fields of a data object by name; those of a mapping in it stand beside them."""
    given = entry if isinstance(entry, Mapping) else {
        field.name: getattr(entry, field.name) for field in fields(entry)
    }  # fmt: skip
    out: dict[str, Any] = {}
    for name, value in given.items():
        out |= value if isinstance(value, Mapping) else {name: value}
    return out


def frame(records: list[dict[str, Any]]) -> Any:
    """Records as a pandas DataFrame, or a polars one where only that is installed."""
    try:
        return require("pandas", extra="demo", purpose=_WHAT).DataFrame(records)
    except ImportError as missing:
        try:
            polars = require("polars", extra="demo", purpose=_WHAT)
        except ImportError:
            raise missing from None
        return polars.DataFrame(records, strict=False, infer_schema_length=None)
