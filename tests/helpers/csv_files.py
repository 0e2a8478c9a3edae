"""CSV files, written and read by other code than that under test."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[..., Any]


def write_csv(path: Path, table: Any, **options: Any) -> None:
    """A table as CSV, by other code than that under test."""
    with open(path, "w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        writer = csv.writer(file, lineterminator="\n", **options)
        writer.writerow(table.column_names)
        for row in table.to_pylist():
            writer.writerow("" if value is None else value for value in row.values())


def read_csv(
    path: Path | str, text: str | None = None, delimiter: str = ","
) -> list[dict[str, str]]:
    content = text if text is not None else Path(path).read_text()
    return list(csv.DictReader(content.splitlines(), delimiter=delimiter))
