"""A problem whose slopes change at two places, and the objective of its logistic models."""

import numpy as np
import oracles
import pandas as pd
from bare import regressor
from scipy.optimize import minimize

ALPHA = 2.0


class Problem:
    """Numbers, a category of five levels, missing values in both; slopes change at two places."""

    def __init__(self, seed, weighted=False, missing=True, n=250):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 4))
        self.X[:, 2] = rng.integers(0, 5, n)
        self.X[:, 3] = rng.integers(0, 6, n)
        slope = np.where(self.X[:, 0] > 0.4, 2.0, -1.0) + np.where(self.X[:, 2] > 2, 1.0, -1.0)
        self.y = 50 + 3 * (slope * self.X[:, 1] + 0.3 * self.X[:, 3] + rng.normal(size=n))
        if missing:
            self.X[rng.random(n) < 0.2, 0] = np.nan
            self.X[rng.random(n) < 0.2, 2] = np.nan
        self.weight = rng.choice([0.5, 1.0, 3.0], n) if weighted else np.ones(n)
        self.design = oracles.design_matrix(self.X, self.weight, categorical=(2,))
        self.table = pd.DataFrame(self.X, columns=list("abcd"))
        codes = np.where(np.isnan(self.X[:, 2]), -1, self.X[:, 2]).astype(int)
        self.table["c"] = pd.Categorical.from_codes(codes, list("vwxyz"))

    def fit(self, **given):
        given = {"alpha": ALPHA, "max_depth": 2, "min_samples_leaf": 12} | given
        return regressor(**given).fit(self.table, self.y, self.weight).tree_

    def gain(self, tree, node, reach, left, shrink, alpha=ALPHA):
        rows = reach[node]
        towards = tree.coef[node] if shrink == "parent" else None
        return oracles.exact_gain(
            self.design[rows], self.y[rows], self.weight[rows], left[rows], alpha, towards
        )


def logistic_objective(design, y, alpha):
    """The smallest penalized log loss, to many digits."""
    scaled = np.column_stack([oracles.standardized(design, np.ones(len(y))), np.ones(len(y))])
    sign = np.where(y == 1, 1.0, -1.0)

    def value(theta):
        raw = scaled @ theta
        slope = -sign / (1 + np.exp(sign * raw))
        ridge = alpha * np.append(theta[:-1], 0.0)
        loss = np.logaddexp(0, -sign * raw).sum() + 0.5 * theta @ ridge
        return loss, scaled.T @ slope + ridge

    return minimize(value, np.zeros(scaled.shape[1]), jac=True, options={"gtol": 1e-8}).fun
