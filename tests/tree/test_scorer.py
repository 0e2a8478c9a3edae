"""The scorer of single rows: what predict says, from plain Python."""

import pickle
import subprocess
import sys
from collections import OrderedDict
from copy import copy
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zoo

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.tree.scorer import load_scorer

FIXTURE = Path(__file__).parents[1] / "fixtures" / "model_v4_classifier.json"


def agree(found, case):
    """Within rounding of the sum; relative to the largest prediction where terms cancel."""
    np.testing.assert_allclose(
        np.array(found), case.expected, rtol=1e-12, atol=1e-14 * np.abs(case.expected).max()
    )


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_rows_one_by_one_are_what_predict_says(kind):
    case = zoo.case(kind)
    scorer = case.model.scorer()
    agree([scorer(row) for row in case.rows], case)
    np.testing.assert_array_equal(
        [scorer.leaf(row) for row in case.rows], case.model.apply(case.table)
    )


@pytest.mark.parametrize("kind", zoo.BENT)
def test_the_zoo_has_curves_that_matter(kind):
    """Else the tests of files and exports would say nothing about them."""
    case = zoo.case(kind)
    tree, straight = case.model.tree_, copy(case.model)
    assert len(tree.terms.bent) >= 2
    coef = tree.coef.copy()
    coef[..., tree.terms.first_hinge_term :] = 0.0
    straight.model_ = replace(case.model.model_, tree=replace(tree, coef=coef))
    assert np.mean(np.abs(zoo.raw_of(straight, case.table) - case.raw) > 0.1) > 0.3


@pytest.mark.parametrize("kind", zoo.LIMITED)
def test_the_zoo_has_limits_that_matter(kind):
    case = zoo.case(kind)
    leaves, raw = case.model.apply(case.table), zoo.raw_of_leaves(case.model, case.table)
    for ends in (case.model.tree_.score_low, case.model.tree_.score_high):
        assert np.isclose(raw, ends[leaves], rtol=1e-9).any(axis=-1).mean() > 0.1


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_a_saved_scorer_is_the_same(tmp_path, kind):
    case = zoo.case(kind)
    case.model.save(tmp_path / "m.json")
    scorer, own = load_scorer(tmp_path / "m.json"), case.model.scorer()
    again = pickle.loads(pickle.dumps(scorer))
    for record in case.records[:200]:
        assert scorer(record) == own(record) == again(record)


def test_types_of_results():
    regressor, classifier = (zoo.case(kind) for kind in ("squared_error", "multiclass"))
    assert type(regressor.model.scorer()(regressor.rows[0])) is float
    found = classifier.model.scorer()(classifier.rows[0])
    assert type(found) is list and [type(p) for p in found] == [float] * 3


def test_labels_and_raw_scores():
    for kind in ("binary", "multiclass"):
        case = zoo.case(kind)
        scorer, some = case.model.scorer(), case.rows[:500]
        assert [scorer.label(row) for row in some] == case.model.predict(case.table[:500]).tolist()
        raw = case.model.decision_function(case.table[:500])
        np.testing.assert_allclose([scorer.raw(row) for row in some], raw, rtol=1e-9, atol=1e-12)
    with pytest.raises(TypeError, match="no classes"):
        zoo.case("squared_error").model.scorer().label(case.rows[0])


# --- rows of any form ----------------------------------------------------------------------------


@pytest.fixture
def model(rng):
    X = pd.DataFrame({"x": rng.normal(size=300), "t": rng.choice(["a", "b"], 300)})
    X["unused"] = 0.0
    y = np.where(X["t"] == "a", X["x"], -X["x"])
    return ModelTreeRegressor(split_features=["t"], leaf_features=["x", "t"]).fit(X, y)


@pytest.mark.parametrize(
    "row",
    [
        [1, "a", 0], (1.0, "a", None), {"x": 1.0, "t": "a", "unused": 5, "more": "!"},
        {"t": "a", "x": 1}, OrderedDict(x=True, t="a"), [Decimal(1), "a", object()],
        [np.float32(1), np.str_("a"), 0], np.array([1.0, "a", 0.0], dtype=object),
        pd.Series({"x": 1.0, "t": "a", "unused": 0.0}),
    ],
    ids=lambda row: type(row).__name__,
)  # fmt: skip
def test_a_row_may_be_a_sequence_or_a_mapping(model, row):
    expected = model.predict(pd.DataFrame({"x": [1.0], "t": ["a"], "unused": [0.0]}))[0]
    assert model.scorer()(row) == pytest.approx(expected, rel=1e-12)


def test_a_row_of_a_numeric_array(binary):
    X, y = binary
    model = ModelTreeClassifier().fit(X, y)
    scorer = model.scorer()
    np.testing.assert_allclose([scorer(row) for row in X], model.predict_proba(X), rtol=1e-12)
    assert scorer({f"x{j}": X[0, j] for j in range(4)}) == scorer(X[0])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, np.float32("nan")], ids=repr)
def test_missing_values_of_any_kind(model, missing):
    table = pd.DataFrame({"x": [np.nan], "t": [None], "unused": [0.0]}).astype({"t": object})
    assert model.scorer()([missing, missing, 0.0]) == pytest.approx(model.predict(table)[0])


WRONG = {
    "too short": ([1.0], ValueError, "1 values.*3 columns"),
    "a column is not there": ({"x": 1.0}, ValueError, "no value for column 't'"),
    "text for a number": (["1.0", "a", 0.0], ValueError, "'x' was numeric"),
    "a number for text": ([1.0, 2.0, 0.0], ValueError, "'t' held text"),
    "infinity": ([np.inf, "a", 0.0], ValueError, "'x' contains infinity"),
    "a huge integer": ([10**400, "a", 0.0], TypeError, "'x'.*no number"),
    "an object": ([object(), "a", 0.0], TypeError, "'x'.*no number"),
    "one number": (1.0, TypeError, "sequence or a mapping"),
    "a string": ("abc", TypeError, "sequence or a mapping"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_row_names_what_is_wrong(model, name):
    row, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        model.scorer()(row)


def test_a_scorer_needs_a_fitted_linear_model():
    with pytest.raises(ValueError, match="not fitted"):
        ModelTreeRegressor().scorer()


def test_extreme_raw_predictions(rng):
    X = rng.normal(size=(300, 1))
    for model in (
        ModelTreeClassifier(max_depth=0).fit(X, X[:, 0] > 0),
        ModelTreeClassifier(max_depth=0).fit(X, np.digitize(X[:, 0], [-0.5, 0.5])),
        ModelTreeRegressor(max_depth=0, loss="gamma").fit(X, np.exp(X[:, 0])),
    ):
        scorer, far = model.scorer(), np.array([[1e3], [-1e3], [1e6], [-1e6], [0.0]])
        expected = zoo.predicted(model, far)
        np.testing.assert_allclose([scorer(row) for row in far], expected, rtol=1e-10)


# --- what scoring imports ------------------------------------------------------------------------

LIGHT = """
import sys
from glassleaf.tree.scorer import load_scorer
scorer = load_scorer({path!r})
scorer([None] * 7)
heavy = {{"numpy", "scipy", "numba", "sklearn", "narwhals", "pandas"}} & set(sys.modules)
assert not heavy, heavy
import glassleaf
assert set(glassleaf.__all__) <= set(dir(glassleaf))
assert "numba" not in sys.modules
"""


def test_scoring_imports_neither_numba_nor_scikit_learn():
    source = str(Path(glassleaf.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {source!r})\n" + LIGHT.format(path=str(FIXTURE))
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    for name in glassleaf.__all__:
        assert getattr(glassleaf, name) is not None
    assert glassleaf.load_scorer is load_scorer
    with pytest.raises(AttributeError, match="no_such"):
        _ = glassleaf.no_such
