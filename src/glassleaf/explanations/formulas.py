"""Formulas of the nodes' models, in raw units and plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.model import (
    Feature,
    ModelExplanation,
    NodeExplanation,
    spread_of,
)
from glassleaf.explanations.terms import Term, to_raw
from glassleaf.tables.dates import date_text
from glassleaf.tables.short_numbers import without_noise
from glassleaf.tree.complexity import held_hinges

Knots = Sequence[tuple[float, float]]
# A coefficient and what it is multiplied with, and terms that are read as one.
Product = tuple[float, str]
Factor = tuple[float, str, tuple[int, ...]]
Summand = tuple[int, ...]
# The same with the name of its feature, both empty for a constant.
Piece = tuple[float, str, str]

# Of coefficients; places of bends are short numbers, but may lie close together.
_FEW_DIGITS = 4
SHORT_DIGITS = 9
_MOST_DIGITS = 15
# What rounding a coefficient may move a score by, as a share of the score's range.
_SHARE_OF_SUM = 1e-3

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


def numbers_text(explanation: ModelExplanation) -> str:
    """How much there is to read: "41 numbers to read, at most 23 of them for one row"."""
    total = sum(explanation.numbers.values())
    most = max(leaf.numbers or 0 for leaf in explanation.leaves)
    text = f"{total:,} number{'s' * (total != 1)} to read"
    return text if most == total else f"{text}, at most {most:,} of them for one row"


def score_texts(
    explanation: ModelExplanation, leaf: NodeExplanation, max_terms: int | None
) -> list[str]:
    """The formulas of a leaf: ``score = ...``, one for each score; then the ranges in them."""
    lines, shown = [], set[int]()
    for k, output in enumerate(explanation.outputs):
        lines.append(f"score{of_output(output)} = {bare_formula(explanation, leaf, k, max_terms)}")
        for summand in _shown_summands(explanation, leaf, k, max_terms)[0]:
            shown.update(summand)
    ranges = _range_texts(explanation, leaf, sorted(shown))
    return [*lines, f"within {', '.join(ranges)}"] if ranges else lines


def ranges_intro(explanation: ModelExplanation) -> str:
    """What "within" means, for models whose leaves have ranges; else empty."""
    if explanation.share_formula:  # which says ranges where they are
        return ""
    terms = range(len(explanation.terms))
    has_any = any(_range_texts(explanation, leaf, terms) for leaf in explanation.leaves)
    return "Beyond a range after 'within', a number counts as the nearest end." if has_any else ""


def without_ends(explanation: ModelExplanation) -> list[str]:
    """The numbers along which some leaf extrapolates: neither clipped there nor on a scale."""
    found = {
        term.feature
        for leaf in explanation.leaves
        for t, term in enumerate(explanation.terms)
        if term.kind in ("number", "hinge")
        and any(coef[t] != 0.0 for coef in leaf.coef)
        and not explanation.feature[term.feature].knots
        and not np.isfinite(leaf.clamp[explanation.feature[term.feature].column]).all()
    }
    return [feature.name for feature in explanation.features if feature.name in found]


def of_output(output: str) -> str:
    """What follows "score": whose it is, where there are several."""
    return f" of {words.name(output)}" if output else ""


def strongest_summands(
    explanation: ModelExplanation, node: NodeExplanation, output: int
) -> list[Summand]:
    """What the score of a node is made of, by the spread of what it adds there.

    A number's line and hinges are one summand. Only terms with a coefficient are in it.
    """
    coef = node.coef[output]
    used = [tuple(t for t in own if coef[t] != 0.0) for own in explanation.summands]
    found = [own for own in used if own]
    influence = np.array([spread_of(explanation, node, own, output) for own in found])
    return [found[k] for k in np.argsort(-influence, kind="stable")]


def formula(
    explanation: ModelExplanation,
    node: NodeExplanation,
    output: int = 0,
    max_terms: int | None = None,
) -> str:
    """The score of a node as a sum in raw units, the most influential summands first."""
    return _sum_text(explanation, node, output, max_terms, node)


def bare_formula(
    explanation: ModelExplanation, node: NodeExplanation, output: int, max_terms: int | None
) -> str:
    """The same without the ranges of its numbers."""
    return _sum_text(explanation, node, output, max_terms, None)


def difference(
    explanation: ModelExplanation, node: NodeExplanation, parent: NodeExplanation, output: int = 0
) -> str:
    """What the score of a node has more than its parent's; empty if it is the same.

    It begins with a sign: "- 1.2 + 0.03·age".
    """
    changed = difference_pieces(explanation, node, parent, output)
    if not changed:
        return ""
    text = words.signed_sum([(coef, what) for coef, what, _ in changed], SHORT_DIGITS)
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


def formula_pieces(
    explanation: ModelExplanation, node: NodeExplanation, output: int
) -> list[Piece]:
    """What ``formula`` writes: the constant, then all products."""
    return _pieces(explanation, formula_factors(explanation, node, output, node))


def constant(explanation: ModelExplanation, intercept: float, coef: Sequence[float]) -> float:
    """What a formula begins with: its score where all numbers are at their references."""
    parts = [intercept]
    for own, term in zip(coef, explanation.terms, strict=True):
        if own and term.kind == "number":
            parts.append(own * explanation.feature[term.feature].reference)
    size = np.array([np.abs(parts).sum()])
    return float(without_noise(np.array([math.fsum(parts)]), size)[0])


def difference_pieces(
    explanation: ModelExplanation, node: NodeExplanation, parent: NodeExplanation, output: int
) -> list[Piece]:
    """What ``difference`` writes; empty if nothing differs."""
    return _pieces(explanation, difference_factors(explanation, node, parent, output))


def formula_factors(
    explanation: ModelExplanation,
    node: NodeExplanation,
    output: int,
    held_in: NodeExplanation | None,
) -> list[Factor]:
    """The constant of a node's score, then all products, with the ranges of a node or without."""
    coef = node.coef[output]
    out: list[Factor] = [(constant(explanation, node.intercept[output], coef), "", ())]
    for summand in strongest_summands(explanation, node, output):
        out += factors(explanation, summand, coef, held_in)
    return out


def difference_factors(
    explanation: ModelExplanation, node: NodeExplanation, parent: NodeExplanation, output: int
) -> list[Factor]:
    """What a node's score has more than its parent's."""
    above = parent.coef[output]
    coef = [own - shared for own, shared in zip(node.coef[output], above, strict=True)]
    start = constant(explanation, node.intercept[output] - parent.intercept[output], coef)
    out: list[Factor] = [(start, "", ())]
    for summand in explanation.summands:
        out += factors(explanation, summand, coef, node)
    return [factor for factor in out if factor[0] != 0.0]


def _pieces(explanation: ModelExplanation, found: Sequence[Factor]) -> list[Piece]:
    return [
        (size, text, explanation.terms[terms[0]].feature if terms else "")
        for size, text, terms in found
    ]


def _sum_text(
    explanation: ModelExplanation,
    node: NodeExplanation,
    output: int,
    max_terms: int | None,
    held_in: NodeExplanation | None,
) -> str:
    shown, rest = _shown_summands(explanation, node, output, max_terms)
    coef, unit = node.coef[output], _unit(explanation, node, output)
    parts = [(constant(explanation, node.intercept[output], coef), "")]
    digits = [_digits(explanation, parts[0][0], 1.0, unit)]
    for summand in shown:
        own = products(explanation, summand, coef, held_in)
        reach = _reach(explanation, explanation.terms[summand[0]])
        parts += own
        digits += [_digits(explanation, size, reach, unit) for size, _ in own]
    text = words.signed_sum(parts, digits)
    return text + (f" + {rest} smaller terms" if rest else "")


def _digits(explanation: ModelExplanation, coef: float, reach: float, unit: float) -> int:
    """Of a coefficient: all that short numbers have, where the model is told as it is.

    Else few, but as many as keep the sum, where larger summands undo each other.
    """
    if explanation.share_formula:
        return SHORT_DIGITS
    most = abs(coef) * reach / unit if unit > 0 else 0.0
    needed = int(np.ceil(np.log10(0.5 * most / _SHARE_OF_SUM))) + 1 if most > 0 else 0
    return min(max(needed, _FEW_DIGITS), _MOST_DIGITS)


def _unit(explanation: ModelExplanation, node: NodeExplanation, output: int) -> float:
    """What counts as much in a score: its range or, without one, its strongest summand."""
    if explanation.link != "identity":
        return 1.0
    low, high = node.limits[output]
    if np.isfinite(high - low):
        return high - low
    spreads = [spread_of(explanation, node, own, output) for own in explanation.summands]
    return max(spreads, default=0.0)


def _reach(explanation: ModelExplanation, term: Term) -> float:
    """How large a term becomes: 1 for an indicator, else its distance from the reference."""
    feature = explanation.feature[term.feature]
    if term.kind not in ("number", "hinge"):
        return 1.0
    ends = np.array([feature.low, feature.high])
    if feature.knots:
        ends = np.interp(ends, *np.array(feature.knots).T)
    found = np.abs(ends - feature.reference).max()
    return float(found) if np.isfinite(found) else 1.0


def _shown_summands(
    explanation: ModelExplanation, node: NodeExplanation, output: int, max_terms: int | None
) -> tuple[list[Summand], int]:
    """The summands that are written out, and how many are left; one left over is written too."""
    order = strongest_summands(explanation, node, output)
    is_cut = max_terms is not None and len(order) > max_terms + 1
    shown = order[:max_terms] if is_cut else order
    return shown, len(order) - len(shown)


def products(
    explanation: ModelExplanation,
    summand: Summand,
    coef: Sequence[float],
    held_in: NodeExplanation | None,
) -> list[Product]:
    """A summand as it is written in a formula, with the ranges of its numbers in a node or not.

    ``age``, ``clip(age, 20, 60)``, ``[sex = f]``; ``age`` and ``max(0, age - 30)`` where it bends,
    or ``min(age, 30)`` where it is flat from there on.
    """
    return [(size, text) for size, text, _ in factors(explanation, summand, coef, held_in)]


def factors(
    explanation: ModelExplanation,
    summand: Summand,
    coef: Sequence[float],
    held_in: NodeExplanation | None,
) -> list[Factor]:
    """The same, each with its terms: the first less the others."""
    used = [t for t in summand if coef[t] != 0.0]
    terms = [explanation.terms[t] for t in used]
    out: list[Factor] = [
        (coef[t], _term_text(explanation, term, held_in), (t,))
        for t, term in zip(used, terms, strict=True)
    ]
    if not used or terms[0].kind != "number":
        return out
    held = held_hinges(coef[used[0]], np.array([coef[t] for t in used[1:]]))
    for k in held:
        text = _text_up_to(explanation, terms[1 + k], held_in)
        out[1 + k] = (-coef[used[1 + k]], text, (used[0], used[1 + k]))
    return out[1:] if held else out


def _term_text(explanation: ModelExplanation, term: Term, held_in: NodeExplanation | None) -> str:
    feature = explanation.feature[term.feature]
    name = words.name(feature.name)
    if term.kind == "missing":
        return f"[{name} is missing]"
    if term.kind in ("category", "special"):
        return f"[{name} = {words.name(term.category, 24)}]"
    low, high = _held_range(feature, held_in)
    if term.above is None:
        return _around(feature, _held_text(feature, low, high))
    own = _held_text(feature, low if low > term.above else -np.inf, high)
    less = _less(feature, term.above, _place_digits(feature, term.above, SHORT_DIGITS))
    return f"max(0, {own} {less})" if term.above else f"max(0, {own})"


def _text_up_to(explanation: ModelExplanation, hinge: Term, held_in: NodeExplanation | None) -> str:
    """A number that counts as the place of its hinge beyond it."""
    assert hinge.above is not None
    feature = explanation.feature[hinge.feature]
    low, high = _held_range(feature, held_in)
    return _around(feature, _held_text(feature, low, min(high, hinge.above), SHORT_DIGITS))


def _around(feature: Feature, text: str) -> str:
    """A number as it stands in a product, less its reference where it has one."""
    if not feature.reference:
        return text
    return f"({text} {_less(feature, feature.reference, _MOST_DIGITS)})"


def _less(feature: Feature, place: float, digits: int) -> str:
    """What is subtracted: ``- 30``, ``+ 30`` where that is negative, or a date."""
    if is_date(feature):
        return f"- {date_text(place)}"
    return f"{'+' if place < 0 else '-'} {words.number(abs(place), digits)}"


def place_text(feature: Feature, place: float, digits: int) -> str:
    """A value of a number, or of its term."""
    return date_text(place) if is_date(feature) else words.number(place, digits)


def value_text(feature: Feature, value: float, digits: int) -> str:
    """A value of a number as it was in the table."""
    return words.number(value, digits) if feature.date_unit is None else date_text(value)


def is_date(feature: Feature) -> bool:
    """Whether the terms of a feature are days, which are written as dates."""
    return feature.date_unit is not None and not is_rescaled(feature.knots)


def _place_digits(feature: Feature, place: float, digits: int) -> int:
    return words.digits_beside(place, feature.high - feature.low, digits)


def _held_range(feature: Feature, held_in: NodeExplanation | None) -> tuple[float, float]:
    return (-np.inf, np.inf) if held_in is None else _range(feature, held_in)


def _held_text(feature: Feature, low: float, high: float, digits: int = 6) -> str:
    """``age``, ``min(age, 60)``, ``max(age, 20)`` or ``clip(age, 20, 60)``."""
    name, ends = column_text(feature.name, feature.knots), _ends(feature, low, high, digits)
    if np.isfinite([low, high]).all():
        return f"clip({name}, {', '.join(ends)})"
    if np.isfinite(high):
        return f"min({name}, {ends[1]})"
    return f"max({name}, {ends[0]})" if np.isfinite(low) else name


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
    kinds = ("number", "hinge")
    columns = {explanation.terms[t].feature for t in terms if explanation.terms[t].kind in kinds}
    out = []
    for feature in explanation.features:
        low, high = _range(feature, node) if feature.name in columns else (-np.inf, np.inf)
        if np.isfinite([low, high]).any():
            low, high = (float(end) for end in to_raw(np.array([low, high]), feature.knots))
            out.append(f"{words.name(feature.name)} {' to '.join(_ends(feature, low, high))}")
    return out


def _ends(feature: Feature, low: float, high: float, digits: int = 6) -> tuple[str, str]:
    first, last = _rounded(low, high), _rounded(high, low)
    return (
        place_text(feature, first, _place_digits(feature, first, digits)),
        place_text(feature, last, _place_digits(feature, last, digits)),
    )


def fills_text(explanation: ModelExplanation) -> str:
    """What missing numbers count as, for features that leaves use and that had some; else empty."""
    gaps = {term.feature for term in explanation.terms if term.kind in ("missing", "special")}
    used = {
        term.feature
        for t, term in enumerate(explanation.terms)
        if term.kind in ("number", "hinge")
        and any(coef[t] != 0.0 for leaf in explanation.leaves for coef in leaf.coef)
    }
    fills = []
    for feature in explanation.features:
        if feature.name in gaps & used and feature.categories is None:
            fill = float(to_raw(np.array(feature.fill), feature.knots))
            digits = _place_digits(feature, fill, 6)
            fills.append(f"{words.name(feature.name)} {value_text(feature, fill, digits)}")
    what = "or special number" if any(t.kind == "special" for t in explanation.terms) else "number"
    return f"A missing {what} counts as: {', '.join(fills)}." if fills else ""


def limit_texts(explanation: ModelExplanation) -> list[str]:
    """What scores are held in, once if it is the same in all leaves, and what all of them add."""
    leaves = explanation.leaves
    if len({leaf.limits for leaf in leaves}) == 1:
        held = [f"The {text}." for text in _held_texts(explanation, leaves[0])]
    else:
        held = [
            f"In leaf {leaf.leaf} ({leaf.rule_text}) the {text}."
            for leaf in leaves
            for text in _held_texts(explanation, leaf)
        ]
    return [*held, *(f"Every score then adds {text}." for text in explanation.known)]


def _held_texts(explanation: ModelExplanation, leaf: NodeExplanation) -> list[str]:
    out = []
    for output, (low, high) in zip(explanation.outputs, leaf.limits, strict=True):
        if np.isfinite([low, high]).all():
            held = f"held between {words.number(low)} and {words.number(high)}"
        elif np.isfinite([low, high]).any():
            end = "at least" if high == np.inf else "at most"
            held = f"{end} {words.number(low if high == np.inf else high)}"
        else:
            continue
        out.append(f"score{of_output(output)} is {held}")
    return out


SCALES_INTRO = (
    "rank(x) is x by its rank among the training rows (0 in the middle, a sixth of the rows above"
    " 1, one in 44 above 2): linear between these points, constant beyond"
)


def scale_texts(explanation: ModelExplanation, max_terms: int | None) -> dict[str, str]:
    """By feature, every scale in the formulas at its points: ``rank(age): 18 → -3.5, ...``."""
    shown = {
        explanation.terms[t].feature
        for leaf in explanation.leaves
        for k in range(len(explanation.outputs))
        for t, *_ in _shown_summands(explanation, leaf, k, max_terms)[0]
        if explanation.terms[t].kind in ("number", "hinge")
    }
    return {
        own.name: f"{column_text(own.name, own.knots)}: {_points_text(own, 6)}"
        for own in explanation.features
        if own.name in shown and own.knots and is_rescaled(own.knots)
    }


def _points_text(feature: Feature, least_digits: int) -> str:
    points = feature.knots or ()
    digits, x = least_digits, np.array([x for x, _ in points])
    nearest = np.abs(np.diff(x)).min() / np.abs(x).max()
    if nearest > 0:  # as many as tell them apart
        digits = min(max(digits, int(np.ceil(-np.log10(nearest))) + 1), 15)
    return ", ".join(f"{value_text(feature, x, digits)} → {words.number(z, 3)}" for x, z in points)


def column_text(name: str, knots: Knots | None) -> str:
    """A number as a formula names it: ``age``, or ``rank(age)`` on the scale of its transform."""
    return f"rank({words.name(name)})" if is_rescaled(knots) else words.name(name)


def is_rescaled(knots: Knots | None) -> bool:
    """Whether a transform changes what lies between its ends; if not, it cuts the tails only."""
    return any(x != z for x, z in knots or ())


def _rounded(end: float, other: float) -> float:
    """An end of a range; zero where it differs from zero by rounding only."""
    return 0.0 if np.isfinite(other) and abs(end) < 1e-12 * abs(other) else end
