"""The page: one HTML file that holds its style, its scripts, the report and the model.

Nothing in it is fetched. The content security policy lets this style and this script run and
nothing else, and the script writes text as text, so that names and labels stay what they are.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glassleaf.show.report.contents import Contents
from glassleaf.show.report.view import page_view
from glassleaf.tree.plain import PlainModel
from glassleaf.tree.scorer_js import as_json, model_data, scorer_source

_FOLDER = Path(__file__).parent
# In the order in which they build on each other.
_SCRIPTS = (
    "dom.js", "charts.js", "tree.js", "leaf.js", "model.js", "sections.js", "validation.js",
    "what_if.js", "main.js",
)  # fmt: skip


def to_html(
    contents: Contents, scored: PlainModel | str, scored_steps: Sequence[PlainModel] = ()
) -> str:
    """The page; ``scored`` is the model for the what-if part, or why there is none.

    ``scored_steps`` are the models of ``contents.steps``, if they can be scored.
    """
    view: dict[str, Any] = page_view(contents)
    if isinstance(scored, str):
        view["model"], view["no_model"] = None, scored
    else:
        view["model"] = model_data(scored)
    for step, plain in zip(view["steps"], scored_steps, strict=False):
        step["nodes"] = model_data(plain)["nodes"]
    style, script = _read("page.css"), _script()
    parts = {
        "title": html.escape(contents.title),
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)};"
        " base-uri 'none'; form-action 'none'",
        "style": style,
        "data": as_json(view),
        "script": script,
    }
    pieces = re.split(r"{{(\w+)}}", _read("template.html"))  # text, name, text, name, ..., text
    return "".join(parts[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def _script() -> str:
    own = "\n".join(_read(name) for name in _SCRIPTS)
    return f'(function () {{\n"use strict";\n{scorer_source()}\n{own}\n}})();\n'


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the content security policy knows a script or a style by."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
