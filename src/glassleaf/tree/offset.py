"""What is known of a row's score beforehand, and added to that of its leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.losses import Loss
from glassleaf.tables.table import Column

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Offset:
    """A column that neither splits nor has a coefficient.

    The score adds its value or, if ``is_exposure``, the logarithm of it. ``is_extra`` says that the
    column was no part of X but given beside it; where it is not given, it counts as ``neutral``.
    """

    column: int
    is_exposure: bool
    is_extra: bool

    @property
    def parameter(self) -> str:
        """What gives it to ``fit`` and ``predict``."""
        return "exposure" if self.is_exposure else "offset"

    @property
    def neutral(self) -> float:
        """The value that adds nothing."""
        return 1.0 if self.is_exposure else 0.0

    def text(self, name: str) -> str:
        """What the score adds, in words."""
        return f"log({name})" if self.is_exposure else name

    def added(self, matrix: Floats, columns: tuple[Column, ...]) -> Floats:
        """What the scores of the rows of a raw matrix add."""
        values = checked(matrix[:, self.column], self.parameter, columns[self.column].name)
        return np.log(values) if self.is_exposure else values


def absorbed(
    y: Floats, weight: Floats, offsets: Sequence[Offset], known: Sequence[Floats], loss: Loss
) -> tuple[Floats, Floats]:
    """Targets and weights that make up for what is ``known`` of the scores beforehand.

    With an exposure the target is a total: what is learned is its rate, and a row counts as much as
    it has exposure.
    """
    for offset, values in zip(offsets, known, strict=True):
        if offset.is_exposure:
            y, weight = y / values, weight * values
        else:
            y, weight = loss.without_offset(y, weight, values)
    return y, weight


def checked(values: Floats, parameter: str, name: str) -> Floats:
    """Exposures or offsets, if all of them are known and, of exposures, positive."""
    fits = values > 0 if parameter == "exposure" else ~np.isnan(values)
    if not fits.all():
        row = int(np.argmin(fits))
        what = "a number > 0" if parameter == "exposure" else "a number"
        is_named = "" if name == parameter else f", the column {name!r},"
        raise ValueError(f"{parameter}{is_named} must be {what} in every row; row {row} has"
                         f" {float(values[row])!r}.")  # fmt: skip
    return values


def given_numbers(values: Any, parameter: str, n_rows: int) -> Floats:
    """Exposures or offsets that were given as an array."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (n_rows,) or np.isinf(found).any():
        raise ValueError(
            f"{parameter} must be one finite number for each of the {n_rows} rows, or the name of a"
            " column of X."
        )
    return checked(found, parameter, parameter)
