"""A model as it is meant where leaves share their formula: that for all rows, then what differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glassleaf.explanations.formulas import difference, formula, of_output
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation, NodeExplanation
from glassleaf.explanations.rules import Condition

SAME = "as above"


@dataclass(frozen=True)
class Difference(JsonData):
    """What a node says: the root its formulas, any other what differs from its parent.

    ``share`` is that of the weight, ``condition`` what the last split asks, None for the
    root. ``texts`` has one entry per score, but none for scores that do not differ; ``"as above"``
    alone if nothing does.
    """

    node: int
    depth: int
    rows: int
    share: float
    condition: Condition | None
    texts: tuple[str, ...]

    @property
    def where(self) -> str:
        """Whom it is about: all rows, or those that meet the condition."""
        return "all rows" if self.condition is None else self.condition.text


def differences(explanation: ModelExplanation) -> tuple[Difference, ...]:
    """The formula for all rows, then what differs at every node, each followed by those below."""
    root = explanation.nodes[0]
    texts = tuple(
        f"score{of_output(output)} = {formula(explanation, root, k)}"
        for k, output in enumerate(explanation.outputs)
    )
    first = Difference(root.id, 0, root.rows, root.share, None, texts)
    return (first, *_below(explanation, root))


def _below(explanation: ModelExplanation, node: NodeExplanation) -> Iterator[Difference]:
    if node.split is None:
        return
    for child_id, condition in node.split.sides:
        child = explanation.nodes[child_id]
        texts = tuple(
            f"score{of_output(output)} {text}" if output else text
            for k, output in enumerate(explanation.outputs)
            if (text := difference(explanation, child, node, k))
        )
        yield Difference(
            child.id, child.depth, child.rows, child.share, condition, texts or (SAME,)
        )
        yield from _below(explanation, child)
