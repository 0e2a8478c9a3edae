"""The model as plain Python objects: what scorers and exports read. No numpy.

A node is a :class:`PlainSplit` or a :class:`PlainLeaf`. A leaf is a sum of its terms that are not
zero, column by column in the order in which prediction adds them. Whoever follows these objects by
the book arrives at the numbers of ``predict``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from glassleaf.tree.file.model_file import Document

Label = str | int | float | bool
Numbers = tuple[float, ...]  # one per output
Points = tuple[tuple[float, float], ...]

# A raw prediction beyond this counts as this before its exponential is taken; see losses.
LARGEST_EXPONENT = 500.0
# How a raw prediction becomes a prediction, by the name of the loss.
_LINKS = {"squared_error": "identity", "huber": "identity", "poisson": "log", "gamma": "log"}


@dataclass(frozen=True)
class PlainColumn:
    """An input column; ``knots`` are the points of its transform, ``fill`` its term if missing.

    A transform is linear between its points and constant beyond them; without points there is none.
    """

    name: str
    categories: tuple[Label, ...] | None
    knots: Points
    fill: float

    @property
    def is_category(self) -> bool:
        return self.categories is not None

    @property
    def holds_text(self) -> bool:
        return any(isinstance(category, str) for category in self.categories or ())


@dataclass(frozen=True)
class PlainSplit:
    """Numbers up to the threshold go left, or the categories with these codes."""

    column: int
    threshold: float
    left_codes: frozenset[int]
    missing_left: bool
    unknown_left: bool
    left: int
    right: int


@dataclass(frozen=True)
class PlainTerm:
    """What a column adds in a leaf, one number per output; empty where it adds nothing.

    ``missing`` is added where the value is missing; for numbers, ``slope`` times the transformed
    value (or ``fill``) within ``low`` .. ``high``, and for each of ``bends``, (place, numbers), its
    numbers times how far that same value lies above the place; or what its category has in
    ``categories``.
    """

    column: int
    missing: Numbers
    slope: Numbers
    bends: tuple[tuple[float, Numbers], ...]
    low: float
    high: float
    categories: dict[int, Numbers]

    @property
    def of_value(self) -> bool:
        """Whether it depends on the number itself, not only on whether it is missing."""
        return bool(self.slope or self.bends)

    @property
    def is_clamped(self) -> bool:
        return self.low > -inf or self.high < inf


@dataclass(frozen=True)
class PlainLeaf:
    """The model of a leaf: its sum counts as ``low`` or ``high`` where it lies beyond these."""

    node: int
    terms: tuple[PlainTerm, ...]
    intercept: Numbers
    low: Numbers
    high: Numbers
    n_samples: int

    @property
    def is_limited(self) -> bool:
        return max(self.low) > -inf or min(self.high) < inf


@dataclass(frozen=True)
class PlainModel:
    """A tree with its link: "identity", "log", "logit" (two classes) or "softmax".

    Of two classes, ``positive`` is the position of the one whose log-odds the sum is.
    """

    columns: tuple[PlainColumn, ...]
    nodes: tuple[PlainSplit | PlainLeaf, ...]
    link: str
    classes: tuple[Label, ...] | None
    named: bool
    positive: int = 1

    @property
    def positive_class(self) -> Label | None:
        """Of two classes, the one whose log-odds the sum is; else None."""
        return self.classes[self.positive] if self.classes and self.link == "logit" else None

    @property
    def n_outputs(self) -> int:
        return len(self.classes) if self.link == "softmax" and self.classes else 1

    @property
    def leaves(self) -> list[PlainLeaf]:
        return [node for node in self.nodes if isinstance(node, PlainLeaf)]

    @property
    def used(self) -> list[int]:
        """Positions of the columns that some split or leaf reads."""
        found = {node.column for node in self.nodes if isinstance(node, PlainSplit)}
        return sorted(found | {term.column for leaf in self.leaves for term in leaf.terms})

    @property
    def numbers(self) -> list[int]:
        """Positions of the columns whose numbers some leaf reads."""
        return sorted({t.column for leaf in self.leaves for t in leaf.terms if t.of_value})

    def paths(self) -> Iterator[tuple[PlainLeaf, list[tuple[PlainSplit, bool]]]]:
        """Every leaf, from left to right, with the splits above it and whether it lies left."""
        waiting: list[tuple[int, list[tuple[PlainSplit, bool]]]] = [(0, [])]
        while waiting:
            number, above = waiting.pop()
            node = self.nodes[number]
            if isinstance(node, PlainLeaf):
                yield node, above
            else:
                waiting.append((node.right, [*above, (node, False)]))
                waiting.append((node.left, [*above, (node, True)]))


def leaf_numbers(model: PlainModel) -> dict[int, int]:
    """What people call the leaves, by node: from left to right, from 1."""
    return {leaf.node: number for number, (leaf, _) in enumerate(model.paths(), 1)}


def from_document(document: Document) -> PlainModel:
    """The plain model of a document, or of the part of one that predicts."""
    labels = document["classes"]
    classes = None if labels is None else tuple(labels["values"])
    columns = tuple(_column(document, j) for j in range(len(document["columns"])))
    tree = document["tree"]
    nodes = tuple(
        _leaf(document, node) if left < 0 else _split(document, node)
        for node, left in enumerate(tree["left"])
    )
    link = _LINKS.get(document["loss"]["name"]) or (
        "logit" if len(classes or ()) == 2 else "softmax"
    )
    positive = document["loss"].get("positive", 1)
    return PlainModel(columns, nodes, link, classes, document["named"], positive)


def _column(document: Document, j: int) -> PlainColumn:
    column, terms = document["columns"][j], document["terms"]
    knots = slice(terms["first_knot"][j], terms["first_knot"][j + 1])
    return PlainColumn(
        column["name"],
        None if column["categories"] is None else tuple(column["categories"]),
        tuple(zip(terms["knot_x"][knots], terms["knot_z"][knots], strict=True)),
        terms["fill"][j],
    )


def _split(document: Document, node: int) -> PlainSplit:
    tree = document["tree"]
    column, first = tree["feature"][node], tree["first_category"][node]
    categories = document["columns"][column]["categories"] or ()
    left = tree["categories"][first : first + len(categories)] if first >= 0 else ()
    return PlainSplit(
        column=column,
        threshold=tree["threshold"][node],
        left_codes=frozenset(code for code, goes_left in enumerate(left) if goes_left),
        missing_left=tree["missing_left"][node],
        unknown_left=tree["unknown_left"][node],
        left=tree["left"][node],
        right=tree["right"][node],
    )


def _leaf(document: Document, node: int) -> PlainLeaf:
    tree = document["tree"]
    terms = (_term(document, node, j) for j in range(len(document["columns"])))
    return PlainLeaf(
        node=node,
        terms=tuple(term for term in terms if term.missing or term.of_value or term.categories),
        intercept=tuple(tree["intercept"][node]),
        low=tuple(tree["score_low"][node]),
        high=tuple(tree["score_high"][node]),
        n_samples=tree["n_samples"][node],
    )


def _term(document: Document, node: int, j: int) -> PlainTerm:
    terms, tree = document["terms"], document["tree"]
    coef = tree["coef"][node]
    first, missing = terms["first_term"][j], terms["missing_term"][j]
    hinges = range(terms["first_hinge"][j], terms["first_hinge"][j + 1])
    first_hinge_term = terms["n_terms"] - len(terms["hinge_at"])
    categories = document["columns"][j]["categories"]

    def numbers(term: int) -> Numbers:
        found = tuple(row[term] for row in coef)
        return found if any(found) else ()

    by_code = {} if categories is None or first < 0 else {
        code: numbers(first + code) for code in range(len(categories))
    }  # fmt: skip
    bends = ((terms["hinge_at"][h], numbers(first_hinge_term + h)) for h in hinges)
    return PlainTerm(
        column=j,
        missing=numbers(missing) if missing >= 0 else (),
        slope=numbers(first) if first >= 0 and categories is None else (),
        bends=tuple((at, found) for at, found in bends if found),
        low=tree["clamp_low"][node][j],
        high=tree["clamp_high"][node][j],
        categories={code: found for code, found in by_code.items() if found},
    )
