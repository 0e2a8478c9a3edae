"""What makes the first second of a process shorter, and its last."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# More objects than imports leave behind: ours, with those of scikit-learn and pandas, make 160,000.
_MORE_THAN_IMPORTS = 300_000

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


@contextmanager
def importing() -> Iterator[None]:
    """Import without looking for garbage; what stays is then left out of later searches, too.

    When a process ends, Python looks through all objects again, which takes half a second. It need
    not: modules, functions and classes are given back with the process. This is done once, where
    numba comes in, and only while there is little else: objects of a user that refer to each other
    would no longer be freed.
    """
    is_first = "numba" not in sys.modules
    with without_collection():
        yield
        if is_first and "numba" in sys.modules and len(gc.get_objects()) < _MORE_THAN_IMPORTS:
            gc.freeze()
