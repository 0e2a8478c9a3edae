"""What a newcomer runs first."""

import re
import subprocess
import sys
from pathlib import Path

import needed

needed.module("pandas")

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_tells_its_story(tmp_path):
    run = subprocess.run(
        [sys.executable, str(DEMO)],
        capture_output=True, encoding="utf-8", timeout=300, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    scores = dict(re.findall(r"^    (\w[\w ]+?) +(0\.\d+) ", run.stdout, re.MULTILINE))
    linear, own, boosted = (float(score) for score in scores.values())
    assert list(scores) == ["linear regression", "glassleaf", "gradient boosting"]
    assert own > linear + 0.1 and own > boosted - 0.02
    model = run.stdout.split("all of it")[1].split("The first line")[0]
    assert "max(0, temperature" in model and "day ∈ {Sat, Sun}" in model
    assert len(model.split("\n")) <= 12  # ten lines, and those around it
    assert "wind" not in model
    report = Path(re.search(r"file://(\S+)", run.stdout)[1])
    assert report == tmp_path / "build/demo/report.html" and report.stat().st_size > 10_000
