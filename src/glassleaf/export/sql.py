"""The tree as SQL: one expression, or one view.

DuckDB, SQLite and PostgreSQL are written here, others translated (``dialects``).

A leaf is a sum, the tree a nest of CASE. Where leaves share their formula, that for all rows is
written once, plus a nest of CASE with what differs. Names and texts are quoted, and nothing of the
model reaches the statement in any other way. Labels and the prefix in the comment before it cannot
end that comment. Numbers are written with an exponent, which makes them doubles, and columns are
cast to doubles, so that no engine computes in decimals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import inf, isfinite
from operator import itemgetter
from typing import Any

from glassleaf._version import __version__
from glassleaf.checks import whole_number
from glassleaf.errors import ExportError, describe
from glassleaf.export import sql_dates
from glassleaf.export.broken_lines import added_at, straight_lines
from glassleaf.export.comments import in_comment
from glassleaf.export.dialects import NAN, TRANSLATIONS, translated
from glassleaf.export.limits import portable_model
from glassleaf.export.sql_dates import DateSql
from glassleaf.tree.coverage import NotCalibratedError, place_of
from glassleaf.tree.favorable import direction
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.plain import (
    LARGEST_EXPONENT,
    Label,
    Numbers,
    Of,
    PlainColumn,
    PlainLeaf,
    PlainModel,
    PlainSplit,
    PlainSum,
    PlainTerm,
    leaf_numbers,
    offset_texts,
)

# PostgreSQL raises an error where the exponential over- or underflows. Beyond this a probability
# differs from 0 or 1 by less than 1e-300.
_FARTHEST = 690.0
# A left side this much deeper than the right one is a chain.
_MUCH_DEEPER = 2
# A product of a smaller number with an ordinary one may underflow.
_SMALLEST_FACTOR = 1e-200


@dataclass(frozen=True)
class SqlDialect:
    """What the engines write differently."""

    engine: str
    quote: str
    double: str
    least: str
    greatest: str
    nan: str | None  # NaN in a column counts as missing; None where no column can hold it
    booleans: tuple[str, str]
    ignores_case: bool  # of names, quoted or not
    most_nested: int  # CASE within CASE; beyond it, the engine may not read the expression
    dates: DateSql
    is_strict: bool = False  # a product that underflows is an error
    truths_as_text: bool = False  # a truth value is no number
    imports_nothing_as_text: bool = False  # an empty text counts as missing, where none is known

    def name(self, text: str) -> str:
        """A quoted identifier."""
        if "\0" in text:
            raise ExportError(
                f"The name {text!r} contains a NUL character, which SQL cannot write."
            )
        return self.quote + text.replace(self.quote, 2 * self.quote) + self.quote

    def literal(self, label: Label) -> str:
        """A quoted text, a number or a truth value."""
        if isinstance(label, str):
            if "\0" in label:
                raise ExportError(f"{label!r} contains a NUL character, which SQL cannot write.")
            if not label and self.engine == "Oracle":
                raise ExportError("To Oracle an empty text is missing; one is a category here.")
            return "'" + label.replace("'", "''") + "'"
        if isinstance(label, bool):
            return self.booleans[label]
        return number(label) if isinstance(label, float) else str(label)


# In SQLite a name in double quotes that is no column becomes a text without a word; one in
# backticks does not. An empty field of a file is imported as an empty text, which as a number would
# be zero.
DIALECTS = {
    "duckdb": SqlDialect(
        "DuckDB",
        '"',
        "DOUBLE",
        "LEAST",
        "GREATEST",
        "'NaN'::DOUBLE",
        ("FALSE", "TRUE"),
        ignores_case=True,
        most_nested=200,
        dates=sql_dates.DUCKDB,
    ),  # fmt: skip
    "sqlite": SqlDialect(
        "SQLite",
        "`",
        "REAL",
        "MIN",
        "MAX",
        None,
        ("0", "1"),
        ignores_case=True,
        most_nested=10,
        dates=sql_dates.SQLITE,
        imports_nothing_as_text=True,
    ),  # fmt: skip
    "postgresql": SqlDialect(
        "PostgreSQL",
        '"',
        "DOUBLE PRECISION",
        "LEAST",
        "GREATEST",
        "'NaN'::DOUBLE PRECISION",
        ("FALSE", "TRUE"),
        ignores_case=False,
        most_nested=200,
        dates=sql_dates.POSTGRESQL,
        is_strict=True,
        truths_as_text=True,
    ),
}


def _translated(
    engine: str, *, ignores_case: bool = True, most_nested: int = 50, **others: Any
) -> SqlDialect:
    """What is written for DuckDB, and then translated."""
    usual: dict[str, Any] = {"nan": NAN, "booleans": ("FALSE", "TRUE")}
    return SqlDialect(
        engine, '"', "DOUBLE", "LEAST", "GREATEST", **(usual | others),
        ignores_case=ignores_case, most_nested=most_nested, dates=sql_dates.DUCKDB,
    )  # fmt: skip


# T-SQL nests CASE ten levels deep at most; formulas and views add some of their own.
DIALECTS |= {
    "snowflake": _translated("Snowflake", ignores_case=False),
    "bigquery": _translated("BigQuery", truths_as_text=True),
    "databricks": _translated("Databricks"),
    "spark": _translated("Spark"),
    "redshift": _translated("Redshift", is_strict=True),
    "tsql": _translated("SQL Server 2022", most_nested=5, nan=None, booleans=("0", "1")),
    "oracle": _translated("Oracle", ignores_case=False, booleans=("0", "1")),
    "mysql": _translated("MySQL", nan=None),
    "mariadb": _translated("MariaDB", nan=None),
    "clickhouse": _translated("ClickHouse", ignores_case=False),
}


def to_sql(
    estimator: Any,
    *,
    dialect: str = "duckdb",
    table: str | None = None,
    view: str = "scored",
    prefix: str = "",
    of: Any = None,
    interval: float | None = None,
    reasons: int = 0,
    favorable: Any = None,
) -> str:
    """The tree as an SQL expression, or as a view of a table.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor or ModelTreeClassifier
    dialect : {"duckdb", "sqlite", "postgresql", "snowflake", "bigquery", "databricks", "spark", \
            "redshift", "tsql", "oracle", "mysql", "mariadb", "clickhouse"}, default="duckdb"
        All but the first three need the extra ``sql``.
    table : str, default=None
        With the name of a table: the statement that creates a view of it, with all its columns,
        ``leaf``, ``raw`` (classes: ``raw_0``, ...), and ``prediction``, or ``probability_0``, ...
        and ``label``. Without: an expression over the columns.
    view : str, default="scored"
        Name of the view.
    prefix : str, default=""
        What the names of the view's own columns begin with.
    of : label, default=None
        Whose probability the expression is; None: that of the positive one of two classes.
    interval : float, default=None
        Of a calibrated regressor and with a table: the coverage of an interval, whose ends are then
        the view's columns ``lower`` and ``upper``.
    reasons : int, default=0
        With a table: how many reasons the view names in ``reason_1``, ``reason_2``, ...: the codes
        of the columns that hurt the row most (see ``reason_codes`` of the estimators), or their
        names where they have none; NULL where fewer columns hurt. For DuckDB, SQLite and
        PostgreSQL.
    favorable : class label, "high" or "low", default=None
        What is good for a row, as ``glassleaf.reasons`` takes it.

    Returns
    -------
    str
        It begins with a comment that says what it computes, and for which class.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={describe(dialect)} must be one of {', '.join(DIALECTS)}.")
    own = DIALECTS[dialect]
    model = portable_model(estimator)
    writer = _Writer(model, own, _maybe_truths(estimator))
    if interval is not None and table is None:
        raise ExportError("An interval is two columns, and an expression is one: pass table='...'.")
    if reasons and table is None:
        raise ValueError(f"reasons={describe(reasons)} are columns of a view; pass table='...'.")
    if dialect in TRANSLATIONS:
        _check_translatable(model, own.engine, reasons)
    asked = (whole_number("reasons", reasons, 0) or 0, favorable)
    written = (
        writer.expression(of) if table is None
        else writer.view(table, view, prefix, interval, asked)
    )  # fmt: skip
    return translated(written, dialect, own.engine) if dialect in TRANSLATIONS else written


def _check_translatable(model: PlainModel, engine: str, reasons: int) -> None:
    has_dates = any(model.columns[column].date is not None for column in model.used)
    for is_asked, what in ((reasons, "Reasons"), (has_dates, "Dates")):
        if is_asked:
            raise ExportError(f"{what} are written for DuckDB, SQLite, PostgreSQL; not {engine}.")


def _maybe_truths(estimator: Any) -> set[str]:
    """The columns that training saw from 0 to 1, which may be truth values in a table."""
    tree = fitted_model(estimator).tree
    if tree.training_record is None:
        return set()
    low, high = tree.training_record.low, tree.training_record.high
    return {c.name for j, c in enumerate(tree.columns) if low[j] == 0.0 and high[j] == 1.0}


def number(value: float) -> str:
    """A double, to the last digit.

    >>> number(0.1), number(-20.0), number(1e300)
    ('1e-1', '-2e1', '1e300')
    """
    if not isfinite(value):
        raise ExportError(f"The model has a slope that is {value}, which SQL cannot write.")
    sign, digits, exponent = _decimal(float(value))
    return f"{sign}{digits}e{exponent}"


def _decimal(value: float) -> tuple[str, str, int]:
    """Sign, digits with at most one before the point, and exponent; no digit is lost."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0") or "0"
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    if digits == "0":
        power = 0
    digits = digits.rstrip("0") or "0"
    return sign, digits[0] + ("." + digits[1:] if digits[1:] else ""), power


class _Writer:
    def __init__(self, model: PlainModel, dialect: SqlDialect, maybe_truths: set[str]) -> None:
        self.model = model
        self.dialect = dialect
        self.maybe_truths = maybe_truths
        self.table = ""
        self.depth, self.n_leaves = _depths(model), _leaf_counts(model)
        self.differences = model.differences if self.depth[0] <= dialect.most_nested else ()
        self.is_flat = False
        self.is_flat = max(self._nesting().values()) > dialect.most_nested
        if self.is_flat and self._nesting()[0] > dialect.most_nested:
            raise ExportError(
                f"The tree is {self.depth[0]:,} levels deep, too deep for an expression of"
                f" {dialect.engine}. Fit one with fewer levels (max_depth)."
            )
        if dialect.is_strict:
            self._check_sizes()
        if dialect.ignores_case:
            self._check_case()

    def _check_case(self) -> None:
        known: dict[str, str] = {}
        for column in self.model.columns:
            other = known.setdefault(column.name.lower(), column.name)
            if other != column.name:
                raise ExportError(
                    f"Columns {other!r} and {column.name!r} are the same to"
                    f" {self.dialect.engine}, which ignores case. Rename one, and fit again."
                )

    # --- statements ------------------------------------------------------------------------------

    def expression(self, of: Any) -> str:
        model = self.model
        if model.classes is None:
            tree = self._known(self._scored(lambda leaf: self._finished(self._sum(leaf, 0))))
            return f"{self._comment(['The prediction.'])}\n{tree}"
        which = self._class(of)
        if model.link == "logit":
            sign = "-" if which == model.positive else ""
            tree = self._scored(lambda leaf: self._odds([f"{sign}({self._sum(leaf, 0)})"]))
        else:
            others = [k for k in range(model.n_outputs) if k != which]
            tree = self._scored(
                lambda leaf: self._odds([self._difference(leaf, k, which) for k in others])
            )
        said = f"The probability of {in_comment(repr(model.classes[which]))}."
        return f"{self._comment([said])}\n{self._known(tree)}"

    def view(
        self,
        table: str,
        view: str,
        prefix: str,
        interval: float | None = None,
        reasons: tuple[int, Any] = (0, None),
    ) -> str:
        """Sums first, in a query of its own, so that the tree is written once per sum."""
        name, model = self.dialect.name, self.model
        self.table = "t."
        n_outputs = model.n_outputs
        names = (
            [f"{prefix}raw"] if n_outputs == 1 else [f"{prefix}raw_{k}" for k in range(n_outputs)]
        )
        sums = [
            f"{self._known(self._scored(lambda leaf, k=k: self._sum(leaf, k)))} AS {name(own)}"  # type: ignore[misc]
            for k, own in enumerate(names)
        ]
        leaf = f"{self._tree(lambda leaf: str(leaf.node))} AS {name(prefix + 'leaf')}"
        results = self._results([f"s.{name(own)}" for own in names])
        said = self._meanings(prefix)
        if interval is not None:
            at = f"s.{name(prefix + 'leaf')}"
            results |= self._ends(results, f"s.{name(names[0])}", at, interval)
            ends = " and ".join(in_comment(prefix) + own for own in ("lower", "upper"))
            said.append(f"{ends} hold the true value in a share {interval:g} of all cases.")
        named = {
            f"{prefix}reason_{k + 1}": found for k, found in enumerate(self._reasons(*reasons))
        }
        names += [f"{prefix}leaf", *named, *(prefix + own for own in results)]
        taken = {column.input_name.lower() for column in model.columns} & {
            own.lower() for own in names
        }
        if taken:
            raise ValueError(f"The table has a column {min(taken)!r} already; pass prefix='...'.")
        if model.offsets:
            known = f"CASE WHEN s.{name(names[0])} IS NOT NULL THEN"
            results = {own: f"{known} {found} END" for own, found in results.items()}
        shown = ",\n  ".join(f"{found} AS {name(prefix + own)}" for own, found in results.items())
        told = [f"{found} AS {name(own)}" for own, found in named.items()]
        inner = ",\n  ".join([leaf, *sums, *told])
        return (
            f"{self._comment(said)}\n"
            f"CREATE VIEW {name(view)} AS\nSELECT s.*,\n  {shown}\n"
            f"FROM (SELECT t.*,\n  {inner}\nFROM {name(table)} AS t) AS s"
        )

    def _ends(
        self, results: dict[str, str], raw: str, leaf: str, coverage: float
    ) -> dict[str, str]:
        """Both ends of an interval around the prediction."""
        found = self.model.intervals
        if self.model.classes is not None:
            raise ExportError("A classifier has no intervals: interval is for a regressor.")
        if found is None:
            raise NotCalibratedError
        place, prediction = place_of(found.level, coverage), results["prediction"]
        if not all(isfinite(width[place]) for width in found.width.values()):
            raise ExportError(
                f"There were too few calibration rows for a coverage of {coverage:g}: intervals"
                " have no end."
            )
        cases = (f"WHEN {node} THEN {number(own[place])}" for node, own in found.width.items())
        half = f"CASE {leaf} {' '.join(cases)} END"
        if not found.power:
            return {"lower": f"{prediction} - {half}", "upper": f"{prediction} + {half}"}
        in_units = self._limited(f"{number(found.power)} * {raw}", found.power * LARGEST_EXPONENT)
        half = f"{half} * EXP({in_units})"
        lower = f"{self.dialect.greatest}(0e0, {prediction} - {half})"
        return {"lower": lower, "upper": f"{prediction} + {half}"}

    def _comment(self, lines: list[str]) -> str:
        head = f"/* A model tree, written by glassleaf {__version__} for {self.dialect.engine}."
        return "\n   ".join([head, *lines, *self._dates_said()]) + " */"

    def _dates_said(self) -> list[str]:
        dates = {c.input_name: c.date for c in map(self.model.columns.__getitem__, self.model.used)}
        return [
            f"{in_comment(name)} holds dates, or texts like 2016-03-01 14:30:00"
            f"{'+00:00' if date.zoned else ''}."
            for name, date in dates.items()
            if date is not None
        ]

    def _meanings(self, prefix: str) -> list[str]:
        """What the view's own columns hold; of classes, which is whose."""
        model, own = self.model, in_comment(prefix)
        labels = [in_comment(repr(label)) for label in model.classes or ()]
        leaves = ", ".join(f"{node} is leaf {k}" for node, k in leaf_numbers(model).items())
        lines = [f"{own}leaf is the node of the leaf, as apply() returns it: {leaves}."]
        is_limited = any(leaf.is_limited for leaf in model.leaves)
        terms = "terms within its limits" if is_limited else "terms"
        terms += "".join(f" and {in_comment(text)}" for text in offset_texts(model))
        if not labels:
            raw = "" if model.link == "identity" else f", the logarithm of {own}prediction"
            return [*lines, f"{own}raw is the sum of its {terms}{raw}."]
        if model.link == "logit":
            of = labels[model.positive]
            lines.append(f"{own}raw is the sum of its {terms}, the log-odds of {of}.")
        else:
            lines += [
                f"{own}raw_{k} is the sum of its {terms} for {label}."
                for k, label in enumerate(labels)
            ]
        return lines + [
            f"{own}probability_{k} is that of {label}." for k, label in enumerate(labels)
        ]

    def _results(self, raws: list[str]) -> dict[str, str]:
        classes = self.model.classes
        if classes is None:
            return {"prediction": self._finished(raws[0])}
        if self.model.link == "logit":
            scores = ["0e0", raws[0]]
            found = [self._odds([raws[0]]), self._odds([f"-{raws[0]}"])]
            if not self.model.positive:
                scores, found = scores[::-1], found[::-1]
        else:
            scores = raws
            found = [self._odds([f"({b} - {a})" for b in raws if b != a]) for a in raws]
        label = " ".join(
            f"WHEN {' AND '.join(f'{own} >= {other}' for other in scores if other != own)}"
            f" THEN {self.dialect.literal(label)}"
            for own, label in zip(scores, classes[:-1], strict=False)
        )
        return {
            **{f"probability_{k}": probability for k, probability in enumerate(found)},
            "label": f"CASE {label} ELSE {self.dialect.literal(classes[-1])} END",
        }

    # --- reasons ---------------------------------------------------------------------------------

    def _reasons(self, n_reasons: int, favorable: Any) -> list[str]:
        """The worst column of a row, the second and so on: the codes that are lowest in a list."""
        if not n_reasons:
            return []
        model = self.model
        output, sign = direction(model.classes, model.n_outputs, model.positive_class, favorable)
        used = sorted({term.column for leaf in model.leaves for term in leaf.terms})
        lines = [
            f"SELECT {self._code(column)} AS code, {place} AS place,"
            f" {self._tree(lambda leaf, j=column: self._hurt(leaf, j, output, sign))} AS added"  # type: ignore[misc]
            for place, column in enumerate(used)
        ]
        if not lines:
            return ["NULL"] * n_reasons
        listed = " UNION ALL ".join(lines)
        return [
            f"(SELECT r.code FROM ({listed}) AS r WHERE r.added < 0e0"
            f" ORDER BY r.added, r.place LIMIT 1 OFFSET {k})"
            for k in range(n_reasons)
        ]

    def _code(self, column: int) -> str:
        """The code of a column or, without one, its name; a special value is named, too."""
        own, literal = self.model.columns[column], self.dialect.literal
        usual = literal(self.model.reason_code(column)[0] or own.name)
        cases = [
            f"WHEN {self._read(own)} = {number(value)}"
            f" THEN {literal(self.model.reason_code(column, word)[0] or f'{own.name}: {word}')}"
            for value, word in own.special
        ]
        return f"CASE {' '.join(cases)} ELSE {usual} END" if cases else usual

    def _hurt(self, leaf: PlainLeaf, column: int, output: int, sign: float) -> str:
        """What a column adds in a leaf, relative to its mean row; negative where it hurts."""

        def of(numbers: Numbers) -> float:
            others = sum(numbers) / len(numbers) if len(numbers) > 1 else 0.0
            return sign * (numbers[output] - others)

        for term in leaf.terms:
            if term.column == column:
                if not term.usual:
                    raise ExportError("The model file holds no record of its training.")
                own = term.of(of)
                parts = [*(self._parts(own) if own.adds else ()), number(-of(term.usual))]
                return f"({' + '.join(parts)})"
        return "0e0"

    # --- links -----------------------------------------------------------------------------------

    def _finished(self, raw: str) -> str:
        if self.model.link == "identity":
            return raw
        return f"EXP({self._limited(raw, LARGEST_EXPONENT)})"

    def _odds(self, differences: list[str]) -> str:
        """1 / (1 + sum of the exponentials of the others' scores minus one's own)."""
        powers = (f"EXP({self._limited(difference, _FARTHEST)})" for difference in differences)
        return f"1e0 / (1e0 + {' + '.join(powers)})"

    def _limited(self, raw: str, most: float) -> str:
        d = self.dialect
        return f"{d.greatest}({number(-_FARTHEST)}, {d.least}({number(most)}, {raw}))"

    def _class(self, of: Any) -> int:
        classes = self.model.classes or ()
        if of is None and len(classes) == 2:
            return self.model.positive
        if of not in classes:
            raise ValueError(
                f"of={describe(of)} must be one of the classes: {', '.join(map(repr, classes))}."
            )
        return classes.index(of)

    # --- the tree --------------------------------------------------------------------------------

    def _tree(self, of_leaf: Callable[[PlainLeaf], str], node: int = 0) -> str:
        """A CASE; the side that continues it adds no nesting."""
        found, cases = self.model.nodes[node], []
        while isinstance(found, PlainSplit):
            aside, onward = self._sides(found)
            test = self._condition(found)
            if aside == found.right:
                test = f"({test}) IS NOT TRUE"
            cases.append(f"WHEN {test} THEN {self._tree(of_leaf, aside)}")
            found = self.model.nodes[onward]
        last = of_leaf(found)
        return f"CASE {' '.join(cases)} ELSE {last} END" if cases else last

    def _sides(self, split: PlainSplit) -> tuple[int, int]:
        """The child that is written first, and the one that continues: the right, if it can.

        Where that would nest too much, the one with fewer leaves is first: each level of nesting
        then doubles the leaves, and twenty would be a million.
        """
        if self.is_flat:
            is_right = self.n_leaves[split.right] < self.n_leaves[split.left]
            return (split.right, split.left) if is_right else (split.left, split.right)
        is_chain = self.depth[split.left] > self.depth[split.right] + _MUCH_DEEPER
        return (split.right, split.left) if is_chain else (split.left, split.right)

    def _nesting(self) -> dict[int, int]:
        """How many CASE lie within each other at every node."""
        out: dict[int, int] = {}
        for node in range(len(self.model.nodes) - 1, -1, -1):  # children before parents
            found = self.model.nodes[node]
            if isinstance(found, PlainSplit):
                aside, onward = self._sides(found)
                out[node] = max(out[aside] + 1, out[onward])
            else:
                out[node] = 0
        return out

    def _check_sizes(self) -> None:
        """Refuse coefficients whose products would underflow: that ends a query."""
        for model in self.differences or self.model.leaves:
            for term in model.terms:
                for coef in chain(term.slope, *(numbers for _, numbers in term.bends)):
                    if 0 < abs(coef) < _SMALLEST_FACTOR:
                        name = self.model.columns[term.column].name
                        raise ExportError(
                            f"A coefficient of {name!r} is {coef:g}. {self.dialect.engine} ends a"
                            " query where a product underflows. Multiply the target by a constant."
                        )

    def _condition(self, split: PlainSplit) -> str:
        """True for what goes left; NULL counts as false."""
        column = self.model.columns[split.column]
        if not column.is_category:
            cell = self._read(column)
            tests = [f"{cell} IS NULL"] if split.missing_left else []
            tests += [f"{cell} = {number(column.special[c][0])}" for c in sorted(split.left_codes)]
            tests.append(f"{self._number(column)} <= {number(split.threshold)}")
            return f"({' OR '.join(tests)})" if len(tests) > 1 else tests[0]
        cell, categories = self._category(column), column.categories or ()
        chosen = [code for code in range(len(categories)) if code in split.left_codes]
        rest = [code for code in range(len(categories)) if code not in split.left_codes]
        listed = ", ".join(
            self.dialect.literal(categories[c]) for c in (rest if split.unknown_left else chosen)
        )
        if split.unknown_left:
            test = f"{cell} NOT IN ({listed})" if listed else f"{cell} IS NOT NULL"
        else:
            test = f"{cell} IN ({listed})" if listed else "1 = 0"
        return f"({cell} IS NULL OR {test})" if split.missing_left else test

    def _number(self, column: PlainColumn) -> str:
        """A cell as a number; special values are none."""
        cell = self._read(column)
        for value, _ in column.special:
            cell = f"NULLIF({cell}, {number(value)})"
        return cell

    def _read(self, column: PlainColumn) -> str:
        """A cell as a number, whatever it stands for."""
        d, cell = self.dialect, self._cell(column)
        if d.truths_as_text and column.name in self.maybe_truths | self._truth_categories:
            cell = f"REPLACE(REPLACE(CAST({cell} AS TEXT), 'true', '1'), 'false', '0')"
        cell = f"CAST({cell} AS {d.double})"
        return cell if d.nan is None else f"NULLIF({cell}, {d.nan})"

    @cached_property
    def _truth_categories(self) -> set[str]:
        """The columns whose categories are 0 and 1: truth values, to some tables."""
        columns = self.model.columns
        return {c.name for c in columns if c.is_category and set(c.categories or ()) <= {0, 1}}

    def _cell(self, column: PlainColumn) -> str:
        cell = f"{self.table}{self.dialect.name(column.input_name)}"
        is_missing = self.dialect.imports_nothing_as_text and "" not in (column.categories or ())
        cell = f"NULLIF({cell}, '')" if is_missing else cell
        return cell if column.date is None else self.dialect.dates.part(cell, column.date)

    def _category(self, column: PlainColumn) -> str:
        kinds = {isinstance(category, str) for category in column.categories or ()}
        if len(kinds) > 1:
            raise ExportError(
                f"Column {column.name!r} has categories of text and of numbers; a column of a"
                " database has one type."
            )
        if kinds == {True} or any(isinstance(c, bool) for c in column.categories or ()):
            return self._cell(column)
        return self._number(column)

    # --- sums ------------------------------------------------------------------------------------

    def _scored(self, written: Callable[[PlainLeaf], str]) -> str:
        """What is written of scores: once if the leaves share them, else in every leaf."""
        return written(self.model.leaves[0]) if self.differences else self._tree(written)

    def _sum(self, leaf: PlainLeaf, k: int) -> str:
        total = self._within(self._total(leaf, itemgetter(k)), leaf.low[k], leaf.high[k])
        return " + ".join([total, *self._offsets()])

    def _offsets(self) -> list[str]:
        """What every sum adds, whatever its limits."""
        cells = ((self._number(self.model.columns[o.column]), o) for o in self.model.offsets)
        return [f"LN({cell})" if offset.is_exposure else cell for cell, offset in cells]

    def _known(self, value: str) -> str:
        """NULL where an offset is missing, or an exposure is not positive."""
        cells = ((self._number(self.model.columns[o.column]), o) for o in self.model.offsets)
        tests = [f"{cell} {'> 0' if o.is_exposure else 'IS NOT NULL'}" for cell, o in cells]
        return f"CASE WHEN {' AND '.join(tests)} THEN {value} END" if tests else value

    def _difference(self, leaf: PlainLeaf, a: int, b: int) -> str:
        if leaf.is_limited:
            return f"{self._sum(leaf, a)} - ({self._sum(leaf, b)})"
        return self._total(leaf, lambda numbers: numbers[a] - numbers[b])

    def _total(self, leaf: PlainLeaf, of: Of) -> str:
        parts = self._shared(0, of) if self.differences else self._added(leaf, of)
        return " + ".join(parts or ["0e0"])

    def _shared(self, node: int, of: Of) -> list[str]:
        """What differs at a node, and a CASE with what differs below it."""
        parts, found = self._added(self.differences[node], of), self.model.nodes[node]
        if isinstance(found, PlainSplit):
            sides = [self._shared(child, of) for child in (found.left, found.right)]
            if any(sides):
                left, right = (" + ".join(side or ["0e0"]) for side in sides)
                parts.append(f"CASE WHEN {self._condition(found)} THEN {left} ELSE {right} END")
        return parts

    def _added(self, given: PlainSum, of: Of) -> list[str]:
        """The parts of a sum that are not zero."""
        one = given.of(of)
        parts = [part for term in one.terms for part in self._parts(term)]
        return parts + [number(constant) for constant in one.intercept if constant]

    def _parts(self, term: PlainTerm) -> list[str]:
        column, out = self.model.columns[term.column], []
        if column.is_category:
            cell, categories = self._category(column), column.categories or ()
            cases = [f"WHEN {cell} IS NULL THEN {number(found)}" for found in term.missing] + [
                f"WHEN {cell} = {self.dialect.literal(categories[code])} THEN {number(found)}"
                for code, (found,) in term.categories.items()
            ]
            return [f"CASE {' '.join(cases)} ELSE 0e0 END"]
        cell = self._read(column)
        cases = [f"WHEN {cell} IS NULL THEN {number(found)}" for found in term.missing] + [
            f"WHEN {cell} = {number(column.special[code][0])} THEN {number(found)}"
            for code, (found,) in term.categories.items()
        ]
        if cases:
            out.append(f"CASE {' '.join(cases)} ELSE 0e0 END")
        if term.bends:
            out.append(self._bent(column, term))
        elif term.slope:
            value = self._within(self._value(column), term.low, term.high)
            out.append(f"{number(term.slope[0])} * {value}")
        return out

    def _bent(self, column: PlainColumn, term: PlainTerm) -> str:
        """Line and bends together: an expression cannot give the clamped value a name."""
        cell, cases = self._number(column), []
        for line in straight_lines(column, term):
            way = cell if line.above is None else f"({cell} - {_in_sum(line.above)})"
            value = number(line.added)
            if line.per_unit:
                value = f"{number(line.per_unit)} * {way} + {_in_sum(line.added)}"
            test = "IS NOT NULL" if line.up_to is None else f"<= {number(line.up_to)}"
            cases.append(f"WHEN {cell} {test} THEN {value}")
        return f"CASE {' '.join(cases)} ELSE {number(added_at(column.fill, term))} END"

    def _value(self, column: PlainColumn) -> str:
        cell = self._number(column)
        value, knots = cell, column.knots
        if knots:
            cases = [f"WHEN {cell} <= {number(knots[0][0])} THEN {number(knots[0][1])}"]
            for (x0, z0), (x1, z1) in zip(knots, knots[1:], strict=False):
                line = f"{number((z1 - z0) / (x1 - x0))} * ({cell} - {_in_sum(x0)}) + {_in_sum(z0)}"
                cases.append(f"WHEN {cell} < {number(x1)} THEN {line}")
            cases.append(f"WHEN {cell} IS NOT NULL THEN {number(knots[-1][1])}")
            value = f"CASE {' '.join(cases)} END"
        return f"COALESCE({value}, {number(column.fill)})"

    def _within(self, value: str, low: float, high: float) -> str:
        if high < inf:
            value = f"{self.dialect.least}({value}, {number(high)})"
        return f"{self.dialect.greatest}({value}, {number(low)})" if low > -inf else value


def _depths(model: PlainModel) -> list[int]:
    """The levels below every node."""
    out = [0] * len(model.nodes)
    for number in range(len(model.nodes) - 1, -1, -1):  # children before parents
        node = model.nodes[number]
        if isinstance(node, PlainSplit):
            out[number] = 1 + max(out[node.left], out[node.right])
    return out


def _leaf_counts(model: PlainModel) -> list[int]:
    """The leaves below every node, itself if it is one."""
    out = [1] * len(model.nodes)
    for number in range(len(model.nodes) - 1, -1, -1):  # children before parents
        node = model.nodes[number]
        if isinstance(node, PlainSplit):
            out[number] = out[node.left] + out[node.right]
    return out


def _in_sum(value: float) -> str:
    """A number after a minus sign: two of them would begin a comment."""
    return f"({number(value)})" if value < 0 else number(value)
