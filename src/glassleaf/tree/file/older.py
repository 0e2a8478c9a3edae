"""Documents of older versions in the form of the latest; each step leads to the next version."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, combinations
from typing import Any, NamedTuple

from glassleaf.errors import ModelFileError

Document = dict[str, Any]

# Parameters of version 3 whose defaults were these.
_WHOLE_MODELS = {"max_numbers": None, "coef_digits": None, "round_thresholds": False}
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


def _with_hinges(document: Document) -> Document:
    """From version 3: a bent column had one curve through points, now the sum of hinges at these.

    What a curve adds changes its slope at every point, and is constant beyond its ends. Means and
    covariances of single hinges are not known; they get some with which those of every curve stay.
    """
    terms = document["terms"]
    try:
        curves = _curves(terms)
        drawn = [curve for curve in curves if curve.term >= 0]
        changed = {"terms": _terms_with_hinges(terms, curves)}
        changed["tree"] = _tree_with_hinges(document["tree"], drawn)
        if "seen" in document:
            changed["seen"] = _record_with_hinges(document["seen"], drawn)
    except (IndexError, ValueError, ZeroDivisionError):
        raise ModelFileError("This is no intact model file: its curves are wrong.") from None
    given = {**_WHOLE_MODELS, **document["estimator"]["parameters"]}
    given.pop("max_leaf_terms", None)
    return {**_with(document, given), **changed}


class _Curve(NamedTuple):
    column: int
    term: int
    at: list[float]
    turn: list[float]  # by which the slope changes at every point
    start: float

    @property
    def share(self) -> list[float]:
        """What every hinge is per unit of the curve, so that the turns add up to the curve."""
        total = sum(turn * turn for turn in self.turn) or 1.0
        return [turn / total for turn in self.turn]


def _curves(terms: Document) -> list[_Curve]:
    """The curve of every column; the points of each begin where those before it end."""
    first, ends = terms["first_point"], (0, len(terms["point_x"]))
    is_whole = (first[0], first[-1]) == ends and len(terms["point_z"]) == ends[1]
    is_drawn = [before < after for before, after in zip(first, first[1:], strict=False)]
    if not is_whole or first != sorted(first) or is_drawn != [t >= 0 for t in terms["curve_term"]]:
        raise ValueError
    return [_curve(terms, column) for column in range(len(terms["curve_term"]))]


def _curve(terms: Document, column: int) -> _Curve:
    here = slice(terms["first_point"][column], terms["first_point"][column + 1])
    x, z = ([float(value) for value in terms[name][here]] for name in ("point_x", "point_z"))
    slopes = [(z[k + 1] - z[k]) / (x[k + 1] - x[k]) for k in range(len(x) - 1)]
    turn = [after - before for before, after in zip([0.0, *slopes], [*slopes, 0.0], strict=True)]
    return _Curve(column, terms["curve_term"][column], x, turn, z[0] if x else 0.0)


def _terms_with_hinges(terms: Document, curves: list[_Curve]) -> Document:
    gone = sorted(curve.term for curve in curves if curve.term >= 0)

    def moved(numbers: list[int]) -> list[int]:
        return [number - sum(term < number for term in gone) for number in numbers]

    at = [place for curve in curves for place in curve.at]
    kept = {name: terms[name] for name in ("is_category", "fill", "first_knot", "knot_x", "knot_z")}
    return {
        **kept,
        "first_term": moved(terms["first_term"]),
        "missing_term": moved(terms["missing_term"]),
        "n_terms": terms["n_terms"] - len(gone) + len(at),
        "first_hinge": [0, *accumulate(len(curve.at) for curve in curves)],
        "hinge_at": at,
    }


def _tree_with_hinges(tree: Document, curves: list[_Curve]) -> Document:
    turns = [curve.turn for curve in curves]
    coef = [[_by_hinges(row, curves, turns) for row in rows] for rows in tree["coef"]]
    intercept = [
        [
            float(constant) + sum(float(row[curve.term]) * curve.start for curve in curves)
            for constant, row in zip(constants, rows, strict=True)
        ]
        for constants, rows in zip(tree["intercept"], tree["coef"], strict=True)
    ]
    limits = {
        f"score_{end}": [[value] * len(constants) for constants in intercept]
        for end, value in (("low", "-inf"), ("high", "inf"))
    }
    return {**tree, "coef": coef, "intercept": intercept, **limits}


def _by_hinges(row: list[Any], curves: list[_Curve], parts: list[list[float]]) -> list[float]:
    """A number per term, where that of each curve becomes one for each of its hinges."""
    gone = {curve.term for curve in curves}
    kept = [value for term, value in enumerate(row) if term not in gone]
    own = zip(curves, parts, strict=True)
    return kept + [float(row[curve.term]) * part for curve, found in own for part in found]


def _record_with_hinges(seen: Document, curves: list[_Curve]) -> Document:
    shares = [curve.share for curve in curves]
    sizes = [[abs(share) for share in own] for own in shares]
    bend = seen.get("bend") or [[0.0] * len(seen["low"]) for _ in seen["mean"]]
    covariance = [
        [
            pair
            for curve in curves
            for pair in _pairs(curve, float(spread[curve.term]), float(own[curve.column]))
        ]
        for spread, own in zip(seen["spread"], bend, strict=True)
    ]
    return {
        **{name: value for name, value in seen.items() if name != "bend"},
        "mean": [_by_hinges(row, curves, shares) for row in seen["mean"]],
        "spread": [_by_hinges(row, curves, sizes) for row in seen["spread"]],
        "covariance": covariance,
    }


def _pairs(curve: _Curve, spread: float, bend: float) -> list[float]:
    """Covariances of the line and every hinge, and of every two hinges."""
    with_line = [bend * share for share in curve.share]
    return with_line + [one * other * spread**2 for one, other in combinations(curve.share, 2)]


def _with(document: Document, parameters: Document) -> Document:
    return {**document, "estimator": {**document["estimator"], "parameters": parameters}}


_UPGRADES: tuple[Callable[[Document], Document], ...] = (
    _with_no_curves,
    _with_new_names,
    _with_hinges,
)
