"""What makes the first second of a process shorter."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Do not look for garbage meanwhile.

    Imports, and numba when it starts, make half a million objects that stay; Python would look
    through all of them again and again, for nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
