"""The tree on the screen: splits in words, leaves with their rows, formulas and bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassleaf.cli.screen import bar, signed_bar, sparkline
from glassleaf.errors import require
from glassleaf.explanations import words
from glassleaf.explanations.differences import Difference, differences
from glassleaf.explanations.drawable import drawable
from glassleaf.explanations.effect_lines import direction, effect_line
from glassleaf.explanations.formulas import (
    column_text,
    fills_text,
    is_rescaled,
    limit_texts,
    link_text,
    numbers_text,
    scale_texts,
)
from glassleaf.explanations.model import Feature, ModelExplanation, NodeExplanation, spread_of
from glassleaf.explanations.terms import Term
from glassleaf.tree.fitted import linear_model

text: Any = require("rich.text", extra="cli", purpose="Drawing trees")
rich_tree: Any = require("rich.tree", extra="cli", purpose="Drawing trees")
rich_table: Any = require("rich.table", extra="cli", purpose="Drawing trees")
rich_console: Any = require("rich.console", extra="cli", purpose="Drawing trees")

_ROWS_WIDTH = 20
_TERM_WIDTH = 8
_LONGEST_NAME = 28
_MOST_CLASSES = 5
_STYLES = {1: "blue", -1: "red", 0: "yellow"}


@dataclass(frozen=True)
class Part:
    """What a column adds in a leaf: coefficients, one per score; empty where all are zero.

    ``slopes`` are those of a number's line below its first bend, ``bends`` the places where the
    line bends, each with the slopes from there on, and ``lines`` small pictures of it. ``size`` is
    the spread of what the column adds, ``sign`` its direction: 1, -1, or 0 for none.
    """

    feature: Feature
    slopes: tuple[float, ...]
    bends: dict[float, tuple[float, ...]]
    lines: tuple[str, ...]
    states: dict[str, tuple[float, ...]]  # what missing and special values add
    categories: dict[Any, tuple[float, ...]]
    size: float
    sign: int


def print_tree(out: Any, estimator: Any, X: Any | None, n_terms: int) -> None:
    """Print the tree to a console, with at most ``n_terms`` columns per leaf; 0 prints all.

    The rows X show how much the columns vary. Without them, the training rows do. Where leaves
    share their formula, that for all rows is printed, and below each split what differs.
    """
    model = linear_model(estimator)
    explanation = drawable(model)
    if explanation.share_formula:
        _print_differences(out, explanation)
        return
    if X is not None:
        explanation = drawable(model, X)
    parts = {leaf.id: _parts(explanation, leaf) for leaf in explanation.leaves}
    root = rich_tree.Tree(text.Text("all rows", style="bold"), guide_style="dim")
    _grow(root, explanation, explanation.nodes[0], parts, n_terms)
    out.print(_heading(explanation))
    out.print(_legend(explanation), style="dim")
    out.print(root)


def _print_differences(out: Any, explanation: ModelExplanation) -> None:
    """The formula for all rows, and below each split what differs; all in full."""
    root, *others = differences(explanation)
    branches = [rich_tree.Tree(_said(root, root.rows), guide_style="dim")]
    for own in others:
        del branches[own.depth :]
        branches.append(branches[-1].add(_said(own, root.rows)))
    notes = [
        f"There are {numbers_text(explanation)}.",
        f"{link_text(explanation.link, explanation.positive_class)}.",
        *limit_texts(explanation),
        fills_text(explanation),
    ]
    out.print(_heading(explanation))
    out.print(" ".join(filter(None, notes)), style="dim")
    out.print(branches[0])
    for scale in scale_texts(explanation, None).values():
        out.print(scale, style="dim")


def _said(own: Difference, n_rows: int) -> Any:
    """Whom a node is about, and what it says of them."""
    where = text.Text(own.where, style="bold" if own.condition is None else "bold cyan")
    where.append(f"  {words.rows_and_share(own.rows, n_rows, own.share)}", style="dim")
    return text.Text("\n").join([where, *map(text.Text, own.texts)])


# --- what the leaves add -------------------------------------------------------------------------


def _parts(explanation: ModelExplanation, leaf: NodeExplanation) -> list[Part]:
    """The columns that add something, the largest bars first."""
    found = [_part(explanation, leaf, feature) for feature in explanation.features]
    used = [part for part in found if part.slopes or part.states or part.categories]
    return sorted(used, key=lambda part: -part.size)


def _part(explanation: ModelExplanation, leaf: NodeExplanation, feature: Feature) -> Part:
    own = {
        term: tuple(coef[t] for coef in leaf.coef)
        for t, term in enumerate(explanation.terms)
        if term.feature == feature.name and any(coef[t] for coef in leaf.coef)
    }
    categories = {term.category: coefs for term, coefs in own.items() if term.kind == "category"}
    states = {
        "missing" if term.kind == "missing" else str(term.category): coefs
        for term, coefs in own.items()
        if term.kind in ("missing", "special")
    }
    slopes, bends = _pieces(own)
    if slopes:
        terms, outputs = explanation.of_number[feature.name], range(len(leaf.coef))
        size = max(spread_of(explanation, leaf, terms, output) for output in outputs)
    else:
        size = leaf.strength[feature.name] if categories else 0.0
    # A file without a training record does not know the spread: no bar.
    size = float(np.nan_to_num(size))
    sign = direction(explanation, leaf, feature.name) if slopes and size else 0
    lines = _lines(explanation, leaf, feature.name) if bends else ()
    return Part(feature, slopes, bends, lines, states, categories, size, sign)


def _pieces(
    own: Mapping[Term, tuple[float, ...]],
) -> tuple[tuple[float, ...], dict[float, tuple[float, ...]]]:
    """The slopes of a number's line, and those from every bend on."""
    first = next((coefs for term, coefs in own.items() if term.kind == "number"), ())
    hinges = {term.at: coefs for term, coefs in own.items() if term.at is not None}
    if not first and hinges:
        first = tuple(0.0 for _ in next(iter(hinges.values())))
    bends, slopes = {}, first
    for at, more in hinges.items():
        slopes = tuple(slope + added for slope, added in zip(slopes, more, strict=True))
        bends[at] = slopes
    return first, bends


def _lines(explanation: ModelExplanation, leaf: NodeExplanation, name: str) -> tuple[str, ...]:
    """What a number adds to every score from its smallest to its largest value, on one scale."""
    heights = []
    for output in range(len(leaf.coef)):
        x, added = np.array(effect_line(explanation, leaf, name, output).points).T
        heights.append(np.interp(np.linspace(x[0], x[-1], _TERM_WIDTH), x, added))
    low, high = float(np.min(heights)), float(np.max(heights))
    return tuple(sparkline(own.tolist(), low, high) for own in heights)


# --- the tree ------------------------------------------------------------------------------------


def _heading(explanation: ModelExplanation) -> Any:
    """One line about the model."""
    n_leaves, classes = len(explanation.leaves), explanation.classes
    what = "regression" if classes is None else f"classes {', '.join(map(str, classes))}"
    leaves = "1 leaf" if n_leaves == 1 else f"{n_leaves} leaves"
    n_columns = len(explanation.features)
    return text.Text.assemble(
        ("Model tree", "bold"),
        f" · {what} · {leaves} · {n_columns} columns · {explanation.rows:,} rows",
    )


def _legend(explanation: ModelExplanation) -> str:
    """How a leaf's numbers become a prediction, and what its bars show."""
    link = link_text(explanation.link, explanation.positive_class)
    numbers = f"There are {numbers_text(explanation)}. "
    rescaled = any(is_rescaled(feature.knots) for feature in explanation.features)
    own_scale = " rank(x): its rank, -3.5 to 3.5." if rescaled else ""
    held = "".join(f" {text}" for text in limit_texts(explanation))
    if len(explanation.outputs) > 1:
        return f"{numbers}A leaf adds up a score for every class: {link}.{own_scale}{held}"
    bars = (
        "The model file does not say how much columns vary; with --data FILE there are bars."
        if np.isnan(explanation.nodes[0].spread).any()
        else "Bars show the spread of what a column adds: blue where more of it raises the score,"
        " red where it lowers it, yellow where it has no direction."
    )
    return f"{numbers}A leaf adds up a score: {link}. {bars}{own_scale}{held}"


def _grow(
    branch: Any,
    explanation: ModelExplanation,
    node: NodeExplanation,
    parts: dict[int, list[Part]],
    n_terms: int,
) -> None:
    if node.split is None:
        lines = _leaf_lines(explanation, node, parts, n_terms)
        branch.label = rich_console.Group(branch.label, *lines)
        return
    for child, condition in node.split.sides:
        label = text.Text(condition.text, style="bold cyan")
        _grow(branch.add(label), explanation, explanation.nodes[child], parts, n_terms)


def _leaf_lines(
    explanation: ModelExplanation,
    leaf: NodeExplanation,
    parts: dict[int, list[Part]],
    n_terms: int,
) -> list[Any]:
    share = leaf.rows / explanation.rows if explanation.rows else 0.0
    rows = text.Text.assemble(
        (f"leaf {leaf.leaf}  ", "green"),
        (bar(share, _ROWS_WIDTH), "green"),
        f" {words.rows_and_share(leaf.rows, explanation.rows, leaf.share)}",
    )
    own = parts[leaf.id]
    shown = own[:n_terms] if n_terms else own
    if len(explanation.outputs) > 1:
        grid = _classes_grid(explanation, leaf, shown)
    else:
        longest = max((part.size for some in parts.values() for part in some), default=0.0)
        grid = _grid(leaf, shown, longest)
    out = [rows, grid]
    if len(own) > len(shown):
        more = len(own) - len(shown)
        columns = "column" if more == 1 else "columns"
        out.append(text.Text(f"and {more} more {columns}", style="dim"))
    return out


def _grid(leaf: NodeExplanation, parts: list[Part], longest: float) -> Any:
    def blocks(part: Part) -> Any:
        length = part.size / longest if longest else 0.0
        return text.Text(signed_bar(length * (part.sign or 1), _TERM_WIDTH), _STYLES[part.sign])

    grid = rich_table.Table.grid(padding=(0, 2))
    grid.add_column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim")
    grid.add_row(text.Text("base", style="dim"), words.number(leaf.intercept[0], 4), "", "")
    for part in parts:
        feature = part.feature
        if part.categories:
            grid.add_row(feature.name, "", blocks(part), _extremes(part))
            continue
        name = column_text(feature.name, feature.knots)
        slope = words.number(part.slopes[0], 4) if part.slopes else ""
        grid.add_row(name, slope, blocks(part), _remarks(part))
    return grid


def _remarks(part: Part) -> str:
    """A broken line and its slopes from every bend on, and what missing and special values add."""
    remarks = [
        f"{words.number(slopes[0], 3)} from {words.number(at)} on"
        for at, slopes in part.bends.items()
    ]
    remarks += [f"{word} {added:+.3g}" for word, (added, *_) in part.states.items()]
    return " ".join([*part.lines, ", ".join(remarks)])


def _extremes(part: Part) -> str:
    """The category that adds least and the one that adds most."""
    found = sorted((added[0], str(label)) for label, added in part.categories.items())
    (least, low), (most, high) = found[0], found[-1]
    return f"{low} {least:+.3g}" if low == high else f"{low} {least:+.3g} .. {high} {most:+.3g}"


def _classes_grid(explanation: ModelExplanation, leaf: NodeExplanation, parts: list[Part]) -> Any:
    known = explanation.classes or ()
    classes = known[:_MOST_CLASSES]
    grid = rich_table.Table.grid(padding=(0, 2))
    grid.add_column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    for _ in classes:
        grid.add_column(justify="right", no_wrap=True)
    grid.add_column(style="dim")
    more = len(known) - len(classes)
    head = f"{more} more classes" if more > 0 else ""
    grid.add_row(text.Text(head, style="dim"), *(text.Text(str(c), style="dim") for c in classes))
    grid.add_row(
        text.Text("base", style="dim"),
        *(words.number(own, 4) for own in leaf.intercept[: len(classes)]),
    )
    for part in parts:
        cells = [_class_cell(part, k) for k in range(len(classes))]
        bends = ", ".join(words.number(at) for at in part.bends)
        name = column_text(part.feature.name, part.feature.knots)
        grid.add_row(name, *cells, f"bends at {bends}" if bends else "")
    return grid


def _class_cell(part: Part, k: int) -> str:
    if part.categories:
        values = [numbers[k] for numbers in part.categories.values()]
        return f"{min(*values, 0.0):+.2g} .. {max(*values, 0.0):+.2g}"
    if part.bends:
        return part.lines[k]
    return words.number(part.slopes[k], 4) if part.slopes else ""
