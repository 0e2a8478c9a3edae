"""A model's leaves for machines: the rule of each in words, its rows, its formula."""

from __future__ import annotations

from typing import Any

from glassleaf.explanations.rules import all_rules, rule_text
from glassleaf.tree.file.convert import plain_model
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.plain import Leaf, PlainModel, Term


def model_json(estimator: Any) -> dict[str, Any]:
    model, rules = plain_model(fitted_model(estimator)), all_rules(estimator.tree_)
    return {
        "estimator": type(estimator).__name__,
        "link": model.link,
        "classes": model.classes,
        "columns": [
            {"name": column.name, "kind": "category" if column.is_category else "number"}
            for column in model.columns
        ],
        "leaves": [
            {"leaf": number, "node": leaf.node, **_leaf(model, leaf, rule_text(rules[leaf.node]))}
            for number, (leaf, _) in enumerate(model.paths(), 1)
        ],
    }


def _leaf(model: PlainModel, leaf: Leaf, rule: str) -> dict[str, Any]:
    return {
        "rule": rule,
        "rows": leaf.n_samples,
        "intercept": _numbers(leaf.intercept),
        "terms": [_term(model, term) for term in leaf.terms],
    }


def _term(model: PlainModel, term: Term) -> dict[str, Any]:
    column = model.columns[term.column]
    out: dict[str, Any] = {"column": column.name}
    if term.slope:
        out["slope"] = _numbers(term.slope)
    if term.bend:
        out["curve"] = _numbers(term.bend)
    if term.categories and column.categories is not None:
        out["categories"] = {
            str(column.categories[code]): _numbers(found) for code, found in term.categories.items()
        }
    if term.missing:
        out["missing"] = _numbers(term.missing)
    return out


def _numbers(values: tuple[float, ...]) -> Any:
    """One number where there is one output, a list where there are several."""
    return values[0] if len(values) == 1 else list(values)
