"""The one door to explanations and reports, which other parts of glassleaf make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import glassleaf
from glassleaf.cli.failures import CallError


def explain_rows(estimator: Any, X: Any) -> Sequence[Any]:
    """A RowExplanation for every row."""
    return _offered(glassleaf, "explain")(estimator, X)  # type: ignore[no-any-return]


def reasons(estimator: Any, X: Any, k: int, favorable: Any = None) -> Sequence[Any]:
    """The k features that hurt each row most."""
    more = {} if favorable is None else {"favorable": favorable}
    return _offered(glassleaf, "reasons")(estimator, X, k=k, **more)  # type: ignore[no-any-return]


def has_explanations() -> bool:
    return hasattr(glassleaf, "explain")


def has_report(estimator: Any) -> bool:
    return hasattr(estimator, "report")


def write_report(estimator: Any, X: Any, y: Any, path: Path) -> None:
    """The report of a model on rows with known targets."""
    _offered(estimator, "report")(X, y).write(str(path))


def _offered(owner: Any, name: str) -> Any:
    found = getattr(owner, name, None)
    if found is None:
        raise CallError(f"this version of glassleaf has no {name!r}; install a newer one.")
    return found
