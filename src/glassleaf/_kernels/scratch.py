"""Memory for arrays that live only while one block of features is summed or scored.

A fresh array of megabytes costs more in page faults than in arithmetic, and threads wait for each
other to get it. Each thread keeps its own here and uses it again; a few megabytes, as long as it
lives.
"""

from __future__ import annotations

import math
import threading

import numpy as np
from numpy.typing import NDArray

_memory = threading.local()


def clear() -> None:
    """Give this thread's memory back; that of other threads goes with them."""
    vars(_memory).clear()


def scratch(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array with undefined content, valid until this thread asks for the same name again.

    >>> scratch("example", (2, 3)).shape
    (2, 3)
    """
    kept = vars(_memory)
    size = math.prod(shape)
    if name not in kept or len(kept[name]) < size:
        kept[name] = np.empty(size)
    return np.asarray(kept[name][:size].reshape(shape))
