"""The tree as one C99 file that needs nothing but the standard library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from operator import itemgetter
from typing import Any

from glassleaf._version import __version__
from glassleaf.errors import ExportError
from glassleaf.export.comments import in_comment
from glassleaf.export.limits import portable_model
from glassleaf.export.nested import Syntax, bodies
from glassleaf.tables.dates import MONTHS, WEEKDAYS
from glassleaf.tree.plain import (
    LARGEST_EXPONENT,
    PlainLeaf,
    PlainModel,
    PlainSplit,
    PlainSum,
    PlainTerm,
)

# Up to here, what categories add is written case by case; that of more of them as a table.
_FEW = 4

_HEAD = """/* A model tree, written by glassleaf {version}. C99, standard library (link with -lm).
 *
 * A row is an array x of {NAME}_COLUMNS doubles, in the order of {name}_columns. NAN is missing. A
 * cell of a column with categories holds a code: what {name}_text(column, text) or
 * {name}_number(column, value) returns for it.{dates}
 *
 *   int {name}_predict(const double *x, double *out)
 *       fills out[0 .. {NAME}_OUTPUTS - 1] with {returns}; returns the leaf.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#define {NAME}_COLUMNS {n_columns}
#define {NAME}_OUTPUTS {n_outputs}
#define {NAME}_SUMS {n_sums}

#ifdef __cplusplus
extern "C" {{
#endif
int {name}_predict(const double *x, double *out);
double {name}_text(int column, const char *text);
double {name}_number(int column, double value);
extern const char *const {name}_columns[{NAME}_COLUMNS];
#ifdef __cplusplus
}}
#endif

const char *const {name}_columns[{NAME}_COLUMNS] = {{{columns}}};
"""

_TYPES = """typedef struct { int code; const char *text; } text_category;
typedef struct { int code; double value; } number_category;
typedef struct { double x, z; } point;
"""

# A row as it was given, where dates make the model's own a longer one.
_GIVEN = "given"

# Functions of the generated file, by what calls to them look like; only those called are written.
_HELPERS = {
    "entry(": """/* Entry 0 of a table is for missing values, entry 1 for categories never seen. */
static size_t entry(double code) {
    return code != code ? 0 : code < 0 ? 1 : (size_t)code + 2;
}
""",
    "clip(": """static double clip(double z, double low, double high) {
    double least = z > low ? z : low;
    return least < high ? least : high;
}
""",
    "part_of_hour(": """/* The hour of a day, to the millisecond. */
static double part_of_hour(double days) {
    double ms = floor(days * 86400000.0 + 0.5);
    return floor((ms - 86400000.0 * floor(ms / 86400000.0)) / 3600000.0);
}
""",
    "part_of_weekday(": """/* The day of the week from 0, Monday; 1970-01-01 was a Thursday. */
static double part_of_weekday(double days) {
    double day = floor(floor(days * 86400000.0 + 0.5) / 86400000.0) + 3.0;
    return day - 7.0 * floor(day / 7.0);
}
""",
    "part_of_month(": """/* The month from 0; days count from 1 March of the year 0. */
static double part_of_month(double days) {
    double day = floor(floor(days * 86400000.0 + 0.5) / 86400000.0) + 719468.0;
    double of_era = day - 146097.0 * floor(day / 146097.0);
    double year = floor((of_era - floor(of_era / 1460.0) + floor(of_era / 36524.0)
                         - floor(of_era / 146096.0)) / 365.0);
    double of_year = of_era - (365.0 * year + floor(year / 4.0) - floor(year / 100.0));
    double month = floor((5.0 * of_year + 2.0) / 153.0);
    return month < 10.0 ? month + 2.0 : month - 10.0;
}
""",
    "interpolated(": """/* Linear between the points, constant beyond them. */
static double interpolated(double x, const point *k, size_t n) {
    size_t i;
    if (x <= k[0].x) return k[0].z;
    for (i = 1; i < n; i++)
        if (x < k[i].x)
            return (k[i].z - k[i - 1].z) / (k[i].x - k[i - 1].x) * (x - k[i - 1].x) + k[i - 1].z;
    return k[n - 1].z;
}
""",
}

_FINISH = {
    "identity": ["    out[0] = raw[0];"],
    "log": [
        f"    out[0] = exp(raw[0] > {LARGEST_EXPONENT!r} ? {LARGEST_EXPONENT!r} : raw[0]);",
    ],
    "logit": [
        "    double small = exp(-fabs(raw[0])); /* raw[0] is the log-odds of out[{positive}] */",
        "    int likelier = raw[0] >= 0 ? {positive} : {other};",
        "    out[likelier] = 1.0 / (1.0 + small);",
        "    out[!likelier] = small / (1.0 + small);",
    ],
    "softmax": [
        "    double largest = raw[0], total = 0.0;",
        "    int k;",
        "    for (k = 1; k < {NAME}_SUMS; k++) if (raw[k] > largest) largest = raw[k];",
        "    for (k = 0; k < {NAME}_SUMS; k++) total += out[k] = exp(raw[k] - largest);",
        "    for (k = 0; k < {NAME}_SUMS; k++) out[k] /= total;",
    ],
}


def to_c(estimator: Any, *, name: str = "model") -> str:
    """The tree as one C99 file without dependencies.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor or ModelTreeClassifier
    name : str, default="model"
        What the names of the functions begin with.

    Returns
    -------
    str
        C source; its first comment says how to call it.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise ValueError(f"name={name!r} must be a plain identifier, such as 'model'.")
    model = portable_model(estimator)
    writer = _Writer(model)
    functions = writer.functions()
    names = {"name": name, "NAME": name.upper()}
    head = _HEAD.format(
        version=__version__,
        returns=_returns(model),
        n_columns=len(model.inputs),
        n_outputs=len(model.classes or (0,)),
        n_sums=model.n_outputs,
        columns=", ".join(quoted(column.name) for column in model.inputs),
        dates=_dates_said(model),
        **names,
    )
    finish = "\n".join(_FINISH[model.link]).format(
        NAME=name.upper(), positive=model.positive, other=1 - model.positive
    )
    code = "\n".join([*writer.tables, "", *functions, _main(model, names, finish)])
    helpers = [source for call, source in _HELPERS.items() if call in code]
    return "\n".join([head, _TYPES, *_lookups(model, names), "", *helpers, code])


def _returns(model: PlainModel) -> str:
    """What is computed, for the comment."""
    if model.classes is None:
        return "the prediction"
    labels = ", ".join(in_comment(ascii(label)) for label in model.classes)
    return f"the probabilities of {labels}"


def quoted(text: str) -> str:
    """A C string literal: ASCII only, nothing that ends it or begins a trigraph.

    >>> print(quoted('a "b" ü?'))
    "a \\042b\\042 \\303\\274\\077"
    """
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ExportError(f"{text!r} is not valid Unicode text.") from None
    if 0 in encoded:
        raise ExportError(f"{text!r} contains a NUL character, which ends a string in C.")
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=<>()[]#'&@!~|"
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in encoded) + '"'


def _lookups(model: PlainModel, names: dict[str, str]) -> list[str]:
    """Tables of the categories, and the two functions that search them."""
    tables: list[str] = []
    cases: dict[str, list[str]] = {"text": [], "number": []}
    for j, column in enumerate(model.columns):
        if column.date is not None:
            continue
        place = model.sources[j]
        for kind, is_kind in (("text", True), ("number", False)):
            entries = [
                (code, quoted(label) if isinstance(label, str) else repr(float(label)))
                for code, label in enumerate(column.categories or ())
                if isinstance(label, str) == is_kind
            ]
            if entries:
                cells = ", ".join(f"{{{code}, {label}}}" for code, label in entries)
                tables.append(f"static const {kind}_category {kind}_{j}[] = {{{cells}}};")
                cases[kind].append(
                    f"    if (column == {place}) {{ n = {len(entries)}; list = {kind}_{j}; }}"
                )
    searches = {
        "text": ("const char *text", "text == NULL", "strcmp(list[i].text, text) == 0"),
        "number": ("double value", "value != value", "list[i].value == value"),
    }
    for kind, (argument, missing, equal) in searches.items():
        tables += [
            "",
            f"double {names['name']}_{kind}(int column, {argument}) {{",
            f"    const {kind}_category *list = NULL;",
            "    size_t i, n = 0;",
            f"    if ({missing}) return NAN;",
            *(cases[kind] or ["    (void)column;"]),
            f"    for (i = 0; i < n; i++) if ({equal}) return list[i].code;",
            "    return -1;",
            "}",
        ]
    return tables


class _Writer:
    """Writes the functions of the tree, and collects the tables that they need."""

    def __init__(self, model: PlainModel) -> None:
        self.model = model
        self.tables = [
            f"static const point knots_{j}[] = {{"
            + ", ".join(f"{{{x!r}, {z!r}}}" for x, z in model.columns[j].knots)
            + "};"
            for j in model.numbers
            if model.columns[j].knots
        ]

    def functions(self) -> list[str]:
        syntax = Syntax(
            if_="if ({}) {{", else_="} else {", end="}", call="return node_{}(x, z, raw);",
            condition=self._condition, leaf=self._leaf, differs=self._differs,
        )  # fmt: skip
        out = []
        for node, lines in bodies(self.model, syntax):
            head = f"static int node_{node}(const double *x, const double *z, double *raw) {{"
            unused = ["    (void)x;", "    (void)z;"]
            out += [head, *unused, *lines, "}", ""]
        return out

    def _table(self, kind: str, values: Sequence[str]) -> str:
        name = f"table_{len(self.tables)}"
        self.tables.append(f"static const {kind} {name}[] = {{{', '.join(values)}}};")
        return name

    def _condition(self, split: PlainSplit) -> str:
        cell, categories = f"x[{split.column}]", self.model.columns[split.column].categories
        if categories is None:  # a comparison with NAN is false
            test = f"{cell} <= {split.threshold!r}"
            if split.missing_left:
                test = f"!({cell} > {split.threshold!r})"
            special = [value for value, _ in self.model.columns[split.column].special]
            left = [special[code] for code in sorted(split.left_codes)]
            return (
                f"({_one_of(cell, special)} ? {_one_of(cell, left)} : {test})" if special else test
            )
        left = [code in split.left_codes for code in range(len(categories))]
        flags = [split.missing_left, split.unknown_left, *left]
        return f"{self._table('unsigned char', [str(int(f)) for f in flags])}[entry({cell})]"

    def _leaf(self, leaf: PlainLeaf) -> list[str]:
        lines = []
        for k in range(self.model.n_outputs):
            sum_ = f"raw[{k}]"
            total = sum_ if self.model.differences else self._total(leaf.of(itemgetter(k)))
            held = _clipped(total, leaf.low[k], leaf.high[k])
            lines += [f"{sum_} = {held};"] if held != sum_ else []
        return [*lines, f"return {leaf.node};"]

    def _differs(self, node: int) -> list[str]:
        """The sums of the root; at any other node, what they change by."""
        of_node, sign = self.model.differences[node], "+=" if node else "="
        found = [of_node.of(itemgetter(k)) for k in range(self.model.n_outputs)]
        return [
            f"raw[{k}] {sign} {self._total(one)};"
            for k, one in enumerate(found)
            if one.adds or not node
        ]

    def _total(self, one: PlainSum) -> str:
        """A sum of one score; a constant of zero is written only alone."""
        parts = [part for term in one.terms for part in self._parts(term)]
        (constant,) = one.intercept
        return " + ".join([*parts, *([repr(constant)] if constant or not parts else [])])

    def _parts(self, term: PlainTerm) -> list[str]:
        j, out = term.column, []
        missing = term.missing[0] if term.missing else 0.0
        categories = self.model.columns[j].categories
        if categories is not None and len(term.categories) <= _FEW:
            cases = [
                f"x[{j}] == {code} ? {found!r} : " for code, (found,) in term.categories.items()
            ]
            cases += [f"x[{j}] != x[{j}] ? {missing!r} : "] if term.missing else []
            return [f"({''.join(cases)}0.0)"]
        if categories is not None:
            codes = range(len(categories))
            added = [term.categories[c][0] if c in term.categories else 0.0 for c in codes]
            table = self._table("double", [repr(value) for value in (missing, 0.0, *added)])
            return [f"{table}[entry(x[{j}])]"]
        if term.missing:
            out.append(f"(x[{j}] != x[{j}] ? {missing!r} : 0.0)")
        for code, (found,) in term.categories.items():
            special = self.model.columns[j].special[code][0]
            out.append(f"(x[{j}] == {special!r} ? {found!r} : 0.0)")
        value = _clipped(f"z[{j}]", term.low, term.high)
        if term.slope:
            out.append(f"{term.slope[0]!r} * {value}")
        if term.bends:
            bends = (f"{bend!r} * fmax({value} - {at!r}, 0.0)" for at, (bend,) in term.bends)
            out.append(f"({' + '.join(bends)})")
        return out


def _one_of(cell: str, values: Sequence[float]) -> str:
    """Whether a cell is one of some values."""
    return f"({' || '.join(f'{cell} == {value!r}' for value in values) or '0'})"


def _clipped(value: str, low: float, high: float) -> str:
    if low == -inf and high == inf:
        return value
    return f"clip({value}, {_limit(low)}, {_limit(high)})"


def _limit(value: float) -> str:
    return repr(value) if abs(value) < inf else "INFINITY" if value > 0 else "-INFINITY"


def _offsets(model: PlainModel) -> list[str]:
    """Without an offset, or with an exposure that is not positive, there is no prediction."""
    lines = []
    for offset in model.offsets:
        cell = f"x[{offset.column}]"
        added = f"({cell} > 0.0 ? log({cell}) : NAN)" if offset.is_exposure else cell
        lines += [f"    raw[{k}] += {added};" for k in range(model.n_outputs)]
    return lines


def _dates_said(model: PlainModel) -> str:
    """What a cell of a date holds, for the comment."""
    names = [in_comment(ascii(column.name)) for column in model.inputs if column.date]
    if not names:
        return ""
    return (
        f"\n * Dates ({', '.join(names)}) are days since 1970-01-01, with a time of day as their"
        "\n * fraction: seconds of Unix time / 86400."
    )


def _row(model: PlainModel) -> list[str]:
    """The model's own row, with the parts of dates, where it has any."""
    if not any(column.date for column in model.columns):
        return []
    lines = []
    for j, (source, column) in enumerate(zip(model.sources, model.columns, strict=True)):
        cell, date = f"{_GIVEN}[{source}]", column.date
        if date is None or date.is_input:
            whole = date is not None and not date.timed
            lines.append(f"    x[{j}] = {f'floor({cell})' if whole else cell};")
            continue
        place = f"part_of_{date.part}({cell})"
        if date.part != "hour":
            names = MONTHS if date.part == "month" else WEEKDAYS
            known = column.categories or ()
            codes = ", ".join(str(known.index(n) if n in known else -1) for n in names)
            lines.append(f"    static const double codes_{j}[] = {{{codes}}};")
            place = f"codes_{j}[(int){place}]"
        lines.append(f"    x[{j}] = {cell} != {cell} ? NAN : {place};")
    return [line for line in lines if "static" in line] + [
        line for line in lines if "static" not in line
    ]


def _main(model: PlainModel, names: dict[str, str], finish: str) -> str:
    has_dates = any(column.date for column in model.columns)
    given = _GIVEN if has_dates else "x"
    terms = _row(model)
    for j in model.numbers:
        column = model.columns[j]
        value = (
            f"interpolated(x[{j}], knots_{j}, {len(column.knots)})" if column.knots else f"x[{j}]"
        )
        special = [f" || x[{j}] == {own!r}" for own, _ in column.special]
        test = f"x[{j}] != x[{j}]{''.join(special)}"
        terms.append(f"    z[{j}] = {test} ? {column.fill!r} : {value};")
    return "\n".join(
        [
            f"int {names['name']}_predict(const double *{given}, double *out) {{",
            f"    double z[{len(model.columns)}] = {{0.0}}, raw[{names['NAME']}_SUMS];",
            *([f"    double x[{len(model.columns)}];"] if has_dates else []),
            "    int leaf;",
            *terms,
            "    leaf = node_0(x, z, raw);",
            *_offsets(model),
            "    {",
            finish,
            "    }",
            "    return leaf;",
            "}",
            "",
        ]
    )
