"""The first second of a process."""

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


def test_garbage_is_collected_after_an_import_and_a_fit():
    """In a process of its own: here everything has been imported."""
    code = (
        "import gc, numpy, glassleaf;"
        "model = glassleaf.ModelTreeRegressor(max_depth=0);"
        "assert gc.isenabled();"
        "model.fit(numpy.arange(20.0).reshape(10, 2), numpy.arange(10.0));"
        "assert gc.isenabled()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
