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
from glassleaf.errors import MissingExtraError
from glassleaf.rows.backends import engines
from glassleaf.rows.backends.engines import ENGINES, Engine

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


# --- partitions that differ ----------------------------------------------------------------------

# What the second of three partitions may have been turned into without a change of the tree.
HARMLESS = {
    "columns in another order": lambda piece: piece[piece.columns[::-1]],
    "fewer bits": lambda piece: piece.assign(count=piece["count"].astype("int8")),
    "floats": lambda piece: piece.assign(count=piece["count"].astype("float32")),
    "nullable numbers": lambda piece: piece.assign(count=piece["count"].astype("Int64")),
    "objects": lambda piece: piece.assign(count=piece["count"].astype(object)),
    "numbers for flags": lambda piece: piece.assign(flag=piece["flag"].astype(int)),
    "categories": lambda piece: piece.assign(kind=piece["kind"].astype("category")),
    "text for categories": lambda piece: piece.assign(level=piece["level"].astype(str)),
    "other categories": lambda piece: piece.assign(level=piece["level"].cat.set_categories(["no"])),
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_a_partition_may_look_different(second, change):
    X, y, _ = problem(900)
    X["flag"] = X["b"] > 0
    X["level"] = np.where(X["a"] > 0, "yes", "no")
    X.loc[300:599, "level"] = "no"  # the second partition lacks a category
    X["level"] = X["level"].astype("category")
    whole = ModelTreeRegressor(max_depth=2).fit(X, y)
    pieces = cut(X.assign(_y=y), 3)
    pieces[1] = change(pieces[1])
    pieces.insert(1, pieces[0].iloc[:0])
    model = ModelTreeRegressor(max_depth=2, backend="lists").fit(Frames(pieces), "_y")
    assert_same_tree(model.tree_, whole.tree_)


def test_columns_may_have_numbers_for_names(second):
    X, y, _ = problem(300)
    X = X[["a", "b", "heavy"]].set_axis([0, 1, 2], axis=1)
    whole = ModelTreeRegressor(max_depth=1).fit(X, y)
    given = Frames(cut(X, 2)), Frames(np.array_split(y, 2))
    model = ModelTreeRegressor(max_depth=1, backend="lists").fit(*given)
    assert_same_tree(model.tree_, whole.tree_)


@pytest.mark.parametrize("kind", ["int8", "int64", "float32", "bool", "<U3", "O"])
def test_classes_have_the_type_of_the_labels(second, kind):
    X, y, _ = problem(300)
    labels = np.where(y > 0, "yes", "no") if kind in ("<U3", "O") else y > 0
    labels = labels.astype(kind)
    whole = ModelTreeClassifier(max_depth=0).fit(X, labels)
    given = Frames(cut(X, 3)), Frames(np.array_split(labels, 3))
    model = ModelTreeClassifier(max_depth=0, backend="lists").fit(*given)
    assert model.classes_.dtype == whole.classes_.dtype
    assert model.classes_.tolist() == whole.classes_.tolist()


@pytest.mark.parametrize(("kinds", "together"), [(["i8", "f8"], "f8"), (["?", "i4"], "i4")])
def test_labels_of_several_types_become_those_of_one_table(second, kinds, together):
    X, y, _ = problem(300)
    for order in (kinds, kinds[::-1]):
        labels = [
            (part > 0).astype(kind) for part, kind in zip(np.array_split(y, 2), order, strict=True)
        ]
        given = Frames(cut(X, 2)), Frames(labels)
        model = ModelTreeClassifier(max_depth=0, backend="lists").fit(*given)
        assert model.classes_.dtype == together


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: -1.0}, "must give every class a finite weight"),
        ({0: np.nan}, "must give every class a finite weight"),
        ({0: 0.0, 1: 0.0, 2: 0.0}, "must give every class a finite weight"),
        ({5: 1.0}, "not in class_weight"),
        ("even", "class_weight"),
    ],
)
def test_class_weights_are_those_of_tables_or_refused_alike(second, class_weight, message):
    X, y, _ = problem(300)
    labels = np.digitize(y, [-0.5, 1.0])
    tables = {"local": (X, labels), "lists": (Frames([X]), Frames([labels]))}
    for backend, given in tables.items():
        with pytest.raises(ValueError, match=message):
            ModelTreeClassifier(class_weight=class_weight, backend=backend).fit(*given)


def test_targets_that_are_no_labels_are_refused(second):
    X, y, _ = problem(300)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        ModelTreeClassifier(backend="lists").fit(Frames([X]), Frames([np.round(y, 1)]))


@pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
def test_rows_without_weight_are_no_rows(second, kind):
    X, _, _ = problem(100)
    given = Frames([X.assign(_y=np.arange(100) % 2, _w=0.0)])
    with pytest.raises(ValueError, match="no rows, or sample_weight is zero"):
        kind(backend="lists").fit(given, "_y", "_w")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda piece: piece.drop(columns="b"), "Partition 1 has other columns than X: b"),
        (lambda piece: piece.assign(z=0), "Partition 1 has other columns than X: z"),
        (lambda piece: piece[[*piece.columns, "b"]], "unique column names"),
        (lambda piece: piece.assign(a="text"), "Partition 1: column 'a' holds text, and numbers"),
        (lambda piece: piece.assign(kind=1), "Partition 1: column 'kind' holds numbers, and text"),
        (lambda piece: piece.assign(a=np.inf), "Partition 1: column 'a' contains infinity"),
        (lambda piece: piece.assign(_y=np.nan), "Partition 1: Input y contains NaN"),
        (lambda piece: piece.assign(_w=-1.0), "Partition 1: sample_weight contains -1; negative"),
    ],
)
def test_a_partition_that_does_not_fit_is_refused(second, change, message):
    X, y, weight = problem(200)
    pieces = cut(X.assign(_y=y, _w=weight), 2)
    pieces[1] = change(pieces[1])
    with pytest.raises((TypeError, ValueError), match=message):
        ModelTreeRegressor(backend="lists").fit(Frames(pieces), "_y", "_w")


def test_target_and_weight_cannot_be_the_same_column(second):
    X, y, _ = problem(100)
    with pytest.raises(ValueError, match="the same column, '_y'"):
        ModelTreeRegressor(backend="lists").fit(Frames([X.assign(_y=y)]), "_y", "_y")


# --- the seam ------------------------------------------------------------------------------------


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
    assert known == {
        "rows/backends/engines.py",
        *(f"rows/backends/{name}.py" for name in names),
    }


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
