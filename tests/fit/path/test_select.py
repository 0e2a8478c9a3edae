"""One formula for all rows, and what differs: against least squares on the explicit columns."""

from itertools import combinations

import numpy as np
import pytest

from glassleaf._kernels.selection import Prices, Quadratic, Rules, select_entries
from glassleaf.fit.path.leaf_sums import LeafSums
from glassleaf.fit.path.select import select
from glassleaf.fit.path.shape import Shape, siblings

# The root, its children 1 and 2, the children 3 and 4 of node 1.
PARENT = np.array([-1, 0, 0, 1, 1])
LEAVES = np.array([2, 3, 4])
ABOVE = {2: (0, 2), 3: (0, 1, 3), 4: (0, 1, 4)}


def problem(rng, n_rows=400, n_columns=3):
    """Rows in leaves, and a target that is one formula but for two entries of node 3."""
    X = np.column_stack([rng.normal(size=(n_rows, n_columns)), np.ones(n_rows)])
    leaf = rng.choice(LEAVES, size=n_rows)
    y = X @ np.array([1.0, 0.5, *[0.0] * (n_columns - 2), 2.0])
    y += (leaf == 3) * (1.5 * X[:, 1] - 1.0) + 0.1 * rng.normal(size=n_rows)
    return X, leaf, y


def sums_of(X, leaf, y, rows=slice(None)):
    parts = [(X[rows][leaf[rows] == own], y[rows][leaf[rows] == own]) for own in LEAVES]
    return LeafSums(
        np.array([own.T @ own for own, _ in parts]),
        np.array([own.T @ target for own, target in parts]),
        np.array([target @ target / 2 for _, target in parts]),
    )


def shape_of(n_parameters, split=1, sign=None, allowed=None, required=(), bars=None):
    prices = Prices(
        entry=np.ones(n_parameters, dtype=np.int64),
        group_of=np.zeros((n_parameters, 2), dtype=np.int64),
        group=np.zeros(1, dtype=np.int64),
        split=np.full(len(PARENT), split),
        parent=PARENT,
        sibling=siblings(PARENT),
    )
    everywhere = np.ones((len(PARENT), n_parameters), dtype=bool)
    rules = Rules(
        everywhere if allowed is None else allowed,
        np.zeros(n_parameters) if sign is None else sign,
        np.full(n_parameters, n_parameters - 1),
        np.isin(np.arange(n_parameters), required),
        np.append(np.arange(n_parameters - 1), -1),
        np.zeros((n_parameters, n_parameters), dtype=bool) if bars is None else bars,
    )
    return Shape(LEAVES, PARENT, prices, rules)


def columns(X, leaf, places):
    """The explicit columns of some entries: a parameter's column in the rows of a node."""
    return np.column_stack(
        [np.isin(leaf, [k for k in LEAVES if v in ABOVE[k]]) * X[:, p] for v, p in places]
    )


def least_loss(X, leaf, y, places):
    Z = columns(X, leaf, places)
    rest = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    return rest @ rest / 2


def numbers_of(places, split=1):
    """Entries, and the splits that must be told to name their nodes."""
    splits = {PARENT[v] for v, _ in places if v} | {0 for v, _ in places if PARENT[v] == 1}
    return len(places) + split * len(splits)


def test_entries_are_those_of_least_squares(rng):
    X, leaf, y = problem(rng)
    sums = sums_of(X, leaf, y)
    steps = select(shape_of(X.shape[1]), sums, np.ones(X.shape[1]), 12)
    assert len(steps.numbers) > 5
    for entries, fall in zip(steps.entries, steps.fall, strict=True):
        places = list(zip(*np.nonzero(entries), strict=True))
        found = np.array([entries[place] for place in places])
        Z = columns(X, leaf, places)
        penalty = np.array([0.0 if p == 3 else 1.0 for _, p in places])
        expected = np.linalg.solve(Z.T @ Z + np.diag(penalty), Z.T @ y)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert fall == pytest.approx(Z.T @ y @ found / 2, rel=1e-6)


def test_what_was_planted_is_found_at_its_price(rng):
    X, leaf, y = problem(rng)
    steps = select(shape_of(4), sums_of(X, leaf, y), np.ones(4), 20)
    wanted = {(0, 0), (0, 1), (0, 3), (3, 1), (3, 3)}
    place = next(k for k, n in enumerate(steps.numbers) if n == len(wanted) + 2)
    assert set(zip(*np.nonzero(steps.entries[place]), strict=True)) == wanted


def test_numbers_are_entries_and_the_splits_above_them(rng):
    X, leaf, y = problem(rng)
    for split in (1, 3):
        steps = select(shape_of(4, split), sums_of(X, leaf, y), np.ones(4), 15)
        for numbers, entries in zip(steps.numbers, steps.entries, strict=True):
            assert numbers == numbers_of(list(zip(*np.nonzero(entries), strict=True)), split)


def test_short_models_are_nearly_the_best_of_their_length(rng):
    """Against all models of as many numbers, by brute force."""
    X, leaf, y = problem(rng, 200, 2)
    places = [(v, p) for v in range(5) for p in range(3)]
    steps = select(shape_of(3), sums_of(X, leaf, y), np.ones(3), 6)
    first = least_loss(X, leaf, y, [(0, 2)])
    for numbers, entries in zip(steps.numbers, steps.entries, strict=True):
        found = least_loss(X, leaf, y, list(zip(*np.nonzero(entries), strict=True)))
        best = min(
            least_loss(X, leaf, y, [(0, 2), *others])
            for size in range(numbers)
            for others in combinations([place for place in places if place != (0, 2)], size)
            if numbers_of([(0, 2), *others]) <= numbers
        )
        assert first - found >= 0.9 * (first - best)


def test_signs_and_forbidden_entries_are_kept(rng):
    X, leaf, y = problem(rng)
    allowed = np.ones((5, 4), dtype=bool)
    allowed[1:, 1] = False
    sign = np.array([-1.0, 0.0, 0.0, 0.0])
    steps = select(shape_of(4, 1, sign, allowed), sums_of(X, leaf, y), np.ones(4), 20)
    assert (steps.entries[:, :, 0] <= 0).all()
    assert not steps.entries[:, 1:, 1].any()


def test_the_unit_of_a_column_does_not_matter(rng):
    X, leaf, y = problem(rng)
    unit = np.array([1e3, 1e-4, 1.0, 1.0])
    plain = select(shape_of(4), sums_of(X, leaf, y), np.ones(4), 15)
    scaled = select(shape_of(4), sums_of(X * unit, leaf, y), unit, 15)
    np.testing.assert_array_equal(plain.numbers, scaled.numbers)
    np.testing.assert_allclose(scaled.entries * unit, plain.entries, rtol=1e-6, atol=1e-12)


def test_the_loss_of_models_is_that_of_their_rows(rng):
    X, leaf, y = problem(rng)
    models = rng.normal(size=(2, 3, 4))
    found = sums_of(X, leaf, y).loss(models)
    for model, loss in zip(models, found, strict=True):
        raw = (model[np.searchsorted(LEAVES, leaf)] * X).sum(axis=1)
        assert loss == pytest.approx(((y - raw) ** 2).sum() / 2)


def test_a_step_back_takes_out_what_has_become_needless(rng):
    """A column that stands for two others comes first, and goes when both are there."""
    a, b = rng.normal(size=(2, 500))
    X = np.column_stack([a + b + 0.1 * rng.normal(size=500), a, b, np.ones(500)])
    y = a + b + 0.01 * rng.normal(size=500)
    leaf = np.full(500, 2)
    hessian, slope = np.zeros((5, 4, 4)), np.zeros((5, 4))
    for node in (0, 2):
        hessian[node], slope[node] = X.T @ X, X.T @ y
    shape = shape_of(4, allowed=np.arange(5)[:, None] + np.zeros((5, 4)) == 0)
    ridge = np.full((5, 4), 1e-9)
    for back, kept in ((0.0, {0, 1, 2, 3}), (0.5, {1, 2, 3})):
        numbers, size = np.zeros((2, 20), dtype=np.int64)
        fall, entry, theta = np.zeros(20), np.zeros((20, 6), dtype=np.int64), np.zeros((20, 6))
        n_steps = select_entries(
            Quadratic(hessian, slope, ridge, shape.deeper()), shape.prices, shape.rules,
            4, back, numbers, fall, size, entry, theta,
        )  # fmt: skip
        found = [set(entry[k, : size[k]].tolist()) for k in range(n_steps)]
        assert {0, 3} in found and kept in found
    assert leaf[0] == 2


def test_what_is_required_is_there_from_the_first_step_on(rng):
    X, leaf, y = problem(rng)
    steps = select(shape_of(4, required=[2]), sums_of(X, leaf, y), np.ones(4), 15)
    assert steps.numbers[0] == 2
    assert steps.entries[:, 0, 2].all()  # though it explains nothing


def test_required_entries_may_be_more_than_are_asked_for(rng):
    X, leaf, y = problem(rng)
    steps = select(shape_of(4, required=[0, 1, 2]), sums_of(X, leaf, y), np.ones(4), 2)
    assert steps.numbers.tolist() == [4]


def test_of_required_columns_that_make_up_each_other_the_last_stays_out(rng):
    X, leaf, y = problem(rng)
    X[:, 0] = X[:, 1] > 0
    X[:, 2] = 1.0 - X[:, 0]
    steps = select(shape_of(4, required=[0, 2]), sums_of(X, leaf, y), np.ones(4), 15)
    assert steps.entries[:, 0, 0].all() and not steps.entries[:, 0, 2].any()


def test_a_column_that_is_kept_bars_others(rng):
    X, leaf, y = problem(rng)
    bars = np.zeros((4, 4), dtype=bool)
    bars[0, 1] = bars[1, 0] = True
    steps = select(shape_of(4, bars=bars), sums_of(X, leaf, y), np.ones(4), 20)
    first = next(p for p in (0, 1) if steps.entries[1, :, p].any())
    assert steps.entries[-1, :, first].any()
    assert not steps.entries[:, :, 1 - first].any()
