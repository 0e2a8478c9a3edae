"""Documents of older versions in the form of the latest; each step leads to the next version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]


def upgraded(document: Document) -> Document:
    """A document that its own schema allows, in the form of the latest version."""
    for upgrade in _UPGRADES[document["version"] - 1 :]:
        document = {**upgrade(document), "version": document["version"] + 1}
    return document


def _with_no_curves(document: Document) -> Document:
    """From version 1: its models were fitted without curves."""
    n_columns = len(document["columns"])
    none = {
        "curve_term": [-1] * n_columns,
        "first_point": [0] * (n_columns + 1),
        "point_x": [],
        "point_z": [],
    }
    parameters = {"curves": False, **document["estimator"]["parameters"]}
    return {**_with(document, parameters), "terms": {**document["terms"], **none}}


def _with_new_names(document: Document) -> Document:
    """From version 2: parameters were called otherwise."""
    parameters = dict(document["estimator"]["parameters"])
    if "transform" in parameters:
        parameters["leaf_transform"] = parameters.pop("transform")
    return _with(document, parameters)


def _with(document: Document, parameters: Document) -> Document:
    return {**document, "estimator": {**document["estimator"], "parameters": parameters}}


_UPGRADES: tuple[Callable[[Document], Document], ...] = (_with_no_curves, _with_new_names)
