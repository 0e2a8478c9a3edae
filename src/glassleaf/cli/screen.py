"""The screen: consoles, notes, errors, JSON, tables and bars."""

from __future__ import annotations

import codecs
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from glassleaf.errors import require

# Width of output that no terminal shows.
_WIDTH_OF_FILES = 100
_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHTS = "▁▂▃▄▅▆▇█"
# What stands for these characters where an encoding lacks them.
_PLAIN = {
    "█": "#", "│": "|", "·": "-", "±": "~", "─": "-",
    "≤": "<=", "∈": "in", "∉": "not in", "∞": "inf", "…": "...",
} | dict.fromkeys(_EIGHTHS[1:], " ") | dict(zip(_HEIGHTS[:-1], "_.-=+*%", strict=True))  # fmt: skip


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in text), error.end


codecs.register_error("glassleaf", _plainly)


def console(*, stderr: bool = False) -> Any:
    """A console for results (standard output) or for notes (standard error)."""
    rich = require("rich.console", extra="cli", purpose="The command line")
    stream = sys.stderr if stderr else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="glassleaf")
    has_width = stream.isatty() or "COLUMNS" in os.environ
    return rich.Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if has_width else _WIDTH_OF_FILES,
    )


def note(text: str) -> None:
    """Print a line on standard error, apart from results."""
    console(stderr=True).print(text, style="yellow", soft_wrap=True)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each warning of the library once, as a note."""
    said = set[str]()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def complain(text: str) -> None:
    """Print an error."""
    console(stderr=True).print(f"error: {text}", style="red", soft_wrap=True)


def write_json(content: Any) -> None:
    """Print a result as JSON. NaN and infinity become null: JSON has neither."""
    from glassleaf.explanations.json_data import json_ready

    print(json.dumps(json_ready(content), indent=2, ensure_ascii=False, allow_nan=False))


def plain_table(*columns: str) -> Any:
    """A table without borders but a line below its head."""
    rich = require("rich.table", extra="cli", purpose="Tables on the screen")
    box = require("rich.box", extra="cli", purpose="Tables on the screen")
    return rich.Table(*columns, box=box.SIMPLE, pad_edge=False, show_edge=False)


def bar(share: float, width: int) -> str:
    """A bar from the left, in eighths of a character.

    >>> bar(0.5, 4)
    '██  '
    """
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def signed_bar(share: float, width: int) -> str:
    """A bar to the left or to the right of an axis; ``share`` runs from -1 to 1.

    >>> signed_bar(-0.5, 4), signed_bar(1.0, 4)
    ('  ██│    ', '    │████')
    """
    length = min(round(abs(share) * width), width)
    blocks = "█" * length
    return f"{blocks:>{width}}│{'':{width}}" if share < 0 else f"{'':{width}}│{blocks:<{width}}"


def sparkline(heights: Sequence[float], low: float, high: float) -> str:
    """Heights between two ends, a letter for each; empty where the ends are not known.

    >>> sparkline([0.0, 1.0, 3.0, 7.0, 2.0], 0.0, 7.0)
    '▁▂▄█▃'
    """
    if not low < high:
        return ""
    return "".join(_HEIGHTS[round(7 * (height - low) / (high - low))] for height in heights)
