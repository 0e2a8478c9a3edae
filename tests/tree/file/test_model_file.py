"""Model files: what is saved is loaded to the last bit, and nothing else is ever loaded."""

import copy
import json
import os
import stat
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from threading import Thread

import needed
import numpy as np
import pandas as pd
import pytest
import zoo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor, criteria, load, losses
from glassleaf.errors import ExportError, ModelFileError
from glassleaf.estimators.load import from_text
from glassleaf.tables.design import Terms
from glassleaf.tree.calibration import Intervals, Scaling
from glassleaf.tree.file.atomic import write_atomically
from glassleaf.tree.file.json_schema import model_schema
from glassleaf.tree.file.model_file import VERSION, parse
from glassleaf.tree.scorer import load_scorer
from glassleaf.tree.tree import Candidates, TrainingRecord, Tree

FIXTURES = Path(__file__).parents[2] / "fixtures"


def saved(model, folder):
    path = folder / "model.json"
    model.save(path)
    return load(path)


# --- the round trip ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_predictions_are_the_same_to_the_last_bit(tmp_path, kind):
    case = zoo.case(kind)
    loaded = saved(case.model, tmp_path)
    assert type(loaded) is type(case.model)
    assert loaded.tree_ == case.model.tree_
    assert loaded.model_.loss == case.model.model_.loss
    np.testing.assert_array_equal(zoo.predicted(loaded, case.table), case.expected)
    in_terms = ("knot_x", "first_hinge", "hinge_at")
    # array_equal takes -0.0 for 0.0
    for name in ("coef", "threshold", "score_low", "score_high", *in_terms):
        mine, other = (
            getattr(tree.terms if name in in_terms else tree, name)
            for tree in (case.model.tree_, loaded.tree_)
        )
        assert mine.tobytes() == other.tobytes() and mine.dtype == other.dtype


@pytest.mark.parametrize("kind", ["squared_error", "multiclass"])
def test_a_loaded_model_is_a_fitted_estimator(tmp_path, kind):
    model = zoo.case(kind).model
    loaded = saved(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    assert repr(loaded) == repr(model)
    assert loaded.n_features_in_ == 7
    assert list(loaded.feature_names_in_) == zoo.NAMES
    clone(loaded).fit(zoo.case(kind).table, model.predict(zoo.case(kind).table))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(zoo.case(kind).table.rename(columns={"a": "A"}))


def test_a_second_save_writes_the_same_file(tmp_path):
    model = zoo.case("binary").model
    model.save(tmp_path / "1.json")
    load(tmp_path / "1.json").save(tmp_path / "2.json")
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]), np.array([False, True]), np.array([-1.5, 2.0]), np.array(["no", "ja ß"]),
        np.array(["no", "yes"], dtype=object), np.array([3, 200], dtype=np.uint8),
        np.array([1, 5, 2**60]), np.array([0.5, 1.5], dtype=np.float32),
        pd.Series(["x", "y", "z"], dtype="string").to_numpy(),
    ],
    ids=lambda labels: f"{labels.dtype}",
)  # fmt: skip
def test_labels_keep_their_type(tmp_path, rng, labels):
    X = rng.normal(size=(300, 2))
    y = labels[np.digitize(X[:, 0], [0.0, 0.5])[:, None].clip(max=len(labels) - 1)[:, 0]]
    if labels.dtype.kind == "f":  # scikit-learn refuses fractions as classes
        y = np.round(y * 2)
    model = ModelTreeClassifier().fit(X, y)
    loaded = saved(model, tmp_path)
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_categories_keep_their_type(tmp_path, rng):
    mixed = np.array(["1", 1, 2.5, True, 10**20, "\ud800", ""], dtype=object)
    table = pd.DataFrame({"m": rng.choice(mixed, 500), "x": rng.normal(size=500)})
    model = ModelTreeRegressor().fit(table, rng.normal(size=500))
    loaded = saved(model, tmp_path)
    before, after = (m.tree_.columns[0].categories for m in (model, loaded))
    assert before == after and list(map(type, before)) == list(map(type, after))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))


PARAMETERS = {
    "loss": losses.Huber(delta=2.5),
    "criterion": criteria.GradientGain("minmax"),
    "split_features": np.array([True, False, True]),
    "leaf_features": (0, 2),
    "categorical_features": [np.int64(1)],
    "alpha": np.float64(0.1),
    "random_state": 2**70,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_come_back(tmp_path, rng, name):
    X = rng.normal(size=(200, 3)).round()
    model = ModelTreeRegressor(**{name: PARAMETERS[name]}).fit(X, X[:, 0])
    found, given_ = saved(model, tmp_path).get_params()[name], PARAMETERS[name]
    assert type(found) is type(given_) or name in ("alpha", "categorical_features")
    assert np.array_equal(found, given_)
    assert not hasattr(saved(model, tmp_path), "feature_names_in_")


def test_class_weights_by_label_come_back(tmp_path, rng):
    X = rng.normal(size=(200, 3))
    model = ModelTreeClassifier(class_weight={0: 1.0, 1: 2.5}).fit(X, X[:, 0] > 0)
    assert saved(model, tmp_path).class_weight == {0: 1.0, 1: 2.5}


# --- the path ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["squared_error", "binary", "multiclass", "no split", "no terms"])
def test_the_path_comes_back(tmp_path, kind):
    case = zoo.case(kind)
    loaded = saved(case.model, tmp_path)
    assert loaded.path_ == case.model.path_
    assert loaded.model_.path.whole == case.model.model_.path.whole
    for numbers in (1, 8, 25, 10**6):
        one, other = case.model.at(numbers=numbers), loaded.at(numbers=numbers)
        assert other.tree_ == one.tree_ and other.complexity_ == one.complexity_
        expected = zoo.predicted(one, case.table)
        np.testing.assert_array_equal(zoo.predicted(other, case.table), expected)
        assert other.export_text() == one.export_text()


def test_a_shorter_model_is_saved_with_the_path(tmp_path):
    model = zoo.case("binary").model
    short = saved(model.at(numbers=8), tmp_path)
    assert short.tree_ == model.at(numbers=8).tree_ and short.path_ == model.path_


@pytest.fixture(scope="module")
def calibrated():
    """A regressor and a classifier, with rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + rng.normal(size=900)
    number = ModelTreeRegressor().fit(X[:400], y[:400]).calibrate(X[400:], y[400:])
    labels = 1 * (y > 0) + (y > 1)
    kind = ModelTreeClassifier().fit(X[:400], labels[:400])
    return number, kind.calibrate(X[400:], labels[400:]), X


def test_calibration_comes_back(tmp_path, calibrated):
    number, kind, X = calibrated
    again = saved(number, tmp_path)
    np.testing.assert_array_equal(again.predict_interval(X), number.predict_interval(X))
    scorer = load_scorer(tmp_path / "model.json")
    found = [scorer.predict_interval(row, 0.8) for row in X[:50]]
    np.testing.assert_array_equal(found, number.predict_interval(X[:50], 0.8))
    again = saved(kind, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), kind.predict_proba(X))
    assert again.export_text() == kind.export_text()
    with pytest.raises(TypeError, match="no intervals"):
        again.scorer().predict_interval(X[0])


DAMAGED_CALIBRATIONS = {
    "levels that descend": (0, ("intervals", "level", 0), 0.9),
    "a level of 1": (0, ("intervals", "level", -1), 1.0),
    "a negative width": (0, ("intervals", "width", 1, 3), -1.0),
    "a width that is NaN": (0, ("intervals", "width", 1, 3), "nan"),
    "too few widths": (0, ("intervals", "width", 1), [1.0]),
    "a power beyond 1": (0, ("intervals", "power"), 1e300),
    "no count": (0, ("intervals", "n_observations"), []),
    "an infinite slope": (1, ("scaling", "slope", 0), "inf"),
    "a shift of too few scores": (1, ("scaling", "shift", 0), [0.0]),
}


@pytest.mark.parametrize("name", DAMAGED_CALIBRATIONS)
def test_a_damaged_calibration_is_an_error(tmp_path, calibrated, name):
    which, where, value = DAMAGED_CALIBRATIONS[name]
    saved(calibrated[which], tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    put(document, where, value)
    with pytest.raises(ModelFileError):
        parse(json.dumps(document))


def test_calibrations_of_the_other_kind_are_an_error(tmp_path, calibrated):
    documents = []
    for model in calibrated[:2]:
        saved(model, tmp_path)
        documents.append(json.loads((tmp_path / "model.json").read_text()))
    for name, mine, other in (("intervals", *documents), ("scaling", *documents[::-1])):
        with pytest.raises(ModelFileError):
            parse(json.dumps({**other, name: mine[name]}))


def test_a_file_without_a_path_says_so():
    document = json.loads((FIXTURES / "model_v4_path.json").read_text())
    del document["path"]
    with pytest.raises(AttributeError, match="its file holds none"):
        from_text(json.dumps(document)).at(numbers=10)


WRONG_PATHS = {
    "no steps": ("steps", None),
    "steps of nothing": ("steps", "numbers", []),
    "steps that lack their losses": ("steps", "loss", [0.0]),
    "entries that begin late": ("steps", "first_entry", 0, 1),
    "entries that end early": ("steps", "first_entry", -1, 3),
    "entries that run backwards": ("steps", "first_entry", 2, 10**6),
    "a node out of range": ("steps", "node", 0, 3),
    "a node before the first": ("steps", "node", 0, -1),
    "an output out of range": ("steps", "output", 0, 1),
    "a term out of range": ("steps", "term", 0, 10**6),
    "a value that is NaN": ("steps", "value", 0, "nan"),
    "values whose sum is no number": ("steps", "value", slice(1, 3), [1.7e308, 1.7e308]),
    "a value at infinity": ("steps", "value", 0, "-inf"),
    "limits upside down": ("steps", "limit_low", 1, 1e9),
    "a limit that is NaN": ("steps", "limit_high", 0, "nan"),
    "numbers below zero": ("steps", "numbers", 0, -1),
    "fewer values than nodes": ("steps", "value", []),
    "no tree": ("tree", None),
    "a cycle": ("tree", "left", 0, 0),
    "a column out of range": ("tree", "feature", 0, 99),
    "models of too few terms": ("tree", "coef", 0, 0, [1.0]),
    "half a training record": ("seen", None),
    "a candidate at a leaf": ("candidates", "node", 0, 2),
    "more than a path": ("path", {}),
}


@pytest.mark.parametrize("name", WRONG_PATHS)
def test_a_damaged_path_is_an_error(name):
    document = json.loads((FIXTURES / "model_v4_path.json").read_text())
    from_text(json.dumps(document))
    *where, value = WRONG_PATHS[name]
    put(document["path"], where, value)
    if value is None:
        del document["path"][where[0]]
    with pytest.raises(ModelFileError, match="no intact model file"):
        from_text(json.dumps(document))


# --- what cannot be saved ------------------------------------------------------------------------


class OwnLoss(losses.SquaredError):
    """Not one of ours: its file would load as something else."""


class OwnModel:
    """The mean of y in every node."""

    def fit(self, design, y, weight, start):
        return np.average(y, weights=weight)

    def raw(self, model, design):
        return np.full(len(design), model)

    def gradients(self, model, design, y):
        return (model - y)[:, None]


def test_what_cannot_be_saved_says_so_and_leaves_the_file_alone(tmp_path, rng):
    X = rng.normal(size=(200, 3))
    path = tmp_path / "model.json"
    path.write_text("old")
    for parameters, words in (
        ({"loss": OwnLoss()}, "loss=.*object of your own"),
        ({"random_state": np.random.RandomState(0)}, "random_state=.*set_params"),
        ({"weak_model": OwnModel(), "criterion": "gradient"}, "weak_model"),
    ):
        model = ModelTreeRegressor(**parameters).fit(X, X[:, 0])
        with pytest.raises(ExportError, match=words):
            model.save(path)
    intervals = pd.DataFrame({"i": pd.cut(X[:, 0], 3), "x": X[:, 1]})
    with pytest.raises(ExportError, match="'i'.*Interval.*astype"):
        ModelTreeRegressor().fit(intervals, X[:, 0]).save(path)
    with pytest.raises(ValueError, match="not fitted"):
        ModelTreeRegressor().save(path)
    assert os.listdir(tmp_path) == ["model.json"] and path.read_text() == "old"


def test_a_class_of_your_own_is_not_saved_as_ours(tmp_path, rng):
    class Mine(ModelTreeRegressor):
        pass

    X = rng.normal(size=(100, 2))
    with pytest.raises(ExportError, match="Mine"):
        Mine().fit(X, X[:, 0]).save(tmp_path / "m.json")


# --- the schema and the released versions --------------------------------------------------------


PARTS = [
    ("tree", Tree), ("terms", Terms), ("seen", TrainingRecord), ("candidates", Candidates),
    ("intervals", Intervals), ("scaling", Scaling),
]  # fmt: skip
NO_ARRAYS = ("columns", "terms", "custom", "training_record", "candidates", "offsets")


@pytest.mark.parametrize(("part", "kind"), PARTS)
def test_the_schema_names_every_array(part, kind):
    """A new array needs a line in the schema; without a default in the code it is required."""
    described = model_schema(VERSION)["properties"][part]
    own = [f for f in fields(kind) if f.name not in NO_ARRAYS]
    assert set(described["properties"]) == {f.name for f in own}
    assert set(described["required"]) >= {
        f.name for f in own if f.default is MISSING and f.default_factory is MISSING
    }


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_another_validator_agrees_with_the_schema(version):
    jsonschema = needed.module("jsonschema")
    validator = jsonschema.Draft202012Validator(model_schema(version))
    validator.check_schema(model_schema(version))
    good = json.loads((FIXTURES / f"model_v{version}_classifier.json").read_text())
    validator.validate(good)
    for where, value in (
        (("tree", "left", 0), 1.5), (("tree", "gain", 0), None), (("tree", "more"), []),
        (("columns",), []), (("version",), 0), (("named",), 1), (("loss", "name"), "mse"),
        (("estimator", "parameters", "alpha"), {"code": "x"}), (("tree", "coef", 0, 0), [[1.0]]),
    ):  # fmt: skip
        bad = copy.deepcopy(good)
        put(bad, where, value)
        assert not validator.is_valid(bad), where
        with pytest.raises(ModelFileError):
            parse(json.dumps(bad))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("model_v*.json")), ids=lambda p: p.stem)
def test_files_of_every_released_version_are_loaded(path):
    """Each fixture has rows and their predictions beside it, of the day it was written."""
    model = load(path)
    beside = json.loads(path.with_suffix(".predictions").read_text())
    table = pd.DataFrame(beside["rows"], columns=[column.name for column in model.tree_.columns])
    for column in model.tree_.columns:
        kind = object if column.is_categorical else float
        table[column.name] = table[column.name].astype(kind)
    np.testing.assert_allclose(zoo.predicted(model, table), beside["expected"], rtol=1e-12)
    scorer = load_scorer(path)
    np.testing.assert_allclose([scorer(row) for row in beside["rows"]], beside["expected"])


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_the_first_version_knew_no_curves(tmp_path, name):
    old = load(FIXTURES / f"model_v1_{name}.json")
    assert old.curves is False and old.tree_.terms.bent == []
    again = saved(old, tmp_path)  # in the latest version
    assert again.tree_ == old.tree_ and again.get_params() == old.get_params()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_a_curve_through_points_is_the_sum_of_hinges_at_these(tmp_path, name, version):
    path = FIXTURES / f"model_v{version}_{name}.json"
    old, document = load(path), json.loads(path.read_text())
    terms, tree = document["terms"], old.tree_
    assert old.curves is True and tree.terms.bent
    assert saved(old, tmp_path).tree_ == tree
    for column in tree.terms.bent:
        points = slice(terms["first_point"][column], terms["first_point"][column + 1])
        x, z = terms["point_x"][points], terms["point_z"][points]
        weight = np.array(document["tree"]["coef"])[:, 0, terms["curve_term"][column]]
        for value in [x[0] - 9.0, *x, *np.linspace(x[0], x[-1], 50), x[-1] + 9.0]:
            above = np.maximum(0.0, value - tree.terms.hinges(column))
            found = tree.coef[:, tree.terms.hinge_terms(column)] @ above
            expected = weight * (np.interp(value, x, z) - z[0])
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)


def test_moments_of_a_curve_stay_those_of_the_sum_of_its_hinges():
    document = json.loads((FIXTURES / "model_v3_regressor.json").read_text())
    tree = load(FIXTURES / "model_v3_regressor.json").tree_
    terms, seen, record = document["terms"], document["seen"], tree.record
    covariance = np.zeros((tree.node_count, tree.terms.n_terms, tree.terms.n_terms))
    one, other = tree.terms.pairs.T
    covariance[:, one, other] = covariance[:, other, one] = record.covariance
    own = np.arange(tree.terms.n_terms)
    covariance[:, own, own] = record.spread**2
    for column in tree.terms.bent:
        curve, hinges = terms["curve_term"][column], tree.terms.hinge_terms(column)
        node = np.argmax(np.abs([row[0][curve] for row in document["tree"]["coef"]]))
        turn = tree.coef[node, hinges] / document["tree"]["coef"][node][0][curve]
        spread = np.array(seen["spread"])[:, curve]
        np.testing.assert_allclose(record.mean[:, hinges] @ turn, np.array(seen["mean"])[:, curve])
        np.testing.assert_allclose(turn @ covariance[:, hinges][:, :, hinges] @ turn, spread**2)
        with_line = covariance[:, tree.terms.first_term[column], hinges] @ turn
        np.testing.assert_allclose(with_line, np.array(seen["bend"])[:, column])


WRONG_CURVES = {
    "a curve out of range": (("terms", "curve_term", 0), 10**6),
    "a curve of a category": (("terms", "curve_term", 4), 0),
    "a curve of no term": (("terms", "first_term", 0), -1),
    "a curve without points": (("terms", "curve_term", 3), 0),
    "points without a curve": (("terms", "curve_term", 0), -1),
    "too few curves": (("terms", "curve_term"), [-1]),
    "points out of range": (("terms", "first_point", 1), 10**6),
    "points that begin late": (("terms", "first_point", 0), 1),
    "points that end early": (("terms", "point_x"), [0.0, 1.0]),
    "points that run backwards": (("terms", "first_point", 2), 0),
    "points that descend": (("terms", "point_x", 0), 1e9),
    "a point at infinity": (("terms", "point_x", 0), "-inf"),
    "a curve to infinity": (("terms", "point_z", 1), "inf"),
    "a curve that is NaN": (("terms", "point_z", 1), "nan"),
    "a curve with a word for a coefficient": (("tree", "intercept", 0), ["nan"]),
    "nodes without an intercept": (("tree", "intercept"), [[0.0]]),
    "records of too few nodes": (("seen", "bend"), [[0.0] * 7]),
    "no nodes": (("tree", "coef"), []),
}


@pytest.mark.parametrize("name", WRONG_CURVES)
def test_wrong_curves_of_older_versions_are_errors(name):
    document = json.loads((FIXTURES / "model_v3_classifier.json").read_text())
    put(document, *WRONG_CURVES[name])
    with pytest.raises(ModelFileError, match="no intact model file"):
        from_text(json.dumps(document))


def test_a_point_of_a_curve_that_occurs_twice_is_an_error():
    document = json.loads((FIXTURES / "model_v3_classifier.json").read_text())
    document["terms"]["point_x"][1] = document["terms"]["point_x"][0]
    with pytest.raises(ModelFileError, match="curves are wrong"):
        from_text(json.dumps(document))


@pytest.mark.parametrize(("name", "transform"), [("classifier", "winsor"), ("regressor", "rank")])
def test_parameters_of_older_versions_have_their_new_names(name, transform):
    first, second, latest = (
        load(FIXTURES / f"model_v{version}_{name}.json").get_params() for version in (1, 2, VERSION)
    )
    assert first["leaf_transform"] == transform
    assert second == latest


OLD_CRITERIA = [
    (("gradient", "zscore", "standard"), "gradient_zscore"),
    (("gradient", "minmax", None), "gradient_minmax"),
    (("gradient", None, "standard"), "gradient_standardized"),
    (("gradient", None, None), "gradient"),
    (("impurity", "zscore", "standard"), "impurity"),
    (({"criterion": "GradientGain"}, None, None), criteria.GradientGain("raw")),
    (({"criterion": "VarianceReduction"}, None, None), criteria.VarianceReduction()),
]


@pytest.mark.parametrize(("given", "expected"), OLD_CRITERIA)
def test_the_three_parameters_of_the_criterion_became_one(given, expected):
    document = json.loads((FIXTURES / "model_v2_regressor.json").read_text())
    names = ("criterion", "renormalize", "scale")
    document["estimator"]["parameters"] |= dict(zip(names, given, strict=True))
    assert from_text(json.dumps(document)).criterion == expected


def test_a_file_of_an_older_version_keeps_its_depth():
    """A leaf budget did not lift the limit then: a tree fitted again is the same."""
    document = json.loads((FIXTURES / "model_v2_regressor.json").read_text())
    document["estimator"]["parameters"] |= {"max_depth": 3, "max_leaf_nodes": 32}
    assert from_text(json.dumps(document)).max_depth == 3


def test_an_unknown_parameter_of_an_older_version_is_an_error():
    document = json.loads((FIXTURES / "model_v2_regressor.json").read_text())
    document["estimator"]["parameters"]["renormalize"] = ["zscore"]
    with pytest.raises(ModelFileError, match="renormalize"):
        parse(json.dumps(document))


def test_a_file_is_checked_against_its_own_version():
    """An array of version 2 in a file of version 1 would be one that nobody reads."""
    old, new = (
        json.loads((FIXTURES / f"model_v{version}_classifier.json").read_text())
        for version in (1, 2)
    )
    for document, version, words in ((old, 2, "curve_term.* missing"), (new, 1, "curve_term")):
        with pytest.raises(ModelFileError, match=words):
            parse(json.dumps(document | {"version": version}))


# --- damaged and hostile files -------------------------------------------------------------------


def put(document, where, value):
    for step in where[:-1]:
        document = document[step]
    document[where[-1]] = value


@pytest.fixture(scope="module")
def text():
    return (FIXTURES / f"model_v{VERSION}_classifier.json").read_text()


HOSTILE = {
    "a cycle": (("tree", "left", 0), 0),
    "two parents": (("tree", "left", 0), 2),
    "a child before its parent": (("tree", "right", 1), 0),
    "a child out of range": (("tree", "right", 0), 10**6),
    "one child": (("tree", "left", 0), -1),
    "an index below -1": (("tree", "left", 0), -2),
    "a column out of range": (("tree", "feature", 0), 99),
    "no column": (("tree", "feature", 0), -1),
    "a threshold that is NaN": (("tree", "threshold"), "nan"),
    "a wrong length": (("tree", "gain"), [0.0]),
    "a shorter row": (("tree", "coef", 0, 0), [0.0]),
    "a huge integer": (("tree", "gain", 0), 10**400),
    "a huge index": (("tree", "left", 0), 2**40),
    "an infinite coefficient": (("tree", "intercept", 0), ["inf"]),
    "a word": (("tree", "gain", 0), "__import__('os')"),
    "a truth for a number": (("tree", "gain", 0), True),
    "a clamp upside down": (("tree", "clamp_low", 0, 0), "inf"),
    "no columns": (("columns",), []),
    "a column twice": (("columns", 1, "name"), "a"),
    "a category twice": (("columns", 4, "categories"), ["x", "x"]),
    "categories where numbers were": (("columns", 0, "categories"), ["x"]),
    "terms out of range": (("terms", "first_term", 4), 10**6),
    "a negative number of terms": (("terms", "n_terms"), -1),
    "knots out of range": (("terms", "first_knot", 1), 10**6),
    "knots that descend": (("terms", "knot_x", 0), 1e9),
    "hinges of a category": (("terms", "first_hinge"), [0, 0, 0, 0, 0, 5, 5, 5]),
    "hinges of no term": (("terms", "first_term", 0), -1),
    "hinges out of range": (("terms", "first_hinge", 1), 10**6),
    "hinges that begin late": (("terms", "first_hinge", 0), 1),
    "too few hinges": (("terms", "hinge_at"), [0.0]),
    "more hinges than terms": (("terms", "n_terms"), 4),
    "terms of a column that are hinges": (("terms", "missing_term", 0), 19),
    "hinges that run backwards": (("terms", "first_hinge", 2), 0),
    "hinges that descend": (("terms", "hinge_at", 0), 1e9),
    "a hinge twice": (("terms", "hinge_at"), None),
    "a hinge at infinity": (("terms", "hinge_at", 0), "-inf"),
    "a hinge that is NaN": (("terms", "hinge_at", 0), "nan"),
    "no covariances": (("seen", "covariance"), []),
    "covariances of too few pairs": (("seen", "covariance"), None),
    "limits upside down": (("tree", "score_low", 3), [1e9]),
    "a limit that is NaN": (("tree", "score_high", 0), ["nan"]),
    "limits at infinity": (("tree", "score_high", 0), ["-inf"]),
    "limits of too few outputs": (("tree", "score_low", 0), []),
    "one class": (("classes", "values"), [1]),
    "a class twice": (("classes", "values"), [1, 1]),
    "labels of another type": (("classes", "values"), ["a", "b"]),
    "labels out of range": (("classes", "values"), [0, 2**70]),
    "no classes": (("classes",), None),
    "a loss of regression": (("loss", "name"), "poisson"),
    "outputs of another number": (("loss", "n_outputs"), 3),
    "an unknown parameter": (("estimator", "parameters", "__class__"), 1),
    "a parameter with a tag": (("estimator", "parameters", "alpha"), {"pickle": "gASV"}),
    "a criterion with units that has none": (
        ("estimator", "parameters", "criterion"),
        {"criterion": {"name": "InformationGain", "units": "raw"}},
    ),
    "a key that is a list": (("estimator", "parameters", "alpha"), {"map": [[[1], 2]]}),
    "an estimator of another module": (("estimator", "class"), "os.system"),
    "a version that is a word": (("version",), "1"),
    "a version that is no integer": (("version",), 1.0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_is_an_error(text, name):
    document = json.loads(text)
    where, value = HOSTILE[name]
    if name == "a threshold that is NaN":
        value = ["nan"] * len(document["tree"]["left"])
    if name == "a hinge twice":
        hinges = document["terms"]["hinge_at"]
        value = [hinges[0], *hinges[:1], *hinges[2:]]
    if name == "covariances of too few pairs":
        value = [row[1:] for row in document["seen"]["covariance"]]
    put(document, where, value)
    with pytest.raises(ModelFileError, match=r".{20}"):
        from_text(json.dumps(document))


TEXTS = {
    "nothing": "",
    "no JSON": "PK\x03\x04 model",
    "another JSON": '{"a": 1}',
    "a list": "[1, 2]",
    "a number": "1",
    "deep nesting": "[" * 100_000,
    "deep objects": '{"format": "glassleaf model", "version": 1, "estimator": ' + '{"a":' * 100_000,
    "many digits": '{"format": "glassleaf model", "version": ' + "9" * 10_000 + "}",
    "a huge exponent": '{"format": "glassleaf model", "version": 1e999}',
    "NaN": '{"format": "glassleaf model", "version": NaN}',
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07",
    "bad UTF-8": b'{"format": "\xff\xfe"}',
    "UTF-16": '{"format": "x"}'.encode("utf-16"),
    "a name twice": '{"format": "glassleaf model", "format": "glassleaf model"}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_model_file_is_an_error(tmp_path, name):
    content = TEXTS[name] if isinstance(TEXTS[name], bytes) else TEXTS[name].encode()
    path = tmp_path / "m.json"
    path.write_bytes(content)
    for reader in (load, load_scorer):
        with pytest.raises(ModelFileError, match="m.json"):
            reader(path)


def test_deeply_nested_parameters_are_an_error(text):
    deep = '{"tuple": [' * 5000 + "1" + "]}" * 5000
    with pytest.raises(ModelFileError):
        from_text(text.replace('"alpha": "auto"', f'"alpha": {deep}'))


@pytest.mark.parametrize("version", [VERSION + 1, 10**30])
def test_a_newer_version_says_what_to_do(text, version):
    document = json.loads(text) | {"version": version, "unheard of": 1}
    with pytest.raises(ModelFileError, match="version .*Install a newer glassleaf"):
        parse(json.dumps(document))


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.99, 0.999])
def test_a_truncated_file_is_an_error(text, share):
    with pytest.raises(ModelFileError):
        parse(text[: int(share * len(text))])


def either_an_error_or_a_model(content):
    """A model that predicts, and whose scorer agrees, or ``ModelFileError``, and nothing else.

    If it has a path, the models on it predict as well.
    """
    try:
        model = from_text(content)
    except ModelFileError:
        return
    columns = model.tree_.columns
    # Of mixed categories a text: a table with numbers alone there is refused, and rightly.
    known = [sorted(c.categories or ("x",), key=lambda v: type(v) is not str)[0] for c in columns]
    rows = [[None] * len(columns)] + [
        [v if c.categories is None else k for c, k in zip(columns, known, strict=True)]
        for v in (0.0, -1e9, 1e9)
    ]
    table = pd.DataFrame(rows, columns=[c.name for c in columns])
    for c in columns:
        table[c.name] = table[c.name].astype(object if c.is_categorical else float)
    with np.errstate(all="ignore"):
        found = zoo.predicted(model, table)
        scorer = model.scorer()
        one_by_one = np.array([scorer(row) for row in rows])
        if model.model_.path is not None:
            assert all(step.what is not None for step in model.path_)
            zoo.predicted(model.at(numbers=25), table)
    np.testing.assert_allclose(one_by_one, found, rtol=1e-6, atol=1e-6 * np.abs(found).max())


FUZZ = settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@FUZZ
@given(st.data())
def test_bytes_changed_at_random(data):
    content = bytearray((FIXTURES / f"model_v{VERSION}_classifier.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content) - 1))
        stop = start + data.draw(st.integers(0, 20))
        content[start:stop] = data.draw(st.binary(max_size=8))
    either_an_error_or_a_model(bytes(content))


def places(value, where=()):
    yield where
    inside = {}
    if isinstance(value, (dict, list)):
        inside = value if isinstance(value, dict) else dict(enumerate(value))
    for step, entry in inside.items():
        yield from places(entry, (*where, step))


NUMBERS = st.one_of(
    st.integers(-3, 12), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2**31, 2**63, 10**400, -(2**63), 1e308, 5e-324, -0.0]),
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.sampled_from(["inf", "-inf", "nan", "", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@FUZZ
@given(st.data())
def test_values_changed_at_random(data):
    names = ["model_v1_classifier.json", "model_v2_classifier.json", "model_v3_regressor.json",
             "model_v4_classifier.json", "model_v4_path.json"]  # fmt: skip
    name = data.draw(st.sampled_from(names))
    document = json.loads((FIXTURES / name).read_text())
    # Terms as often as all the rest: records are long, and predictions do not read them.
    everywhere = [[where for where in places(document) if where],
                  [("terms", *where) for where in places(document["terms"]) if where]]  # fmt: skip
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(data.draw(st.sampled_from(everywhere))))
        try:
            put(document, where, data.draw(VALUES))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took that place away
    either_an_error_or_a_model(json.dumps(document))


# --- atomic writes -------------------------------------------------------------------------------

KILLED = """
import os, sys
sys.path.insert(0, {source!r})
from glassleaf.tree.file.atomic import write_atomically
real = os.fsync
def die(descriptor):
    os.kill(os.getpid(), 9)
os.fsync = die
write_atomically({path!r}, b"new" * 1000)
"""


def test_a_killed_process_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("old")
    source = str(Path(glassleaf.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", KILLED.format(source=source, path=str(path))])
    assert done.returncode == -9
    assert path.read_text() == "old"


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_text("old")

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["m.json"]


def test_a_replaced_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    path, link = tmp_path / "m.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.json")


def test_a_named_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found = []
    reader = Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    zoo.case("binary").model.save(path)
    reader.join(timeout=30)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert from_text(found[0]).tree_ == zoo.case("binary").model.tree_


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "10.0.0.1:8786", "ucx://evil"])
def test_a_file_carries_no_address(tmp_path, address):
    model = copy.copy(zoo.case("binary").model).set_params(backend=address)
    model.save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert address not in text and load(tmp_path / "m.json").backend == "local"
    forged = text.replace('"backend": "local"', f'"backend": "{address}"')
    assert forged != text and from_text(forged).backend == "local"
    model.set_params(backend="stream").save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").backend == "stream"
