"""Numbers, names and sets in plain words. Names and categories may be any text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

# Longest name in a text; more would hide what it is the name of.
NAME_LENGTH = 40
_LISTED = 5


def number(value: float, digits: int = 6) -> str:
    """A number as people write it.

    >>> [number(x) for x in (0.1, 37.5, 1234567.5, -2e-7, 3.0, float("inf"))]
    ['0.1', '37.5', '1234568', '-2e-07', '3', '∞']
    """
    if np.isnan(value):
        return "missing"
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    short = f"{value:.{digits}g}"
    if "e" in short and 1e-4 <= abs(value) < 1e15:
        return f"{value:.0f}"
    return short


def border(value: float, digits: int = 6) -> str:
    """The end of a range, with all its digits where these are hardly more.

    >>> border(250001.5), border(0.30000000000000004), border(37.51234567)
    ('250001.5', '0.3', '37.5123')
    """
    short, exact = number(value, digits), number(value, 17)
    for few in (15, 16):
        if float(f"{value:.{few}g}") == value:
            exact = f"{value:.{few}g}"
            break
    return exact if "e" not in exact and len(exact) <= len(short) + 2 else short


def digits_beside(value: float, width: float, digits: int = 6) -> int:
    """How many digits of a number it takes to tell it from others within a width.

    >>> digits_beside(5.0, 10.0), digits_beside(293.15, 0.002)
    (6, 11)
    """
    if not (np.isfinite(value) and value and 0 < width < abs(value)):
        return digits
    return min(digits + int(np.log10(abs(value) / width)), 17)


def name(text: Any, limit: int = NAME_LENGTH) -> str:
    r"""Any text on one line: nothing in it can break a line, turn its direction or run for pages.

    A long one keeps its beginning and its end: names of a family often differ in the end only.

    >>> name("line\nbreak"), name("distance_to_hydrology", limit=12), name("")
    ('line\\nbreak', 'distan…ology', "''")
    """
    whole = str(text)
    if not whole.strip():
        return repr(whole[:limit])
    if len(whole) > 2 * limit:
        whole = whole[:limit] + whole[-limit:]  # still longer than the limit
    pieces = [_visible(char) for char in whole]
    if sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    n_end = (limit - 1) // 2
    return _fitting(pieces, limit - 1 - n_end) + "…" + _fitting(pieces[::-1], n_end, at_end=True)


def _fitting(pieces: Sequence[str], limit: int, at_end: bool = False) -> str:
    """As many whole pieces as fit, those of the end given backwards."""
    lengths = np.cumsum([len(piece) for piece in pieces])
    fitting = pieces[: int(np.searchsorted(lengths, limit, side="right"))]
    return "".join(fitting[::-1] if at_end else fitting)


def _visible(char: str) -> str:
    """The character itself, or its escape where it would not be seen as one."""
    is_hidden = unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return char.encode("unicode_escape").decode() if is_hidden else char


def value(found: Any, digits: int = 6, limit: int = 24) -> str:
    """The value of a cell.

    >>> value(0.25), value("north"), value(None)
    ('0.25', 'north', 'missing')
    """
    if found is None:
        return "missing"
    return number(found, digits) if isinstance(found, float) else name(found, limit)


def class_name(label: Any) -> str:
    """A class as it is written in a sentence: a bare number would be taken for a quantity.

    >>> class_name("good"), class_name(1)
    ('good', 'class 1')
    """
    return name(label) if isinstance(label, str) else f"class {name(label)}"


def whose_score(output: str, positive_class: Any) -> str:
    """The class that a score speaks for: its own of several, the positive one of two, else none.

    >>> whose_score("north", None), whose_score("", 1), whose_score("", None)
    ('north', 'class 1', '')
    """
    return output if positive_class is None else class_name(positive_class)


def listed(values: Sequence[Any], at_most: int = _LISTED) -> str:
    """A set, shortened.

    >>> listed(["north", "south"]), listed(range(9))
    ('{north, south}', '{0, 1, 2, 3, … 5 more}')
    """
    shown = list(values)
    if len(shown) > at_most:
        rest = len(shown) - (at_most - 1)
        return "{" + ", ".join(name(v, 24) for v in shown[: at_most - 1]) + f", … {rest} more}}"
    return "{" + ", ".join(name(v, 24) for v in shown) + "}"


def signed_sum(parts: Sequence[tuple[float, str]], digits: int | Sequence[int] = 4) -> str:
    """A sum of products, with its signs where they belong; digits of all, or of every coefficient.

    >>> signed_sum([(2.5, ""), (-0.52, "age"), (1.0, "[region = north]")])
    '2.5 - 0.52·age + 1·[region = north]'
    """
    out = ""
    each = [digits] * len(parts) if isinstance(digits, int) else digits
    for (coef, factor), own in zip(parts, each, strict=True):
        size = number(abs(coef), own) + (f"·{factor}" if factor else "")
        if not out:
            out = ("-" if coef < 0 else "") + size
        else:
            out += (" - " if coef < 0 else " + ") + size
    return out


def percent(share: float) -> str:
    """A share of the whole.

    >>> percent(0.235), percent(0.0001), percent(1.0)
    ('23.5%', '<0.1%', '100%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.3g}%"


def p_value(p: float) -> str:
    """A p-value as one writes it.

    >>> p_value(0.0312), p_value(1.0), p_value(2e-12)
    ('p = 0.031', 'p = 1', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def rows_and_share(rows: int, of: int, weight_share: float, unit: str = " rows") -> str:
    """Some of the rows, their share, and the share of the weight that they have if it is another.

    >>> rows_and_share(387, 743, 387 / 743)
    '387 rows (52.1%)'
    >>> rows_and_share(387, 743, 0.659)
    '387 rows (52.1%), 65.9% of the weight'
    """
    share, weight = percent(rows / of if of else 0.0), percent(weight_share)
    more = "" if share == weight else f", {weight} of the weight"
    return f"{rows:,}{unit} ({share}){more}"
