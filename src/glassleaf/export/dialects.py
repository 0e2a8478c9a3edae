"""Other dialects of SQL, translated by sqlglot from the one that ``sql`` writes.

What a translation must not leave to chance is said here: NaN counts as missing, texts are compared
letter by letter, what is not known is not true. The result is read again, as the database would:
if a name or a text is not what it was, nothing is handed out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassleaf.errors import ExportError, require

# What sql.py writes where a column may hold NaN, and the dialect that it writes otherwise.
NAN = "CAST('NaN' AS DOUBLE)"
_WRITTEN = "duckdb"


@dataclass(frozen=True)
class Translation:
    """Which dialect of sqlglot, and what it has to be told.

    ``nan`` replaces a number by NULL where it is NaN, given the module of expressions and the
    number; None: such a number is equal to itself, as others are. ``same_text`` makes two texts
    comparable, where the database ignores case or blanks at the end. Where it
    ``has_national_texts``, others lose letters. ``range`` are the numbers that it can read, but
    for 0.
    """

    name: str
    nan: Callable[[Any, Any], Any] | None = None
    same_text: Callable[[Any, Any], Any] | None = None
    double: str | None = None
    has_national_texts: bool = False
    range: tuple[float, float] = (0.0, float("inf"))


def _by_function(test: str) -> Callable[[Any, Any], Any]:
    """CASE WHEN test(x) THEN NULL ELSE x END."""

    def nan(exp: Any, number: Any) -> Any:
        is_nan = exp.func(test, number.copy())
        return exp.Case(ifs=[exp.If(this=is_nan, true=exp.null())], default=number)

    return nan


def _as_bytes(exp: Any, text: Any) -> Any:
    """MySQL: the bytes of UTF-8; other comparisons ignore case, accents and blanks at the end."""
    in_utf8 = exp.cast(text, "CHAR CHARACTER SET utf8mb4", dialect="mysql")
    return exp.cast(in_utf8, "BINARY", dialect="mysql")


def _with_end(exp: Any, text: Any) -> Any:
    """T-SQL: by code point, and with a sign after the last blank."""
    if isinstance(text, exp.Literal):
        return exp.National(this=text.this + ".")
    ended = exp.Paren(this=exp.Add(this=text, expression=exp.National(this=".")))
    return exp.Collate(this=ended, expression=exp.Var(this="Latin1_General_100_BIN2"))


TRANSLATIONS = {
    "snowflake": Translation("snowflake"),
    "bigquery": Translation("bigquery", nan=_by_function("IS_NAN")),
    "databricks": Translation("databricks"),
    "spark": Translation("spark"),
    "redshift": Translation("redshift"),
    "tsql": Translation("tsql", same_text=_with_end, has_national_texts=True),
    "oracle": Translation(
        "oracle",
        nan=lambda exp, number: exp.func("NANVL", number, exp.null()),
        double="BINARY_DOUBLE",
        range=(1e-130, 1e125),
    ),
    "mysql": Translation("mysql", same_text=_as_bytes),
    "mariadb": Translation("mysql", same_text=_as_bytes),
    "clickhouse": Translation("clickhouse", nan=_by_function("isNaN")),
}


def translated(statement: str, dialect: str, engine: str) -> str:
    """A statement in another dialect, with the comment before it."""
    sqlglot = require("sqlglot", extra="sql", purpose=f"SQL for {engine}")
    exp, rules = sqlglot.exp, TRANSLATIONS[dialect]
    comment, end, body = statement.partition(" */\n")
    tree = sqlglot.parse_one(body, read=_WRITTEN)
    _rewrite(exp, tree, rules)
    _check_numbers(exp, tree, rules, engine)
    text = tree.sql(dialect=rules.name, unsupported_level=sqlglot.ErrorLevel.RAISE)
    if _words(exp, sqlglot.parse_one(text, read=rules.name)) != _words(exp, tree):
        raise ExportError(f"A name or a text of the model cannot be written for {engine}.")
    return f"{comment}{end}{text}"


def _rewrite(exp: Any, tree: Any, rules: Translation) -> None:
    """Say in other words what the translation would take otherwise."""
    for node in tree.find_all(exp.Least, exp.Greatest):
        node.set("ignore_nulls", False)  # none of their arguments is NULL
    for node in list(tree.find_all(exp.EQ, exp.In)) if rules.same_text else ():
        _compare_texts(exp, node, rules.same_text)
    for node in list(tree.find_all(exp.Literal)) if rules.has_national_texts else ():
        if node.is_string and not node.this.isascii():
            node.replace(exp.National(this=node.this))
    for node in list(tree.find_all(exp.Is)):
        if isinstance(node.expression, exp.Boolean):
            _spell_out(exp, node)
    if rules.nan is not None:
        for node in list(tree.find_all(exp.Nullif)):
            if node.expression.sql(_WRITTEN) == NAN:
                node.replace(rules.nan(exp, node.this))
    for node in tree.find_all(exp.Cast) if rules.double else ():
        if node.to.this == exp.DataType.Type.DOUBLE:
            node.set("to", exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=rules.double))


def _compare_texts(exp: Any, node: Any, same_text: Any) -> None:
    given = node.expressions if isinstance(node, exp.In) else [node.expression]
    if not all(isinstance(text, exp.Literal) and text.is_string for text in given):
        return
    for text in given:
        text.replace(same_text(exp, text.copy()))
    node.this.replace(same_text(exp, node.this.copy()))


def _spell_out(exp: Any, node: Any) -> None:
    """``(test) IS NOT TRUE``, where a test is no value, or not known is taken for false."""
    negated = node.parent
    assert isinstance(negated, exp.Not)
    zero, one = (exp.Literal.number(value) for value in (0, 1))
    case = exp.Case(ifs=[exp.If(this=node.this.unnest(), true=zero)], default=one)
    negated.replace(exp.EQ(this=case, expression=one.copy()))


def _check_numbers(exp: Any, tree: Any, rules: Translation, engine: str) -> None:
    low, high = rules.range
    for literal in tree.find_all(exp.Literal):
        size = 1.0 if literal.is_string else float(literal.this)
        if size and not low <= size <= high:
            raise ExportError(
                f"The model has the number {literal.this}, which {engine} cannot read."
            )


def _words(exp: Any, tree: Any) -> Counter[str]:
    """All names and texts of a statement."""
    found = tree.find_all(exp.Identifier, exp.Literal, exp.National)
    return Counter(str(node.this) for node in found if getattr(node, "is_string", True))
