"""Intervals cover what they promise, and probabilities are what they say."""

import math

import needed
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.estimators.calibrate import leaf_spreads, parts_of, quantiles
from glassleaf.tree.coverage import LEVELS, NotCalibratedError, place_of
from reproduction import datasets

CALIBRATIONS = 300
STANDARD_ERRORS = 4.0


def rows(rng, n):
    """Two leaves: the right one, of a third of the rows, has more noise."""
    X = rng.uniform(size=(n, 3))
    right = X[:, 0] > 2 / 3
    noise = rng.normal(size=n) * np.where(right, 2.0, 0.5)
    return X, np.where(right, 3 * X[:, 1], -3 * X[:, 1]) + noise


@pytest.fixture(scope="module")
def fitted():
    model = ModelTreeRegressor(max_depth=1).fit(*rows(np.random.default_rng(1), 3000))
    assert model.get_n_leaves() == 2
    return model


def coverages(model, calibration, new, coverage, n=CALIBRATIONS):
    """Share of covered rows by leaf (left, right), one row per calibration."""
    out = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        model.calibrate(*calibration(rng))
        X, y = new(rng)
        low, high = model.predict_interval(X, coverage).T
        covered = (low <= y) & (y <= high)
        is_right = model.apply(X) == model.apply(X).max()
        out.append([covered[~is_right].mean(), covered[is_right].mean(), covered.mean()])
    return np.array(out)


def assert_mean(found, low, high):
    """The mean lies between these but for its standard error."""
    error = STANDARD_ERRORS * found.std(ddof=1) / math.sqrt(len(found))
    assert low - error <= found.mean() <= high + error
    assert error < 0.02  # or the test says nothing


# --- coverage ------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_each_leaf_is_covered(fitted, coverage):
    found = coverages(fitted, lambda rng: rows(rng, 450), lambda rng: rows(rng, 600), coverage)
    assert fitted.model_.intervals.is_own[1:].all()
    for of_leaf in found.T[:2]:
        assert_mean(of_leaf, coverage, coverage + 1 / 100)


def test_leaves_of_few_rows_are_covered_together(fitted):
    found = coverages(fitted, lambda rng: rows(rng, 120), lambda rng: rows(rng, 600), 0.9)
    assert not fitted.model_.intervals.is_own.any()
    assert_mean(found[:, 2], 0.9, 0.9 + 1 / 121)
    # In units of each leaf's own spread, hardly any leaf pays for the other.
    assert abs(found[:, 0].mean() - found[:, 1].mean()) < 0.03


def test_rows_of_the_fit_are_not_enough():
    """The same check fails where it should: on rows that the model was fitted on."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 40)), rng.normal(size=100)
        model = ModelTreeRegressor(max_depth=0, max_numbers=None, alpha=0).fit(X, y)
        with pytest.warns(UserWarning, match="rows of the fit"):
            model.calibrate(X, y)
        low, high = model.predict_interval(rng.normal(size=(500, 40))).T
        new = rng.normal(size=500)
        found.append(((low <= new) & (new <= high)).mean())
    assert np.mean(found) < 0.8


def test_rows_of_the_fit_are_noticed(rng, recwarn):
    X, y = rows(rng, 300)
    model = ModelTreeRegressor().fit(X, y).calibrate(X[:299], y[:299])
    assert not recwarn
    with pytest.warns(UserWarning, match="rows of the fit"):
        model.calibrate(X, y)


def grouped_rows(rng, n_groups):
    """Subjects with an effect of their own, and from 1 to 8 rows."""
    sizes = rng.integers(1, 9, size=n_groups)
    group = np.repeat(np.arange(n_groups), sizes)
    X, y = rows(rng, len(group))
    spread = np.where(sizes > 4, 1.0, 4.0)  # who comes often varies less
    return X, y + (spread * rng.normal(size=n_groups))[group], group


def one_of_each(X, y, group):
    first = np.unique(group, return_index=True)[1]
    return X[first], y[first]


def test_groups_are_covered_by_their_rows(fitted):
    def new(rng):
        return one_of_each(*grouped_rows(rng, 800))

    found = coverages(fitted, lambda rng: grouped_rows(rng, 60), new, 0.9)
    assert_mean(found[:, 2], 0.9, 0.9 + 1 / 61)
    without = coverages(fitted, lambda rng: grouped_rows(rng, 60)[:2], new, 0.9)
    assert without[:, 2].mean() < 0.87  # rows alone: too narrow for a new subject


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_spread_that_grows_with_the_mean(loss):
    def draw(rng, n=1000):
        X = rng.uniform(size=(n, 2))
        mean = np.exp(1 + 3 * X[:, 0])
        y = rng.poisson(mean) if loss == "poisson" else mean * rng.gamma(4, 0.25, size=n)
        return X, y.astype(float)

    model = ModelTreeRegressor(loss=loss).fit(*draw(np.random.default_rng(0)))
    found, by_half = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed + 1)
        X, y = draw(rng)
        low, high = model.calibrate(*draw(rng)).predict_interval(X).T
        covered = (low <= y) & (y <= high)
        assert (low >= 0).all()
        found.append(covered.mean())
        by_half.append([covered[X[:, 0] < 0.5].mean(), covered[X[:, 0] > 0.5].mean()])
    assert_mean(np.array(found), 0.9, 0.91)
    assert np.ptp(np.mean(by_half, axis=0)) < 0.04


@needed.data
@pytest.mark.parametrize("name", ["House", "California", "Diamonds"])
def test_real_tables(name):
    data = datasets.ALL[name](None)
    rest, new = train_test_split(np.arange(len(data.y)), test_size=0.3, random_state=0)
    own, other = train_test_split(rest, test_size=0.3, random_state=0)
    X, y = data.X, np.asarray(data.y, dtype=float)
    model = ModelTreeRegressor().fit(X.iloc[own], y[own]).calibrate(X.iloc[other], y[other])
    leaf = model.apply(X.iloc[new])
    for coverage in (0.5, 0.8, 0.9, 0.95):
        low, high = model.predict_interval(X.iloc[new], coverage).T
        covered = (low <= y[new]) & (y[new] <= high)
        for node in np.unique(leaf):
            n_known = int(model.model_.intervals.n_observations[node])
            if n_known >= 100:
                assert_share(covered[leaf == node], coverage, n_known)
        assert_share(covered, coverage, len(other))


def assert_share(covered, coverage, n_known):
    """Both kinds of rows have chance in them: those that calibrate, and the new ones."""
    error = math.sqrt(coverage * (1 - coverage) * (1 / len(covered) + 1 / n_known))
    assert abs(covered.mean() - coverage) < STANDARD_ERRORS * error + 1 / n_known


# --- against others ------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [53, 200, 221])
def test_mapie_agrees(coverage, n):
    mapie = needed.module("mapie.regression")
    X, y = load_diabetes(return_X_y=True)
    model = ModelTreeRegressor(max_depth=0).fit(X[:200], y[:200])
    other = mapie.SplitConformalRegressor(model, confidence_level=coverage, prefit=True)
    other.conformalize(X[200 : 200 + n], y[200 : 200 + n])
    _, expected = other.predict_interval(X[421:])
    found = model.calibrate(X[200 : 200 + n], y[200 : 200 + n]).predict_interval(X[421:], coverage)
    np.testing.assert_allclose(found, expected[:, :, 0], rtol=1e-10)


def test_quantiles_are_those_of_a_loop(rng):
    """Hierarchical conformal prediction by the book, one level at a time."""
    scores, group = rng.exponential(size=80), rng.integers(0, 25, size=80)
    level = np.array([0.1, 0.5, 0.8, 0.9, 0.96, 0.97, 0.99])
    n_groups = len(np.unique(group))
    size = {g: int((group == g).sum()) for g in group}
    for c, found in zip(level, quantiles(scores, group, level), strict=True):
        total, expected = 0.0, math.inf
        for score, own in sorted(zip(scores, group, strict=True)):
            total += 1 / ((n_groups + 1) * size[own])
            if total >= c - 1e-12:
                expected = score
                break
        assert found == expected


def test_levels_are_rounded_up_and_ranks_exact():
    scores = np.arange(1.0, 200.0)
    for coverage in (0.05, 0.55, 0.7, 0.9, 0.95, 0.995):
        rank = math.ceil(round(200 * coverage, 9))
        assert quantiles(scores, np.arange(199), np.array([coverage]))[0] == rank
    assert all(place_of(LEVELS, level) == k for k, level in enumerate(LEVELS))
    assert LEVELS[place_of(LEVELS, 0.9501)] == 0.955
    for wrong in (0, -0.1, 1.0, 0.9999, True, "0.9", math.nan):
        with pytest.raises(ValueError, match="coverage"):
            place_of(LEVELS, wrong)


def test_small_leaves_take_in_the_smallest_of_the_large(rng):
    nodes = np.repeat([1, 3, 5, 6], [500, 120, 30, 0])
    count = np.array([0, 500, 0, 120, 0, 30, 0])
    leaves = np.array([1, 3, 5, 6])

    def parts(enough):
        found = parts_of(leaves, count, nodes, np.arange(len(nodes)), enough)
        return sorted(sorted(part.tolist()) for part in found)

    assert parts(30) == [[1], [3], [5, 6]]  # no row at all in leaf 6
    assert parts(100) == [[1], [3, 5, 6]]
    assert parts(500) == [[1, 3, 5, 6]]
    assert parts_of(leaves[:3], count, nodes, np.arange(len(nodes)), 20)[0].tolist() == [5]


# --- what else -----------------------------------------------------------------------------------


def test_units_of_the_target_do_not_matter(fitted):
    rng = np.random.default_rng(0)
    X, y = rows(rng, 2000)
    new, _ = rows(rng, 50)
    ends = []
    for unit in (1.0, 1e-6, 1e9):
        model = ModelTreeRegressor(max_depth=1).fit(X[:1000], unit * y[:1000])
        ends.append(model.calibrate(X[1000:], unit * y[1000:]).predict_interval(new) / unit)
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-5)
    np.testing.assert_allclose(ends[2], ends[0], rtol=1e-5)


def test_spreads_are_those_of_the_leaves(fitted):
    spread = leaf_spreads(fitted.tree_, fitted.model_.loss)
    np.testing.assert_allclose(spread[1:], [0.5, 2.0], rtol=0.1)
    X = np.zeros((50, 1))
    perfect = ModelTreeRegressor().fit(X, X[:, 0] + 2)
    assert (leaf_spreads(perfect.tree_, perfect.model_.loss) == 1).all()
    assert (perfect.calibrate(X, X[:, 0] + 2).predict_interval(X[:3]) == 2).all()


def test_too_few_rows_have_no_end(fitted):
    X, y = rows(np.random.default_rng(0), 40)
    fitted.calibrate(X, y)
    with pytest.warns(UserWarning, match="40 of 40 rows have no end: a coverage of 0.99 needs 99"):
        found = fitted.predict_interval(X, 0.99)
    assert np.isinf(found).all()


def test_a_shorter_model_and_a_new_fit_are_not_calibrated(fitted):
    X, y = rows(np.random.default_rng(0), 500)
    fitted.calibrate(X, y)
    with pytest.raises(NotCalibratedError, match="calibrate"):
        fitted.at(numbers=5).predict_interval(X)
    again = glassleaf.ModelTreeRegressor().fit(X, y).calibrate(X, y)
    with pytest.raises(NotCalibratedError):
        again.fit(X, y).predict_interval(X)


def test_a_column_of_groups(fitted):
    pandas = needed.module("pandas")
    X, y, group = grouped_rows(np.random.default_rng(0), 200)
    table = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(who=group.astype(str))
    model = ModelTreeRegressor().fit(table, y, groups="who")
    named = model.calibrate(table, y, groups="who").predict_interval(table)
    given = model.calibrate(table, y, groups=group).predict_interval(table)
    np.testing.assert_array_equal(named, given)
    assert model.model_.intervals.n_observations.sum() >= 200


# --- probabilities -------------------------------------------------------------------------------


def labels(rng, n, slope=1.0):
    X = rng.normal(size=(n, 3))
    score = slope * np.where(X[:, 0] > 0, 2 * X[:, 1], -2 * X[:, 1]) + 0.5
    return X, rng.random(n) < 1 / (1 + np.exp(-score))


@pytest.fixture
def odds(rng):
    return ModelTreeClassifier(max_depth=1).fit(*labels(rng, 2000))


def test_slope_and_shift_are_those_of_a_logistic_regression(odds, rng):
    X, y = labels(rng, 4000, slope=0.5)
    before = odds.decision_function(X)
    numbers = odds.complexity_.total
    odds.calibrate(X, y)
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(before[:, None], y)
    expected = reference.decision_function(before[:, None])
    scaling = odds.model_.scaling
    np.testing.assert_allclose(scaling.slope[1], reference.coef_[0, 0], rtol=1e-4)
    np.testing.assert_allclose(scaling.shift[1], reference.intercept_[0], atol=1e-4)
    np.testing.assert_allclose(odds.decision_function(X), expected, atol=0.05)
    assert odds.complexity_.total == numbers  # it stays as short as it was
    assert "4,000 observations" in odds.export_text()


def test_probabilities_hold_on_new_rows(odds, rng):
    odds.calibrate(*labels(rng, 4000, slope=0.5))
    X, y = labels(rng, 20_000, slope=0.5)
    p = odds.predict_proba(X)[:, 1]
    for low in np.arange(0.1, 0.9, 0.2):
        here = (p >= low) & (p < low + 0.2)
        error = math.sqrt(0.25 / here.sum())
        assert abs(y[here].mean() - p[here].mean()) < 4 * error + 0.02


def test_leaves_with_formulas_of_their_own_have_their_own_scale(rng):
    X, y = labels(rng, 3000)
    model = ModelTreeClassifier(max_depth=1, max_numbers=None).fit(X, y)
    other, truth = labels(rng, 6000)
    flipped = np.where(other[:, 0] > 0, truth, rng.random(6000) < 0.5)  # no odds on the left
    leaf, before = model.apply(other), model.decision_function(other)
    model.calibrate(other, flipped)
    scaling = model.model_.scaling
    assert scaling.is_own[1:].all()
    assert scaling.slope[1] < 0.1 < 0.8 < scaling.slope[2]
    expected = scaling.slope[leaf] * before + scaling.shift[leaf]
    np.testing.assert_allclose(model.decision_function(other), expected, rtol=1e-9)


def test_again_and_the_other_class(odds, rng):
    X, y = labels(rng, 3000, slope=0.5)
    once = odds.calibrate(X, y).predict_proba(X)
    twice = odds.calibrate(X, y).predict_proba(X)
    np.testing.assert_allclose(twice, once, atol=0.01)
    assert odds.model_.scaling.slope[1] < 0.7  # seen from the fit, not from the first one
    first = ModelTreeClassifier(max_depth=1, positive_class=False)
    first.fit(*labels(np.random.default_rng(0), 2000)).calibrate(X, y)
    np.testing.assert_allclose(first.predict_proba(X), once, atol=0.1)


def test_several_classes(rng):
    X = rng.normal(size=(6000, 2))
    scores = np.column_stack([X[:, 0], X[:, 1], np.zeros(6000)])
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    weak = np.argmax(0.5 * scores + [0, 0, 1] + rng.gumbel(size=scores.shape), axis=1)
    model = ModelTreeClassifier(max_depth=0).fit(X[:3000], y[:3000])
    model.calibrate(X[3000:], weak[3000:])
    assert 0.4 < model.model_.scaling.slope[0] < 0.6
    p = model.predict_proba(X[3000:])
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(weak[3000:]) / 3000, atol=0.01)


def test_groups_of_rows_count_once(odds, rng):
    X, y = labels(rng, 1000, slope=0.5)
    copies = rng.integers(1, 6, size=1000)
    alone = odds.calibrate(X, y).predict_proba(X)
    again = ModelTreeClassifier(max_depth=1).fit(*labels(np.random.default_rng(0), 2000))
    group = np.repeat(np.arange(1000), copies)
    again.calibrate(X[group], y[group], groups=group)
    np.testing.assert_allclose(again.predict_proba(X), alone, atol=1e-6)


def test_what_cannot_be_calibrated(odds, rng):
    X, y = labels(rng, 100)
    with pytest.raises(ValueError, match="no False"):
        odds.calibrate(X[y], y[y])
    with pytest.raises(ValueError, match="no class"):
        odds.calibrate(X, np.where(y, "yes", "no"))
    with pytest.raises(ValueError, match="0 sample"):
        odds.calibrate(X[:0], y[:0])


def test_models_of_your_own_have_intervals_too(rng):
    X, y = rows(rng, 100)
    own = glassleaf.SklearnModel(LinearRegression(), gradients_of=lambda model, X, y: None)
    model = ModelTreeRegressor(weak_model=own, criterion="impurity").fit(X, X[:, 1])
    assert model.calibrate(X, X[:, 1]).predict_interval(X).shape == (100, 2)
