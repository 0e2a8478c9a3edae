"""Fits with the losses of counts, amounts and quantiles, beside the tools made for these."""

import warnings

import needed
import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor, TweedieRegressor
from sklearn.metrics import mean_pinball_loss

import glassleaf
from glassleaf import ModelTreeRegressor, losses

# A plain generalized linear model.
PLAIN = {
    "max_depth": 0, "alpha": 0, "leaf_transform": "none", "curves": False, "clamp": False,
    "max_numbers": None,
}  # fmt: skip


def premiums(n, seed=0):
    """Policies and what each costs: mostly nothing, sometimes very much."""
    rng = np.random.default_rng(seed)
    age, power = rng.uniform(18, 90, n), rng.integers(4, 15, n) * 1.0
    bonus, density = 50 + rng.exponential(20, n), np.exp(rng.normal(6, 2, n))
    counts = rng.poisson(np.exp(-2.5 + 0.01 * (bonus - 50) + 0.3 * (age < 25) + 0.02 * power))
    size = np.exp(7 + 0.2 * (power > 9))
    cost = [rng.gamma(0.7, one / 0.7, k).sum() for k, one in zip(counts, size, strict=True)]
    y = np.array(cost) * np.where(rng.random(n) < 0.0005, 100, 1)
    return np.column_stack([age, power, bonus, density]), y


@pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
def test_tweedie_is_that_of_scikit_learn_and_glum(power):
    X, y = premiums(4000)
    X = X[:, :3] / 10
    model = ModelTreeRegressor(loss=losses.Tweedie(power), **PLAIN).fit(X, y)
    own = {"alpha": 0, "tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}
    expected = TweedieRegressor(power=power, link="log", **own).fit(X, y)
    np.testing.assert_allclose(model.tree_.coef[0], expected.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-5)
    glum = needed.module("glum")
    family = glum.TweedieDistribution(power)
    other = glum.GeneralizedLinearRegressor(family=family, alpha=0, gradient_tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.tree_.coef[0], other.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("theta", [0.1, 1.0, 3.0])
def test_negative_binomial_is_that_of_glum(theta):
    glum = needed.module("glum")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = rng.poisson(np.exp(X @ [0.5, -0.3, 0.0]) * rng.gamma(1 / theta, theta, 3000))
    model = ModelTreeRegressor(loss=losses.NegativeBinomial(theta), **PLAIN).fit(X, y)
    family = glum.NegativeBinomialDistribution(theta)
    expected = glum.GeneralizedLinearRegressor(family=family, alpha=0, gradient_tol=1e-10)
    expected.fit(X, y)
    np.testing.assert_allclose(model.tree_.coef[0], expected.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.tree_.intercept[0], expected.intercept_, rtol=1e-5)


@pytest.mark.parametrize("n_rows", [500, 10_000])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9, 0.99])
def test_quantiles_are_those_of_scikit_learn(quantile, n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + (1 + np.abs(X[:, 0])) * rng.standard_t(3, n_rows)
    expected = QuantileRegressor(quantile=quantile, alpha=0, solver="highs").fit(X, y)
    sharp = ModelTreeRegressor(loss=losses.Quantile(quantile, smoothing=1e-6), **PLAIN).fit(X, y)
    np.testing.assert_allclose(sharp.tree_.coef[0], expected.coef_, atol=1e-5)
    np.testing.assert_allclose(sharp.tree_.intercept[0], expected.intercept_, atol=1e-5)
    usual = ModelTreeRegressor(loss=losses.Quantile(quantile), **PLAIN).fit(X, y)
    found = mean_pinball_loss(y, usual.predict(X), alpha=quantile)
    assert found < 1.02 * mean_pinball_loss(y, expected.predict(X), alpha=quantile)
    assert np.mean(y < usual.predict(X)) == pytest.approx(quantile, abs=0.02)


def test_a_tree_of_quantiles_covers_what_it_says():
    def draw(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6000, 4))
        spread = 0.5 + np.where(X[:, 3] > 0.5, 2.0, 0.0)
        return X, np.where(X[:, 0] > 0, 2 * X[:, 1], -X[:, 2]) + spread * rng.standard_t(4, 6000)

    (X, y), (test, truth) = draw(1), draw(2)
    for quantile in (0.1, 0.5, 0.9):
        model = ModelTreeRegressor(loss=losses.Quantile(quantile)).fit(X, y)
        linear = QuantileRegressor(quantile=quantile, alpha=0, solver="highs").fit(X, y)
        found = model.predict(test)
        assert model.get_n_leaves() > 1
        assert np.mean(truth < found) == pytest.approx(quantile, abs=0.02)
        lost = mean_pinball_loss(truth, found, alpha=quantile)
        assert lost < 0.85 * mean_pinball_loss(truth, linear.predict(test), alpha=quantile)


@pytest.mark.parametrize("loss", ["poisson", "tweedie", "gamma"])
def test_trees_do_not_depend_on_the_unit_of_money(loss):
    X, y = premiums(8000)
    y = y + 1.0 if loss == "gamma" else y
    # Nothing keeps this tree from growing on a few extreme rows.
    settings = {"max_leaf_nodes": 64, "significance": None, "max_numbers": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one, other = (
            ModelTreeRegressor(loss=loss, **settings).fit(X, y / unit) for unit in (1.0, 1000.0)
        )
    np.testing.assert_array_equal(one.tree_.feature, other.tree_.feature)
    np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
    np.testing.assert_allclose(one.tree_.coef, other.tree_.coef, rtol=1e-4, atol=1e-9)
    test, truth = premiums(8000, seed=1)
    for model, unit in ((one, 1.0), (other, 1000.0)):
        found = unit * model.predict(test)
        assert 0.5 < found.mean() / truth.mean() < 2.0
        assert found.max() < 10 * y.max()


def test_losses_of_nodes_are_in_the_units_of_y():
    X, y = premiums(3000)
    for loss in (losses.Tweedie(1.3), losses.Poisson()):
        model = ModelTreeRegressor(loss=loss, max_leaf_nodes=4, significance=None, max_numbers=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(X, y)
        leaves = np.flatnonzero(model.tree_.left < 0)
        value = loss.derivatives(y, np.log(model.predict(X)))[0].sum()
        assert model.tree_.loss[leaves].sum() == pytest.approx(value, rel=1e-4)
        np.testing.assert_allclose(model.tree_.record.target[0], y.mean())


def test_much_dispersion_is_told():
    X, y = premiums(2000)
    with pytest.warns(UserWarning, match=r"times as much around the model as Poisson assumes"):
        ModelTreeRegressor(loss="poisson").fit(X, y)
    counts = np.random.default_rng(0).poisson(np.exp(0.02 * X[:, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ModelTreeRegressor(loss="poisson").fit(X, counts)
        ModelTreeRegressor(loss="tweedie").fit(X, y)


@pytest.mark.parametrize("loss", ["tweedie", "negative_binomial"])
def test_targets_out_of_range(loss):
    X, _ = premiums(100)
    with pytest.raises(ValueError, match=f"loss='{loss}' needs y >= 0"):
        ModelTreeRegressor(loss=loss).fit(X, np.full(100, -1.0))
    with pytest.raises(ValueError, match=f"loss='{loss}' needs at least one y > 0"):
        ModelTreeRegressor(loss=loss).fit(X, np.zeros(100))


@pytest.mark.parametrize(
    "loss", [losses.Tweedie(1.7), losses.NegativeBinomial(0.5), losses.Quantile(0.8, 0.2)]
)
def test_files_keep_the_parameters(loss, tmp_path):
    X, y = premiums(500)
    model = ModelTreeRegressor(loss=loss).fit(X, y)
    model.save(tmp_path / "model.json")
    again = glassleaf.load(tmp_path / "model.json")
    assert again.loss == loss and again.model_.loss == loss
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
