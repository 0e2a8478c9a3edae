"""The fitted tree as a small piece of HTML, for notebooks; no script, no style sheet."""

from __future__ import annotations

from html import escape

from glassleaf.explanations import words
from glassleaf.explanations.differences import Difference, differences
from glassleaf.explanations.formulas import (
    bare_formula,
    fills_text,
    limit_texts,
    link_text,
    numbers_text,
)
from glassleaf.explanations.model import ModelExplanation, NodeExplanation

_MOST_LEAVES = 32
_MOST_TERMS = 4
_LIST = "<ul style='margin:0;padding-left:1.2em'>"
_SMALL = "font-family:monospace;font-size:0.9em"
_BOX = (
    "margin:0.5em 0;padding:0.5em 1em;border:1px solid #8888;border-radius:4px;"
    f"display:inline-block;vertical-align:top;{_SMALL}"
)


def page_html(explanation: ModelExplanation, summary: str, diagram: str) -> str:
    """The model, then scikit-learn's diagram with the parameters, folded."""
    title = f"<summary>{escape(summary)}; parameters</summary>"
    return f'{tree_html(explanation)}<details style="{_SMALL}">{title}{diagram}</details>'


def tree_html(explanation: ModelExplanation) -> str:
    """Splits as nested lists, leaves as formulas; a large tree only in numbers.

    Where leaves share their formula, that for all rows comes first, then what differs.
    """
    n_leaves = len(explanation.leaves)
    content = f"<div>{numbers_text(explanation)}</div>"
    if n_leaves > _MOST_LEAVES:
        content += f"model tree: {n_leaves} leaves, {explanation.rows:,} rows"
    elif explanation.share_formula:
        content += _link(explanation) + _shared(explanation)
    else:
        content += _link(explanation) + _node(explanation, explanation.nodes[0])
    return f'<div class="glassleaf-tree" style="{_BOX}">{content}</div>'


def _link(explanation: ModelExplanation) -> str:
    """Of two classes, whose probability the formulas lead to."""
    if explanation.positive_class is None:
        return ""
    return f"<div>{escape(link_text(explanation.link, explanation.positive_class))}</div>"


def _shared(explanation: ModelExplanation) -> str:
    """The formula for all rows, then at every split what differs, as nested lists."""
    root, *others = differences(explanation)
    out, depth = _said(explanation, root), 0
    for own in others:
        out += _LIST if own.depth > depth else "</li>" + "</ul></li>" * (depth - own.depth)
        out += f"<li>{escape(own.where)}: {_said(explanation, own)}"
        depth = own.depth
    notes = filter(None, [*limit_texts(explanation), fills_text(explanation)])
    return out + "</li></ul>" * depth + "".join(f"<div>{escape(note)}</div>" for note in notes)


def _said(explanation: ModelExplanation, own: Difference) -> str:
    leaf = explanation.nodes[own.node].leaf
    name = f"leaf {leaf}" if leaf else "all rows" if own.condition is None else ""
    label = f"<b>{name}</b>, " if name else ""
    rows = words.rows_and_share(own.rows, explanation.rows, own.share)
    return f"{label}{escape(rows)}: {'<br>'.join(map(escape, own.texts))}"


def _node(explanation: ModelExplanation, node: NodeExplanation) -> str:
    if node.split is None:
        return _leaf(explanation, node)
    sides = ""
    for child_id, condition in node.split.sides:
        child = explanation.nodes[child_id]
        separator = ": " if child.split is None else ""
        sides += f"<li>{escape(condition.text)}{separator}{_node(explanation, child)}</li>"
    return f"{_LIST}{sides}</ul>"


def _leaf(explanation: ModelExplanation, leaf: NodeExplanation) -> str:
    rows = escape(words.rows_and_share(leaf.rows, explanation.rows, leaf.share))
    label = f"<b>leaf {leaf.leaf}</b>, {rows}"
    if len(explanation.outputs) > 1:
        return f"{label}, {len(explanation.outputs)} scores of {_n_columns(explanation, leaf)}"
    return f"{label}: {escape(bare_formula(explanation, leaf, 0, _MOST_TERMS))}"


def _n_columns(explanation: ModelExplanation, leaf: NodeExplanation) -> str:
    used = {
        term.feature
        for t, term in enumerate(explanation.terms)
        if any(coef[t] for coef in leaf.coef)
    }
    return "1 column" if len(used) == 1 else f"{len(used)} columns"
