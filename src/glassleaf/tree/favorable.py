"""What is good for a row, for reasons: which score counts, and which way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassleaf.errors import describe


def direction(
    classes: Sequence[Any] | None, n_outputs: int, positive_class: Any, favorable: Any
) -> tuple[int, float]:
    """Which output counts, and the sign that makes a high score favorable."""
    if favorable is None and classes is not None:
        labels = ", ".join(map(repr, classes))
        raise ValueError(f"favorable=None: say which class is good for the row, of {labels}.")
    if n_outputs == 1:
        favorable = "high" if favorable is None else favorable
        choices: dict[Any, float] = {"high": 1.0, "low": -1.0}
        if classes is not None:
            choices |= {label: 1.0 if label == positive_class else -1.0 for label in classes}
        if favorable in choices:
            return 0, choices[favorable]
        accepted = ", ".join(map(repr, choices))
        raise ValueError(f"favorable={describe(favorable)} must be one of: {accepted}.")
    if classes is None or favorable not in classes:
        raise ValueError(f"favorable={describe(favorable)} must be one of the classes {classes}.")
    return classes.index(favorable), 1.0
