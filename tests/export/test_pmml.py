"""PMML in JPMML-Evaluator, the reference evaluator, on the Java runtime of a wheel."""

import os

import needed
import numpy as np
import pandas as pd
import pytest
import zoo
from deep import deep_model

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.errors import ExportError
from glassleaf.export import to_pmml


@pytest.fixture(scope="session")
def evaluated(java, tmp_path_factory):
    """Evaluates a table with a PMML document."""
    needed.module("jpype")
    os.environ["JAVA_HOME"] = java
    from jpmml_evaluator import make_evaluator  # noqa: PLC0415
    from jpmml_evaluator.jpype import JPypeBackend  # noqa: PLC0415

    backend = JPypeBackend()
    folder = tmp_path_factory.mktemp("pmml")

    def run(model, table):
        path = folder / "model.pmml"
        path.write_text(to_pmml(model), encoding="ascii")
        evaluator = make_evaluator(str(path), backend=backend).verify()
        known = table.astype(object).where(table.notna(), None)
        return evaluator.evaluateAll(known)

    return run


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_the_evaluator_says_what_predict_says(evaluated, kind):
    case = zoo.case(kind)
    found = evaluated(case.model, case.table)
    if case.expected.ndim == 1:
        values = found["prediction"].to_numpy(dtype=float)
        scale = np.abs(case.expected).max()
        np.testing.assert_allclose(values, case.expected, rtol=1e-10, atol=1e-12 * scale)
        return
    for k, label in enumerate(case.model.classes_.tolist()):
        values = found[f"probability({label})"].to_numpy(dtype=float)
        np.testing.assert_allclose(values, case.expected[:, k], rtol=0, atol=1e-12)
    first, second = np.sort(case.expected, axis=1)[:, :-3:-1].T
    is_clear = first - second > 1e-9  # a tie is anybody's guess
    labels = case.model.predict(case.table)
    assert is_clear.mean() > 0.9
    assert found["label"][is_clear].tolist() == labels[is_clear].tolist()


def test_only_limits_need_a_chain_of_models():
    """Of leaves with limits there is a sum for every class, and one model of all."""
    assert "modelChain" not in to_pmml(zoo.case("multiclass, curves, clamp").model)
    limited = zoo.case("multiclass, limits, curves, winsor").model
    text = to_pmml(limited)
    assert limited.get_n_leaves() == text.count("modelChain")
    assert text.count("<RegressionModel") == limited.get_n_leaves() * (3 + 1)


def test_sets_of_texts_with_backslashes(evaluated, rng):
    texts = np.array(["a\\", 'say "a\\"', "\\\\ b", "b", '"', "c"], dtype=object)
    table = pd.DataFrame({"t": rng.choice(texts, 600), "x": rng.normal(size=600)})
    sign = np.where(np.isin(table["t"], texts[:3]), -1.0, 1.0)
    model = ModelTreeRegressor(max_depth=1, split_features=["t"]).fit(table, sign * table["x"])
    assert len(model.tree_.left_categories(0)) == 6 and model.tree_.left_categories(0).sum() == 3
    found = evaluated(model, table)["prediction"]
    np.testing.assert_allclose(found.to_numpy(dtype=float), model.predict(table), atol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [[False, True], [3, 7], [0.0, 2.0], ["no", "yes"]],
    ids=lambda ls: type(ls[0]).__name__,
)
def test_labels_keep_their_type(evaluated, rng, labels):
    X = pd.DataFrame({"x": rng.normal(size=200)})
    model = ModelTreeClassifier(max_depth=1).fit(X, np.array(labels)[(X["x"] > 0).astype(int)])
    found = evaluated(model, X)["label"]
    assert found.tolist() == model.predict(X).tolist()
    assert type(found.tolist()[0]) is type(labels[0])


def test_truth_values_and_mixed_categories(evaluated, rng):
    values = rng.choice(np.array([True, False], dtype=object), 200)
    table = pd.DataFrame({"b": values, "x": rng.normal(size=200)})
    model = ModelTreeRegressor(categorical_features=["b"]).fit(table, rng.normal(size=200))
    np.testing.assert_allclose(evaluated(model, table)["prediction"], model.predict(table))
    mixed = pd.DataFrame({"m": rng.choice(np.array(["1", 1], dtype=object), 200)})
    with pytest.raises(ExportError, match="'m'.*one type"):
        to_pmml(ModelTreeRegressor().fit(mixed, rng.normal(size=200)))


def test_what_xml_cannot_hold(rng):
    for name in ("a\0b", "a\x1b"):
        table = pd.DataFrame({name: rng.normal(size=100)})
        model = ModelTreeRegressor(max_depth=0).fit(table, rng.normal(size=100))
        with pytest.raises(ExportError, match="XML"):
            to_pmml(model)
    with pytest.raises(ValueError, match="target='a'"):
        to_pmml(zoo.case("binary").model, target="a")


@pytest.mark.parametrize("to_left", [False, True])
def test_a_deep_tree(evaluated, to_left):
    model, X = deep_model(150, to_left)
    found = evaluated(model, pd.DataFrame(X, columns=["x0"]))["prediction"]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)
    assert len(to_pmml(deep_model(600, to_left)[0])) < 5e6
