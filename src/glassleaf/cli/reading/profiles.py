"""Profiles of columns, target and whole data, gathered chunk by chunk in bounded memory.

A profile tells how many values are missing, which values there are, and why the column cannot help
to predict a new row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.options import Task
from glassleaf.cli.reading.cells import Floats, compute

# Share of distinct values from which a column identifies its rows.
_NEARLY_ALL = 0.9
# ... if it is text; such as names of people, of which some are alike.
_MOST = 0.5
_FEWEST_ROWS = 20
_MANY_CATEGORIES = 100
# Values that are compared with each other, and labels that are counted, at most.
_COMPARED = 1 << 17
_MOST_LABELS = 100_000

_NAMED_ID = re.compile(
    r"^(id|uuid|guid|index|row_?id|row|unnamed: \d+|__index_level_\d+__)$", re.IGNORECASE
)
_LIKE_ID = re.compile(r"([_ .-](id|uuid|guid|key|no|nr)|[a-z]I[dD])$")


@dataclass
class NumberProfile:
    """A column of numbers."""

    n_rows: int = 0
    n_missing: int = 0
    low: float = np.inf
    high: float = -np.inf
    is_whole: bool = True
    numbers_rows: bool = True
    _last: float = np.nan
    _first_values: list[Floats] = field(default_factory=list)
    _n_kept: int = 0

    def add(self, values: Floats) -> None:
        """Take in more rows; NaN is missing."""
        there = values[~np.isnan(values)]
        self.n_rows += len(values)
        self.n_missing += len(values) - len(there)
        if not len(there):
            return
        self.low, self.high = min(self.low, there.min()), max(self.high, there.max())
        self.is_whole = self.is_whole and bool((there == np.floor(there)).all())
        if self.numbers_rows:
            steps = np.diff(there, prepend=there[0] - 1 if np.isnan(self._last) else self._last)
            self.numbers_rows = len(there) == len(values) and bool((steps == 1).all())
            self._last = float(there[-1])
        if self.is_whole and self._n_kept < _COMPARED:
            self._first_values.append(there[: _COMPARED - self._n_kept].copy())
            self._n_kept += len(self._first_values[-1])

    def no_use(self, name: str) -> str | None:
        """Why the column cannot help to predict a new row; None if it may."""
        if self.n_missing == self.n_rows:
            return "empty"
        if not self.n_missing and self.low == self.high:
            return f"the same in every row ({self.low:g})"
        if _NAMED_ID.match(name):
            return "an identifier, by its name"
        if not self.is_whole or self.n_rows - self.n_missing < _FEWEST_ROWS:
            return None
        if not self.n_missing and self.numbers_rows:
            return "an identifier: it numbers the rows"
        if _LIKE_ID.search(name):
            n_distinct = len(np.unique(np.concatenate(self._first_values)))
            if n_distinct >= _NEARLY_ALL * self._n_kept:
                return "an identifier: its name, and a value of its own in nearly every row"
        return None

    def details(self) -> str:
        """The values in a few words."""
        return f"{self.low:.6g} to {self.high:.6g}" if self.low <= self.high else "empty"


@dataclass
class TextProfile:
    """A column of categories."""

    n_rows: int = 0
    n_missing: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    n_counted: int = 0

    def add(self, values: Any) -> None:
        """Take in more rows, as an arrow array of text."""
        self.n_rows += len(values)
        self.n_missing += values.null_count
        if len(self.counts) > _MOST_LABELS:
            return
        self.n_counted += len(values) - values.null_count
        for pair in compute.value_counts(compute.drop_null(values)).to_pylist():
            self.counts[pair["values"]] += pair["counts"]

    def no_use(self, name: str) -> str | None:
        """Why the column cannot help to predict a new row; None if it may."""
        n_distinct = len(self.counts)
        if not self.n_counted:
            return "empty"
        if n_distinct == 1 and not self.n_missing:
            return f"the same in every row ({next(iter(self.counts))!r})"
        if _NAMED_ID.match(name):
            return "an identifier, by its name"
        if self.n_counted >= _FEWEST_ROWS and n_distinct >= _MOST * self.n_counted:
            share = n_distinct / self.n_counted
            return f"names or identifiers: {share:.0%} of its texts are different"
        return None

    def details(self) -> str:
        """The values in a few words."""
        counts = sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = [str(label) for label, _ in counts[:4]]
        more = [f"{len(counts) - 4:,} more"] if len(counts) > 4 else []
        many = "many: " if len(counts) > _MANY_CATEGORIES else ""
        return f"{many}{', '.join([*shown, *more])}"


@dataclass
class DateProfile:
    """A column of dates."""

    n_rows: int = 0
    n_missing: int = 0
    low: Any = None
    high: Any = None

    def add(self, values: Any) -> None:
        """Take in more rows, as an arrow array of dates or stamps."""
        self.n_rows += len(values)
        self.n_missing += values.null_count
        found = compute.min_max(values)
        if found["min"].is_valid:
            low, high = (_stamp_text(found[end].as_py()) for end in ("min", "max"))
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)

    def no_use(self, name: str) -> str | None:
        """Why the column cannot help to predict a new row; None if it may."""
        if self.low is None:
            return "empty"
        if self.low == self.high and not self.n_missing:
            return f"the same in every row ({self.low})"
        return None

    def details(self) -> str:
        """The values in a few words."""
        return "empty" if self.low is None else f"{self.low} to {self.high}"


def _stamp_text(stamp: Any) -> str:
    return str(stamp).removesuffix(" 00:00:00").removesuffix("+00:00")


ColumnProfile = NumberProfile | TextProfile | DateProfile


@dataclass
class TargetProfile:
    """The values to predict, without missing ones. ``counts`` is None if labels are too many."""

    kind: str = ""  # numpy's letter for the type
    n_rows: int = 0
    low: float = np.inf
    high: float = -np.inf
    total: float = 0.0
    is_whole: bool = True
    counts: Counter[Any] | None = field(default_factory=Counter)

    def add(self, values: NDArray[Any]) -> None:
        """Take in more rows."""
        self.kind = values.dtype.kind
        self.n_rows += len(values)
        if not len(values):
            return
        if self.is_number:
            self.low, self.high = min(self.low, values.min()), max(self.high, values.max())
            self.total += float(values.sum(dtype=np.float64))
            self.is_whole = self.is_whole and bool((values == np.floor(values)).all())
        if self.counts is not None:
            labels, counts = np.unique(values, return_counts=True)
            if len(self.counts) + len(labels) > 2 * _MOST_LABELS:
                self.counts = None
                return
            self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))

    @property
    def is_number(self) -> bool:
        return self.kind in "fiu"

    @property
    def n_distinct(self) -> float:
        """The number of different values; infinity if they were not counted."""
        return np.inf if self.counts is None else len(self.counts)

    def details(self, as_number: bool) -> str:
        """The values in a few words."""
        if as_number:
            mean = self.total / self.n_rows
            return f", {self.low:.6g} to {self.high:.6g}, mean {mean:.6g}"
        assert self.counts is not None
        found = sorted(self.counts.items(), key=lambda pair: pair[0])
        found.sort(key=lambda pair: -pair[1])
        shares = [f"{label} {count / self.n_rows:.1%}" for label, count in found[:6]]
        more = [f"{len(found) - 6} more"] if len(found) > 6 else []
        return f": {', '.join([*shares, *more])}"


@dataclass(frozen=True)
class UsedColumn:
    """A column that the model uses: its values, and in words what it was taken for.

    The values of streamed rows are None.
    """

    name: str
    values: Any  # float64 with NaN, or an arrow array of text
    is_category: bool
    words: str
    profile: ColumnProfile

    @property
    def kind(self) -> str:
        """What it is to the model: "number", "category" or "date"."""
        if isinstance(self.profile, DateProfile):
            return "date"
        return "category" if self.is_category else "number"


@dataclass(frozen=True)
class DroppedColumn:
    """A column that the model does not use, and why."""

    name: str
    why: str
    can_keep: bool = True


@dataclass(frozen=True)
class DataProfile:
    """What was inferred about the data of a fit: the file, the target, the columns."""

    source: str
    names: Sequence[str]
    n_rows: int
    n_skipped: int
    remark: str
    task: Task
    why: str
    advice: str
    target: TargetProfile
    columns: Sequence[UsedColumn]
    dropped: Sequence[DroppedColumn]
