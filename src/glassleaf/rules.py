"""Splits in words: "age <= 37.5 or missing", "region in {north, west}"."""

from __future__ import annotations

from glassleaf.plain import PlainModel, Split
from glassleaf.values import ANY_NUMBER

_MOST_LISTED = 6


def in_words(model: PlainModel, split: Split, is_left: bool) -> str:
    """What holds for the rows on that side of a split.

    >>> from glassleaf.plain import PlainColumn
    >>> model = PlainModel((PlainColumn("age", None, (), 0.0),), (), "identity", None, True)
    >>> in_words(model, Split(0, 37.5, frozenset(), True, False, 1, 2), True)
    'age <= 37.5 or missing'
    """
    column = model.columns[split.column]
    if split.threshold == ANY_NUMBER:
        return f"{column.name} is {'not ' if is_left else ''}missing"
    if column.categories is None:
        text = f"{column.name} {'<=' if is_left else '>'} {split.threshold:.6g}"
    else:
        # The side that categories never seen take is "not in" the other side's list.
        listed = is_left != split.unknown_left
        codes = [
            code
            for code in range(len(column.categories))
            if (code in split.left_codes) == (is_left if listed else not is_left)
        ]
        shown = [str(column.categories[code]) for code in codes[:_MOST_LISTED]]
        more = [f"{len(codes) - _MOST_LISTED} more"] if len(codes) > _MOST_LISTED else []
        text = f"{column.name} {'in' if listed else 'not in'} {{{', '.join([*shown, *more])}}}"
    return f"{text} or missing" if split.missing_left == is_left else text


def path_in_words(model: PlainModel, path: list[tuple[Split, bool]]) -> str:
    """All that holds for the rows of a leaf."""
    return " and ".join(in_words(model, split, is_left) for split, is_left in path) or "all rows"
