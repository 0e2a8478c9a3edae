"""What must not change the tree: units, order, copies, names, threads."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import pairs
from sklearn.preprocessing import StandardScaler
from threads import always_threads
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import paper_settings

few = settings(max_examples=3, deadline=None)
seeds = st.integers(0, 2**32 - 1)

METHODS = {
    "default": {},
    "everything": {"significance": None, "refine": True},
    "MT-GR": paper_settings("MT-GR"),
    "MT-DT": paper_settings("MT-DT"),
    "minmax": {**paper_settings("MT-GR"), "criterion": "gradient_minmax"},
    "MT-G": paper_settings("MT-G"),
}
INVARIANT = [name for name in METHODS if name != "MT-G"]
KINDS = ["squared_error", "huber", "poisson", "binary", "multiclass"]

of_method = pytest.mark.parametrize("method", METHODS)
of_invariant_method = pytest.mark.parametrize("method", INVARIANT)
of_kind = pytest.mark.parametrize("kind", KINDS)
of_pairs = partial(pairs, "kind, method", KINDS, METHODS)  # all of them, over the five shifts


def make(kind, method, **parameters):
    parameters = {"max_depth": 2, "min_samples_leaf": 12, **METHODS[method], **parameters}
    if kind in ("binary", "multiclass"):
        return ModelTreeClassifier(**parameters)
    return ModelTreeRegressor(loss=kind, **parameters)


def problem(kind, seed, n_rows=240):
    """A table of 3 columns whose slopes change with the first, without equal gains."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_rows, 3)), 3)
    score = np.where(X[:, 0] > 0.2, X[:, 1] + X[:, 2], -X[:, 1]) + 0.5 * X[:, 0]
    if kind == "binary":
        return X, (score + 0.5 * rng.logistic(size=n_rows) > 0).astype(int)
    if kind == "multiclass":
        return X, np.digitize(score + rng.normal(scale=0.5, size=n_rows), [-0.5, 0.7])
    if kind == "poisson":
        return X, rng.poisson(np.exp(0.5 * score)).astype(float)
    return X, score + 2.0 + rng.normal(scale=0.3, size=n_rows)


def raw(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def assert_same_splits(found, expected, *, feature=None, threshold=None, counts=True):
    """The splits of two trees; ``feature`` and ``threshold`` lead from found back to expected."""
    left, right = found.tree_, expected.tree_
    np.testing.assert_array_equal(left.left, right.left)
    np.testing.assert_array_equal(left.right, right.right)
    np.testing.assert_array_equal(left.missing_left, right.missing_left)
    if counts:
        np.testing.assert_array_equal(left.n_samples, right.n_samples)
    features, thresholds = left.feature.copy(), left.threshold.copy()
    for node in np.flatnonzero(left.left != -1):
        if threshold is not None:
            thresholds[node] = threshold(features[node], thresholds[node])
        if feature is not None:
            features[node] = feature[features[node]]
    np.testing.assert_array_equal(features, right.feature)
    # Columns have spread 1: an absolute 1e-6 is a relative one for a threshold near zero.
    np.testing.assert_allclose(thresholds, right.threshold, rtol=1e-6, atol=1e-6)


# --- units ---------------------------------------------------------------------------------------


@of_invariant_method
@of_kind
@few
@given(
    seed=seeds,
    exponents=st.tuples(*[st.integers(-9, 9)] * 3),
    shifts=st.tuples(*[st.sampled_from([0.0, -3.0, 1e3, 1e6, -1e6])] * 3),
)
def test_units_of_features(kind, method, seed, exponents, shifts):
    X, y = problem(kind, seed)
    scale, shift = 10.0 ** np.array(exponents), np.array(shifts)
    moved = (X + shift) * scale
    plain, other = make(kind, method).fit(X, y), make(kind, method).fit(moved, y)
    assert_same_splits(other, plain, threshold=lambda j, t: t / scale[j] - shift[j])
    assert_close(raw(other, moved), raw(plain, X))


@pytest.mark.parametrize("factor", [1e-9, 1e9, -1.0])
@of_kind
def test_the_extremes_of_scale(kind, factor):
    X, y = problem(kind, 0)
    # The penalty of a hinge is not that of its mirror image.
    given = {} if factor > 0 else {"curves": False}
    plain, other = (make(kind, "default", **given).fit(table, y) for table in (X, X * factor))
    assert_close(raw(other, X * factor), raw(plain, X))
    if factor > 0:
        assert_same_splits(other, plain, threshold=lambda j, t: t / factor)


@of_invariant_method
@pairs("kind, gaps", ["squared_error", "binary"], [0.0, 0.1])
@pytest.mark.parametrize("low, high", [(0.0, 2.0), (3.0, 7.0)])
def test_codes_of_columns_with_two_values(kind, method, gaps, low, high):
    """Zeros and ones are summarized and stored in ways of their own."""
    rng = np.random.default_rng(5)
    X = (rng.random((600, 5)) < [0.03, 0.3, 0.5, 0.8, 0.97]).astype(float)
    score = np.where(X[:, 1] == 1, 2 * X[:, 3], X[:, 2]) + X[:, 4] - X[:, 0]
    y = score + 0.3 * rng.normal(size=600)
    y = (y > 1.2).astype(int) if kind == "binary" else y
    X[rng.random(X.shape) < gaps] = np.nan
    weight = rng.integers(1, 4, 600).astype(float)
    other = low + (high - low) * X
    expected, found = (make(kind, method).fit(table, y, weight) for table in (X, other))
    assert expected.get_n_leaves() > 1

    def zero_or_one(_, threshold):  # all values are below the threshold "is missing"
        return threshold if threshold > 100 else (threshold - low) / (high - low)

    assert_same_splits(found, expected, threshold=zero_or_one)
    assert_close(raw(found, other), raw(expected, X))


@of_kind
@few
@given(seed=seeds, exponent=st.integers(-9, 9), shift=st.sampled_from([0.0, 1e3, 1e6]))
def test_units_of_standardized_features_for_raw_gradients(kind, seed, exponent, shift):
    X, y = problem(kind, seed)
    scale = 10.0**exponent
    moved = (X + shift) * scale
    plain, other = (StandardScaler().fit_transform(table) for table in (X, moved))
    expected, found = make(kind, "MT-G").fit(plain, y), make(kind, "MT-G").fit(other, y)
    assert_same_splits(found, expected)
    assert_close(raw(found, other), raw(expected, plain))


def test_raw_gradients_do_depend_on_units():
    X, y = problem("squared_error", 0)
    scale = np.array([1e-6, 1e3, 1.0])
    plain, other = (make("squared_error", "MT-G").fit(table, y) for table in (X, X * scale))
    assert not np.allclose(other.predict(X * scale), plain.predict(X), rtol=1e-3)


@of_method
@pytest.mark.parametrize("kind", ["squared_error", "huber"])
@few
@given(
    seed=seeds,
    exponent=st.integers(-6, 6),
    shift=st.sampled_from([0.0, 10.0, -1e4]),
    sign=st.sampled_from([1.0, -1.0]),
)
def test_units_of_the_target(kind, method, seed, exponent, shift, sign):
    X, y = problem(kind, seed)
    scale = sign * 10.0**exponent
    plain, other = make(kind, method).fit(X, y), make(kind, method).fit(X, (y + shift) * scale)
    if kind == "squared_error" or sign > 0:  # weighted quantiles have no mirror image
        assert_same_splits(other, plain)
        assert_close(other.predict(X) / scale - shift, plain.predict(X))
        np.testing.assert_allclose(other.tree_.gain, plain.tree_.gain * scale**2, rtol=1e-6)
        np.testing.assert_allclose(other.tree_.loss, plain.tree_.loss * scale**2, rtol=1e-6)


@of_invariant_method
@pytest.mark.parametrize("kind", ["poisson", "gamma"])
@few
@given(seed=seeds, exponent=st.integers(-6, 6))
def test_units_of_a_target_with_a_log_link(kind, method, seed, exponent):
    X, y = problem("poisson", seed)
    y, scale = y + 0.37, 10.0**exponent  # amounts: counts have no unit but one
    plain = make(kind, method).fit(X, y)
    other = make(kind, method).fit(X, y * scale)
    assert_close(other.predict(X) / scale, plain.predict(X))
    assert_same_splits(other, plain)


# --- order ---------------------------------------------------------------------------------------


@of_pairs(shift=0)
@few
@given(seed=seeds)
def test_order_of_rows(kind, method, seed):
    X, y = problem(kind, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    plain, other = make(kind, method).fit(X, y), make(kind, method).fit(X[order], y[order])
    assert_same_splits(other, plain)
    assert_close(raw(other, X), raw(plain, X))


@of_pairs(shift=1)
@few
@given(seed=seeds, order=st.permutations(range(3)))
def test_order_of_columns(kind, method, seed, order):
    X, y = problem(kind, seed)
    plain, other = make(kind, method).fit(X, y), make(kind, method).fit(X[:, order], y)
    assert_same_splits(other, plain, feature=np.array(order))
    assert_close(raw(other, X[:, order]), raw(plain, X))
    assert_close(other.tree_.coef[..., :3], plain.tree_.coef[..., order])


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_bins", [255, 16])
@of_pairs(shift=2)
@settings(max_examples=2, deadline=None)
@given(seed=seeds)
def test_copies_of_rows_are_weights(kind, method, max_bins, seed):
    X, y = problem(kind, seed)
    times = np.random.default_rng(seed).integers(1, 4, size=len(y))
    given = {"max_bins": max_bins, "min_samples_leaf": 1, "max_depth": 1}
    by_weight = make(kind, method, **given).fit(X, y, sample_weight=times)
    by_copy = make(kind, method, **given).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_same_splits(by_weight, by_copy, counts=False)
    np.testing.assert_allclose(by_weight.tree_.weight, by_copy.tree_.weight)
    assert_close(raw(by_weight, X), raw(by_copy, X))


def test_copies_of_rows_are_weights_for_values_that_are_missing_only_later():
    X, y = problem("squared_error", 0)
    times = np.where(X[:, 0] > 0.2, 5, 1)  # fewer rows, but more weight, on the right
    given = {"min_samples_leaf": 1, "max_depth": 1}
    by_weight = make("squared_error", "default", **given).fit(X, y, sample_weight=times)
    by_copy = make("squared_error", "default", **given).fit(
        X.repeat(times, axis=0), y.repeat(times)
    )
    later = np.where([True, False, False], np.nan, X)
    assert_close(by_weight.predict(later), by_copy.predict(later))


@of_pairs(shift=3)
@few
@given(seed=seeds)
def test_rows_of_weight_zero_do_not_exist(kind, method, seed):
    X, y = problem(kind, seed)
    rng = np.random.default_rng(seed)
    weight = np.where(rng.random(len(y)) < 0.3, 0.0, rng.random(len(y)) + 0.5)
    X = np.where(weight[:, None] > 0, X, 1e3 * X)
    used = weight > 0
    weighted = make(kind, method).fit(X, y, sample_weight=weight)
    dropped = make(kind, method).fit(X[used], y[used], sample_weight=weight[used])
    assert weighted.tree_ == dropped.tree_


@of_method
@pytest.mark.parametrize("kind", ["squared_error", "huber"])
def test_a_common_factor_of_the_weights_fades_with_the_penalty(kind, method):
    X, y = problem(kind, 0)
    # A weight of 7 is 7 rows: these make a split, or a curve, more significant.
    given = {"significance": None, "curves": False}
    plain, scaled = (make(kind, method, **given | {"alpha": a}) for a in (1.0, 7.0))
    plain.fit(X, y)
    scaled.fit(X, y, sample_weight=np.full(len(y), 7.0))
    assert_same_splits(scaled, plain)
    assert_close(scaled.predict(X), plain.predict(X))


# --- names and bystanders ------------------------------------------------------------------------


@of_method
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@few
@given(seed=seeds, names=st.permutations(["ash", "oak", "yew"]))
def test_names_of_labels(kind, method, seed, names):
    X, y = problem(kind, seed)
    names = np.array(names[: y.max() + 1])
    plain, named = make(kind, method).fit(X, y), make(kind, method).fit(X, names[y])
    assert_same_splits(named, plain)
    np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])
    columns = np.searchsorted(named.classes_, names)
    assert_close(named.predict_proba(X)[:, columns], plain.predict_proba(X))


@of_pairs(shift=0)
@pytest.mark.parametrize(("value", "position"), [(0.0, 0), (1.0, 3), (-7.3, 0), (1e6, 3), (0.1, 1)])
def test_a_constant_column(kind, method, value, position):
    X, y = problem(kind, 1)
    if method == "MT-G":  # raw gradients see its value; standardized, a constant is 0
        value = 0.0
    wider = np.insert(X, position, value, axis=1)
    plain, other = make(kind, method).fit(X, y), make(kind, method).fit(wider, y)
    back = np.insert(np.arange(3), position, -9)
    assert_same_splits(other, plain, feature=back)
    assert (other.tree_.coef[..., position] == 0).all()
    assert_close(raw(other, wider), raw(plain, X))


@of_pairs(shift=4)
@few
@given(seed=seeds)
def test_number_of_threads(kind, method, seed):
    X, y = problem(kind, seed)
    with always_threads():
        one, two = (make(kind, method, max_depth=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert_same_splits(two, one)
    assert_close(raw(two, X), raw(one, X))


@pytest.mark.parametrize("kind", ["squared_error", "binary"])
def test_number_of_threads_on_many_rows(kind):
    X, y = problem(kind, 0, n_rows=40_000)
    one, two = (make(kind, "default", n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert_same_splits(two, one)
    assert_close(raw(two, X), raw(one, X))


@of_method
def test_fitting_twice_gives_the_same_tree(method):
    X, y = problem("multiclass", 3)
    assert make("multiclass", method).fit(X, y).tree_ == make("multiclass", method).fit(X, y).tree_
