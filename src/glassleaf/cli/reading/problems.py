"""Rows that cannot be used: where they are, what is wrong, and whether to stop or to go on."""

from __future__ import annotations

from dataclasses import dataclass, field

from glassleaf.cli.choices import OnError
from glassleaf.cli.failures import DataError
from glassleaf.cli.output.screen import note

_MOST_SHOWN = 5
_MOST_CELLS = 3


@dataclass
class Problems:
    """The unusable rows of a file, by record (or row) number."""

    source: str
    on_error: OnError
    unit: str = "record"
    found: dict[int, list[str]] = field(default_factory=dict)
    # A file may hold more bad rows than memory: beyond those shown, they are only counted.
    n_skipped: int = 0
    hint: str = ""

    def add(self, number: int, what: str) -> None:
        """Something is wrong with the row of that number."""
        self.found.setdefault(int(number), []).append(what)

    def settle(self) -> set[int]:
        """Numbers of the rows to leave out, of those read since the last call; or an error."""
        fresh = set(self.found)
        if fresh and self.on_error is OnError.stop:
            raise DataError(self._all_said())
        for number in sorted(fresh)[: max(_MOST_SHOWN - self.n_skipped, 0)]:
            note(f"skipped {self._said(number)}")
        self.n_skipped += len(fresh)
        self.found.clear()
        return fresh

    def count_said(self) -> None:
        """The number of rows that were left out, at the end."""
        if self.n_skipped:
            rows = "row" if self.n_skipped == 1 else "rows"
            note(f"{self.source}: {self.n_skipped:,} {rows} skipped.")

    def _said(self, number: int) -> str:
        found = self.found[number]
        more = [f"and {len(found) - _MOST_CELLS} more"] if len(found) > _MOST_CELLS else []
        return f"{self.source}, {self.unit} {number}: {'; '.join([*found[:_MOST_CELLS], *more])}"

    def _all_said(self) -> str:
        numbers = sorted(self.found)
        lines = [self._said(number) for number in numbers[:_MOST_SHOWN]]
        if len(numbers) > _MOST_SHOWN:
            lines.append(f"... and {len(numbers) - _MOST_SHOWN:,} more rows so far.")
        lines.append(f"{self.hint}To leave such rows out: --on-error skip")
        return "\n".join(lines)
