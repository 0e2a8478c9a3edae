"""Texts and tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassleaf.explanations import words


def escaped(text: Any, limit: int = 80) -> str:
    """Any text as plain text in Markdown: nothing in it is a tag, a link or a table's border."""
    plain = words.name(text, limit) if str(text) else ""
    for char in "\\`*_{}[]()#+|~":
        plain = plain.replace(char, "\\" + char)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells that are Markdown already."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
