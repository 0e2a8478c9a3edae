"""A tree as nested if-statements, for languages that have them.

Deep trees are cut into functions of a few levels each: no language likes a hundred levels of
nesting, and no reader either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from glassleaf.tree.plain import PlainLeaf, PlainModel, PlainSplit

_LEVELS = 10


@dataclass(frozen=True)
class Syntax:
    """How a language writes what a tree needs; ``{}`` stands for a condition or a node."""

    if_: str
    else_: str
    end: str
    call: str
    condition: Callable[[PlainSplit], str]
    leaf: Callable[[PlainLeaf], list[str]]


def bodies(model: PlainModel, syntax: Syntax) -> list[tuple[int, list[str]]]:
    """Bodies of the functions of some nodes, callees before callers; the root's comes last."""
    out: list[tuple[int, list[str]]] = []
    waiting = [0]
    while waiting:
        root = waiting.pop()
        out.append((root, _lines(model, syntax, root, 0, waiting)))
    return out[::-1]


def _lines(
    model: PlainModel, syntax: Syntax, number: int, level: int, waiting: list[int]
) -> list[str]:
    node, indent = model.nodes[number], "    " * (level + 1)
    if isinstance(node, PlainLeaf):
        return [indent + line for line in syntax.leaf(node)]
    if level == _LEVELS:
        waiting.append(number)
        return [indent + syntax.call.format(number)]
    return [
        indent + syntax.if_.format(syntax.condition(node)),
        *_lines(model, syntax, node.left, level + 1, waiting),
        indent + syntax.else_,
        *_lines(model, syntax, node.right, level + 1, waiting),
        *([indent + syntax.end] if syntax.end else []),
    ]
