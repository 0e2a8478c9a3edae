"""Model files, and the columns a command wants beside those of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glassleaf
from glassleaf.cli.failures import CallError, no_column, no_file, suggestion
from glassleaf.cli.reading.chunks import Source


def read_model(path: Path) -> Any:
    """The estimator in a model file."""
    if path.is_dir():
        raise CallError(f"{str(path)!r} is a folder; name a model file.")
    if not path.exists():
        raise no_file(path)
    return glassleaf.load(path)


def target_column(given: str | None, estimator: Any, source: Source) -> str:
    """The column of true values: as named, or the only one that the model does not have."""
    if given is not None:
        if given not in source.names:
            raise no_column(given, source.names, source.name)
        return given
    known = {column.name for column in estimator.tree_.columns}
    others = [name for name in source.names if name not in known]
    if len(others) == 1:
        return others[0]
    if not others:
        raise CallError(f"{source.name} has no column beside the model's; where is the target?")
    raise CallError(
        f"which column holds the true values? Say --target NAME; {source.name} has, beside the"
        f" columns of the model: {', '.join(others)}."
    )


def check_column(name: str | None, source: Source) -> None:
    if name is not None and name not in source.names:
        raise no_column(name, source.names, source.name)


def label_of(estimator: Any, given: str | None, option: str) -> Any:
    """The class that is written like this."""
    if given is None:
        return None
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise CallError(f"{option}: the model predicts numbers; it has no classes.")
    for label in classes.tolist():
        if str(label) == given:
            return label
    raise CallError(f"{option}: no class {given!r}{suggestion(given, list(map(str, classes)))}")
