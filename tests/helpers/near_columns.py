"""Columns that say nearly the same, and one that counts against its own direction."""

import pandas as pd

PLAIN = {"leaf_transform": "none", "curves": False, "n_jobs": 1, "max_depth": 1}


def table(rng, n=2000):
    """b is nearly a, with a little of its own; d goes with c, and counts the other way."""
    a, c, noise = rng.normal(size=(3, n))
    d = 0.8 * c + 0.6 * rng.normal(size=n)
    X = pd.DataFrame({"a": a, "b": a + 0.1 * noise, "c": c, "d": d, "fixed": 3.0})
    X["shade"] = rng.choice(["red", "green"], size=n)
    y = a + 2.0 * noise + 3.0 * c - d + (a > 0) * c
    return X, y
