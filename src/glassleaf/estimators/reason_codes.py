"""What reasons are called where they are filed: a code and a sentence per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glassleaf.errors import describe
from glassleaf.tables.special import Special
from glassleaf.tree.plain import special_key


def check_reason_codes(
    given: Any, names: Sequence[str], special: Sequence[tuple[Special, ...]]
) -> None:
    """Raise unless every key is a column or a special value, and every value a code and a text."""
    if given is None:
        return
    known = {*names}
    for name, own in zip(names, special, strict=False):  # without special values it is empty
        known |= {special_key(name, word) for _, word in own}
    if not isinstance(given, Mapping):
        raise TypeError(
            f"reason_codes={describe(given)} must be a dict from column names to pairs of a code"
            " and a text."
        )
    for name, pair in given.items():
        if name not in known:
            raise ValueError(f"reason_codes names the column {name!r}, which X does not have.")
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not all(isinstance(text, str) for text in pair):
            raise TypeError(
                f"reason_codes of column {name!r} is {describe(pair)}; it must be a code and a"
                ' text, such as ("R12", "Too many recent inquiries").'
            )
