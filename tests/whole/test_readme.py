"""The README's examples can be pasted, and say what they print."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import needed

README = Path(__file__).parents[2] / "README.md"


def examples(text):
    """Pairs of code and of what it is said to print: the block of text right behind it, if any."""
    blocks = r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?"
    return re.findall(blocks, text, flags=re.DOTALL)


def test_readme_examples_print_what_they_say():
    needed.module("pandas")
    text = README.read_text(encoding="utf-8")
    found, agrees = examples(text), doctest.OutputChecker().check_output
    assert len(found) == text.count("```python")
    assert sum(bool(said) for _, said in found) == text.count("```text")
    names = {}
    for code, said in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, README.name, "exec"), names)
        assert agrees(said, printed.getvalue(), doctest.ELLIPSIS), printed.getvalue()


def test_text_belongs_to_the_code_right_before_it():
    one, other = examples("```python\na\n```\n\n```text\nb\n```\n\nc\n\n```python\nd\n```\n")
    assert (one, other) == (("a\n", "b\n"), ("d\n", ""))
