"""Trees on resampled rows: what is sure stays, what is chance does not."""

import json

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, stability
from glassleaf.explanations.stability import middle


def rows(rng, n=800, noise=0.5):
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "d"])
    y = np.where(X["a"] > 0.3, 2 * X["b"], -2 * X["b"]) + noise * rng.normal(size=n)
    return X, y


@pytest.fixture(scope="module")
def clear():
    X, y = rows(np.random.default_rng(0))
    model = ModelTreeRegressor(max_depth=1).fit(X, y)
    return model, X, y, stability(model, X, y, n=40)


def test_a_clear_split_is_always_found(clear):
    model, _, _, found = clear
    assert (found.n, found.rows, found.groups) == (40, 800, None)
    assert (found.root, found.root_share) == ("a", 1.0)
    low, high = found.threshold_range
    assert low <= 0.3 <= high
    assert high - low < 0.3
    assert found.threshold == model.tree_.threshold[0]
    assert len(found.thresholds) == 40
    uses = {use.name: use for use in found.columns}
    assert uses["a"].splits == uses["a"].root == uses["b"].formulas == 1.0
    assert uses["a"].in_splits
    assert not uses["a"].in_formulas
    assert uses["c"].formulas < 1.0
    assert found.n_leaves == 2
    assert set(found.leaves) == {2}


def test_moves_are_those_of_trees_fitted_anew(clear):
    """Bootstrap by the book, of the same draws: rows repeated, and everything learned again."""
    model, X, y, found = clear
    draws = np.random.RandomState(0)
    anew = ModelTreeRegressor(max_depth=1, max_numbers=found.numbers)
    moves = []
    for _ in range(40):
        drawn = draws.randint(0, len(y), size=len(y))
        anew.fit(X.iloc[drawn], y[drawn])
        moves.append(np.abs(anew.predict(X) - model.predict(X)) / y.std())
    assert found.median_move == pytest.approx(np.median(moves), rel=0.15)
    assert found.move_of_most == pytest.approx(np.quantile(moves, 0.9), rel=0.15)
    assert found.median_move == pytest.approx(np.median(found.moves), rel=0.3)


def test_noise_is_told_from_signal(rng):
    X, y = rows(rng, n=200, noise=6.0)
    model = ModelTreeRegressor(max_depth=1, significance=None).fit(X, y)
    assert stability(model, X, y, n=30).root_share < 0.9


def test_the_same_draws_give_the_same_and_others_do_not(clear):
    model, X, y, _ = clear
    first, again, other = (stability(model, X, y, n=3, random_state=k) for k in (0, None, 5))
    assert first == again != other


def test_more_rows_move_less(clear):
    _, _, _, found = clear
    X, y = rows(np.random.default_rng(0), n=6000)
    model = ModelTreeRegressor(max_depth=1, max_numbers=found.numbers).fit(X, y)
    assert stability(model, X, y, n=20).median_move < 0.6 * found.median_move


def test_groups_are_drawn_together(rng):
    X, y = rows(rng, n=400)
    group = np.repeat(np.arange(40), 10)
    y = y + np.repeat(2 * rng.normal(size=40), 10)
    model = ModelTreeRegressor(max_depth=0).fit(X, y, groups=group)
    alone = stability(model, X, y, n=30)
    together = stability(model, X, y, n=30, groups=group)
    assert together.groups == 40
    assert together.median_move > 1.3 * alone.median_move


def test_weights_of_zero_are_left_out(clear):
    model, X, y, _ = clear
    weight = np.ones(len(y))
    weight[:300] = 0.0
    left = stability(model, X, y, n=3, sample_weight=weight)
    assert left == stability(model, X[300:], y[300:], n=3)


def test_classes_move_by_probabilities(rng):
    X, y = rows(rng)
    model = ModelTreeClassifier(max_depth=1).fit(X, np.where(y > 0, "yes", "no"))
    found = stability(model, X, np.where(y > 0, "yes", "no"), n=10)
    assert found.is_probability
    assert 0 < found.median_move < found.move_of_most < 1
    with pytest.raises(ValueError, match="classes"):
        stability(model, X, y > 0, n=2)


def test_calibration_moves_nothing(rng):
    X, y = rows(rng)
    labels = rng.random(len(y)) < 1 / (1 + np.exp(-y))
    other, truth = rows(rng, n=2000)
    half = rng.random(len(truth)) < 1 / (1 + np.exp(-truth / 4))
    model = ModelTreeClassifier(max_depth=1).fit(X, labels)
    before = stability(model, X, labels, n=10)
    after = stability(model.calibrate(other, half), X, labels, n=10)
    assert model.model_.scaling.slope[0] < 0.6
    assert after.median_move < before.median_move


def test_categories_and_no_split(rng):
    X, y = rows(rng)
    X["kind"] = np.where(X["a"] > 0.3, "x", np.where(X["c"] > 0, "y", "z"))
    model = ModelTreeRegressor(max_depth=1, split_features=["kind"]).fit(X, y)
    found = stability(model, X, y, n=10)
    assert (found.root, found.root_share, found.same_categories) == ("kind", 1.0, 1.0)
    assert found.threshold_range is None
    assert "into the same categories" in str(found)
    linear = stability(ModelTreeRegressor(max_depth=0).fit(X, y), X, y, n=5)
    assert (linear.root, linear.root_share) == (None, 1.0)
    assert "no split; nor have 100%" in str(linear)


def test_text_and_data(clear):
    found = clear[3]
    text = str(found)
    assert "40 trees on 800 rows, drawn with replacement." in text
    assert "first split, on a, is on the same column in 100%" in text
    assert "a  " in text.splitlines()[6]
    assert json.loads(json.dumps(found.to_dict()))["root_share"] == 1.0


def test_wrong_calls(clear):
    model, X, y, _ = clear
    with pytest.raises(ValueError, match="n=0"):
        stability(model, X, y, n=0)
    with pytest.raises(ValueError, match="feature names"):
        stability(model, X[["a", "b"]], y, n=1)
    with pytest.raises(TypeError, match="glassleaf estimator"):
        stability(42, X, y)


def test_the_middle_of_values():
    assert middle((), 0.9) is None
    assert middle((3.0,), 0.9) == (3.0, 3.0)
    assert middle(tuple(range(100)), 0.9) == (5, 94)
