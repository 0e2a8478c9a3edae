"""The tree on the screen: splits in words, leaves with their rows, formulas and bars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.cli.screen import bar, signed_bar
from glassleaf.errors import require
from glassleaf.explanations import words
from glassleaf.explanations.curves import curve_weights
from glassleaf.explanations.formulas import column_text, is_rescaled, link_text
from glassleaf.explanations.model import feature_strengths
from glassleaf.explanations.rules import split_conditions
from glassleaf.tables.cells import is_missing
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.plain import PlainColumn, PlainLeaf, PlainModel, PlainTerm, leaf_numbers
from glassleaf.tree.tree import Tree

text: Any = require("rich.text", extra="cli", purpose="Drawing trees")
rich_tree: Any = require("rich.tree", extra="cli", purpose="Drawing trees")
rich_table: Any = require("rich.table", extra="cli", purpose="Drawing trees")
rich_console: Any = require("rich.console", extra="cli", purpose="Drawing trees")

Floats = NDArray[np.float64]

_ROWS_WIDTH = 20
_TERM_WIDTH = 8
_LONGEST_NAME = 28
_MOST_CLASSES = 5


@dataclass(frozen=True)
class Scale:
    """The lengths of the bars: what one more spread of a column adds in a leaf.

    ``spread[node, column]`` is a standard deviation within the leaf: of the column, or of what its
    categories add. ``bent`` is that of the column's curve. Where they are not known, they only make
    the bars of a column comparable between leaves.
    """

    spread: Floats
    bent: Floats
    is_known: bool
    longest: float


def print_tree(out: Any, estimator: Any, X: Any | None, n_terms: int) -> None:
    """Print the tree to a console, with at most ``n_terms`` terms per leaf; 0 prints all.

    The rows X show how much the columns vary. Without them, the training rows do.
    """
    model, tree = plain_model(fitted_model(estimator)), estimator.tree_
    known = _remembered(tree) if X is None else _from_rows(model, tree, X, estimator.apply(X))
    scale = _scale(model, tree, known)
    root = rich_tree.Tree(text.Text("all rows", style="bold"), guide_style="dim")
    _grow(root, model, tree, 0, scale, n_terms)
    out.print(_heading(model, tree))
    out.print(_legend(model, scale, bool(len(tree.terms.point_x))), style="dim")
    out.print(root)


# --- lengths of bars -----------------------------------------------------------------------------


def _scale(model: PlainModel, tree: Tree, known: tuple[Floats, Floats] | None) -> Scale:
    spread, bent = known or _between_leaves(model, tree)
    scale = Scale(spread, bent, known is not None, 0.0)
    effects = [
        max(abs(_effect(term, leaf, scale)), abs(_bend(tree, term, leaf, bent)))
        for leaf in model.leaves
        for term in leaf.terms
    ]
    return replace(scale, longest=max(effects, default=0.0))


def _from_rows(
    model: PlainModel, tree: Tree, X: Any, leaves: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Spreads of the columns and of their curves among the rows of every leaf."""
    out, bent = np.zeros((2, len(model.nodes), len(model.columns)))
    for j, column in enumerate(model.columns):
        if column.categories is not None:
            given = np.array(X[column.name].to_numpy(), dtype=object)
            for own in model.leaves:
                out[own.node, j] = _spread_of_categories(column, own, j, given[leaves == own.node])
            continue
        curve = tree.terms.curve(j)
        values = np.asarray(X[column.name].to_numpy(), dtype=np.float64)
        if column.knots:
            x, z = np.array(column.knots).T
            values = np.interp(values, x, z)
        for node in np.unique(leaves):
            here = values[leaves == node]
            if np.isfinite(here).any():
                out[node, j] = np.nanstd(here)
                if curve is not None:
                    clamp = tree.clamp_low[node, j], tree.clamp_high[node, j]
                    bent[node, j] = np.nanstd(curve(np.clip(here, *clamp)))
    return out, bent


def _spread_of_categories(
    column: PlainColumn, leaf: PlainLeaf, place: int, given: NDArray[np.object_]
) -> float:
    """Standard deviation of what a column's categories add to these rows of a leaf."""
    labels, nothing = column.categories or (), (0.0,) * len(leaf.intercept)
    added, missing = {}, nothing
    for term in leaf.terms:
        if term.column == place:
            added = {labels[code]: numbers for code, numbers in term.categories.items()}
            missing = term.missing or nothing
    found = [missing if is_missing(value) else added.get(value, nothing) for value in given]
    return float(np.std(found, axis=0).max()) if found else 0.0


def _remembered(tree: Tree) -> tuple[Floats, Floats] | None:
    """The spreads of the training rows, which the tree keeps. Older model files have none."""
    by_term = None if tree.training_record is None else tree.training_record.spread
    if by_term is None or not by_term.shape[1]:
        return None
    terms = tree.terms
    out, bent = (
        np.where(term >= 0, by_term[:, np.maximum(term, 0)], 0.0)
        for term in (np.asarray(terms.first_term), np.asarray(terms.curve_term))
    )
    is_category = np.asarray(terms.is_category, dtype=bool)
    out[:, is_category] = feature_strengths(tree)[:, is_category]
    return out, bent


def _between_leaves(model: PlainModel, tree: Tree) -> tuple[Floats, Floats]:
    largest = np.zeros((2, len(model.columns)))
    ones = np.ones((len(model.nodes), len(model.columns)))
    plain = Scale(ones, ones, False, 0.0)
    for leaf in model.leaves:
        for term in leaf.terms:
            found = abs(_effect(term, leaf, plain)), abs(_bend(tree, term, leaf, ones))
            largest[:, term.column] = np.maximum(largest[:, term.column], found)
    with np.errstate(divide="ignore"):
        one = np.where(largest > 0, 1.0 / largest, 0.0)
    spread, bent = (np.tile(own, (len(model.nodes), 1)) for own in one)
    return spread, bent


def _effect(term: PlainTerm, leaf: PlainLeaf, scale: Scale) -> float:
    """What a term adds per spread of its column. For categories, the spread of what they add.

    Where the spread is not known, half of the range of what they add stands for it.
    """
    spread = scale.spread[leaf.node, term.column]
    if not term.categories:
        return float(max(term.slope, key=abs, default=0.0) * spread)
    if scale.is_known:
        return float(spread)
    values = [value for numbers in term.categories.values() for value in numbers]
    size = (max(values) - min(values)) / 2 if len(values) > 1 else abs(values[0])
    return float(size * spread)


def _bend(tree: Tree, term: PlainTerm, leaf: PlainLeaf, bent: Floats) -> float:
    """What a column's curve adds per spread of the curve."""
    weights = curve_weights(tree, leaf.node, term.column)
    return float(max(weights, key=abs, default=0.0) * bent[leaf.node, term.column])


# --- the tree ------------------------------------------------------------------------------------


def _heading(model: PlainModel, tree: Tree) -> Any:
    """One line about the model."""
    n_leaves = len(model.leaves)
    what = (
        "regression" if model.classes is None else f"classes {', '.join(map(str, model.classes))}"
    )
    leaves = "1 leaf" if n_leaves == 1 else f"{n_leaves} leaves"
    return text.Text.assemble(
        ("Model tree", "bold"),
        f" · {what} · {leaves} · {len(model.columns)} columns · {tree.n_samples[0]:,} rows",
    )


def _legend(model: PlainModel, scale: Scale, has_curves: bool) -> str:
    """How a leaf's numbers become a prediction, and what its bars show."""
    link = link_text(model.link, model.positive_class)
    rescaled = any(is_rescaled(column.knots) for column in model.columns)
    own_scale = " rank(x): its rank, -3.5 to 3.5." if rescaled else ""
    curves = " curve(x): a curve that all leaves share." if has_curves else ""
    if model.n_outputs > 1:
        return f"A leaf adds up a score for every class: {link}.{own_scale}{curves}"
    bars = (
        "Bars show what one standard deviation of a column adds, or the spread of what categories"
        " and curves add."
        if scale.is_known
        else "Bars compare a column between leaves; with --data FILE they show its weight."
    )
    return f"A leaf adds up a score: {link}. {bars}{own_scale}{curves}"


def _grow(
    branch: Any, model: PlainModel, tree: Tree, node_id: int, scale: Scale, n_terms: int
) -> None:
    node = model.nodes[node_id]
    if isinstance(node, PlainLeaf):
        lines = _leaf_lines(model, tree, node, scale, n_terms)
        branch.label = rich_console.Group(branch.label, *lines)
        return
    sides = zip((node.left, node.right), split_conditions(tree, node_id), strict=True)
    for child, condition in sides:
        label = text.Text(condition.text, style="bold cyan")
        _grow(branch.add(label), model, tree, child, scale, n_terms)


def _leaf_lines(
    model: PlainModel, tree: Tree, leaf: PlainLeaf, scale: Scale, n_terms: int
) -> list[Any]:
    total = sum(other.n_samples for other in model.leaves)
    share = leaf.n_samples / total if total else 0.0
    weight_share = float(tree.weight[leaf.node] / tree.weight[0])
    rows = text.Text.assemble(
        (f"leaf {leaf_numbers(model)[leaf.node]}  ", "green"),
        (bar(share, _ROWS_WIDTH), "green"),
        f" {words.rows_and_share(leaf.n_samples, total, weight_share)}",
    )

    def size(term: PlainTerm) -> float:
        line, bend = _effect(term, leaf, scale), _bend(tree, term, leaf, scale.bent)
        return max(abs(line), abs(bend))

    terms = sorted(leaf.terms, key=lambda term: -size(term))
    if not scale.is_known:
        terms = list(leaf.terms)
    shown = terms[:n_terms] if n_terms else terms
    many = model.n_outputs > 1
    if many:
        grid = _classes_grid(model, tree, leaf, shown)
    else:
        grid = _grid(model, tree, leaf, shown, scale)
    out = [rows, grid]
    if len(terms) > len(shown):
        more = len(terms) - len(shown)
        columns = "column" if more == 1 else "columns"
        out.append(text.Text(f"and {more} more {columns}", style="dim"))
    return out


def _grid(
    model: PlainModel, tree: Tree, leaf: PlainLeaf, terms: list[PlainTerm], scale: Scale
) -> Any:
    grid = rich_table.Table.grid(padding=(0, 2))
    grid.add_column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim", no_wrap=True, overflow="ellipsis")
    grid.add_row(text.Text("base", style="dim"), words.number(leaf.intercept[0], 4), "", "")
    for term in terms:
        column = model.columns[term.column]
        added = _effect(term, leaf, scale)
        share = added / scale.longest if scale.longest else 0.0
        if term.categories:
            blocks = text.Text(signed_bar(share, _TERM_WIDTH), style="yellow")
            grid.add_row(column.name, "", blocks, _extremes(model, term))
            continue
        name = column_text(column.name, column.knots)
        blocks = text.Text(signed_bar(share, _TERM_WIDTH), style="red" if share < 0 else "blue")
        slope = words.number(term.slope[0], 4) if term.slope else ""
        missing = f"missing {term.missing[0]:+.3g}" if term.missing else ""
        grid.add_row(name, slope, blocks, missing)
        weights = curve_weights(tree, leaf.node, term.column)
        if weights:  # a curve goes up and down: its bar has no sign
            added = abs(_bend(tree, term, leaf, scale.bent))
            share = added / scale.longest if scale.longest else 0.0
            blocks = text.Text(signed_bar(share, _TERM_WIDTH), style="yellow")
            grid.add_row(_curve_name(column.name), words.number(weights[0], 4), blocks, "")
    return grid


def _curve_name(name: str) -> str:
    return f"curve({words.name(name, _LONGEST_NAME - len('curve()'))})"


def _extremes(model: PlainModel, term: PlainTerm) -> str:
    """The category that adds least and the one that adds most."""
    categories = model.columns[term.column].categories or ()
    found = sorted((added[0], str(categories[code])) for code, added in term.categories.items())
    (least, low), (most, high) = found[0], found[-1]
    return f"{low} {least:+.3g}" if low == high else f"{low} {least:+.3g} .. {high} {most:+.3g}"


def _classes_grid(model: PlainModel, tree: Tree, leaf: PlainLeaf, terms: list[PlainTerm]) -> Any:
    classes = list(model.classes or ())[:_MOST_CLASSES]
    grid = rich_table.Table.grid(padding=(0, 2))
    grid.add_column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    for _ in classes:
        grid.add_column(justify="right", no_wrap=True)
    more = len(model.classes or ()) - len(classes)
    head = f"{more} more classes" if more > 0 else ""
    grid.add_row(text.Text(head, style="dim"), *(text.Text(str(c), style="dim") for c in classes))
    grid.add_row(
        text.Text("base", style="dim"),
        *(words.number(own, 4) for own in leaf.intercept[: len(classes)]),
    )
    for term in terms:
        column = model.columns[term.column]
        slopes = [_class_cell(term, k) for k in range(len(classes))]
        grid.add_row(column_text(column.name, column.knots), *slopes)
        weights = curve_weights(tree, leaf.node, term.column)[: len(classes)]
        if weights:
            grid.add_row(_curve_name(column.name), *(words.number(own, 4) for own in weights))
    return grid


def _class_cell(term: PlainTerm, k: int) -> str:
    if term.categories:
        values = [numbers[k] for numbers in term.categories.values()]
        return f"{min(*values, 0.0):+.2g} .. {max(*values, 0.0):+.2g}"
    return words.number(term.slope[k], 4) if term.slope else ""
