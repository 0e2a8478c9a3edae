"""Any table in: the same data gives the same tree, whatever it comes in."""

import datetime
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.tables import table

NAMES = ["a", "b", "c", "d"]


def fit(X, y, **parameters):
    return ModelTreeRegressor(**{"max_depth": 2, **parameters}).fit(X, y)


def assert_same(found, expected, X, X_expected):
    """Same arrays, names of columns apart, and same predictions."""
    for name in ("feature", "threshold", "left", "right", "missing_left", "unknown_left",
                 "coef", "intercept", "n_samples", "gain", "loss", "categories"):  # fmt: skip
        np.testing.assert_array_equal(
            getattr(found.tree_, name), getattr(expected.tree_, name), err_msg=name
        )
    np.testing.assert_array_equal(found.predict(X), expected.predict(X_expected))
    np.testing.assert_array_equal(found.apply(X), expected.apply(X_expected))


# --- numbers -------------------------------------------------------------------------------------


def strided(X):
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    return wide[::2, ::2]


def read_only(X):
    copy = X.copy()
    copy.flags.writeable = False
    return copy


def frame(X):
    return pd.DataFrame(X, columns=NAMES)


NUMBERS = {
    "float32": lambda X: X.astype(np.float32),
    "object array": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "read-only": read_only,
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big endian": lambda X: X.astype(">f8"),
    "pandas": frame,
    "pandas float32": lambda X: frame(X).astype(np.float32),
    "pandas Float64": lambda X: frame(X).astype("Float64"),
    "pandas pyarrow": lambda X: frame(X).astype("double[pyarrow]"),
    "pandas object": lambda X: frame(X).astype(object),
    "pandas mixed": lambda X: frame(X).astype({"a": "Float64", "b": "float[pyarrow]"}),
    "pandas other index": lambda X: frame(X).set_index(np.arange(len(X))[::-1] % 7),
    "polars": lambda X: pl.DataFrame(frame(X)),
    "polars float32": lambda X: pl.DataFrame(frame(X)).cast(pl.Float32),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "pyarrow chunked": lambda X: pa.concat_tables(
        [pa.table(dict(zip(NAMES, part.T, strict=True))) for part in np.array_split(X, 3)]
    ),
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
}


@pytest.mark.parametrize("make", NUMBERS.values(), ids=NUMBERS)
def test_the_container_of_numbers_does_not_matter(regression, make):
    X, y = regression
    table = make(X)
    assert_same(fit(table, y), fit(X, y), table, X)


INTEGERS = {
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "pandas int": lambda X: frame(X).astype(int),
    "pandas Int64": lambda X: frame(X).astype("Int64"),
    "pandas pyarrow": lambda X: frame(X).astype("int32[pyarrow]"),
    "polars Int16": lambda X: pl.DataFrame(frame(X)).cast(pl.Int16),
    "pyarrow int": lambda X: pa.table(dict(zip(NAMES, X.T.astype(int), strict=True))),
    "csr int": lambda X: sparse.csr_array(X.astype(np.int64)),
}


@pytest.mark.parametrize("make", INTEGERS.values(), ids=INTEGERS)
def test_integers_are_numbers(regression, make):
    X, y = regression
    X = np.round(X * 4)
    assert_same(fit(make(X), y), fit(X, y), make(X), X)


BOOLS = {
    "numpy": lambda X: X,
    "pandas": frame,
    "pandas boolean": lambda X: frame(X).astype("boolean"),
    "pandas pyarrow": lambda X: frame(X).astype("bool[pyarrow]"),
    "pandas object": lambda X: frame(X).astype(object),
    "polars": lambda X: pl.DataFrame(frame(X)),
    "pyarrow": lambda X: pa.Table.from_pandas(frame(X)),
}


@pytest.mark.parametrize("make", BOOLS.values(), ids=BOOLS)
def test_bools_are_zero_and_one(regression, make):
    X, y = regression
    X = X > 0
    assert_same(fit(make(X), y), fit(X.astype(float), y), make(X), X.astype(float))


def test_sparse_zeros_that_are_stored_are_zeros(regression, rng):
    X, y = regression
    X = np.where(rng.random(X.shape) < 0.7, 0.0, X)
    stored = sparse.csr_array(X)
    stored.data[::5] = 0.0
    X = stored.toarray()
    assert_same(fit(stored, y), fit(X, y), stored, X)


def test_mostly_zero_columns_in_a_sparse_matrix(rng):
    X = np.where(rng.random((400, 6)) < 0.95, 0.0, rng.integers(1, 4, (400, 6)))
    X[:, 0] = rng.normal(size=400)
    y = np.where(X[:, 1] > 0, X[:, 0], -X[:, 0]) + X[:, 2]
    table = sparse.csc_array(X)
    assert_same(fit(table, y), fit(X, y), table, X)


@pytest.mark.parametrize(
    "container", [pd.Series, pl.Series, list, lambda y: pd.Series(y, dtype="Float64")]
)
def test_the_container_of_the_target_does_not_matter(regression, container):
    X, y = regression
    assert fit(X, container(y)).tree_ == fit(X, y).tree_


@pytest.mark.parametrize("container", [pd.Series, pl.Series, list, lambda w: w.astype(np.float32)])
def test_the_container_of_the_weights_does_not_matter(regression, container):
    X, y = regression
    weight = np.where(X[:, 0] > 0, 2.0, 0.5)
    found = ModelTreeRegressor().fit(X, y, sample_weight=container(weight))
    assert found.tree_ == ModelTreeRegressor().fit(X, y, sample_weight=weight).tree_


@pytest.mark.parametrize("kind", [pa.table, pl.DataFrame, pd.DataFrame])
def test_columns_of_equal_content_are_not_duplicates(regression, kind):
    X, y = regression
    table = kind({"a": X[:, 0], "b": X[:, 1], "copy": X[:, 0]})
    assert [column.name for column in fit(table, y).tree_.columns] == ["a", "b", "copy"]


# --- missing numbers -----------------------------------------------------------------------------


@pytest.fixture
def with_gaps(regression, rng):
    X, y = regression
    X = X.copy()
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


GAPS = {
    "float32": lambda X: X.astype(np.float32),
    "strided": strided,
    "list": lambda X: X.tolist(),
    "pandas": frame,
    "pandas Float64": lambda X: frame(X).astype("Float64"),
    "pandas pyarrow": lambda X: frame(X).astype("double[pyarrow]"),
    "pandas object of None": lambda X: frame(X).astype(object).where(~np.isnan(X), None),
    "polars null": lambda X: pl.DataFrame(frame(X), nan_to_null=True),
    "polars nan": lambda X: pl.DataFrame(dict(zip(NAMES, X.T, strict=True))),
    "pyarrow null": lambda X: pa.Table.from_pandas(frame(X)),
    "pyarrow nan": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "csr": sparse.csr_array,
}


@pytest.mark.parametrize("make", GAPS.values(), ids=GAPS)
def test_the_container_of_missing_numbers_does_not_matter(with_gaps, make):
    X, y = with_gaps
    assert_same(fit(make(X), y), fit(X, y), make(X), X)


NULLABLE = {
    "pandas Int64": lambda X: frame(X).astype("Int64"),
    "pandas pyarrow": lambda X: frame(X).astype("Int64").astype("int64[pyarrow]"),
    "polars": lambda X: pl.DataFrame(frame(X), nan_to_null=True).cast(pl.Int64),
    "pyarrow": lambda X: pa.Table.from_pandas(frame(X).astype("Int64")),
}


@pytest.mark.parametrize("make", NULLABLE.values(), ids=NULLABLE)
def test_missing_integers(with_gaps, make):
    X, y = with_gaps
    X = np.round(X * 4)
    assert_same(fit(make(X), y), fit(X, y), make(X), X)


NULLABLE_BOOLS = {
    "pandas boolean": lambda X: frame(X).astype("boolean"),
    "pandas object": lambda X: frame(X).astype("boolean").astype(object),
    "polars": lambda X: pl.DataFrame(frame(X), nan_to_null=True).cast(pl.Boolean),
    "pyarrow": lambda X: pa.Table.from_pandas(frame(X).astype("boolean")),
}


@pytest.mark.parametrize("make", NULLABLE_BOOLS.values(), ids=NULLABLE_BOOLS)
def test_missing_bools(with_gaps, make):
    X, y = with_gaps
    X = np.where(np.isnan(X), np.nan, X > 0)
    assert_same(fit(make(X), y), fit(X, y), make(X), X)


def test_a_missing_number_is_the_mean_and_an_indicator_in_the_leaf(rng):
    X = rng.normal(size=(500, 2)) + 5.0
    y = 2 * X[:, 0] + X[:, 1]
    gone = rng.random(500) < 0.3
    X[gone, 0] = np.nan
    y[gone] = 30.0 + X[gone, 1]
    model = fit(X, y, max_depth=0, alpha=1e-8)
    tree = model.tree_
    assert tree.term_names == ["x0", "x1", "x0 is missing"]
    assert tree.terms.fill[0] == pytest.approx(np.nanmean(X[:, 0]), rel=1e-12)
    np.testing.assert_allclose(tree.coef[0][:2], [2.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(tree.coef[0][2], 30.0 - 2 * np.nanmean(X[:, 0]), rtol=1e-6)
    assert model.score(X, y) > 1 - 1e-9


def test_the_mean_that_imputes_is_weighted(rng):
    X = rng.normal(size=(100, 1))
    X[::3] = np.nan
    weight = rng.random(100) + 0.1
    model = ModelTreeRegressor(max_depth=0).fit(X, rng.normal(size=100), sample_weight=weight)
    present = ~np.isnan(X[:, 0])
    expected = np.average(X[present, 0], weights=weight[present])
    assert model.tree_.terms.fill[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("side", ["left", "right"])
def test_missing_values_learn_the_side_they_belong_to(rng, side):
    X = rng.normal(size=(1000, 2))
    like_left = X[:, 0] < 0
    y = np.where(like_left, 3 * X[:, 1], -3 * X[:, 1])
    gone = (rng.random(1000) < 0.3) & (like_left == (side == "left"))
    X[gone, 0] = np.nan
    model = fit(X, y, max_depth=1)
    assert model.tree_.feature[0] == 0
    assert bool(model.tree_.missing_left[0]) == (side == "left")
    assert abs(model.tree_.threshold[0]) < 0.1
    assert model.score(X, y) > 0.99


def test_missing_or_not_can_be_the_split(rng):
    X = rng.normal(size=(1000, 2))
    gone = rng.random(1000) < 0.4
    y = np.where(gone, 3 * X[:, 1], -3 * X[:, 1])
    X[gone, 0] = np.nan
    model = fit(X, y, max_depth=1)
    tree = model.tree_
    assert tree.feature[0] == 0
    assert model.score(X, y) > 0.99
    assert len(set(model.apply(X)[gone])) == len(set(model.apply(X)[~gone])) == 1


def test_a_missing_value_where_training_had_none_goes_with_the_larger_side(regression):
    X, y = regression
    model = fit(X, y, max_depth=1, curves=False)
    tree = model.tree_
    root = int(tree.feature[0])
    row = X[:1].copy()
    row[0, root] = np.nan
    sides = [int(tree.left[0]), int(tree.right[0])]
    larger = max(sides, key=lambda node: tree.n_samples[node])
    assert model.apply(row)[0] == larger
    row[0, root] = X[:, root].mean()
    by_hand = tree.intercept[larger] + tree.coef[larger] @ row[0]
    row[0, root] = np.nan
    assert model.predict(row)[0] == pytest.approx(by_hand, rel=1e-12)


def test_a_missing_value_in_a_column_that_takes_no_part_changes_nothing(regression):
    X, y = regression
    model = fit(X, y, split_features=[0, 1], leaf_features=[0, 1])
    gaps = X.copy()
    gaps[:, 2:] = np.nan
    np.testing.assert_array_equal(model.predict(gaps), model.predict(X))


@pytest.mark.parametrize(
    "make", [np.asarray, frame, lambda X: pl.DataFrame(frame(X), nan_to_null=True)]
)
def test_a_column_of_nothing_but_missing_values_changes_nothing(regression, make):
    X, y = regression
    empty = X.copy()
    empty[:, 3] = np.nan
    model, without = fit(make(empty), y), fit(X[:, :3], y)
    np.testing.assert_allclose(model.predict(make(empty)), without.predict(X[:, :3]), rtol=1e-9)


# --- categories ----------------------------------------------------------------------------------

LETTERS = np.array(["north", "south", "east", "west"])


@pytest.fixture
def letters(rng):
    """A category whose slope of ``x`` is special for "south"."""
    codes = rng.integers(0, 4, 400)
    x = rng.normal(size=400)
    y = np.where(codes == 1, 4 * x, -x) + codes + rng.normal(scale=0.1, size=400)
    return x, LETTERS[codes], y


TEXT = {
    "pandas category": lambda x, t: pd.DataFrame({"x": x, "t": pd.Categorical(t)}),
    "pandas ordered category": lambda x, t: pd.DataFrame(
        {"x": x, "t": pd.Categorical(t, categories=[*LETTERS, "nowhere"], ordered=True)}
    ),
    "pandas unused category": lambda x, t: pd.DataFrame(
        {"x": x, "t": pd.Categorical(t, categories=[*LETTERS[::-1], "nowhere"])}
    ),
    "pandas object": lambda x, t: pd.DataFrame({"x": x, "t": np.asarray(t, dtype=object)}),
    "pandas string": lambda x, t: pd.DataFrame({"x": x, "t": pd.Series(t, dtype="string")}),
    "pandas string[pyarrow]": lambda x, t: pd.DataFrame(
        {"x": x, "t": pd.Series(t, dtype=pd.ArrowDtype(pa.string()))}
    ),
    "pandas dictionary[pyarrow]": lambda x, t: pd.DataFrame(
        {
            "x": x,
            "t": pd.Series(t, dtype=pd.ArrowDtype(pa.string())).astype(
                pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
            ),
        }
    ),
    "polars String": lambda x, t: pl.DataFrame({"x": x, "t": pl.Series(t, dtype=pl.String)}),
    "polars Categorical": lambda x, t: pl.DataFrame(
        {"x": x, "t": pl.Series(t, dtype=pl.String).cast(pl.Categorical)}
    ),
    "polars Enum": lambda x, t: pl.DataFrame(
        {"x": x, "t": pl.Series(t, dtype=pl.String).cast(pl.Enum([*LETTERS[::-1], "nowhere"]))}
    ),
    "pyarrow string": lambda x, t: pa.table({"x": x, "t": pa.array(t, pa.string())}),
    "pyarrow large string": lambda x, t: pa.table({"x": x, "t": pa.array(t, pa.large_string())}),
    "pyarrow dictionary": lambda x, t: pa.table(
        {"x": x, "t": pa.array(t, pa.string()).dictionary_encode()}
    ),
    "object array": lambda x, t: np.array(list(zip(x, t, strict=True)), dtype=object),
}


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("make", TEXT.values(), ids=TEXT)
def test_the_container_of_text_does_not_matter(letters, make, gaps):
    x, text, y = letters
    text = [None if gaps and row % 6 == 0 else str(value) for row, value in enumerate(text)]
    reference = pd.DataFrame({"x": x, "t": pd.Categorical(text)})
    table = make(x, text)
    found, expected = fit(table, y), fit(reference, y)
    assert found.tree_.columns[1].categories == tuple(sorted(LETTERS))
    assert_same(found, expected, table, reference)


@pytest.mark.parametrize("make", TEXT.values(), ids=TEXT)
def test_a_model_of_one_container_predicts_for_any_other(letters, make):
    x, text, y = letters
    reference = pd.DataFrame({"x": x, "t": text})
    model = ModelTreeRegressor().fit(reference, y)
    table = make(x, [str(value) for value in text])
    if isinstance(table, np.ndarray):
        table = pd.DataFrame(table, columns=["x", "t"])
    np.testing.assert_array_equal(model.predict(table), model.predict(reference))


def test_a_split_on_a_category_is_one_against_the_rest(letters):
    x, text, y = letters
    model = fit(pd.DataFrame({"x": x, "t": text}), y, max_depth=1)
    tree = model.tree_
    assert tree.feature[0] == 1
    assert np.isnan(tree.threshold[0])
    np.testing.assert_array_equal(tree.left_categories(0), np.array(sorted(LETTERS)) == "south")
    assert tree.n_samples[tree.left[0]] == (text == "south").sum()
    assert model.score(pd.DataFrame({"x": x, "t": text}), y) > 0.99


@pytest.mark.parametrize("make", TEXT.values(), ids=TEXT)
def test_an_unknown_category_goes_with_the_rest_and_adds_nothing(letters, make):
    x, text, y = letters
    known = pd.DataFrame({"x": x, "t": text})
    model = fit(known, y, max_depth=1)
    tree = model.tree_
    rows = make(np.array([0.5, -2.0]), ["nowhere", "nowhere"])
    if isinstance(rows, np.ndarray):
        rows = pd.DataFrame(rows, columns=["x", "t"])
    rest = int(tree.right[0])
    assert not tree.unknown_left[0]
    assert model.apply(rows).tolist() == [rest, rest]
    expected = tree.intercept[rest] + tree.coef[rest][0] * np.array([0.5, -2.0])
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-12)


def test_a_missing_category_is_a_category_of_its_own(letters, rng):
    x, text, _ = letters
    text = text.astype(object)
    text[rng.random(400) < 0.3] = None
    gone = np.array([value is None for value in text])
    y = np.where(gone, 4 * x, -x)
    table = pd.DataFrame({"x": x, "t": text})
    model = fit(table, y, max_depth=1)
    tree = model.tree_
    assert tree.feature[0] == 1
    assert (tree.left_categories(0) != tree.missing_left[0]).all()
    assert tree.term_names[-1] == "t is missing"
    assert model.score(table, y) > 0.99


def test_a_category_missing_only_at_predict_time_goes_with_the_rest_and_adds_nothing(letters):
    x, text, y = letters
    model = fit(pd.DataFrame({"x": x, "t": text}), y, max_depth=1)
    tree, rest = model.tree_, int(model.tree_.right[0])
    row = pd.DataFrame({"x": [0.5], "t": pd.Series([None], dtype=object)})
    assert model.apply(row)[0] == rest
    expected = tree.intercept[rest] + 0.5 * tree.coef[rest][0]
    assert model.predict(row)[0] == pytest.approx(expected, rel=1e-12)


def test_category_leaf_equals_the_one_hot_model(letters):
    x, text, y = letters
    by_code = fit(pd.DataFrame({"x": x, "t": text}), y, max_depth=0)
    one_hot = np.column_stack([x, *(text == value for value in sorted(LETTERS))]).astype(float)
    dense = fit(one_hot, y, max_depth=0)
    np.testing.assert_allclose(by_code.tree_.coef, dense.tree_.coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        by_code.predict(pd.DataFrame({"x": x, "t": text})), dense.predict(one_hot), rtol=1e-9
    )


@pytest.mark.parametrize("chosen", [["b"], [1], [-1], [False, True], np.array([False, True])])
def test_numbers_can_be_categories_by_name_position_or_mask(rng, chosen):
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 4, 400) * 10])
    y = np.where(X[:, 1] == 10, 4 * X[:, 0], -X[:, 0])
    table = pd.DataFrame(X, columns=["a", "b"])
    model = fit(table, y, max_depth=1, categorical_features=chosen)
    tree = model.tree_
    assert tree.columns[1].categories == (0, 10, 20, 30)
    np.testing.assert_array_equal(tree.left_categories(0), [False, True, False, False])
    assert model.score(table, y) > 0.99
    assert tree.term_names == ["a", "b = 0", "b = 10", "b = 20", "b = 30"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda X: X.astype(int)])
def test_numbers_can_be_categories_in_arrays(rng, make):
    X = np.column_stack([rng.integers(-3, 4, 400), rng.integers(0, 4, 400)]).astype(float)
    y = np.where(X[:, 1] == 2, 4 * X[:, 0], -X[:, 0])
    model = fit(make(X), y, max_depth=1, categorical_features=[1], leaf_features=[0])
    assert model.tree_.feature[0] == 1
    sides = model.tree_.left_categories(0)
    np.testing.assert_array_equal(sides == sides[2], [False, False, True, False])
    unknown, rest = make(np.array([[1.0, 7.0]])), make(np.array([[1.0, 0.0]]))
    assert model.apply(unknown)[0] == model.apply(rest)[0]


def test_categories_of_numbers_in_a_pandas_category(rng):
    X = pd.DataFrame({"a": rng.normal(size=400), "b": pd.Categorical(rng.integers(0, 4, 400))})
    y = np.where(X["b"] == 2, 4 * X["a"], -X["a"])
    assert fit(X, y, max_depth=1).tree_.columns[1].categories == (0, 1, 2, 3)
    assert fit(X, y, max_depth=1).score(X, y) > 0.99


def test_classifier_takes_text_too(letters):
    x, text, y = letters
    table = pl.DataFrame({"x": x, "t": text})
    labels = np.where(y > 1, "high", "low")
    assert ModelTreeClassifier(max_depth=1).fit(table, labels).score(table, labels) > 0.9


# --- names and errors ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_names_of_columns_are_remembered(regression, kind):
    X, y = regression
    model = fit(NUMBERS[kind](X), y)
    assert list(model.feature_names_in_) == NAMES
    assert [column.name for column in model.tree_.columns] == NAMES


def change(table, how):
    if how == "renamed":
        return table.rename(columns={"c": "sea"})
    if how == "missing":
        return table.drop(columns="c")
    if how == "extra":
        return table.assign(sea=1.0)
    return table[["c", "a", "b", "d"]]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("how", "named"), [("renamed", "sea"), ("missing", "c"), ("extra", "sea"), ("moved", "order")]
)
@pytest.mark.parametrize("method", ["predict", "apply"])
def test_wrong_columns_are_an_error_that_names_them(regression, kind, how, named, method):
    X, y = regression
    convert = {"pandas": lambda X: X, "polars": pl.DataFrame, "pyarrow": pa.Table.from_pandas}[kind]
    model = fit(convert(frame(X)), y)
    with pytest.raises(ValueError, match=rf"\b{named}\b"):
        getattr(model, method)(convert(change(frame(X), how)))


def test_reordered_columns_are_an_error_that_names_one_of_them(regression):
    X, y = regression
    model = fit(frame(X), y)
    with pytest.raises(ValueError, match=r"\bc\b"):
        model.predict(change(frame(X), "moved"))


def test_wrong_number_of_columns_in_an_array(regression):
    X, y = regression
    with pytest.raises(ValueError, match="3 features.*4 features"):
        fit(X, y).predict(X[:, :3])


def test_duplicate_names_are_an_error_that_names_them(regression):
    X, y = regression
    with pytest.raises(ValueError, match="twin"):
        fit(pd.DataFrame(X, columns=["a", "twin", "twin", "d"]), y)


def test_duplicate_names_in_pyarrow_are_an_error_that_names_them(regression):
    X, y = regression
    table = pa.Table.from_arrays([pa.array(x) for x in X.T], names=["a", "twin", "twin", "d"])
    with pytest.raises(ValueError, match="twin"):
        fit(table, y)


DURATIONS = {
    "pandas": lambda long: pd.DataFrame({"x": 1.0, "long": pd.to_timedelta(long)}),
    "polars": lambda long: pl.DataFrame({"x": np.ones(len(long)), "long": long}),
    "pyarrow": lambda long: pa.table({"x": np.ones(len(long)), "long": long}),
}


@pytest.mark.parametrize("make", DURATIONS.values(), ids=DURATIONS)
def test_a_duration_is_an_error_that_names_the_column(make):
    long = [datetime.timedelta(days=k) for k in range(30)]
    with pytest.raises(TypeError, match="'long'"):
        fit(make(long), np.arange(30.0))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "pandas Float64", "pandas object"])
def test_infinity_is_an_error_that_names_the_column(regression, kind, value):
    X, y = regression
    bad = X.copy()
    bad[7, 2] = value
    with pytest.raises(ValueError, match=r"'c'.*infinity"):
        fit(NUMBERS[kind](bad), y)
    with pytest.raises(ValueError, match=r"'c'.*infinity"):
        fit(NUMBERS[kind](X), y).predict(NUMBERS[kind](bad))


def test_infinity_in_an_array_is_an_error(regression):
    X, y = regression
    bad = X.copy()
    bad[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fit(bad, y)


@pytest.mark.parametrize("chosen", [None, ["x"], [0], []])
def test_text_that_is_not_categorical_is_an_error_that_names_the_column(letters, chosen):
    x, text, y = letters
    with pytest.raises(ValueError, match=r"'t'.*categorical_features"):
        fit(pd.DataFrame({"x": x, "t": text}), y, categorical_features=chosen)


def test_text_where_training_had_numbers_is_an_error_that_names_the_column(letters):
    x, text, y = letters
    model = fit(pd.DataFrame({"x": x, "t": x + 1}), y)
    with pytest.raises(ValueError, match="'t'"):
        model.predict(pd.DataFrame({"x": x, "t": text}))


def test_an_object_that_is_no_value_is_an_error_that_names_column_and_row(letters):
    x, text, y = letters
    mixed = list(text)
    mixed[5] = {"a": "dict"}
    table = pd.DataFrame({"x": x, "t": pd.Series(mixed, dtype=object)})
    with pytest.raises(TypeError, match="'t', row 5"):
        fit(table, y)


@pytest.mark.parametrize("make", [frame, lambda X: pl.DataFrame(frame(X)), np.asarray])
def test_a_table_without_rows_is_an_error(regression, make):
    X, y = regression
    with pytest.raises(ValueError, match="0"):
        fit(make(X[:0]), y[:0])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_split_and_leaf_features_by_name(regression, kind):
    X, y = regression
    table = NUMBERS[kind](X)
    by_name = fit(table, y, split_features=["a"], leaf_features=["b", "c"])
    by_position = fit(X, y, split_features=[0], leaf_features=[1, 2])
    assert_same(by_name, by_position, table, X)


def test_integers_too_long_for_a_float_are_rounded():
    long = np.arange(200, dtype=np.uint64) % 5 * np.uint64(2**60 + 1)
    y = (long > 2**61).astype(float)
    arrow = pa.table({"x": pa.array(long)})
    model = ModelTreeRegressor(max_depth=1, significance=None, curves=False)
    trees = [model.fit(X, y).tree_ for X in (arrow, arrow.to_pandas())]
    assert trees[0].threshold[0] == trees[1].threshold[0]


# --- columns that are remembered -----------------------------------------------------------------


def test_a_frame_that_is_not_large_converts_a_column_once(monkeypatch):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 2.5]})
    plain, remembering = table.frame_table(frame), table.remembering(table.frame_table(frame))
    assert plain.numeric(0) is not plain.numeric(0)
    assert remembering.numeric(0) is remembering.numeric(0)
    for j in range(2):
        np.testing.assert_array_equal(plain.numeric(j), remembering.numeric(j))
    monkeypatch.setattr(table, "_REMEMBERED_CELLS", 5)
    large = table.remembering(table.frame_table(frame))
    assert large.numeric(0) is not large.numeric(0)


NOTHING = {
    "pandas": lambda rows: pd.DataFrame(rows),
    "pandas text": lambda rows: pd.DataFrame(rows).astype({"age": "string"}),
    "pandas categories": lambda rows: pd.DataFrame(rows).astype({"age": "category"}),
    "polars": pl.DataFrame,
    "polars text": lambda rows: pl.DataFrame(rows, schema_overrides={"age": pl.String}),
    "pyarrow": pa.Table.from_pylist,
}


@pytest.mark.parametrize("container", NOTHING)
def test_a_missing_value_may_come_without_a_type(rng, container):
    """A frame of one row: None has the type of nothing, or of text."""
    X = pd.DataFrame({"age": rng.normal(size=200), "region": rng.choice(["n", "s"], 200)})
    X.iloc[::7, 0] = np.nan
    X.iloc[::9, 1] = None
    model = fit(X, X["age"].fillna(3.0) + (X["region"] == "n"))
    for row in ({"age": None, "region": "n"}, {"age": None, "region": None}):
        found = model.predict(NOTHING[container]([row]))
        assert found == pytest.approx(model.scorer()(row))


def test_many_names_are_checked_in_a_moment():
    """Counting each of them among all took 17 seconds."""
    names = [f"c{k}" for k in range(32_000)]
    wide = table.frame_table(pl.DataFrame(np.zeros((1, 32_000)), schema=names))
    start = time.perf_counter()
    table.frame_table(wide.frame.to_native())
    assert table.select_columns(wide, names, "split_features").all()
    assert time.perf_counter() - start < 4.0


def test_a_sparse_matrix_is_turned_into_rows_once(monkeypatch):
    X = table.SparseTable(sparse.random(100, 5, density=0.5, random_state=0))
    whole = table.raw_matrix(X, [table.Column(f"x{j}") for j in range(5)])
    monkeypatch.setattr(table, "_SLICE_ROWS", 7)
    pieces = table.raw_slices(X, [table.Column(f"x{j}") for j in range(5)])
    found = [next(pieces)[1]]
    by_rows = X._by_rows
    found += [piece for _, piece in pieces]
    assert X._by_rows is by_rows
    np.testing.assert_array_equal(np.concatenate(found), whole)
