"""Whether a model keeps the signs of ``monotonic_cst``: by its slopes, and step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import words
from glassleaf.explanations.json_data import JsonData
from glassleaf.tables.table import UNKNOWN
from glassleaf.tree.fitted import FittedModel, fitted_model
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]

# Rows along which a column is moved, and the evenly spaced values it takes besides its corners.
_N_ROWS = 300
_N_VALUES = 50
# How far beyond the training range, as a share of it; how many values of a number are missing.
_BEYOND = 0.25
_MISSING_SHARE = 0.05
# What rounding may take from a score, as a share of the largest, or from a slope.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SignCheck(JsonData):
    """What was checked of a model's signs, and how often it went against one.

    ``signs`` are those of the columns that have one. Every slope of such a column in every leaf was
    looked at. Besides, ``rows`` were taken, a column moved through its values, within the training
    range and beyond, and every other column left as it was: each move is a step.
    """

    signs: dict[str, int]
    rows: int
    slopes: int
    slopes_against: int
    steps: int
    steps_against: int

    @property
    def holds(self) -> bool:
        """Whether no slope and no step goes against its sign."""
        return self.slopes_against == 0 and self.steps_against == 0

    @property
    def text(self) -> str:
        """The same in a sentence."""
        listed = ", ".join(f"{words.name(name)} {sign:+d}" for name, sign in self.signs.items())
        found = "none against the sign"
        if not self.holds:
            found = f"{self.slopes_against:,} and {self.steps_against:,} AGAINST the sign"
        return (
            f"Monotone ({listed}): {self.slopes:,} slopes of the formulas and {self.steps:,} steps"
            f" along {self.rows:,} rows checked, {found}."
        )


def check_signs(estimator: Any, X: Any = None) -> SignCheck | None:
    """Check by brute force that predictions never go against the signs of ``monotonic_cst``.

    Parameters
    ----------
    estimator : fitted model tree
    X : table of shape (n_samples, n_features), default=None
        Rows along which every column with a sign is moved, at most 300 of them, evenly chosen.
        None: rows drawn at random, within the training range of all columns and beyond it.

    Returns
    -------
    SignCheck or None
        ``text`` says it in a sentence, ``holds`` in a word. None for a model without signs.
    """
    model = fitted_model(estimator)
    return signs_checked(model, None if X is None else model.matrix(X))


def signs_checked(model: FittedModel, matrix: Floats | None = None) -> SignCheck | None:
    """The same along the rows of a raw matrix."""
    signs = signs_of(model)
    if not signs:
        return None
    tree, rows = model.tree, _random_rows(model.tree) if matrix is None else _some(matrix)
    slopes = [_slopes(tree, column, sign) for column, sign in signs.items()]
    steps = [_steps(tree, rows, column, sign) for column, sign in signs.items()]
    return SignCheck(
        signs={model.names[column]: sign for column, sign in signs.items()},
        rows=len(rows),
        slopes=sum(own.size for own in slopes),
        slopes_against=sum(int((own < 0).sum()) for own in slopes),
        steps=sum(own.size for own in steps),
        steps_against=sum(int((own < 0).sum()) for own in steps),
    )


def signs_of(model: FittedModel) -> dict[int, int]:
    """The columns with a sign, from the parameters of the fit."""
    given = model.parameters.get("monotonic_cst")
    if given is None:
        return {}
    pairs = given.items() if isinstance(given, Mapping) else enumerate(np.ravel(given).tolist())
    found = {_position(model, key): int(sign) for key, sign in pairs}
    return {column: found[column] for column in sorted(found) if found[column]}


def _position(model: FittedModel, key: Any) -> int:
    """The column that a key means; a file has positions as texts."""
    is_text = isinstance(key, str) and key not in model.names and key.isdigit()
    return model.position(int(key) if is_text else key, "monotonic_cst")


def _slopes(tree: Tree, column: int, sign: int) -> Floats:
    """The slopes of a column's pieces in all leaves, times its sign; rounding aside."""
    chain = [int(tree.terms.first_term[column]), *tree.terms.hinge_terms(column)]
    coef = tree.coef[tree.left == LEAF][:, chain]
    slopes = sign * np.cumsum(coef, axis=1)
    least = _ROUNDING * np.abs(coef).max(axis=1, keepdims=True)
    return np.where(np.abs(slopes) <= least, 0.0, slopes)


def _steps(tree: Tree, rows: Floats, column: int, sign: int) -> Floats:
    """How scores change from value to value of a column, times its sign; rounding aside."""
    values = _values(tree, column)
    moved = np.repeat(rows, len(values), axis=0)
    moved[:, column] = np.tile(values, len(rows))
    score = tree.raw(moved, tree.apply(moved)).reshape(len(rows), len(values))
    steps = sign * np.diff(score, axis=1)
    return np.where(np.abs(steps) <= _ROUNDING * np.abs(score).max(), 0.0, steps)


def _values(tree: Tree, column: int) -> Floats:
    """Values of a number within its training range and beyond, its corners among them."""
    low, high = _ends(tree, column)
    knots = tree.terms.knots(column)
    corners = np.concatenate(
        [tree.terms.hinges(column), tree.clamp_low[:, column], tree.clamp_high[:, column]]
    )
    corners = corners[np.isfinite(corners)]
    if knots is not None:
        corners = np.concatenate([knots.x, np.interp(corners, knots.z, knots.x)])
    splits = tree.threshold[tree.feature == column]
    splits = splits[np.isfinite(splits)]
    everything = [np.linspace(low, high, _N_VALUES), corners, splits, np.nextafter(splits, np.inf)]
    return np.unique(np.concatenate(everything))


def _ends(tree: Tree, column: int) -> tuple[float, float]:
    """The ends of a number's training range, widened."""
    low, high = float(tree.record.low[column]), float(tree.record.high[column])
    if not np.isfinite(low):
        return -1.0, 1.0
    beyond = _BEYOND * (high - low) or 1.0
    return low - beyond, high + beyond


def _some(matrix: Floats) -> Floats:
    chosen = np.linspace(0, len(matrix) - 1, min(_N_ROWS, len(matrix))).astype(int)
    return np.asarray(matrix[chosen])


def _random_rows(tree: Tree) -> Floats:
    """Rows of values drawn evenly, with missing ones and new categories among them."""
    draws = np.random.default_rng(0)
    out = np.empty((_N_ROWS, len(tree.columns)))
    for j, column in enumerate(tree.columns):
        if column.categories is None:
            out[:, j] = draws.uniform(*_ends(tree, j), _N_ROWS)
            out[draws.random(_N_ROWS) < _MISSING_SHARE, j] = np.nan
        else:
            out[:, j] = draws.integers(int(UNKNOWN), len(column.categories), _N_ROWS)
    for offset in tree.offsets:
        out[:, offset.column] = offset.neutral
    return out
