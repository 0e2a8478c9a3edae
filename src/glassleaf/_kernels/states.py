"""States of numbers: missing, or one of a column's special values; see ``tables.special``."""

from __future__ import annotations

import numpy as np

from glassleaf._kernels.compiling import kernel

# The first half of the bits of a special value: a NaN that no computation makes. Its second half is
# the number of the state.
_LAST_HALF = np.uint64(32)
SIGNATURE = np.uint64(0x7FF8_676C_0000_0000)
_FIRST = SIGNATURE >> _LAST_HALF


@kernel
def state_of(bits):
    """The state of a NaN by its bits: 0 for a missing value, k for the k-th special value."""
    return np.int64(bits - SIGNATURE) if bits >> _LAST_HALF == _FIRST else 0


@kernel
def state_term(bits, column, missing_term, first_special, special_term):
    """The term of a missing number, or of a special value; -1 for none."""
    state = state_of(bits)
    if state == 0:
        return missing_term[column]
    return special_term[first_special[column] + state - 1]
