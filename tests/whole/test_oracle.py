"""Every split of small trees is the one that the slow, obvious oracle finds."""

import numpy as np
import oracles
import pandas as pd
import pytest
from bare import classifier, regressor
from pairs import pairs

from glassleaf import ModelTreeRegressor, paper_settings
from glassleaf.tables.cells import ANY_NUMBER

# criterion: what the oracle calls it, and how it renormalizes and scales columns
METHODS = {
    "gradient_zscore": ("gradient", "zscore", "standard"),
    "gradient_minmax": ("gradient", "minmax", "standard"),
    "gradient_standardized": ("gradient", None, "standard"),
    "gradient": ("gradient", None, None),
    "impurity": ("impurity", None, None),
}
# name: (loss, number of classes)
LOSSES = {
    "squared_error": ("squared_error", 0),
    "huber": ("huber", 0),
    "poisson": ("poisson", 0),
    "gamma": ("gamma", 0),
    "binary": ("log_loss", 2),
    "multiclass": ("log_loss", 3),
}
every_method = pytest.mark.parametrize("method", METHODS)
every_loss = pytest.mark.parametrize("loss", LOSSES)
TWO_LOSSES = ["squared_error", "binary"]


# --- generated problems --------------------------------------------------------------------------


def make_column(rng, kind, n):
    if kind == "normal":
        return rng.normal(size=n)
    if kind == "integer":
        return rng.integers(0, 6, n).astype(float)
    if kind == "binary":
        return (rng.random(n) < 0.4).astype(float)
    if kind == "rare":  # mostly zero: stored by its few other entries
        x = np.zeros(n)
        x[rng.choice(n, n // 12, replace=False)] = 1.0
        return x
    if kind == "spike":  # stored by its few other entries, with their values
        x = np.zeros(n)
        x[rng.choice(n, max(1, n // 100), replace=False)] = rng.normal(5, 2, max(1, n // 100))
        return x
    if kind == "constant":
        return np.full(n, 3.7)
    if kind == "offset":
        return 1e6 + rng.normal(size=n)
    if kind == "tiny":
        return 1e-9 * rng.normal(size=n)
    assert kind == "huge"
    return 1e9 * rng.normal(size=n)


def make_target(rng, X, loss, n_classes):
    """A target whose slopes change at the middle of the first column."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 1e-12 * np.abs(X).max(axis=0), spread, 1.0)
    side = np.where(X[:, 0] > np.median(X[:, 0]), 1.0, -1.0)
    signal = side * Z[:, -1] + 0.5 * Z @ rng.normal(size=Z.shape[1])
    if n_classes:
        scores = np.column_stack([signal, -signal, 0.5 * side])[:, :n_classes]
        labels = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        labels[:n_classes] = range(n_classes)
        return labels
    if loss == "poisson":
        counts = rng.poisson(np.exp(np.clip(0.5 * signal, -3, 3))).astype(float)
        counts[0] += 1
        return counts
    if loss == "gamma":
        return np.exp(np.clip(0.5 * signal, -3, 3)) * rng.gamma(2.0, 0.5, len(X)) + 1e-3
    noise = rng.standard_t(2, len(X)) if loss == "huber" else rng.normal(size=len(X))
    return 20.0 + 7.0 * (signal + 0.5 * noise)


class Problem:
    """Generated data: ``X`` as numbers (categories as codes), ``table`` as fit is given it."""

    def __init__(self, seed, kinds, loss, missing=(), categorical=(), weighted=False, n=None):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(40, 110)) if n is None else n
        self.loss, self.n_classes = LOSSES[loss]
        self.X = np.column_stack([make_column(rng, kind, n) for kind in kinds])
        self.y = make_target(rng, self.X, self.loss, self.n_classes)
        for j in missing:
            self.X[rng.random(n) < 0.25, j] = np.nan
        self.weight = rng.choice([0.5, 1.0, 2.0, 3.5], n) if weighted else np.ones(n)
        self.is_weighted = weighted
        self.categorical = categorical
        self.table = self.X
        if categorical:
            self.table = pd.DataFrame({f"x{j}": self.X[:, j] for j in range(self.X.shape[1])})
            for j in categorical:
                codes = np.where(np.isnan(self.X[:, j]), -1, self.X[:, j]).astype(int)
                names = [f"level {code}" for code in range(codes.max() + 1)]
                self.table[f"x{j}"] = pd.Categorical.from_codes(codes, names)

    def fit(self, method, **given):
        given = {"max_depth": 2, "min_samples_leaf": 5, "alpha": 0.5, "n_jobs": 1, **given}
        if not self.n_classes:
            given["loss"] = self.loss
        kind = classifier if self.n_classes else regressor
        tree = kind(criterion=method, **given)
        return tree.fit(self.table, self.y, self.weight if self.is_weighted else None)


def candidates_of(problem, tree, node, rows, method, min_count, bins=None):
    criterion, renormalize, scale = METHODS[method]
    design = oracles.design_matrix(problem.X, problem.weight, problem.categorical)
    return oracles.all_candidates(
        problem.X, design, problem.y.astype(float), problem.weight, tree.coef[node],
        tree.intercept[node], rows, loss=problem.loss, criterion=criterion,
        renormalize=renormalize, scale=scale, min_count=min_count,
        categorical=problem.categorical, bins=bins,
    )  # fmt: skip


def same_split(tree, node, candidate, has_missing):
    if tree.feature[node] != candidate.column:
        return False
    if has_missing and tree.missing_left[node] != candidate.missing_left:
        return False
    sides = tree.left_categories(node)
    if candidate.category >= 0:
        expected = np.arange(len(sides)) == candidate.category  # none, if "missing" goes left
        return bool((sides == expected).all())
    if candidate.threshold == ANY_NUMBER:
        return tree.threshold[node] == candidate.threshold
    return bool(np.isclose(tree.threshold[node], candidate.threshold, rtol=1e-9, atol=0))


def check_tree(problem, estimator, method, min_count=5, max_depth=2, bins=None):
    """Every inner node splits where the oracle does; every early leaf has no split left."""
    tree = estimator.tree_
    reach = oracles.rows_of_nodes(tree, problem.X)
    assert (reach.sum(axis=1) == tree.n_samples).all()
    for node in range(tree.node_count):
        rows = reach[node]
        if tree.left[node] < 0:
            if tree.depth[node] < max_depth:
                found = candidates_of(problem, tree, node, rows, method, min_count, bins)
                assert all(c.gain <= 1e-12 * rows.sum() for c in found)
            continue
        found = candidates_of(problem, tree, node, rows, method, min_count, bins)
        accepted = oracles.acceptable(found)
        has_missing = np.isnan(problem.X[rows, tree.feature[node]]).any()
        same = [c for c in accepted if same_split(tree, node, c, has_missing)]
        arrays = (tree.feature, tree.threshold, tree.missing_left, tree.gain)
        split = [array[node].item() for array in arrays]
        assert same, f"node {node}: split {split}, oracle {accepted}"
        np.testing.assert_allclose(tree.gain[node], same[0].gain, rtol=1e-6)
    return tree.node_count


# --- known answers -------------------------------------------------------------------------------


def test_gain_of_four_rows_by_hand():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    y = np.array([0.0, 0.0, 2.0, 2.0])
    # Residuals of the constant 1: (1, 1, -1, -1). Left of 2.5, x' = (-1, 1): sums 0 and 2.
    given = {"criterion": "gradient", "renormalize": "zscore", "scale": "standard", "min_count": 2}
    model = (np.zeros(1), 1.0, np.ones(4, dtype=bool))
    best = oracles.best_split(X, X, y, np.ones(4), *model, loss="squared_error", **given)
    assert (best.column, best.threshold, best.gain) == (0, 2.5, 4.0)
    # On raw values the sums are (3, 2) and (-7, -2).
    given |= {"renormalize": None, "scale": None}
    best = oracles.best_split(X, X, y, np.ones(4), *model, loss="squared_error", **given)
    assert best.gain == (9 + 4) / 2 + (49 + 4) / 2


def test_stump_on_a_change_of_slope_splits_there():
    X = np.linspace(-1, 1, 100)[:, None]
    tree = regressor(max_depth=1, alpha=0).fit(X, np.abs(X[:, 0])).tree_
    np.testing.assert_allclose(tree.threshold[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(tree.coef[1:, 0], [-1.0, 1.0], rtol=1e-9)


@pytest.mark.parametrize("method", ["MT-G", "MT-GR"])
@pytest.mark.parametrize("mean, scale", [(0, 1), (0, 1e9), (1e6, 1), (1.6e9, 50)])
def test_rounding_is_no_gain_in_any_unit(rng, method, mean, scale):
    u = np.round(20 * rng.normal(size=200)) / 20
    X = (mean + scale * u)[:, None]
    model = ModelTreeRegressor(**{**paper_settings(method), "alpha": 0}, max_depth=3)
    assert model.fit(X, 3 * (X[:, 0] - mean) / scale).get_n_leaves() == 1
    assert model.fit(X, np.abs(X[:, 0] - mean) / scale).get_n_leaves() > 1


# --- every criterion, renormalizer and loss ------------------------------------------------------


@every_method
@pairs("loss, seed", LOSSES, range(4))
def test_numbers(method, loss, seed):
    kinds = ["normal", "integer", "normal", "binary", "normal"][: 2 + seed]
    problem = Problem(seed, kinds, loss)
    assert check_tree(problem, problem.fit(method), method) > 1


@every_method
@every_loss
def test_weights(method, loss):
    problem = Problem(10, ["normal", "integer", "normal"], loss, weighted=True)
    assert check_tree(problem, problem.fit(method), method) > 1


@every_method
@pairs("loss, seed", TWO_LOSSES, range(3))
def test_ties_go_to_the_lowest_column_and_threshold(method, loss, seed):
    problem = Problem(20 + seed, ["integer", "integer", "binary", "integer", "integer"], loss)
    problem.X[:, 3] = problem.X[:, 0]  # the same splits, after column 0
    problem.X[:, 4] = -2.0 * problem.X[:, 1]  # mirrored, after column 1
    estimator = problem.fit(method)
    assert check_tree(problem, estimator, method) > 1
    if method != "gradient":  # in every unit but the raw one a mirrored column is a tie
        assert set(estimator.tree_.feature) <= {-1, 0, 1, 2}


@every_method
@pairs("loss, seed", ["squared_error", "poisson", "binary", "multiclass"], range(2))
def test_constant_and_rare_columns(method, loss, seed):
    problem = Problem(30 + seed, ["integer", "constant", "rare", "normal"], loss)
    assert check_tree(problem, problem.fit(method), method) > 1


@every_method
@pairs("loss, weighted", TWO_LOSSES, [False, True])
def test_columns_stored_by_their_values(method, loss, weighted):
    kinds = ["integer", "spike", "spike", "rare"]
    problem = Problem(35, kinds, loss, missing=[0], weighted=weighted, n=210)
    assert check_tree(problem, problem.fit(method, min_samples_leaf=1), method, 1) > 1


@every_method
@pairs("loss, kind, seed", TWO_LOSSES, ["offset", "tiny", "huge"], range(3))
def test_badly_scaled_columns(method, loss, kind, seed):
    problem = Problem(40 + seed, [kind, "normal", "integer"], loss)
    assert check_tree(problem, problem.fit(method), method) > 1


@every_method
@pairs("loss, seed", TWO_LOSSES, range(4))
def test_missing_values(method, loss, seed):
    problem = Problem(50 + seed, ["integer", "normal", "integer"], loss, missing=[0, 1])
    assert check_tree(problem, problem.fit(method), method) > 1


@every_method
@pytest.mark.parametrize("loss", TWO_LOSSES)
def test_missing_against_the_rest(method, loss):
    problem = Problem(60, ["normal", "normal"], loss, n=90)
    rng = np.random.default_rng(60)
    problem.X[:, 0] = np.where(rng.random(90) < 0.5, np.nan, problem.X[:, 0])
    missing = np.isnan(problem.X[:, 0])
    slope = np.where(missing, 3.0, -3.0) * problem.X[:, 1] + np.where(missing, 2.0, -2.0)
    problem.y = (slope > 0).astype(int) if loss == "binary" else slope
    problem.y[::9] = 1 - problem.y[::9] if loss == "binary" else problem.y[::9] + 0.1
    tree = problem.fit(method, max_depth=1)
    check_tree(problem, tree, method, max_depth=1)


@every_method
@pairs("loss, missing", ["squared_error", "binary", "multiclass"], [(), (1,), (0, 1, 2)])
def test_categories(method, loss, missing):
    problem = Problem(
        70, ["normal", "integer", "binary", "rare"], loss, missing=missing, categorical=(1, 2)
    )
    assert check_tree(problem, problem.fit(method), method) > 1


@every_method
def test_weighted_categories_with_missing_values(method):
    kinds = ["integer", "integer", "normal"]
    problem = Problem(71, kinds, "huber", missing=[1, 2], categorical=(0, 1), weighted=True)
    assert check_tree(problem, problem.fit(method), method) > 1


@every_method
@pytest.mark.parametrize("min_count", [1, 17])
def test_smallest_leaf(method, min_count):
    problem = Problem(80, ["normal", "integer"], "squared_error", n=60)
    estimator = problem.fit(method, min_samples_leaf=min_count)
    assert check_tree(problem, estimator, method, min_count) > 1
    assert estimator.tree_.n_samples.min() >= min_count


@every_method
def test_default_smallest_leaf_is_ten_rows_or_one_more_than_terms(method):
    problem = Problem(81, ["normal", "integer", "normal"], "squared_error", n=90)
    check_tree(problem, problem.fit(method, min_samples_leaf=None), method, 10)
    problem = Problem(82, ["normal"] * 12, "squared_error", n=60)
    check_tree(problem, problem.fit(method, min_samples_leaf=None), method, 13)


@every_method
def test_rows_of_weight_zero_do_not_exist(method):
    problem = Problem(83, ["normal", "integer"], "squared_error", weighted=True, n=80)
    problem.weight[::4] = 0.0
    tree = problem.fit(method).tree_
    kept = problem.weight > 0
    problem.X, problem.table, problem.y = problem.X[kept], problem.X[kept], problem.y[kept]
    problem.weight = problem.weight[kept]
    estimator = problem.fit(method)
    assert estimator.tree_ == tree
    check_tree(problem, estimator, method)


@every_method
@pytest.mark.parametrize("weighted", [False, True])
def test_a_long_column_splits_at_the_best_border_of_its_bins(method, weighted):
    kinds = ["normal", "integer", "normal"]
    problem = Problem(90, kinds, "squared_error", weighted=weighted, n=100)
    bins = {j: oracles.quantile_bins(problem.X[:, j], problem.weight, 8) for j in range(3)}
    assert len(bins[0]) == 8
    estimator = problem.fit(method, max_bins=8)
    assert check_tree(problem, estimator, method, bins=bins) > 1


# --- missing values that a node has not seen, values that it has not seen ------------------------


def test_without_missing_values_they_follow_the_larger_side():
    problem = Problem(91, ["normal", "normal"], "squared_error")
    tree = problem.fit("gradient_zscore").tree_
    for node in np.flatnonzero(tree.left >= 0):
        left, right = tree.n_samples[tree.left[node]], tree.n_samples[tree.right[node]]
        assert tree.missing_left[node] == (left >= right)


def test_missing_or_not_sends_every_number_the_same_way():
    """In the right child x2 is 5, 6, ... or missing, and "missing" is the split to find there."""
    rng = np.random.default_rng(0)
    n = 200
    X = np.column_stack([np.repeat([0.0, 1.0], n), rng.normal(size=2 * n)])
    x2 = rng.integers(5, 9, 2 * n).astype(float)
    x2[:n] = rng.integers(0, 5, n)
    x2[n:][rng.random(n) < 0.5] = np.nan
    X = np.column_stack([X, x2])
    missing = np.isnan(x2)
    y = np.where(X[:, 0] == 0, 10.0 * X[:, 1], np.where(missing, 2.0, -2.0) * X[:, 1])
    y += 0.01 * rng.normal(size=2 * n)
    tree = regressor(max_depth=2, split_features=[0, 2]).fit(X, y).tree_
    node = tree.right[0]
    assert (tree.feature[0], tree.feature[node]) == (0, 2)
    unseen = np.array([1.0, 0.0, 0.0])  # reaches the node with a number that no row there has
    seen = np.array([1.0, 0.0, 7.0])
    assert oracles.goes_left(tree, node, unseen) == oracles.goes_left(tree, node, seen)
    assert tree.threshold[node] == ANY_NUMBER


# --- the tests can fail --------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [m for m in METHODS if m != "gradient_zscore"])
def test_the_oracle_of_another_method_disagrees(wrong):
    agreed = 0
    for seed in range(5):
        problem = Problem(100 + seed, ["normal", "integer", "normal"], "squared_error")
        estimator = problem.fit("gradient_zscore")
        try:
            check_tree(problem, estimator, wrong)
            agreed += 1
        except AssertionError:
            pass
    assert agreed == 0


def test_the_oracle_of_another_target_disagrees():
    problem = Problem(110, ["normal", "integer"], "squared_error")
    estimator = problem.fit("gradient_zscore")
    problem.y = problem.y + 0.01 * np.random.default_rng(0).normal(size=len(problem.y))
    with pytest.raises(AssertionError):
        check_tree(problem, estimator, "gradient_zscore")
