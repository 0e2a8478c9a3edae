"""A table in which some numbers are codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.special import Special, with_states
from glassleaf.tables.table import Labels, RowIndex, Table, remembering

Floats = NDArray[np.float64]


class CodedTable:
    """Another table, whose columns of numbers have special values as states."""

    def __init__(self, table: Table, special: Sequence[tuple[Special, ...]]) -> None:
        self.table, self.special = table, special
        self.n_rows, self.n_columns = table.n_rows, table.n_columns
        self.names, self.is_named = table.names, table.is_named

    def numeric(self, column: int) -> Floats:
        return with_states(self.table.numeric(column), self.special[column])

    def numeric_columns(self, columns: Sequence[int]) -> list[Floats]:
        found = self.table.numeric_columns(columns)
        return [with_states(own, self.special[j]) for own, j in zip(found, columns, strict=True)]

    def labels(self, column: int) -> Labels:
        return self.table.labels(column)

    def holds_text(self, column: int) -> bool:
        return self.table.holds_text(column)

    def take(self, rows: RowIndex) -> Table:
        return CodedTable(self.table.take(rows), self.special)


def with_codes(table: Table, special: Sequence[tuple[Special, ...]]) -> Table:
    """The table, with the special values of every column as states."""
    return CodedTable(remembering(table), special) if any(special) else table
