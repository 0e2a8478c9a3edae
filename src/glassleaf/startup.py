"""What makes the first second of a process shorter."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_inside: list[bool] = []  # for everyone inside, whether garbage was collected before the first came


@contextmanager
def without_collection() -> Iterator[None]:
    """Do not look for garbage meanwhile; several threads may ask for it at the same time.

    Imports, and numba when it starts, make half a million objects that stay; Python would look
    through all of them again and again, for nothing.
    """
    with _lock:
        _inside.append(_inside[0] if _inside else gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            was_enabled = _inside.pop()
            if was_enabled and not _inside:
                gc.enable()
