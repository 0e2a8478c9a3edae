"""What docs/command-line.md shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from csv_files import Call, write_csv

from glassleaf.cli.commands.demo import loans

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
FIT = "glassleaf fit loans.csv --target default --leaves 4"


def screens(text: str) -> list[tuple[str, str]]:
    """Commands and what they print, of all consoles of a page but those of rows nobody has."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            if "big/" not in command:
                found.append((command, printed))
    return found


def printed(call: Call, command: str) -> str:
    name, *words = shlex.split(command)
    if name == "head":
        return "".join(Path(words[-1]).read_text().splitlines(keepends=True)[: int(words[1])])
    assert name == "glassleaf"
    return str(call(*words, code=EXIT_CODES.get(command, 0)).output)


EXIT_CODES = {
    "glassleaf predict model.json bad.csv --output scored.csv": 1,
    "glassleaf fit loans.csv --target defalut": 2,
}


def comparable(text: str) -> str:
    """Without blanks at the end of lines, and without the last digits, which machines differ in."""
    text = re.sub(r"\d\.\d{9,}", lambda found: f"{float(found[0]):.6f}", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_the_page_shows_what_is_printed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    write_csv(Path("loans.csv"), loans(3000, 1))
    write_csv(Path("new.csv"), loans(3000, 2))
    lines = Path("new.csv").read_text().splitlines(keepends=True)
    lines[4] = re.sub(r"^([^,]*),[^,]*", r"\1,forty", lines[4])
    Path("bad.csv").write_text("".join(lines))
    found = screens(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 12
    for command, said in sorted(found, key=lambda one: one[0] != FIT):  # the model comes first
        assert comparable(printed(call, command)) == comparable(said), command
