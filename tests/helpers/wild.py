"""Tables on which models go wild: what rests on few rows, and comes again in other ones.

A table here is a pair of a frame and a target. All have about 30 columns or fewer, and a true model
that a tree can find, so that a plain linear model is a bar that must be met.
"""

import numpy as np
import pandas as pd


def spikes(rng, n):
    """Sums of columns that are zero but for one row in hundreds; small differences matter."""
    flow = rng.normal(size=(n, 4)) * [0.01, 0.02, 1.0, 300.0]
    rare = np.where(rng.random((n, 3)) < 1 / 800, rng.normal(size=(n, 3)) * 20, 0.0)
    total = flow[:, :3] + rare
    lag = total + 1e-4 * rng.normal(size=(n, 3))
    X = np.column_stack([flow, rare, total, lag])
    y = 0.02 * np.where(flow[:, 2] > 0, flow[:, 2], -0.4 * flow[:, 2])
    y += 20 * (lag[:, 2] - total[:, 2]) + 0.2 * flow[:, 0] + 0.002 * rng.normal(size=n)
    return _frame(X), y


def sums(rng, n):
    """A column is the sum of two others but for single rows."""
    a, b, other = rng.normal(size=(3, n))
    error = np.where(rng.random(n) < 1 / 500, rng.standard_cauchy(n) * 30, 0.0)
    X = np.column_stack([a, b, a + b + error, other, other**2 + 1e-6 * rng.normal(size=n)])
    return _frame(X), np.where(other > 0.3, a - b, b) + 0.3 * rng.normal(size=n)


def copies(rng, n):
    """Copies of a column but for single rows, and small differences that matter."""
    a, z = rng.normal(size=(2, n))
    near = a[:, None] + 1e-3 * rng.normal(size=(n, 3))
    odd = np.repeat(a[:, None], 3, axis=1)
    rows = rng.random((n, 3)) < 2 / n + 1e-3
    odd[rows] = 1e3 * rng.normal(size=int(rows.sum()))
    y = np.where(z > 0, a, -a) + 700 * (near[:, 0] - a) + 0.1 * rng.normal(size=n)
    return _frame(np.column_stack([a, near, odd, z])), y


def heavy_tails(rng, n):
    """Columns without a variance, of which a part that is bounded matters."""
    X = np.column_stack([
        rng.standard_cauchy((n, 3)),
        np.exp(3 * rng.normal(size=(n, 3))),
        rng.normal(size=(n, 2)),
    ])  # fmt: skip
    y = np.tanh(X[:, 0]) + np.log1p(X[:, 3]) * (X[:, 6] > 0) + X[:, 7] + 0.3 * rng.normal(size=n)
    return _frame(X), y


def heavy_target(rng, n):
    """A target whose few largest values are most of its variance."""
    X = rng.normal(size=(n, 6))
    return _frame(X), np.exp(X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n))


def tiny_scales(rng, n):
    """Columns of many sizes, some far from zero and hardly varying."""
    X = rng.normal(size=(n, 6))
    y = X @ [1.0, -1.0, 0.5, 0.0, 1.0, 0.0] + np.where(X[:, 3] > 0, X[:, 4], 0.0)
    size = np.array([1e-12, 1e9, 1e-3, 1e-200, 1.0, 1e100])
    return _frame(X * size + [0.0, 1e12, 293.15, 0.0, 1.7e9, 0.0]), y + 0.3 * rng.normal(size=n)


def rare_categories(rng, n):
    """Thousands of categories, most of them of one row or two; some of them matter."""
    who = (n * rng.random(n) ** 3).astype(int)
    x, z = rng.normal(size=(2, n))
    effect = rng.normal(size=n + 1)[who] * (who < n // 50)
    X = pd.DataFrame({"who": [f"c{k}" for k in who], "x": x, "z": z})
    X["where"] = rng.choice(["a", "b", "c", "d"], n, p=[0.9, 0.09, 0.009, 0.001])
    return X, np.where(z > 0, x, -x) + effect + 0.5 * rng.normal(size=n)


def constant_in_leaves(rng, n):
    """Columns that vary in a small part of the rows only, and matter there."""
    z, w, x = rng.normal(size=(3, n))
    dose = np.where(z > 1.5, np.exp(rng.normal(size=n)), 0.0)
    flag = ((w > 2) & (rng.random(n) < 0.5)).astype(float)
    X = np.column_stack([z, w, x, dose, flag, np.where(rng.random(n) < 0.002, x * 1e3, 0.0)])
    return _frame(X), 2 * dose + flag * x - np.where(z > 0, x, 0) + 0.3 * rng.normal(size=n)


def mostly_one_value(rng, n):
    """Most rows have the same target, and the others one that is large."""
    X = rng.normal(size=(n, 5))
    X[:, 3] = np.where(rng.random(n) < 0.01, 1e4 * rng.random(n), 0.0)
    y = np.where(X[:, 0] > 1.2, 10 + 3 * X[:, 1] + rng.normal(size=n), 0.0)
    return _frame(X), y


def missing(rng, n):
    """Gaps in most rows of some columns, and gaps that go with the target."""
    X = rng.normal(size=(n, 6))
    y = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], -X[:, 2]) + 0.3 * rng.normal(size=n)
    X[rng.random(n) < 0.95, 2] = np.nan
    X[rng.random(n) < 0.999, 3] = np.nan
    X[(y > 2) & (rng.random(n) < 0.5), 4] = np.nan
    return _frame(X), y


def many_columns(rng, n):
    """Nearly as many columns as leaves have rows, a few of which matter."""
    X = rng.normal(size=(n, 60))
    X[:, 30:] = X[:, :30] + np.where(rng.random((n, 30)) < 0.003, 50.0, 0.0)
    return _frame(X), np.where(X[:, 0] > 0, X[:, 1], -X[:, 2]) + rng.normal(size=n)


def noise(rng, n):
    """Nothing to be found."""
    return _frame(np.column_stack([rng.normal(size=(n, 5)), rng.standard_cauchy((n, 3))])), (
        rng.standard_t(3, size=n)
    )


FAMILY = {
    own.__name__: own
    for own in (
        spikes, sums, copies, heavy_tails, heavy_target, tiny_scales, rare_categories,
        constant_in_leaves, mostly_one_value, missing, many_columns, noise,
    )
}  # fmt: skip


def _frame(X):
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
