"""A table to be cut into partitions, targets of every kind, and when two trees are the same."""

import numpy as np
import pandas as pd
from whole_models import ModelTreeClassifier, ModelTreeRegressor


def problem(n=1500, seed=0):
    """X with gaps, categories, a rare and a heavy-tailed column; y; weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "kind": rng.choice(["x", "y", "z"], n),
            "rare": (rng.random(n) < 0.05) * 1.0,
            "heavy": np.exp(2 * rng.normal(size=n)),
            "count": rng.integers(0, 9, n),
        }
    )
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    X.loc[rng.random(n) < 0.1, "kind"] = None
    y = np.where(X["kind"] == "x", X["b"], -X["b"]) + X["rare"] + np.log(X["heavy"])
    return X, (y + 0.3 * rng.normal(size=n)).to_numpy(), rng.uniform(0.0, 2.0, n)


# Estimator, settings, target made of y, and whether rows are weighted.
CASES = {
    "regression": (ModelTreeRegressor, {}, lambda y: y, True),
    "poisson": (
        ModelTreeRegressor,
        {"loss": "poisson"},
        lambda y: np.floor(np.exp(np.clip(y, -3, 3))),
        False,
    ),
    "huber": (ModelTreeRegressor, {"loss": "huber"}, lambda y: y, False),
    "binary": (
        ModelTreeClassifier,
        {"class_weight": "balanced"},
        lambda y: np.where(y > 0, "yes", "no"),
        False,
    ),
    "first is positive": (
        ModelTreeClassifier,
        {"positive_class": "no"},
        lambda y: np.where(y > 0, "yes", "no"),
        True,
    ),
    "multiclass": (ModelTreeClassifier, {}, lambda y: np.digitize(y, [-0.5, 1.0]), True),
    "auto size": (ModelTreeRegressor, {"max_leaf_nodes": "auto"}, lambda y: y, True),
}


def case(name, n=1500, **settings):
    """An estimator that is not fitted, X, and a target and weights (or None) for it."""
    X, y, weight = problem(n)
    kind, usual, target_of, is_weighted = CASES[name]
    return kind(**usual | settings), X, target_of(y), weight if is_weighted else None


def named(X, target, weight):
    """All in one table, for what takes names of columns, and these names."""
    columns = {"_y": target} if weight is None else {"_y": target, "_w": weight}
    return X.assign(**columns), "_y", None if weight is None else "_w"


def cut(frame, n_pieces):
    """The rows of a frame in pieces of nearly the same size."""
    ends = [len(frame) * k // n_pieces for k in range(n_pieces + 1)]
    return [frame.iloc[ends[k] : ends[k + 1]] for k in range(n_pieces)]


def assert_same_histograms(mine, other):
    """The same bins, and but for rounding of scores the same edges."""
    np.testing.assert_array_equal(mine.first_edge, other.first_edge)
    np.testing.assert_allclose(mine.edge, other.edge, rtol=1e-6)
    np.testing.assert_allclose(mine.share, other.share, atol=1e-12)


def assert_same_tree(tree, other):
    """The same splits and rows; coefficients and losses but for rounding."""
    np.testing.assert_array_equal(tree.feature, other.feature)
    np.testing.assert_array_equal(tree.threshold, other.threshold)
    np.testing.assert_array_equal(tree.categories, other.categories)
    np.testing.assert_array_equal(tree.n_samples, other.n_samples)
    np.testing.assert_allclose(tree.coef, other.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tree.loss, other.loss, rtol=1e-7)
    np.testing.assert_allclose(tree.record.target, other.record.target, rtol=1e-7, atol=1e-12)
    assert tree.columns == other.columns
