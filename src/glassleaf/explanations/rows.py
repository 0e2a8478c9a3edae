"""The explanation of single predictions, as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from glassleaf.explanations import words
from glassleaf.explanations.effects import additive, limit_parts, without_limits
from glassleaf.explanations.json_data import JsonData
from glassleaf.explanations.rules import Condition, all_rules, rule_text, split_conditions
from glassleaf.explanations.shapley import shapley
from glassleaf.tree.complexity import shares_formula
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step(JsonData):
    """One split on a row's way: what was asked, the row's value, and where it went."""

    node: int
    feature: str
    value: Any
    condition: Condition
    text: str
    next_node: int


@dataclass(frozen=True)
class Share(JsonData):
    """What a node on a row's way adds to its score: one number, or a list with one per class.

    ``condition`` is None for the root, which adds what the formula for all rows gives.
    """

    node: int
    condition: Condition | None
    text: str
    added: float | list[float]


@dataclass(frozen=True)
class RowExplanation(JsonData):
    """Why a row got its score.

    With one raw score, ``raw`` and ``reference`` are numbers and ``contributions`` maps every
    feature to a number; with K classes, all of them are lists of K numbers. Either way, and for
    every class, ``reference + sum(contributions) + limited == raw``: ``limited`` is what the limits
    of the leaf's score take away or add, 0 where they do not act. If leaves share their formula,
    ``shares`` tell what is common from what belongs to the row's segments: the first is what the
    formula for all rows gives, the others what differs at the nodes on the way that differ, and
    ``sum(shares) + limited == raw`` as well. ``prediction`` is the predicted
    number, or the list of the probabilities of ``classes``. ``reference_text`` says what the
    reference is, ``outputs`` whose scores the lists hold, ``positive_class`` whose log-odds the one
    score of two classes is.
    """

    leaf: int
    leaf_number: int
    path: tuple[Step, ...]
    rule: tuple[Condition, ...]
    values: dict[str, Any]
    raw: float | list[float]
    prediction: float | list[float]
    reference: float | list[float]
    contributions: dict[str, Any]
    reference_text: str
    limited: float | list[float] = 0.0
    shares: tuple[Share, ...] = ()
    label: Any = None
    outputs: tuple[str, ...] = ("",)
    classes: tuple[Any, ...] = ()
    positive_class: Any = None

    @property
    def rule_text(self) -> str:
        """The rule of the leaf in plain words."""
        return rule_text(self.rule)

    def to_text(self, at_most: int = 8) -> str:
        """The explanation in a few lines."""
        ordered = sorted(self.contributions.items(), key=lambda item: -np.abs(item[1]).max())
        parts = [(name, part) for name, part in ordered if np.any(np.asarray(part) != 0)]
        shown, rest = parts[:at_most], [part for _, part in parts[at_most:]]
        width = max((len(words.name(name)) for name, _ in shown), default=0)
        predicted = f", predicted {words.name(self.label)}" if self.label is not None else ""
        lines = [(_numbers(self.reference), self.reference_text)]
        for name, part in shown:
            known = words.value(self.values[name], limit=words.NAME_LENGTH)
            lines.append((_numbers(part, "+"), f"{words.name(name).ljust(width)} = {known}"))
        if rest:
            total = np.sum(np.array(rest).reshape(len(rest), -1), axis=0)
            what = "1 smaller part" if len(rest) == 1 else f"{len(rest)} smaller parts"
            lines.append((_numbers(_one_or_list(total), "+"), what))
        if np.any(self.limited):
            lines.append((_numbers(self.limited, "+"), f"limited to {_numbers(self.raw)}"))
        whose = words.whose_score("", self.positive_class)
        of = f" of {whose}" if whose else ""
        head = [
            f"Leaf {self.leaf_number}: {self.rule_text}",
            f"score{of} {_numbers(self.raw)}, prediction {self._predicted()}{predicted}",
        ]
        by_node = [(_numbers(share.added, "+"), _share_text(share)) for share in self.shares]
        by_column = ["or by column:"] if by_node else []
        return "\n".join([*head, *_aligned(by_node), *by_column, *_aligned(lines)])

    def _predicted(self) -> str:
        if not isinstance(self.prediction, list):
            return _numbers(self.prediction)
        pairs = zip(self.classes, self.prediction, strict=True)
        return " | ".join(f"{words.name(label)} {_numbers(share)}" for label, share in pairs)


def _numbers(value: float | Sequence[float], sign: str = "") -> str:
    several = value if isinstance(value, (list, tuple)) else [value]
    return " | ".join(f"{number:{sign}#.4g}" for number in several)


def _share_text(share: Share) -> str:
    if share.condition is None:
        return "formula for all rows"
    return f"differs where {share.text}"


def _aligned(lines: Sequence[tuple[str, str]]) -> list[str]:
    longest = max((len(number) for number, _ in lines), default=0)
    return [f"  {number.rjust(longest)}  {text}" for number, text in lines]


class RowExplanations(Sequence[RowExplanation]):
    """One :class:`RowExplanation` per row, made when it is asked for."""

    def __init__(
        self, model: FittedModel, matrix: Floats, background: Floats | None, reference_text: str
    ) -> None:
        self._model = model
        self._matrix = matrix
        self._text = reference_text
        self._leaves = model.tree.apply(matrix)
        self._raw = model.tree.raw(matrix, self._leaves)
        self._limited = limit_parts(model.tree, matrix, self._leaves)
        self._prediction = model.prediction(self._raw)
        self._differences = _difference_tree(model)
        self._rules = all_rules(model.tree)
        self._number = {node: k + 1 for k, node in enumerate(model.leaves)}
        self._sides: dict[int, tuple[Condition, Condition]] = {}
        if background is None:
            parts = additive(model.tree)
            self._parts = parts.effects(matrix, self._leaves)
            for offset in model.tree.offsets:
                known = offset.added(matrix, model.tree.columns)
                self._parts[:, offset.column] += known[:, None]
            self._reference = parts.center[self._leaves]
        else:
            self._parts, base = shapley(model, matrix, background)
            self._reference = np.tile(base, (len(matrix), 1))

    def __len__(self) -> int:
        return len(self._matrix)

    @overload
    def __getitem__(self, index: int) -> RowExplanation: ...
    @overload
    def __getitem__(self, index: slice) -> list[RowExplanation]: ...
    def __getitem__(self, index: int | slice) -> RowExplanation | list[RowExplanation]:
        if isinstance(index, slice):
            return [self._row(row) for row in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of {len(self)} rows")
        return self._row(int(index) % len(self))

    def __iter__(self) -> Iterator[RowExplanation]:
        return (self._row(row) for row in range(len(self)))

    def _row(self, row: int) -> RowExplanation:
        model, leaf = self._model, int(self._leaves[row])
        names = model.names
        values = {name: model.value(j, self._matrix[row, j]) for j, name in enumerate(names)}
        prediction, path = self._prediction[row], self._path(row)
        label = None if model.classes is None else model.classes[int(np.argmax(prediction))]
        return RowExplanation(
            leaf=leaf,
            leaf_number=self._number[leaf],
            path=path,
            rule=self._rules[leaf],
            values=values,
            raw=_one_or_list(self._raw[row]),
            prediction=_one_or_list(prediction),
            reference=_one_or_list(self._reference[row]),
            contributions={name: _one_or_list(self._parts[row, j]) for j, name in enumerate(names)},
            reference_text=self._text,
            limited=_one_or_list(self._limited[row]),
            shares=self._shares(row, path),
            label=label,
            outputs=model.outputs,
            classes=model.classes or (),
            positive_class=model.positive_class,
        )

    def _path(self, row: int) -> tuple[Step, ...]:
        tree, node, steps = self._model.tree, 0, []
        target = int(self._leaves[row])
        parent = tree.parent
        way = [target]
        while parent[way[-1]] >= 0:
            way.append(int(parent[way[-1]]))
        for node, following in zip(way[::-1][:-1], way[::-1][1:], strict=True):
            if node not in self._sides:
                self._sides[node] = split_conditions(tree, node)
            asked = self._sides[node][0 if following == tree.left[node] else 1]
            value = self._model.value(asked.column, self._matrix[row, asked.column])
            steps.append(Step(node, asked.feature, value, asked, asked.text, following))
        return tuple(steps)

    def _shares(self, row: int, path: tuple[Step, ...]) -> tuple[Share, ...]:
        """What the formula for all rows gives, then what differs on the way."""
        if self._differences is None:
            return ()
        way = np.array([0, *(step.next_node for step in path)])
        scores = self._differences.raw(self._matrix[[row] * len(way)], way)
        added = list(map(_one_or_list, scores))
        below = zip(path, added[1:], strict=True)
        return (
            Share(0, None, "all rows", added[0]),
            *(Share(s.next_node, s.condition, s.text, own) for s, own in below if np.any(own)),
        )


def _difference_tree(model: FittedModel) -> Tree | None:
    """The tree with what every model has more than its parent's, if leaves share their formula."""
    tree = model.tree
    if tree.n_leaves == 1 or not shares_formula(tree):
        return None
    coef, intercept = tree.coef.copy(), tree.intercept.copy()
    coef[1:] -= tree.coef[tree.parent[1:]]
    intercept[1:] -= tree.intercept[tree.parent[1:]]
    return replace(without_limits(tree), coef=coef, intercept=intercept)


def _one_or_list(numbers: Floats) -> Any:
    return float(numbers[0]) if len(numbers) == 1 else numbers.tolist()
