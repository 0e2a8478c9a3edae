"""What ``special_values`` means: for every column, numbers that stand for something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from glassleaf.errors import describe
from glassleaf.rows.settings import Roles
from glassleaf.tables.special import Special
from glassleaf.tables.table import Table, column_name, select_columns

# Stands for all numeric columns in which one of the values occurs.
_EVERYWHERE = "*"
_MOST = 50
_EXAMPLE = 'special_values={"*": {-9: "no record"}} or {"x": {-9: "no record"}}'


def with_special(given: Any, roles: Roles, table: Table) -> Roles:
    """Roles that know the special values of every column, as a parameter gives them."""
    if given is None:
        return roles
    if not isinstance(given, Mapping):
        raise TypeError(f"special_values={describe(given)} must be a dict, such as {_EXAMPLE}.")
    numeric = ~roles.categorical
    numeric[list(roles.aside)] = False
    numeric[[j for j, part in enumerate(roles.dates) if part is not None]] = False
    everywhere = _checked(given.get(_EVERYWHERE, {}), _EVERYWHERE)
    found = [dict(everywhere) if is_number else {} for is_number in numeric.tolist()]
    named = []
    for key, own in given.items():
        if isinstance(key, str) and key == _EVERYWHERE:
            continue
        column = int(np.argmax(select_columns(table, [key], "special_values")))
        if not numeric[column]:
            name = column_name(table, column)
            raise ValueError(
                f"special_values names the column {name!r}, which is no number of the models;"
                " categories, dates, exposures and offsets have no special values."
            )
        found[column] |= _checked(own, key)
        named.append(column)
    if not given:
        return replace(roles, may_have_codes=False)
    special = tuple(_sorted(own, column_name(table, j)) for j, own in enumerate(found))
    return replace(roles, special=special, named_special=tuple(named))


def _checked(given: Any, key: Any) -> dict[float, str]:
    """The values under a key, as floats."""
    if not isinstance(given, Mapping):
        raise TypeError(
            f"special_values of {key!r} is {describe(given)}; it must be a dict from numbers to"
            f" what they stand for, as in {_EXAMPLE}."
        )
    out = {}
    for value, word in given.items():
        is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        if not is_number or not isfinite(value):
            raise ValueError(
                f"special_values of {key!r} names {describe(value)}; it must be a finite number."
            )
        if not isinstance(word, str) or not word.strip():
            raise TypeError(
                f"special_values of {key!r}: {describe(value)} stands for {describe(word)}; it must"
                " be a text."
            )
        out[float(value)] = word
    return out


def _sorted(found: dict[float, str], name: str) -> tuple[Special, ...]:
    """The special values of a column, from small to large."""
    if len(found) > _MOST:
        raise ValueError(
            f"special_values gives column {name!r} {len(found)} values, more than {_MOST}. With so"
            " many it is one of categories; see categorical_features."
        )
    words = list(found.values())
    twice = sorted({word for word in words if words.count(word) > 1})
    if twice:
        raise ValueError(
            f"special_values gives column {name!r} several values that stand for {twice[0]!r};"
            " every word must stand for one."
        )
    return tuple(sorted(found.items()))
