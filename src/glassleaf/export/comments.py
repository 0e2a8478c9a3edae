"""Labels and names in comments of C and SQL."""

from __future__ import annotations


def in_comment(text: str) -> str:
    """A text that does not end the comment it stands in, nor begins another.

    >>> in_comment("*/ DROP TABLE loans /*")
    '* / DROP TABLE loans / *'
    """
    return text.replace("*/", "* /").replace("/*", "/ *")
