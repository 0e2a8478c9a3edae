"""Transforms against scipy and numpy, and what they are for: tails that would spoil a model."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.linear_model import Ridge
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import paper_settings
from glassleaf.tables.design import choose_columns
from glassleaf.tables.transforms import Distribution, learn_knots


def distribution(values, weight=None):
    distinct, group = np.unique(values, return_inverse=True)
    mass = np.bincount(group, weights=weight).astype(float)
    return Distribution(distinct, distinct, mass)


def learn(column, kind):
    return learn_knots(column, kind, np.zeros((len(column.weight), 1)))


def test_normal_scores_of_few_values_are_those_of_their_mid_ranks(rng):
    values = rng.choice([1.0, 2.0, 5.0, 100.0], p=[0.5, 0.2, 0.2, 0.1], size=400)
    knots = learn(distribution(values), "rank")
    expected = norm.ppf((rankdata(values) - 0.5) / 400)
    np.testing.assert_allclose(knots(values), expected, rtol=1e-12)


def test_normal_scores_of_many_values_are_close_to_those_of_their_ranks(rng):
    values = np.exp(3 * rng.normal(size=2000))
    knots = learn(distribution(values), "rank")
    expected = norm.ppf((rankdata(values) - 0.5) / 2000)
    assert len(knots.x) <= 25
    assert np.abs(knots(values) - expected).max() < 0.4
    assert np.abs(knots(values) - expected).mean() < 0.05


def test_winsor_cuts_at_the_outer_quantiles(rng):
    values = rng.standard_cauchy(size=10_000)
    knots = learn(distribution(values), "winsor")
    low, high = np.quantile(values, [0.01, 0.99])
    found = knots(values)
    np.testing.assert_allclose([found.min(), found.max()], [low, high], rtol=0.02)
    inside = (values > knots.x[0]) & (values < knots.x[-1])
    np.testing.assert_allclose(found[inside], values[inside])


@pytest.mark.parametrize("kind", ["winsor", "rank"])
def test_a_transform_never_decreases_and_its_inverse_undoes_it(rng, kind):
    values = np.round(rng.standard_cauchy(size=3000), 1)
    knots = learn(distribution(values), kind)
    grid = np.linspace(-50, 50, 10_001)
    assert (np.diff(knots(grid)) >= 0).all()
    inner = grid[(grid > knots.x[0]) & (grid < knots.x[-1])]
    np.testing.assert_allclose(knots.inverse(knots(inner)), inner, atol=1e-9)


@pytest.mark.parametrize("kind", ["winsor", "rank"])
def test_weights_are_repeated_rows(rng, kind):
    values = np.round(rng.standard_cauchy(size=300), 1)
    times = rng.integers(1, 4, size=300)
    weighted = learn(distribution(values, times), kind)
    repeated = learn(distribution(np.repeat(values, times)), kind)
    np.testing.assert_array_equal(weighted.x, repeated.x)
    np.testing.assert_array_equal(weighted.z, repeated.z)


@pytest.mark.parametrize("kind", ["winsor", "rank"])
def test_two_values_need_no_transform(kind):
    column = distribution(np.array([0.0, 0.0, 1.0]))
    assert kind == "winsor" or learn(column, kind) is None


@pytest.mark.parametrize("kind", ["winsor", "rank"])
def test_the_root_is_ridge_on_the_transformed_columns(rng, kind):
    X = np.exp(2 * rng.normal(size=(500, 3)))
    y = np.log(X) @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=500)
    model = ModelTreeRegressor(max_depth=0, leaf_transform=kind, alpha=1.0).fit(X, y)
    Z = model.tree_.terms.transformed(X)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    np.testing.assert_allclose(model.predict(X), Ridge(alpha=1.0).fit(Z, y).predict(Z), rtol=1e-8)


def test_splits_stay_in_raw_units(rng):
    X = np.exp(2 * rng.normal(size=(1000, 2)))
    y = np.where(X[:, 0] > 3.0, np.log(X[:, 1]), -np.log(X[:, 1]))
    tree = ModelTreeRegressor(max_depth=1, leaf_transform="rank").fit(X, y).tree_
    assert tree.feature[0] == 0
    assert tree.threshold[0] == pytest.approx(3.0, abs=0.1)


def test_normal_scores_help_where_tails_are_heavy(rng):
    X = np.sinh(4 * rng.normal(size=(4000, 5)))
    y = np.arcsinh(X) @ np.ones(5) + rng.logistic(size=4000) > 0
    fitted = {
        kind: ModelTreeClassifier(max_depth=0, leaf_transform=kind).fit(X[:2000], y[:2000])
        for kind in ("none", "rank")
    }
    scores = {kind: model.score(X[2000:], y[2000:]) for kind, model in fitted.items()}
    assert scores["rank"] > scores["none"] + 0.05


def test_wild_columns(rng):
    """Whatever the column: constant, missing, few values, huge values."""
    X = rng.normal(size=(300, 6)) * [1, 1e12, 0, 1, 1, 1e-12]
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = np.nan
    X[::2, 0] = np.nan
    y = X[:, 3] + rng.normal(size=300)
    for kind in ("winsor", "rank"):
        model = ModelTreeRegressor(leaf_transform=kind, clamp=True).fit(X, y)
        assert np.isfinite(model.predict(X * 1e3)).all()
        assert np.isfinite(model.tree_.coef).all()


# --- what is chosen by default -------------------------------------------------------------------


def transformed(model):
    """Which columns have a transform."""
    return (np.diff(model.tree_.terms.first_knot) > 0).tolist()


def test_columns_without_heavy_tails_are_left_alone(rng):
    n = 2000
    X = np.column_stack(
        [rng.normal(size=n), rng.uniform(size=n), rng.integers(0, 5, n), rng.random(n) < 0.5]
    )
    y = np.exp(X[:, 0]) + np.sqrt(X[:, 1]) + rng.normal(size=n)
    assert transformed(ModelTreeRegressor().fit(X, y)) == [False] * 4


@pytest.mark.parametrize("kind", ["squared_error", "log_loss"])
def test_a_heavy_tailed_column_is_transformed_if_that_says_more(rng, kind):
    z = rng.normal(size=(2000, 3))
    X = np.column_stack([np.sinh(3 * z[:, 0]), z[:, 1], np.sinh(3 * z[:, 2])])
    score = z[:, 0] + z[:, 1] + 1e-4 * X[:, 2]  # the last one is linear as it is
    noise = rng.logistic(size=2000)
    if kind == "log_loss":
        model = ModelTreeClassifier(max_depth=0).fit(X, score + 0.3 * noise > 0)
    else:
        model = ModelTreeRegressor(max_depth=0).fit(X, score + 0.3 * noise)
    assert transformed(model)[:2] == [True, False]
    X[:, 0] = z[:, 0]
    y = 1e-2 * X[:, 2] + 0.3 * noise
    assert transformed(ModelTreeRegressor(max_depth=0).fit(X, y)) == [False] * 3


sparse_is_not_seen = pytest.mark.xfail(reason="terms that are stored sparsely are not looked at")


@pytest.mark.parametrize("zeros", [0.05, pytest.param(0.95, marks=sparse_is_not_seen)])
def test_a_column_goes_back_to_plain_where_that_says_more_beside_the_others(rng, zeros):
    """By itself the column tells by its ranks; beside the other one, by its values."""
    x = np.exp(0.8 * rng.normal(size=3000))
    beyond = (x > np.quantile(x, 0.95)).astype(float)
    y = x - beyond * x[beyond > 0].mean() + 0.3 * rng.normal(size=3000)
    both = np.column_stack([x, beyond if zeros > 0.5 else 1.0 - beyond])
    alone, beside = (ModelTreeRegressor(max_depth=0).fit(X, y) for X in (x[:, None], both))
    assert transformed(alone) == [True]
    assert transformed(beside) == [False, False]
    assert beside.score(both, y) > 0.85


def test_the_better_column_of_every_pair_is_chosen(rng):
    settled, good, bad = rng.normal(size=(3, 500))
    y = settled + good + 0.1 * rng.normal(size=500)
    columns = np.column_stack([settled, good, bad, bad + 0.1 * good, good])
    gram, product = columns.T @ columns, (columns.T @ y)[:, None]
    assert choose_columns(gram, product, 1) in ([True, False], [False, False])
    assert choose_columns(gram[:3, :3], product[:3], 1) == [True]
    turned = [0, 2, 1]
    assert choose_columns(gram[np.ix_(turned, turned)], product[turned], 1) == [False]
    assert choose_columns(gram[:1, :1], product[:1], 1) == []


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("kind", ["squared_error", "log_loss"])
def test_units_of_heavy_tailed_columns(rng, kind, factor, shift):
    z = rng.normal(size=(600, 3))
    X = np.sinh(2.5 * z)
    score = np.where(z[:, 0] > 0, 2.0, -1.0) * z[:, 1] + z[:, 2] + 0.3 * rng.logistic(size=600)
    y, make = score, ModelTreeRegressor
    if kind == "log_loss":
        y, make = score > 0, ModelTreeClassifier
    moved = (X + shift) * factor
    plain, other = make(max_depth=2).fit(X, y), make(max_depth=2).fit(moved, y)
    assert any(transformed(plain)) and plain.get_n_leaves() > 1
    assert transformed(other) == transformed(plain)
    np.testing.assert_array_equal(other.apply(moved), plain.apply(X))
    np.testing.assert_allclose(other.predict(moved), plain.predict(X), rtol=1e-5, atol=1e-6)


def test_the_paper_has_no_transforms(rng):
    X = np.sinh(3 * rng.normal(size=(500, 2)))
    model = ModelTreeRegressor(**paper_settings("MT-GR")).fit(X, np.arcsinh(X[:, 0]))
    assert transformed(model) == [False, False]


def test_a_cut_is_a_short_number_near_the_quantile_on_the_side_that_is_far(rng):
    for values, cut_low, cut_high in (
        (rng.lognormal(0, 1.5, size=9000), False, True),
        (-rng.lognormal(0, 1.5, size=9000), True, False),
        (rng.standard_t(2, size=9000), True, True),
    ):
        low, high = learn(distribution(values), "cut").x
        assert (low > values.min(), high < values.max()) == (cut_low, cut_high)
        for cut, share, is_cut in ((low, 0.01, cut_low), (high, 0.99, cut_high)):
            if is_cut:
                assert abs((values <= cut).mean() - share) < 0.0055
                assert len(f"{abs(cut):.12g}".replace(".", "").strip("0")) <= 2
    assert learn(distribution(rng.normal(size=9000)), "cut") is None


def test_a_model_with_cut_columns_has_ranges_and_no_knots(rng):
    """One range for all leaves, and predictions of a model of the columns as they are cut."""
    X = rng.lognormal(0, 1.5, size=(3000, 2))
    y = np.minimum(X[:, 0], 5) * np.where(X[:, 1] > 1, 1, 0.2) + 0.1 * rng.normal(size=3000)
    model = ModelTreeRegressor(leaf_transform="cut", clamp=False).fit(X, y)
    tree = model.tree_
    assert tree.n_leaves > 1 and len(tree.terms.knot_x) == 0
    assert np.isinf(tree.clamp_low).all() and np.isfinite(tree.clamp_high).all()
    assert len(np.unique(tree.clamp_high, axis=0)) == 1
    cut = np.minimum(X, tree.clamp_high[0])
    np.testing.assert_allclose(model.predict(X), tree.raw(cut, tree.apply(X))[:, 0])


def test_a_clamp_from_the_very_lowest_value(rng):
    """In a leaf the first bins may be empty: the lowest value is that of the first that is not."""
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])
    model = ModelTreeRegressor(clamp=(0.0, 1.0)).fit(X, y)
    assert model.get_n_leaves() > 1
    np.testing.assert_allclose(
        model.predict(X), ModelTreeRegressor().fit(X, y).predict(X), rtol=1e-6
    )


@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
@pytest.mark.parametrize("max_depth", [0, 1])
def test_a_clamp_at_quantiles_is_by_the_weight_of_rows_whatever_was_searched(rng, kind, max_depth):
    X = rng.integers(0, 20, size=(600, 2)).astype(float)
    weight = rng.integers(1, 4, size=600).astype(float)
    y = (X[:, 0] > 10) ^ (X[:, 1] > rng.integers(0, 20, 600))
    parameters = {"clamp": (0.1, 0.9), "max_depth": max_depth, "leaf_transform": "none"}
    model = kind(**parameters, curves=False, n_jobs=1).fit(X, y.astype(float), weight)
    leaf = model.apply(X)
    for own in np.unique(leaf):
        for j in range(2):
            here = np.repeat(X[leaf == own, j], weight[leaf == own].astype(int))
            for share, end in ((0.1, model.tree_.clamp_low), (0.9, model.tree_.clamp_high)):
                assert np.isclose(end[own, j], np.quantile(here, share, method="inverted_cdf"))


def test_knots_so_close_that_their_slope_is_no_number_are_left_out(rng):
    X = rng.lognormal(size=(500, 2)) * [1e-310, 1.0]
    y = np.where(X[:, 0] > 1e-310, X[:, 1], -X[:, 1])
    model = ModelTreeRegressor(leaf_transform="rank").fit(X, y)
    assert model.tree_.terms.knots(0) is None and model.tree_.terms.knots(1) is not None
    scorer = model.scorer()
    np.testing.assert_allclose([scorer(row) for row in X], model.predict(X), rtol=1e-9)
