"""A model as it is meant where leaves share their formula: that for all rows, then what differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glassleaf.explanations.formulas import (
    Piece,
    difference,
    difference_pieces,
    formula,
    formula_pieces,
    of_output,
)
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation, NodeExplanation
from glassleaf.explanations.rules import Condition

SAME = "as above"


@dataclass(frozen=True)
class Difference(JsonData):
    """What a node says: the root its formulas, any other what differs from its parent.

    ``share`` is that of the weight, ``condition`` what the last split asks, None for the root.
    ``sums`` has for every score the pieces of its formula, or of what differs. ``texts`` are the
    same in words, without scores that do not differ; ``"as above"`` alone if none does.
    """

    node: int
    depth: int
    rows: int
    share: float
    condition: Condition | None
    sums: tuple[tuple[Piece, ...], ...]
    texts: tuple[str, ...]

    @property
    def where(self) -> str:
        """Whom it is about: all rows, or those that meet the condition."""
        return "all rows" if self.condition is None else self.condition.text


def differences(explanation: ModelExplanation) -> tuple[Difference, ...]:
    """The formula for all rows, then what differs at every node, each followed by those below."""
    root = explanation.nodes[0]
    outputs = list(enumerate(explanation.outputs))
    sums = [tuple(formula_pieces(explanation, root, k)) for k, _ in outputs]
    texts = [f"score{of_output(own)} = {formula(explanation, root, k)}" for k, own in outputs]
    first = Difference(root.id, 0, root.rows, root.share, None, tuple(sums), tuple(texts))
    return (first, *_below(explanation, root))


def _below(explanation: ModelExplanation, node: NodeExplanation) -> Iterator[Difference]:
    if node.split is None:
        return
    for child_id, condition in node.split.sides:
        child = explanation.nodes[child_id]
        yield _difference(explanation, child, node, condition)
        yield from _below(explanation, child)


def _difference(
    explanation: ModelExplanation,
    node: NodeExplanation,
    parent: NodeExplanation,
    condition: Condition,
) -> Difference:
    outputs = list(enumerate(explanation.outputs))
    sums = [tuple(difference_pieces(explanation, node, parent, k)) for k, _ in outputs]
    texts = [
        f"score{of_output(output)} {text}" if output else text
        for k, output in outputs
        if (text := difference(explanation, node, parent, k))
    ]
    said = tuple(texts) or (SAME,)
    return Difference(node.id, node.depth, node.rows, node.share, condition, tuple(sums), said)
