"""Data that several test files share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def numbers(rng):
    """300 rows of 4 numeric columns, exact in float32, whose slope depends on the first."""
    return np.round(rng.normal(size=(300, 4)) * 64) / 64


@pytest.fixture
def regression(numbers, rng):
    x = numbers.T
    y = np.where(x[0] > 0.25, 2 * x[1] + x[2], -x[1]) + 3.0 + rng.normal(scale=0.3, size=300)
    return numbers, y


@pytest.fixture
def binary(numbers, rng):
    x = numbers.T
    score = np.where(x[0] > 0.25, 2 * x[1] + x[2], -2 * x[1])
    return numbers, (score + rng.logistic(size=300) > 0).astype(int)


@pytest.fixture
def multiclass(numbers, rng):
    x = numbers.T
    scores = np.stack([np.where(x[0] > 0, x[1], -x[1]), x[2], -x[2] + 0.5 * x[3]], axis=1)
    return numbers, np.argmax(2 * scores + rng.gumbel(size=(300, 3)), axis=1)
