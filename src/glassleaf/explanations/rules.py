"""Rules: what the splits on the way to a node ask, merged to one condition per feature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassleaf.explanations import words
from glassleaf.tables.cells import ANY_NUMBER
from glassleaf.tables.dates import border_text
from glassleaf.tree.tree import LEAF, Candidates, Tree

_FEW_DIGITS, _BESIDE_DIGITS = 6, 3
_OR_MISSING, _OR_NEW = " or missing", " or new"


@dataclass(frozen=True)
class Condition:
    """What one feature must be: ``low < x <= high``, or one of ``categories``.

    ``missing`` and ``unknown`` say whether a missing value, or a category that training never saw,
    meets it too; ``has_missing`` whether training saw missing values where this was asked.
    ``excluded`` are the categories that do not meet it, ``digits`` how many its ends are read by.
    """

    feature: str
    column: int
    low: float = -np.inf
    high: float = np.inf
    categories: tuple[Any, ...] | None = None
    excluded: tuple[Any, ...] = ()
    missing: bool = True
    unknown: bool = True
    has_missing: bool = False
    digits: int = _FEW_DIGITS
    date_unit: str | None = None  # of days, the unit in which their ends are dates

    @property
    def text(self) -> str:
        """The condition in plain words.

        >>> Condition("grade", 0, 3, 7, missing=False).text
        '3 < grade ≤ 7'
        >>> Condition("region", 0, categories=("north",), unknown=False, has_missing=True).text
        'region ∈ {north} or missing'
        """
        return self.in_words()

    def in_words(self, name_length: int = words.NAME_LENGTH) -> str:
        """The same with the feature's name cut to a length."""
        feature = words.name(self.feature, name_length)
        or_missing = _OR_MISSING if self.missing and self.has_missing else ""
        if self.categories is not None:
            return self._category_text(feature) + or_missing
        bounded_below, bounded_above = np.isfinite(self.low), np.isfinite(self.high)
        if self.low >= self.high or self.low == np.inf:
            return f"{feature} is missing" if self.missing else f"{feature}: nothing"
        # Of whole days, those up to the end of one are said as those before the next.
        less, up_to, above = ("≤", "<", "≥") if self.date_unit == "day" else ("<", "≤", ">")
        if bounded_below and bounded_above:
            low, high = self.end(self.low), self.end(self.high)
            return f"{low} {less} {feature} {up_to} {high}{or_missing}"
        if bounded_below:
            return f"{feature} {above} {self.end(self.low)}{or_missing}"
        if bounded_above:
            return f"{feature} {up_to} {self.end(self.high)}{or_missing}"
        return f"{feature} is anything" if self.missing else f"{feature} is not missing"

    def end(self, value: float) -> str:
        """An end of the range, as it is written."""
        if self.date_unit is not None:
            return border_text(value, self.date_unit)
        return words.border(value, self.digits)

    def _category_text(self, feature: str) -> str:
        assert self.categories is not None
        if not self.categories and not self.unknown:
            return f"{feature} is missing" if self.missing else f"{feature}: nothing"
        if self.unknown and not self.excluded:
            return f"{feature} is anything" if self.missing else f"{feature} is not missing"
        if self.unknown and len(self.excluded) <= max(len(self.categories), 2):
            return f"{feature} ∉ {words.listed(self.excluded)}"
        or_new = _OR_NEW if self.unknown else ""
        return f"{feature} ∈ {words.listed(self.categories)}{or_new}"

    def holds(self, value: float, code_of: dict[Any, int] | None = None) -> bool:
        """Whether a value of a raw matrix (a number, a code, NaN, -1 for unknown) meets it."""
        if np.isnan(value):
            return self.missing
        if self.categories is None:
            return bool(self.low < value <= self.high)
        if value < 0:
            return self.unknown
        assert code_of is not None
        return int(value) in {code_of[category] for category in self.categories}


def both(first: Condition, second: Condition) -> Condition:
    """The condition that holds where both do, for the same feature."""
    categories, excluded = first.categories, first.excluded
    if categories is not None:
        kept = set(categories) & set(second.categories or ())
        excluded = tuple(c for c in (*excluded, *categories) if c not in kept)
        categories = tuple(category for category in categories if category in kept)
    return replace(
        first,
        low=max(first.low, second.low),
        high=min(first.high, second.high),
        categories=categories,
        excluded=excluded,
        missing=first.missing and second.missing,
        unknown=first.unknown and second.unknown,
        has_missing=first.has_missing or second.has_missing,
        digits=max(first.digits, second.digits),
    )


def split_conditions(tree: Tree, node: int) -> tuple[Condition, Condition]:
    """What the split of a node asks of the rows that go left, and of those that go right."""
    return _sides(
        tree,
        int(tree.feature[node]),
        float(tree.threshold[node]),
        tree.left_categories(node),
        bool(tree.missing_left[node]),
        bool(tree.unknown_left[node]),
        _has_missing(tree, node),
    )


def _has_missing(tree: Tree, node: int) -> bool:
    """Whether training saw missing values at a split; it may have where no record says."""
    if tree.training_record is None:
        return True
    candidates = tree.training_record.candidates
    own = (candidates.node == node) & (candidates.feature == tree.feature[node])
    return bool(candidates.has_missing[own].any() or not own.any())


def candidate_condition(tree: Tree, candidates: Candidates, k: int) -> Condition:
    """What candidate k asks of the rows that would go left."""
    column = int(candidates.feature[k])
    first = int(candidates.first_category[k])
    sides = None
    if first >= 0:
        sides = candidates.categories[first : first + len(tree.columns[column].categories or ())]
    return _sides(
        tree,
        column,
        float(candidates.threshold[k]),
        sides,
        bool(candidates.missing_left[k]),
        False,
        bool(candidates.has_missing[k]),
    )[0]


def _sides(
    tree: Tree,
    column: int,
    threshold: float,
    left_categories: Any,
    missing_left: bool,
    unknown_left: bool,
    has_missing: bool,
) -> tuple[Condition, Condition]:
    known = tree.columns[column]
    anything = Condition(known.name, column, has_missing=has_missing, date_unit=known.date_unit)
    left = replace(anything, missing=missing_left)
    right = replace(anything, missing=not missing_left)
    if known.categories is None:
        border = np.inf if threshold == ANY_NUMBER else threshold
        digits = _digits(tree, column, border)
        return replace(left, high=border, digits=digits), replace(right, low=border, digits=digits)
    pairs = list(zip(known.categories, left_categories, strict=True))
    to_left = tuple(category for category, goes_left in pairs if goes_left)
    to_right = tuple(category for category, goes_left in pairs if not goes_left)
    return (
        replace(left, categories=to_left, excluded=to_right, unknown=unknown_left),
        replace(right, categories=to_right, excluded=to_left, unknown=not unknown_left),
    )


def _digits(tree: Tree, column: int, border: float) -> int:
    """As many as tell a border from the nearest values: a thousandth of the rows' mean distance."""
    record = tree.training_record
    if record is None:
        return _FEW_DIGITS
    distance = (record.high[column] - record.low[column]) / tree.n_samples[0]
    return max(_FEW_DIGITS, words.digits_beside(border, float(distance), _BESIDE_DIGITS))


def all_rules(tree: Tree) -> list[tuple[Condition, ...]]:
    """The rule of every node: one condition per feature on the way, in the order of the way."""
    rules: list[tuple[Condition, ...]] = [()] * tree.node_count
    for node in range(tree.node_count):  # parents come before their children
        if tree.left[node] == LEAF:
            continue
        sides = split_conditions(tree, node)
        for child, asked in zip((tree.left[node], tree.right[node]), sides, strict=True):
            merged = {condition.column: condition for condition in rules[node]}
            known = merged.get(asked.column)
            merged[asked.column] = asked if known is None else both(known, asked)
            rules[child] = tuple(merged.values())
    return rules


def rule_text(rule: tuple[Condition, ...]) -> str:
    """A whole rule in one line; "all rows" where nothing is asked.

    >>> rule_text((Condition("age", 0, high=30), Condition("pay", 1, low=2, has_missing=True)))
    'age ≤ 30 and (pay > 2 or missing)'
    """
    return " and ".join(rule_texts(rule)) or "all rows"


def rule_texts(rule: tuple[Condition, ...]) -> list[str]:
    """The conditions of a rule, in brackets where one beside others has an "or" of its own."""
    texts = [condition.text for condition in rule]
    if len(texts) > 1:
        texts = [f"({text})" if text.endswith((_OR_MISSING, _OR_NEW)) else text for text in texts]
    return texts
