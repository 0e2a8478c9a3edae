"""How much of a model other rows of the same kind would change, as data and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassleaf.explanations import words
from glassleaf.explanations.json_data import JsonData
from glassleaf.tables.dates import border_text

# Columns that the text names, the most used first.
_MOST_NAMED = 15


@dataclass(frozen=True)
class ColumnUse(JsonData):
    """How a column is used: by the model, and in which share of the resampled trees.

    ``root``: the first split is on it; ``splits``: some split is; ``formulas``: some leaf's formula
    names it.
    """

    name: str
    in_splits: bool
    in_formulas: bool
    root: float
    splits: float
    formulas: float


@dataclass(frozen=True)
class Stability(JsonData):
    """A model beside trees that were grown on resampled rows.

    ``root`` is the column of the model's first split, None if it has none, and ``root_share`` the
    share of trees whose first split is on the same column (without one: that have none, too).
    ``thresholds`` are where these trees split, ``threshold`` where the model does, and
    ``threshold_range`` holds the middle 90 % of them; of a split of categories there are none, and
    ``same_categories`` is the share of these trees that split them in the same way.

    ``moves`` says for every tree how far the predictions of its middle row lie from the model's:
    the median of absolute differences. ``median_move`` and ``move_of_most`` are the median and the
    90 % quantile over all rows and trees. The unit is the standard deviation of the target, or of
    classes a probability (of several, that which differs most).
    """

    n: int
    rows: int
    groups: int | None
    root: str | None
    root_share: float
    threshold: float | None
    thresholds: tuple[float, ...]
    threshold_range: tuple[float, float] | None
    same_categories: float | None
    columns: tuple[ColumnUse, ...]
    n_leaves: int
    leaves: tuple[int, ...]
    numbers: int | None
    is_probability: bool
    median_move: float
    move_of_most: float
    moves: tuple[float, ...]
    root_unit: str | None = None  # of a split of dates, the unit in which thresholds are written

    @property
    def unit(self) -> str:
        """What moves are counted in."""
        return "in probability" if self.is_probability else "standard deviations of the target"

    def __str__(self) -> str:
        return "\n".join([*self.sentences(), "", *self._table()])

    def sentences(self) -> list[str]:
        """The findings in words."""
        of = "" if self.groups is None else f" in {self.groups:,} groups, drawn together"
        return [
            f"{self.n} trees on {self.rows:,} rows{of}, drawn with replacement.",
            self._root(),
            f"Leaves: {self.n_leaves} in the model, {self._leaves()} of these trees.",
            f"Predictions move by {words.number(self.median_move, 2)} {self.unit} (median); in"
            f" {words.percent(0.9)} of all cases by no more than"
            f" {words.number(self.move_of_most, 2)}.",
        ]

    def _leaves(self) -> str:
        fewest, most = min(self.leaves), max(self.leaves)
        return f"{fewest} in each" if fewest == most else f"{fewest} to {most} in each"

    def _at(self, threshold: float) -> str:
        if self.root_unit is not None:
            return border_text(threshold, self.root_unit)
        return words.number(threshold)

    def _root(self) -> str:
        share = words.percent(self.root_share)
        if self.root is None:
            return f"The model has no split; nor have {share} of the trees."
        said = f"The first split, on {words.name(self.root)}, is on the same column in {share}"
        if self.threshold_range is not None and self.threshold is not None:
            low, high = map(self._at, self.threshold_range)
            where = f"at {low}" if low == high else f"between {low} and {high}"
            said += f"; nine in ten of these split it {where}"
            said += f" (the model: at {self._at(self.threshold)})"
        if self.same_categories is not None:
            said += f"; {words.percent(self.same_categories)} of these into the same categories"
        return said + "."

    def _table(self) -> list[str]:
        used = [own for own in self.columns if max(own.splits, own.formulas) > 0]
        shown = used[:_MOST_NAMED]
        width = max((len(words.name(own.name)) for own in shown), default=0)
        lines = [
            "Columns: share of the trees that split on them, and that name them in a formula"
            " (* as the model does)"
        ]
        for own in shown:
            cells = [
                f"{words.percent(share):>6}{'*' if is_used else ' '}"
                for share, is_used in (
                    (own.splits, own.in_splits), (own.formulas, own.in_formulas)
                )
            ]  # fmt: skip
            lines.append(f"  {words.name(own.name).ljust(width)}  {'  '.join(cells)}".rstrip())
        if len(used) > len(shown):
            lines.append(f"  ... and {len(used) - len(shown)} more")
        return lines


def middle(values: tuple[float, ...], share: float) -> tuple[float, float] | None:
    """The ends between which the middle share of some values lies, None without any.

    >>> middle((1.0, 2.0, 3.0, 4.0, 50.0), 0.6)
    (2.0, 4.0)
    """
    if not values:
        return None
    ordered, cut = sorted(values), math.floor(len(values) * (1 - share) / 2 + 1e-9)
    return ordered[cut], ordered[-1 - cut]
