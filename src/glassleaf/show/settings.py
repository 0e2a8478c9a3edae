"""The settings of a model in words, for those who read about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from glassleaf.errors import describe
from glassleaf.explanations import words
from glassleaf.tree.fitted import fitted_model

_WITHOUT_RESULT = ("n_jobs", "verbose")


def changed_parameters(estimator: Any) -> dict[str, str]:
    """Parameters that differ from their defaults, but for those that change no result."""
    default = signature(type(estimator)).parameters
    changed = {
        name: words.name(describe(value), 70)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _WITHOUT_RESULT and describe(value) != describe(default[name].default)
    }
    if "monotonic_cst" in changed:
        names = fitted_model(estimator).names
        changed["monotonic_cst"] = signs_text(estimator.monotonic_cst, names)
    return changed


def signs_text(given: Mapping[Any, int] | Sequence[int], names: Sequence[str]) -> str:
    """Every column with a sign, by its name.

    >>> signs_text({"age": 1, 0: -1, "debt": 1}, ["income", "age", "debt"])
    '{rising: age, debt; falling: income}'
    """
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    by_sign: dict[int, list[str]] = {1: [], -1: []}
    for column, sign in pairs:
        if sign:
            own = column if isinstance(column, str) else names[column]
            by_sign[int(sign)].append(words.name(own))
    said = {"rising": by_sign[1], "falling": by_sign[-1]}
    return "{" + "; ".join(f"{way}: {', '.join(own)}" for way, own in said.items() if own) + "}"
