"""Formulas of the nodes' models, in raw units and plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.model import Feature, ModelExplanation, Node
from glassleaf.explanations.terms import Term

Knots = Sequence[tuple[float, float]]

# How a prediction follows from the raw score, by link.
LINKS = {
    "identity": "prediction = score",
    "log": "prediction = exp(score)",
    "logit": "P({label}) = 1 / (1 + exp(-score))",
    "softmax": "P(class) = exp(score of the class) / sum over the classes",
    "custom": "prediction = inverse_link(score), the loss's own",
}


def link_text(link: str, classes: Sequence[Any] | None) -> str:
    """How a prediction follows from the score.

    >>> link_text("logit", ("no", "yes"))
    'P(yes) = 1 / (1 + exp(-score))'
    """
    return LINKS[link].format(label=words.name((classes or ("",))[-1]))


def score_texts(explanation: ModelExplanation, leaf: Node, max_terms: int | None) -> list[str]:
    """The formulas of a leaf: ``score = ...``, one for each score."""
    return [
        f"score{of_output(output)} = {formula(explanation, leaf, k, max_terms)}"
        for k, output in enumerate(explanation.outputs)
    ]


def of_output(output: str) -> str:
    """Behind "score": whose it is, where there are several."""
    return f" of {words.name(output)}" if output else ""


def strongest_terms(explanation: ModelExplanation, node: Node, output: int) -> list[int]:
    """Terms with a coefficient, by their influence ``|coef| * spread`` in the node."""
    influence = np.abs(node.coef[output]) * np.array(node.spread)
    order = np.argsort(-influence, kind="stable")
    return [int(t) for t in order if node.coef[output][t] != 0.0]


def formula(
    explanation: ModelExplanation, node: Node, output: int = 0, max_terms: int | None = None
) -> str:
    """The score of a node as a sum in raw units, the most influential terms first."""
    order = strongest_terms(explanation, node, output)
    features = {feature.name: feature for feature in explanation.features}
    shown = order if max_terms is None or len(order) <= max_terms + 1 else order[:max_terms]
    parts = [(node.intercept[output], "")]
    for t in shown:
        term = explanation.terms[t]
        parts.append((node.coef[output][t], term_text(term, features[term.feature], node)))
    rest = len(order) - len(shown)
    return words.signed_sum(parts) + (f" + {rest} smaller terms" if rest else "")


def term_text(term: Term, feature: Feature, node: Node) -> str:
    """A term as it is written in a formula: ``age``, ``clip(age, 20, 60)``, ``[sex = f]``."""
    name = words.name(feature.name)
    if term.kind == "missing":
        return f"[{name} is missing]"
    if term.kind == "category":
        return f"[{name} = {words.name(term.category, 24)}]"
    low, high = node.clamp[feature.column]
    if feature.knots and not is_rescaled(feature.knots):  # cut tails: a clip of its own
        low, high = max(low, feature.knots[0][0]), min(high, feature.knots[-1][0])
    name = column_text(feature.name, feature.knots)
    if np.isfinite(low) or np.isfinite(high):
        low, high = _rounded(low, high), _rounded(high, low)
        return f"clip({name}, {words.number(low)}, {words.number(high)})"
    return name


def column_text(name: str, knots: Knots | None) -> str:
    """A number as a formula names it: ``age``, or ``score(age)`` on the scale of its transform."""
    return f"score({words.name(name)})" if is_rescaled(knots) else words.name(name)


def is_rescaled(knots: Knots | None) -> bool:
    """Whether a transform changes what lies between its ends; if not, it cuts the tails only."""
    return any(x != z for x, z in knots or ())


def _rounded(end: float, other: float) -> float:
    """An end of a range; zero where it differs from zero by rounding only."""
    return 0.0 if np.isfinite(other) and abs(end) < 1e-12 * abs(other) else end
