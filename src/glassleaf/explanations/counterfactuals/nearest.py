"""The nearest value at which conditions hold, where the conditions are known at some points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def nearest_point(
    points: Floats, margins: Floats, now: float, is_whole: bool, gap: float = 0.0
) -> tuple[Floats, Floats]:
    """On every line the point nearest to ``now`` at which no margin is negative, NaN for none.

    ``margins`` has the shape (lines, points, conditions).
    """
    distance = np.where((margins >= 0).all(axis=2), np.abs(points - now), np.inf)
    best = np.argmin(distance, axis=1)
    found = np.where(np.isfinite(distance.min(axis=1)), points[best], np.nan)
    return found, found


def nearest_in_pieces(
    points: Floats, margins: Floats, now: float, is_whole: bool, gap: float = 0.0
) -> tuple[Floats, Floats]:
    """The same where margins are linear between points; also a value well inside the piece.

    Points no farther apart than ``gap`` are the sides of a jump.
    """
    first, last = margins[:, :-1], margins[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = first / (first - last)
    begin = np.where(first < 0, np.where(last >= 0, crossing, np.inf), 0.0).max(axis=2)
    end = np.where(last < 0, np.where(first >= 0, crossing, -np.inf), 1.0).min(axis=2)
    length = np.diff(points)
    low = points[:-1] + length * np.minimum(begin, 2.0)
    high = points[:-1] + length * np.maximum(end, -1.0)
    start = now
    if is_whole:
        low, high, start = np.ceil(low - 1e-9), np.floor(high + 1e-9), float(np.round(now))
    # Between a threshold and the next number there is nothing: a jump, not a slope.
    is_jump = (points[1:] == np.nextafter(points[:-1], np.inf)) | (length <= gap)
    feasible = (begin <= end) & (low <= high) & ~is_jump
    value = np.clip(start, low, np.maximum(low, high))
    distance = np.where(feasible, np.abs(value - now), np.inf)
    line, best = np.arange(len(margins)), np.argmin(distance, axis=1)
    found = np.where(feasible[line, best], value[line, best], np.nan)
    inside = (low[line, best] + high[line, best]) / 2
    at_point = nearest_point(points, margins, now, is_whole)[0]  # an end may be a piece of its own
    is_nearer = ~(np.abs(found - now) <= np.abs(at_point - now))
    return np.where(is_nearer, at_point, found), np.where(is_nearer, at_point, inside)
