"""Numbers that look like codes: a few negative whole numbers, far below all others.

Files often write -9 or -999 where there is no number. Read as numbers, such codes bend lines and
lead splits; as ``special_values`` each is a value of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glassleaf.errors import warn
from glassleaf.tables.summaries import CategorySummary, NumericSummary, Values

# A column has at most so many codes, each in so many rows and in this share of them.
_MOST_CODES = 5
_FEWEST_ROWS = 5
_LEAST_SHARE = 1e-3
# The other numbers are at least so many. The gap above the codes is so many times as wide as those
# between the lowest of the others.
_FEWEST_OTHERS = 10
_FAR = 5.0
_NAMED = 3


def suspected_codes(found: Values, n_rows: int) -> dict[float, float]:
    """Values that look like codes, each with its share of the rows.

    >>> from glassleaf.tables.summaries import values_of
    >>> counts = np.concatenate([np.arange(100.0), np.full(5, -9.0), np.full(5, -8.0)])
    >>> suspected_codes(values_of(counts, None), 110)
    {-9.0: 0.045454545454545456, -8.0: 0.045454545454545456}
    >>> suspected_codes(values_of(counts - 3.0, None), 110)
    {}
    """
    is_negative = found.values < 0
    codes, others = found.values[is_negative], found.values[~is_negative]
    if not 0 < len(codes) <= _MOST_CODES or len(others) < _FEWEST_OTHERS:
        return {}
    share = found.weight[is_negative] / found.weight.sum()
    are_whole = bool((codes == np.floor(codes)).all())
    are_frequent = bool((share >= max(_LEAST_SHARE, _FEWEST_ROWS / n_rows)).all())
    between = float(np.median(np.diff(others[:_FEWEST_OTHERS])))
    is_far = others[0] - codes[-1] >= _FAR * between
    if not (are_whole and are_frequent and is_far):
        return {}
    return dict(zip(codes.tolist(), share.tolist(), strict=True))


def warn_of_codes(names: Sequence[str], found: Sequence[NumericSummary | CategorySummary]) -> None:
    """Say which numbers look like codes, once for all columns."""
    columns: dict[float, list[tuple[str, float]]] = {}
    for name, own in zip(names, found, strict=True):
        if isinstance(own, NumericSummary) and own.values is not None:
            for value, share in suspected_codes(own.values, own.n_rows).items():
                columns.setdefault(value, []).append((name, share))
    if not columns:
        return
    said = ", ".join(_said(value, where) for value, where in sorted(columns.items()))
    example = ", ".join(f"{value:g}: 'no record'" for value in sorted(columns)[:1])
    warn(
        f"Some numbers are far below all others: {said}. If they are codes, give them as"
        f" special_values={{'*': {{{example}}}}}, and each is a value of its own;"
        " special_values={} says that there are none."
    )


def _said(value: float, where: Sequence[tuple[str, float]]) -> str:
    """A value, and the columns in which it occurs."""
    if len(where) > _NAMED:
        most = max(share for _, share in where)
        return f"{value:g} in {len(where)} columns (up to {most:.1%} of the rows)"
    listed = ", ".join(f"{name!r:.60} ({share:.1%})" for name, share in where)
    return f"{value:g} in {listed}"
