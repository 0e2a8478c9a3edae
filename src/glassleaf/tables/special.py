"""Special values: numbers of a column that are codes, such as -9 for "no record".

A code is a value of its own, as "missing" is. These are the *states* of a numeric column: 0 is
missing, k its k-th code. In memory a code is a NaN that says which: whoever knows nothing of codes
sees a missing value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf._kernels.states import SIGNATURE

Floats = NDArray[np.float64]
Special = tuple[float, str]  # a value, and what it stands for


def state_value(state: int) -> float:
    """What stands for a special value in memory.

    >>> state_value(1), states_of(np.array([state_value(1), state_value(2), np.nan, 5.0])).tolist()
    (nan, [1, 2, 0, -1])
    """
    bits = np.array([SIGNATURE + np.uint64(state)], dtype=np.uint64)
    return float(bits.view(np.float64)[0])


def states_of(values: Floats) -> NDArray[np.int64]:
    """The state of every value, -1 for a number."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    half = np.uint64(32)
    known = np.where(bits >> half == SIGNATURE >> half, bits - SIGNATURE, np.uint64(0))
    return np.where(np.isnan(values), known.astype(np.int64), -1)


def with_states(values: Floats, special: Sequence[Special]) -> Floats:
    """The values of a column, special ones as states."""
    out = values
    for state, (value, _) in enumerate(special, start=1):
        found = values == value
        if found.any():
            out = out.copy() if out is values else out
            out[found] = state_value(state)
    return out
