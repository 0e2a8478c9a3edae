"""The tools around scikit-learn: pickles, skops, MLflow, inspection, notebooks."""

import os
import pickle
import re
from html import escape

import joblib
import needed
import numpy as np
import pytest
import zoo
from sklearn import config_context
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import explain, load

SOME = ["huber, winsor, clamp", "binary", "multiclass"]


@pytest.mark.parametrize("kind", SOME)
def test_pickle_and_joblib(tmp_path, kind):
    case = zoo.case(kind)
    joblib.dump(case.model, tmp_path / "m.joblib")
    for loaded in (pickle.loads(pickle.dumps(case.model)), joblib.load(tmp_path / "m.joblib")):
        np.testing.assert_array_equal(zoo.predicted(loaded, case.table), case.expected)


@pytest.mark.parametrize("kind", SOME)
def test_skops(kind):
    io = needed.module("skops.io")
    case = zoo.case(kind)
    data = io.dumps(case.model)
    untrusted = io.get_untrusted_types(data=data)
    assert untrusted and all(name.startswith("glassleaf.") for name in untrusted)
    loaded = io.loads(data, trusted=untrusted)
    np.testing.assert_array_equal(zoo.predicted(loaded, case.table), case.expected)


def test_mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/runs")
    mlflow = needed.module("mlflow")
    flavor = needed.module("mlflow.sklearn")
    case = zoo.case("squared_error")
    path = os.fspath(tmp_path / "model")
    requirements = ["glassleaf"]  # named, or MLflow starts a process to find out
    flavor.save_model(
        case.model, path, serialization_format="cloudpickle", pip_requirements=requirements
    )
    loaded = flavor.load_model(path)
    np.testing.assert_array_equal(loaded.predict(case.table), case.expected)
    generic = mlflow.pyfunc.load_model(path)
    np.testing.assert_array_equal(generic.predict(case.table), case.expected)


def test_mlflow_as_documented(tmp_path, monkeypatch):
    """The recipe of docs/production.md, with a store in a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = needed.module("mlflow")
    needed.module("mlflow.sklearn")
    case = zoo.case("binary")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    with mlflow.start_run() as run:
        logged = mlflow.sklearn.log_model(
            case.model, name="model", serialization_format="cloudpickle",
            pip_requirements=["glassleaf"], input_example=case.table[:2],
        )  # fmt: skip
        case.model.save("model.json")
        mlflow.log_artifact("model.json")
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict_proba(case.table), case.expected)
    path = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="model.json")
    np.testing.assert_array_equal(load(path).predict_proba(case.table), case.expected)


def test_inspection(regression, binary):
    for model, (X, y) in ((ModelTreeRegressor(), regression), (ModelTreeClassifier(), binary)):
        model.fit(X, y)
        found = permutation_importance(model, X, y, n_repeats=3, random_state=0)
        assert found.importances_mean.argmin() == 3  # the column that y does not depend on
        curve = partial_dependence(model, X, [1], grid_resolution=5)
        assert curve["average"].shape == (1, 5)


def test_partial_dependence_of_a_category():
    case = zoo.case("binary")
    name = zoo.NAMES[6]
    complete = case.table[:300].dropna(subset=[name])  # scikit-learn sorts the categories
    found = partial_dependence(case.model, complete, [name], categorical_features=[name])
    assert found["average"].shape == (1, complete[name].nunique())


# --- notebooks -----------------------------------------------------------------------------------


def html(model):
    return model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_a_notebook_shows_the_tree_above_the_diagram(kind):
    model = zoo.case(kind).model
    text = html(model)
    assert "sk-estimator" in text and text.count("glassleaf-tree") == 1
    assert text.count("<b>leaf") == model.get_n_leaves()
    plain, bundled = (re.sub(r"-id-\d+", "", t) for t in (model._repr_html_(), text))
    assert plain == bundled
    tree = text[text.index("glassleaf-tree") : text.index("<details")]
    assert "</script>" not in tree and "<script" not in tree  # names are escaped
    for node in explain(model).splits:  # said as everywhere
        for condition in (node.split.condition, node.split.otherwise):
            assert f"<li>{escape(condition.text)}" in tree


def test_a_notebook_shows_formulas(rng):
    X = rng.normal(size=(300, 2))
    model = ModelTreeRegressor(max_depth=0, alpha=0, leaf_transform="none", max_numbers=None)
    model.fit(X, 3 - 2 * X[:, 0])
    assert "<b>leaf 1</b>, 300 rows (100%): 3 - 2·x0" in html(model)


def test_a_notebook_shows_bends(rng):
    X = rng.uniform(-1, 1, size=(2000, 2))
    model = ModelTreeRegressor(max_depth=0, curves=True).fit(X, 3 * np.abs(X[:, 0]) + X[:, 1])
    assert re.search(r"[\d.]+·x0 [-+] [\d.]+·max\(0, x0", html(model))


def test_before_fit_and_without_diagrams(rng):
    assert "glassleaf-tree" not in html(ModelTreeRegressor())
    with config_context(display="text"):
        assert "text/html" not in zoo.case("binary").model._repr_mimebundle_()
    X = rng.normal(size=(300, 2))
    pipeline = make_pipeline(StandardScaler(), ModelTreeRegressor()).fit(X, X[:, 0])
    assert "sk-estimator" in html(pipeline)


def test_a_large_tree_is_only_counted(rng):
    X = rng.normal(size=(3000, 2))
    y = np.sin(5 * X[:, 0]) * np.cos(5 * X[:, 1])
    model = ModelTreeRegressor(max_depth=7, min_samples_leaf=10, significance=None).fit(X, y)
    assert model.get_n_leaves() > 32
    assert f"{model.get_n_leaves()} leaves, 3,000 rows" in html(model)
