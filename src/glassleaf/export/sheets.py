"""Tables as files for spreadsheets and browsers, in which no text is taken for more than that."""

from __future__ import annotations

import csv
import html
import io
import os
from collections.abc import Sequence
from typing import Any

from glassleaf.errors import require
from glassleaf.tree.file.atomic import write_atomically

# What a spreadsheet would take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

# Longest text of a cell in a page that is not broken into lines.
_SHORT = 32

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto;
  padding: 0 1rem; }}
div {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 0.4rem 0 1.6rem; }}
th, td {{ padding: 0.25rem 0.6rem; text-align: left; border-bottom: 1px solid #8884; }}
th, .short {{ white-space: nowrap; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def csv_text(rows: Sequence[Sequence[Any]], path: str | os.PathLike[str] | None) -> str:
    """Rows as CSV text, written to a file if there is a path."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([_harmless(value) for value in row])
    return _written(text.getvalue(), path)


def write_excel(path: str | os.PathLike[str], sheets: dict[str, Sequence[Sequence[Any]]]) -> None:
    """Sheets of rows by their names as one Excel file; the first row of each stays in view."""
    openpyxl = require("openpyxl", extra="excel", purpose="Writing Excel files")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"
        for i, row in enumerate(rows, 1):
            for j, value in enumerate(row, 1):
                _write_cell(sheet.cell(row=i, column=j), value)
    content = io.BytesIO()
    book.save(content)
    write_atomically(path, content.getvalue())


def html_page(title: str, parts: Sequence[str], path: str | os.PathLike[str] | None) -> str:
    """A page of parts that are HTML, written to a file if there is a path."""
    return _written(_PAGE.format(title=html.escape(title), body="\n".join(parts)), path)


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str | float]]) -> str:
    """A table under its title; numbers stand at the right."""
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = "\n".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    return (
        f"<h2>{html.escape(title)}</h2>\n<div><table><thead><tr>{heads}</tr></thead>\n"
        f"<tbody>{lines}</tbody></table></div>"
    )


def _html_cell(value: str | float) -> str:
    if isinstance(value, str):
        kind = ' class="short"' if len(value) <= _SHORT else ""
        return f"<td{kind}>{html.escape(value)}</td>"
    return f'<td class="number">{value:,.6g}</td>'


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_atomically(path, text.encode("utf-8"))
    return text


def _harmless(value: Any) -> Any:
    """A cell of a CSV file that no spreadsheet takes for a formula."""
    if isinstance(value, float):
        return repr(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_cell(cell: Any, value: Any) -> None:
    if isinstance(value, str):
        cell.value = "".join(c for c in value if c >= " " or c in "\n\t")
        cell.data_type = "s"  # a text, even if it begins like a formula
    else:
        cell.value = value
