"""Compiled kernels: read from where they are, kept where that is allowed, never in the way."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import glassleaf

SOURCE = Path(glassleaf.__file__).parent
DOCS = SOURCE.parents[1] / "docs"
NOWHERE = "/dev/null/cache"

READ_ONLY = """
import tempfile
def refused(**_):
    raise PermissionError("read-only")
tempfile.TemporaryFile = refused
"""
COMPILE = """
import sys
from glassleaf import _kernels
import numpy as np
codes = np.zeros(3, dtype=np.uint16)
_kernels.assign_bins(np.array([1.0, 2.0, 9.0]), np.array([1.5, 3.0]), 2, codes)
assert codes.tolist() == [0, 1, 1], codes
_kernels.announce_compilation()
stats = _kernels.assign_bins.stats
print(len(stats.cache_hits), len(stats.cache_misses), file=sys.stdout)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package that has not been compiled."""
    where = tmp_path / "src" / "glassleaf"
    shutil.copytree(SOURCE, where, ignore=shutil.ignore_patterns("__pycache__"))
    return where


@pytest.fixture
def run(package):
    """Run code in a process of its own; what it printed, and what it logged."""

    def run(code, **settings):
        environment = {**os.environ, "PYTHONPATH": str(package.parent), "HOME": NOWHERE,
                       "XDG_CACHE_HOME": NOWHERE, "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
        for own in ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT"):
            environment.pop(own, None)
        done = subprocess.run(
            [sys.executable, "-c", code], env={**environment, **settings},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), done.stderr.strip().splitlines()

    return run


def test_without_a_writable_folder_kernels_live_in_memory(package, run):
    (package / "_kernels" / "__pycache__").write_text("not a folder")
    found, said = run(COMPILE, NUMBA_CACHE_DIR=NOWHERE)
    assert found == ["0", "1"]
    assert len(said) == 1 and "NUMBA_CACHE_DIR" in said[0]


def test_what_was_compiled_is_read_from_a_read_only_folder(run):
    assert run(COMPILE)[0] == ["0", "1"]
    assert run(READ_ONLY + COMPILE) == (["1", "0"], [])


def test_a_folder_of_ones_own_does_not_hide_the_compiled_kernels(run, tmp_path):
    """An arbitrary user of an image has a home that is empty and may be written to."""
    assert run(COMPILE)[0] == ["0", "1"]
    assert run(COMPILE, NUMBA_CACHE_DIR=str(tmp_path / "empty")) == (["1", "0"], [])


@pytest.mark.parametrize(("end", "length"), [("nbi", 0), ("nbc", 100)])
def test_a_truncated_file_heals_itself(run, tmp_path, end, length):
    folder = str(tmp_path / "cache")
    run(COMPILE, NUMBA_CACHE_DIR=folder)
    (file,) = Path(folder).rglob(f"*assign_bins*.{end}")
    file.write_bytes(file.read_bytes()[:length])
    found, said = run(COMPILE, NUMBA_CACHE_DIR=folder)
    assert found == ["0", "1"] and "damaged" in said[0]
    assert run(COMPILE, NUMBA_CACHE_DIR=folder) == (["1", "0"], [])


# --- the image -----------------------------------------------------------------------------------

SERVE = """
import sys
import glassleaf
model = glassleaf.load("model.json")
rows = [[1.0, 2.0], [3.0, 4.0]]
model.predict(rows)
from glassleaf import _kernels
used = [kernel for kernel in vars(_kernels).values() if getattr(kernel, "signatures", None)]
assert used
print(sum(len(kernel.stats.cache_misses) for kernel in used))
"""


def test_the_recipe_for_an_image(run, tmp_path, monkeypatch):
    """Its lines run one after the other; then everything is read-only, and nothing is compiled."""
    text = (DOCS / "production.md").read_text()
    recipe = re.search(r"```dockerfile\n(.*?)```", text, re.DOTALL)[1].replace("\\\n", " ")
    settings = dict(re.findall(r"^ENV (\w+)=(\S+)$", recipe, re.MULTILINE))
    settings["NUMBA_CACHE_DIR"] = str(tmp_path / "kernels")
    monkeypatch.chdir(tmp_path)
    run("import numpy as np; from glassleaf import ModelTreeRegressor;"
        "X = np.random.default_rng(0).normal(size=(200, 2));"
        "ModelTreeRegressor().fit(X, X[:, 0]).save('model.json');"
        "np.savetxt('rows.csv', X[:3], delimiter=',', header='x0,x1', comments='')")  # fmt: skip
    commands = re.findall(r"^RUN glassleaf (.*)$", recipe, re.MULTILINE)
    assert commands
    for words in commands:
        run(f"import glassleaf.cli; glassleaf.cli.main({words.split()!r})", **settings)
    assert run(READ_ONLY + SERVE, **settings)[0] == ["0"]
