"""The model as one formula and what differs, and others of the path to compare it with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.differences import Difference, differences
from glassleaf.explanations.formulas import fills_text, limit_texts
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.model import ModelExplanation, explain_model
from glassleaf.explanations.rules import Condition
from glassleaf.show.report.rows import TestRows
from glassleaf.show.report.scores import ReportedScore, model_scores
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.path import Path

Floats = NDArray[np.float64]

# About how many models of other lengths a page holds, and from how many numbers on.
_N_STEPS = 12
_SHORT = 10


@dataclass(frozen=True)
class DrawnNode(JsonData):
    """What the drawing of a tree says of a node; see ``NodeExplanation``.

    ``feature`` is what its split asks about, ``sides`` are the children with what each asks.
    """

    id: int
    leaf: int | None
    parent: int | None
    depth: int
    rows: int
    share: float
    target: tuple[float, ...]
    feature: str | None
    sides: tuple[tuple[int, Condition], ...]


@dataclass(frozen=True)
class ReportedStep(JsonData):
    """A model on the path as it is meant: the formula for all rows, and what differs.

    ``validated`` and ``error`` are None where they are not known. ``scores`` are the first two, on
    the rows of the report. ``notes`` says what scores are held in, and what missing numbers count
    as. ``is_chosen`` marks the model that the report is about.
    """

    numbers: int
    leaves: int
    validated: float | None
    error: float | None
    scores: tuple[ReportedScore, ...]
    differences: tuple[Difference, ...]
    nodes: tuple[DrawnNode, ...]
    notes: tuple[str, ...]
    is_chosen: bool


def step_models(model: FittedModel) -> dict[int, FittedModel]:
    """The models of a page, by their place on the path: the shortest first.

    Empty if there is no path, or the model is none of it.
    """
    path = model.path
    chosen = None if path is None else path.place(model.tree)
    if path is None or chosen is None:
        return {}
    return {
        k: model if k == chosen else replace(model, tree=path.tree(path.steps[k]))
        for k in _shown(path, chosen)
    }


def _shown(path: Path, chosen: int) -> list[int]:
    """Some places on the path by ratios of their numbers, from few numbers on."""
    numbers = np.array([step.numbers for step in path.steps])
    first = min(chosen, int(np.searchsorted(numbers, _SHORT)), len(numbers) - 1)
    wanted = np.geomspace(numbers[first], numbers[-1], _N_STEPS).round()
    places = np.searchsorted(numbers, wanted, side="right") - 1
    return sorted({*places.tolist(), chosen})


def reported_steps(
    model: FittedModel, explanation: ModelExplanation, rows: TestRows
) -> tuple[ReportedStep, ...]:
    """The models of the page; the model alone if there is no path, and none if that shares nothing.

    A model of the path is told by differences even where it would be as short leaf by leaf.
    """
    found = step_models(model)
    if not found:
        own = ReportedStep(
            numbers=sum(explanation.numbers.values()),
            leaves=len(explanation.leaves),
            validated=None,
            error=None,
            scores=(),
            differences=differences(explanation),
            nodes=drawn_nodes(explanation),
            notes=_notes(explanation),
            is_chosen=True,
        )
        return (own,) if explanation.share_formula else ()
    assert model.path is not None
    out = []
    for k, other in found.items():
        told = replace(explain_model(other), share_formula=True)
        prediction = other.prediction(other.raw(rows.matrix))
        step = model.path.steps[k]
        found_scores = model_scores(told, rows.truth, prediction, rows.weight, rows.known)
        out.append(
            ReportedStep(
                numbers=step.numbers,
                leaves=len(told.leaves),
                validated=step.validated,
                error=step.error,
                scores=found_scores[:2],
                differences=differences(told),
                nodes=drawn_nodes(told),
                notes=_notes(told),
                is_chosen=other is model,
            )
        )
    return tuple(out)


def drawn_nodes(explanation: ModelExplanation) -> tuple[DrawnNode, ...]:
    """The nodes of a tree, as they are drawn."""
    return tuple(
        DrawnNode(
            node.id, node.leaf, node.parent, node.depth, node.rows, node.share, node.target,
            feature=None if node.split is None else node.split.feature,
            sides=() if node.split is None else node.split.sides,
        )
        for node in explanation.nodes
    )  # fmt: skip


def _notes(explanation: ModelExplanation) -> tuple[str, ...]:
    return tuple(filter(None, [*limit_texts(explanation), fills_text(explanation)]))
