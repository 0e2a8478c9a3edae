"""The tree as a scorecard: one card per leaf, points instead of log-odds.

Points are log-odds in other units: ``pdo`` points more double the odds, and ``base_score`` points
are odds of ``base_odds``. A leaf's card is a list of attributes; the points of those that hold,
added up, are the score, within the leaf's limits where it has some.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from math import ceil, isfinite, log, log10
from typing import Any

from glassleaf.errors import ExportError, describe, require
from glassleaf.explanations import words
from glassleaf.explanations.rules import all_rules, rule_text
from glassleaf.export.pieces import added_at, pieces
from glassleaf.tree.file.atomic import write_atomically
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.plain import PlainLeaf, PlainModel

# What a spreadsheet would take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Attribute:
    """A line of a card.

    For numbers from ``above`` up to ``up_to`` it adds ``points + per_unit * (value - above)``
    (``above`` counts as 0 where it is empty); for anything else just ``points``. The last line of a
    limited leaf, "score", adds nothing: beyond ``above`` or ``up_to`` the sum counts as that end.
    ``leaf`` counts from left to right, ``node`` is what ``apply`` and the SQL view call it.
    """

    leaf: int
    node: int
    segment: str
    column: str
    attribute: str
    above: float | None
    up_to: float | None
    points: float
    per_unit: float


@dataclass(frozen=True)
class Scorecard:
    """The cards of all leaves, and the scale of their points."""

    attributes: tuple[Attribute, ...]
    base_score: float
    base_odds: float
    pdo: float
    good: Any

    def rows(self) -> list[dict[str, Any]]:
        """The attributes as dicts, for a DataFrame or a template."""
        return [asdict(attribute) for attribute in self.attributes]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as CSV text, written to a file if there is a path."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([field.name for field in fields(Attribute)])
        for row in self.rows():
            writer.writerow([_harmless(value) for value in row.values()])
        if path is not None:
            write_atomically(path, text.getvalue().encode("utf-8"))
        return text.getvalue()

    def to_excel(self, path: str | os.PathLike[str]) -> None:
        """The table as an Excel file, with a second sheet for the scale."""
        openpyxl = require("openpyxl", extra="excel", purpose="Writing Excel files")
        book = openpyxl.Workbook()
        card, scale = book.active, book.create_sheet("scale")
        card.title = "scorecard"
        _write_sheet(card, [[field.name for field in fields(Attribute)]])
        _write_sheet(card, [list(row.values()) for row in self.rows()])
        card.freeze_panes = "A2"
        scale_names = ("base_score", "base_odds", "pdo", "good")
        _write_sheet(scale, [[name, getattr(self, name)] for name in scale_names])
        content = io.BytesIO()
        book.save(content)
        write_atomically(path, content.getvalue())


def to_scorecard(
    estimator: Any,
    *,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    pdo: float = 20.0,
    good: Any = None,
    decimals: int | None = None,
) -> Scorecard:
    """The tree as a scorecard.

    Parameters
    ----------
    estimator : fitted ModelTreeClassifier of two classes, or ModelTreeRegressor
        With a log link ("poisson", "gamma") ``pdo`` points double the expected value, and
        ``base_score`` points are an expected value of ``base_odds``. With the identity link points
        are units of the target, and the scale does not matter.
    base_score, base_odds : float, default=600, 50
        ``base_score`` points mean odds of ``base_odds`` to one for the good class.
    pdo : float, default=20
        Points to double the odds.
    good : label, default=None
        The class whose odds the points raise; None: the one that is not the positive class, as in
        credit scoring, where that is default.
    decimals : int, default=None
        Decimals of the points; None: no rounding. Points per unit keep more of them, so that no
        number of their line is off by more than a tenth of the last decimal.

    Returns
    -------
    Scorecard
    """
    fitted = fitted_model(estimator)
    model = plain_model(fitted)
    if model.link == "softmax":
        raise ExportError("A scorecard has one score, and this model has one for every class.")
    for name, value in (("base_odds", base_odds), ("pdo", pdo)):
        if not value > 0 or not isfinite(value):
            raise ValueError(f"{name}={describe(value)} must be a number > 0.")
    factor, offset, good = _scale(model, base_score, base_odds, pdo, good)
    rules, out = all_rules(fitted.tree), []
    for number, (leaf, _) in enumerate(model.paths(), 1):
        segment = rule_text(rules[leaf.node])
        for column, attribute, above, up_to, points, per_unit in _card(model, leaf):
            is_base = not column
            points = factor * points + (offset if is_base else 0.0)
            per_unit = factor * per_unit
            if decimals is not None:
                per_unit = _rounded_slope(per_unit, above, up_to, decimals)
            scaled = (_rounded(points, decimals), _rounded(per_unit))
            out.append(
                Attribute(number, leaf.node, segment, column, attribute, above, up_to, *scaled)
            )  # fmt: skip
        if leaf.is_limited:
            ends = sorted(factor * end + offset for end in (leaf.low[0], leaf.high[0]))
            low, high = (_rounded(end, decimals) if isfinite(end) else None for end in ends)
            text = f"score {_range_text(low, high, '≥')}"
            out.append(Attribute(number, leaf.node, segment, "", text, low, high, 0.0, 0.0))
    return Scorecard(tuple(out), base_score, base_odds, pdo, good)


def _rounded(points: float, decimals: int | None = None) -> float:
    """Points as a card shows them. Adding 0.0 turns -0.0, which puzzles readers, into 0.0."""
    return (points if decimals is None else round(points, decimals)) + 0.0


def _rounded_slope(
    per_unit: float, above: float | None, up_to: float | None, decimals: int
) -> float:
    """Points per unit, short but right at both ends of the line; without an end, all digits."""
    if above is None or up_to is None or not up_to > above:
        return per_unit
    return round(per_unit, decimals + 1 + ceil(log10(up_to - above)))


def _scale(
    model: PlainModel, base_score: float, base_odds: float, pdo: float, good: Any
) -> tuple[float, float, Any]:
    """Points are offset + factor * raw prediction."""
    if model.link == "identity":
        return 1.0, 0.0, None
    factor = pdo / log(2.0)
    offset = base_score - factor * log(base_odds)
    if model.classes is None:
        return factor, offset, None
    if good is None:
        good = model.classes[1 - model.positive]
    if good not in model.classes:
        raise ValueError(f"good={describe(good)} must be one of the classes {model.classes}.")
    return (factor if good == model.positive_class else -factor), offset, good


_Line = tuple[str, str, float | None, float | None, float, float]


def _card(model: PlainModel, leaf: PlainLeaf) -> Iterator[_Line]:
    """Column, attribute, above, up to, what it adds there and per unit; raw scale."""
    yield "", "base", None, None, leaf.intercept[0], 0.0
    for term in leaf.terms:
        column = model.columns[term.column]
        missing = term.missing[0] if term.missing else 0.0
        if column.categories is not None:
            for code, category in enumerate(column.categories):
                added = term.categories.get(code, (0.0,))[0]
                yield column.name, f"= {category}", None, None, added, 0.0
            yield column.name, "never seen", None, None, 0.0, 0.0
            yield column.name, "missing", None, None, missing, 0.0
            continue
        for piece in pieces(column, term):
            above, up_to = piece.above, piece.up_to
            attribute = _range_text(above, up_to) or "any number"
            yield column.name, attribute, above, up_to, piece.added, piece.per_unit
        yield column.name, "missing", None, None, missing + added_at(column.fill, term), 0.0


def _range_text(low: float | None, high: float | None, beyond: str = ">") -> str:
    ends = (f"{beyond} {words.number(low)}" if low is not None else "",
            f"≤ {words.number(high)}" if high is not None else "")  # fmt: skip
    return " and ".join(filter(None, ends))


def _harmless(value: Any) -> Any:
    """A cell of a CSV file that no spreadsheet takes for a formula."""
    if isinstance(value, float):
        return repr(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_sheet(sheet: Any, rows: list[list[Any]]) -> None:
    start = sheet.max_row + 1 if sheet.max_row > 1 or sheet["A1"].value is not None else 1
    for i, row in enumerate(rows, start):
        for j, value in enumerate(row, 1):
            cell = sheet.cell(row=i, column=j)
            if isinstance(value, str):
                cell.value = "".join(c for c in value if c >= " " or c in "\n\t")
                cell.data_type = "s"  # a text, even if it begins like a formula
            else:
                cell.value = value
