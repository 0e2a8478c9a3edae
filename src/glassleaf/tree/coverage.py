"""Levels of coverage that intervals are kept for, and the interval of one row. No numpy."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from glassleaf.errors import GlassleafError, describe

# Half a percent apart, and a tenth of a percent beyond 0.99.
LEVELS = (*(k / 200 for k in range(1, 199)), *(k / 1000 for k in range(991, 1000)))
# A level is reached but for the rounding of what was asked for.
_ROUNDING = 1e-9


class NotCalibratedError(GlassleafError, ValueError):
    """An interval was asked of a model that was not calibrated."""

    def __init__(self) -> None:
        super().__init__(
            "Intervals need rows that the fit did not see: call calibrate(X_cal, y_cal) first."
        )


def place_of(levels: Sequence[float], coverage: float) -> int:
    """The place of the smallest level that is not below the coverage.

    >>> LEVELS[place_of(LEVELS, 0.9)], LEVELS[place_of(LEVELS, 0.901)]
    (0.9, 0.905)
    """
    is_number = isinstance(coverage, (int, float)) and not isinstance(coverage, bool)
    place = bisect_left(levels, coverage - _ROUNDING) if is_number and coverage > 0 else len(levels)
    if place == len(levels):
        raise ValueError(
            f"coverage={describe(coverage)} must be a number above 0 and at most {levels[-1]:g}."
        )
    return place


@dataclass(frozen=True)
class PlainIntervals:
    """By node of a leaf, half the width of its intervals at every level.

    It counts in units of this power of the prediction; see ``calibration.Intervals``.
    """

    level: tuple[float, ...]
    width: dict[int, tuple[float, ...]]
    power: float

    def around(self, prediction: float, node: int, coverage: float) -> tuple[float, float]:
        """The interval of one row."""
        half = self.width[node][place_of(self.level, coverage)]
        if self.power and half < inf:
            half *= prediction**self.power
        low = prediction - half
        return (max(low, 0.0) if self.power else low), prediction + half
