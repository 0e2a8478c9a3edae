"""The tree as a scorecard: points instead of log-odds.

Points are log-odds in other units: ``pdo`` points more double the odds, and ``base_score`` points
are odds of ``base_odds``. Where leaves share their formula, there is one card for all rows and a
short one for every segment that differs; else there is a card per leaf. The points of all
attributes that hold, in all cards whose segment the row belongs to, added up, are the score, within
limits where there are some.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import groupby
from math import ceil, isfinite, log, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import ExportError, describe
from glassleaf.explanations import words
from glassleaf.explanations.targets import all_targets
from glassleaf.export import sheets
from glassleaf.export.levels import (
    Edges,
    Level,
    Limits,
    Part,
    banded_parts,
    begins,
    exact_parts,
    range_text,
    rows_of_nodes,
    score,
)
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import FittedModel, fitted_model
from glassleaf.tree.plain import PlainModel, offset_texts

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Ranges of a number at most, and how many points a range may spread around its mean.
_MOST_BINS = 8
_FINEST = 1.0
# What is added to the counts of an attribute where one of them is zero.
_FEW = 0.5


@dataclass(frozen=True)
class Attribute:
    """A line of a card.

    For numbers from ``above`` up to ``up_to`` it adds ``points + per_unit * (value - above)``
    (``above`` counts as 0 where it is empty); for anything else just ``points``. The line "score"
    adds nothing: beyond ``above`` or ``up_to`` the sum counts as that end. Exposures and offsets
    are "added last": ``per_unit`` times what ``column`` says, whatever the limits. ``leaf`` counts
    from left to right, and is empty where a segment has several; ``node`` is what ``apply`` and the
    SQL view call it. Of the rows given, those of the segment that the line is for: ``count``, how
    many of them are ``bads``, their ``rate`` (for a number to predict, its mean), the weight of
    evidence and what the line adds to the information value of its column.
    """

    leaf: int | None
    node: int
    segment: str
    column: str
    attribute: str
    above: float | None
    up_to: float | None
    points: float
    per_unit: float
    count: int | None = None
    bads: int | None = None
    rate: float | None = None
    woe: float | None = None
    iv: float | None = None


@dataclass(frozen=True)
class Scorecard:
    """All cards, and the scale of their points.

    ``good`` and ``bad`` are the classes, None for a number. ``rounding`` is the largest difference
    between the score by the card and the model's own, in points, over the rows given; None if there
    were none.
    """

    attributes: tuple[Attribute, ...]
    base_score: float
    base_odds: float
    pdo: float
    good: Any
    bad: Any
    rounding: float | None
    _fitted: FittedModel = field(repr=False, compare=False)
    _parts: tuple[Part, ...] = field(repr=False, compare=False)
    _limits: Limits = field(repr=False, compare=False)
    _factor: float = field(repr=False, compare=False)

    def score(self, X: Any) -> Floats:
        """The points of rows, by the card."""
        matrix = self._fitted.matrix(X)
        return _points(self._fitted, self._parts, self._limits, self._factor, matrix)

    def rows(self) -> list[dict[str, Any]]:
        """The attributes as dicts, for a DataFrame or a template."""
        return [asdict(attribute) for attribute in self.attributes]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as CSV text, written to a file if there is a path."""
        return sheets.csv_text(self._table(), path)

    def to_excel(self, path: str | os.PathLike[str]) -> None:
        """The table as an Excel file, with a second sheet for the scale."""
        scale = [[name, getattr(self, name)] for name in self._scale_names()]
        sheets.write_excel(path, {"scorecard": self._table(), "scale": scale})

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The cards as one page, written to a file if there is a path."""
        scale = ", ".join(
            f"{name} {words.value(getattr(self, name), 3)}" for name in self._scale_names()
        )
        shown = [name for name in _SHOWN if any(getattr(line, name) for line in self.attributes)]
        tables = [
            sheets.html_table(segment, shown, [
                [_shown(name, getattr(line, name)) for name in shown] for line in lines
            ])
            for (_, segment), lines in groupby(self.attributes, lambda a: (a.node, a.segment))
        ]  # fmt: skip
        return sheets.html_page("Scorecard", [f"<p>{html.escape(scale)}</p>", *tables], path)

    def _table(self) -> list[list[Any]]:
        return [_COLUMNS, *(list(row.values()) for row in self.rows())]

    def _scale_names(self) -> list[str]:
        names = ("base_score", "base_odds", "pdo", "good", "bad", "rounding")
        return [name for name in names if getattr(self, name) is not None]


_COLUMNS = [each.name for each in fields(Attribute)]
_SHOWN = ("column", "attribute", "points", "per_unit", "count", "bads", "rate", "woe", "iv")


def _shown(name: str, value: Any) -> str | float:
    """A cell of the page."""
    if value is None or isinstance(value, str):
        return value or ""
    return round(float(value), 4) if name in ("rate", "woe", "iv") else float(value)


def to_scorecard(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    bins: str | dict[str, Edges] | None = None,
    integer: bool = True,
    base_score: float = 600.0,
    base_odds: float = 50.0,
    pdo: float = 20.0,
    good: Any = None,
) -> Scorecard:
    """The tree as a scorecard.

    Parameters
    ----------
    estimator : fitted ModelTreeClassifier of two classes, or ModelTreeRegressor
        With a log link (as "poisson") ``pdo`` points double the expected value, and
        ``base_score`` points are an expected value of ``base_odds``. With the identity link points
        are units of the target, which are not rounded, and the scale does not matter.
    X : table, default=None
        Rows to count in every attribute, such as those of the fit; needed for ``bins``.
    y : array, default=None
        Their targets: how many of them are bad, weights of evidence and information values.
    bins : {"auto"}, dict from columns to ends of ranges, or None, default=None
        None: lines of numbers keep their slopes, and the card says what the model does. "auto": at
        most 8 ranges per column, each with points of its own: the mean of the model's over the rows
        in it. The points of a column are then relative to its mean. A dict gives the ends of some
        columns; a range holds its upper end.
    integer : bool, default=True
        Whole points. Points per unit keep the digits that they need over the training range.
    base_score, base_odds : float, default=600, 50
        ``base_score`` points mean odds of ``base_odds`` to one for the good class.
    pdo : float, default=20
        Points to double the odds.
    good : label, default=None
        The class whose odds the points raise; None: the one that is not the positive class, as in
        credit scoring, where that is default.

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
    matrix = None if X is None else fitted.matrix(X)
    is_rounded = integer and model.link != "identity"
    parts = tuple(
        _in_points(fitted, part, factor, offset if begins(model, part) else 0.0, is_rounded)
        for part in _raw_parts(fitted, model, matrix, bins, _FINEST / abs(factor))
    )
    limits = _limits(model, factor, offset, is_rounded)
    pairs = [pair for part in parts for pair in _attributes(model, part, limits, factor)]
    lines, rounding = [line for line, _ in pairs], None
    if matrix is not None:
        lines = _counted(fitted, pairs, matrix, _is_bad(fitted, y, good, len(matrix)))
        own = factor * fitted.raw(matrix)[:, 0] + offset
        rounding = float(np.abs(own - _points(fitted, parts, limits, factor, matrix)).max())
    bad = next((label for label in model.classes or () if label != good), None)
    scale = (base_score, base_odds, pdo, good, bad, rounding)
    return Scorecard(tuple(lines), *scale, fitted, parts, limits, factor)


def _points(
    fitted: FittedModel, parts: Sequence[Part], limits: Limits, factor: float, matrix: Floats
) -> Floats:
    return score(fitted, parts, limits, matrix) + factor * fitted.tree.known(matrix)


def _raw_parts(
    fitted: FittedModel, model: PlainModel, matrix: Floats | None, bins: Any, finest: float
) -> list[Part]:
    if bins is None:
        return exact_parts(fitted, model)
    if matrix is None:
        raise ValueError("bins needs the rows that fall into them: pass them as X.")
    if bins != "auto" and not isinstance(bins, dict):
        raise ValueError(
            f"bins={describe(bins)} must be 'auto', None, or a dict from columns to ends of ranges."
        )
    given = {} if bins == "auto" else bins
    bands = {fitted.position(name, "bins"): sorted(edges) for name, edges in given.items()}
    return banded_parts(fitted, model, matrix, bands, _MOST_BINS, finest)


def _in_points(
    fitted: FittedModel, part: Part, factor: float, offset: float, is_rounded: bool
) -> Part:
    constant = _rounded(factor * part.constant + offset, is_rounded)
    scaled = (
        (_level_points(fitted, one, factor, is_rounded) for one in own) for own in part.levels
    )
    return replace(part, constant=constant, levels=tuple(map(tuple, scaled)))


def _level_points(fitted: FittedModel, level: Level, factor: float, is_rounded: bool) -> Level:
    per_unit = factor * level.per_unit
    if is_rounded and per_unit:
        per_unit = _rounded_slope(per_unit, _farthest(fitted, level))
    return replace(level, added=_rounded(factor * level.added, is_rounded), per_unit=per_unit + 0.0)


def _rounded(points: float, is_rounded: bool) -> float:
    """Points as a card shows them. Adding 0.0 turns -0.0, which puzzles readers, into 0.0."""
    return (round(points) if is_rounded else points) + 0.0


def _rounded_slope(per_unit: float, farthest: float) -> float:
    """Points per unit, so short that no number of their line is off by more than a tenth."""
    return round(per_unit, 1 + ceil(log10(farthest))) if farthest > 0 else per_unit


def _farthest(fitted: FittedModel, level: Level) -> float:
    """How far a number can lie from where its line begins: in training, if it has no end."""
    low, high = (
        float(ends[level.column]) for ends in (fitted.tree.record.low, fitted.tree.record.high)
    )
    start = level.above or 0.0
    low = low if level.above is None else level.above
    high = high if level.up_to is None else level.up_to
    return max(abs(low - start), abs(high - start))


def _limits(model: PlainModel, factor: float, offset: float, is_rounded: bool) -> Limits:
    """The limits of the score, in points, by the node of the leaf."""
    out = {}
    for leaf in model.leaves:
        if leaf.is_limited:
            low, high = sorted(factor * end + offset for end in (leaf.low[0], leaf.high[0]))
            out[leaf.node] = (
                _rounded(low, is_rounded) if isfinite(low) else None,
                _rounded(high, is_rounded) if isfinite(high) else None,
            )
    return out


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


# --- lines ---------------------------------------------------------------------------------------


def _attributes(
    model: PlainModel, part: Part, limits: Limits, factor: float
) -> Iterator[tuple[Attribute, Level | None]]:
    """The lines of a part, each with its level, if it has one."""
    whose = (part.leaf, part.node, part.segment)
    yield Attribute(*whose, "", "base", None, None, part.constant, 0.0), None
    for level in (level for own in part.levels for level in own):
        name, ends = model.columns[level.column].name, (level.above, level.up_to)
        yield Attribute(*whose, name, level.text, *ends, level.added, level.per_unit), level
    held = limits.get(model.leaves[0].node if model.differences else part.node)
    if held and begins(model, part):
        text = f"score {range_text(*held, '≥')}"
        yield Attribute(*whose, "", text, *held, 0.0, 0.0), None
    for text in offset_texts(model) if begins(model, part) else ():
        yield Attribute(*whose, text, "added last", None, None, 0.0, factor), None


def _is_bad(fitted: FittedModel, y: Any, good: Any, n_rows: int) -> Floats | None:
    """1 for rows of the bad class, 0 for others; or the number that was to be predicted."""
    if y is None:
        return None
    found = all_targets(fitted, y, n_rows)
    if fitted.classes is None:
        return found
    return np.asarray((found != fitted.classes.index(good)).astype(np.float64))


def _counted(
    fitted: FittedModel,
    pairs: Sequence[tuple[Attribute, Level | None]],
    matrix: Floats,
    bad: Floats | None,
) -> list[Attribute]:
    """The lines with the rows that each is for."""
    under, out = rows_of_nodes(fitted, matrix), []
    for line, level in pairs:
        here = under[line.node]
        held = here if level is None else here & level.holds(matrix[:, level.column])
        out.append(replace(line, **_statistics(held, here, bad, fitted.classes is not None)))
    return out


def _statistics(held: Bools, here: Bools, bad: Floats | None, is_class: bool) -> dict[str, Any]:
    count = int(held.sum())
    if bad is None:
        return {"count": count}
    rate = float(bad[held].mean()) if count else None
    if not is_class:
        return {"count": count, "rate": rate}
    bads, all_bads = int(bad[held].sum()), int(bad[here].sum())
    goods, all_goods = count - bads, int(here.sum()) - all_bads
    if not count or not all_bads or not all_goods:
        return {"count": count, "bads": bads, "rate": rate}
    few = _FEW if 0 in (bads, goods) else 0.0
    of_goods, of_bads = (goods + few) / all_goods, (bads + few) / all_bads
    woe = log(of_goods / of_bads)
    return {
        "count": count, "bads": bads, "rate": rate, "woe": woe, "iv": (of_goods - of_bads) * woe,
    }  # fmt: skip
