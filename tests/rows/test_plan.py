"""What is learned of all rows: the same however they are cut, and a warning of identifiers."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeRegressor
from glassleaf.rows.plan import draw_held_out
from glassleaf.rows.summarize import Part


@pytest.mark.parametrize("sizes", [[700], [300, 0, 399, 1], [1] * 700])
def test_the_same_rows_are_set_aside_however_they_are_cut(sizes):
    generator = np.random.RandomState(3)
    held_out = draw_held_out(generator, dict(enumerate(sizes)))
    parts = [Part(None, np.zeros(n), np.ones(n), number) for number, n in enumerate(sizes)]
    found = np.concatenate([held_out.rows_of(part) for part in reversed(parts)][::-1])
    alone = np.random.RandomState(3)
    np.testing.assert_array_equal(found, alone.random(700) < 0.2)
    assert generator.random() == alone.random()  # as if each row had drawn its number from it


def table_with(n_categories, rows_of_each):
    labels = [f"c{k}" for k in range(n_categories)] * rows_of_each
    return pd.DataFrame({"label": labels, "x": np.arange(len(labels)) % 7.0})


def test_what_looks_like_an_identifier_is_said_to(recwarn):
    X = table_with(80, 5)
    with pytest.warns(UserWarning, match="'label' has 80 categories in 400 rows.*identifier"):
        ModelTreeRegressor(max_depth=0).fit(X, X["x"])
    for fine in (table_with(80, 10), table_with(50, 2)):
        ModelTreeRegressor(max_depth=0).fit(fine, fine["x"])
    ModelTreeRegressor(max_depth=0, split_features=["x"], leaf_features=["x"]).fit(X, X["x"])
    assert not recwarn.list


def test_warnings_name_the_line_that_asked():
    table = pd.DataFrame({"label": [f"n{k}" for k in range(100)] * 4})
    with pytest.warns(UserWarning, match="identifier") as found:
        ModelTreeRegressor().fit(table, np.arange(400.0))
    assert found[0].filename == __file__


def test_rows_of_a_group_are_set_aside_together():
    group = np.random.default_rng(0).integers(0, 300, 1000)
    part = Part(None, np.zeros(1000), np.ones(1000), group=group)
    is_held = draw_held_out(np.random.RandomState(0), {0: 1000}).rows_of(part)
    assert 0.1 < is_held.mean() < 0.3
    assert len(set(group[is_held]) & set(group[~is_held])) == 0
