"""The tree as JavaScript: a scorer written by hand (``scorer.js``) and the model as JSON."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

from glassleaf._version import __version__
from glassleaf.deployment import plain_model
from glassleaf.plain import Leaf, PlainColumn, PlainModel, Split, Term

_SCORER = Path(__file__).with_name("scorer.js")

_MODULE = """/* A model tree, written by glassleaf {version}.
 *
 * In node:       const model = require("./model.js"); model.predict({{age: 30, region: "north"}})
 * In a browser:  a script that makes `{name}` known; {name}.predict(...)
 */
(function (root) {{
"use strict";
{scorer}
const model = {data};
const scorer = glassleafScorer(model);
if (typeof module !== "undefined" && module.exports) module.exports = scorer;
else root[{quoted_name}] = scorer;
}})(typeof globalThis !== "undefined" ? globalThis : this);
"""


def to_javascript(estimator: Any, *, name: str = "glassleafModel") -> str:
    """The tree as a script for node and the browser, without dependencies.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor or ModelTreeClassifier
    name : str, default="glassleafModel"
        The global variable that holds the scorer in a browser; in node it is what ``require``
        returns.

    Returns
    -------
    str
        The script. Its scorer has the functions ``predict``, ``raw``, ``leaf``, ``path`` and
        ``contributions`` of a row, an array or an object by column names.
    """
    return _MODULE.format(
        version=__version__,
        name=name if name.isidentifier() else "it",
        quoted_name=as_json(name),
        scorer=scorer_source(),
        data=as_json(model_data(plain_model(estimator))),
    )


def scorer_source() -> str:
    """The source of ``glassleafScorer(model)``, for pages that bring the model themselves."""
    return _SCORER.read_text(encoding="utf-8")


def as_json(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it ends the element.

    >>> as_json("</script>")
    '"\\\\u003c/script>"'
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def model_data(model: PlainModel) -> dict[str, Any]:
    """The model as ``scorer.js`` reads it."""
    return {
        "link": model.link,
        "classes": model.classes,
        "columns": [_column(column) for column in model.columns],
        "nodes": [_leaf(n) if isinstance(n, Leaf) else _split(n) for n in model.nodes],
    }


def _column(column: PlainColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "categories": column.categories,
        "knots": column.knots,
        "fill": column.fill,
    }


def _split(split: Split) -> dict[str, Any]:
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


def _leaf(leaf: Leaf) -> dict[str, Any]:
    terms = [_term(term) for term in leaf.terms]
    return {"intercept": leaf.intercept, "terms": terms, "samples": leaf.n_samples}


def _term(term: Term) -> dict[str, Any]:
    return {
        "column": term.column,
        "missing": term.missing,
        "slope": term.slope,
        "low": term.low if term.low > -inf else None,
        "high": term.high if term.high < inf else None,
        "categories": term.categories,
    }
