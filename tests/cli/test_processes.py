"""Real processes: pipes, exit codes, terminals, memory, and how long ``--help`` takes."""

from __future__ import annotations

import os
import pty
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from csv_files import write_csv

from glassleaf.cli.commands.demo import loans

Shell = Callable[..., "subprocess.CompletedProcess[bytes]"]
ESCAPE = b"\x1b"


def test_pipes(shell: Shell, model: Path, loans_csv: Path) -> None:
    found = shell("predict", model, "-", "--keep", "id", stdin=loans_csv.read_bytes())
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(b"id,label,probability_no,probability_yes\nL00001,")
    assert found.stdout.count(b"\n") == 601
    assert found.stderr == b""


def test_no_colors_and_no_progress_in_pipes(shell: Shell, loans_csv: Path) -> None:
    found = shell("fit", "-", "--target", "default", "--leaves", "2", "--no-report",
                  stdin=loans_csv.read_bytes())  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert ESCAPE not in found.stdout + found.stderr
    assert b"fold 1" not in found.stdout + found.stderr
    assert b"standard input: 600 rows" in found.stdout


def test_output_in_ascii(model: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "glassleaf.cli", "show", str(model)],
        capture_output=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert b"`-- " in found.stdout and b"?" not in found.stdout
    assert b"region in {south}" in found.stdout and b"region not in {south}" in found.stdout


def test_exit_codes(shell: Shell, model: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("age\n1\n")
    assert shell("predict", model, "bad.csv").returncode == 1
    assert shell("predict", "none.json", "bad.csv").returncode == 2
    assert shell("predict", model).returncode == 2
    assert shell("--version").returncode == 0


def test_without_the_extra_the_command_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['typer'] = None; from glassleaf.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert found.returncode == 1
    assert b'pip install "glassleaf[cli]"' in found.stderr and b"Traceback" not in found.stderr


def test_a_reader_that_leaves_is_no_error(model: Path, tmp_path: Path) -> None:
    write_csv(tmp_path / "long.csv", loans(20_000, 1))
    command = (
        f'"{sys.executable}" -m glassleaf.cli predict "{model}" long.csv --keep-all | head -n 2'
    )
    found = subprocess.run(
        command, shell=True, capture_output=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert found.stdout.count(b"\n") == 2
    assert found.stderr == b""


def test_terminal_has_colors(model: Path) -> None:
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "glassleaf.cli", "show", str(model)],
        stdout=child, stderr=child, stdin=child,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm-256color",
             "COLUMNS": "100"},
    )  # fmt: skip
    os.close(child)
    text = b""
    while True:
        try:
            piece = os.read(parent, 65_536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    assert process.wait() == 0
    assert ESCAPE in text and "└".encode() in text


MEASURED = """
import resource, sys
from glassleaf.cli import main
main(["predict", *sys.argv[1:]], standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_predict_does_not_grow_with_the_file(model: Path, tmp_path: Path) -> None:
    """A file of 100 MB needs no more memory than one of a tenth of that."""
    table = loans(5000, 1)
    write_csv(tmp_path / "part.csv", table.append_column("notes", pa.array(["blah " * 400] * 5000)))
    header, *rows = (tmp_path / "part.csv").read_bytes().splitlines(keepends=True)
    body = b"".join(rows)
    peaks = {}
    for times in (1, 10):
        with open(tmp_path / "data.csv", "wb") as file:
            file.write(header)
            for _ in range(times):
                file.write(body)
        words = [str(model), str(tmp_path / "data.csv"), "-o", str(tmp_path / "out.csv")]
        found = subprocess.run(
            [sys.executable, "-c", MEASURED, *words], capture_output=True, check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        peaks[times] = int(found.stdout.split()[-1]) / 1024
        assert (tmp_path / "out.csv").read_bytes().count(b"\n") == 5000 * times + 1
    assert len(body) > 10e6
    assert peaks[10] < peaks[1] + 25, peaks


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_answers_at_once(shell: Shell, words: list[str]) -> None:
    """Half a second of computing, the best of a few: this machine may be busy."""
    best = 1e9
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert shell(*words).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert best < 0.5
