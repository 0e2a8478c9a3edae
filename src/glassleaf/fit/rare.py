"""The finished tree without the category that all rare ones of a column share.

A category that training never saw adds nothing to a leaf. So what the shared category adds becomes
part of the intercept, and the others of the column add what is more than that: every prediction
stays. At splits the side of the shared category becomes that of unknown ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.design import Terms
from glassleaf.tables.table import RARE, Column
from glassleaf.tree.path import Step
from glassleaf.tree.tree import Candidates, TrainingRecord, Tree

Places = NDArray[np.int64]


def without_rare(tree: Tree) -> Tree:
    """The same tree, to which rare categories are unknown."""
    is_shared = _has_rare(tree.columns)
    if not is_shared.any():
        return tree
    first = tree.terms.first_term
    width = np.array([len(column.categories or ()) for column in tree.columns])
    gone = rare_terms(tree.columns, tree.terms)
    coef, intercept = tree.coef.copy(), tree.intercept.copy()
    for j in np.flatnonzero(is_shared & (first >= 0)).tolist():
        own = np.arange(first[j], first[j] + width[j])
        shared = coef[..., own[-1]].copy()
        if tree.terms.missing_term[j] >= 0:
            own = np.append(own, tree.terms.missing_term[j])
        coef[..., own] -= shared[..., None]
        intercept += shared
    is_split = (tree.feature >= 0) & is_shared[tree.feature]
    last = tree.first_category[is_split] + width[tree.feature[is_split]] - 1
    unknown_left = tree.unknown_left.copy()
    unknown_left[is_split] = tree.categories[last]
    first_category, categories = _sides(tree, last)
    return replace(
        tree,
        columns=tuple(map(_without, tree.columns)),
        terms=_fewer_terms(tree.terms, gone),
        unknown_left=unknown_left,
        first_category=first_category,
        categories=categories,
        coef=np.delete(coef, gone, axis=-1),
        intercept=intercept,
        training_record=_fewer_records(tree.record, gone, is_shared, width),
    )


def steps_without_rare(steps: tuple[Step, ...], tree: Tree) -> tuple[Step, ...]:
    """Steps of a tree, in which no rare category has an entry, for the tree without these."""
    gone = rare_terms(tree.columns, tree.terms)
    return tuple(replace(step, term=_moved(step.term, gone)) for step in steps)


def rare_terms(columns: Sequence[Column], terms: Terms) -> Places:
    """The terms of the categories that are shared, one of every column that has one."""
    width = np.array([len(column.categories or ()) for column in columns])
    first = terms.first_term
    return np.sort((first + width - 1)[_has_rare(columns) & (first >= 0)])


def _has_rare(columns: Sequence[Column]) -> NDArray[np.bool_]:
    return np.array([RARE in (column.categories or ()) for column in columns])


def _moved(term: Any, gone: Places) -> Any:
    """The numbers of terms when some are gone; negative ones are none, and stay."""
    return np.where(term >= 0, term - np.searchsorted(gone, term), term)


def _without(column: Column) -> Column:
    kept = None if column.categories is None else tuple(
        category for category in column.categories if category is not RARE
    )  # fmt: skip
    return replace(column, categories=kept)


def _sides(splits: Tree | Candidates, last: Places) -> tuple[Places, NDArray[np.bool_]]:
    """Places and sides of the categories, without the last of some splits."""
    n_before = np.searchsorted(np.sort(last), splits.first_category)
    first = np.where(splits.first_category >= 0, splits.first_category - n_before, -1)
    return first, np.delete(splits.categories, last)


def _fewer_terms(terms: Terms, gone: Places) -> Terms:
    return replace(
        terms,
        first_term=_moved(terms.first_term, gone),
        missing_term=_moved(terms.missing_term, gone),
        special_term=_moved(terms.special_term, gone),
        n_terms=terms.n_terms - len(gone),
    )


def _fewer_records(
    record: TrainingRecord, gone: Places, is_shared: NDArray[np.bool_], width: Places
) -> TrainingRecord:
    rivals = record.candidates
    is_split = is_shared[rivals.feature]
    last = rivals.first_category[is_split] + width[rivals.feature[is_split]] - 1
    first_category, categories = _sides(rivals, last)
    return replace(
        record,
        mean=np.delete(record.mean, gone, axis=-1),
        spread=np.delete(record.spread, gone, axis=-1),
        candidates=replace(rivals, first_category=first_category, categories=categories),
    )
