"""A tree as nested if-statements, for languages that have them.

Where leaves share their formula, the sum begins with that for all rows, every side of a split adds
what differs there, and a leaf only returns it.

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
    """How a language writes what a tree needs; ``{}`` stands for a condition or a node.

    ``differs`` writes what a node adds to the sums, those of the root being new.
    """

    if_: str
    else_: str
    end: str
    call: str
    condition: Callable[[PlainSplit], str]
    leaf: Callable[[PlainLeaf], list[str]]
    differs: Callable[[int], list[str]]


def bodies(model: PlainModel, syntax: Syntax) -> list[tuple[int, list[str]]]:
    """Bodies of the functions of some nodes, callees before callers; the root's comes last."""
    out: list[tuple[int, list[str]]] = []
    waiting = [0]
    while waiting:
        root = waiting.pop()
        first = [] if root else _own(model, syntax, 0, 0)
        out.append((root, first + _lines(model, syntax, root, 0, waiting)))
    return out[::-1]


def _own(model: PlainModel, syntax: Syntax, number: int, level: int) -> list[str]:
    """What a node adds, where leaves share their formula."""
    lines = syntax.differs(number) if model.differences else []
    return ["    " * (level + 1) + line for line in lines]


def _lines(
    model: PlainModel, syntax: Syntax, number: int, level: int, waiting: list[int]
) -> list[str]:
    """What comes after a node's own sum."""
    node, indent = model.nodes[number], "    " * (level + 1)
    if isinstance(node, PlainLeaf):
        return [indent + line for line in syntax.leaf(node)]
    if level == _LEVELS:
        waiting.append(number)
        return [indent + syntax.call.format(number)]
    left, right = (
        [*_own(model, syntax, child, level + 1), *_lines(model, syntax, child, level + 1, waiting)]
        for child in (node.left, node.right)
    )
    return [
        indent + syntax.if_.format(syntax.condition(node)),
        *left,
        indent + syntax.else_,
        *right,
        *([indent + syntax.end] if syntax.end else []),
    ]
