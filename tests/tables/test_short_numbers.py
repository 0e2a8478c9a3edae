"""Short numbers against a search over all multiples of powers of ten."""

import math

import numpy as np

from glassleaf.tables.short_numbers import shortest_between


def slowly(low, high):
    """Digit by digit, every multiple near the middle, the nearest first."""
    if low <= 0.0 < high:
        return 0.0
    middle = low + (high - low) / 2
    exponent = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for digits in range(18):
        step = exponent - digits
        nearest = round(middle / 10.0**step)
        for away in (0, -1, 1):
            found = float(f"{nearest + away}e{step}")
            if low <= found < high:
                return found
    return low


def test_the_shortest_number_is_that_of_a_slow_search(rng):
    size = 10.0 ** rng.integers(-12, 12, size=3000)
    middle = rng.uniform(-1, 1, size=3000) * size
    half = np.abs(middle) * 10.0 ** rng.uniform(-17, 0.5, size=3000)
    is_round = rng.random(3000) < 0.3  # borders that are short themselves
    middle = np.where(is_round, middle.round(3), middle)
    half = np.where(is_round, 10.0 ** rng.integers(-6, 2, size=3000) * 0.5, half)
    for low, high in zip((middle - half).tolist(), (middle + half).tolist(), strict=True):
        assert shortest_between(low, high) == slowly(low, high)
