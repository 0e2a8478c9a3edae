"""The first run on a machine compiles what later ones load."""

from __future__ import annotations

import logging

import numba
import numpy as np

from glassleaf._kernels.cache import is_kept
from glassleaf._kernels.values import assign_bins

_log = logging.getLogger("glassleaf")
_has_looked: list[bool] = []


def announce_compilation() -> None:
    """Say once, before a long wait, that kernels are compiled and not loaded from the cache."""
    if _has_looked or numba.config.DISABLE_JIT:
        return
    _has_looked.append(True)
    assign_bins(np.ones(1), np.ones(1), 1, np.zeros(1, dtype=np.uint16))
    if assign_bins.stats.cache_misses and is_kept():
        _log.warning(
            "glassleaf compiles its kernels, once for this installation (some 15 seconds);"
            " later runs load them from the cache."
        )
