"""What an engine has to be: a second one, in one file, fits the same trees."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import lists_engine
import numpy as np
import pytest
from lists_engine import Frames, Later
from partitions import CASES, assert_same_tree, case, cut, named, problem

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.backends import engines
from glassleaf.backends.engines import ENGINES, Engine
from glassleaf.errors import MissingExtraError

DECLARED = {name for name in vars(Engine) if not name.startswith("_")} | set(Engine.__annotations__)


@pytest.fixture
def second(monkeypatch):
    """The line in the list of engines."""
    monkeypatch.setattr(engines, "ENGINES", (*ENGINES, lists_engine))


@pytest.mark.parametrize("n_pieces", [1, 7])
@pytest.mark.parametrize("name", CASES)
def test_a_second_engine_gives_the_tree_of_the_table(second, name, n_pieces):
    model, X, target, weight = case(name, backend="lists")
    frame, *names = named(X, target, weight)
    model.fit(Frames(cut(frame, n_pieces)), *names)
    whole, *_ = case(name)
    assert_same_tree(model.tree_, whole.fit(X, target, weight).tree_)


def test_targets_may_be_collections_of_their_own(second):
    X, y, weight = problem()
    whole = ModelTreeRegressor(max_depth=1).fit(X, y, weight)
    given = [Frames(np.array_split(values, 3)) for values in (y, weight)]
    model = ModelTreeRegressor(max_depth=1, backend="lists").fit(Frames(cut(X, 3)), *given)
    assert_same_tree(model.tree_, whole.tree_)


def test_it_reads_parquet_files_too(second, tmp_path):
    X, y, _ = problem(500)
    for number, piece in enumerate(cut(X.assign(_y=y), 3)):
        piece.to_parquet(tmp_path / f"{number}.parquet")
    model = ModelTreeRegressor(max_depth=1, backend="lists").fit(tmp_path, "_y")
    assert_same_tree(model.tree_, ModelTreeRegressor(max_depth=1).fit(X, y).tree_)


def test_it_predicts_lazily(second):
    X, y, _ = problem()
    model = ModelTreeClassifier(max_depth=1).fit(X, np.digitize(y, [-0.5, 1.0]))
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply"):
        later, expected = getattr(model, method)(Frames(cut(X, 3))), getattr(model, method)(X)
        assert isinstance(later, Later) and later.dtype == expected.dtype
        assert later.shape[1:] == expected.shape[1:]
        np.testing.assert_array_equal(later.compute(), expected)


def test_messages_know_the_engines(second):
    X, y, _ = problem(100)
    frames = Frames(cut(X.assign(_y=y), 2))
    with pytest.raises(ValueError, match="'local', 'stream', 'dask', .*'lists'"):
        ModelTreeRegressor(backend="spark").fit(frames, "_y")
    with pytest.raises(ValueError, match="X is a list of frames and .*'stream': set it to 'lists'"):
        ModelTreeRegressor(backend="stream").fit(frames, "_y")
    with pytest.raises(ValueError, match="X is a list of frames and .*'dask': set it to 'lists'"):
        ModelTreeRegressor(backend="dask").fit(frames, "_y")
    with pytest.raises(TypeError, match="must be a list of frames, as X is"):
        ModelTreeRegressor(backend="lists").fit(frames, y)
    with pytest.raises(TypeError, match="'lists' takes a list of frames, or the path .* in memory"):
        ModelTreeRegressor(backend="lists").fit(X, y)


@pytest.mark.parametrize("engine", [*ENGINES, lists_engine], ids=lambda engine: engine.NAME)
def test_an_engine_offers_all_that_is_declared(engine):
    assert {name for name in DECLARED if hasattr(engine, name)} == DECLARED
    assert engine.is_meant(engine.NAME)
    for value in ("local", "stream", None, 3, np.zeros(3), [], "nothing://here"):
        assert not engine.is_meant(value)
        assert not engine.is_collection(value)


def test_only_its_own_file_and_the_list_know_an_engine():
    """The names of engines stand in no code outside the package; docstrings may name values."""
    root = Path(glassleaf.__file__).parent
    names = {engine.NAME for engine in ENGINES}
    known = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(name in _code(path) for name in names)
    }
    assert known == {"backends/engines.py", *(f"backends/{name}.py" for name in names)}


def _code(path):
    """A module in small letters, without docstrings and comments."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree).lower()


def test_fitting_here_does_not_import_an_engine():
    script = """
        import sys
        import numpy as np
        from glassleaf import ModelTreeRegressor
        X = np.random.default_rng(0).normal(size=(200, 2))
        ModelTreeRegressor().fit(X, X[:, 0]).predict(X)
        found = {"dask", "distributed"} & set(sys.modules)
        assert not found, f"{found} was imported"
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)


def test_what_to_install_is_said(monkeypatch, tmp_path):
    X, y, _ = problem(100)
    X.assign(_y=y).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"backend='dask' .*\"glassleaf\[dask\]\""):
        ModelTreeRegressor(backend="dask").fit(tmp_path, "_y")
    assert ModelTreeRegressor(max_depth=1).fit(tmp_path, "_y").tree_.n_samples[0] == 100
