"""Folds are told by what rows hold."""

import numpy as np
import pandas as pd

from glassleaf.rows.build import content_folds
from glassleaf.rows.summarize import Part
from glassleaf.tables.reading import read_table
from glassleaf.tables.table import Column


def folds(X, y, group=None):
    columns = [Column("a", None), Column("g", ("u", "v"))]
    part = Part(read_table(X), np.asarray(y, dtype=float), np.ones(len(X)), group=group)
    return content_folds(part, columns, 5)


def table(rng, n=1000):
    X = pd.DataFrame({"a": rng.normal(size=n), "g": rng.choice(["u", "v"], n)})
    X.loc[::17, "a"] = np.nan
    return X, rng.normal(size=n)


def test_copies_share_a_fold_and_order_does_not_matter(rng):
    X, y = table(rng)
    found = folds(X, y)
    order = rng.permutation(1000)
    np.testing.assert_array_equal(folds(X.iloc[order], y[order]), found[order])
    twice = np.repeat(np.arange(1000), 2)
    np.testing.assert_array_equal(folds(X.iloc[twice], y[twice]), found[twice])
    assert np.bincount(found, minlength=5).min() > 150


def test_rows_of_one_group_share_a_fold(rng):
    X, y = table(rng)
    group = rng.integers(0, 60, 1000)
    found = folds(X, y, group)
    assert all(len(set(found[group == own])) == 1 for own in range(60))


def test_many_copies_are_dealt_to_all_folds(rng):
    X = pd.DataFrame({"a": np.zeros(400), "g": rng.choice(["u", "v"], 400)})
    found = folds(X, (X["g"] == "u") * 1.0)
    assert np.bincount(found[X["g"] == "u"], minlength=5).min() >= 30
