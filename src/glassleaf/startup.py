"""What makes the first second of a process shorter, and its last."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from types import FrameType, ModuleType, NoneType
from typing import Any

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
    """Import without looking for garbage; in a new script, leave what stays out of later searches.

    When a process ends, Python looks through all objects again, which takes half a second for what
    imports leave behind: modules, functions and classes, given back with the process anyway. They
    are left out once, where numba comes in, and only as long as a script has done nothing else:
    what a user has made, and would drop again, has to be found.
    """
    is_first = "numba" not in sys.modules and _has_only_imported()
    with without_collection():
        yield
        if is_first and "numba" in sys.modules:
            gc.freeze()


def _has_only_imported() -> bool:
    """Whether the process runs a script that has imported and defined things, no more.

    Then no function is running but those that import, and the script's names stand for modules,
    classes, functions and constants.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name != "<module>" and not _imports(code.co_filename):
            return False
        frame = frame.f_back
    names = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
    return all(name.startswith("__") or _is_no_data(value) for name, value in names.items())


def _imports(filename: str) -> bool:
    """Whether the functions of a file import modules: Python's own, and those that lead here."""
    ours = (__file__, sys.modules[__package__].__file__, contextlib.__file__)
    return filename.startswith("<frozen importlib") or filename in ours


def _is_no_data(value: Any) -> bool:
    constant = (str, bytes, int, float, complex, NoneType)
    return (
        isinstance(value, (ModuleType, type, *constant))
        or (callable(value) and hasattr(value, "__name__"))
        or type(value).__module__ in ("__future__", "typing")
    )
