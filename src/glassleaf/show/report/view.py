"""The contents of a report as the page's script reads them: texts made, numbers ready to draw.

A text that holds somebody's name is a list ``[before, name, after]``, so that the page can keep
the direction of the name's writing from turning the rest.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.decisions import NetBenefit
from glassleaf.explanations.differences import Difference
from glassleaf.explanations.effect_lines import EffectLine, bends, direction, effect_line
from glassleaf.explanations.formulas import (
    SCALES_INTRO,
    SHORT_DIGITS,
    Piece,
    constant,
    link_text,
    products,
    scale_texts,
    strongest_summands,
)
from glassleaf.explanations.json_data import json_ready
from glassleaf.explanations.lines import CONSTANT
from glassleaf.explanations.model import (
    Candidate,
    Feature,
    ModelExplanation,
    NodeExplanation,
    spread_of,
)
from glassleaf.explanations.rules import Condition, rule_texts
from glassleaf.show.report import prose
from glassleaf.show.report.contents import Contents
from glassleaf.show.report.densities import Density
from glassleaf.show.report.steps import DrawnNode, ReportedStep, drawn_nodes
from glassleaf.show.text.model import target_text
from glassleaf.tree.fitted import NEW_CATEGORY

Parts = list[str]

# Largest number of points of a line of gains: more could not be seen, and would make large pages.
_GAIN_POINTS = 200
# Terms that are 1 or 0, and the number of rows below which their coefficients are marked.
_INDICATORS = ("category", "missing", "special")
_FEW_ROWS = 10
# Longest name in a table or form; the page shortens it further where there is no room.
_LABEL = 200
# What stands for a category that training never saw; others are positions.
_NEW = -1
# What the rows of the report are called.
_TEST = {"rows": "test rows", "row": "test row", "of": "test"}
_SEEN = {"rows": "rows shown", "row": "row", "of": "rows shown"}


def page_view(contents: Contents) -> dict[str, Any]:
    """Everything the page shows, for ``json.dumps``."""
    model = contents.model
    view = {
        "title": contents.title,
        "origin": prose.origin(contents),
        "intro": prose.intro(contents),
        "definitions": prose.definitions(contents),
        "shown": _SEEN if contents.seen else _TEST,
        "summary": prose.summary(contents),
        "kind": model.kind,
        "link": link_text(model.link, model.positive_class),
        "classes": None if model.classes is None else [words.class_name(c) for c in model.classes],
        "positive": model.positive,
        "outputs": _outputs(model),
        "scores": _scores(contents),
        "weights": prose.weight_note(contents),
        "on_classes": _classes(contents),
        "calibration": _calibration(contents),
        "brier": prose.brier_note(contents),
        "validation": _validation(contents),
        "features": [_feature(contents, feature) for feature in _by_importance(model)],
        "steps": [_step(contents, step) for step in contents.steps],
        "estimates": _estimates(contents),
        "nodes": [_node(model, node) for node in drawn_nodes(model)],
        "leaves": _leaves(contents),
        "scales": {"intro": f"{SCALES_INTRO}.", "texts": _scales(model)},
        "bends": [_bent(model, density) for density in contents.densities],
        "distribution": {
            "axis": words.name(contents.leaves.axis),
            "edges": contents.leaves.edges,
            "series": [words.name(name) for name in contents.leaves.series],
        },
        "gains": [_gains(node) for node in model.splits],
        "resampled": _resampled(contents),
        "data": _data(contents),
        "rows": {"typical": _cells(model, contents.typical), "examples": _examples(contents)},
    }
    ready: dict[str, Any] = json_ready(view)
    return ready


def _estimates(contents: Contents) -> dict[str, Any] | None:
    """Coefficients with intervals; points and ends are in units that compare."""
    found = contents.estimates
    if found is None:
        return None
    return {
        "coverage": found.coverage_text,
        "has_classes": any(line.output for line in found.lines),
        "differences": found.differences,
        "notes": found.notes,
        "lines": [
            {
                "where": line.where,
                "class": words.name(line.output) if line.output else "",
                "term": line.term,
                "estimate": None if np.isnan(line.value) else words.number(line.value, 4),
                "error": None if np.isnan(line.error) else words.number(line.error, 3),
                "interval": line.interval_text,
                "p": line.p_text,
                "ends": None
                if line.term == CONSTANT or np.isnan(line.low)
                else [line.unit * end for end in (line.low, line.value, line.high)],
            }
            for line in found.lines
        ],
    }


def _outputs(model: ModelExplanation) -> list[str]:
    """The classes that the scores speak for; one empty name for a number."""
    if model.classes is None:
        return [""]
    labels = model.classes if model.positive_class is None else [model.positive_class]
    return [words.class_name(label) for label in labels]


def condition_parts(condition: Condition, length: int = words.NAME_LENGTH) -> Parts:
    """A condition around the name of its feature."""
    return _around(condition.in_words(length), words.name(condition.feature, length))


def _rule_parts(rule: tuple[Condition, ...]) -> list[Parts]:
    return [
        _around(text, words.name(condition.feature))
        for text, condition in zip(rule_texts(rule), rule, strict=True)
    ]


def _around(text: str, name: str) -> Parts:
    """A text cut at a name that is known to stand in it."""
    before, _, after = text.partition(name)
    return [before, name, after]


def _term_parts(text: str, name: str) -> Parts:
    """A term of a formula around the name of its feature, which may be as short as "c"."""
    functions = re.match(r"(?:\[|max\(0, |max\(|min\(|clip\(|rank\()*", text)
    start = functions.end() if functions and text.startswith(name, functions.end()) else 0
    before, name, after = _around(text[start:], name)
    return [text[:start] + before, name, after]


def _scales(model: ModelExplanation) -> list[Parts]:
    """The points of every rank(x) in the formulas."""
    return [_term_parts(text, words.name(k)) for k, text in scale_texts(model, None).items()]


def _scores(contents: Contents) -> list[dict[str, str]]:
    return [
        {
            "name": score.name,
            "value": prose.score_text(score),
            "interval": prose.interval_text(score),
            "baseline": prose.value_text(score, score.baseline),
            "meaning": score.meaning,
            "method": score.interval,
        }
        for score in contents.scores
    ]


def _classes(contents: Contents) -> dict[str, Any] | None:
    found = contents.classes
    if found is None:
        return None
    rates = [
        {
            **{name: getattr(one, name) for name in ("share", "predicted", "recall", "precision")},
            "auc": prose.score_text(one.auc),
            "interval": prose.interval_text(one.auc),
        }
        for one in found.classes
    ]
    return {"confusion": found.confusion, "rates": rates, "roc": found.roc}


def _calibration(contents: Contents) -> list[dict[str, Any]]:
    labels = {str(label): words.class_name(label) for label in contents.model.classes or ()}
    return [
        {"name": labels.get(name, name), "bins": bins}
        for name, bins in contents.calibration.items()
    ]


def _validation(contents: Contents) -> dict[str, Any]:
    """Texts of tables; points of curves."""
    found = contents.validation
    challenger = found.challenger
    return {
        "samples": [
            {
                "name": words.name(sample.name, _LABEL),
                "rows": prose.rows_text(sample.rows) + ", fitted on" * sample.seen,
                "scores": [[prose.score_text(s), prose.interval_text(s)] for s in sample.scores],
            }
            for sample in found.samples
        ],
        "challenger": None
        if challenger is None
        else {
            "name": words.name(challenger.name, _LABEL),
            "scores": [prose.compared_texts(one) for one in challenger.comparison],
        },
        "decisions": _curve(found.decisions),
        "rival": _curve(challenger.decisions) if challenger else [],
        "optimism": [prose.optimism_texts(own) for own in found.optimism],
        "learning": found.learning_curve,
    }


def _curve(points: tuple[NetBenefit, ...]) -> list[list[float]]:
    return [[p.threshold, p.model, p.low, p.high, p.everyone] for p in points]


def _resampled(contents: Contents) -> dict[str, Any] | None:
    found = contents.resampled
    if found is None:
        return None
    used = [own for own in found.columns if max(own.splits, own.formulas) > 0]
    columns = [{**own.to_dict(), "label": words.name(own.name, _LABEL)} for own in used]
    return {"sentences": found.sentences(), "columns": columns}


def _by_importance(model: ModelExplanation) -> list[Feature]:
    return sorted(model.features, key=lambda own: -max(own.effect_share, own.gain_share))


def _feature(contents: Contents, feature: Feature) -> dict[str, Any]:
    is_used = feature.effect > 0 or feature.n_splits > 0
    return {
        "name": feature.name,
        "label": words.name(feature.name, _LABEL),
        "column": feature.column,
        "effect": feature.effect_share,
        "gain": feature.gain_share,
        "splits": feature.n_splits,
        "low": feature.low,
        "high": feature.high,
        "date": feature.date_unit,
        "categories": None
        if feature.categories is None
        else [words.name(category, _LABEL) for category in feature.categories],
        "used": is_used,
        "reason": _reason(contents.model, feature.name),
        "special": feature.special,
        "missing": contents.data.features[feature.column].missing_training,
    }


def _reason(model: ModelExplanation, name: str) -> str:
    """Code and text of a column as a reason, empty where it has none."""
    codes = model.parameters.get("reason_codes") or {}
    return " ".join(codes.get(name, ()))


# --- one formula, and what differs ---------------------------------------------------------------


def _step(contents: Contents, step: ReportedStep) -> dict[str, Any]:
    validated = None
    if step.validated is not None and step.error is not None:
        validated = f"{words.number(step.validated, 4)} ± {words.number(step.error, 2)}"
    return {
        "numbers": step.numbers,
        "leaves": step.leaves,
        "validated": validated,
        "scores": [[score.name, prose.score_text(score)] for score in step.scores],
        "lines": [_line(contents.model, own) for own in step.differences],
        "tree": None if step.is_chosen else [_node(contents.model, node) for node in step.nodes],
        "notes": step.notes,
        "chosen": step.is_chosen,
    }


def _line(model: ModelExplanation, own: Difference) -> dict[str, Any]:
    """What a node says. A product is its sign, its size, and the parts around its name."""
    return {
        "depth": own.depth,
        "where": None if own.condition is None else condition_parts(own.condition),
        "rows": words.rows_and_share(own.rows, model.rows, own.share),
        "sums": [[_product(piece) for piece in pieces] for pieces in own.sums],
    }


def _product(piece: Piece) -> list[Any]:
    coef, text, feature = piece
    parts = _term_parts(text, words.name(feature)) if text else None
    return [coef < 0, words.number(abs(coef), SHORT_DIGITS), parts]


# --- the tree ------------------------------------------------------------------------------------


def _node(model: ModelExplanation, node: DrawnNode) -> dict[str, Any]:
    is_leaf = node.leaf is not None
    return {
        "id": node.id,
        "leaf": node.leaf,
        "parent": node.parent,
        "depth": node.depth,
        "rows": words.rows_and_share(node.rows, model.rows, node.share)
        if is_leaf
        else prose.rows_text(node.rows),
        "share": node.share,
        "target": target_text(model, node.target),
        "brief": _brief(model, node.target),
        "sides": None if is_leaf else [condition_parts(asked) for _, asked in node.sides],
        "children": None if is_leaf else [child for child, _ in node.sides],
        "feature": None if node.feature is None else words.name(node.feature),
    }


def _brief(model: ModelExplanation, target: tuple[float, ...]) -> str:
    """What a box of the tree has room for: a mean, or the share of one class."""
    if model.classes is None:
        return f"mean {words.number(target[0], 4)}"
    shown = model.positive if len(target) == 2 else int(np.argmax(target))
    return f"{words.percent(target[shown])} {words.class_name(model.classes[shown])}"


def _leaves(contents: Contents) -> list[dict[str, Any]]:
    model = contents.model
    return [
        {
            "node": leaf.id,
            "leaf": leaf.leaf,
            "rule": _rule_parts(leaf.rule),
            "rows": leaf.rows,
            "rows_text": words.rows_and_share(leaf.rows, model.rows, leaf.share, unit=""),
            "target": leaf.target,
            "prediction": leaf.prediction,
            "raw": leaf.raw,
            "formulas": [_formula(model, leaf, k) for k in range(len(model.outputs))],
            "means": _mean_parts(model, leaf),
            "clamps": leaf.clamp,
            "limits": leaf.limits,
            "test": test,
            "test_rows_text": words.rows_and_share(test.rows, contents.rows, test.share, unit=""),
        }
        for leaf, test in zip(model.leaves, contents.leaves.leaves, strict=True)
    ]


def _formula(model: ModelExplanation, leaf: NodeExplanation, output: int) -> dict[str, Any]:
    """The intercept, and the summands by their influence: the spread of what they add in the leaf.

    ``start`` is the constant beside products as they are written, some of them about references.
    ``way`` is 1 where larger values raise the score, -1 where they lower it, else 0; ``line`` are
    the points of what a number adds, where it bends.
    """
    terms = []
    for summand in strongest_summands(model, leaf, output):
        first = model.terms[summand[0]]
        is_number = first.feature in model.of_number and first.kind not in _INDICATORS
        is_bent = is_number and bool(bends(model, leaf, first.feature, output))
        line = effect_line(model, leaf, first.feature, output) if is_bent else None
        terms.append(
            {
                "products": [
                    {"coef": coef, "text": _term_parts(text, words.name(first.feature))}
                    for coef, text in products(model, summand, leaf.coef[output], leaf)
                ],
                "title": first.feature if is_number else first.name,
                "influence": spread_of(model, leaf, summand, output),
                "way": direction(model, leaf, first.feature, output) if is_number else 0,
                "line": None if line is None else line.points,
                "support": None if is_number else _support(leaf, summand[0]),
            }
        )
    start = constant(model, leaf.intercept[output], leaf.coef[output])
    return {"intercept": leaf.intercept[output], "start": start, "terms": terms}


def _support(leaf: NodeExplanation, t: int) -> dict[str, Any]:
    """How many training rows of the leaf an indicator is 1 for: its coefficient rests on these.

    The model keeps the weighted share; where rows had weights, their number is not known.
    """
    number = leaf.mean[t] * leaf.rows
    if leaf.weight != leaf.rows or abs(number - round(number)) > 1e-6 * leaf.rows:
        return {"text": words.percent(leaf.mean[t]), "few": False}
    rows = round(number)
    return {"text": prose.rows_text(rows), "few": rows < _FEW_ROWS}


def _mean_parts(model: ModelExplanation, leaf: NodeExplanation) -> list[list[float]]:
    """What every column adds to the scores of the leaf's mean row: contributions start there."""
    column = {feature.name: feature.column for feature in model.features}
    out = np.zeros((len(model.features), len(model.outputs)))
    added = np.array(leaf.coef) * np.array(leaf.mean)
    for t, term in enumerate(model.terms):
        out[column[term.feature]] += added[:, t]
    return out.tolist()


def _bent(model: ModelExplanation, density: Density) -> dict[str, Any]:
    """A feature that bends: what it adds in every leaf, and where the test rows are."""
    name, output = density.feature, len(model.outputs) - 1
    return {
        "name": name,
        "label": words.name(name, _LABEL),
        "date": model.feature[name].date_unit is not None,
        "lines": [
            {
                "leaf": leaf.leaf,
                "points": _cut(effect_line(model, leaf, name, output), density),
                "bends": [
                    at for at in bends(model, leaf, name, output) if density.low < at < density.high
                ],
            }
            for leaf in model.leaves
        ],
        "rows": density,
    }


def _cut(line: EffectLine, density: Density) -> list[list[float]]:
    """The points of a line within the range that is shown; none where it lies beyond."""
    x, added = np.array(line.points).T
    low, high = max(density.low, x[0]), min(density.high, x[-1])
    if low > high:
        return []
    shown = np.array([low, *x[(x > low) & (x < high)], high])
    return [[at, value] for at, value in zip(shown, np.interp(shown, x, added), strict=True)]


# --- splits and their rivals ---------------------------------------------------------------------


def _gains(node: NodeExplanation) -> dict[str, Any]:
    assert node.split is not None
    return {
        "node": node.id,
        "rule": _rule_parts(node.rule),
        "rows": node.rows,
        "candidates": [_candidate(candidate) for candidate in node.split.candidates],
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    points = candidate.gains
    if len(points) > _GAIN_POINTS:
        best = max(range(len(points)), key=lambda k: points[k][1])
        some = np.linspace(0, len(points) - 1, _GAIN_POINTS).astype(int).tolist()
        points = tuple(points[k] for k in sorted({*some, best}))
    is_number = candidate.condition.categories is None
    return {
        "text": condition_parts(candidate.condition, 24),
        "feature": candidate.feature,
        "gain": candidate.gain,
        "chosen": candidate.is_chosen,
        "number": is_number,
        "date": candidate.condition.date_unit is not None,
        "place": candidate.condition.high if is_number else None,
        "points": points,
    }


# --- rows ----------------------------------------------------------------------------------------


def _data(contents: Contents) -> dict[str, Any]:
    notes = contents.data
    return {
        "rows": notes.rows,
        "stability": [
            {"label": "the leaves' shares", "psi": notes.leaf_stability, "level": notes.leaf_level},
            *(
                {"label": words.name(own.name, _LABEL), "psi": own.psi, "level": own.level}
                for own in notes.scores
            ),
        ],
        "features": [
            {
                **note.to_dict(),
                "label": words.name(note.feature, _LABEL),
                "new": words.listed(note.new_categories, 8),
            }
            for note in sorted(notes.features, key=lambda note: -note.level)
        ],
    }


def _cells(model: ModelExplanation, values: tuple[Any, ...]) -> list[Any]:
    """A row for the form: numbers, None where missing, positions of categories."""
    out: list[Any] = []
    for feature, value in zip(model.features, values, strict=True):
        words_of = {word: code for code, word in feature.special}
        if feature.categories is None and value in words_of:
            out.append(words_of[value])
        elif feature.categories is None or value is None:
            out.append(value)
        else:
            known = feature.categories
            out.append(_NEW if value is NEW_CATEGORY else known.index(value))
    return out


def _examples(contents: Contents) -> list[dict[str, Any]]:
    return [
        {
            "row": example.row,
            "values": _cells(contents.model, example.values),
            "target": words.number(example.target, 5)
            if contents.model.classes is None
            else words.class_name(example.target),
            "prediction": example.prediction[contents.model.positive],
        }
        for example in contents.examples
    ]
