"""Texts and tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.differences import differences
from glassleaf.explanations.estimates import Estimates
from glassleaf.explanations.formulas import fills_text, limit_texts
from glassleaf.explanations.model import ModelExplanation


def escaped(text: Any, limit: int = 80) -> str:
    """Any text as plain text in Markdown: nothing in it is a tag, a link or a table's border."""
    plain = words.name(text, limit) if str(text) else ""
    for char in "\\`*_{}[]()#+|~":
        plain = plain.replace(char, "\\" + char)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shared_formula(explanation: ModelExplanation) -> str:
    """The formula for all rows, then nested lists of what differs at every split."""
    lines = []
    for own in differences(explanation):
        leaf = explanation.nodes[own.node].leaf
        rows = words.rows_and_share(own.rows, explanation.rows, own.share)
        who = f"{rows}, leaf {leaf}" if leaf else rows
        said = "; ".join(escaped(text, 100_000) for text in own.texts)
        lines.append(f"{'  ' * own.depth}- **{escaped(own.where, 500)}**, {who}: {said}")
    notes = [*limit_texts(explanation), fills_text(explanation)]
    return "\n\n".join(["\n".join(lines), *(escaped(note, 2000) for note in notes if note)])


def estimates_table(found: Estimates) -> str:
    """Coefficients with standard errors and intervals, and what has to be said of them."""
    has_classes = any(line.output for line in found.lines)
    rows = [
        [
            escaped(line.where, 500),
            *([escaped(line.output)] if has_classes else []),
            escaped(line.term, 200),
            "none" if np.isnan(line.value) else words.number(line.value, 4),
            "none" if np.isnan(line.error) else words.number(line.error, 3),
            line.interval_text,
            escaped(line.p_text),
        ]
        for line in found.lines
    ]
    of_class = ["class"] if has_classes else []
    interval = f"{found.coverage_text} interval"
    header = ["where", *of_class, "term", "estimate", "standard error", interval, "p"]
    said = [
        "\n".join(f"- {escaped(text, 2000)}" for text in texts)
        for texts in (found.differences, found.notes)
    ]
    return "\n\n".join(part for part in (said[0], table(header, rows), said[1]) if part)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells that are Markdown already."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
