"""Numbers that look like codes: noticed, and no false alarms."""

import numpy as np
import pytest

from glassleaf.rows.codes import suspected_codes
from glassleaf.tables.summaries import values_of


def found(values):
    return list(suspected_codes(values_of(np.asarray(values, dtype=float), None), len(values)))


def test_codes_far_below_counts_ranks_and_amounts(rng):
    counts, amounts = rng.poisson(8, 1000), rng.gamma(2.0, 100.0, 1000)
    assert found([*counts, *[-9] * 30, *[-8] * 9]) == [-9.0, -8.0]
    assert found([*amounts, *[-99] * 30]) == [-99.0]
    assert found([*rng.integers(33, 95, 1000), *[-999] * 9]) == [-999.0]


ORDINARY = {
    "counts": lambda rng: rng.poisson(3, 1000),
    "standardized": lambda rng: rng.normal(size=1000),
    "standardized counts": lambda rng: (rng.poisson(3, 1000) - 3) / 1.7,
    "whole numbers around zero": lambda rng: rng.integers(-3, 20, 1000),
    "degrees": lambda rng: np.round(rng.normal(8, 8, 1000)),
    "degrees without digits, rarely below zero": lambda rng: np.round(rng.normal(20, 8, 2000)),
    "status from -2 to 8": lambda rng: rng.integers(-2, 9, 1000),
    "a sign": lambda rng: rng.choice([-1, 1], 1000),
    "few levels": lambda rng: rng.choice([-100, 0, 50, 100], 1000),
    "longitudes": lambda rng: np.round(rng.uniform(-124, -70, 1000)),
    "balances": lambda rng: np.round(rng.normal(1500, 1000, 1000)),
    "one mistake": lambda rng: np.append(rng.poisson(8, 1000), -999),
    "minus one beside counts": lambda rng: np.append(rng.poisson(3, 1000), [-1] * 50),
    "rounded returns": lambda rng: np.round(rng.normal(0.0, 0.5, 1000), 1),
    "negative steps of ten": lambda rng: 10 * rng.integers(-1, 30, 1000),
    "an empty column": lambda rng: np.zeros(0),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_numbers_are_no_codes(name):
    for seed in range(20):
        assert found(ORDINARY[name](np.random.default_rng(seed))) == []
