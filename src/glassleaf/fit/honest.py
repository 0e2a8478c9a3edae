"""Honest trees: some rows say what the model looks like, others say its numbers.

Splits, terms, bends and the length of the model are learned on the first part of the rows. Then
every coefficient and constant is estimated again on the rows that were set aside, which had no say
in what is estimated. What these do not tell, as in a leaf without rows, stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.fit.finish import rounded
from glassleaf.fit.guard import limits_of
from glassleaf.fit.path.shorten import shortened
from glassleaf.fit.signs import by_pieces, keeping_signs
from glassleaf.fit.train import Trained, train, with_scores_of
from glassleaf.losses import Quantile
from glassleaf.rows.backends.local import LocalBackend
from glassleaf.rows.settings import Roles, Settings
from glassleaf.tables.design import Terms
from glassleaf.tables.table import Table, raw_matrix
from glassleaf.tree.complexity import held_hinges
from glassleaf.tree.path import INTERCEPT, Path, Step
from glassleaf.tree.regression import (
    ROWS_AT_ONCE,
    Estimated,
    LeafRows,
    Parameter,
    Pull,
    Regression,
    Units,
    leaf_terms,
    loss_units,
    rows_of_leaves,
)
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows' worth of what the first part said: so little that only silence lets it through.
_PULL_ROWS = 1e-3
# The same where a sign forbids what the rows say.
_HELD_ROWS = 1e12


def train_honestly(
    table: Table,
    y: Floats,
    weight: Floats,
    roles: Roles,
    settings: Settings,
    group: Ints | None,
    is_aside: NDArray[np.bool_],
) -> Trained:
    """Grow a tree on some rows, and estimate its numbers on those that are set aside."""
    if isinstance(settings.loss, Quantile):
        raise ValueError("honest is not supported for quantiles.")
    aside, others = np.flatnonzero(is_aside), np.flatnonzero(~is_aside)
    if not len(aside) or not len(others):
        raise ValueError(
            f"honest: of {len(y)} rows {len(aside)} are set aside; both parts need some. Give more"
            " rows or groups, or leave honest out."
        )
    own = None if group is None else np.unique(group[others], return_inverse=True)[1]
    grown = train(table.take(others), y[others], weight[others], roles, settings, own)
    set_aside = table.take(aside)
    matrix = np.ascontiguousarray(raw_matrix(set_aside, grown.tree.columns))
    rows = _Aside(matrix, y[aside], weight[aside], roles, settings)
    with LocalBackend(rows, 1):  # the linear algebra library has one thread meanwhile
        trained = replace(_estimated(grown, rows, set_aside), histograms=grown.histograms)
        return with_scores_of(trained, set_aside, settings.loss)


def _estimated(grown: Trained, rows: _Aside, table: Table) -> Trained:
    """The same tree with the numbers that other rows say."""
    if grown.path is not None:
        path = _estimated_path(grown.path, rows)
        chosen = grown.path.place(grown.tree)
        assert chosen is not None
        return Trained(path.tree(path.steps[chosen]), path)
    tree = _described(_estimated_leaves(grown.tree, rows), rows)
    settings = rows.settings
    if settings.coef_digits is None:
        return Trained(tree)
    tree, cost = rounded(
        tree, settings.coef_digits, table, rows.y, rows.weight, settings.loss, rows.roles.signs
    )
    return Trained(tree, rounding_cost=cost)


@dataclass(frozen=True)
class _Aside:
    """The rows that are set aside, and how the fit was meant."""

    matrix: Floats
    y: Floats
    weight: Floats
    roles: Roles
    settings: Settings

    @property
    def units(self) -> Units:
        return loss_units(self.settings.loss, self.y, self.weight)

    def of_leaves(self, tree: Tree, used: Sequence[int]) -> list[LeafRows]:
        return rows_of_leaves(tree, self.matrix, self.y, self.weight, used)

    def estimated(
        self, tree: Tree, parameters: Sequence[Parameter], start: Floats, rows: Sequence[LeafRows]
    ) -> tuple[Regression, Estimated]:
        """Parameters by these rows, with the signs that are asked for."""
        regression = Regression(tree, parameters, rows, self.settings.loss, self.units)
        square = regression.column_sizes() ** 2
        told = np.where(square > 0, square, 1.0) * self.settings.loss.row_curvature
        pull = Pull(start, _PULL_ROWS * told)
        found = regression.estimated(start, pull)
        signs = self.signs_of(tree.terms, parameters)
        wrong = signs * found.value < 0
        while wrong.any():
            towards = np.where(wrong, 0.0, start)
            held = Pull(towards, np.where(wrong, _HELD_ROWS, _PULL_ROWS) * told)
            found = regression.estimated(towards, held)
            found = found._replace(value=np.where(wrong, 0.0, found.value))
            more = signs * found.value < 0
            if not more.any():
                break
            wrong |= more
        return regression, found

    def signs_of(self, terms: Terms, parameters: Sequence[Parameter]) -> Floats:
        """The sign that every parameter must have, 0 if any; "is missing" is no way up or down."""
        of_term = self.roles.signs[terms.column_of_term].astype(np.float64)
        of_term[terms.missing_term[terms.missing_term >= 0]] = 0.0
        return np.array([of_term[own.terms[0]] if own.terms else 0.0 for own in parameters])

    def with_signs(self, terms: Terms) -> list[int]:
        """The columns with a sign that bend: their parameters are slopes of pieces."""
        return [column for column in terms.bent if self.roles.signs[column]]


# --- one formula and what differs ----------------------------------------------------------------


def _estimated_path(path: Path, rows: _Aside) -> Path:
    """All models of a path, estimated on other rows."""
    used = sorted({int(term) for step in path.steps for term in step.term if term != INTERCEPT})
    of_leaves = rows.of_leaves(path.whole, used)
    told = [own.fewer() for own in of_leaves] if rows.settings.loss.is_quadratic else of_leaves
    steps = tuple(_estimated_step(path.whole, own, rows, told, of_leaves) for own in path.steps)
    return Path(_described(path.whole, rows), steps)


def _estimated_step(
    tree: Tree, step: Step, rows: _Aside, told: Sequence[LeafRows], of_leaves: Sequence[LeafRows]
) -> Step:
    """A step by what the rows of the leaves told; these themselves say what scores there are."""
    n_outputs = rows.settings.loss.n_outputs
    signed = rows.with_signs(tree.terms)
    parameters, start = _step_parameters(tree.terms, step, n_outputs, signed)
    regression, found = rows.estimated(tree, parameters, start, told)
    value = found.value
    if rows.settings.shortens:
        sign = rows.signs_of(tree.terms, parameters)
        value = shortened(value, found.root.T @ found.root, found.loss, sign)
    loss, _ = regression.at(value)
    seen = Regression(tree, parameters, of_leaves, rows.settings.loss, rows.units)
    return replace(
        step,
        value=_entries(step, parameters, value),
        loss=loss * rows.units.scale**regression.loss.degree / regression.weight,
        limits=_limits(seen, value) or step.limits if step.limits else None,
    )


def _step_parameters(
    terms: Terms, step: Step, n_outputs: int, signed: Sequence[int]
) -> tuple[list[Parameter], Floats]:
    """The numbers of a step, those of all rows first, and what they are now.

    A line that ends at a hinge is one number. Columns with a sign have the slopes of their pieces.
    """
    unit = np.eye(n_outputs)
    out: dict[Parameter, float] = {}
    for node, output in sorted(set(zip(step.node.tolist(), step.output.tolist(), strict=True))):
        here = (step.node == node) & (step.output == output)
        own = dict(zip(step.term[here].tolist(), step.value[here].tolist(), strict=True))
        counts = tuple(unit[output].tolist())
        if INTERCEPT in own:
            out[Parameter(node, (), counts)] = own.pop(INTERCEPT)
        pieces = _taken_pieces(own, terms, signed)
        out |= {Parameter(node, piece, counts): slope for piece, slope in pieces.items()}
        for column in terms.bent:
            line = int(terms.first_term[column])
            hinges = [term for term in terms.hinge_terms(column) if term in own]
            held = held_hinges(own.get(line, 0.0), np.array([own[term] for term in hinges]))
            for hinge in [hinges[k] for k in held]:
                out[Parameter(node, (line, hinge), counts)] = -own.pop(hinge)
            if held:
                del own[line]
        for term, value in own.items():
            out[Parameter(node, (term,), counts)] = value
    return list(out), np.array(list(out.values()))


def _taken_pieces(
    own: dict[int, float], terms: Terms, columns: Sequence[int]
) -> dict[tuple[int, ...], float]:
    """Take the slopes of the pieces of some columns out of coefficients by term."""
    out: dict[tuple[int, ...], float] = {}
    for column in columns:
        out |= by_pieces(own, terms, column)
        for term in (int(terms.first_term[column]), *terms.hinge_terms(column)):
            own.pop(term, None)
    return out


def _entries(step: Step, parameters: Sequence[Parameter], value: Floats) -> Floats:
    """The entries of a step, from its numbers."""
    found: dict[tuple[int, int, int], float] = {}
    for own, number in zip(parameters, value.tolist(), strict=True):
        first, *others = own.terms or (INTERCEPT,)
        for term, sign in [(first, 1.0), *((term, -1.0) for term in others)]:
            place = own.node, int(np.argmax(own.outputs)), term
            found[place] = found.get(place, 0.0) + sign * number
    places = zip(step.node.tolist(), step.output.tolist(), step.term.tolist(), strict=True)
    return np.array([found[place] for place in places])


def _limits(regression: Regression, value: Floats) -> tuple[float, float] | None:
    """What scores are held in: those of the rows, widened a little."""
    scores = np.concatenate(regression.scores(value))
    return limits_of(float(scores.min()), float(scores.max()))


# --- a formula of its own in every leaf ----------------------------------------------------------


def _estimated_leaves(tree: Tree, rows: _Aside) -> Tree:
    """A tree whose leaves have models of their own, estimated on other rows."""
    n_outputs = rows.settings.loss.n_outputs
    coef = tree.coef.reshape(tree.node_count, n_outputs, -1).copy()
    intercept = tree.intercept.reshape(tree.node_count, n_outputs).copy()
    low, high = tree.score_low.copy(), tree.score_high.copy()
    used = np.flatnonzero((coef != 0).any(axis=(0, 1))).tolist()
    for own in rows.of_leaves(tree, used):
        parameters, start = _leaf_parameters(
            tree.terms, own.leaf, coef[own.leaf], intercept[own.leaf], rows.with_signs(tree.terms)
        )
        regression, found = rows.estimated(tree, parameters, start, [own])
        coef[own.leaf] = 0.0
        for parameter, number in zip(parameters, found.value.tolist(), strict=True):
            output = int(np.argmax(parameter.outputs))
            if not parameter.terms:
                intercept[own.leaf, output] = number
            for term, factor in zip(parameter.terms, (1.0, -1.0), strict=False):
                coef[own.leaf, output, term] += factor * number
        limits = _limits(regression, found.value) if np.isfinite(low[own.leaf]).all() else None
        if limits is not None:
            low[own.leaf], high[own.leaf] = limits
    found_tree = replace(
        tree,
        coef=coef.reshape(tree.coef.shape),
        intercept=intercept.reshape(tree.intercept.shape),
        score_low=low,
        score_high=high,
    )
    return keeping_signs(found_tree, rows.roles.signs)


def _leaf_parameters(
    terms: Terms, leaf: int, coef: Floats, intercept: Floats, signed: Sequence[int]
) -> tuple[list[Parameter], Floats]:
    """The numbers of a leaf's model, constants first, and what they are now."""
    out: dict[Parameter, float] = {}
    for output, counts in enumerate(map(tuple, np.eye(len(coef)).tolist())):
        out[Parameter(leaf, (), counts)] = float(intercept[output])
    for output, counts in enumerate(map(tuple, np.eye(len(coef)).tolist())):
        own = {int(term): float(coef[output, term]) for term in np.flatnonzero(coef[output])}
        pieces = _taken_pieces(own, terms, signed)
        out |= {Parameter(leaf, piece, counts): slope for piece, slope in pieces.items()}
        out |= {Parameter(leaf, (term,), counts): value for term, value in own.items()}
    return list(out), np.array(list(out.values()))


# --- what the rows are like ----------------------------------------------------------------------


def _described(tree: Tree, rows: _Aside) -> Tree:
    """A tree whose counts, means and spreads are those of other rows; nodes without keep theirs."""
    record, center = tree.record, tree.record.mean[0]
    pairs = tree.terms.pairs
    n_terms = tree.terms.n_terms
    leaves = tree.apply(rows.matrix)
    target = _targets(rows, record.target.reshape(tree.node_count, -1).shape[1])
    sums = np.zeros((tree.node_count, 2 + 2 * n_terms + len(pairs) + target.shape[1]))
    for leaf in np.unique(leaves).tolist():
        here = np.flatnonzero(leaves == leaf)
        for first in range(0, len(here), ROWS_AT_ONCE):
            some = here[first : first + ROWS_AT_ONCE]
            away = leaf_terms(tree, rows.matrix[some], leaf) - center
            products = away[:, pairs[:, 0]] * away[:, pairs[:, 1]]
            own = np.column_stack([np.ones(len(away)), away, away**2, products, target[some]])
            sums[leaf] += np.append(len(away), rows.weight[some] @ own)
    for node in np.flatnonzero(tree.left != LEAF)[::-1].tolist():  # children come after parents
        sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    n_samples, weight = sums[:, 0].astype(np.int64), sums[:, 1]
    means = sums[:, 2:] / np.where(weight > 0, weight, 1.0)[:, None]
    off, square, product, mean_target = np.split(
        means, np.cumsum([n_terms, n_terms, len(pairs)]), axis=1
    )
    is_known = (weight > 0)[:, None]
    covariance = product - off[:, pairs[:, 0]] * off[:, pairs[:, 1]]
    found = replace(
        record,
        mean=np.where(is_known, center + off, record.mean),
        spread=np.where(is_known, np.sqrt(np.maximum(square - off**2, 0.0)), record.spread),
        covariance=np.where(is_known, covariance, record.covariance),
        target=np.where(is_known, mean_target, record.target.reshape(tree.node_count, -1)),
    )
    return replace(tree, n_samples=n_samples, weight=weight, training_record=found)


def _targets(rows: _Aside, width: int) -> Floats:
    """Targets, or for every class whether it is the target, by sorted labels."""
    if not rows.settings.n_classes:
        return rows.y[:, None]
    found = np.eye(width)[rows.y.astype(np.intp)]
    return found if rows.settings.loss.positive else found[:, ::-1]
