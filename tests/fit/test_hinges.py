"""Hinges: where least squares bends a line, where a column bends, and predicted as written."""

import numpy as np
import pandas as pd
import pytest
from by_hand import by_hand
from sklearn.metrics import log_loss, r2_score
from threads import always_threads
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import paper_settings
from glassleaf.fit.hinges import Residuals, best_hinge, places_of


def wave(rng, n=2000, noise=0.1):
    """A column that bends, one that does not, and one that says nothing."""
    X = pd.DataFrame(rng.uniform(-1, 1, size=(n, 3)), columns=["bent", "straight", "idle"])
    y = np.cos(3 * X["bent"]) + X["straight"] + noise * rng.normal(size=n)
    return X, y.to_numpy()


def curved(model):
    """The columns that bend."""
    return {model.tree_.columns[j].name for j in model.tree_.terms.bent}


# --- one hinge -----------------------------------------------------------------------------------


def residuals_of(x, r):
    """Those of rows by the values of x, as bins would have them."""
    values, place = np.unique(x, return_inverse=True)
    weight = np.bincount(place).astype(float)
    return Residuals(values, weight, (np.bincount(place, weights=r) / weight)[:, None])


@pytest.mark.parametrize("others", [[], [0.5]])
def test_a_hinge_explains_what_least_squares_says(rng, others):
    """Against least squares on rows, for every place: the best one is found, and its share."""
    x = rng.choice(np.linspace(0, 1, 41), size=800)
    r = np.maximum(x - 0.3, 0) * 4 + np.sin(7 * x) + 0.1 * rng.normal(size=800)
    residuals = residuals_of(x, r)
    places = places_of(residuals, 0.0)
    beside = np.column_stack([np.ones(800), x, *(np.maximum(x - at, 0) for at in others)])
    left = r - beside @ np.linalg.lstsq(beside, r, rcond=None)[0]
    explained = {}
    for at in set(places) - set(others):
        own = np.column_stack([beside, np.maximum(x - at, 0)])
        rest = r - own @ np.linalg.lstsq(own, r, rcond=None)[0]
        explained[at] = left @ left - rest @ rest
    found = best_hinge(7, residuals, places, others)
    assert found.hinge.column == 7
    assert found.hinge.at == max(explained, key=explained.get)
    assert found.explained == pytest.approx(max(explained.values()), rel=1e-9)
    above = np.maximum(x - found.hinge.at, 0)
    assert (found.hinge.center, found.hinge.scale) == pytest.approx((above.mean(), above.std()))


def test_a_straight_line_has_no_hinge():
    x = np.linspace(0, 1, 50)
    residuals = Residuals(x, np.full(50, 100.0), (3 * x - 1)[:, None])
    assert best_hinge(0, residuals, places_of(residuals, 0.0), []).explained < 1e-20


def test_two_values_have_no_hinge():
    residuals = Residuals(np.array([0.0, 1.0]), np.array([9.0, 9.0]), np.array([[1.0], [-1.0]]))
    assert len(places_of(residuals, 0.0)) == 0
    assert best_hinge(0, residuals, np.zeros(0), []).explained == 0.0


def test_a_jump_is_left_to_a_split_where_there_may_be_one(rng):
    x = rng.uniform(0, 1, 2000)
    residuals = residuals_of(np.round(x, 2), (x > 0.4) * 1.0 + 0.1 * rng.normal(size=2000))
    places = places_of(residuals, 0.0)
    assert best_hinge(0, residuals, places, [], noise=0.01).explained == 0.0
    assert best_hinge(0, residuals, places, []).explained > 1.0


def test_many_rows_tell_a_small_bend(rng):
    """Less than 0.0001 of what the line leaves, where no split may follow it: no chance."""
    x = rng.uniform(0, 1, 400_000)
    y = x + 0.14 * np.maximum(x - 0.5, 0) + rng.normal(size=400_000)
    for numbers in (None, "auto"):
        model = ModelTreeRegressor(curves=True, max_depth=0, max_numbers=numbers)
        assert len(model.fit(x[:, None], y).tree_.terms.hinge_at) == 1


def test_a_place_is_a_short_number_near_a_quantile(rng):
    x = np.sort(rng.lognormal(3, 1, size=5000))
    residuals = residuals_of(x, x)
    exact, short = places_of(residuals, 0.0), places_of(residuals, 0.01)
    share = np.searchsorted(x, short) / len(x)
    nearest = np.abs(share[:, None] - np.searchsorted(x, exact) / len(x)).min(axis=1)
    assert nearest.max() < 0.0105
    assert max(len(f"{place:.12g}".replace(".", "").strip("0")) for place in short) <= 3


def test_noise_has_no_hinge():
    """At a hundredth for all columns together, thirty-eight of forty tables have none."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 5))
        found += bool(
            curved(
                ModelTreeRegressor(max_depth=0, curves=True).fit(X, X[:, 0] + rng.normal(size=400))
            )
        )
    assert found <= 2


# --- in a tree -----------------------------------------------------------------------------------


def test_only_the_column_that_bends_gets_hinges(rng):
    X, y = wave(rng)
    model = ModelTreeRegressor(max_depth=0, curves=True).fit(X, y)
    assert curved(model) == {"bent"}
    assert r2_score(y, model.predict(X)) > 0.97
    assert r2_score(y, ModelTreeRegressor(max_depth=0, curves=False).fit(X, y).predict(X)) < 0.8


def test_a_slope_that_changes_its_sign_between_leaves_survives_a_curve(rng):
    """The straight term stays: a curve that is right on average must not replace it."""
    X = rng.normal(size=(3000, 2))
    y = np.sign(X[:, 0]) * X[:, 1] + 0.5 * X[:, 1] ** 2
    model = ModelTreeRegressor(max_depth=1).fit(X, y)
    assert curved(model) == {"x1"}
    assert model.tree_.feature[0] == 0
    assert r2_score(y, model.predict(X)) > 0.97


def test_of_columns_that_go_together_one_gets_the_bend(rng):
    x = rng.uniform(-1, 1, size=4000)
    others = x[:, None] + 0.15 * rng.normal(size=(4000, 3))
    y = np.abs(x) + others[:, 1] + 0.02 * rng.normal(size=4000)
    model = ModelTreeRegressor(max_depth=0, max_numbers="auto").fit(np.column_stack([others, x]), y)
    used = model.tree_.coef[0, model.tree_.terms.first_hinge_term :] != 0
    column = np.repeat(np.arange(4), np.diff(model.tree_.terms.first_hinge))
    assert set(column[used]) == {3}


@pytest.mark.parametrize(
    "given",
    [
        {"curves": False},
        {"leaf_transform": "none"},
        {"max_depth": 0},
        {"leaf_features": ["straight", "idle"]},
        {"curves": ["idle"]},
        {"curves": []},
        paper_settings("MT-GR"),
    ],
)
def test_columns_without_curves(rng, given):
    X, y = wave(rng)
    assert curved(ModelTreeRegressor(**given).fit(X, y)) == set()


@pytest.mark.parametrize("clamp", [False, True, (0.05, 0.95)])
@pytest.mark.parametrize("transform", ["none", "rank"])
def test_predictions_by_hand(rng, clamp, transform):
    X, y = wave(rng, 800)
    X.loc[::7, "bent"] = np.nan
    given = {"clamp": clamp, "leaf_transform": transform, "curves": True}
    model = ModelTreeRegressor(max_depth=2, **given).fit(X, y)
    assert "bent" in curved(model)
    far = X * 3
    np.testing.assert_allclose(model.predict(far), by_hand(model.tree_, far.to_numpy()), rtol=1e-9)


def test_the_narrower_leaves_of_a_quantile_pair_fit_the_clamped_hinges(rng):
    """A leaf's model is the best one for its clamped rows: no residual goes with a hinge."""
    X, y = wave(rng, 3000)
    given = {"max_depth": 0, "curves": True, "clamp": (0.1, 0.9), "alpha": 0.0, "shrink": "zero"}
    model = ModelTreeRegressor(**given).fit(X, y)
    tree = model.tree_
    clamped = np.clip(X["bent"].to_numpy(), tree.clamp_low[0, 0], tree.clamp_high[0, 0])
    residual = y - model.predict(X)
    assert len(tree.terms.hinges(0)) > 1
    for at in tree.terms.hinges(0):
        assert abs(np.corrcoef(residual, np.maximum(clamped - at, 0))[0, 1]) < 1e-6


# --- losses --------------------------------------------------------------------------------------


def test_every_loss_finds_the_bend(rng):
    X, _ = wave(rng, 4000)
    score = np.cos(3 * X["bent"]) + 0.5 * X["straight"]
    for loss, y in {
        "huber": score + 0.2 * rng.standard_t(3, size=4000),
        "poisson": rng.poisson(np.exp(score)),
        "gamma": rng.gamma(3.0, np.exp(score)),
    }.items():
        assert curved(ModelTreeRegressor(loss=loss).fit(X, y)) == {"bent"}, loss


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_lie_inside_each_other(rng, n_classes):
    X, _ = wave(rng, 3000)
    limits = [0.3] if n_classes == 2 else [0.3, 0.6]
    y = np.digitize(np.abs(X["bent"]) + 0.05 * rng.normal(size=3000), limits)
    plain = ModelTreeClassifier(max_depth=0, curves=False).fit(X, y)
    model = ModelTreeClassifier(max_depth=0, curves=True).fit(X, y)
    assert curved(model) == {"bent"}
    assert log_loss(y, model.predict_proba(X)) < 0.5 * log_loss(y, plain.predict_proba(X))


def test_what_is_linear_in_the_log_odds_or_the_logarithm_has_no_hinge(rng):
    """Probabilities and means do bend; the models of the nodes do not see them."""
    X = rng.normal(size=(5000, 3))
    score = 2 * X[:, 0] - X[:, 1] - 2
    y = score + rng.logistic(size=5000) > 0
    assert curved(ModelTreeClassifier(max_depth=0, curves=True).fit(X, y)) == set()
    counts = rng.poisson(np.exp(score / 2))
    assert (
        curved(ModelTreeRegressor(max_depth=0, curves=True, loss="poisson").fit(X, counts)) == set()
    )


# --- what must not matter ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shift", "scale"), [(0.0, 1e9), (1e6, 1.0), (-5.0, 1e-9), (0.0, 1e-165), (0.0, 1e130)]
)
def test_units_of_the_column(rng, shift, scale):
    X, y = wave(rng, 1500)
    moved = X.assign(bent=shift + scale * X["bent"])
    before, after = (ModelTreeRegressor(max_depth=2).fit(table, y) for table in (X, moved))
    assert curved(after) == {"bent"}
    np.testing.assert_allclose(after.predict(moved), before.predict(X), rtol=1e-5, atol=1e-5)


def test_copies_of_a_row_and_its_weight(rng):
    X, y = wave(rng, 600)
    weight = rng.integers(1, 4, size=600)
    given = {"max_depth": 1, "min_samples_leaf": 10, "significance_test": "likelihood"}
    twice = X.loc[np.repeat(X.index, weight)]
    copied = ModelTreeRegressor(**given).fit(twice, np.repeat(y, weight))
    weighted = ModelTreeRegressor(**given).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(weighted.tree_.terms.hinge_at, copied.tree_.terms.hinge_at)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-6, atol=1e-8)


def test_order_of_rows_and_threads(rng):
    X, y = wave(rng, 1500)
    order = rng.permutation(1500)
    before = ModelTreeRegressor(n_jobs=1).fit(X, y)
    with always_threads():
        after = ModelTreeRegressor(n_jobs=2).fit(X.iloc[order], y[order])
    np.testing.assert_allclose(after.predict(X), before.predict(X), rtol=1e-6, atol=1e-9)


def test_a_value_that_many_rows_share_is_one_place(rng):
    """Forty hours a week: the line bends there, and not between 39 and 41 beside it."""
    hours = np.where(rng.random(4000) < 0.6, 40.0, np.round(rng.uniform(0, 90, 4000), 1))
    y = np.abs(hours - 40.0) + rng.normal(size=4000)
    model = ModelTreeRegressor(max_depth=0, curves=True).fit(hours[:, None], y)
    places = model.tree_.terms.hinge_at
    assert (np.abs(places - 40.0) < 1.5).sum() == 1


@pytest.mark.parametrize("given", [{"split_features": ["straight"]}, {"split_features": []}])
def test_a_column_that_does_not_split_bends_all_the_same(rng, given):
    X, y = wave(rng)
    model = ModelTreeRegressor(**given).fit(X, y)
    assert curved(model) == {"bent"}
    assert set(model.tree_.feature[model.tree_.left >= 0]) <= {1}


def test_curves_that_are_asked_for(rng):
    """By name or position, where "auto" would have none; categories have no curve."""
    X, y = wave(rng)
    X["kind"] = rng.choice(["a", "b"], size=len(X))
    for asked in (["bent"], [0], np.array([True, False, False, False])):
        given = {"curves": asked, "leaf_transform": "none", "max_depth": 0}
        assert curved(ModelTreeRegressor(**given).fit(X, y)) == {"bent"}
    jump = 5.0 * (X["bent"] > 0.2) + 0.1 * rng.normal(size=len(X))
    for asked, wanted in ((["bent", "straight"], {"bent"}), ("auto", set())):  # left to a split
        assert curved(ModelTreeRegressor(curves=asked).fit(X, jump)) == wanted
    with pytest.raises(ValueError, match="curves names the column 'kind', which holds categories"):
        ModelTreeRegressor(curves=["kind"]).fit(X, y)
    with pytest.raises(ValueError, match="curves names the column 'bend', which X does not have"):
        ModelTreeRegressor(curves=["bend"]).fit(X, y)


@pytest.mark.parametrize("value", ["Auto", 1, None, "yes"])
def test_what_the_parameter_may_be(rng, value):
    X, y = wave(rng, 100)
    with pytest.raises(ValueError, match="curves=.* must be 'auto', True, False or a list"):
        ModelTreeRegressor(curves=value).fit(X, y)
