"""Data objects of explanations: frozen, and plain dicts and lists on request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class JsonData:
    """A frozen dataclass that can be turned into JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Everything as dicts, lists, numbers and text; infinity and NaN become None."""
        out: dict[str, Any] = json_ready(self)
        return out


def json_ready(value: Any) -> Any:
    """What ``json.dumps`` takes and any JSON parser reads.

    >>> json_ready({"a": np.float64(1.5), 2: (float("inf"), "b")})
    {'a': 1.5, '2': [None, 'b']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: json_ready(getattr(value, f.name)) for f in fields(value) if f.repr}
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return json_ready(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
