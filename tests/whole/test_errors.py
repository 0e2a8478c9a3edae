"""Wrong input is an error that names what was wrong, what came and what is accepted."""

import warnings
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, paper_settings

ESTIMATORS = [ModelTreeRegressor, ModelTreeClassifier]
BOTH = pytest.mark.parametrize("kind", ESTIMATORS)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int)


# --- parameters ----------------------------------------------------------------------------------

WRONG_VALUES = {
    "criterion": ["gini", "", "gradient_raw"],
    "loss": ["mse", "absolute_error"],
    "alpha": [-1.0, np.nan, np.inf, -1e-300],
    "l1_ratio": [-0.1, 1.1, np.nan],
    "max_depth": [-1],
    "max_leaf_nodes": [0, -3],
    "min_samples_leaf": [0, -1, 0.0, 1.0, 1.5, -0.5, np.nan],
    "min_gain": [-1e-9, np.nan, np.inf],
    "max_bins": [1, 0, -5, 10**6],
    "n_jobs": [0],
    "verbose": [-1],
    "random_state": [-1],
    "categorical_features": [["no such column"], [3], [-4]],
    "split_features": [["no such column"], [3], [-4]],
    "leaf_features": [["no such column"], [3], [-4]],
}
WRONG_TYPES = {
    "criterion": [None, 3, object()],
    "loss": [None, 3, object()],
    "alpha": ["1", None, True, [1.0], 1j],
    "l1_ratio": ["0.5", None, True],
    "max_depth": ["3", 2.0, True, [3]],
    "max_leaf_nodes": ["3", 2.0, True],
    "min_samples_leaf": ["10", True, [10]],
    "min_gain": ["0", None, False],
    "max_bins": ["255", 255.0, None, True],
    "n_jobs": ["2", 1.0, True],
    "verbose": ["yes", None, [1], 1.7],
    "random_state": ["seed", 1.5],
    "weak_model": [3, "linear", object()],
    "categorical_features": ["x0", 3, 1.5, [1.5], [None], [True], [[0]], {0: 1}],
    "split_features": ["x0", 3, 1.5, [1.5], [None], [True], [[0]], {0: 1}],
    "leaf_features": ["x0", 3, 1.5, [1.5], [None], [True], [[0]], {0: 1}],
}


def cases(table):
    """Every value with one of the estimators, in turn."""
    given = [(name, value) for name, values in table.items() for value in values]
    return [
        pytest.param(kind, name, value, id=f"{name}={value!r:.30}".split(" at ")[0])
        for kind, (name, value) in zip(cycle(ESTIMATORS), given, strict=False)
    ]


@pytest.mark.parametrize(("kind", "name", "value"), cases(WRONG_VALUES))
def test_a_wrong_value_names_the_parameter(data, kind, name, value):
    with pytest.raises(ValueError, match=name):
        kind(**{name: value}).fit(*data)


@pytest.mark.parametrize(("kind", "name", "value"), cases(WRONG_TYPES))
def test_a_wrong_type_names_the_parameter(data, kind, name, value):
    # scikit-learn's own check of random_state raises ValueError for a wrong type.
    expected = (TypeError, ValueError) if name == "random_state" else TypeError
    with pytest.raises(expected, match=name):
        kind(**{name: value}).fit(*data)


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("alpha", -1.0, "a number >= 0"),
        ("l1_ratio", 2.0, "a number from 0 to 1"),
        ("max_depth", -1, "'auto', an integer >= 0, or None"),
        ("max_leaf_nodes", 0, "'auto', an integer >= 1, or None"),
        ("max_bins", 1, "an integer >= 2"),
        ("loss", "mse", "'squared_error', 'huber', 'poisson', 'gamma'"),
        ("criterion", "gini", "'gradient_standardized', 'gradient', 'impurity'"),
        ("min_samples_leaf", 0, "an integer >= 1"),
    ],
)
def test_the_message_says_what_came_and_what_is_accepted(data, name, value, accepted):
    with pytest.raises(ValueError) as caught:
        ModelTreeRegressor(**{name: value}).fit(*data)
    assert f"{name}={value!r}" in str(caught.value)
    assert accepted in str(caught.value)


@pytest.mark.parametrize("value", ["even", 3, {5: 1.0}, [1], [1, 2], [], {0: "a", 1: 1}])
def test_a_wrong_class_weight_names_the_parameter(data, value):
    with pytest.raises((ValueError, TypeError), match="class_weight"):
        ModelTreeClassifier(class_weight=value).fit(*data)


def test_names_of_columns_need_columns_with_names(data):
    with pytest.raises(ValueError, match="split_features.*no column names"):
        ModelTreeRegressor(split_features=["x0"]).fit(*data)


@BOTH
def test_parameters_are_keyword_only(kind):
    with pytest.raises(TypeError):
        kind("gradient")


def test_an_unknown_parameter_is_an_error():
    with pytest.raises(TypeError, match="depth"):
        ModelTreeRegressor(depth=3)


@pytest.mark.parametrize("method", ["MT", "mt-g", None, 3])
def test_an_unknown_paper_method_is_an_error(method):
    with pytest.raises((ValueError, TypeError), match="MT-GR"):
        paper_settings(method)


@BOTH
@pytest.mark.parametrize("extra", [{}, {"split_features": [0], "categorical_features": [1]}])
def test_fit_does_not_change_parameters(data, kind, extra):
    model = kind(**extra)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(*data)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


# --- the target ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@BOTH
def test_a_target_that_is_not_finite(data, kind, value):
    X, y = data
    y = y.astype(float)
    y[3] = value
    with pytest.raises(ValueError, match=r"\by\b.*(NaN|infinity)"):
        kind().fit(X, y)


@pytest.mark.parametrize(
    ("loss", "value", "accepted"),
    [("poisson", -1.0, "y >= 0"), ("gamma", 0.0, "y > 0"), ("gamma", -2.0, "y > 0")],
)
def test_a_target_out_of_the_range_of_the_loss(data, loss, value, accepted):
    X, _ = data
    y = np.ones(60)
    y[7] = value
    with pytest.raises(ValueError) as caught:
        ModelTreeRegressor(loss=loss).fit(X, y)
    for part in (f"loss={loss!r}", accepted, "y[7]"):
        assert part in str(caught.value)


def test_counts_that_are_all_zero(data):
    with pytest.raises(ValueError, match="poisson"):
        ModelTreeRegressor(loss="poisson").fit(data[0], np.zeros(60))


def test_counts_of_positive_weight_that_are_all_zero(data):
    y = np.zeros(60)
    y[:5] = 2.0
    with pytest.raises(ValueError, match="poisson"):
        ModelTreeRegressor(loss="poisson").fit(data[0], y, sample_weight=y == 0)


@pytest.mark.parametrize("label", [0, "yes", True])
def test_one_class_only(data, label):
    with pytest.raises(ValueError, match="one class"):
        ModelTreeClassifier().fit(data[0], np.array([label] * 60))


def test_one_class_of_positive_weight_only(data):
    X, y = data
    with pytest.raises(ValueError, match="one class"):
        ModelTreeClassifier().fit(X, y, sample_weight=y)


@pytest.mark.parametrize("value", [None, np.nan], ids=str)
def test_a_missing_label(data, value):
    X, y = data
    labels = np.array(["no", "yes"], dtype=object)[y]
    labels[3] = value
    with pytest.raises((ValueError, TypeError), match=r"\by\b|label"):
        ModelTreeClassifier().fit(X, labels)


def test_a_continuous_target_is_not_one_of_classes(data, rng):
    with pytest.raises(ValueError, match="continuous"):
        ModelTreeClassifier().fit(data[0], rng.normal(size=60))


def test_text_is_not_a_target_of_regression(data):
    with pytest.raises(ValueError, match=r"\by\b|string"):
        ModelTreeRegressor().fit(data[0], np.array(["a", "b"] * 30))


@BOTH
@pytest.mark.parametrize("n_targets", [2, 3])
def test_several_targets(data, kind, n_targets):
    X, y = data
    with pytest.raises(ValueError, match=r"\by\b"):
        kind().fit(X, np.column_stack([y] * n_targets))


def test_several_targets_of_regression_say_what_to_do(data):
    X, y = data
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        ModelTreeRegressor().fit(X, np.column_stack([y, y]))


@BOTH
def test_no_target(data, kind):
    with pytest.raises(ValueError, match=r"\by\b"):
        kind().fit(data[0], None)


@BOTH
@pytest.mark.parametrize("make", [np.asarray, lambda X: pd.DataFrame(X, columns=list("abc"))])
def test_lengths_that_differ(data, kind, make):
    X, y = data
    with pytest.raises(ValueError, match=r"60.*59|59.*60"):
        kind().fit(make(X), y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        kind().fit(make(X), y, sample_weight=np.ones(59))


# --- weights -------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_weight_that_is_negative_or_not_finite(data, kind, value):
    weight = np.ones(60)
    weight[5] = value
    with pytest.raises(ValueError, match="(?i)sample.?weight"):
        kind().fit(*data, sample_weight=weight)


@BOTH
def test_weights_that_are_all_zero(data, kind):
    with pytest.raises(ValueError, match="(?i)sample.?weight.*zero"):
        kind().fit(*data, sample_weight=np.zeros(60))


@BOTH
def test_weights_of_two_dimensions(data, kind):
    with pytest.raises(ValueError, match="(?i)sample.?weight"):
        kind().fit(*data, sample_weight=np.ones((60, 2)))


def test_class_weights_that_leave_nothing(data):
    with pytest.raises(ValueError, match="class"):
        ModelTreeClassifier(class_weight={0: 0, 1: 0}).fit(*data)


@pytest.mark.parametrize("value", [-1.0, np.nan])
def test_class_weights_that_are_negative_or_not_a_number(data, value):
    with pytest.raises(ValueError, match="class_weight"):
        ModelTreeClassifier(class_weight={0: value, 1: 1.0}).fit(*data)


# --- state ---------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("method", ["predict", "apply", "decision_path"])
def test_before_fit(data, kind, method):
    with pytest.raises(NotFittedError):
        getattr(kind(), method)(data[0])


@BOTH
@pytest.mark.parametrize("method", ["get_depth", "get_n_leaves"])
def test_questions_before_fit(kind, method):
    with pytest.raises(NotFittedError):
        getattr(kind(), method)()


FAILURES = {
    "parameter": {"alpha": -1.0},
    "loss": {"loss": "mse"},
    "column": {"split_features": [99]},
}


@BOTH
@pytest.mark.parametrize("wrong", FAILURES.values(), ids=FAILURES)
def test_a_refit_that_fails_leaves_a_model_that_predicts_as_before(data, kind, wrong):
    X, y = data
    model = kind().fit(X, y)
    expected = model.predict(X)
    with pytest.raises(ValueError):
        clone(model).set_params(**wrong).fit(X, y)
    with pytest.raises(ValueError):
        model.set_params(**wrong).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_a_refit_that_fails_keeps_link_and_labels(data):
    X, y = data
    regressor = ModelTreeRegressor().fit(X, y)
    expected = regressor.predict(X)
    with pytest.raises(ValueError, match="poisson"):
        regressor.set_params(loss="poisson").fit(X, y - 5)
    np.testing.assert_array_equal(regressor.predict(X), expected)
    classifier = ModelTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        classifier.set_params(alpha=-1.0).fit(X, np.array(["no", "yes"])[y])
    assert set(classifier.predict(X)) == {0, 1}


@BOTH
def test_a_refit_that_fails_on_fewer_columns_leaves_no_model_for_them(data, kind):
    X, y = data
    model = kind().fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        model.set_params(alpha=-1.0).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="2 features"):  # the tree still has 3
        model.predict(X[:, :2])


# --- what a hostile or unlucky user passes -------------------------------------------------------


def test_masked_cells_are_missing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y, mask = X[:, 0].copy(), rng.random((200, 2)) < 0.1
    masked = ModelTreeRegressor().fit(np.ma.array(X, mask=mask), y)
    missing = ModelTreeRegressor().fit(np.where(mask, np.nan, X), y)
    assert masked.tree_ == missing.tree_


@pytest.mark.parametrize("what", ["X", "y"])
def test_arrays_of_dates_are_refused(what):
    dates, numbers = np.arange(50).astype("M8[D]"), np.arange(50.0)
    X, y = (dates[:, None], numbers) if what == "X" else (numbers[:, None], dates)
    with pytest.raises(TypeError, match=rf"{what} has the type datetime64"):
        ModelTreeRegressor().fit(X, y)


def test_numbers_where_there_was_text_are_an_error():
    X = pd.DataFrame({"a": ["x", "y"] * 50, "b": np.arange(100.0)})
    model = ModelTreeRegressor().fit(X, X["b"])
    with pytest.raises(ValueError, match="'a' held text.*1.5 now"):
        model.predict(X.assign(a=1.5))


@pytest.mark.parametrize(
    ("weight", "message"),
    [(2.0, "1D"), (["a"] * 100, "sample_weight"), (np.full(100, 1e200), "sample_weight")],
)
def test_weights_that_are_none_name_sample_weight(weight, message):
    X = np.arange(100.0)[:, None]
    with pytest.raises((TypeError, ValueError), match=message):
        ModelTreeRegressor().fit(X, X[:, 0], sample_weight=weight)


def test_a_target_that_would_overflow_is_an_error():
    X = np.arange(100.0)[:, None]
    with pytest.raises(ValueError, match="y contains 9.9e\\+156"):
        ModelTreeRegressor().fit(X, X[:, 0] * 1e155)


def test_labels_that_cannot_be_sorted_name_y():
    X = np.arange(100.0)[:, None]
    with pytest.raises(TypeError, match="y mixes labels.*int, str"):
        ModelTreeClassifier().fit(X, np.array([1, "x"] * 50, dtype=object))


def test_a_huge_cell_does_not_remove_its_column():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[0, 0] = 1e200
    model = ModelTreeRegressor(max_depth=0).fit(X, X[:, 1])
    assert np.isfinite(model.tree_.coef).all()
    assert model.score(X, X[:, 1]) > 0.99


@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
@pytest.mark.parametrize("value", [1e306, -1.7e308])
def test_a_column_whose_sums_would_overflow_is_named(kind, value):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a", "b"])
    X.loc[7, "b"] = value
    with pytest.raises(ValueError, match="Column 'b' contains .*e\\+30[68]; sums"):
        kind().fit(X, X["a"] > 0)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("scale", [1e-308, 1e-309, 1e-320])
def test_a_column_of_numbers_too_small_to_divide_by_is_constant(n_classes, scale):
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[:, 2] *= scale
    y = X[:, 0] if not n_classes else np.digitize(X[:, 0], np.linspace(-0.5, 0.5, n_classes - 1))
    kind = ModelTreeClassifier if n_classes else ModelTreeRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind().fit(X, y)
    assert np.isfinite(model.tree_.coef).all()
    assert model.score(X, y) > 0.9


def test_a_class_of_hardly_any_weight_leaves_the_model_finite():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    model = ModelTreeClassifier().fit(X, y, np.where(y == 1, 1e-200, 1e130))
    assert np.isfinite(model.predict_proba(X)).all()


def test_extreme_class_weights_leave_the_model_finite():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = ModelTreeClassifier(class_weight={0: 1, 1: 1e16}).fit(X, X[:, 0] > 0)
    assert np.isfinite(model.tree_.intercept).all()


def test_one_row_that_is_no_table_says_how_to_make_it_one():
    table = pd.DataFrame({"a": ["x", "y"] * 50, "b": np.arange(100.0)})
    model = ModelTreeRegressor().fit(table, table["b"])
    for row, kind in ((table.iloc[0], "Series"), (table.iloc[0].to_dict(), "dict")):
        with pytest.raises(
            ValueError, match=rf"X is a {kind}, and a table is needed.*iloc\[\[0\]\]"
        ):
            model.predict(row)


def test_weights_that_sum_to_one_are_a_warning(rng):
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])
    with pytest.warns(UserWarning, match="2,000 rows sum to 1.*mean of 1"):
        ModelTreeRegressor().fit(X, y, sample_weight=np.full(2000, 1 / 2000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ModelTreeRegressor().fit(X, y, sample_weight=np.full(2000, 0.1))
