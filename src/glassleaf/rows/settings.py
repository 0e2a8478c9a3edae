"""Everything that a fit is told besides the data: settings, and the roles of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from glassleaf.criteria import Criterion
from glassleaf.losses import Loss
from glassleaf.rows.passes.custom import WeakModel
from glassleaf.tables.dates import DatePart
from glassleaf.tables.special import Special

Bools = NDArray[np.bool_]
Renormalization = Literal["zscore", "minmax"] | None


@dataclass(frozen=True)
class Roles:
    """What each column is and may be used for; ``signs`` are those that its slopes may have.

    A sign is 1 (a prediction must not fall as the column rises), -1 or 0 (free). A column with a
    sign does not split: then no change of it leads to another leaf, and what holds for every leaf
    holds for the tree. A number that ``bends`` may have hinges, whether it splits or not; if that
    ``is_asked``, no bend is left to splits. A ``shared`` column has the same weights in all leaves;
    a ``required`` one is in every formula.
    """

    categorical: Bools
    splits: Bools
    leaves: Bools
    bends: Bools
    signs: NDArray[np.int8]
    shared: Bools
    required: Bools
    tested: Bools | None = None  # whose coefficients must change at a split; None: any
    aside: tuple[int, ...] = ()  # columns of exposures and offsets
    dates: tuple[DatePart | None, ...] = ()  # what columns are of dates; empty: none of any
    special: tuple[tuple[Special, ...], ...] = ()  # values of every column; empty: there are none
    may_have_codes: bool = True  # unless the user says that no number is a code
    named_special: tuple[int, ...] = ()  # whose special values are known, whether they occur or not
    is_asked: bool = False  # whether the columns that bend are named
    given: tuple[GivenSplit, ...] = ()  # splits that are made before any search

    @property
    def is_used(self) -> Bools:
        """Which columns split or stand in the models."""
        return self.splits | self.leaves

    def without(self, columns: Bools) -> Roles:
        """The same but for some columns, which neither split nor stand in the models."""
        return replace(
            self,
            splits=self.splits & ~columns,
            leaves=self.leaves & ~columns,
            bends=self.bends & ~columns,
        )


@dataclass(frozen=True)
class GivenSplit:
    """A split that the user gives: numbers up to a threshold go left, or some categories."""

    column: int
    threshold: float = np.nan
    categories: frozenset[Any] = frozenset()

    @property
    def value(self) -> Any:
        """What the user gave."""
        return set(self.categories) if np.isnan(self.threshold) else self.threshold


@dataclass(frozen=True)
class Settings:
    """The parameters of a fit, checked and resolved."""

    # the models of the nodes, and what holds them back
    loss: Loss
    n_classes: int
    weak_model: WeakModel | None
    alpha: float
    is_alpha_chosen: bool  # for every node; ``alpha`` is where the choice begins
    l1_ratio: float
    shrinks_to_parent: bool
    transform: str
    # how large the tree grows
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_leaf: int | float | None
    min_gain: float
    significance: float
    significance_test: Literal["robust", "likelihood"]
    ccp_alpha: float
    held_out: np.random.RandomState | None  # draws the rows that choose the size
    is_grouped: bool  # rows of one subject are one observation
    honest: float | None  # share of the rows that tell the numbers, and nothing else
    # how splits are found
    criterion: Criterion
    renormalize: Renormalization
    standardized: bool
    max_bins: int
    subsets: bool
    rescore: int
    refine: bool
    # what makes leaves and splits short to read
    clamp: bool | tuple[float, float]
    max_numbers: int | Literal["auto"] | None  # None: no limit, "auto": as many as pay
    round_thresholds: float | None
    coef_digits: int | None
    is_held: bool  # whether scores are held within those of the training rows
    shortens: bool  # whether numbers of short models have as few digits as cost little
    # resources
    n_threads: int

    @property
    def is_linear(self) -> bool:
        """Whether the models of the nodes are ours, and linear."""
        return self.weak_model is None

    @property
    def uses_columns(self) -> bool:
        """Whether gains are those of gradients by the weights of columns."""
        return self.criterion.uses == "gradient" and self.is_linear

    @property
    def needs_squares(self) -> bool:
        """Whether gains depend on the squares of columns."""
        return self.renormalize == "zscore"

    @property
    def needs_ranges(self) -> bool:
        """Whether gains depend on the ranges of columns, which cannot be subtracted."""
        return self.renormalize == "minmax"

    @property
    def vector_width(self) -> int:
        """Numbers that every row brings to the sums per bin, its weight among them."""
        if self.criterion.uses == "target":
            return (self.n_classes or 2) + 1
        return self.loss.n_outputs + 1
