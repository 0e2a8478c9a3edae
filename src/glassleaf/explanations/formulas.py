"""Formulas of the nodes' models, in raw units and plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.model import Feature, ModelExplanation, NodeExplanation
from glassleaf.explanations.terms import Curve, Term, to_raw

Knots = Sequence[tuple[float, float]]

# How a prediction follows from the raw score, by link.
LINKS = {
    "identity": "prediction = score",
    "log": "prediction = exp(score)",
    "logit": "P({label}) = 1 / (1 + exp(-score))",
    "softmax": "P(class) = exp(score of the class) / sum over the classes",
    "custom": "prediction = inverse_link(score), the loss's own",
}


def link_text(link: str, positive_class: Any) -> str:
    """How a prediction follows from the score.

    >>> link_text("logit", "yes")
    'P(yes) = 1 / (1 + exp(-score))'
    """
    return LINKS[link].format(label=words.name(positive_class))


def score_texts(
    explanation: ModelExplanation, leaf: NodeExplanation, max_terms: int | None
) -> list[str]:
    """The formulas of a leaf: ``score = ...``, one for each score; then the ranges in them."""
    lines, shown = [], set[int]()
    for k, output in enumerate(explanation.outputs):
        lines.append(f"score{of_output(output)} = {bare_formula(explanation, leaf, k, max_terms)}")
        shown.update(_shown_terms(explanation, leaf, k, max_terms)[0])
    ranges = _range_texts(explanation, leaf, sorted(shown))
    return [*lines, f"within {', '.join(ranges)}"] if ranges else lines


def ranges_intro(explanation: ModelExplanation) -> str:
    """What "within" means, for models whose leaves have ranges; else empty."""
    terms = range(len(explanation.terms))
    has_any = any(_range_texts(explanation, leaf, terms) for leaf in explanation.leaves)
    return "Beyond a range after 'within', a number counts as the nearest end." if has_any else ""


def without_ends(explanation: ModelExplanation) -> list[str]:
    """The numbers along which some leaf extrapolates: neither clipped there nor on a scale."""
    found = {
        term.feature
        for leaf in explanation.leaves
        for t, term in enumerate(explanation.terms)
        if term.kind == "number"
        and any(coef[t] != 0.0 for coef in leaf.coef)
        and not explanation.feature[term.feature].knots
        and not np.isfinite(leaf.clamp[explanation.feature[term.feature].column]).all()
    }
    return [feature.name for feature in explanation.features if feature.name in found]


def of_output(output: str) -> str:
    """What follows "score": whose it is, where there are several."""
    return f" of {words.name(output)}" if output else ""


def strongest_terms(explanation: ModelExplanation, node: NodeExplanation, output: int) -> list[int]:
    """Terms with a coefficient, by their influence ``|coef| * spread`` in the node.

    A curve follows its number; the larger influence of the two places both.
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
    explanation: ModelExplanation,
    node: NodeExplanation,
    output: int = 0,
    max_terms: int | None = None,
) -> str:
    """The score of a node as a sum in raw units, the most influential terms first."""
    shown, rest = _shown_terms(explanation, node, output, max_terms)
    terms = [(t, term_text(explanation, explanation.terms[t], node)) for t in shown]
    return _sum_text(node, output, terms, rest)


def bare_formula(
    explanation: ModelExplanation, node: NodeExplanation, output: int, max_terms: int | None
) -> str:
    """The same without the ranges of its numbers."""
    shown, rest = _shown_terms(explanation, node, output, max_terms)
    terms = [(t, _bare_text(explanation, explanation.terms[t])) for t in shown]
    return _sum_text(node, output, terms, rest)


def difference(
    explanation: ModelExplanation, node: NodeExplanation, parent: NodeExplanation, output: int = 0
) -> str:
    """What the score of a node has more than its parent's; empty if it is the same.

    It begins with a sign: "- 1.2 + 0.03·age".
    """
    parts = [(node.intercept[output] - parent.intercept[output], "")]
    parts += [
        (own - above, term_text(explanation, term, node))
        for term, own, above in zip(
            explanation.terms, node.coef[output], parent.coef[output], strict=True
        )
    ]
    changed = [part for part in parts if part[0] != 0.0]
    if not changed:
        return ""
    text = words.signed_sum(changed)
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


def _sum_text(
    node: NodeExplanation, output: int, terms: Sequence[tuple[int, str]], rest: int
) -> str:
    parts = [(node.intercept[output], "")]
    parts += [(node.coef[output][t], text) for t, text in terms]
    return words.signed_sum(parts) + (f" + {rest} smaller terms" if rest else "")


def _shown_terms(
    explanation: ModelExplanation, node: NodeExplanation, output: int, max_terms: int | None
) -> tuple[list[int], int]:
    """The terms that are written out, and how many are left."""
    order = strongest_terms(explanation, node, output)
    shown = order[: _cut(explanation, order, max_terms)]
    return shown, len(order) - len(shown)


def _cut(explanation: ModelExplanation, order: Sequence[int], max_terms: int | None) -> int:
    """How many terms are shown: one left over is shown too, and so is the curve of the last."""
    if max_terms is None or len(order) <= max_terms + 1:
        return len(order)
    if max_terms == 0:
        return 0
    last, after = (explanation.terms[t] for t in order[max_terms - 1 : max_terms + 1])
    return max_terms + (after.kind == "curve" and after.feature == last.feature)


def term_text(explanation: ModelExplanation, term: Term, node: NodeExplanation) -> str:
    """A term as it is written in a formula.

    ``age``, ``clip(age, 20, 60)``, ``[sex = f]``, ``curve(age)``.
    """
    feature = explanation.feature[term.feature]
    if term.kind == "curve":
        curve, clamp = explanation.curve[term.feature], node.clamp[feature.column]
        return f"curve({_clipped(words.name(feature.name), *_curve_ends(curve, feature, *clamp))})"
    bare = _bare_text(explanation, term)
    return _clipped(bare, *_range(feature, node)) if term.kind == "number" else bare


def _bare_text(explanation: ModelExplanation, term: Term) -> str:
    """A term without its range."""
    feature = explanation.feature[term.feature]
    name = words.name(feature.name)
    if term.kind == "missing":
        return f"[{name} is missing]"
    if term.kind == "category":
        return f"[{name} = {words.name(term.category, 24)}]"
    return f"curve({name})" if term.kind == "curve" else column_text(feature.name, feature.knots)


def _range(feature: Feature, node: NodeExplanation) -> tuple[float, float]:
    """The ends between which the term of a number stays in a node, on its own scale."""
    low, high = node.clamp[feature.column]
    if feature.knots and not is_rescaled(feature.knots):  # cut tails: a clip of its own
        low, high = max(low, feature.knots[0][0]), min(high, feature.knots[-1][0])
    return low, high


def _range_texts(
    explanation: ModelExplanation, node: NodeExplanation, terms: Sequence[int]
) -> list[str]:
    """``age 20 to 60`` for every number among some terms that is held to a range."""
    kinds = ("number", "curve")
    columns = {explanation.terms[t].feature for t in terms if explanation.terms[t].kind in kinds}
    out = []
    for feature in explanation.features:
        low, high = _range(feature, node) if feature.name in columns else (-np.inf, np.inf)
        if np.isfinite([low, high]).any():
            low, high = (float(end) for end in to_raw(np.array([low, high]), feature.knots))
            out.append(f"{words.name(feature.name)} {' to '.join(_ends(low, high))}")
    return out


def _clipped(name: str, low: float, high: float) -> str:
    if np.isfinite(low) or np.isfinite(high):
        return f"clip({name}, {', '.join(_ends(low, high))})"
    return name


def _ends(low: float, high: float) -> tuple[str, str]:
    return words.number(_rounded(low, high)), words.number(_rounded(high, low))


def _curve_ends(curve: Curve, feature: Feature, low: float, high: float) -> tuple[float, float]:
    """The clamp of a curve in raw units; infinite if the curve is constant from there anyway."""
    first, last = curve.of_term[0][0], curve.of_term[-1][0]
    if low <= first and high >= last:
        return -np.inf, np.inf
    ends = to_raw(np.array([low, high]), feature.knots)
    return float(ends[0]), float(ends[1])


def fills_text(explanation: ModelExplanation) -> str:
    """What missing numbers count as, for features that have a term for it; else empty."""
    gaps = {term.feature for term in explanation.terms if term.kind == "missing"}
    fills = []
    for feature in explanation.features:
        if feature.name in gaps and feature.categories is None:
            fill = float(to_raw(np.array(feature.fill), feature.knots))
            fills.append(f"{words.name(feature.name)} {words.number(fill)}")
    return f"A missing number counts as: {', '.join(fills)}." if fills else ""


_CURVES_INTRO = "Curves, the same in all leaves: linear between these points, constant beyond"
SCALES_INTRO = (
    "rank(x) is x by its rank among the training rows (0 in the middle, a sixth of the rows above"
    " 1, one in 44 above 2): linear between these points, constant beyond"
)


def function_lists(
    explanation: ModelExplanation, max_terms: int | None
) -> list[tuple[str, list[str]]]:
    """The functions in formulas of ``max_terms`` terms: scales, then curves, each with a title."""
    lists = [
        (SCALES_INTRO, list(scale_texts(explanation, max_terms).values())),
        (_CURVES_INTRO, curve_texts(explanation)),
    ]
    return [(intro, texts) for intro, texts in lists if texts]


def curve_texts(explanation: ModelExplanation) -> list[str]:
    """Every curve in a line, at its points: ``curve(age): 20 → 1.3, 35 → -0.4, ...``."""
    out = []
    for curve in explanation.curves:
        own = explanation.feature[curve.feature].knots
        term, value = np.array(curve.of_term).T
        scale = f" (linear in {column_text(curve.feature, own)})" if is_rescaled(own) else ""
        points = list(zip(to_raw(term, own).tolist(), value.tolist(), strict=True))
        out.append(f"curve({words.name(curve.feature)}){scale}: {_points_text(points, 4)}")
    return out


def scale_texts(explanation: ModelExplanation, max_terms: int | None) -> dict[str, str]:
    """By feature, every scale in the formulas at its points: ``rank(age): 18 → -3.5, ...``."""
    shown = {
        explanation.terms[t].feature
        for leaf in explanation.leaves
        for k in range(len(explanation.outputs))
        for t in _shown_terms(explanation, leaf, k, max_terms)[0]
        if explanation.terms[t].kind == "number"
    } | set(explanation.curve)  # all curves are listed
    return {
        own.name: f"{column_text(own.name, own.knots)}: {_points_text(own.knots, 6)}"
        for own in explanation.features
        if own.name in shown and own.knots and is_rescaled(own.knots)
    }


def _points_text(points: Knots, least_digits: int) -> str:
    digits, x = least_digits, np.array([x for x, _ in points])
    nearest = np.abs(np.diff(x)).min() / np.abs(x).max()
    if nearest > 0:  # as many as tell them apart
        digits = min(max(digits, int(np.ceil(-np.log10(nearest))) + 1), 15)
    return ", ".join(f"{words.number(x, digits)} → {words.number(z, 3)}" for x, z in points)


def column_text(name: str, knots: Knots | None) -> str:
    """A number as a formula names it: ``age``, or ``rank(age)`` on the scale of its transform."""
    return f"rank({words.name(name)})" if is_rescaled(knots) else words.name(name)


def is_rescaled(knots: Knots | None) -> bool:
    """Whether a transform changes what lies between its ends; if not, it cuts the tails only."""
    return any(x != z for x, z in knots or ())


def _rounded(end: float, other: float) -> float:
    """An end of a range; zero where it differs from zero by rounding only."""
    return 0.0 if np.isfinite(other) and abs(end) < 1e-12 * abs(other) else end
