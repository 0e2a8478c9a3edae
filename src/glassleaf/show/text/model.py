"""The explanation of a model as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from glassleaf.errors import describe
from glassleaf.explanations import words
from glassleaf.explanations.differences import differences
from glassleaf.explanations.explain import explain
from glassleaf.explanations.formulas import (
    SCALES_INTRO,
    fills_text,
    limit_texts,
    link_text,
    ranges_intro,
    scale_texts,
    score_texts,
    value_text,
)
from glassleaf.explanations.model import Feature, ModelExplanation, NodeExplanation

# Columns of the formula for all rows and of what differs, where they are text.
_WIDTH = 100
# Stands for a space at which no line may end.
_HELD = "\ue000"


def export_text(estimator: Any, max_terms: int | None = 6) -> str:
    """The model as text: the tree, every leaf's rule and formula, the features by importance."""
    check_max_terms(max_terms)
    return model_text(explain(estimator), max_terms)


def check_max_terms(max_terms: int | None) -> None:
    if max_terms is not None and (not isinstance(max_terms, int) or max_terms < 0):
        raise ValueError(f"max_terms={describe(max_terms)} must be an integer >= 0 or None.")


def model_text(explanation: ModelExplanation, max_terms: int | None = 6) -> str:
    """The tree, every leaf's rule and formula, scales, the features by importance."""
    lines = [_headline(explanation)]
    if explanation.share_formula:
        lines += ["", *postcard(explanation)]
    else:
        branches = _branches(explanation, explanation.nodes[0], "")
        if branches:
            lines += ["", *branches]
        for leaf in explanation.leaves:
            lines += ["", *_leaf(explanation, leaf, max_terms)]
    notes = [
        *limit_texts(explanation), ranges_intro(explanation), fills_text(explanation),
        *explanation.notes,
    ]  # fmt: skip
    if any(notes):
        lines += ["", *filter(None, notes)]
    scales = scale_texts(explanation, max_terms)
    if scales:
        lines += ["", SCALES_INTRO, *(f"  {text}" for text in scales.values())]
    lines += ["", *_importance(explanation)]
    return "\n".join(lines)


def _headline(explanation: ModelExplanation) -> str:
    n = len(explanation.leaves)
    total = sum(explanation.numbers.values())
    return (
        f"Model tree, {n} {'leaf' if n == 1 else 'leaves'}, {total:,} numbers to read, fitted on"
        f" {explanation.rows:,} rows;"
        f" {link_text(explanation.link, explanation.positive_class)}"
    )


def _branches(explanation: ModelExplanation, node: NodeExplanation, indent: str) -> list[str]:
    if node.split is None:
        return []
    p = node.split.p_value
    tested = "" if p is None else f", {words.p_value(p)}"
    lines, note = [], f"   (gain {words.number(node.split.gain, 4)}{tested})"
    for child_id, condition in node.split.sides:
        child = explanation.nodes[child_id]
        end = f": leaf {child.leaf} ({child.rows:,} rows)" if child.leaf else ""
        lines.append(f"{indent}{condition.text}{end}{note}")
        lines += _branches(explanation, child, indent + "|   ")
        note = ""
    return lines


def postcard(explanation: ModelExplanation) -> list[str]:
    """The formula for all rows, then at every split what differs."""
    root, *others = differences(explanation)
    lines = []
    for text in root.texts:
        score, _, right = text.partition(" = ")
        lines += _wrapped("", f"{score} of all {root.rows:,} rows = ", right)
    for own in others:
        head = f"{own.where} ({own.rows:,} rows): "
        lines += _wrapped("|   " * (own.depth - 1), head, "; ".join(own.texts))
    return lines


def _wrapped(indent: str, head: str, formula: str) -> list[str]:
    """Lines that end between two summands of a formula, not within one."""
    lines = textwrap.wrap(
        head + _with_summands_held(formula),
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "        ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_HELD, " ") for line in lines]


def _with_summands_held(formula: str) -> str:
    r"""A formula in which only the spaces before signs are spaces.

    >>> _with_summands_held("2 + 3·max(0, x - 1) - 4·[city = New York]").split(" ")
    ['2', '+\ue0003·max(0,\ue000x\ue000-\ue0001)', '-\ue0004·[city\ue000=\ue000New\ue000York]']
    """
    depth, out = 0, []
    for k, character in enumerate(formula):
        depth += (character in "([") - (character in ")]")
        is_end = depth == 0 and formula[k + 1 : k + 3] in ("+ ", "- ")
        out.append(_HELD if character == " " and not is_end else character)
    return "".join(out)


def _leaf(explanation: ModelExplanation, leaf: NodeExplanation, max_terms: int | None) -> list[str]:
    rows = words.rows_and_share(leaf.rows, explanation.rows, leaf.share)
    return [
        f"Leaf {leaf.leaf}: {leaf.rule_text}",
        f"  {rows}, {target_text(explanation, leaf.target)}",
        *_refused(leaf),
        *(f"  {text}" for text in score_texts(explanation, leaf, max_terms)),
    ]


def _refused(leaf: NodeExplanation) -> list[str]:
    if leaf.refused is None:
        return []
    feature, p = words.name(leaf.refused.feature), words.p_value(leaf.refused.p_value)
    return [f"  not split further: the best split, on {feature}, may be chance ({p})"]


def target_text(explanation: ModelExplanation, target: Sequence[float]) -> str:
    """Mean target of some rows, or the shares of the classes; of two only the positive one's."""
    if explanation.classes is None:
        return f"mean target {words.number(target[0], 4)}"
    pairs = sorted(zip(explanation.classes, target, strict=True), key=lambda pair: -pair[1])
    shown = [pair for pair in pairs if explanation.positive_class in (None, pair[0])]
    return ", ".join(f"{words.percent(share)} {words.class_name(label)}" for label, share in shown)


def training_range_text(feature: Feature) -> str:
    """What training saw of a feature: its range, or how many categories."""
    if feature.categories is not None:
        return f"{len(feature.categories)} categories"
    return f"{value_text(feature, feature.low, 4)} to {value_text(feature, feature.high, 4)}"


def _importance(explanation: ModelExplanation, at_most: int = 10) -> list[str]:
    by_name = {feature.name: feature for feature in explanation.features}
    used = [
        by_name[name]
        for name in explanation.importance
        if by_name[name].effect_share > 0 or by_name[name].gain_share > 0
    ]
    shown = [own for place, own in enumerate(used) if place < at_most or own.gain_share > 0]
    width = max((len(words.name(feature.name)) for feature in shown), default=0)
    lines = ["Features: share of the effect in the leaves, share of the gain of the splits"]
    for feature in shown:
        name = words.name(feature.name).ljust(width)
        effect, gain = words.percent(feature.effect_share), words.percent(feature.gain_share)
        lines.append(f"  {name}  {effect:>6}  {gain:>6}")
    if len(used) > len(shown):
        lines.append(f"  ... and {len(used) - len(shown)} more")
    n_unused = len(explanation.features) - len(used)
    if n_unused:
        lines.append(f"  not used: {n_unused} {'column' if n_unused == 1 else 'columns'}")
    return lines
