"""Everything a report says, as one data object; page, Markdown and JSON are made of it."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf._version import __version__
from glassleaf.errors import describe
from glassleaf.explanations.drift import compared, count_matrix
from glassleaf.explanations.estimates import Estimates, read_estimates
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation, explain_model
from glassleaf.explanations.refits import LearningCurve, Optimism
from glassleaf.explanations.rows_of_fit import are_rows_of_fit
from glassleaf.explanations.scores import effective_rows
from glassleaf.explanations.signs import SignCheck, signs_checked
from glassleaf.explanations.stability import Stability
from glassleaf.show.report.classes import ClassesOnTest, classes_on_test
from glassleaf.show.report.data_notes import DataNotes, data_notes
from glassleaf.show.report.densities import Density, densities
from glassleaf.show.report.leaves import CalibrationBin, LeavesOnTest, calibration, leaves_on_test
from glassleaf.show.report.rows import TestRows, read_test_rows
from glassleaf.show.report.scores import ReportedScore, model_scores
from glassleaf.show.report.steps import ReportedStep, reported_steps
from glassleaf.show.report.validation import Sample, Validation, validation
from glassleaf.tables.targets import are_counts
from glassleaf.tree.fitted import FittedModel

Floats = NDArray[np.float64]

N_EXAMPLES = 50

# X, y and, where there are some, weights.
Given = tuple[Any, Any, Any]


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
    categories. ``rows`` are the test rows whose weight is not zero; of several samples, of the
    last. ``weights`` is None where none were given, ``classes`` for a model of numbers.
    ``settings`` are the parameters of the estimator that differ from their defaults. ``date`` is as
    it was given, or empty. ``seen`` says that the model was fitted on the rows: they do not test
    it. ``steps`` tell the model by one formula and what differs, and some of the path to compare it
    with; empty where leaves share nothing.
    ``estimates`` are the coefficients with their intervals, None where they were not given.
    ``resampled`` is what trees on resampled rows have in common with the model, if it is given.
    ``signs`` is what was checked of the columns in ``monotonic_cst``, None where there are none.
    ``negative`` is the share of rows with a prediction below 0 where targets look like counts.

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
    negative: float
    scores: tuple[ReportedScore, ...]
    classes: ClassesOnTest | None
    calibration: dict[str, tuple[CalibrationBin, ...]]
    validation: Validation
    leaves: LeavesOnTest
    densities: tuple[Density, ...]
    data: DataNotes
    typical: tuple[Any, ...]
    examples: tuple[Example, ...]
    steps: tuple[ReportedStep, ...]
    estimates: Estimates | None
    resampled: Stability | None
    signs: SignCheck | None
    model: ModelExplanation


def gather(
    model: FittedModel,
    settings: dict[str, str],
    samples: Mapping[str, Given],
    *,
    target: str | None,
    title: str | None,
    date: str | datetime.date | None,
    seen: Collection[str],
    challenger: Any,
    optimism: Sequence[Optimism],
    learning_curve: LearningCurve | None,
    inference: Any,
    stability: Stability | None,
) -> Contents:
    """Explain the model, and score it on the rows of all samples; the last one is looked into.

    ``seen`` names the samples that the model was fitted on.
    """
    if not isinstance(stability, Stability | None):
        raise TypeError(f"stability={describe(stability)} must be what glassleaf.stability gives.")
    explanation = explain_model(model)
    found = {name: read_test_rows(model, *given) for name, given in samples.items()}
    scored = [
        Sample(
            name,
            len(rows.used),
            name in seen or are_rows_of_fit(model, rows.matrix, rows.nodes, rows.weight),
            model_scores(explanation, rows.truth, rows.prediction, rows.weight, rows.known),
        )
        for name, rows in found.items()
    ]
    own, rows = scored[-1], found[scored[-1].name]
    X, y, sample_weight = samples[own.name]
    name = _target_name(target, y)
    test = rows.truth, rows.prediction, rows.weight
    leaves = leaves_on_test(explanation, rows.nodes, *test)
    drift = compared(model, count_matrix(model, rows.matrix))
    new = model.new_categories(X, rows.used)
    return Contents(
        title=_title(title, name),
        target=name,
        version=__version__,
        date=_date(date),
        estimator=model.estimator,
        settings=settings,
        seen=own.seen,
        rows=own.rows,
        weights=None
        if sample_weight is None
        else Weights(float(rows.given.sum()), effective_rows(rows.weight)),
        negative=_negative_share(model, *test),
        scores=own.scores,
        classes=classes_on_test(explanation, rows.truth, rows.prediction, rows.given),
        calibration=calibration(explanation, *test),
        validation=validation(
            model,
            rows,
            X,
            samples=scored if len(scored) > 1 else (),
            challenger=challenger,
            optimism=optimism,
            learning_curve=learning_curve,
        ),
        leaves=leaves,
        densities=densities(explanation, rows.matrix, rows.weight),
        data=data_notes(explanation, rows.matrix, rows.weight, new, drift),
        typical=_typical(model, rows.matrix),
        examples=_examples(model, explanation, rows),
        steps=reported_steps(model, explanation, rows),
        estimates=None if inference is None else read_estimates(inference),
        resampled=stability,
        signs=signs_checked(model, rows.matrix),
        model=explanation,
    )


def _negative_share(model: FittedModel, truth: Floats, prediction: Floats, weight: Floats) -> float:
    if model.classes is not None or not are_counts(truth):
        return 0.0
    return float(np.average(prediction[:, 0] < 0, weights=weight))


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
    model: FittedModel, explanation: ModelExplanation, rows: TestRows
) -> tuple[Example, ...]:
    """Rows from the lowest to the highest prediction, evenly chosen."""
    order = np.argsort(rows.prediction[:, model.positive], kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(N_EXAMPLES, len(order))).astype(int)]
    number = {leaf.id: leaf.leaf or 0 for leaf in explanation.leaves}
    classes = model.classes
    return tuple(
        Example(
            row=int(rows.used[row]),
            values=_values(model, rows.matrix[row]),
            target=float(rows.truth[row]) if classes is None else classes[int(rows.truth[row])],
            prediction=tuple(rows.prediction[row].tolist()),
            leaf=number[int(rows.nodes[row])],
        )
        for row in chosen.tolist()
    )


def _typical(model: FittedModel, matrix: Floats) -> tuple[Any, ...]:
    """Medians with six digits, which are enough to start from, and most frequent categories."""
    found = _values(model, model.typical_row(matrix))
    return tuple(float(f"{x:.6g}") if isinstance(x, float) else x for x in found)


def _values(model: FittedModel, row: Floats) -> tuple[Any, ...]:
    return tuple(model.value(j, x) for j, x in enumerate(row.tolist()))
