"""Our exceptions and warnings, and the one door to optional dependencies."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from types import FrameType, ModuleType
from typing import Any

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


class GlassleafError(Exception):
    """Base class of the errors that only glassleaf raises."""


class MissingExtraError(GlassleafError, ImportError):
    """An optional dependency is needed for this and is not installed."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {module!r}, which is not installed. "
            f'Install it with: pip install "glassleaf[{extra}]"'
        )


class ModelFileError(GlassleafError, ValueError):
    """A model file is damaged, not a model file, or of a newer version."""


class ExportError(GlassleafError, ValueError):
    """This model cannot be written in that form."""


class BackendError(GlassleafError, RuntimeError):
    """A cluster, a worker of it, or the disk failed in a way that a fit cannot survive."""


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or say in one sentence how to get it.

    >>> require("json", extra="none", purpose="Reading JSON").__name__
    'json'
    >>> require("no_such_module", extra="plot", purpose="Plotting")
    Traceback (most recent call last):
    ...
    glassleaf.errors.MissingExtraError: Plotting needs the package 'no_such_module', which is \
not installed. Install it with: pip install "glassleaf[plot]"
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtraError(module, extra, purpose) from missing


def describe(value: Any) -> str:
    """A short, safe rendering of whatever came in, for error messages.

    >>> describe(3)
    '3'
    >>> describe([1] * 1000)
    'a list of length 1000'
    """
    text = repr(value)
    if len(text) <= 60 and "\n" not in text:
        return text
    size = f" of length {len(value)}" if hasattr(value, "__len__") else ""
    return f"a {type(value).__name__}{size}"


def warn(message: str) -> None:
    """Warn at the line outside of this package that led here."""
    frame: FrameType | None = sys._getframe()
    level = 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level + 1)
