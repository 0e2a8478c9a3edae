"""How kernels are compiled: once per machine, and without the GIL."""

from __future__ import annotations

import numba

from glassleaf._kernels.cache import KernelCache


def kernel(function):
    """A loop over arrays."""
    # numpy's error model: a division needs no test for zero, so that loops can be vectorized.
    return _compiled(function, error_model="numpy")


def arithmetic(function):
    """The same where a product that is added at once need not be rounded in between."""
    return _compiled(function, error_model="numpy", fastmath={"contract"})


def in_any_order(function):
    """The same where the order of a sum does not matter."""
    return _compiled(function, fastmath={"reassoc"})


def _compiled(function, **options):
    """A function compiled by numba and kept; see ``cache``."""
    found = numba.njit(nogil=True, **options)(function)
    if not numba.config.DISABLE_JIT:
        found._cache = KernelCache(function)
    return found
