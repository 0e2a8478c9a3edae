"""What a newcomer runs first."""

import subprocess
import sys
from pathlib import Path

import needed

needed.module("pandas")

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_shows_scores_and_trees():
    run = subprocess.run(
        [sys.executable, str(DEMO)], capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("model tree, depth 2") == 3
    assert run.stdout.count("Model tree, ") == 3  # the trees themselves
    assert run.stdout.count("No split is significant") >= 1  # of trees of one leaf
    assert "max(0, x2" in " ".join(run.stdout.split())
