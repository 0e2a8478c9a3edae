"""Errors of the command line, with suggestions, and its exit codes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from glassleaf.errors import GlassleafError

# Exit codes; docs/command-line.md lists them.
FAILED = 1  # the data or the model
MISUSED = 2  # the call: an unknown option, file or column
CHANGED = 3  # no failure: monitor found that rows have changed
INTERRUPTED = 130

_MOST_LISTED = 12
_LONGEST_SHOWN = 60


class CallError(GlassleafError):
    """The call is wrong, or names something that does not exist."""


class DataError(GlassleafError):
    """The data lack what the call needs."""


def shown(value: Any) -> str:
    """A value from a file, as a message quotes it: a long one without its middle.

    >>> shown("north"), shown("x" * 1000)
    ("'north'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxx' (1,000 characters)")
    """
    text = str(value)
    if len(text) <= _LONGEST_SHOWN:
        return repr(value)
    return f"{text[:35] + '…' + text[-5:]!r} ({len(text):,} characters)"


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that the user probably meant.

    >>> closest("defalut", ["age", "default"])
    'default'
    >>> closest("Age", ["age", "income"])
    'age'
    """
    by_lower = {name.lower(): name for name in known}
    # Words of about the same length may differ more: typing swaps letters.
    similar = [name for name in by_lower if abs(len(name) - len(word)) <= 1]
    for names, cutoff in ((similar, 0.6), (list(by_lower), 0.7)):
        found = difflib.get_close_matches(word.lower(), names, n=1, cutoff=cutoff)
        if found:
            return by_lower[found[0]]
    return None


def suggestion(word: str, known: Sequence[str]) -> str:
    """The end of an error about an unknown word: the likely word, or all known ones.

    >>> suggestion("defalut", ["age", "default"])
    ": did you mean 'default'?"
    >>> suggestion("xyz", ["age", "income"])
    '. There are: age, income.'
    """
    meant = closest(word, known)
    if meant is not None:
        return f": did you mean {meant!r}?"
    more = [f"and {len(known) - _MOST_LISTED} more"] if len(known) > _MOST_LISTED else []
    return f". There are: {', '.join([*known[:_MOST_LISTED], *more])}."


def no_column(name: str, known: Sequence[str], source: str) -> CallError:
    return CallError(f"no column {name!r} in {source}{suggestion(name, known)}")


def no_file(path: Path) -> CallError:
    """The file does not exist; perhaps one of a similar name does."""
    try:
        beside = [other.name for other in path.parent.iterdir()]
    except OSError:
        return CallError(f"no file {str(path)!r}: there is no folder {str(path.parent)!r}.")
    meant = closest(path.name, beside)
    hint = f": did you mean {str(path.parent / meant)!r}?" if meant else "."
    return CallError(f"no file {str(path)!r}{hint}")


def named_columns(given: Iterable[str], known: Sequence[str], source: str) -> list[str]:
    """The columns that an option names. It may be repeated, and may list several with commas.

    >>> named_columns(["age,income", "a,b"], ["age", "income", "a,b"], "x.csv")
    ['age', 'income', 'a,b']
    """
    out: list[str] = []
    for text in given:
        # A name may contain a comma.
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        for name in filter(None, parts):
            if name not in known:
                raise no_column(name, known, source)
            out.append(name)
    return out
