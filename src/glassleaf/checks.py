"""Checks of what users pass as parameters; every message names the parameter and what came."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe

T = TypeVar("T")

# Squares and sums of squares of anything larger may overflow.
LARGEST_NUMBER = 1e140


def whole_number(
    name: str, value: Any, minimum: int, *, none: str = "", auto: bool = False
) -> int | None:
    """An integer of at least ``minimum``, or None if ``none`` says what that means.

    ``auto`` is whether "auto" would be accepted too, for the message.

    >>> whole_number("max_depth", 3, 0)
    3
    >>> whole_number("max_depth", -1, 0)
    Traceback (most recent call last):
    ...
    ValueError: max_depth=-1 must be an integer >= 0.
    """
    accepted = f"an integer >= {minimum}" + (f", or None for {none}" if none else "")
    accepted = f"'auto', {accepted}" if auto else accepted
    if value is None and none:
        return None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name}={describe(value)} must be {accepted}.")
    if value < minimum:
        raise ValueError(f"{name}={describe(value)} must be {accepted}.")
    return int(value)


def real_number(
    name: str, value: Any, low: float, high: float = np.inf, none: str | None = None
) -> float:
    """A finite number between ``low`` and ``high``, both included.

    ``none`` is what None would mean, where it is accepted; for the message.
    """
    accepted = f"a number >= {low:g}" if high == np.inf else f"a number from {low:g} to {high:g}"
    if none is not None:
        accepted += f", or None for {none}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name}={describe(value)} must be {accepted}.")
    if not low <= float(value) <= high or not np.isfinite(float(value)):
        raise ValueError(f"{name}={describe(value)} must be {accepted}.")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """True or False; numbers are refused, for they might be meant as something else."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={describe(value)} must be True or False.")
    return bool(value)


def choice(name: str, value: Any, choices: Mapping[Any, T]) -> T:
    """The choice with that name.

    >>> choice("shrink", "none", {"zero": 0, "parent": 1})
    Traceback (most recent call last):
    ...
    ValueError: shrink='none' must be one of 'zero', 'parent'.
    """
    if not isinstance(value, (str, type(None))) or value not in choices:
        accepted = ", ".join(repr(key) for key in choices)
        kind = ValueError if isinstance(value, (str, type(None))) else TypeError
        raise kind(f"{name}={describe(value)} must be one of {accepted}.")
    return choices[value]


def named_or_object(name: str, value: Any, choices: Mapping[str, T], kind: Any, what: str) -> T:
    """The choice with that name, or an object of the right kind as it is."""
    if isinstance(value, str):
        return choice(name, value, choices)
    if not isinstance(value, kind) or isinstance(value, type):
        accepted = ", ".join(repr(key) for key in choices)
        raise TypeError(f"{name}={describe(value)} must be one of {accepted}, or {what}.")
    return value  # type: ignore[no-any-return]


def leaf_size(value: Any) -> int | float | None:
    """min_samples_leaf: a number of rows, a share of all rows, or None for the default."""
    accepted = "an integer >= 1, a share between 0 and 1, or None for max(10, terms + 1)"
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"min_samples_leaf={describe(value)} must be {accepted}.")
    if isinstance(value, Integral) and int(value) >= 1:
        return int(value)
    if isinstance(value, Integral) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"min_samples_leaf={describe(value)} must be {accepted}.")
    return float(value)


def clamp(value: Any) -> bool | tuple[float, float]:
    """clamp: whether, or two quantiles."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    accepted = "True, False, or two quantiles such as (0.01, 0.99)"
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"clamp={describe(value)} must be {accepted}.")
    low, high = (real_number("clamp", share, 0.0, 1.0) for share in value)
    if low >= high:
        raise ValueError(f"clamp={describe(value)} must be {accepted}, the lower one first.")
    return low, high


def tolerance(name: str, value: Any, default: float) -> float | None:
    """A share, True for the default one, False for none (None)."""
    if isinstance(value, (bool, np.bool_)):
        return default if value else None
    return real_number(name, value, 0.0, 1.0)


def row_weights(given: Any, n_rows: int) -> NDArray[np.float64]:
    """sample_weight: a number >= 0 for every row, not all of them 0; None: 1 for each."""
    weight = weights_of_rows(given, n_rows)
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive.")
    return weight


def weights_of_rows(given: Any, n_rows: int) -> NDArray[np.float64]:
    """The same for some of the rows, all of which may have the weight 0."""
    if given is None:
        return np.ones(n_rows)
    try:
        weight = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"sample_weight={describe(given)} must be numbers, one per row.") from None
    if weight.ndim != 1:
        raise ValueError(
            "Sample weights must be 1D, one number per row; sample_weight has the shape"
            f" {weight.shape}."
        )
    if len(weight) != n_rows:
        raise ValueError(f"sample_weight has {len(weight)} entries, but X has {n_rows} rows.")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity; every row needs a number >= 0.")
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight contains {float(weight.min()):g}; negative values are not weights."
        )
    if weight.sum() > LARGEST_NUMBER:
        raise ValueError("sample_weight is so large that sums of it overflow; divide it.")
    return weight


def random_state(value: Any) -> np.random.RandomState:
    """A generator of random numbers; None counts as 0, so that a fit can be repeated."""
    if isinstance(value, np.random.RandomState):
        return value
    if isinstance(value, np.random.Generator):
        return np.random.RandomState(value.integers(2**32))
    return np.random.RandomState(0 if value is None else int(value) % 2**32)


def check_random_state(value: Any) -> None:
    """random_state: a seed, a generator or None, also for a fit that draws no numbers."""
    is_seed = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if value is None or isinstance(value, (np.random.RandomState, np.random.Generator)):
        return
    if not is_seed:
        raise TypeError(
            f"random_state={describe(value)} must be an integer >= 0, a numpy RandomState, or None."
        )
    if int(value) < 0:
        raise ValueError(f"random_state={describe(value)} must be an integer >= 0.")


def n_threads(value: Any) -> int:
    """Number of threads. None: all cores that joblib and the environment leave to this process."""
    available = int(numba.config.NUMBA_NUM_THREADS)
    if value is None:
        return available
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"n_jobs={describe(value)} must be an integer other than 0, or None.")
    if value == 0:
        raise ValueError("n_jobs=0 must be an integer other than 0, or None for all cores.")
    wanted = int(value)
    return wanted if wanted > 0 else max(1, available + 1 + wanted)
