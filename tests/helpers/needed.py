"""What tests need beside the library. In CI, which installs it all, what is missing is a failure;
elsewhere a skip that says what to do. Only the datasets, which are nobody's to ship, may be
missing anywhere."""

import os
from importlib import import_module
from typing import Any, NoReturn

import pytest

data = pytest.mark.skipif(
    not os.environ.get("GLASSLEAF_DATA"), reason="GLASSLEAF_DATA does not name the data's folder"
)


def missing(what: str, install: str) -> NoReturn:
    message = f"{what} is not there; {install}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message, allow_module_level=True)


def module(name: str) -> Any:
    """A module of the test extra, or of one of its dependencies."""
    try:
        return import_module(name)
    except ImportError:
        missing(name, 'pip install "glassleaf[test]"')
