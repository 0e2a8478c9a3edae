"""The model for browsers and node: a scorer written by hand (``scorer.js``), the data it reads.

There is one scorer in JavaScript; the export and the report both use it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

from glassleaf.tree.plain import (
    Label,
    PlainColumn,
    PlainLeaf,
    PlainModel,
    PlainSplit,
    PlainSum,
    PlainTerm,
)

_SCORER = Path(__file__).with_name("scorer.js")


def scorer_source() -> str:
    """The source of ``glassleafScorer(model)``, for pages that bring the model themselves."""
    return _SCORER.read_text(encoding="utf-8")


def as_json(value: Any) -> str:
    """JSON in plain ASCII that may stand in a page: nothing in it is a tag or ends an element.

    >>> as_json("</script> & \u2028")
    '"\\\\u003c/script\\\\u003e \\\\u0026 \\\\u2028"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def model_data(model: PlainModel) -> dict[str, Any]:
    """The model as ``scorer.js`` reads it."""
    return {
        "link": model.link,
        "classes": model.classes,
        "positive": model.positive if model.link == "logit" else None,
        "columns": [_column(column) for column in model.columns],
        "offsets": [{"column": o.column, "isExposure": o.is_exposure} for o in model.offsets],
        "nodes": [
            _node(node) | (_sum(model.differences[k]) if model.differences else {})
            for k, node in enumerate(model.nodes)
        ],
    }


def _column(column: PlainColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "categories": column.categories and [*map(_category, column.categories)],
        "knots": column.knots,
        "fill": column.fill,
        **({} if column.date is None else {"date": asdict(column.date)}),
        "special": column.special,
    }


def _category(label: Label) -> Label:
    """A category; a whole number that no double holds is written as text."""
    return str(label) if isinstance(label, int) and abs(label) > 2**53 else label


def _node(node: PlainSplit | PlainLeaf) -> dict[str, Any]:
    return _leaf(node) if isinstance(node, PlainLeaf) else _split(node)


def _split(split: PlainSplit) -> dict[str, Any]:
    is_number = split.threshold == split.threshold
    return {
        "column": split.column,
        "threshold": split.threshold if is_number else None,
        "leftCodes": sorted(split.left_codes),
        "missingLeft": split.missing_left,
        "unknownLeft": split.unknown_left,
        "left": split.left,
        "right": split.right,
    }


def _leaf(leaf: PlainLeaf) -> dict[str, Any]:
    limits = zip(leaf.low, leaf.high, strict=True)
    own = {"limits": [(_end(low), _end(high)) for low, high in limits]} if leaf.is_limited else {}
    return {**_sum(leaf), "samples": leaf.n_samples, **own}


def _sum(of: PlainSum) -> dict[str, Any]:
    return {"intercept": of.intercept, "terms": [_term(term) for term in of.terms]}


def _term(term: PlainTerm) -> dict[str, Any]:
    """A term; what it does not have is not written."""
    found = {
        "missing": term.missing,
        "slope": term.slope,
        "bends": term.bends,
        "low": _end(term.low),
        "high": _end(term.high),
        "categories": term.categories,
    }
    has = {name: own for name, own in found.items() if own is not None and own not in ((), {})}
    return {"column": term.column, **has}


def _end(limit: float) -> float | None:
    """An end of a range; None where there is none, as JSON knows no infinity."""
    return limit if abs(limit) < inf else None
