"""Models to the content of files; one entry per language."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glassleaf import export
from glassleaf.cli.failures import CallError
from glassleaf.cli.output.screen import note
from glassleaf.cli.reading.files import created

Options = dict[str, Any]


def exported(
    estimator: Any, language: str, name: str | None, sql: Options, card: Options, suffix: str
) -> bytes:
    """The model in that language; ``suffix`` tells an Excel scorecard from a CSV one."""
    named = {} if name is None else {"name": name}
    writers: dict[str, Callable[[], str | bytes]] = {
        "onnx": lambda: export.to_onnx(estimator).SerializeToString(),
        "pmml": lambda: export.to_pmml(estimator, **({} if name is None else {"target": name})),
        "sql": lambda: export.to_sql(estimator, **sql),
        "c": lambda: export.to_c(estimator, **named),
        "python": lambda: export.to_python(estimator),
        "js": lambda: export.to_javascript(estimator, **named),
        "scorecard": lambda: _scorecard(estimator, card, suffix),
    }
    content = writers[language]()
    if isinstance(content, bytes):
        return content
    return content.encode() if content.endswith("\n") else content.encode() + b"\n"


def _scorecard(estimator: Any, card: Options, suffix: str) -> str | bytes:
    found = export.to_scorecard(estimator, **card)
    if suffix.lower() != ".xlsx":
        return found.to_csv()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scorecard.xlsx")
        found.to_excel(path)
        return Path(path).read_bytes()


def write(content: bytes, output: str) -> None:
    if output == "-" and sys.stdout.isatty() and b"\0" in content:
        raise CallError("this is no text for a terminal; name a file: --output FILE")
    with created(output) as sink:
        sink.write(content)
    if output != "-":
        note(f"{len(content):,} bytes written to {output}")
