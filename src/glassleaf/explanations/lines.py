"""The numbers of a model, line by line, as ``glassleaf.inference`` estimates them.

Where leaves share their formula, these are the numbers of all rows and, at every node, what
differs. Else every leaf has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations.differences import differences
from glassleaf.explanations.formulas import Factor, difference_factors, formula_factors
from glassleaf.explanations.model import ModelExplanation
from glassleaf.tree.regression import Parameter

Floats = NDArray[np.float64]

CONSTANT = "constant"


class Line(NamedTuple):
    """A number of the model: where it counts, in which score, and what it multiplies."""

    where: str
    node: int
    output: int
    text: str
    terms: tuple[int, ...]


def from_zero(explanation: ModelExplanation) -> ModelExplanation:
    """Formulas of the columns as they are: estimates of constants are those of zeros."""
    features = tuple(replace(own, reference=0.0) for own in explanation.features)
    return replace(explanation, features=features)


def all_lines(explanation: ModelExplanation) -> list[list[Line]]:
    """The numbers of every regression."""
    if explanation.share_formula:
        return [_shared_lines(explanation)]
    outputs = range(len(explanation.outputs))
    return [
        [
            line
            for k in outputs
            for line in _lines(
                f"leaf {leaf.leaf}: {leaf.rule_text}", leaf.id, k,
                formula_factors(explanation, leaf, k, None),
            )
        ]
        for leaf in explanation.leaves
    ]  # fmt: skip


def _shared_lines(explanation: ModelExplanation) -> list[Line]:
    """The formula for all rows, then what differs at every node."""
    out: list[Line] = []
    for own in differences(explanation):
        node = explanation.nodes[own.node]
        for k in range(len(explanation.outputs)):
            if node.parent is None:
                found = formula_factors(explanation, node, k, node)
            else:
                parent = explanation.nodes[node.parent]
                found = difference_factors(explanation, node, parent, k)
            out += _lines(node.rule_text, node.id, k, found)
    return out


def _lines(where: str, node: int, output: int, found: Sequence[Factor]) -> list[Line]:
    return [Line(where, node, output, text or CONSTANT, terms) for _, text, terms in found]


def kept_lines(
    explanation: ModelExplanation, lines: Sequence[Line], is_complete: bool
) -> list[Line]:
    """The lines; without gaps, none is about a gap."""
    return [
        line
        for line in lines
        if not (is_complete and line.terms and explanation.terms[line.terms[0]].kind == "missing")
    ]


def free_parameters(lines: Sequence[Line], n_outputs: int) -> tuple[list[Parameter], Floats]:
    """What is free, and the numbers of all lines as sums of that.

    Where all of several scores have a term, only differences between them are known: their numbers
    sum to 0.
    """
    unit = np.eye(n_outputs)
    count: dict[tuple[int, tuple[int, ...]], int] = {}
    for line in lines:
        count[line.node, line.terms] = count.get((line.node, line.terms), 0) + 1
    out: list[Parameter] = []
    sums: list[list[tuple[int, float]]] = []
    free: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for line in lines:
        key = line.node, line.terms
        is_full = n_outputs > 1 and count[key] == n_outputs
        if is_full and line.output == n_outputs - 1:
            sums.append([(place, -1.0) for place in free[key]])
            continue
        counts = unit[line.output] - (unit[-1] if is_full else 0.0)
        free.setdefault(key, []).append(len(out))
        sums.append([(len(out), 1.0)])
        out.append(Parameter(line.node, line.terms, tuple(counts.tolist())))
    mapping = np.zeros((len(lines), len(out)))
    for row, own in zip(mapping, sums, strict=True):
        for place, sign in own:
            row[place] = sign
    return out, mapping
