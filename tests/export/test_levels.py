"""Tables of levels: against sums over all ways to cut, and the model's own score."""

from itertools import combinations

import numpy as np
import pytest
import zoo

from glassleaf.export.levels import (
    auto_edges,
    banded_parts,
    effect,
    exact_parts,
    rows_of_nodes,
    score,
)
from glassleaf.tree.file.serialize import plain_model

KINDS = ["squared_error", "curves", "poisson, rank", "huber, curves, clamp", "binary, limits"]


def spread(values, added, edges):
    """Sum of squares around the means of the ranges."""
    place = np.searchsorted(edges, values)
    return sum(((added[place == k] - added[place == k].mean()) ** 2).sum() for k in set(place))


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_cuts_are_the_best_of_all(rng, most):
    for _ in range(20):
        values = rng.integers(0, 9, 40).astype(float)
        added = np.sin(values) + 0.1 * values
        known = np.unique(values)
        found = auto_edges(values, added, most, 0.0)
        assert len(found) <= most - 1 and all(cut == round(cut) for cut in found)
        best = min(
            spread(values, added, list(cuts)) for cuts in combinations(known[:-1], len(found))
        )
        assert spread(values, added, found) == pytest.approx(best, abs=1e-9)


def test_there_are_no_more_ranges_than_needed(rng):
    values = rng.normal(size=1000)
    step = np.where(values > 0.3, 2.0, 0.0)
    (cut,) = auto_edges(values, step, 8, 0.2)
    assert abs(cut - 0.3) < 0.1
    assert auto_edges(values, np.zeros(1000), 8, 0.01) == []
    assert auto_edges(np.full(10, np.nan), np.zeros(10), 8, 0.01) == []
    assert auto_edges(np.ones(10), np.zeros(10), 8, 0.0) == []


@pytest.mark.parametrize("kind", KINDS)
def test_exact_levels_are_the_model(kind):
    case = zoo.case(kind)
    fitted = case.model.model_
    model, matrix = plain_model(fitted), fitted.matrix(case.table)
    limits = {leaf.node: (leaf.low[0], leaf.high[0]) for leaf in model.leaves}
    found = score(fitted, exact_parts(fitted, model), limits, matrix)
    np.testing.assert_allclose(found, fitted.raw(matrix)[:, 0], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_effects_add_up_to_the_model(kind):
    case = zoo.case(kind)
    fitted = case.model.model_
    model, matrix = plain_model(fitted), fitted.matrix(case.table)
    leaves, raw = fitted.tree.apply(matrix), fitted.raw(matrix)[:, 0]
    for leaf in model.leaves:
        here = leaves == leaf.node
        total = np.full(here.sum(), leaf.intercept[0])
        for term in leaf.terms:
            total += effect(model.columns[term.column], term, matrix[here, term.column])
        held = np.clip(total, leaf.low[0], leaf.high[0])
        np.testing.assert_allclose(held, raw[here], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_has_one_level(kind):
    case = zoo.case(kind)
    fitted = case.model.model_
    model, matrix = plain_model(fitted), fitted.matrix(case.table)
    banded = banded_parts(fitted, model, matrix, {}, 5, 0.0)
    for part in [*exact_parts(fitted, model), *banded]:
        for levels in part.levels:
            values = matrix[:, levels[0].column]
            assert (sum(level.holds(values).astype(int) for level in levels) == 1).all()


def test_rows_of_nodes_are_their_decision_paths():
    case = zoo.case("curves")
    fitted = case.model.model_
    under = rows_of_nodes(fitted, fitted.matrix(case.table))
    known = case.model.decision_path(case.table).toarray().astype(bool)
    for node, rows in under.items():
        np.testing.assert_array_equal(rows, known[:, node])
