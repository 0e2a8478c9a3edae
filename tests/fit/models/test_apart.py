"""Many classes, each with a Hessian of its own: the same minimum, by another way."""

import time

import numpy as np
import pytest
from whole_models import ModelTreeClassifier

from glassleaf import ModelTreeClassifier as Default
from glassleaf import losses
from glassleaf.fit.models.apart import ApartModel
from glassleaf.fit.models.newton import Penalty
from glassleaf.rows import passes as on_rows
from glassleaf.rows.passes.models import gradient_products, residual_products, sums_of_rows
from glassleaf.tables.compressed import Compressed

ONE_MODEL = {"max_depth": 0, "curves": False, "leaf_transform": "none", "n_jobs": 1}


def classes(rng, n, k, n_columns=3):
    X = rng.normal(size=(n, n_columns))
    scores = X @ rng.normal(size=(n_columns, k)) + rng.normal(size=k)
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


@pytest.fixture
def apart(monkeypatch):
    """Make few classes count as many."""
    return lambda: monkeypatch.setattr(losses, "MANY_OUTPUTS", 2)


@pytest.mark.parametrize(
    "options",
    [{"alpha": 2.0}, {"alpha": 0.0}, {"alpha": 3.0, "l1_ratio": 0.5}],
    ids=["ridge", "free", "elastic net"],
)
def test_the_minimum_is_that_of_all_pairs(rng, apart, options):
    X, y = classes(rng, 600, 5)
    exact = ModelTreeClassifier(**ONE_MODEL, **options).fit(X, y).predict_proba(X)
    apart()
    found = ModelTreeClassifier(**ONE_MODEL, **options).fit(X, y).predict_proba(X)
    assert np.abs(found - exact).max() < 1e-4


def test_weights_that_sum_to_one_lead_there_too(rng, apart):
    X, y = classes(rng, 400, 4)
    apart()
    plain, small = (
        ModelTreeClassifier(**ONE_MODEL, alpha=1e-3 * weight).fit(
            X, y, sample_weight=np.full(len(y), weight)
        )
        for weight in (1.0, 1 / len(y))
    )
    assert np.abs(plain.predict_proba(X) - small.predict_proba(X)).max() < 1e-3


def test_a_split_is_found_and_one_that_is_not_there_is_not(rng, apart):
    apart()
    X, y = classes(rng, 1200, 4)
    assert ModelTreeClassifier(max_depth=1, n_jobs=1).fit(X, y).get_n_leaves() == 1
    flipped = np.where((X[:, 0] > 0)[:, None], X, -X)
    flipped[:, 0] = X[:, 0]
    model = ModelTreeClassifier(max_depth=1, n_jobs=1).fit(flipped, y)
    assert model.get_n_leaves() == 2
    assert model.tree_.feature[0] == 0


def test_sums_are_the_blocks_of_those_of_all_pairs(rng, apart):
    n, k, kept = 50, 4, 3
    X, y = classes(rng, n, k)
    nothing = Compressed(np.zeros(n + 1, dtype=np.int64), np.zeros(0, np.uint32), np.zeros(0))
    weight = rng.uniform(1, 2, n)
    rows = on_rows.Rows(X, nothing, 0, y.astype(float), weight, [], {0: (0, n)}, np.zeros((n, 1)))
    loss = losses.MulticlassLogLoss(k)
    model = on_rows.RowModel(rng.normal(size=(k, kept)), rng.normal(size=k))
    exact = sums_of_rows(rows, 0, n, model, loss, with_hessian=True)
    products = gradient_products(rows, 0, n, model, loss)[0].reshape(k, kept + 1, k, kept + 1)
    apart()
    found = sums_of_rows(rows, 0, n, model, loss, with_hessian=True)
    own = np.flatnonzero(np.equal(*np.tril_indices(k)))
    np.testing.assert_allclose(found.gradient, exact.gradient)
    np.testing.assert_allclose(np.tril(found.hessian), np.tril(exact.hessian[own]), atol=1e-12)
    for j, block in enumerate(gradient_products(rows, 0, n, model, loss)):
        np.testing.assert_allclose(block, products[j, :, j], atol=1e-12)
    between = residual_products(rows, 0, n, model, loss)
    np.testing.assert_allclose(between, products[:, -1, :, -1], atol=1e-12)


def test_steps_tell_how_outputs_curve_together(rng):
    """On a quadratic loss of pairs, what was seen leads to its minimum."""
    k, size = 3, 2
    root = rng.normal(size=(k * size, k * size))
    matrix = root @ root.T + 0.5 * np.eye(k * size)
    minimum = rng.normal(size=(k, size))
    blocks = np.array([matrix.reshape(k, size, k, size)[j, :, j] for j in range(k)])
    model = ApartModel(2 * blocks, Penalty(0.0))
    theta = np.zeros((k, size))

    def gradient(at):
        return (matrix @ (at - minimum).ravel()).reshape(k, size)

    for _ in range(40):
        change, _ = model.step(theta, gradient(theta))
        model.saw(change, gradient(theta + change) - gradient(theta))
        theta = theta + change
    np.testing.assert_allclose(theta, minimum, atol=1e-6)


def test_hundreds_of_classes_are_bearable_and_as_good_as_one_logistic_regression(rng):
    X, y = classes(rng, 4000, 100, n_columns=6)
    begun = time.process_time()
    with pytest.warns(UserWarning, match="classes: a formula"):
        model = Default().fit(X[:2000], y[:2000])
    assert time.process_time() - begun < 60  # 1 s alone; all pairs took minutes
    plain = ModelTreeClassifier(**ONE_MODEL, alpha=1.0).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > plain.score(X[2000:], y[2000:]) - 0.01


def test_a_length_is_refused_where_no_formula_is_short(rng):
    X, y = classes(rng, 300, 25)
    with pytest.raises(ValueError, match="learned for up to 20"):
        Default(max_numbers=50).fit(X, y)
