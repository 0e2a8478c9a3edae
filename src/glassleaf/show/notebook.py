"""The fitted tree as a small piece of HTML, for notebooks; no script, no style sheet."""

from __future__ import annotations

from html import escape

from glassleaf.explanations import words
from glassleaf.explanations.formulas import bare_formula, link_text, numbers_text
from glassleaf.explanations.model import ModelExplanation, NodeExplanation

_MOST_LEAVES = 32
_MOST_TERMS = 4
_BOX = (
    "margin:0.5em 0;padding:0.5em 1em;border:1px solid #8888;border-radius:4px;"
    "display:inline-block;vertical-align:top;font-family:monospace;font-size:0.9em"
)


def tree_html(explanation: ModelExplanation) -> str:
    """Splits as nested lists, leaves as formulas; a large tree only in numbers."""
    n_leaves = len(explanation.leaves)
    content = f"<div>{numbers_text(explanation)}</div>"
    if n_leaves > _MOST_LEAVES:
        content += f"model tree: {n_leaves} leaves, {explanation.rows:,} rows"
    else:
        content += _link(explanation) + _node(explanation, explanation.nodes[0])
    return f'<div class="glassleaf-tree" style="{_BOX}">{content}</div>'


def _link(explanation: ModelExplanation) -> str:
    """Of two classes, whose probability the formulas lead to."""
    if explanation.positive_class is None:
        return ""
    return f"<div>{escape(link_text(explanation.link, explanation.positive_class))}</div>"


def _node(explanation: ModelExplanation, node: NodeExplanation) -> str:
    if node.split is None:
        return _leaf(explanation, node)
    sides = ""
    for child_id, condition in node.split.sides:
        child = explanation.nodes[child_id]
        separator = ": " if child.split is None else ""
        sides += f"<li>{escape(condition.text)}{separator}{_node(explanation, child)}</li>"
    return f"<ul style='margin:0;padding-left:1.2em'>{sides}</ul>"


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
