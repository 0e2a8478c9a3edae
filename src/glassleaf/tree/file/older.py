"""Documents of older versions in the form of the latest; each step leads to the next version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassleaf.errors import ModelFileError

Document = dict[str, Any]

# Parameters of version 2 that chose the criterion together, with their defaults.
_OF_CRITERION = {"criterion": "gradient", "renormalize": "zscore", "scale": "standard"}


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
    given = [parameters.pop(name, default) for name, default in _OF_CRITERION.items()]
    return _with(document, {**parameters, "criterion": _criterion(*given)})


def _criterion(criterion: Any, renormalize: Any, scale: Any) -> Any:
    """The three parameters that chose the criterion, as one."""
    if renormalize not in ("zscore", "minmax", None) or scale not in ("standard", None):
        raise ModelFileError("This is no intact model file: renormalize or scale is unknown.")
    units = renormalize or ("standardized" if scale else "raw")
    if criterion == "gradient":
        return "gradient" if units == "raw" else f"gradient_{units}"
    if isinstance(criterion, dict) and "criterion" in criterion:
        name = criterion["criterion"]
        own = {"units": units} if name == "GradientGain" else {}
        return {"criterion": {"name": name, **own}}
    return criterion


def _with(document: Document, parameters: Document) -> Document:
    return {**document, "estimator": {**document["estimator"], "parameters": parameters}}


_UPGRADES: tuple[Callable[[Document], Document], ...] = (_with_no_curves, _with_new_names)
