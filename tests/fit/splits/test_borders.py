"""Where in its bins a split is: against all places near it, one by one."""

import numpy as np
import pandas as pd
import pytest
from bare import regressor
from problems import KINDS, table, target
from sklearn.base import clone
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.fit.splits import borders
from glassleaf.fit.splits import find as splitting

seeds = pytest.mark.parametrize("seed", range(4))
# Least squares on either side, as good as.
FREE = {"alpha": 1e-9, "shrink": "zero", "max_depth": 1}
# A criterion that knows no slopes, alone, puts borders where these models do not want them.
ROUGH = regressor(criterion="impurity", rescore=1, max_bins=400, **FREE)


def a_jump(seed, n=4000, noise=0.3):
    """Two slopes, one below and one above 3.3; far more values than bins."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 3))
    y = np.where(X[:, 0] < 3.3, X[:, 1], 3.0 - X[:, 1]) + noise * rng.normal(size=n)
    return X, y


@seeds
def test_a_target_that_jumps_is_cut_where_it_jumps(seed):
    X, y = a_jump(seed, n=20_000)
    tree = ModelTreeRegressor(significance=0.001).fit(X, y).tree_
    assert tree.feature[0] == 0 and tree.node_count == 3
    # A few rows next to the jump may lie on the other model by chance.
    wrong = (X[:, 0] <= tree.threshold[0]) != (X[:, 0] < 3.3)
    assert wrong.sum() <= 5


def side_losses(X, y, weight, is_left):
    """Each row's loss under the least squares of the left rows, and under those of the right."""
    design = np.column_stack([X, np.ones(len(X))])
    root = np.sqrt(weight)
    out = []
    for rows in (is_left, ~is_left):
        found = np.linalg.lstsq(design[rows] * root[rows, None], y[rows] * root[rows], rcond=None)
        out.append(0.5 * weight * (y - design @ found[0]) ** 2)
    return out


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_border_is_the_best_of_all_places_near_it(monkeypatch, seed, weighted):
    """Every value has its bin here, so that "near" is a count of rows."""
    X, y = a_jump(seed, n=400, noise=2.0)
    weight = np.random.default_rng(seed).choice([0.5, 2.0], 400) if weighted else np.ones(400)
    model = clone(ROUGH)
    moved = model.fit(X, y, weight).tree_
    monkeypatch.setattr(splitting, "move_borders", lambda *given: [None] * len(given[-1]))
    tree = model.fit(X, y, weight).tree_
    x = X[:, tree.feature[0]]
    losses = side_losses(X, y, weight, x <= tree.threshold[0])
    values = np.sort(x)
    places = values[:-1] + np.diff(values) / 2
    costs = {}
    for place in places:
        between = (x > min(place, tree.threshold[0])) & (x < max(place, tree.threshold[0]))
        if weight[between].sum() <= 0.025 * weight.sum():
            costs[place] = losses[0][x <= place].sum() + losses[1][x > place].sum()
    best = min(costs, key=costs.get)
    assert moved.feature[0] == tree.feature[0]
    gap = np.diff(values)[places == best][0]
    assert abs(moved.threshold[0] - best) <= 1e-5 * gap


def test_some_borders_do_move(monkeypatch):
    """The test above would pass if none did and none should."""
    n_moved = 0
    for seed in range(12):
        X, y = a_jump(seed, n=400, noise=2.0)
        model = clone(ROUGH)
        moved = model.fit(X, y).tree_.threshold[0]
        with monkeypatch.context() as patch:
            patch.setattr(splitting, "move_borders", lambda *given: [None] * len(given[-1]))
            n_moved += moved != model.fit(X, y).tree_.threshold[0]
    assert n_moved >= 2


FORMS = {
    "default": {},
    "rank": {"leaf_transform": "rank"},
    "winsor": {"leaf_transform": "winsor"},
    "raw gradients": {"criterion": "gradient"},
    "refine": {"refine": True},
    "short numbers": {"round_thresholds": True},
    "few bins": {"max_bins": 4},
    "few leaf features": {"leaf_features": ["b", "t"]},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_predict_where_they_trained(rng, kind, form):
    """Rows are sent by stored values, and predicted by raw ones; also with gaps and few values."""
    X, score = table(rng, 800)
    X["zeros"] = np.where(rng.random(800) < 0.7, 0.0, rng.exponential(size=800).round(2))
    X["heavy"] = rng.standard_t(1.5, size=800)
    score = score + np.where(X["heavy"] > 0.37, 2.0, 0.0) + np.where(X["zeros"] > 0.3, 1.0, 0.0)
    y = target(kind, score, rng)
    given = {"max_depth": 4, "significance": None, "min_samples_leaf": 15} | FORMS[form]
    is_class = kind in ("binary", "multiclass")
    model = ModelTreeClassifier(**given) if is_class else ModelTreeRegressor(loss=kind, **given)
    tree = model.fit(X, y).tree_
    assert tree.node_count > 7
    passed = np.asarray(model.decision_path(X).sum(axis=0)).ravel()
    np.testing.assert_array_equal(passed, tree.n_samples)
    assert tree.n_samples.min() >= 15


@pytest.mark.parametrize("shift", [0.0, 1e6, -1e9])
@pytest.mark.parametrize("scale", [1.0, 1e9, 1e-9])
def test_whatever_the_units(shift, scale):
    X, y = a_jump(0)
    usual = ModelTreeRegressor(max_depth=2).fit(X, y)
    other = ModelTreeRegressor(max_depth=2).fit((X + shift) * scale, y)
    np.testing.assert_array_equal(usual.apply(X), other.apply((X + shift) * scale))


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_a_border_lies_between_its_values_and_means_the_same_in_any_unit(rng, size):
    for low in [*rng.normal(size=200).tolist(), 0.0, 1e9]:
        for gap in (1e-14, 1e-9, 1e-3, 1.0, 1e6):
            values = size * low, size * (low + gap * max(abs(low), 1.0))
            if not values[0] < values[1] < np.inf:
                continue
            border = borders._middle(*values)
            assert values[0] <= border < values[1]
            share = (border - values[0]) / (values[1] - values[0])
            assert gap < 1e-9 or abs(share - 0.5) <= 1e-6


def test_decimals_stay_decimals(rng):
    price = rng.integers(0, 100_000, 5000) / 100
    y = np.where(price < 250.5, 1.0, -1.0) * price + rng.normal(size=5000)
    tree = ModelTreeRegressor(max_depth=1).fit(pd.DataFrame({"price": price}), y).tree_
    below, above = price[price < 250.5].max(), price[price >= 250.5].min()
    assert tree.threshold[0] == round((below + above) / 2, 3)


def test_values_that_rounding_cannot_tell_apart_are_not_cut_apart(rng):
    """Around 1e9, stored values know steps of 1e-7."""
    x = 1e9 + np.repeat(rng.uniform(0, 1, 500), 2)
    x[::2] = np.nextafter(x[::2], np.inf)
    y = np.where(x < 1e9 + 0.4, 1.0, -1.0) + 0.1 * rng.normal(size=1000)
    model = ModelTreeRegressor(max_depth=2, significance=None).fit(x[:, None], y)
    leaf = model.apply(x[:, None])
    passed = np.asarray(model.decision_path(x[:, None]).sum(axis=0)).ravel()
    np.testing.assert_array_equal(passed, model.tree_.n_samples)
    assert len(set(leaf)) > 1


@seeds
def test_a_short_number_near_the_border(seed):
    X, y = a_jump(seed)
    plain, short = (
        ModelTreeRegressor(max_depth=1, round_thresholds=rounded).fit(X, y)
        for rounded in (False, True)
    )
    assert short.tree_.threshold[0] == 3.3
    assert short.tree_.gain[0] >= 0.99 * plain.tree_.gain[0]
    rows = np.asarray(short.decision_path(X).sum(axis=0)).ravel()
    np.testing.assert_array_equal(rows, short.tree_.n_samples)


def test_the_weakest_penalty_gives_way_where_there_is_hardly_any_noise():
    X, _ = a_jump(0, n=600)
    noise = 1e-3 * np.random.default_rng(1).normal(size=600)
    y = np.where(X[:, 0] < 3.3, 2.0 * X[:, 1], -X[:, 1]) + noise
    tree = ModelTreeRegressor().fit(X, y).tree_
    assert tree.node_count == 3
    np.testing.assert_allclose(tree.coef[1:, 1], [2.0, -1.0], rtol=1e-3)


def test_a_short_number_is_as_good_by_the_exact_gain(rng):
    """By the criterion, which a curve has misled, places far from a limit may be better still."""
    X = pd.DataFrame({"age": rng.integers(18, 85, 4000).astype(float)})
    X["km"] = rng.uniform(0, 40, 4000).round(1)
    jump = np.where(X["age"] < 25, 900 - 15 * (X["age"] - 18), 400 - (X["age"] - 25))
    y = jump + np.where(X["age"] >= 65, 8 * (X["age"] - 65), 0) + 5 * X["km"]
    y = y + 60 * rng.normal(size=4000)
    plain, short = (
        ModelTreeRegressor(max_depth=1, round_thresholds=rounded).fit(X, y).tree_
        for rounded in (False, True)
    )
    assert short.gain[0] >= 0.99 * plain.gain[0]
    assert short.threshold[0] == 24.0


@pytest.mark.parametrize("outlier", [0.0, 1e9, 1e12])
@pytest.mark.parametrize("column", ["tenths", "decimals", "whole", "normal"])
@pytest.mark.parametrize("rounded", [False, True])
def test_rows_stay_with_short_numbers_next_to_them(rng, column, outlier, rounded):
    """A tenth times 608 is not 60.8, and next to 1e12 less is known of a number."""
    whole = rng.integers(0, 1000, 3000)
    x = {
        "tenths": whole * 0.1,
        "decimals": whole / 10,
        "whole": whole.astype(float),
        "normal": rng.normal(size=3000),
    }[column]
    for limit in np.sort(x)[[500, 1200, 1800, 2300]]:
        y = np.where(x <= limit, 1.0, -1.0) * 5 + 0.1 * x + rng.normal(size=3000)
        X = np.column_stack([np.where(rng.random(3000) < 0.01, outlier, x), rng.normal(size=3000)])
        model = ModelTreeRegressor(max_depth=2, round_thresholds=rounded, leaf_transform="none")
        tree = model.fit(X, y).tree_
        rows = np.asarray(model.decision_path(X).sum(axis=0)).ravel()
        np.testing.assert_array_equal(rows, tree.n_samples)
        leaf = model.apply(X)
        for node in set(leaf):
            # Ends are those that were seen, as far as numbers next to the column's mean are known.
            low, high = X[leaf == node].min(axis=0), X[leaf == node].max(axis=0)
            known = 1e-14 * (1 + np.abs(X.mean(axis=0)))
            assert (np.abs(tree.clamp_low[node] - low) <= known + 1e-14 * abs(low)).all()
            assert (np.abs(tree.clamp_high[node] - high) <= known + 1e-14 * abs(high)).all()


def test_a_border_stays_where_its_bins_have_too_many_rows(monkeypatch):
    X, y = a_jump(0)
    moved = ModelTreeRegressor(max_depth=1).fit(X, y).tree_
    monkeypatch.setattr(borders, "_TOO_MANY_ROWS", 10)
    stays = ModelTreeRegressor(max_depth=1).fit(X, y).tree_
    assert stays.feature[0] == moved.feature[0] and stays.gain[0] < moved.gain[0]


def test_missing_values_not_seen_follow_the_larger_side_after_the_move():
    """The bins' border has 196 of 400 rows on the left, the jump 204."""
    x = np.arange(400.0)
    z = np.random.default_rng(0).normal(size=400)
    y = np.where(x < 204, z, -z)
    model = ModelTreeRegressor(max_depth=1, max_bins=100, significance=None)
    tree = model.fit(np.column_stack([x, z]), y).tree_
    assert tree.threshold[0] == 203.5 and tree.missing_left[0]
    mirrored = model.fit(np.column_stack([-x, z]), y).tree_
    assert mirrored.threshold[0] == -203.5 and not mirrored.missing_left[0]


def test_values_next_to_one_with_a_bin_of_its_own_are_not_taken_for_it(rng):
    x = np.where(rng.random(600) < 0.4, 1.0, 1 + rng.uniform(0, 0.5, 600))
    x[rng.choice(600, 40, replace=False)] = 1 + 3 * np.spacing(1.0)
    z = rng.normal(size=600)
    y = np.where(x < 1 + 1e-9, z, 2 - z) + 0.3 * rng.normal(size=600)
    X = np.column_stack([x, z])
    model = ModelTreeRegressor(max_depth=1, round_thresholds=True, max_bins=4).fit(X, y)
    rows = np.asarray(model.decision_path(X).sum(axis=0)).ravel()
    np.testing.assert_array_equal(rows, model.tree_.n_samples)


def test_sides_without_curvature():
    """The left side's targets are so small that nothing curves there."""
    x = np.array(
        [
            -4.1,
            0.66,
            0.82,
            3.5,
            1.0,
            0.19,
            0.46,
            8.7,
            -1400.0,
            0.8,
            -8.1,
            0.073,
            -0.76,
            -0.77,
            -62.0,
        ]
        + [-0.22, 0.98, -1.4, -0.57, 1.3, -0.17, 0.27, 1.0, 4.1, -0.69, -0.27, 0.87, 0.011, 0.12]
        + [0.68, 0.2, -1.7, -0.94]
    )
    y = np.array(
        [0.013, 110, 110, 100, 81, 20, 32, 300, 1.5e-22, 75, 0.001, 78, 1, 1.4, 3.8e-22, 0.85, 69]
        + [0.34, 0.41, 160, 0.15, 20, 99, 130, 1.8, 2.7, 120, 76, 8.3, 79, 76, 0.76, 0.97]
    )
    given = {"loss": "gamma", "min_samples_leaf": 1, "max_bins": 16, "alpha": 1e-3}
    model = ModelTreeRegressor(**given, significance=None).fit(x[:, None], y)
    assert model.get_n_leaves() > 1 and np.isfinite(model.predict(x[:, None])).all()


@pytest.mark.parametrize("seed", [842, 630, 0, 1, 2])
def test_short_numbers_keep_rows_of_narrow_columns_where_they_trained(seed):
    """Values that differ by less than what is known of them have no place between them."""
    rng = np.random.default_rng(seed)
    X = 1e9 + 1e-3 * rng.normal(size=(2000, 1))
    rank = np.argsort(np.argsort(X[:, 0])) / 2000
    y = np.where(rank > 0.4, 1.0, -1.0) + 0.3 * rng.normal(size=2000)
    given = {"round_thresholds": 0.05, "leaf_transform": "none", "max_bins": 4}
    model = ModelTreeRegressor(**given, significance=None).fit(X, y)
    passed = np.asarray(model.decision_path(X).sum(axis=0)).ravel()
    np.testing.assert_array_equal(passed, model.tree_.n_samples)
