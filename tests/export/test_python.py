"""The generated Python module, executed by itself: equal to rounding for 10,000 rows."""

import ast
import subprocess
import sys

import numpy as np
import pytest
import zoo
from deep import deep_model

from glassleaf.export import to_python


def module(source):
    space = {"__name__": "model"}
    exec(compile(source, "model.py", "exec"), space)
    return space


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_the_module_is_what_predict_says(kind):
    case = zoo.case(kind)
    model = module(to_python(case.model))
    found = np.array([model["predict"](row) for row in case.rows])
    np.testing.assert_allclose(found, case.expected, rtol=1e-12, atol=1e-12)
    leaves = [model["leaf"](record) for record in case.records]
    np.testing.assert_array_equal(leaves, case.model.apply(case.table))


def test_it_imports_nothing_but_math(tmp_path):
    case = zoo.case("multiclass, winsor, clamp")
    source = to_python(case.model)
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [alias.name for node in imports for alias in node.names] == ["math"]
    assert source.isascii()
    path = tmp_path / "m.py"
    path.write_text(source)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import m; print(m.predict([None] * 7))"
    )
    run = [sys.executable, "-I", "-S", "-c", code]
    found = ast.literal_eval(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    empty = case.table[:1].astype(object)
    empty.iloc[0] = None
    empty = empty.astype(dict.fromkeys(zoo.NAMES[:4], float) | {"n": float})
    np.testing.assert_allclose(found, case.model.predict_proba(empty)[0], rtol=1e-12)


def test_a_deep_tree():
    model, X = deep_model()
    assert model.get_depth() > 110
    predict = module(to_python(model))["predict"]
    np.testing.assert_allclose([predict(row) for row in X], model.predict(X), rtol=1e-12)


def test_wrong_rows():
    predict = module(to_python(zoo.case("binary").model))["predict"]
    with pytest.raises(ValueError, match="3 values instead of 7"):
        predict([1, 2, 3])
    with pytest.raises(KeyError):
        predict({"a": 1})
