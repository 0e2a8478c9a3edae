"""Everything a report says, as one data object; page, Markdown and JSON are made of it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf._version import __version__
from glassleaf.checks import row_weights
from glassleaf.errors import describe
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation, explain_model
from glassleaf.explanations.scores import effective_rows
from glassleaf.explanations.targets import all_targets
from glassleaf.show.report.classes import ClassesOnTest, classes_on_test
from glassleaf.show.report.data_notes import DataNotes, data_notes
from glassleaf.show.report.densities import Density, densities
from glassleaf.show.report.leaves import CalibrationBin, LeavesOnTest, calibration, leaves_on_test
from glassleaf.show.report.scores import ReportedScore, model_scores
from glassleaf.show.report.steps import ReportedStep, reported_steps
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.tree import term_matrix

Floats = NDArray[np.float64]

N_EXAMPLES = 50
# Means over the same rows differ by rounding: at most by this share of the term's size.
_SAME_MEAN = 1e-9


@dataclass(frozen=True)
class Example(JsonData):
    """A test row: its number from 0, its values as in X, what came and what was predicted."""

    row: int
    values: tuple[Any, ...]
    target: Any
    prediction: tuple[float, ...]
    leaf: int


@dataclass(frozen=True)
class Weights(JsonData):
    """Weights of the test rows: their sum, and how many rows of equal weight would tell as much."""

    total: float
    effective_rows: float


@dataclass(frozen=True)
class Contents(JsonData):
    """The parts of a report.

    ``target`` is the name of y, where it has one. ``typical`` is a row of medians and most frequent
    categories. ``rows`` are the test rows whose weight is not zero. ``weights`` is None where none
    were given, ``classes`` for a model of numbers. ``settings`` are the parameters of the estimator
    that differ from their defaults. ``date`` is as it was given, or empty. ``seen`` says that the
    model was fitted on the rows: they do not test it. ``steps`` tell the model by one formula and
    what differs, and some of the path to compare it with; empty where leaves share nothing.

    A category that training never saw is written ``(new category)``, a missing value None.
    """

    title: str
    target: str
    version: str
    date: str
    estimator: str
    settings: dict[str, str]
    seen: bool
    rows: int
    weights: Weights | None
    scores: tuple[ReportedScore, ...]
    classes: ClassesOnTest | None
    calibration: dict[str, tuple[CalibrationBin, ...]]
    leaves: LeavesOnTest
    densities: tuple[Density, ...]
    data: DataNotes
    typical: tuple[Any, ...]
    examples: tuple[Example, ...]
    steps: tuple[ReportedStep, ...]
    model: ModelExplanation


def gather(
    model: FittedModel,
    settings: dict[str, str],
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    target: str | None,
    title: str | None,
    date: str | datetime.date | None,
    seen: bool,
) -> Contents:
    """Explain the model, and score it on test rows."""
    if not isinstance(seen, (bool, np.bool_)):
        raise TypeError(f"seen={describe(seen)} must be True or False.")
    name = _target_name(target, y)
    explanation = explain_model(model)
    matrix = model.matrix(X)
    if not len(matrix):
        raise ValueError("X has no rows; a report needs some to test the model on.")
    given = row_weights(sample_weight, len(matrix))
    used = np.flatnonzero(given)
    truth, matrix = all_targets(model, y, len(matrix))[used], matrix[used]
    weight = given[used] / given.max()  # squares of them neither overflow nor vanish
    nodes = model.tree.apply(matrix)
    seen = bool(seen) or _are_those_of_the_fit(model, matrix, nodes, weight)
    prediction = model.prediction(model.tree.raw(matrix, nodes))
    leaves = leaves_on_test(explanation, nodes, truth, prediction, weight)
    shares = np.array([leaf.share for leaf in leaves.leaves])
    return Contents(
        title=_title(title, name),
        target=name,
        version=__version__,
        date=_date(date),
        estimator=model.estimator,
        settings=settings,
        seen=seen,
        rows=len(matrix),
        weights=None
        if sample_weight is None
        else Weights(float(given.sum()), effective_rows(weight)),
        scores=model_scores(explanation, truth, prediction, weight),
        classes=classes_on_test(explanation, truth, prediction, given[used]),
        calibration=calibration(explanation, truth, prediction, weight),
        leaves=leaves,
        densities=densities(explanation, matrix, weight),
        data=data_notes(explanation, matrix, weight, model.new_categories(X, used), shares),
        typical=_typical(model, matrix),
        examples=_examples(model, explanation, used, matrix, truth, prediction, nodes),
        steps=reported_steps(model, explanation, matrix, truth, weight),
        model=explanation,
    )


def _are_those_of_the_fit(
    model: FittedModel, matrix: Floats, nodes: NDArray[np.int64], weight: Floats
) -> bool:
    """Whether rows are, to all appearances, those that the model was fitted on.

    Every leaf has as many of them, and the terms of the formulas have the same means there.
    """
    tree, leaves = model.tree, np.array(model.leaves)
    if (np.bincount(nodes, minlength=tree.node_count)[leaves] != tree.n_samples[leaves]).any():
        return False
    terms = np.arange(tree.terms.first_hinge_term)  # hinges follow from their numbers
    known = tree.record.mean[:, terms]
    least = _SAME_MEAN * (tree.record.spread[0, terms] + np.abs(known[0]))
    for leaf in leaves.tolist():
        here = nodes == leaf
        found = term_matrix(matrix[here], tree.terms)[:, terms]
        off = np.average(found, axis=0, weights=weight[here]) - known[leaf]
        if (np.abs(off) > least).any():
            return False
    return True


def _target_name(given: str | None, y: Any) -> str:
    if given is not None and not isinstance(given, str):
        raise TypeError(f"target={describe(given)} must be a text, or None for the name of y.")
    return str(getattr(y, "name", None) or "") if given is None else given


def _title(given: str | None, target: str) -> str:
    if given is None:
        return f"Model report: {target}" if target else "Model report"
    if not isinstance(given, str):
        raise TypeError(f"title={describe(given)} must be a text.")
    return given


def _date(given: str | datetime.date | None) -> str:
    if isinstance(given, datetime.date):
        return given.isoformat()
    if given is not None and not isinstance(given, str):
        raise TypeError(f"date={describe(given)} must be a date, a text, or None for no date.")
    return given or ""


def _examples(
    model: FittedModel,
    explanation: ModelExplanation,
    used: NDArray[np.int64],
    matrix: Floats,
    target: Floats,
    prediction: Floats,
    nodes: NDArray[np.int64],
) -> tuple[Example, ...]:
    """Rows from the lowest to the highest prediction, evenly chosen; ``used`` are those of X."""
    order = np.argsort(prediction[:, model.positive], kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(N_EXAMPLES, len(order))).astype(int)]
    number = {leaf.id: leaf.leaf or 0 for leaf in explanation.leaves}
    classes = model.classes
    return tuple(
        Example(
            row=int(used[row]),
            values=_values(model, matrix[row]),
            target=float(target[row]) if classes is None else classes[int(target[row])],
            prediction=tuple(prediction[row].tolist()),
            leaf=number[int(nodes[row])],
        )
        for row in chosen.tolist()
    )


def _typical(model: FittedModel, matrix: Floats) -> tuple[Any, ...]:
    """Medians with six digits, which are enough to start from, and most frequent categories."""
    found = _values(model, model.typical_row(matrix))
    return tuple(float(f"{x:.6g}") if isinstance(x, float) else x for x in found)


def _values(model: FittedModel, row: Floats) -> tuple[Any, ...]:
    return tuple(model.value(j, x) for j, x in enumerate(row.tolist()))
