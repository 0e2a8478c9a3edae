"""Where compiled kernels are kept. Without a writable folder they live in memory; nothing fails.

numba's own cache needs a folder that it may write to, even to read, and stops at a damaged file.
This one reads from every folder that numba knows (``NUMBA_CACHE_DIR``, ``__pycache__``, the user's
cache), and writes to the first that lets it.
"""

from __future__ import annotations

import logging
import os

from numba import config
from numba.core import caching

_log = logging.getLogger("glassleaf")
_ADVICE = (
    "glassleaf found no folder to keep its compiled kernels in, so every process compiles them"
    " again. Set NUMBA_CACHE_DIR to a folder that can be written to, or compile them into the"
    " image (docs/production.md)."
)
_has_advised: list[bool] = []


def is_kept() -> bool:
    """Whether what this process compiled can be loaded by the next."""
    return not _has_advised


def _readable(locator):
    """A place of numba's, whether or not it can be written to."""

    class Place(locator):
        @classmethod
        def from_function(cls, py_func, py_file):
            return cls(py_func, py_file)

    class Impl(caching.CompileResultCacheImpl):
        _locator_classes = (Place,)

    class Cache(caching.FunctionCache):
        _impl_class = Impl

    return Cache


def _locator(name):
    """How numba finds a place; in its older versions the names begin with an underscore."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


_GIVEN, _IN_TREE, _OF_USER = (
    _readable(_locator(f"{kind}CacheLocator")) for kind in ("UserProvided", "InTree", "UserWide")
)


class KernelCache(caching.NullCache):
    """The compiled forms of one kernel, in all places."""

    def __init__(self, function) -> None:
        kinds = [_GIVEN] * bool(config.CACHE_DIR) + [_IN_TREE, _OF_USER]
        places = [kind(function) for kind in kinds]
        # Without a home, the user's folder would be one called "~".
        self._places = [place for place in places if os.path.isabs(place.cache_path)]

    def load_overload(self, sig, target_context):
        for place in self._places:
            found = _loaded(place, sig, target_context)
            if found is not None:
                return found
        return None

    def save_overload(self, sig, data) -> None:
        for place in self._places:
            try:
                return place.save_overload(sig, data)
            except OSError:
                continue
        if is_kept():
            _has_advised.append(True)
            _log.warning(_ADVICE)
        return None


def _loaded(place, sig, target_context):
    """What a place has; a damaged file counts as none, and is written again."""
    try:
        return place.load_overload(sig, target_context)
    except OSError:  # no folder, or one of others
        return None
    except Exception as error:  # a truncated pickle may raise anything
        _log.warning("%s: compiled kernels are damaged (%r).", place.cache_path, error)
    try:
        place.flush()
    except OSError:
        _log.warning("%s: the damaged file cannot be replaced.", place.cache_path)
    return None
