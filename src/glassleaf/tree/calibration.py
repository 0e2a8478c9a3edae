"""What rows beyond the fit have taught a model: how far it errs, how far its odds are off."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.short_numbers import shortest_between
from glassleaf.tree.coverage import place_of
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What a short number may move a score by, and within how many spreads of a column from its mean.
_UNNOTICED = 0.01
_MOST_SPREADS = 3.0


@dataclass(frozen=True)
class Intervals:
    """How far targets lie from predictions: half the width of an interval, by node and level.

    An interval around a prediction m reaches ``width[node, place] * m**power`` to both sides, where
    ``place`` is that of its coverage in ``level``. The power is how the loss assumes that spread
    grows with the mean; where it is not 0, targets are not negative, and no interval is.
    ``n_observations`` is how many calibration rows (or groups of them) every leaf had, ``is_own``
    whether it stands on these alone or shares those of other leaves.
    """

    level: Floats
    width: Floats
    n_observations: Ints
    is_own: NDArray[np.bool_]
    power: float

    def half_widths(self, nodes: Ints, prediction: Floats, coverage: float) -> Floats:
        """How far the intervals of some rows reach to both sides."""
        width = self.width[nodes, place_of(self.level.tolist(), coverage)]
        return np.asarray(width * prediction**self.power)

    def around(self, nodes: Ints, prediction: Floats, coverage: float) -> Floats:
        """Both ends of the intervals of some rows, shape (rows, 2)."""
        half = self.half_widths(nodes, prediction, coverage)
        low = prediction - half
        return np.column_stack([np.maximum(low, 0.0) if self.power else low, prediction + half])


@dataclass(frozen=True)
class Scaling:
    """What every node's score was multiplied by, and what was added to it, one number per output.

    The models of the tree hold it already. ``n_observations`` and ``is_own``: see ``Intervals``.
    """

    slope: Floats
    shift: Floats
    n_observations: Ints
    is_own: NDArray[np.bool_]

    def after(self, earlier: Scaling | None) -> Scaling:
        """Both in one, seen from the tree before the earlier one."""
        if earlier is None:
            return self
        slope = self.slope.reshape(-1, *[1] * (self.shift.ndim - 1))
        return replace(
            self, slope=self.slope * earlier.slope, shift=self.shift + slope * earlier.shift
        )

    def applied(self, tree: Tree, shortens: bool) -> Tree:
        """The tree with scores that are multiplied and moved, with short numbers if asked for."""
        per_score = self.slope.reshape(-1, *[1] * (tree.intercept.ndim - 1))
        scaled = replace(
            tree,
            coef=self.slope.reshape(-1, *[1] * (tree.coef.ndim - 1)) * tree.coef,
            intercept=_moved(tree.intercept, per_score, self.shift),
            score_low=_moved(tree.score_low, per_score, self.shift),
            score_high=_moved(tree.score_high, per_score, self.shift),
        )
        return _with_short_numbers(scaled) if shortens else scaled


def _moved(score: Floats, slope: Floats, shift: Floats) -> Floats:
    """Limits that are infinite stay so."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(score), slope * score + shift, score)


def _with_short_numbers(tree: Tree) -> Tree:
    """The tree with differences between nodes of few digits, each of which moves no score much."""
    parent = tree.parent
    models = np.concatenate(
        [tree.coef.reshape(len(parent), -1, tree.terms.n_terms), _column(tree.intercept)], axis=2
    )
    away = np.append(_UNNOTICED / _term_sizes(tree), _UNNOTICED)
    out = models.copy()
    for node, above in enumerate(parent.tolist()):  # parents come before their children
        start, base = (models[above], out[above]) if above >= 0 else (0.0, 0.0)
        own = models[node] - start
        short = _shortest_near(own, np.broadcast_to(away, own.shape))
        out[node] = np.where(own != 0, base + short, base)
    return replace(
        tree,
        coef=out[:, :, :-1].reshape(tree.coef.shape),
        intercept=out[:, :, -1].reshape(tree.intercept.shape),
        score_low=_shortest_near(tree.score_low, _UNNOTICED),
        score_high=_shortest_near(tree.score_high, _UNNOTICED),
    )


def _column(score: Floats) -> Floats:
    return score.reshape(len(score), -1, 1)


def _term_sizes(tree: Tree) -> Floats:
    """How large every term is in all but few training rows; hinges as the line of their column."""
    mean, spread = tree.record.mean[0], tree.record.spread[0]
    size = np.maximum(np.abs(mean) + _MOST_SPREADS * spread, np.finfo(float).tiny)
    for column in tree.terms.bent:
        size[tree.terms.hinge_terms(column)] = size[tree.terms.first_term[column]]
    return np.asarray(size)


@np.vectorize
def _shortest_near(number: float, away: float) -> float:
    if not np.isfinite(number) or abs(number) <= away:
        return float(number)
    return float(np.sign(number)) * shortest_between(abs(number) - away, abs(number) + away)
