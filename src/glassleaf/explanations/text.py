"""The explanation of a model as text."""

from __future__ import annotations

from glassleaf.explanations import words
from glassleaf.explanations.formulas import formula, link_text
from glassleaf.explanations.model import ModelExplanation, Node


def model_text(explanation: ModelExplanation, max_terms: int | None = 6) -> str:
    """The tree, then every leaf's rule and formula, then the features by importance."""
    lines = [_headline(explanation), ""]
    lines += _branches(explanation, explanation.nodes[0], "")
    for leaf in explanation.leaves:
        lines += ["", *_leaf(explanation, leaf, max_terms)]
    lines += ["", *_importance(explanation)]
    return "\n".join(lines)


def _headline(explanation: ModelExplanation) -> str:
    n = len(explanation.leaves)
    return (
        f"Model tree, {n} {'leaf' if n == 1 else 'leaves'}, fitted on {explanation.rows} rows;"
        f" {link_text(explanation)}"
    )


def _branches(explanation: ModelExplanation, node: Node, indent: str) -> list[str]:
    if node.split is None:
        return []
    lines = []
    sides = (
        (node.split.left, node.split.condition, f"   (gain {words.number(node.split.gain, 4)})"),
        (node.split.right, node.split.otherwise, ""),
    )
    for child_id, condition, note in sides:
        child = explanation.nodes[child_id]
        end = f": leaf {child.leaf} ({child.rows} rows)" if child.leaf else ""
        lines.append(f"{indent}{condition.text}{end}{note}")
        lines += _branches(explanation, child, indent + "|   ")
    return lines


def _leaf(explanation: ModelExplanation, leaf: Node, max_terms: int | None) -> list[str]:
    lines = [
        f"Leaf {leaf.leaf}: {leaf.rule_text}",
        f"  {leaf.rows} rows ({words.percent(leaf.share)}), {target_text(explanation, leaf)}",
    ]
    for k, output in enumerate(explanation.outputs):
        of = f" of {words.name(output)}" if output else ""
        lines.append(f"  score{of} = {formula(explanation, leaf, k, max_terms)}")
    return lines


def target_text(explanation: ModelExplanation, node: Node) -> str:
    """Mean target of a node, or the shares of the classes."""
    if explanation.classes is None:
        return f"mean target {words.number(node.target[0], 4)}"
    pairs = list(zip(explanation.classes, node.target, strict=True))
    if len(pairs) == 2:
        pairs = pairs[1:]
    return ", ".join(f"{words.percent(share)} {words.name(label)}" for label, share in pairs)


def _importance(explanation: ModelExplanation, at_most: int = 10) -> list[str]:
    by_name = {feature.name: feature for feature in explanation.features}
    shown = [by_name[name] for name in list(explanation.importance)[:at_most]]
    width = max(len(words.name(feature.name)) for feature in shown)
    lines = ["Features: share of the effect in the leaves, share of the gain of the splits"]
    for feature in shown:
        name = words.name(feature.name).ljust(width)
        effect, gain = words.percent(feature.effect_share), words.percent(feature.gain_share)
        lines.append(f"  {name}  {effect:>6}  {gain:>6}")
    if len(explanation.features) > at_most:
        lines.append(f"  ... and {len(explanation.features) - at_most} more")
    return lines
