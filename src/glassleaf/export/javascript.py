"""The tree as JavaScript: the scorer of ``tree.scorer_js`` and the model as JSON, in one script."""

from __future__ import annotations

from typing import Any

from glassleaf._version import __version__
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.scorer_js import as_json, model_data, scorer_source

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
        data=as_json(model_data(plain_model(fitted_model(estimator)))),
    )
