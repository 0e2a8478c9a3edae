"""What leaf models are pulled towards, and how hard: the parent, by Akaike's criterion."""

import numpy as np
import oracles
import pytest
from bare import classifier, regressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def problem(seed, weighted=False, n=300, m=4, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * rng.choice([0.1, 1.0, 30.0], m) + rng.normal(size=m)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(Z[:, 0] > 0.3, 2.0, -1.0) * Z[:, 1] + Z @ rng.normal(size=m)
    y = 100 + 20 * (y + noise * rng.normal(size=n))
    weight = rng.choice([0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    return X, y, weight


def nodes(tree, X):
    """Every child with its parent and its rows."""
    reach = oracles.rows_of_nodes(tree, X)
    for parent in np.flatnonzero(tree.left >= 0):
        for child in (tree.left[parent], tree.right[parent]):
            yield parent, child, reach[child]


# --- towards the parent --------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("alpha", [0.1, 10.0, 1e3])
def test_a_child_is_its_parent_plus_a_ridge_regression_of_what_is_left(alpha, weighted):
    X, y, weight = problem(0, weighted)
    tree = regressor(alpha=alpha, shrink="parent", max_depth=2).fit(X, y, weight).tree_
    assert tree.node_count == 7
    for parent, child, rows in nodes(tree, X):
        D, w = X[rows], weight[rows]
        spread = np.array([oracles.std(x, w) for x in D.T])
        left = y[rows] - D @ tree.coef[parent]
        ridge = Ridge(alpha=alpha).fit(oracles.standardized(D, w), left, w)
        expected = tree.coef[parent] + ridge.coef_ / spread
        np.testing.assert_allclose(tree.coef[child] * spread, expected * spread, rtol=1e-7)
        raw = D @ tree.coef[child] + tree.intercept[child]
        assert oracles.mean(raw, w) == pytest.approx(oracles.mean(y[rows], w), rel=1e-9)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_with_a_huge_penalty_children_have_the_slopes_of_their_parent(n_classes):
    X, y, _ = problem(1)
    kind, target = regressor, y
    if n_classes:
        kind, target = classifier, np.digitize(y, np.quantile(y, [0.3, 0.6])[: n_classes - 1])
    model = kind(alpha=1e9, shrink="parent", max_depth=2, criterion="impurity").fit(X, target)
    tree = model.tree_
    spread = X.std(axis=0)
    assert tree.node_count > 3
    for parent, child, rows in nodes(tree, X):
        np.testing.assert_allclose(
            tree.coef[child] * spread, tree.coef[parent] * spread, atol=1e-5 * y.std()
        )
        if not n_classes:  # the intercept is free
            fitted = X[rows] @ tree.coef[child] + tree.intercept[child]
            assert fitted.mean() == pytest.approx(y[rows].mean(), rel=1e-9)


@pytest.mark.parametrize("kind", [regressor, classifier])
def test_without_a_penalty_there_is_nothing_to_pull(kind):
    X, y, _ = problem(2, noise=2.0)
    y = y > y.mean() if kind is classifier else y
    zero, parent = (
        kind(alpha=0.0, shrink=shrink, max_depth=2).fit(X, y).tree_ for shrink in ("zero", "parent")
    )
    np.testing.assert_array_equal(zero.feature, parent.feature)
    np.testing.assert_array_equal(zero.threshold, parent.threshold)
    np.testing.assert_allclose(zero.coef, parent.coef, rtol=1e-4, atol=1e-6)


def test_the_root_is_pulled_to_zero():
    X, y, _ = problem(3)
    zero, parent = (
        regressor(alpha=50.0, shrink=shrink, max_depth=0).fit(X, y).tree_
        for shrink in ("zero", "parent")
    )
    assert zero == parent


# --- how hard ------------------------------------------------------------------------------------


@weighted
@pytest.mark.parametrize("noise", [1e-3, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_strength_of_the_root_is_that_of_the_smallest_aic(seed, noise, weighted):
    X, y, weight = problem(seed, weighted, n=150, m=8, noise=noise)
    tree = regressor(alpha="auto", max_depth=0).fit(X, y, weight).tree_
    alpha = oracles.best_strength(X, y, weight)
    coef, intercept, _ = oracles.ridge_towards(X, y, weight, alpha)
    np.testing.assert_allclose(tree.coef[0] * X.std(axis=0), coef * X.std(axis=0), rtol=1e-7)
    assert tree.intercept[0] == pytest.approx(intercept, rel=1e-7)


@weighted
@pytest.mark.parametrize("shrink", ["zero", "parent"])
def test_the_strength_of_every_node_is_that_of_the_smallest_aic(shrink, weighted):
    chosen = set()
    for seed, noise in enumerate([0.3, 3.0, 10.0]):
        X, y, weight = problem(seed, weighted, noise=noise)
        model = regressor(alpha="auto", shrink=shrink, max_depth=2)
        tree = model.fit(X, y, weight).tree_
        for parent, child, rows in nodes(tree, X):
            towards = tree.coef[parent] if shrink == "parent" else None
            given = (X[rows], y[rows], weight[rows])
            alpha = oracles.best_strength(*given, towards)
            coef, _, _ = oracles.ridge_towards(*given, alpha, towards)
            spread = X[rows].std(axis=0)
            size = np.abs(coef * spread).max()
            np.testing.assert_allclose(tree.coef[child] * spread, coef * spread, atol=1e-7 * size)
            chosen.add(alpha)
    assert len(chosen) > 1


def test_children_that_do_not_differ_stay_with_their_parent():
    """Split a linear target: what the children learn of their own is noise."""
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 6))
        y = X @ np.arange(6) + 3 * rng.normal(size=200)
        apart = []
        for alpha in ("auto", 1.0):
            given = {"alpha": alpha, "shrink": "parent", "max_depth": 1, "min_samples_leaf": 60}
            tree = regressor(**given).fit(X, y).tree_
            apart.append(np.linalg.norm(tree.coef[1:] - tree.coef[0]))
        shares.append(apart[0] / apart[1])
    assert np.median(shares) < 0.5


def test_children_that_do_differ_leave_their_parent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = np.where(X[:, 0] > 0, 5.0, -5.0) * X[:, 1] + rng.normal(size=2000)
    tree = regressor(alpha="auto", shrink="parent", max_depth=1).fit(X, y).tree_
    np.testing.assert_allclose(tree.coef[1:, 1], [-5.0, 5.0], atol=0.15)


@pytest.mark.parametrize("kind", ["log_loss", "poisson"])
def test_noise_is_shrunk_away_and_a_strong_signal_is_not(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10))

    def weights(signal):
        if kind == "log_loss":
            y = X[:, 0] * signal + rng.logistic(size=500) > 0
            return classifier(alpha="auto", max_depth=0).fit(X, y).tree_.coef[0]
        y = rng.poisson(np.exp(0.5 + 0.5 * signal * X[:, 0]))
        return regressor(loss="poisson", alpha="auto", max_depth=0).fit(X, y).tree_.coef[0]

    assert np.abs(weights(0.0)).max() < 0.1
    assert weights(2.0)[0] > (1.4 if kind == "log_loss" else 0.9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_root_of_separable_classes_is_not_timid(n_classes):
    """One step from a constant says that a strong penalty costs little; at the end it does not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.digitize(3 * X[:, 0] + 0.3 * rng.normal(size=400), np.linspace(-2, 2, n_classes - 1))
    model = classifier(alpha="auto", max_depth=0)
    log_loss = -cross_val_score(model, X, y, scoring="neg_log_loss", cv=5).mean()
    best = min(
        -cross_val_score(model.set_params(alpha=a), X, y, scoring="neg_log_loss", cv=5).mean()
        for a in (2.5, 10.0, 40.0)
    )
    assert log_loss < 1.1 * best
