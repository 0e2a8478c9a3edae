"""What a counterfactual has to reach, as conditions on the raw scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import describe
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]

# Raw scores between which the one that gives a prediction is looked for.
_FARTHEST = 1e6


@dataclass(frozen=True)
class Goal:
    """``margins(raw)``, shape (rows, conditions), is nowhere negative where it is reached.

    ``is_met`` asks the prediction itself, for one row.
    """

    margins: Callable[[Floats], Floats]
    is_met: Callable[[Floats], bool]


def goal_of(model: FittedModel, values: Floats, target: Any, probability: float | None) -> Goal:
    """The goal for a row, given as ``counterfactuals`` takes it."""
    raw = model.raw(values[None])
    if model.classes is None:
        if probability is not None:
            raise ValueError("probability is for classifiers; give the number wanted as target.")
        goal = _number_goal(model, raw, target)
    else:
        goal = _class_goal(model, raw, _wanted_class(model, raw, target), probability)
    if goal.is_met(raw):
        raise ValueError(f"target={describe(target)} is what the row has already.")
    return goal


def _number_goal(model: FittedModel, raw: Floats, target: Any) -> Goal:
    is_number = isinstance(target, (int, float, np.number)) and not isinstance(target, bool)
    if not is_number or not np.isfinite(target):
        raise ValueError(f"target={describe(target)} must be a finite number.")
    wanted = float(target)
    sign = 1.0 if model.prediction(raw)[0, 0] < wanted else -1.0
    needed = raw_for(model, wanted, 0)

    def is_met(raw: Floats) -> bool:
        return bool(sign * (model.prediction(raw)[0, 0] - wanted) >= 0)

    if model.prediction(raw)[0, 0] == wanted:
        return Goal(lambda raw: raw, lambda raw: True)
    return Goal(lambda raw: sign * (raw - needed), is_met)


def _wanted_class(model: FittedModel, raw: Floats, target: Any) -> int:
    assert model.classes is not None
    if target is None:
        if len(model.classes) > 2:
            raise ValueError(f"target must be one of the classes {model.classes}.")
        return 1 - int(np.argmax(model.prediction(raw)[0]))
    if target not in model.classes:
        raise ValueError(f"target={describe(target)} must be one of the classes {model.classes}.")
    return model.classes.index(target)


def _class_goal(model: FittedModel, raw: Floats, wanted: int, probability: float | None) -> Goal:
    def is_met(raw: Floats) -> bool:
        found = model.prediction(raw)[0]
        if probability is None:
            return int(np.argmax(found)) == wanted
        return bool(found[wanted] >= probability)

    if raw.shape[1] > 1:
        if probability is not None:
            raise ValueError("probability is for two classes; of more, the likeliest is meant.")
        others = [k for k in range(raw.shape[1]) if k != wanted]
        return Goal(lambda raw: raw[:, [wanted]] - raw[:, others], is_met)
    share = 0.5 if probability is None else float(probability)
    if not 0.0 < share < 1.0:
        raise ValueError(f"probability={describe(probability)} must lie between 0 and 1.")
    needed = raw_for(model, share, wanted)
    rises = model.prediction(np.array([[needed + 1.0]]))[0, wanted] >= share
    sign = 1.0 if rises else -1.0
    return Goal(lambda raw: sign * (raw - needed), is_met)


def raw_for(model: FittedModel, prediction: float, output: int) -> float:
    """The raw score that gives a prediction, for any link: by bisection, to the last digit."""
    if model.link == "identity":
        return prediction

    def at(raw: float) -> float:
        return float(model.prediction(np.array([[raw]]))[0, output])

    low, high = -_FARTHEST, _FARTHEST
    sign = 1.0 if at(1.0) >= at(-1.0) else -1.0
    if not sign * at(low) <= sign * prediction <= sign * at(high):
        raise ValueError(f"target={prediction} is not a prediction that this model can make.")
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if sign * at(middle) < sign * prediction else (low, middle)
