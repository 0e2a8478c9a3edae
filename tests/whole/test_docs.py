"""Links within the documentation lead somewhere; the reference has all names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import glassleaf
from docs import check_links

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def links(text):
    """Where links and pictures lead; what is code has none."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", prose)


def anchors(text):
    """What headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page):
    out = []
    for link in links(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if re.match(r"\w+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            out.append(link)
    return out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    assert broken(page) == []


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One two\n[a](#one-two) ![b](no.svg) [c](#three) `x[0](y)` [d](https://e.org)"
    )
    assert broken(page) == ["no.svg", "#three"]


def test_broken_links_of_the_site_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top"><a href="b.html#here"><a href="#top">')
    (tmp_path / "b.html").write_text(
        '<p id="there"><img src="https://e.org/x.png"><a href="c.html">'
    )
    expected = ["a.html: b.html#here", "b.html loads https://e.org/x.png", "b.html: c.html"]
    assert check_links.faults(tmp_path) == expected


def test_every_page_is_in_a_table_of_contents():
    pages = (ROOT / "docs").glob("*.md")
    text = "\n".join(page.read_text("utf-8") for page in pages)
    contents = " ".join(re.findall(r"^```\{toctree\}(.*?)^```", text, re.DOTALL | re.MULTILINE))
    missing = {page.stem for page in (ROOT / "docs").glob("*.md")} - set(contents.split())
    assert missing == {"index"}


def test_the_reference_lists_all_public_names():
    listed = set(re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    modules = {"criteria", "export", "losses"}
    assert set(glassleaf.__all__) - modules - listed == set()
    assert {f"export.{name}" for name in glassleaf.export.__all__} - listed == set()
