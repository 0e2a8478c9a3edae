"""Fits that share even a small table between threads, which they would not do by themselves."""

from contextlib import contextmanager

import pytest

from glassleaf.fit import train as training
from glassleaf.rows.backends import local


@contextmanager
def always_threads():
    """Tables of any size are shared between threads, if there are several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_FEW_CELLS", 0)
        patch.setattr(local, "_WORTH_THREADS", 0)
        yield
