"""The fitted tree as a small piece of HTML, for notebooks; no script, no style sheet."""

from __future__ import annotations

from html import escape

from glassleaf.plain import Leaf, PlainModel, Split, Term
from glassleaf.rules import in_words

_MOST_LEAVES = 32
_MOST_TERMS = 4
_BOX = (
    "margin:0.5em 0;padding:0.5em 1em;border:1px solid #8888;border-radius:4px;"
    "display:inline-block;vertical-align:top;font-family:monospace;font-size:0.9em"
)


def tree_html(model: PlainModel) -> str:
    """Splits as nested lists, leaves as formulas; a large tree only in numbers."""
    n_leaves = len(model.leaves)
    if n_leaves > _MOST_LEAVES:
        rows = sum(leaf.n_samples for leaf in model.leaves)
        content = f"model tree: {n_leaves} leaves, {rows:,} rows"
    else:
        content = _node(model, 0)
    return f'<div class="glassleaf-tree" style="{_BOX}">{content}</div>'


def _node(model: PlainModel, number: int) -> str:
    node = model.nodes[number]
    if isinstance(node, Leaf):
        return _leaf(model, node)
    return f"<ul style='margin:0;padding-left:1.2em'>{_side(model, node, True)}" + (
        f"{_side(model, node, False)}</ul>"
    )


def _side(model: PlainModel, split: Split, is_left: bool) -> str:
    child = split.left if is_left else split.right
    inner = _node(model, child)
    separator = ": " if isinstance(model.nodes[child], Leaf) else ""
    return f"<li>{escape(in_words(model, split, is_left))}{separator}{inner}</li>"


def _leaf(model: PlainModel, leaf: Leaf) -> str:
    label = f"<b>leaf {leaf.node}</b>, {leaf.n_samples:,} rows"
    if model.n_outputs > 1:
        return f"{label}, {model.n_outputs} scores of {len(leaf.terms)} columns"
    parts = [text for term in leaf.terms for text in _term(model, term)]
    shown = [f"{leaf.intercept[0]:.3g}", *parts[:_MOST_TERMS]]
    if len(parts) > _MOST_TERMS:
        shown.append(f"{len(parts) - _MOST_TERMS} more")
    return f"{label}: {escape(' + '.join(shown))}"


def _term(model: PlainModel, term: Term) -> list[str]:
    column = model.columns[term.column]
    name = f"f({column.name})" if column.knots else column.name
    out = [f"{term.slope[0]:.3g} {name}"] if term.slope else []
    if term.categories:
        out.append(f"[{column.name}]")
    return out
