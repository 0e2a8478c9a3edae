"""ONNX in onnxruntime: raw typed columns in, the same predictions out, for 10,000 rows."""

import needed
import numpy as np
import pandas as pd
import pytest
import zoo
from deep import deep_model
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf.errors import ExportError
from glassleaf.export import to_onnx

onnxruntime = needed.module("onnxruntime")


def session(model):
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def inputs(model, table):
    """A feed from a table: doubles with NaN, strings with "" for missing."""
    out = {}
    for column in model.tree_.columns:
        values = table[column.name]
        if column.is_categorical and any(isinstance(c, str) for c in column.categories):
            filled = [("" if pd.isna(v) else v) for v in values]
            out[column.name] = np.array(filled, dtype=object)[:, None]
        else:
            out[column.name] = values.to_numpy(dtype=float)[:, None]
    return out


def run(model, table, exported=None):
    live = session(exported or to_onnx(model))
    names = [output.name for output in live.get_outputs()]
    return dict(zip(names, live.run(None, inputs(model, table)), strict=True))


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_onnxruntime_says_what_predict_says(kind):
    case = zoo.case(kind)
    found = run(case.model, case.table)
    np.testing.assert_array_equal(found["leaf"], case.model.apply(case.table))
    if case.expected.ndim == 1:
        assert found["prediction"].dtype == np.float64
        scale = np.abs(case.expected).max()
        np.testing.assert_allclose(
            found["prediction"], case.expected, rtol=1e-10, atol=1e-12 * scale
        )
        return
    np.testing.assert_allclose(found["probabilities"], case.expected, rtol=0, atol=1e-12)
    assert found["probabilities"].dtype == np.float64
    first, second = np.sort(case.expected, axis=1)[:, :-3:-1].T
    is_clear = first - second > 1e-9  # a tie is anybody's guess
    assert is_clear.mean() > 0.9
    labels = case.model.predict(case.table)
    assert found["label"][is_clear].tolist() == labels[is_clear].tolist()


def test_inputs_are_raw_and_typed():
    kinds = {
        i.name: (i.type, i.shape) for i in session(to_onnx(zoo.case("binary").model)).get_inputs()
    }
    assert list(kinds) == zoo.NAMES
    assert [kinds[name][0] for name in zoo.NAMES] == [
        *["tensor(double)"] * 4, "tensor(string)", "tensor(double)", "tensor(string)",
    ]  # fmt: skip
    assert all(shape == ["rows", 1] for _, shape in kinds.values())


@pytest.mark.parametrize("n_rows", [0, 1, 2])
@pytest.mark.parametrize("kind", ["multiclass", "no split"])
def test_few_rows(kind, n_rows):
    case = zoo.case(kind)
    found = run(case.model, case.table[:n_rows])
    values = found.get("probabilities", found.get("prediction"))
    np.testing.assert_allclose(values, case.expected[:n_rows], rtol=1e-10, atol=1e-12)


def test_a_deep_tree():
    model, X = deep_model()
    found = run(model, pd.DataFrame(X, columns=["x0"]))
    np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [[False, True], [3, 7], [0.0, 2.0], ["no", "yes"]],
    ids=lambda ls: type(ls[0]).__name__,
)
def test_labels_keep_their_type(rng, labels):
    X = pd.DataFrame({"x": rng.normal(size=200)})
    model = ModelTreeClassifier(max_depth=1).fit(X, np.array(labels)[(X["x"] > 0).astype(int)])
    label = run(model, X)["label"]
    assert label.tolist() == model.predict(X).tolist()
    assert type(label.tolist()[0]) is type(labels[0])


def test_another_text_for_missing(rng):
    table = pd.DataFrame({"t": rng.choice(np.array(["", "a", None], dtype=object), 300)})
    model = ModelTreeRegressor().fit(table, rng.normal(size=300))
    with pytest.raises(ExportError, match="missing_text=''.*'t'"):
        to_onnx(model)
    live = session(to_onnx(model, missing_text="<missing>"))
    feed = {"t": table["t"].fillna("<missing>").to_numpy(dtype=object)[:, None]}
    np.testing.assert_allclose(live.run(["prediction"], feed)[0], model.predict(table), rtol=1e-12)


@pytest.mark.parametrize("name", ["leaf", "prediction", ""])
def test_names_that_outputs_have(rng, name):
    table = pd.DataFrame({name: rng.normal(size=100)})
    with pytest.raises(ExportError, match=repr(name)):
        to_onnx(ModelTreeRegressor(max_depth=0).fit(table, rng.normal(size=100)))


def test_columns_named_like_our_tensors(rng):
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["_0", "_c1", "__2"])
    model = ModelTreeRegressor().fit(table, table["_0"] * table["_c1"])
    np.testing.assert_allclose(run(model, table)["prediction"], model.predict(table), rtol=1e-10)


@pytest.mark.parametrize("positive", [False, True])
def test_tiny_probabilities_stay_what_they_are(rng, positive):
    X = rng.normal(size=(300, 1))
    model = ModelTreeClassifier(max_depth=0, positive_class=positive).fit(X, X[:, 0] > 0)
    slope = abs(model.tree_.coef[0, 0])
    far = np.array([-600.0, -200.0, -90.0, 90.0, 200.0, 600.0])[:, None] / slope
    found = run(model, pd.DataFrame(far, columns=["x0"]))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(far), rtol=1e-9)
