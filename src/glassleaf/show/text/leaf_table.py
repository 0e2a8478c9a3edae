"""One row per leaf: a table for those who work with tables."""

from __future__ import annotations

from typing import Any

from glassleaf.explanations.explain import explain
from glassleaf.explanations.frames import frame
from glassleaf.explanations.model import ModelExplanation, NodeExplanation


def leaf_table(estimator: Any) -> Any:
    """One row per leaf: its rule, its rows, its share of the weight, its mean target, coefficients.

    ``numbers`` is how many numbers a prediction in the leaf needs.

    Parameters
    ----------
    estimator : fitted model tree

    Returns
    -------
    pandas.DataFrame
        Or a polars one where only polars is installed.
    """
    return frame(leaf_records(explain(estimator)))


def leaf_records(explanation: ModelExplanation) -> list[dict[str, Any]]:
    """One dict per leaf; see ``glassleaf.leaf_table``."""
    return [_record(explanation, leaf) for leaf in explanation.leaves]


def _record(explanation: ModelExplanation, leaf: NodeExplanation) -> dict[str, Any]:
    out: dict[str, Any] = {
        "leaf": leaf.leaf,
        "node": leaf.id,
        "rule": leaf.rule_text,
        "rows": leaf.rows,
        "share": leaf.share,
        "loss": leaf.loss,
        "numbers": leaf.numbers,
    }
    if explanation.classes is None:
        out["mean target"] = leaf.target[0]
        out["prediction at mean"] = leaf.prediction[0]
    else:
        for label, share in zip(explanation.classes, leaf.target, strict=True):
            out[f"share of {label}"] = share
    for k, output in enumerate(explanation.outputs):
        of = f" [{output}]" if output else ""
        out[f"intercept{of}"] = leaf.intercept[k]
        for term, coef in zip(explanation.terms, leaf.coef[k], strict=True):
            out[f"coef {term.name}{of}"] = coef
    return out
