"""The generated C, compiled by gcc without a warning and called: 10,000 rows, equal to rounding."""

import ctypes
import subprocess

import numpy as np
import pandas as pd
import pytest
import zoo
from deep import deep_model
from whole_models import ModelTreeRegressor

from glassleaf.errors import ExportError
from glassleaf.export import to_c

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-ffp-contract=off"]


@pytest.fixture
def compiled(gcc, tmp_path):
    def build(source, name="model"):
        (tmp_path / "model.c").write_text(source, encoding="ascii")
        library = tmp_path / f"{name}.so"
        subprocess.run(
            [gcc, *FLAGS, "-shared", "-fPIC", "model.c", "-o", library, "-lm"],
            check=True, cwd=tmp_path,
        )  # fmt: skip
        found = ctypes.CDLL(str(library))
        getattr(found, f"{name}_text").restype = ctypes.c_double
        getattr(found, f"{name}_number").restype = ctypes.c_double
        return found

    return build


def codes(library, case):
    """The rows as C wants them: numbers and codes."""
    out = np.empty((len(case.rows), len(case.table.columns)))
    columns = case.model.tree_.columns
    for i, row in enumerate(case.rows):
        for j, value in enumerate(row):
            if columns[j].categories is None:
                out[i, j] = np.nan if value is None else value
            elif value is None:
                out[i, j] = library.model_text(j, None)
            elif isinstance(value, str):
                out[i, j] = library.model_text(j, value.encode())
            else:
                out[i, j] = library.model_number(j, ctypes.c_double(value))
    return out


def predict(library, matrix, n_outputs):
    pointer = ctypes.POINTER(ctypes.c_double)
    out = np.empty((len(matrix), n_outputs))
    leaves = [
        library.model_predict(row.ctypes.data_as(pointer), found.ctypes.data_as(pointer))
        for row, found in zip(matrix, out, strict=True)
    ]
    return leaves, out


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_the_compiled_file_is_what_predict_says(compiled, kind):
    case = zoo.case(kind)
    library = compiled(to_c(case.model))
    n_outputs = 1 if case.expected.ndim == 1 else case.expected.shape[1]
    leaves, found = predict(library, codes(library, case), n_outputs)
    np.testing.assert_array_equal(leaves, case.model.apply(case.table))
    np.testing.assert_allclose(
        found.reshape(case.expected.shape), case.expected, rtol=1e-12, atol=1e-12
    )


def test_bends_and_limits_that_a_leaf_does_not_have_are_not_written():
    source = to_c(zoo.case("binary, curves without lines").model)
    assert "fmax(clip(z[0]" in source and "fmax(clip(z[1]" not in source
    short = to_c(zoo.case("curves").model)
    assert "fmax(z[" in short and "fmax(clip(z[" not in short


def test_a_deep_tree(compiled):
    model, X = deep_model()
    leaves, found = predict(compiled(to_c(model)), X, 1)
    np.testing.assert_array_equal(leaves, model.apply(X))
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-12)


def test_a_name_of_ones_own(compiled):
    library = compiled(to_c(zoo.case("binary").model, name="risk"), "risk")
    assert library.risk_predict
    for name in ("", "a b", "x;", "1a", "ä", "a" * 50):
        with pytest.raises(ValueError, match="name="):
            to_c(zoo.case("binary").model, name=name)


def test_what_c_cannot_write(rng):
    table = pd.DataFrame({"a\0b": rng.normal(size=100)})
    model = ModelTreeRegressor(max_depth=0).fit(table, rng.normal(size=100))
    with pytest.raises(ExportError, match="NUL"):
        to_c(model)
