"""The way from the shortest model to the longest, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.notes import twins
from glassleaf.explanations.rules import all_rules, rule_text
from glassleaf.tree.path import INTERCEPT, Path, Step
from glassleaf.tree.references import about_references
from glassleaf.tree.tree import Tree

Place = tuple[int, int, int]  # node, output, term


@dataclass(frozen=True)
class PathStep(JsonData):
    """A model on the way from the shortest to the longest.

    ``numbers`` is how many numbers it takes to read it, ``loss`` the mean loss of the training
    rows, ``validated`` that of rows which models of this length were not learned on, and ``error``
    the standard error of how much worse that is than the best step's. ``what`` says what is new.
    """

    numbers: int
    loss: float
    validated: float
    error: float
    what: str


def path_steps(path: Path) -> tuple[PathStep, ...]:
    """All steps, each with what it has that the step before had not."""
    rules = [rule_text(rule) for rule in all_rules(path.whole)]
    out: list[PathStep] = []
    before: dict[Place, float] = {}
    for step in path.steps:
        now = _about_references(path.whole, entries(step))
        what = _what(path.whole, rules, before, now)
        out.append(PathStep(step.numbers, step.loss, step.validated, step.error, what))
        before = now
    return tuple(out)


def entries(step: Step) -> dict[Place, float]:
    """The entries of a step by their places."""
    places = zip(step.node.tolist(), step.output.tolist(), step.term.tolist(), strict=True)
    return dict(zip(places, step.value.tolist(), strict=True))


def _about_references(tree: Tree, now: Mapping[Place, float]) -> dict[Place, float]:
    """The same with constants about the references of columns; without those that are none."""
    out = {place: value for place, value in now.items() if place[2] != INTERCEPT}
    for (node, output, term), value in now.items():
        if term == INTERCEPT:
            coef = np.zeros(tree.terms.n_terms)
            for (other, of, own), slope in out.items():
                if (other, of) == (node, output) and own != INTERCEPT:
                    coef[own] = slope
            told = float(about_references(tree, np.array(value), coef))
            if told or not node:
                out[node, output, term] = told
    return {place: out[place] for place in now if place in out}


def _what(
    tree: Tree, rules: list[str], before: Mapping[Place, float], now: Mapping[Place, float]
) -> str:
    parts = [_came(tree, rules, place, now) for place in now if place not in before]
    gone = [_name(tree, place) for place in before if place not in now]
    if gone:
        parts.append(f"without {', '.join(gone)}")
    named = _columns(tree, now) - _columns(tree, before)
    names = [words.name(column.name) for column in tree.columns]
    parts += [
        f"{names[column]}, nearly the same as {names[twin]}, is left out"
        for column, twin in twins(tree).items()
        if twin in named
    ]
    return "; ".join(parts) or "other coefficients"


def _columns(tree: Tree, places: Iterable[Place]) -> set[int]:
    """The columns that some entries name."""
    terms = [term for _, _, term in places if term != INTERCEPT]
    return set(tree.terms.column_of_term[terms].tolist())


def _came(tree: Tree, rules: list[str], place: Place, now: Mapping[Place, float]) -> str:
    node, output, term = place
    where = f" where {rules[node]}" if node else ""
    value = now[place]
    if term == INTERCEPT:
        return f"{'higher' if value > 0 else 'lower'}{where}" if node else "a constant"
    above, shared = int(tree.parent[node]), 0.0
    while above >= 0:
        shared += now.get((above, output, term), 0.0)
        above = int(tree.parent[above])
    if not shared:
        return f"{_name(tree, place)}{where}"
    counts = "more" if shared * value > 0 else "less"
    return f"{_name(tree, place)} counts {counts}{where}"


def _name(tree: Tree, place: Place) -> str:
    return "the constant" if place[2] == INTERCEPT else words.name(tree.term_names[place[2]])
