"""Which categories are rare: they share one place while a tree is learned.

Of columns with more than 50 categories, the most frequent ones have a place of their own: 1,000 in
all such columns together (200 where ``max_numbers`` counts them), at least 50 in each. The others
of a column are one category, and in the finished tree (``fit.rare``) the same as one that training
never saw. So a fit takes time and memory for rows, not for the square of the number of names in a
column.
"""

from __future__ import annotations

from collections.abc import Sequence

from glassleaf.errors import warn
from glassleaf.tables.summaries import CategorySummary, NumericSummary
from glassleaf.tables.table import RARE, ordered

FEW_CATEGORIES = 50
# Categories in all such columns together; a model that is to be read has fewer.
_MOST_CATEGORIES = 1000
_MOST_TO_READ = 200


def with_rare(
    found: Sequence[NumericSummary | CategorySummary], is_short: bool
) -> list[NumericSummary | CategorySummary]:
    """The same summaries, in which the rare categories of a column are one."""
    n_wide = sum(isinstance(own, CategorySummary) and _is_wide(own) for own in found)
    most = max((_MOST_TO_READ if is_short else _MOST_CATEGORIES) // max(n_wide, 1), FEW_CATEGORIES)
    return [_grouped(own, most) if isinstance(own, CategorySummary) else own for own in found]


def _is_wide(found: CategorySummary) -> bool:
    return len(found.counts) > FEW_CATEGORIES


def _grouped(found: CategorySummary, most: int) -> CategorySummary:
    if not _is_wide(found) or len(found.counts) <= most:
        return found
    by_count = sorted(ordered(list(found.counts)), key=lambda label: -found.counts[label])
    own, others = by_count[:most], by_count[most:]
    n_rows = sum(found.counts[label] for label in others)
    warn(
        f"Column {found.name!r} has {len(found.counts):,} categories. The {most:,} most frequent"
        f" are told apart; {len(others):,} others, with {n_rows:,} rows, count as one, and as"
        " categories that training never saw."
    )
    counts = {label: found.counts[label] for label in own} | {RARE: n_rows}
    return CategorySummary(found.name, counts, found.n_missing)


def in_order(found: CategorySummary) -> tuple[object, ...]:
    """The categories of a column, the one of all rare ones last."""
    known = ordered([label for label in found.counts if label is not RARE])
    return (*known, RARE) if RARE in found.counts else tuple(known)
