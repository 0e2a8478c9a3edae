"""What a reader of the formulas should know of their columns and classes, and of calibration.

* Of columns that say nearly the same, formulas name one: which is left out for which.
* A column whose effect in the formula for all rows goes one way, while by itself it goes with
  scores the other way.
* What dates are in formulas.
* What calibration rows said: how far predictions are off, or that scores were corrected.
* Probabilities that are those of rows weighted by class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import words
from glassleaf.tree.calibration import Intervals, Scaling
from glassleaf.tree.complexity import shares_formula
from glassleaf.tree.coverage import place_of
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]

# A slope by itself that is less than this share of the formula's is none.
_NO_SLOPE = 0.1
# The coverage whose intervals are told, and for how many leaves each.
_SHOWN_COVERAGE = 0.9
_MOST_SHOWN = 8


def twins(tree: Tree) -> dict[int, int]:
    """Columns that are left out of the formulas, each with the one that says nearly the same."""
    twin = tree.record.twin
    if twin is None:
        return {}
    return {column: int(twin[column]) for column in np.flatnonzero(twin >= 0).tolist()}


def notes(model: FittedModel) -> tuple[str, ...]:
    """Sentences about the columns and classes of a model, and its calibration."""
    return (
        *_given(model),
        *_dates(model),
        *_left_out(model),
        *_against_themselves(model),
        *_weighted_classes(model),
        *_calibrated(model),
    )


def _given(model: FittedModel) -> list[str]:
    """Which splits were given by the user."""
    if model.tree.given is None or not model.tree.given.any():
        return []
    columns = dict.fromkeys(model.tree.feature[model.tree.given].tolist())
    names = ", ".join(words.name(model.names[column]) for column in columns)
    return [f"The first splits, on {names}, were given; they are not tested."]


def _dates(model: FittedModel) -> list[str]:
    """What dates are in formulas."""
    dates = [column.date for column in model.tree.columns if column.date and column.date.is_input]
    return [
        f"{words.name(date.source)} counts in days{', and in UTC' * date.zoned}: of two dates,"
        " formulas take the days between them."
        for date in dates
    ]


def _left_out(model: FittedModel) -> list[str]:
    tree = model.tree
    is_used = np.zeros(len(tree.columns), dtype=np.bool_)
    coef = tree.coef.reshape(-1, tree.terms.n_terms)
    is_used[tree.terms.column_of_term[coef.any(axis=0)]] = True
    correlation = tree.record.twin_correlation
    return [
        f"{words.name(model.names[column])} says nearly the same as"
        f" {words.name(model.names[twin])} (correlation {correlation[column]:.3f}) and is left out"
        " of the formulas."
        for column, twin in twins(tree).items()
        if correlation is not None and is_used[twin]
    ]


def _against_themselves(model: FittedModel) -> list[str]:
    tree = model.tree
    alone = tree.record.alone
    if alone is None or not shares_formula(tree):
        return []
    alone, own = alone.reshape(-1, len(tree.columns)), _root_slopes(tree)
    differs = (own * alone < 0) & (np.abs(alone) >= _NO_SLOPE * np.abs(own))
    return [
        f"{words.name(model.names[column])} {'raises' if own[k, column] > 0 else 'lowers'} the"
        f" score{_of(model, k)} beside the other columns, though by itself it goes with a"
        f" {'lower' if own[k, column] > 0 else 'higher'} one."
        for column, k in np.argwhere(differs.T).tolist()
    ]


def _weighted_classes(model: FittedModel) -> list[str]:
    if model.parameters.get("class_weight") is None or not model.classes:
        return []
    pairs = zip(model.classes, model.tree.record.target[0].tolist(), strict=True)
    shown = [pair for pair in pairs if model.positive_class in (None, pair[0])]
    listed = ", ".join(
        f"{words.class_name(label)} {words.percent(share)}" for label, share in shown
    )
    return [
        f"Probabilities are those of rows weighted by class_weight ({listed}); with_class_shares"
        " gives those of other shares."
    ]


def _of(model: FittedModel, output: int) -> str:
    name = model.outputs[output]
    return f" of {words.class_name(name)}" if name else ""


def _root_slopes(tree: Tree) -> Floats:
    """The slope of every number in the formula for all rows: (outputs, columns).

    That of a broken line is its steepest, or 0 if it has no single direction. Scores of classes
    count relative to each other.
    """
    terms = tree.terms
    coef = tree.coef[0].reshape(-1, terms.n_terms)
    if len(coef) > 1:
        coef = coef - coef.mean(axis=0)
    out = np.zeros((len(coef), len(tree.columns)))
    for column in np.flatnonzero((terms.first_term >= 0) & ~terms.is_category).tolist():
        own = [int(terms.first_term[column]), *terms.hinge_terms(column)]
        pieces = np.cumsum(coef[:, own], axis=1)
        low, high = pieces.min(axis=1), pieces.max(axis=1)
        out[:, column] = np.where(low >= 0, high, np.where(high <= 0, low, 0.0))
    return out


# --- calibration ---------------------------------------------------------------------------------


def _calibrated(model: FittedModel) -> list[str]:
    if model.intervals is not None:
        return [_errors(model, model.intervals)]
    return [] if model.scaling is None else [_correction(model, model.scaling)]


def _errors(model: FittedModel, intervals: Intervals) -> str:
    place = place_of(intervals.level.tolist(), _SHOWN_COVERAGE)
    found = [float(intervals.width[leaf, place]) for leaf in model.leaves]
    unit = {0.0: "", 0.5: " times its square root", 1.0: " times itself"}.get(
        intervals.power, f" times its power {intervals.power:g}"
    )
    return (
        f"By {_observations(intervals.n_observations)}, {words.percent(_SHOWN_COVERAGE)} of true"
        f" values lie no further from the prediction than {_by_leaf(found)}{unit}."
    )


def _correction(model: FittedModel, scaling: Scaling) -> str:
    slopes = [float(scaling.slope[leaf]) for leaf in model.leaves]
    return (
        f"Probabilities are corrected by {_observations(scaling.n_observations)}: scores were"
        f" multiplied by {_by_leaf(slopes)} and moved, which the formulas contain."
    )


def _observations(count: NDArray[np.int64]) -> str:
    return f"{int(count.sum()):,} observations that the fit did not see"


def _by_leaf(values: Sequence[float]) -> str:
    """One number, or those of the leaves; of many leaves, the smallest and the largest."""
    texts = [words.number(value, 3) for value in values]
    if len(set(texts)) == 1:
        return texts[0]
    if len(texts) > _MOST_SHOWN:
        return f"{words.number(min(values), 3)} to {words.number(max(values), 3)}, by leaf,"
    return ", ".join(f"{text} (leaf {k})" for k, text in enumerate(texts, 1))
