"""The schema of model files, and as much of JSON Schema as it needs.

``check`` knows the keywords that the shipped schema uses; any other JSON Schema validator may read
the same file (``tests/tree/file/test_model_file.py`` compares the two).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sized
from functools import cache
from typing import Any

Schema = dict[str, Any]

# Not pathlib: importing it takes as long as reading the schema ten times.
_FOLDER = os.path.join(os.path.dirname(__file__), "schemas")


@cache
def model_schema(version: int) -> Schema:
    """The shipped schema of that version of model files."""
    with open(os.path.join(_FOLDER, f"model-v{version}.schema.json"), encoding="utf-8") as file:
        found: Schema = json.load(file)
    return found


class SchemaError(ValueError):
    """A value that its schema does not allow; the message says where."""


def check(value: Any, schema: Schema, root: Schema, where: str = "") -> None:
    """Raise ``SchemaError`` unless the schema allows the value.

    >>> check([1, -2], {"type": "array", "items": {"minimum": 0}}, {})
    Traceback (most recent call last):
    ...
    glassleaf.tree.file.json_schema.SchemaError: [1]: -2 is less than 0
    """
    if "$ref" in schema:
        check(value, resolve(schema["$ref"], root), root, where)
    for keyword, test in _TESTS.items():
        if keyword in schema:
            wrong = test(value, schema[keyword])
            if wrong:
                raise SchemaError(f"{where or 'the document'}: {wrong}")
    if "anyOf" in schema:
        _check_any(value, schema["anyOf"], root, where)
    if isinstance(value, list) and "items" in schema:
        _check_items(value, schema["items"], root, where)
    if isinstance(value, dict):
        _check_object(value, schema, root, where)


def resolve(reference: str, root: Schema) -> Schema:
    """The part of the schema that ``#/$defs/name`` and the like refer to."""
    found = root
    for name in reference.removeprefix("#/").split("/"):
        found = found[name]
    return found


def _check_any(value: Any, choices: list[Schema], root: Schema, where: str) -> None:
    reasons = []
    for choice in choices:
        try:
            check(value, choice, root, where)
        except SchemaError as error:
            reasons.append(str(error))
        else:
            return
    # The reason that came farthest into the value is the one that helps.
    raise SchemaError(max(reasons, key=lambda reason: len(reason.partition(": ")[0])))


def _check_items(values: list[Any], schema: Schema, root: Schema, where: str) -> None:
    # Arrays are long, and one look at their types is most of what there is to check.
    if schema == {"$ref": "#/$defs/float"} and set(map(type, values)) <= {float}:
        return
    for position, value in enumerate(values):
        check(value, schema, root, f"{where}[{position}]")


def _check_object(value: dict[str, Any], schema: Schema, root: Schema, where: str) -> None:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name, entry in value.items():
        inside = f"{where}.{name:.40}" if where else f"{name:.40}"
        if name in known:
            check(entry, known[name], root, inside)
        elif others is False:
            raise SchemaError(f"{inside}: nothing of that name belongs here")
        else:
            check(entry, others, root, inside)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _wrong_type(value: Any, accepted: str | list[str]) -> str:
    names = [accepted] if isinstance(accepted, str) else accepted
    if any(_TYPES[name](value) for name in names):
        return ""
    return f"{_show(value)} is not a value of type {' or '.join(names)}"


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _not_equal(value: Any, constant: Any) -> str:
    return "" if _same(value, constant) else f"{_show(value)} is not {_show(constant)}"


def _not_among(value: Any, choices: list[Any]) -> str:
    if any(_same(value, choice) for choice in choices):
        return ""
    return f"{_show(value)} is not one of {', '.join(map(_show, choices))}"


def _too_small(value: Any, least: float) -> str:
    return f"{_show(value)} is less than {least}" if _is_number(value) and value < least else ""


def _too_large(value: Any, most: float) -> str:
    return f"{_show(value)} is more than {most}" if _is_number(value) and value > most else ""


def _lacks(value: Any, names: list[str]) -> str:
    absent = [name for name in names if isinstance(value, dict) and name not in value]
    return f"{', '.join(absent)} missing" if absent else ""


def _too_few(kind: type[Sized]) -> Callable[[Any, int], str]:
    def test(value: Any, least: int) -> str:
        few = isinstance(value, kind) and len(value) < least
        return f"has {len(value)} entries, fewer than {least}" if few else ""

    return test


def _too_many(kind: type[Sized]) -> Callable[[Any, int], str]:
    def test(value: Any, most: int) -> str:
        many = isinstance(value, kind) and len(value) > most
        return f"has {len(value)} entries, more than {most}" if many else ""

    return test


def _show(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value)} entries"
    if isinstance(value, str):
        return repr(value[:40])
    return (
        f"{value!r:.40}" if not isinstance(value, int) or abs(value) < 10**40 else "a huge number"
    )


_TESTS: dict[str, Callable[[Any, Any], str]] = {
    "type": _wrong_type,
    "const": _not_equal,
    "enum": _not_among,
    "minimum": _too_small,
    "maximum": _too_large,
    "required": _lacks,
    "minItems": _too_few(list),
    "maxItems": _too_many(list),
    "minProperties": _too_few(dict),
    "maxProperties": _too_many(dict),
}
