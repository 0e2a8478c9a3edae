"""The tree as a Python module that imports nothing but ``math`` and, for dates, ``datetime``."""

from __future__ import annotations

from math import inf
from operator import itemgetter
from typing import Any

from glassleaf._version import __version__
from glassleaf.export.nested import Syntax, bodies
from glassleaf.tables.categories import codes_by_number
from glassleaf.tables.dates import MONTHS, WEEKDAYS
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.plain import (
    LARGEST_EXPONENT,
    PlainLeaf,
    PlainModel,
    PlainSplit,
    PlainSum,
    PlainTerm,
)

# Codes of categories in the generated module.
_UNKNOWN, _MISSING = -1, -2

_HEAD = '''"""A model tree, written by glassleaf {version}. Imports nothing but {imports}.

predict(row) takes a sequence in the order of COLUMNS, or a mapping by their names; None and NaN
are missing.{dates} It returns {returns}.
"""

{import_dates}import math

COLUMNS = {columns}
CLASSES = {classes}
POSITIVE = {positive}  # of two classes, the one whose log-odds the sum of a leaf's terms is

# Per column: the codes of its categories (None: numbers) and those by the number that a category
# writes, the points of its transform, and what stands for a missing number; and the values that are
# no numbers but stand for something else.
_CODES = {codes}
_BY_NUMBER = {by_number}
_KNOTS = {knots}
_FILL = {fill}
_SPECIAL = {special}


def predict(row):
    """The prediction for one row."""
{finish}


def leaf(row):
    """Number of the leaf that the row falls into."""
    return _tree(*_read(row))[0]


def raw(row):
    """The leaf's scores, one per output; of two classes, the log-odds of POSITIVE."""
{raw}


def _read(row):
    """Values as numbers or codes (-1: never seen, -2: missing), and the terms of the numbers."""
    if hasattr(row, "keys"):
        row = [row[name] for name in COLUMNS]
    if len(row) != len(COLUMNS):
        raise ValueError(f"The row has {{len(row)}} values instead of {{len(COLUMNS)}}.")
{parts}    x, z = [], []
    for value, codes, numbers, knots, fill, special in zip(
        row, _CODES, _BY_NUMBER, _KNOTS, _FILL, _SPECIAL
    ):
        missing = value is None or value != value
        if codes is not None:
            x.append(-2 if missing else _code(value, codes, numbers))
            z.append(0.0)
        else:
            number = math.nan if missing else float(value)
            x.append(number)
            missing = missing or number in special
            z.append(fill if missing else _interpolated(number, knots) if knots else number)
    return x, z


def _code(value, codes, by_number):
    """The code of a category; a text is also the category whose number it writes."""
    if value in codes or not codes:
        return codes.get(value, -1)
    number = _number_in(value) if isinstance(value, str) else value
    if number is None and not any(isinstance(known, str) for known in codes):
        raise ValueError(f"{{value!r}} stands where numbers stood when the model was fitted.")
    if not isinstance(value, str) and not by_number or by_number.get(number, -1) is None:
        raise ValueError(f"{{value!r}} stands where text stood when the model was fitted.")
    return by_number.get(number, -1)


def _number_in(text):
    """The number that a text writes, None if it writes none."""
    digits = text.lstrip("+-")
    if digits[:1] == "0" and digits[1:2].isdigit() or not set(text) <= set("0123456789+-.eE"):
        return {{"true": 1, "false": 0}}.get(text.lower())
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def _interpolated(x, points):
    """Linear between the points (x, z), constant beyond them."""
    if x <= points[0][0]:
        return points[0][1]
    for (x0, z0), (x1, z1) in zip(points, points[1:]):
        if x < x1:
            return (z1 - z0) / (x1 - x0) * (x - x0) + z0
    return points[-1][1]


def _clip(z, low, high):
    return min(max(z, low), high)

'''
_PARTS_OF_ROW = "    row = [_part(row[place], *part) for place, *part in _PARTS]\n"
_DATES = '''
# Per column of the model: the place of its own in COLUMNS and, of a date, the part that it is,
# whether stamps have a time zone (they count in UTC), and whether the time of day counts.
_PARTS = {parts}
_MONTHS = {months}
_WEEKDAYS = {weekdays}


def _part(value, part, zoned, timed):
    """A part of a date; any other value as it is."""
    if part is None or value is None or value != value:
        return value
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value.strip())
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if (value.tzinfo is not None) != zoned:
        raise ValueError(f"{{value}} {{'has no' if zoned else 'has a'}} time zone.")
    if zoned:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    ticks = (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    if part == "days":
        return ticks / 86_400_000_000 if timed else float(ticks // 86_400_000_000)
    if part == "hour":
        return float(value.hour)
    return _MONTHS[value.month - 1] if part == "month" else _WEEKDAYS[value.weekday()]

'''
_FINISH = {
    "identity": "    return raw(row)[0]",
    "log": f"    return math.exp(min(raw(row)[0], {LARGEST_EXPONENT!r}))",
    "logit": """    (log_odds,) = raw(row)
    small = math.exp(-abs(log_odds))
    less, more = small / (1.0 + small), 1.0 / (1.0 + small)
    positive, other = (more, less) if log_odds >= 0 else (less, more)
    return [positive if label == POSITIVE else other for label in CLASSES]""",
    "softmax": """    scores = raw(row)
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]""",
}


def to_python(estimator: Any) -> str:
    """The tree as the source of a Python module without dependencies.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor or ModelTreeClassifier

    Returns
    -------
    str
        A module with ``predict(row)``, ``raw(row)``, ``leaf(row)``, ``COLUMNS``, ``CLASSES`` and
        ``POSITIVE``.
    """
    model = plain_model(fitted_model(estimator))
    codes = [
        None if c.categories is None else {category: k for k, category in enumerate(c.categories)}
        for c in model.columns
    ]
    has_dates = any(column.date for column in model.columns)
    head = _HEAD.format(
        imports="math and datetime" if has_dates else "math",
        import_dates="import datetime\n" if has_dates else "",
        dates=" Dates are objects of datetime, or ISO texts." if has_dates else "",
        parts=_PARTS_OF_ROW if has_dates else "",
        version=__version__,
        returns="a number" if model.classes is None else "the probability of each of CLASSES",
        columns=ascii(tuple(column.name for column in model.inputs)),
        classes=ascii(model.classes),
        positive=ascii(model.positive_class),
        codes=ascii(codes),
        by_number=ascii([codes_by_number(column.categories or ()) for column in model.columns]),
        knots=repr([column.knots for column in model.columns]),
        fill=repr([column.fill for column in model.columns]),
        special=ascii([dict(column.special) for column in model.columns]),
        raw="\n".join(_raw(model)),
        finish=_FINISH[model.link],
    )
    sums = "".join(f", s{k}" for k in range(model.n_outputs)) if model.differences else ""
    syntax = Syntax(
        if_="if {}:",
        else_="else:",
        end="",
        call=f"return _node_{{}}(x, z{sums})",
        condition=lambda split: _condition(model, split),
        leaf=lambda leaf: _leaf(model, leaf),
        differs=lambda node: _differs(model, node),
    )
    parts = [head, *([_parts_of_dates(model)] if has_dates else [])]
    for node, lines in bodies(model, syntax):
        name = "_tree(x, z)" if node == 0 else f"_node_{node}(x, z{sums})"
        parts.append("\n".join(["", f"def {name}:", *lines, ""]))
    return "\n".join(parts)


def _parts_of_dates(model: PlainModel) -> str:
    """The table of parts, and the function that reads them."""
    parts = [
        (source, *((c.date.part, c.date.zoned, c.date.timed) if c.date else (None, False, False)))
        for source, c in zip(model.sources, model.columns, strict=True)
    ]
    return _DATES.format(parts=ascii(parts), months=MONTHS, weekdays=WEEKDAYS)


def _raw(model: PlainModel) -> list[str]:
    if not model.offsets:
        return ["    return _tree(*_read(row))[1]"]
    lines = ["    x, z = _read(row)"]
    for offset in model.offsets:
        cell, name = f"x[{offset.column}]", model.columns[offset.column].name
        test, what = (f"{cell} > 0", "a number > 0") if offset.is_exposure else (
            f"{cell} == {cell}", "a number")  # fmt: skip
        lines += [
            f"    if not {test}:",
            f"        raise ValueError({ascii(name)} + ' must be {what}.')",
        ]
    added = [f"math.log(x[{o.column}])" if o.is_exposure else f"x[{o.column}]"
             for o in model.offsets]  # fmt: skip
    return [*lines, f"    return [{' + '.join(['score', *added])} for score in _tree(x, z)[1]]"]


def _condition(model: PlainModel, split: PlainSplit) -> str:
    cell = f"x[{split.column}]"
    if not model.columns[split.column].is_category:
        # A comparison with NaN is false.
        greater = f"{cell} > {split.threshold!r}"
        test = f"not {greater}" if split.missing_left else f"{cell} <= {split.threshold!r}"
        special = model.columns[split.column].special
        left = "".join(f"{special[code][0]!r}, " for code in sorted(split.left_codes))
        is_special = f"{cell} in _SPECIAL[{split.column}]"
        return f"({cell} in ({left}) if {is_special} else {test})" if special else test
    codes = sorted(split.left_codes)
    codes += [_UNKNOWN] * split.unknown_left + [_MISSING] * split.missing_left
    return f"{cell} in ({''.join(f'{code}, ' for code in codes)})"


def _leaf(model: PlainModel, leaf: PlainLeaf) -> list[str]:
    lines = [f"return {leaf.node}, ["]
    for k in range(model.n_outputs):
        total = f"s{k}" if model.differences else _total(model, leaf.of(itemgetter(k)))
        lines += [f"    {_clipped(total, leaf.low[k], leaf.high[k])},"]
    return [*lines, "]"] if len(lines) > 2 else [f"return {leaf.node}, [{lines[1].strip(' ,')}]"]


def _differs(model: PlainModel, node: int) -> list[str]:
    """The sums of the root; at any other node, what they change by."""
    found = [model.differences[node].of(itemgetter(k)) for k in range(model.n_outputs)]
    sign = "+=" if node else "="
    return [
        f"s{k} {sign} {_total(model, one)}" for k, one in enumerate(found) if one.adds or not node
    ]


def _total(model: PlainModel, one: PlainSum) -> str:
    """A sum of one score; a constant of zero is written only alone."""
    parts = [part for term in one.terms for part in _parts(model, term)]
    (constant,) = one.intercept
    return " + ".join([*parts, *([repr(constant)] if constant or not parts else [])])


def _parts(model: PlainModel, term: PlainTerm) -> list[str]:
    j, out = term.column, []
    if model.columns[j].is_category:
        added = {code: found for code, (found,) in term.categories.items()}
        if term.missing:
            added[_MISSING] = term.missing[0]
        return [f"{added!r}.get(x[{j}], 0.0)"]
    if term.missing:
        out.append(f"({term.missing[0]!r} if x[{j}] != x[{j}] else 0.0)")
    if term.categories:
        special = model.columns[j].special
        by_value = {special[code][0]: found for code, (found,) in term.categories.items()}
        out.append(f"{by_value!r}.get(x[{j}], 0.0)")
    value = _clipped(f"z[{j}]", term.low, term.high)
    if term.slope:
        out.append(f"{term.slope[0]!r} * {value}")
    if term.bends:
        bends = (f"{bend!r} * max({value} - {at!r}, 0.0)" for at, (bend,) in term.bends)
        out.append(f"({' + '.join(bends)})")
    return out


def _clipped(value: str, low: float, high: float) -> str:
    if low == -inf and high == inf:
        return value
    limits = (f"float('{end}')" if abs(end) == inf else repr(end) for end in (low, high))
    return f"_clip({value}, {', '.join(limits)})"
