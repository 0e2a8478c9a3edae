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
    ``special`` are the special values of a number that meet it, by their words; ``seen_special``
    those that training saw there, whether they meet it or not. ``excluded`` are the categories that
    do not meet it, ``digits`` how many its ends are read by.
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
    special: tuple[str, ...] = ()
    seen_special: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The condition in plain words.

        >>> Condition("grade", 0, 3, 7, missing=False).text
        '3 < grade ≤ 7'
        >>> Condition("region", 0, categories=("north",), unknown=False, has_missing=True).text
        'region ∈ {north} or missing'
        >>> Condition("age", 0, 3, special=("refused",), seen_special=("refused",)).text
        'age > 3 or refused'
        """
        return self.in_words()

    def in_words(self, name_length: int = words.NAME_LENGTH) -> str:
        """The same with the feature's name cut to a length."""
        feature = words.name(self.feature, name_length)
        if self.categories is not None:
            return self._category_text(feature) + self.states_text
        return self._number_text(feature)

    @property
    def states_text(self) -> str:
        """What else meets it: " or no record or missing"."""
        or_missing = _OR_MISSING if self.missing and self.has_missing else ""
        return "".join(f" or {word}" for word in self._special_words) + or_missing

    @property
    def _special_words(self) -> list[str]:
        return [words.name(word, 24) for word in self.special if word in self.seen_special]

    @property
    def has_alternatives(self) -> bool:
        """Whether its text has an "or" at its end."""
        return self.text.endswith((*filter(None, [self.states_text]), _OR_NEW))

    def _number_text(self, feature: str) -> str:
        or_missing = self.states_text
        bounded_below, bounded_above = np.isfinite(self.low), np.isfinite(self.high)
        if self.low >= self.high or self.low == np.inf:
            return self._states_alone(feature)
        # Of whole days, those up to the end of one are said as those before the next.
        less, up_to, above = ("≤", "<", "≥") if self.date_unit == "day" else ("<", "≤", ">")
        if bounded_below and bounded_above:
            low, high = self.end(self.low), self.end(self.high)
            return f"{low} {less} {feature} {up_to} {high}{or_missing}"
        if bounded_below:
            return f"{feature} {above} {self.end(self.low)}{or_missing}"
        if bounded_above:
            return f"{feature} {up_to} {self.end(self.high)}{or_missing}"
        if set(self.seen_special) - set(self.special):
            return f"{feature} is a number{or_missing}"
        return f"{feature} is anything" if self.missing else f"{feature} is not missing"

    def _states_alone(self, feature: str) -> str:
        """The text where no number meets it."""
        found = [*self._special_words, *["missing"] * self.missing]
        if len(found) > 1 and not self.has_missing:
            found = self._special_words
        return f"{feature} is {' or '.join(found)}" if found else f"{feature}: nothing"

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
        special=tuple(word for word in first.special if word in second.special),
        seen_special=tuple(dict.fromkeys((*first.seen_special, *second.seen_special))),
    )


def split_conditions(tree: Tree, node: int) -> tuple[Condition, Condition]:
    """What the split of a node asks of the rows that go left, and of those that go right."""
    return _sides(
        tree,
        int(tree.feature[node]),
        float(tree.threshold[node]),
        tree.left_special(node)
        if tree.columns[tree.feature[node]].categories is None
        else tree.left_categories(node),
        bool(tree.missing_left[node]),
        bool(tree.unknown_left[node]),
        _has_missing(tree, node),
        _seen_special(tree, node, int(tree.feature[node])),
    )


def _seen_special(tree: Tree, node: int, column: int) -> tuple[str, ...]:
    """The special values of a column that training saw in a node, as far as it is known."""
    pairs = zip(tree.columns[column].special, tree.terms.special_terms(column), strict=True)
    record = tree.training_record
    is_known = record is not None and record.mean.size
    return tuple(
        word
        for (_, word), term in pairs
        if not is_known or term < 0 or record is None or record.mean[node, term] > 0
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
        sides = candidates.categories[first : first + len(tree.columns[column].codes)]
    return _sides(
        tree,
        column,
        float(candidates.threshold[k]),
        sides,
        bool(candidates.missing_left[k]),
        False,
        bool(candidates.has_missing[k]),
        _seen_special(tree, int(candidates.node[k]), column),
    )[0]


def _sides(
    tree: Tree,
    column: int,
    threshold: float,
    left_codes: Any,
    missing_left: bool,
    unknown_left: bool,
    has_missing: bool,
    seen_special: tuple[str, ...],
) -> tuple[Condition, Condition]:
    known = tree.columns[column]
    anything = Condition(
        known.name,
        column,
        has_missing=has_missing,
        date_unit=known.date_unit,
        seen_special=seen_special,
    )
    left = replace(anything, missing=missing_left)
    right = replace(anything, missing=not missing_left)
    pairs = list(zip(known.codes, left_codes if known.codes else (), strict=True))
    to_left = tuple(category for category, goes_left in pairs if goes_left)
    to_right = tuple(category for category, goes_left in pairs if not goes_left)
    if known.categories is None:
        border = np.inf if threshold == ANY_NUMBER else threshold
        digits = _digits(tree, column, border)
        return (
            replace(left, high=border, digits=digits, special=to_left),
            replace(right, low=border, digits=digits, special=to_right),
        )
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
    if len(rule) == 1:
        return [rule[0].text]
    return [f"({own.text})" if own.has_alternatives else own.text for own in rule]
