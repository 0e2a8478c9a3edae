"""Formulas of the nodes' models, in raw units and plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.curves import Curve, to_raw
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
    """Terms with a coefficient, by their influence ``|coef| * spread`` in the node.

    A curve follows its number: they go by the larger influence of the two.
    """
    influence = np.abs(node.coef[output]) * np.array(node.spread)
    number_of = {t.feature: k for k, t in enumerate(explanation.terms) if t.kind == "number"}
    place = np.arange(len(influence), dtype=np.float64)
    for curve, term in enumerate(explanation.terms):
        if term.kind == "curve":
            number = number_of[term.feature]
            influence[[number, curve]] = influence[[number, curve]].max()
            place[curve] = number + 0.5
    order = np.lexsort([place, -influence])
    return [int(t) for t in order if node.coef[output][t] != 0.0]


def formula(
    explanation: ModelExplanation, node: Node, output: int = 0, max_terms: int | None = None
) -> str:
    """The score of a node as a sum in raw units, the most influential terms first."""
    order = strongest_terms(explanation, node, output)
    shown = order[: _cut(explanation, order, max_terms)]
    parts = [(node.intercept[output], "")]
    for t in shown:
        parts.append((node.coef[output][t], term_text(explanation, explanation.terms[t], node)))
    rest = len(order) - len(shown)
    return words.signed_sum(parts) + (f" + {rest} smaller terms" if rest else "")


def _cut(explanation: ModelExplanation, order: Sequence[int], max_terms: int | None) -> int:
    """How many terms are shown: one left over is shown too, and so is the curve of the last."""
    if max_terms is None or len(order) <= max_terms + 1:
        return len(order)
    last, after = (explanation.terms[t] for t in order[max_terms - 1 : max_terms + 1])
    is_pair = max_terms > 0 and after.kind == "curve" and after.feature == last.feature
    return max_terms + is_pair


def term_text(explanation: ModelExplanation, term: Term, node: Node) -> str:
    """A term as it is written in a formula.

    ``age``, ``clip(age, 20, 60)``, ``[sex = f]``, ``curve(age)``.
    """
    feature = explanation.feature[term.feature]
    name = words.name(feature.name)
    if term.kind == "missing":
        return f"[{name} is missing]"
    if term.kind == "category":
        return f"[{name} = {words.name(term.category, 24)}]"
    low, high = node.clamp[feature.column]
    if term.kind == "curve":
        curve = explanation.curve[term.feature]
        return f"curve({_clipped(name, *_curve_ends(curve, feature, low, high))})"
    if feature.knots and not is_rescaled(feature.knots):  # cut tails: a clip of its own
        low, high = max(low, feature.knots[0][0]), min(high, feature.knots[-1][0])
    return _clipped(column_text(feature.name, feature.knots), low, high)


def _clipped(name: str, low: float, high: float) -> str:
    if np.isfinite(low) or np.isfinite(high):
        low, high = _rounded(low, high), _rounded(high, low)
        return f"clip({name}, {words.number(low)}, {words.number(high)})"
    return name


def _curve_ends(curve: Curve, feature: Feature, low: float, high: float) -> tuple[float, float]:
    """The clamp of a curve in raw units; infinite if the curve is constant from there anyway."""
    first, last = curve.of_term[0][0], curve.of_term[-1][0]
    if low <= first and high >= last:
        return -np.inf, np.inf
    ends = to_raw(np.array([low, high]), feature.knots)
    return float(ends[0]), float(ends[1])


CURVES_INTRO = "Curves, the same in all leaves: linear between these points, constant beyond"


def curve_texts(explanation: ModelExplanation) -> list[str]:
    """Every curve in a line, at its points: ``curve(age): 20 → 1.3, 35 → -0.4, ...``."""
    out = []
    for curve in explanation.curves:
        own = explanation.feature[curve.feature].knots
        term, value = np.array(curve.of_term).T
        x = to_raw(term, own)
        nearest = np.abs(np.diff(x)).min() / np.abs(x).max()  # digits that tell them apart
        digits = min(max(4, int(np.ceil(-np.log10(nearest))) + 1), 15) if nearest > 0 else 4
        points = ", ".join(
            f"{words.number(a, digits)} → {words.number(b, 3)}"
            for a, b in zip(x.tolist(), value.tolist(), strict=True)
        )
        scale = f" (linear in {column_text(curve.feature, own)})" if is_rescaled(own) else ""
        out.append(f"curve({words.name(curve.feature)}){scale}: {points}")
    return out


def column_text(name: str, knots: Knots | None) -> str:
    """A number as a formula names it: ``age``, or ``score(age)`` on the scale of its transform."""
    return f"score({words.name(name)})" if is_rescaled(knots) else words.name(name)


def is_rescaled(knots: Knots | None) -> bool:
    """Whether a transform changes what lies between its ends; if not, it cuts the tails only."""
    return any(x != z for x, z in knots or ())


def _rounded(end: float, other: float) -> float:
    """An end of a range; zero where it differs from zero by rounding only."""
    return 0.0 if np.isfinite(other) and abs(end) < 1e-12 * abs(other) else end
