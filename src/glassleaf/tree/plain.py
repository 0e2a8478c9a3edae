"""The model as plain Python objects: what scorers and exports read. No numpy.

A node is a :class:`PlainSplit` or a :class:`PlainLeaf`. A leaf is a sum of its terms that are not
zero, column by column in the order in which prediction adds them. Whoever follows these objects by
the book arrives at the numbers of ``predict``. Where leaves share their formula, ``differences``
says the same in fewer numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from glassleaf.tables.dates import DatePart
from glassleaf.tree.coverage import PlainIntervals
from glassleaf.tree.file.model_file import Document

Label = str | int | float | bool
Numbers = tuple[float, ...]  # one per output
Points = tuple[tuple[float, float], ...]
# From the numbers of all outputs to the one that is wanted.
Of = Callable[[Numbers], float]

# A raw prediction beyond this counts as this before its exponential is taken; see losses.
LARGEST_EXPONENT = 500.0
# How a raw prediction becomes a prediction, by the name of the loss.
_LINKS = {
    "squared_error": "identity",
    "huber": "identity",
    "quantile": "identity",
    "poisson": "log",
    "gamma": "log",
    "tweedie": "log",
    "negative_binomial": "log",
}


@dataclass(frozen=True)
class PlainColumn:
    """An input column; ``knots`` are the points of its transform, ``fill`` its term if missing.

    A transform is linear between its points and constant beyond them; without points there is none.
    ``special`` are values that are no numbers but stand for something else, with their words; their
    codes are their positions. The term of a special value is ``fill``, too.
    """

    name: str
    categories: tuple[Label, ...] | None
    knots: Points
    fill: float
    date: DatePart | None = None  # what it is of a column of dates
    special: tuple[tuple[float, str], ...] = ()

    @property
    def is_input(self) -> bool:
        """Whether it is a column of the user's table, not one more part of a date."""
        return self.date is None or self.date.is_input

    @property
    def input_name(self) -> str:
        """The name of the user's column that it is, or is a part of."""
        return self.name if self.date is None else self.date.source

    @property
    def is_category(self) -> bool:
        return self.categories is not None

    @property
    def holds_text(self) -> bool:
        return any(isinstance(category, str) for category in self.categories or ())


@dataclass(frozen=True)
class PlainSplit:
    """Numbers up to the threshold go left, or the categories (or special values) of these codes."""

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
    numbers times how far that same value lies above the place; and what its category, or special
    value, has in ``categories``. ``usual`` is what it adds to the mean row of the leaf, if training
    said so.
    """

    column: int
    missing: Numbers
    slope: Numbers
    bends: tuple[tuple[float, Numbers], ...]
    low: float
    high: float
    categories: dict[int, Numbers]
    usual: Numbers = ()

    @property
    def of_value(self) -> bool:
        """Whether it depends on the number itself, not only on whether it is missing."""
        return bool(self.slope or self.bends)

    @property
    def is_clamped(self) -> bool:
        return self.low > -inf or self.high < inf

    @property
    def adds(self) -> bool:
        """Whether anything in it is not zero."""
        return bool(self.missing or self.of_value or self.categories)

    def of(self, pick: Of) -> PlainTerm:
        """The term of one score, without what is zero there."""

        def one(numbers: Numbers) -> Numbers:
            return (pick(numbers),) if numbers and pick(numbers) else ()

        bends = ((at, one(numbers)) for at, numbers in self.bends)
        categories = {code: one(numbers) for code, numbers in self.categories.items()}
        return replace(
            self,
            missing=one(self.missing),
            slope=one(self.slope),
            bends=tuple((at, found) for at, found in bends if found),
            categories={code: found for code, found in categories.items() if found},
        )


@dataclass(frozen=True)
class PlainSum:
    """Terms and an intercept: a model, or what one has more than another."""

    terms: tuple[PlainTerm, ...]
    intercept: Numbers

    @property
    def adds(self) -> bool:
        """Whether anything in it is not zero."""
        return bool(self.terms) or any(self.intercept)

    def of(self, pick: Of) -> PlainSum:
        """The sum of one score, without what is zero there."""
        terms = (term.of(pick) for term in self.terms)
        return PlainSum(tuple(term for term in terms if term.adds), (pick(self.intercept),))


@dataclass(frozen=True)
class PlainLeaf(PlainSum):
    """The model of a leaf: its sum counts as ``low`` or ``high`` where it lies beyond these."""

    node: int
    low: Numbers
    high: Numbers
    n_samples: int

    @property
    def is_limited(self) -> bool:
        return max(self.low) > -inf or min(self.high) < inf


@dataclass(frozen=True)
class PlainOffset:
    """A column that the sum of every leaf adds, within its limits or not, or its logarithm."""

    column: int
    is_exposure: bool


@dataclass(frozen=True)
class PlainModel:
    """A tree with its link: "identity", "log", "logit" (two classes) or "softmax".

    Of two classes, ``positive`` is the position of the one whose log-odds the sum is.
    ``differences`` has for the root the formula for all rows and for every other node what its
    model has more than its parent's: the sums on the way to a leaf add up to that leaf's, and all
    leaves have the same limits. It is empty where that is longer, or was not asked for. A missing
    value of an offset, or an exposure that is not positive, has no prediction.
    """

    columns: tuple[PlainColumn, ...]
    nodes: tuple[PlainSplit | PlainLeaf, ...]
    link: str
    classes: tuple[Label, ...] | None
    named: bool
    positive: int = 1
    differences: tuple[PlainSum, ...] = ()
    intervals: PlainIntervals | None = None
    offsets: tuple[PlainOffset, ...] = ()
    reason_codes: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def positive_class(self) -> Label | None:
        """Of two classes, the one whose log-odds the sum is; else None."""
        return self.classes[self.positive] if self.classes and self.link == "logit" else None

    def reason_code(self, column: int, word: str | None = None) -> tuple[str, str]:
        """The code and the text of a column, or of its special value; both empty without."""
        name, codes = self.columns[column].name, self.reason_codes
        own = codes.get(special_key(name, word)) if word is not None else None
        return own or codes.get(name, ("", ""))

    @property
    def n_outputs(self) -> int:
        return len(self.classes) if self.link == "softmax" and self.classes else 1

    @property
    def leaves(self) -> list[PlainLeaf]:
        return [node for node in self.nodes if isinstance(node, PlainLeaf)]

    @property
    def used(self) -> list[int]:
        """Positions of the columns that some split, leaf or offset reads."""
        found = {node.column for node in self.nodes if isinstance(node, PlainSplit)}
        found |= {offset.column for offset in self.offsets}
        return sorted(found | {term.column for leaf in self.leaves for term in leaf.terms})

    @property
    def inputs(self) -> list[PlainColumn]:
        """The columns of a table, without further parts of dates."""
        return [column for column in self.columns if column.is_input]

    @property
    def sources(self) -> list[int]:
        """For every column, the place of its input among all."""
        return [
            sum(c.is_input for c in self.columns[: j + 1]) - 1 for j in range(len(self.columns))
        ]

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


def offset_texts(model: PlainModel) -> list[str]:
    """What every score adds, as formulas write it."""
    names = ((model.columns[offset.column].name, offset.is_exposure) for offset in model.offsets)
    return [f"log({name})" if is_exposure else name for name, is_exposure in names]


def date_texts(model: PlainModel) -> list[str]:
    """What stands for dates where a language has none: sentences about every part."""
    units = {
        "days": "is days since 1970-01-01",
        "month": "is its month: Jan, Feb, ...",
        "weekday": "is its day of the week: Mon, Tue, ...",
        "hour": "is its hour, 0 to 23",
    }
    out = []
    for column in model.columns:
        if column.date is not None:
            zone = " in UTC" if column.date.zoned else ""
            whole = ", whole ones" if column.date.is_input and not column.date.timed else ""
            out.append(f"{column.name} {units[column.date.part]}{whole}{zone}.")
    return out


def special_key(name: str, word: str) -> str:
    """What the special value of a column is called where reasons have codes.

    >>> special_key("months", "no record")
    'months = no record'
    """
    return f"{name} = {word}"


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
    intervals = _intervals(document) if "intervals" in document else None
    offsets = tuple(
        PlainOffset(given["column"], given["is_exposure"]) for given in document.get("offsets", ())
    )
    return PlainModel(
        columns,
        nodes,
        link,
        classes,
        document["named"],
        positive,
        intervals=intervals,
        offsets=offsets,
        reason_codes=_reason_codes(document),
    )


def _intervals(document: Document) -> PlainIntervals:
    found, left = document["intervals"], document["tree"]["left"]
    width = {node: tuple(found["width"][node]) for node, child in enumerate(left) if child < 0}
    return PlainIntervals(tuple(found["level"]), width, float(found["power"]))


def _reason_codes(document: Document) -> dict[str, tuple[str, str]]:
    """The code and the text of every column that has one, as the estimator's parameters say."""
    given = document.get("estimator", {"parameters": {}})["parameters"].get("reason_codes")
    out = {}
    for name, pair in given["map"] if given else ():
        code, text = pair["tuple"] if isinstance(pair, dict) else pair
        out[name] = (code, text)
    return out


def _column(document: Document, j: int) -> PlainColumn:
    column, terms = document["columns"][j], document["terms"]
    knots = slice(terms["first_knot"][j], terms["first_knot"][j + 1])
    return PlainColumn(
        column["name"],
        None if column["categories"] is None else tuple(column["categories"]),
        tuple(zip(terms["knot_x"][knots], terms["knot_z"][knots], strict=True)),
        terms["fill"][j],
        DatePart(**column["date"]) if "date" in column else None,
        tuple((float(own["value"]), own["word"]) for own in column.get("special", ())),
    )


def _split(document: Document, node: int) -> PlainSplit:
    tree = document["tree"]
    column, first = tree["feature"][node], tree["first_category"][node]
    codes = document["columns"][column]["categories"] or document["columns"][column].get("special")
    left = tree["categories"][first : first + len(codes or ())] if first >= 0 else ()
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
    return PlainLeaf(
        terms=_terms(document, tree["coef"][node], node),
        intercept=tuple(tree["intercept"][node]),
        node=node,
        low=tuple(tree["score_low"][node]),
        high=tuple(tree["score_high"][node]),
        n_samples=tree["n_samples"][node],
    )


def _terms(document: Document, coef: Sequence[Sequence[float]], node: int) -> tuple[PlainTerm, ...]:
    terms = (_term(document, coef, node, j) for j in range(len(document["columns"])))
    return tuple(term for term in terms if term.adds)


def _term(document: Document, coef: Sequence[Sequence[float]], node: int, j: int) -> PlainTerm:
    """What column j adds by these coefficients, within the ranges of a node."""
    terms, tree = document["terms"], document["tree"]
    first, missing = terms["first_term"][j], terms["missing_term"][j]
    hinges = range(terms["first_hinge"][j], terms["first_hinge"][j + 1])
    first_hinge_term = terms["n_terms"] - len(terms["hinge_at"])
    categories = document["columns"][j]["categories"]

    def numbers(term: int) -> Numbers:
        found = tuple(row[term] for row in coef)
        return found if any(found) else ()

    coded = _coded_terms(document, j)
    by_code = {code: numbers(term) for code, term in enumerate(coded) if term >= 0}

    def usual() -> Numbers:
        own = [first] if first >= 0 and categories is None else []
        own += (
            [term for term in coded if term >= 0]
            + [missing] * (missing >= 0)
            + [first_hinge_term + h for h in hinges]
        )
        mean = document["seen"]["mean"][node] if "seen" in document else None
        return () if mean is None else tuple(sum(row[t] * mean[t] for t in own) for row in coef)

    bends = ((terms["hinge_at"][h], numbers(first_hinge_term + h)) for h in hinges)
    return PlainTerm(
        column=j,
        missing=numbers(missing) if missing >= 0 else (),
        slope=numbers(first) if first >= 0 and categories is None else (),
        bends=tuple((at, found) for at, found in bends if found),
        low=tree["clamp_low"][node][j],
        high=tree["clamp_high"][node][j],
        categories={code: found for code, found in by_code.items() if found},
        usual=usual(),
    )


def _coded_terms(document: Document, j: int) -> list[int]:
    """The terms of a column's categories, or of its special values; -1 for none."""
    terms, categories = document["terms"], document["columns"][j]["categories"]
    first = terms["first_term"][j]
    if categories is not None:
        return [first + code for code in range(len(categories))] if first >= 0 else []
    if "first_special" not in terms:
        return []
    found: list[int] = terms["special_term"]
    return found[terms["first_special"][j] : terms["first_special"][j + 1]]


# --- differences ---------------------------------------------------------------------------------


def differences(document: Document) -> tuple[PlainSum, ...]:
    """What every node has more than its parent, the root all it has; empty if that is longer.

    Empty, too, for a single leaf, and where leaves hold columns or scores in ranges of their own.
    """
    tree = document["tree"]
    leaves = [node for node, left in enumerate(tree["left"]) if left < 0]
    held = ("clamp_low", "clamp_high", "score_low", "score_high")
    own = {tuple(tuple(tree[name][leaf]) for name in held) for leaf in leaves}
    if len(leaves) == 1 or len(own) > 1:
        return ()
    models = [
        [[*coef, own] for coef, own in zip(*numbers, strict=True)]
        for numbers in zip(tree["coef"], tree["intercept"], strict=True)
    ]
    found = _apart(models, tree)
    if _count(found) > _count([models[leaf] for leaf in leaves]):
        return ()
    return tuple(
        PlainSum(
            _terms(document, [row[:-1] for row in rows], leaves[0]), tuple(row[-1] for row in rows)
        )
        for rows in found
    )


def _apart(models: list[list[list[float]]], tree: Any) -> list[list[list[float]]]:
    """The models of all nodes but the root as what leads to them from their parents'."""
    out = list(models)
    for node, children in enumerate(zip(tree["left"], tree["right"], strict=True)):
        for child in children if children[0] >= 0 else ():
            out[child] = [
                [*map(_step, *pair)] for pair in zip(models[node], models[child], strict=True)
            ]
    return out


def _count(models: list[list[list[float]]]) -> int:
    return sum(number != 0.0 for rows in models for row in rows for number in row)


def _step(start: float, end: float) -> float:
    """The shortest number that leads from one to the other.

    >>> _step(0.1, 0.1 + 0.2), _step(1.5, 1.5)
    (0.2, 0.0)
    """
    exact = end - start
    for digits in range(1, 17) if exact else ():
        short = float(f"{exact:.{digits}g}")
        if start + short == end:
            return short
    return exact
