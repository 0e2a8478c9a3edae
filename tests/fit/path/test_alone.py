"""What a column says by itself: against the rows."""

import numpy as np
import pytest
from near_columns import PLAIN, table

from glassleaf import ModelTreeRegressor
from glassleaf.explanations.notes import twins


def test_slopes_are_those_of_one_column_alone(rng):
    X, y = table(rng)
    record = ModelTreeRegressor(**PLAIN).fit(X, y).tree_.record
    for j, name in enumerate("abcd"):
        assert record.alone[j] == pytest.approx(np.polyfit(X[name], y, 1)[0], rel=1e-6)
    assert np.isnan(record.alone[4:]).all()


def test_of_columns_that_say_the_same_a_formula_names_one(rng):
    X, y = table(rng)
    model = ModelTreeRegressor(**PLAIN).fit(X, y)
    ((left_out, kept),) = twins(model.tree_).items()
    assert {left_out, kept} == {0, 1}
    for step in model.model_.path.steps:
        assert left_out not in step.term
    correlation = np.corrcoef(X["a"], X["b"])[0, 1]
    assert model.tree_.record.twin_correlation[left_out] == pytest.approx(correlation, rel=1e-6)


def test_required_columns_stay_beside_each_other(rng):
    X, y = table(rng)
    model = ModelTreeRegressor(**PLAIN, required_features=["a", "b"]).fit(X, y)
    assert not twins(model.tree_)
    assert all({0, 1} <= set(step.term.tolist()) for step in model.model_.path.steps)


def test_a_required_column_is_the_one_that_stays(rng):
    X, y = table(rng)
    for name, other in (("a", 1), ("b", 0)):
        model = ModelTreeRegressor(**PLAIN, required_features=[name]).fit(X, y)
        assert list(twins(model.tree_)) == [other]
