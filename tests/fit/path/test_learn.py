"""Which step of a path is good enough, and that losses on the way are true ones."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.fit.path.learn import _errors, shortest_good
from glassleaf.tree.path import Step

NOTHING = np.zeros(0)


def step(numbers, validated, error=0.0):
    return Step(
        numbers=numbers, loss=validated, validated=validated, error=error,
        node=NOTHING, output=NOTHING, term=NOTHING, value=NOTHING, limits=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "chosen"),
    [
        ([step(1, 1.0), step(5, 0.45), step(9, 0.40)], 9),
        ([step(1, 1.0), step(5, 0.45, error=0.06), step(9, 0.40)], 5),
        ([step(1, 1.0), step(5, 0.4029), step(9, 0.40)], 5),  # 0.5 % of what is explained
        ([step(1, 1.0), step(5, 0.0011), step(9, 0.001)], 9),  # but a tenth of what is left
        ([step(1, 1.0), step(5, 1e-12), step(9, 0.0)], 9),
    ],
)
def test_the_shortest_step_that_is_nearly_the_best(steps, chosen):
    assert shortest_good(steps).numbers == chosen


@pytest.mark.parametrize("seed", [1, 2])
def test_losses_fall_where_leaves_are_sure_of_their_rows(seed):
    """A leaf that is sure has a flat loss, which must not say that any score is as good."""
    rng, n = np.random.default_rng(seed), 6000
    X = rng.normal(size=(n, 8))
    is_rich = rng.random(n) < 0.08
    X[:, 0] = np.where(is_rich, rng.choice([5, 7, 8, 10, 15, 99], n), 0)
    X[:, 4:] = rng.integers(0, 2, (n, 4))
    poor = np.where(X[:, 0] > 0, -3, X[:, 1] - 1.5 + X[:, 5] * X[:, 2])
    score = np.where(X[:, 0] > 6, 6.0 + X[:, 4], poor) + X[:, 2] * (X[:, 3] > 0)
    y = rng.random(n) < 1 / (1 + np.exp(-score))
    path = ModelTreeClassifier().fit(X, y).path_
    loss = np.array([step.loss for step in path])
    assert len(loss) > 8
    assert (np.diff(loss) < 1e-3 * loss[:-1]).all()


def test_many_copies_of_a_row_do_not_hide_the_rest(rng):
    """A fold that held all rows without any value would say that nothing is known of them."""
    n = 4000
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    y = rng.random(n) < 1 / (1 + np.exp(-X["a"] - X["b"]))
    X.iloc[: n // 10] = np.nan
    model = ModelTreeClassifier().fit(X, y)
    assert model.score(X[n // 10 :], y[n // 10 :]) > 0.7
    assert max(step.error for step in model.path_) < 0.02


def test_what_is_exact_is_said_exactly(rng):
    """No ridge is left in the numbers, and no rounding of sums."""
    X = rng.normal(size=(300, 2))
    found = ModelTreeRegressor().fit(X, 3 - 2 * X[:, 0])
    assert found.tree_.coef.tolist() == [[-2.0, 0.0]]
    assert found.tree_.intercept.tolist() == [3.0]
    found = ModelTreeRegressor().fit(X, 3 - 2 * X[:, 0] + 0.01 * X[:, 1])
    np.testing.assert_allclose(found.tree_.coef, [[-2.0, 0.01]], rtol=1e-9)


def test_models_longer_than_the_best_do_not_make_it_doubtful(rng):
    """A long model that goes wild on one fold once made a constant as good as any."""
    lost = np.array([100.0, 50.0, 20.0, 19.0, 18.0])
    of_folds = lost / 5 + 0.1 * rng.normal(size=(5, 5))
    of_folds[:, 3:] += 1.0
    calm = _errors(of_folds.sum(axis=0), lost, of_folds)
    of_folds[2, 3:] += 1e6
    wild = _errors(of_folds.sum(axis=0), lost, of_folds)
    np.testing.assert_array_equal(calm, wild)
    assert calm[2] == 0 and 0 < calm[0] < 5
