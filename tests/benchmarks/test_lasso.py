"""Every model on the way of the lasso is the best at its penalty."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks.lasso import lasso_path, standardized
from glassleaf.losses import BinaryLogLoss, Gamma, MulticlassLogLoss, Poisson, SquaredError

rng = np.random.default_rng(0)
X = standardized(rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8)) + 5)[0]
RAW = X[:, 0] - X[:, 3] / 2
TARGETS = {
    SquaredError(): RAW + rng.normal(size=300),
    Poisson(): rng.poisson(np.exp(0.3 * RAW)).astype(float),
    Gamma(): rng.gamma(2, np.exp(0.3 * RAW)),
    BinaryLogLoss(): (RAW + rng.logistic(size=300) > 0).astype(float),
    MulticlassLogLoss(3): np.digitize(RAW + rng.normal(size=300), [-1, 1]).astype(float),
}


def slopes(model, y, loss):
    raw = model.raw(X) if loss.n_outputs > 1 else model.raw(X)[:, 0]
    gradient = loss.derivatives(y, raw)[1].reshape(len(y), -1) / len(y)
    return -(X.T @ gradient).T, gradient.sum(axis=0)


@pytest.mark.parametrize("loss", TARGETS, ids=lambda loss: type(loss).__name__)
def test_slopes_are_the_penalty_where_a_column_is_in_and_no_steeper_elsewhere(loss):
    models = list(lasso_path(X, TARGETS[loss], np.ones(len(X)), loss, numbers=100))
    for model in models[5:60:20]:
        slope, rest = slopes(model, TARGETS[loss], loss)
        is_in = model.coef != 0
        penalty = np.abs(slope[is_in]).max()
        assert np.allclose(slope[is_in], penalty * np.sign(model.coef[is_in]), rtol=0.03)
        assert (np.abs(slope[~is_in]) <= 1.03 * penalty).all()
        assert np.allclose(rest, 0, atol=0.03 * penalty)


def test_the_way_goes_from_one_column_to_all():
    lengths = [
        np.count_nonzero(model.coef)
        for model in lasso_path(X, TARGETS[SquaredError()], np.ones(300), SquaredError(), 100)
    ]
    assert lengths[0] == 1 and lengths[-1] == 8


def test_sparse_tables_give_the_same_models():
    loss = BinaryLogLoss()
    for dense, thin in zip(
        lasso_path(X, TARGETS[loss], np.ones(300), loss, 100),
        lasso_path(sparse.csr_matrix(X), TARGETS[loss], np.ones(300), loss, 100),
        strict=True,
    ):
        assert np.allclose(dense.coef, thin.coef, atol=1e-3)
