"""The first second of a process, and its last."""

import gc
import subprocess
import sys

import pytest

from glassleaf.startup import without_collection


@pytest.mark.parametrize("was_enabled", [False, True])
def test_collection_is_afterwards_what_it_was(was_enabled):
    before = gc.isenabled()
    (gc.enable if was_enabled else gc.disable)()
    try:
        with pytest.raises(KeyError), without_collection():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == was_enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_collection_goes_on_when_the_last_of_several_threads_has_left():
    """The second comes while the first is inside, and leaves last."""
    assert gc.isenabled()
    first, second = without_collection(), without_collection()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_imports_hardly_collect_garbage_and_what_follows_does():
    """In a process of its own: here everything has been imported."""
    code = (
        "import gc, numpy, glassleaf; seen = [];"
        "gc.callbacks.append(lambda phase, info: seen.append(phase));"
        "kind = glassleaf.ModelTreeRegressor; assert len(seen) < 20, len(seen);"
        "assert gc.isenabled();"
        "kind(max_depth=0).fit(numpy.arange(20.0).reshape(10, 2), numpy.arange(10.0));"
        "assert gc.isenabled(); n = len(seen); gc.collect(); assert len(seen) > n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


IMPORT = "from glassleaf import ModelTreeRegressor"


def frozen_objects(*lines):
    """How many objects a script with these lines has left out of collections."""
    code = "\n".join([*lines, "import gc", "print(gc.get_freeze_count())"])
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return int(found.stdout)


@pytest.mark.parametrize(
    "before",
    ["", "import numpy as np", "from __future__ import annotations\nLIMIT = 3\ndef main(): pass"],
)
def test_what_the_imports_of_a_script_leave_behind_is_not_searched_again(before):
    assert frozen_objects(before, IMPORT) > 50_000


def test_only_the_first_import_leaves_something_out():
    later = ["import glassleaf", "held = [[] for _ in range(50_000)]", "glassleaf.explain"]
    assert abs(frozen_objects(IMPORT, *later) - frozen_objects(IMPORT)) < 10_000


@pytest.mark.parametrize(
    "lines",
    [
        ["held = [[]]", IMPORT],
        ["def work():", f"    {IMPORT}", "work()"],
        ["import numba", IMPORT],
        ["class Own: pass", "own = Own()", IMPORT],
    ],
    ids=["a list", "in a function", "somebody imported before", "an object"],
)
def test_where_a_script_has_done_more_nothing_is_left_out(lines):
    assert frozen_objects(*lines) == 0


def test_what_a_user_has_made_is_still_found():
    lines = [
        "import gc, weakref",
        "class Own: pass",
        "own = Own(); own.itself = own; watch = weakref.ref(own)",
        IMPORT,
        "del own; gc.collect(); assert watch() is None",
    ]
    assert frozen_objects(*lines) == 0


# Kernels of compressed rows have indices of two sizes: of columns and of bins.
COMPILED_TWICE = {"append_entries", "take_rows"}

FITS = """
import numpy as np
import pandas as pd
from glassleaf import ModelTreeClassifier, ModelTreeRegressor, _kernels, paper_settings

_kernels.first_run._compile_most()  # for the same kinds of arrays as fits
rng = np.random.default_rng(0)
X = pd.DataFrame({
    "a": rng.normal(size=900), "b": rng.normal(size=900) * (rng.random(900) < 0.1),
    "c": pd.Categorical(rng.choice(list("pqrs"), 900)), "i": rng.integers(0, 2, 900),
})
X.loc[::7, "a"] = np.nan
weight, y = rng.random(900), np.where(X["i"] == 1, X["a"].fillna(1), X["b"])
numbers = rng.normal(size=(900, 3))
numbers.setflags(write=False)
for given in ({}, {"l1_ratio": 0.5}, {"renormalize": "minmax"}, paper_settings("MT-G")):
    ModelTreeRegressor(**{**given, "significance": None}).fit(X, y, weight)
    ModelTreeRegressor(**{**given, "significance": None}).fit(numbers, y)
ModelTreeClassifier(significance=None).fit(X, y > 0).predict(X)
ModelTreeClassifier(significance=None).fit(X, np.digitize(y, [-0.3, 0.3])).predict(X)
for name, kernel in vars(_kernels).items():
    print(name, len(getattr(kernel, "signatures", ())))
"""


def test_kernels_are_compiled_for_one_kind_of_array():
    """Another one (read-only, or columns first) would cost a second for the same result."""
    found = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    counts = dict(line.split() for line in found.stdout.splitlines())
    assert counts["sum_log_loss"] == counts["sum_multiclass_log_loss"] == "1"
    often = {name for name, n in counts.items() if int(n) > 1 and not name.startswith("_")}
    assert often == COMPILED_TWICE
