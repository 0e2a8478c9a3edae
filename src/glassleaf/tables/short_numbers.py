"""Numbers that are short to read."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

# Units in the last place by which numbers may be off that were computed in other units and back.
_LAST_PLACES = 4
# This many digits before those must be zeros: by chance they are in one number of a thousand.
_SPARE_DIGITS = 3
_LARGEST_POWER = 300  # of ten, in a floating-point number
_MOST_DIGITS = 17
_NEARLY = 1.001  # rounding is not what decides whether a number is looked at


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits that is at least ``low`` and below ``high``.

    Among equally short ones, the number nearest to the middle wins.

    >>> shortest_between(48.2, 50.7), shortest_between(-3.0, 2.0), shortest_between(0.1234, 0.1239)
    (50.0, 0.0, 0.1236)
    >>> shortest_between(1e-310, 2e-310)  # a power of ten is not precise there
    1e-310
    """
    if low <= 0.0 < high:
        return 0.0
    half = (high - low) / 2
    middle = low + half
    largest = max(abs(low), abs(high))
    if largest < 10.0**-_LARGEST_POWER:
        return low
    exponent = math.floor(math.log10(largest)) + 1
    far = _NEARLY * half + _LAST_PLACES * sys.float_info.epsilon * largest
    for digits in range(_MOST_DIGITS + 1):
        step = exponent - digits
        wanted = middle / 10.0**step
        nearest = round(wanted)
        if abs(nearest - wanted) * 10.0**step > far:
            continue  # nor is one further from the middle between the two
        for multiple in sorted((nearest, nearest - 1, nearest + 1), key=lambda k: abs(k - nearest)):
            found = float(f"{multiple}e{step}")
            if low <= found < high:
                return found
    return low


def n_digits(number: float) -> int:
    """Significant digits of a number as it is written.

    >>> n_digits(50.0), n_digits(49.87), n_digits(0.0)
    (1, 4, 0)
    """
    written = f"{number:.17g}" if float(f"{number:.15g}") != number else f"{number:.15g}"
    mantissa = written.split("e")[0].replace("-", "").replace(".", "").strip("0")
    return len(mantissa)


def to_digits(number: float, digits: int) -> float:
    """A number rounded to significant digits.

    >>> to_digits(0.0123456, 3)
    0.0123
    """
    return float(f"{number:.{digits}g}") if math.isfinite(number) else number


def without_noise(
    numbers: NDArray[np.float64], magnitude: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Short numbers where a change of units made up all further digits; others as they are.

    ``magnitude`` is the size of what they were computed from, whose last digits may be made up.

    >>> without_noise(np.array([2.8e-17, 0.30000000000000004, 1 / 3]), np.ones(3))
    array([0.        , 0.3       , 0.33333333])
    """
    noise = _LAST_PLACES * np.finfo(float).eps * magnitude
    power = np.ceil(-np.log10(noise, out=np.zeros_like(noise), where=noise > 0)) - _SPARE_DIGITS
    power = np.clip(power, -_LARGEST_POWER, _LARGEST_POWER)
    # Dividing by a whole power of ten is exact to the last place, multiplying by a fraction is not.
    up, down = 10.0 ** np.maximum(power, 0.0), 10.0 ** np.maximum(-power, 0.0)
    short = np.rint(numbers / down * up) / up * down
    return np.where(abs(short - numbers) <= noise, short, numbers)
