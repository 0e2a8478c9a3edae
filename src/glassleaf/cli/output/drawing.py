"""The tree on the screen: splits in words, leaves with their rows, formulas and bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from glassleaf.cli.screen import bar, signed_bar
from glassleaf.errors import require
from glassleaf.explanations import words
from glassleaf.explanations.drawable import drawable
from glassleaf.explanations.formulas import column_text, is_rescaled, link_text
from glassleaf.explanations.model import Feature, ModelExplanation, NodeExplanation
from glassleaf.tree.fitted import linear_model

text: Any = require("rich.text", extra="cli", purpose="Drawing trees")
rich_tree: Any = require("rich.tree", extra="cli", purpose="Drawing trees")
rich_table: Any = require("rich.table", extra="cli", purpose="Drawing trees")
rich_console: Any = require("rich.console", extra="cli", purpose="Drawing trees")

_ROWS_WIDTH = 20
_TERM_WIDTH = 8
_LONGEST_NAME = 28
_MOST_CLASSES = 5


@dataclass(frozen=True)
class Part:
    """What a column adds in a leaf: coefficients, one per score; empty where all are zero.

    ``line`` and ``bend`` are the lengths of its bars: what one standard deviation more of the
    column adds (of categories, the spread of what they add), and the spread of what its curve adds.
    """

    feature: Feature
    slopes: tuple[float, ...]
    curve: tuple[float, ...]
    missing: tuple[float, ...]
    categories: dict[Any, tuple[float, ...]]
    line: float
    bend: float

    @property
    def size(self) -> float:
        return max(abs(self.line), abs(self.bend))


def print_tree(out: Any, estimator: Any, X: Any | None, n_terms: int) -> None:
    """Print the tree to a console, with at most ``n_terms`` columns per leaf; 0 prints all.

    The rows X show how much the columns vary. Without them, the training rows do.
    """
    explanation = drawable(linear_model(estimator), X)
    parts = {leaf.id: _parts(explanation, leaf) for leaf in explanation.leaves}
    root = rich_tree.Tree(text.Text("all rows", style="bold"), guide_style="dim")
    _grow(root, explanation, explanation.nodes[0], parts, n_terms)
    out.print(_heading(explanation))
    out.print(_legend(explanation), style="dim")
    out.print(root)


# --- what the leaves add -------------------------------------------------------------------------


def _parts(explanation: ModelExplanation, leaf: NodeExplanation) -> list[Part]:
    """The columns that add something, the largest bars first."""
    found = [_part(explanation, leaf, feature) for feature in explanation.features]
    used = [part for part in found if part.slopes or part.curve or part.missing or part.categories]
    return sorted(used, key=lambda part: -part.size)


def _part(explanation: ModelExplanation, leaf: NodeExplanation, feature: Feature) -> Part:
    coefs: dict[str, tuple[float, ...]] = {"number": (), "curve": (), "missing": ()}
    categories, added = {}, {"number": 0.0, "curve": 0.0}
    for t, term in enumerate(explanation.terms):
        own = tuple(coef[t] for coef in leaf.coef)
        if term.feature != feature.name or not any(own):
            continue
        if term.kind == "category":
            categories[term.category] = own
            continue
        coefs[term.kind] = own
        # A file without a training record does not know the spread: no bar.
        added[term.kind] = float(np.nan_to_num(max(own, key=abs) * leaf.spread[t]))
    line = float(np.nan_to_num(leaf.strength[feature.name])) if categories else added["number"]
    return Part(
        feature, coefs["number"], coefs["curve"], coefs["missing"], categories, line, added["curve"]
    )


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
    rescaled = any(is_rescaled(feature.knots) for feature in explanation.features)
    own_scale = " rank(x): its rank, -3.5 to 3.5." if rescaled else ""
    curves = " curve(x): a curve that all leaves share." if explanation.curves else ""
    if len(explanation.outputs) > 1:
        return f"A leaf adds up a score for every class: {link}.{own_scale}{curves}"
    bars = (
        "The model file does not say how much columns vary; with --data FILE there are bars."
        if np.isnan(explanation.nodes[0].spread).any()
        else "Bars show what one standard deviation of a column adds, or the spread of what"
        " categories and curves add."
    )
    return f"A leaf adds up a score: {link}. {bars}{own_scale}{curves}"


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
    def blocks(added: float, style: str) -> Any:
        return text.Text(signed_bar(added / longest if longest else 0.0, _TERM_WIDTH), style=style)

    grid = rich_table.Table.grid(padding=(0, 2))
    grid.add_column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim", no_wrap=True, overflow="ellipsis")
    grid.add_row(text.Text("base", style="dim"), words.number(leaf.intercept[0], 4), "", "")
    for part in parts:
        feature = part.feature
        if part.categories:
            grid.add_row(feature.name, "", blocks(part.line, "yellow"), _extremes(part))
            continue
        name = column_text(feature.name, feature.knots)
        slope = words.number(part.slopes[0], 4) if part.slopes else ""
        missing = f"missing {part.missing[0]:+.3g}" if part.missing else ""
        grid.add_row(name, slope, blocks(part.line, "red" if part.line < 0 else "blue"), missing)
        if part.curve:  # a curve goes up and down: its bar has no sign
            weight = words.number(part.curve[0], 4)
            grid.add_row(_curve_name(feature), weight, blocks(abs(part.bend), "yellow"), "")
    return grid


def _curve_name(feature: Feature) -> str:
    return f"curve({words.name(feature.name, _LONGEST_NAME - len('curve()'))})"


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
    more = len(known) - len(classes)
    head = f"{more} more classes" if more > 0 else ""
    grid.add_row(text.Text(head, style="dim"), *(text.Text(str(c), style="dim") for c in classes))
    grid.add_row(
        text.Text("base", style="dim"),
        *(words.number(own, 4) for own in leaf.intercept[: len(classes)]),
    )
    for part in parts:
        feature = part.feature
        slopes = [_class_cell(part, k) for k in range(len(classes))]
        grid.add_row(column_text(feature.name, feature.knots), *slopes)
        if part.curve:
            weights = (words.number(own, 4) for own in part.curve[: len(classes)])
            grid.add_row(_curve_name(feature), *weights)
    return grid


def _class_cell(part: Part, k: int) -> str:
    if part.categories:
        values = [numbers[k] for numbers in part.categories.values()]
        return f"{min(*values, 0.0):+.2g} .. {max(*values, 0.0):+.2g}"
    return words.number(part.slopes[k], 4) if part.slopes else ""
