"""Single values of a table's cells, without numpy: which of them stand for nothing."""

from __future__ import annotations

import sys
from typing import Any

# The threshold of a split between values and missing ones; finite, for not every file or language
# knows infinity.
ANY_NUMBER = sys.float_info.max

# The missing markers of pandas, which are neither None nor NaN.
_MARKERS = ("NAType", "NaTType")


def is_missing(value: Any) -> bool:
    """Whether a Python object stands for a missing value.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing(0)
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in _MARKERS:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False  # an array or the like, which compares to something that is not a truth
