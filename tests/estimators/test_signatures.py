"""Signatures, docstrings and the table of parameters say the same, in the same order."""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.rows.backends.engines import ENGINES

ROOT = Path(__file__).parents[2]
BOTH = pytest.mark.parametrize("kind", [ModelTreeRegressor, ModelTreeClassifier])
GROUPS = ["loss and penalty", "size", "splits", "columns", "readability", "resources"]
OWN = {"loss", "class_weight", "positive_class"}


def parameters(kind):
    return inspect.signature(kind).parameters


def entries(kind):
    """By parameter, its type and its text in the docstring."""
    section = re.split(r"\n(?:Parameters|Attributes)\n-+\n", inspect.getdoc(kind))[1]
    found = re.findall(r"^(\w+) : (.*)\n((?:    .*\n?)+)", section, flags=re.MULTILINE)
    return {name: (type_, text) for name, type_, text in found}


def groups(kind):
    """By group, its parameters in the summary of the docstring."""
    summary = inspect.getdoc(kind).partition("\nParameters\n")[0]
    lists = re.findall(r"^\* ([a-z ]+): ((?:.*\n)(?:  .*\n)*)", summary, flags=re.MULTILINE)
    return {name: re.findall(r"``(\w+)``", text) for name, text in lists}


def in_comments(kind):
    """By group, its parameters in the signature as it is written."""
    written = inspect.getsource(kind.__init__).partition("-> None")[0]
    blocks = re.split(r"^        # (.*)\n", written, flags=re.MULTILINE)[1:]
    lists = [re.findall(r"^        (\w+):", block, flags=re.MULTILINE) for block in blocks[1::2]]
    return dict(zip(blocks[::2], lists, strict=True))


def in_docs():
    """By group, the names and defaults in docs/parameters.md."""
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)\n", page, flags=re.MULTILINE)[1:]
    row = re.compile(r"^\| `(\w+)` \| (.*?) \|", flags=re.MULTILINE)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {name.lower(): dict(row.findall(part)) for name, part in pairs}


def choices(text):
    """The words in quotes, but for the default."""
    return set(re.findall(r"[\"'](\w+)[\"']", text.partition("default=")[0]))


@BOTH
def test_groups_are_the_same_everywhere(kind):
    assert list(groups(kind)) == GROUPS
    assert [name for group in groups(kind).values() for name in group] == list(parameters(kind))
    assert in_comments(kind) == groups(kind)
    known = parameters(kind)
    listed = {name: [n for n in own if n in known] for name, own in in_docs().items()}
    assert listed == groups(kind)


@BOTH
def test_every_parameter_is_described_with_its_default(kind):
    described = entries(kind)
    assert list(described) == list(parameters(kind))
    for name, parameter in parameters(kind).items():
        default = described[name][0].rpartition("default=")[2]
        assert ast.literal_eval(default) == parameter.default, name
        table = next(own[name] for own in in_docs().values() if name in own)
        assert parameter.default in map(ast.literal_eval, re.findall(r"`(.*?)`", table)), name


def test_both_describe_what_they_share_in_the_same_words():
    regressor, classifier = entries(ModelTreeRegressor), entries(ModelTreeClassifier)
    assert set(classifier) - set(regressor) == {"class_weight", "positive_class"}
    for name in regressor.keys() - OWN:
        assert regressor[name] == classifier[name], name
        mine, other = (parameters(k)[name] for k in (ModelTreeRegressor, ModelTreeClassifier))
        assert mine == other, name


@BOTH
def test_types_say_which_words_are_accepted(kind):
    engines = {engine.NAME for engine in ENGINES}  # no code but their own names them
    for name, parameter in parameters(kind).items():
        assert choices(parameter.annotation) == choices(entries(kind)[name][0]) - engines, name
        assert parameter.annotation not in ("Any", "str"), name


WORDS = [
    pytest.param(kind, name, word, id=f"{kind.__name__}-{name}-{word}")
    for kind in (ModelTreeRegressor, ModelTreeClassifier)
    for name, parameter in parameters(kind).items()
    for word in sorted(choices(parameter.annotation))
    if name != "backend"  # tests/rows/backends
]


@pytest.mark.parametrize(("kind", "name", "word"), WORDS)
def test_every_word_is_accepted(rng, kind, name, word):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] > 0 if kind is ModelTreeClassifier else np.exp(X[:, 0])
    assert kind(**{name: word}).fit(X, y).get_n_leaves() >= 1


def packages(extra):
    """The packages of an extra, with those of the extras that it consists of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = set()
    for line in project["optional-dependencies"][extra]:
        name, inner = re.match(r"([\w-]+)(?:\[(.*)\])?", line).groups()
        found |= set().union(*map(packages, inner.split(","))) if name == "glassleaf" else {name}
    return found


def test_the_extra_all_has_every_package_that_the_code_asks_for():
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    asked = set(re.findall(r'extra="(\w+)"', source)) - {"none"}
    assert asked >= {"plot", "onnx"}
    assert set().union(*map(packages, asked)) <= packages("all")


def test_nothing_private_of_scikit_learn_is_imported():
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            private = [n for n in names if n.startswith("sklearn") and "._" in n]
            assert not private, (path.name, private)
