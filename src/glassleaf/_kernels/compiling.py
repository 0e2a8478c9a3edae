"""How kernels are compiled: once per machine, and without the GIL."""

from __future__ import annotations

import numba


def kernel(function):
    """A loop over arrays."""
    # numpy's error model: a division needs no test for zero, so that loops can be vectorized.
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def arithmetic(function):
    """The same where a product that is added at once need not be rounded in between."""
    options = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    return numba.njit(**options)(function)
