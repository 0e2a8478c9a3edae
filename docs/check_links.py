"""Every link within the built site leads somewhere, and no page needs a server or the network.

python docs/check_links.py build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}


class Page(HTMLParser):
    """The places that a page has, and those that it points to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") not in ("search", "canonical"):
            self.loaded.append(given[LOADED[tag]])


def faults(site: Path) -> list[str]:
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    found = []
    for path, page in pages.items():
        found += [f"{path.name} loads {link}" for link in page.loaded if urlsplit(link).netloc]
        inner = [link for link in [*page.links, *page.loaded] if not is_outside(link)]
        found += [f"{path.name}: {link}" for link in inner if not leads(path, link, pages)]
    return found


def is_outside(link: str) -> bool:
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def leads(page: Path, link: str, pages: dict[Path, Page]) -> bool:
    """Whether the file is there and, if it is a page, has the place."""
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target not in pages or not parts.fragment:
        return target.is_file()
    return unquote(parts.fragment) in pages[target].anchors


def main() -> int:
    found = faults(Path(sys.argv[1]))
    print("\n".join(found) or "All links within the site lead somewhere.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
