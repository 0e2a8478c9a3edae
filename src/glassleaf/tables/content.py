"""Rows told apart by what they hold: a division of rows that does not depend on their order."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.categories import number_in
from glassleaf.tables.table import Table, select_columns

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Keys = NDArray[np.uint64]


def set_aside(
    table: Table, categorical: Bools, y: Floats, groups: NDArray[np.str_] | None, share: float
) -> Bools:
    """Which rows are set aside, by chance, but told by what they hold, or by their groups.

    Every copy of a row is drawn by itself; rows of one group are together. The same rows are
    divided in the same way whatever their order is, and whatever container they come in.
    """
    keys = _row_keys(table, categorical, y) if groups is None else _label_keys(groups)
    return np.asarray(keys < np.uint64(share * 2.0**64))


def group_texts(groups: Any, table: Table, used: NDArray[np.intp]) -> NDArray[np.str_] | None:
    """The group of every used row as text, from labels or the name of a column."""
    if groups is None:
        return None
    if not isinstance(groups, str):
        return np.asarray(groups)[used].astype(str)
    labels = table.labels(int(np.argmax(select_columns(table, [groups], "groups"))))
    return np.array([*map(str, labels.values), ""])[labels.codes[used]]


def mixed(bits: Keys) -> Keys:
    """Numbers that look like chance, of numbers that need not: the end of splitmix64."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(bits ^ (bits >> np.uint64(31)))


def number_bits(values: Floats) -> Keys:
    """The bits of numbers; those of 0 and -0 are the same, and of all that are missing."""
    given = np.asarray(values, dtype=np.float64)
    return np.where(np.isnan(given), np.nan, given + 0.0).view(np.uint64)


def _row_keys(table: Table, categorical: Bools, y: Floats) -> Keys:
    keys = mixed(number_bits(y))
    for j, is_category in enumerate(categorical.tolist()):
        if is_category:
            labels = table.labels(j)
            bits = np.append(_text_keys(labels.values), np.uint64(0))[labels.codes]
        else:
            bits = number_bits(table.numeric(j))
        keys = mixed(keys ^ (bits + np.uint64(j)))
    return mixed(keys ^ _among_copies(keys))


def _among_copies(keys: Keys) -> Keys:
    """What tells the copies of a row apart, wherever they stand; 0 for a row without any.

    All rows together decide it: if a row's own content did, the same number of its copies would be
    set aside of every table, and both parts would be alike by more than chance.
    """
    order = np.argsort(keys, kind="stable")
    ordered, place = keys[order], np.arange(len(keys))
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(keys)]
    is_last = np.append(is_first[1:], True)[: len(keys)]
    number = place - np.maximum.accumulate(np.where(is_first, place, 0))
    of_all = mixed(np.sum(keys, keepdims=True))
    told = np.where(is_first & is_last, np.uint64(0), mixed(of_all + number.astype(np.uint64)))
    out = np.empty(len(keys), dtype=np.uint64)
    out[order] = told
    return out


def _label_keys(labels: NDArray[np.str_]) -> Keys:
    values, place = np.unique(labels, return_inverse=True)
    return np.asarray(_text_keys(values.tolist())[place])


def _text_keys(values: Iterable[Any]) -> Keys:
    """A key of every label; labels that write the same number have the same."""
    return mixed(np.array([_checksum(str(value)) for value in values], dtype=np.uint64))


def _checksum(text: str) -> int:
    number = number_in(text)
    plain = text if number is None else repr(float(number))
    return zlib.crc32(plain.encode("utf-8", errors="surrogatepass"))
