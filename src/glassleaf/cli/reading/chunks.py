"""Tables in pieces: what every reader gives, and every command that reads files takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Chunk:
    """Some rows as a pyarrow table, and the number of the record (or row) of each."""

    table: Any
    numbers: Any  # a sequence of int

    def places_without(self, bad: set[int]) -> NDArray[np.intp]:
        """Places in the chunk of the rows whose numbers are not among the bad ones."""
        return np.flatnonzero(~np.isin(np.asarray(self.numbers), list(bad)))


@dataclass(frozen=True)
class Source:
    """A file being read: its columns, and its rows one chunk after the other.

    ``unit`` is what the numbers of rows count: records of a text, rows of a typed table. In a
    ``text`` every column is text, and what is a number has yet to be found out.
    """

    name: str
    names: list[str]
    unit: str
    chunks: Iterator[Chunk]
    text: bool
    written: str = ""
