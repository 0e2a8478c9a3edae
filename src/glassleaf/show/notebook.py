"""The fitted tree as a small piece of HTML, for notebooks; no script, no style sheet."""

from __future__ import annotations

from html import escape

from glassleaf.explanations import words
from glassleaf.explanations.curves import curve_weights
from glassleaf.explanations.formulas import column_text, link_text
from glassleaf.explanations.rules import Condition, split_conditions
from glassleaf.tree.plain import PlainLeaf, PlainModel, leaf_numbers
from glassleaf.tree.tree import Tree

_MOST_LEAVES = 32
_MOST_TERMS = 4
_BOX = (
    "margin:0.5em 0;padding:0.5em 1em;border:1px solid #8888;border-radius:4px;"
    "display:inline-block;vertical-align:top;font-family:monospace;font-size:0.9em"
)


def tree_html(model: PlainModel, tree: Tree) -> str:
    """Splits as nested lists, leaves as formulas; a large tree only in numbers."""
    n_leaves = len(model.leaves)
    if n_leaves > _MOST_LEAVES:
        rows = sum(leaf.n_samples for leaf in model.leaves)
        content = f"model tree: {n_leaves} leaves, {rows:,} rows"
    else:
        content = _link(model) + _node(model, tree, 0)
    return f'<div class="glassleaf-tree" style="{_BOX}">{content}</div>'


def _link(model: PlainModel) -> str:
    """Of two classes, whose probability the formulas lead to."""
    if model.positive_class is None:
        return ""
    return f"<div>{escape(link_text(model.link, model.positive_class))}</div>"


def _node(model: PlainModel, tree: Tree, number: int) -> str:
    node = model.nodes[number]
    if isinstance(node, PlainLeaf):
        return _leaf(model, tree, node)
    below_left, below_right = split_conditions(tree, number)
    sides = _side(model, tree, node.left, below_left) + _side(model, tree, node.right, below_right)
    return f"<ul style='margin:0;padding-left:1.2em'>{sides}</ul>"


def _side(model: PlainModel, tree: Tree, child: int, asked: Condition) -> str:
    separator = ": " if isinstance(model.nodes[child], PlainLeaf) else ""
    return f"<li>{escape(asked.text)}{separator}{_node(model, tree, child)}</li>"


def _leaf(model: PlainModel, tree: Tree, leaf: PlainLeaf) -> str:
    share = float(tree.weight[leaf.node] / tree.weight[0])
    rows = escape(words.rows_and_share(leaf.n_samples, int(tree.n_samples[0]), share))
    label = f"<b>leaf {leaf_numbers(model)[leaf.node]}</b>, {rows}"
    if model.n_outputs > 1:
        return f"{label}, {model.n_outputs} scores of {len(leaf.terms)} columns"
    columns = [(term, model.columns[term.column]) for term in leaf.terms[:_MOST_TERMS]]
    numbers, others = [], []
    for term, column in columns:
        bend = curve_weights(tree, leaf.node, term.column)
        if term.slope:
            numbers.append((term.slope[0], column_text(column.name, column.knots)))
        if bend:
            numbers.append((bend[0], f"curve({words.name(column.name)})"))
        if not term.slope and not bend:
            others.append(f"[{words.name(column.name)}]")
    if len(leaf.terms) > _MOST_TERMS:
        others.append(f"{len(leaf.terms) - _MOST_TERMS} more")
    formula = words.signed_sum([(leaf.intercept[0], ""), *numbers], 3)
    return f"{label}: {escape(' + '.join([formula, *others]))}"
