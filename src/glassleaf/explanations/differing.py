"""Whether an effect differs between the segments: one test of all that differs, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from scipy.stats import f as fisher

from glassleaf.explanations import words
from glassleaf.explanations.lines import CONSTANT, Line
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]

_SIGNIFICANT = 0.05
_CONSTANT = -1  # no column


def told_apart(
    model: FittedModel, lines: Sequence[Line], value: Floats, covariance: Floats, freedom: float
) -> list[str]:
    """For every column whose effect differs somewhere, whether that may be chance.

    ``value`` and ``covariance`` are those of the lines, NaN where a line has no estimate.
    """
    known = np.isfinite(value) & np.isfinite(np.diagonal(covariance))
    found: dict[int, list[Floats]] = {}
    for column, contrast in _contrasts(model, lines):
        if known[contrast != 0].all():
            found.setdefault(column, []).append(contrast)
    value, covariance = np.where(known, value, 0.0), np.nan_to_num(covariance)
    out = []
    for column, contrasts in found.items():
        rows = np.array(contrasts)
        p = joint_p(rows @ value, rows @ covariance @ rows.T, freedom)
        if np.isfinite(p):
            out.append(_sentence(_what(model, lines, rows, column), p))
    return out


def _contrasts(model: FittedModel, lines: Sequence[Line]) -> list[tuple[int, Floats]]:
    """What is 0 where nothing differs, as sums over lines, each with its column."""
    unit, out = np.eye(len(lines)), []
    first: dict[tuple[int, tuple[int, ...]], int] = {}
    for k, line in enumerate(lines):
        if lines[0].node == 0:  # lines below the root are differences
            if line.node != 0:
                out.append((_column(model, line), unit[k]))
        elif line.terms:  # constants of leaves are those of zeros, which say little
            other = first.setdefault((line.output, line.terms), k)
            if other != k:
                out.append((_column(model, line), unit[k] - unit[other]))
    return out


def _column(model: FittedModel, line: Line) -> int:
    return int(model.tree.terms.column_of_term[line.terms[0]]) if line.terms else _CONSTANT


def joint_p(value: Floats, covariance: Floats, freedom: float) -> float:
    """Chance of numbers that lie together as far from 0, where all are 0: Wald's test.

    >>> round(joint_p(np.array([1.96]), np.eye(1), np.inf), 3)
    0.05
    """
    size = np.sqrt(np.diagonal(covariance))
    if not (size > 0).all() or not freedom > 0:
        return np.nan
    correlation, units = covariance / (size[:, None] * size), value / size
    rank = int(np.linalg.matrix_rank(correlation, hermitian=True))
    statistic = float(units @ np.linalg.pinv(correlation, hermitian=True) @ units)
    if np.isinf(freedom):
        return float(chi2.sf(statistic, rank))
    return float(fisher.sf(statistic / rank, rank, freedom))


def _what(model: FittedModel, lines: Sequence[Line], rows: Floats, column: int) -> str:
    if column == _CONSTANT:
        return CONSTANT
    terms = model.tree.terms
    used = [lines[k].terms for k in np.flatnonzero((rows != 0).any(axis=0)).tolist()]
    is_line = not terms.is_category[column] and set(used) == {(int(terms.first_term[column]),)}
    return f"{'slope' if is_line else 'effect'} of {words.name(model.names[column])}"


def _sentence(what: str, p: float) -> str:
    if p < _SIGNIFICANT:
        return f"The {what} differs between the segments: {words.p_value(p)}."
    return f"The {what} may be the same in all segments: {words.p_value(p)}."
