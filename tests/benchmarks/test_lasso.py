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
    gradient = loss.derivatives(y, model.raw(X))[1].reshape(len(y), -1) / len(y)
    return -(X.T @ gradient).T, gradient.sum(axis=0)


@pytest.mark.parametrize("loss", TARGETS, ids=lambda loss: type(loss).__name__)
def test_slopes_are_the_penalty_where_a_column_is_in_and_no_steeper_elsewhere(loss):
    models = list(lasso_path(X, TARGETS[loss], np.ones(len(X)), loss, most=100))
    for model in models[5::20]:
        slope, rest = slopes(model, TARGETS[loss], loss)
        is_in = model.coef != 0
        penalty = np.abs(slope[is_in]).max()
        assert np.allclose(slope[is_in], penalty * np.sign(model.coef[is_in]), rtol=0.01)
        assert (np.abs(slope[~is_in]) <= 1.01 * penalty).all()
        assert np.allclose(rest, 0, atol=0.01 * penalty)


def test_the_way_goes_from_one_column_to_all():
    lengths = [
        np.count_nonzero(model.coef)
        for model in lasso_path(X, TARGETS[SquaredError()], np.ones(300), SquaredError(), 100)
    ]
    assert lengths[0] == 1 and lengths[-1] == 8


def test_sparse_tables_are_standardized_too():
    thin, dense = (standardized(table)[0] for table in (sparse.csr_matrix(X), X))
    assert np.allclose(thin, dense)
