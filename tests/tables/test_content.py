"""A division of rows by what they hold: the same in any order and in any container."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassleaf.tables.content import group_texts, set_aside
from glassleaf.tables.reading import read_table

CATEGORICAL = np.array([False, True])


@pytest.fixture
def rows(rng):
    numbers = np.where(rng.random(2000) < 0.1, np.nan, rng.normal(size=2000))
    return pd.DataFrame({"x": numbers, "c": rng.integers(0, 5, 2000)}), rng.normal(size=2000)


def aside(frame, y, share=0.5):
    return set_aside(read_table(frame), CATEGORICAL, y, None, share)


def test_the_share_is_that_asked_for(rows):
    for share in (0.1, 0.5, 0.8):
        assert abs(aside(*rows, share).mean() - share) < 0.05


def test_the_order_does_not_matter(rows, rng):
    frame, y = rows
    order = rng.permutation(len(y))
    np.testing.assert_array_equal(aside(frame, y)[order], aside(frame.iloc[order], y[order]))


def test_the_container_does_not_matter(rows):
    frame, y = rows
    known = aside(frame, y)
    text = frame.assign(c=frame["c"].astype(str))
    others = [
        frame.to_numpy(), pl.from_pandas(frame), text, text.astype({"c": "category"}),
        frame.assign(c=frame["c"].astype(float).astype(str)), pl.from_pandas(text),
    ]  # fmt: skip
    for other in others:
        np.testing.assert_array_equal(aside(other, y), known)


def test_every_copy_is_drawn_by_itself_in_any_order(rng):
    """As many of the copies of each row, wherever they stand."""
    frame = pd.DataFrame({"x": np.repeat(np.arange(4.0), 500), "c": 1})
    y = np.repeat([0.0, 1.0], 1000)
    first = pd.Series(aside(frame, y)).groupby(frame["x"].to_numpy()).mean()
    assert first.between(0.4, 0.6).all()
    order = rng.permutation(2000)
    moved = frame.iloc[order]
    again = pd.Series(aside(moved, y[order])).groupby(moved["x"].to_numpy()).mean()
    pd.testing.assert_series_equal(first, again)


def test_the_target_and_its_noise_say_nothing_of_the_part(rng):
    """Means of both parts differ no more than by chance."""
    apart = []
    for _ in range(200):
        frame = pd.DataFrame({"x": rng.normal(size=100), "c": 0})
        y = rng.normal(size=100)
        chosen = aside(frame, y)
        error = y.std() * np.sqrt(1 / chosen.sum() + 1 / (~chosen).sum())
        apart.append((y[chosen].mean() - y[~chosen].mean()) / error)
    assert abs(np.mean(apart)) < 0.25 and 0.85 < np.std(apart) < 1.15


def test_copies_are_set_aside_by_chance_anew_in_every_table(rng):
    """As many as coins would show: both parts of few different rows are not alike by design."""
    found = []
    for _ in range(300):
        kind = rng.integers(0, 2, 100)
        chosen = aside(pd.DataFrame({"x": 1.0 * kind, "c": 0}), 1.0 * kind)
        found.append(chosen.sum())
    assert abs(np.mean(found) - 50) < 1.5 and 4.2 < np.std(found) < 5.8


def test_groups_are_the_same_by_label_number_or_name(rows):
    frame, y = rows
    table, used = read_table(frame), np.arange(len(y))
    labels = frame["c"].to_numpy()
    parts = [
        set_aside(table, CATEGORICAL, y, group_texts(given, table, used), 0.5)
        for given in (labels, labels.astype(str), labels.astype(float), "c")
    ]
    for part in parts:
        np.testing.assert_array_equal(part, parts[0])
    assert (pd.Series(parts[0]).groupby(labels).nunique() == 1).all()
