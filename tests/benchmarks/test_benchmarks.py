"""The benchmarks start. What they measure is for people to read."""

from importlib import import_module
from pathlib import Path

import needed
import pytest

from glassleaf import ModelTreeRegressor

FOLDER = Path(__file__).parents[2] / "benchmarks"


PROGRAMS = sorted(
    path.stem for path in FOLDER.glob("[a-z]*.py") if '"__main__"' in path.read_text()
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_benchmark_is_a_program(name):
    for package in ("xgboost", "onnxruntime"):
        needed.module(package)
    assert callable(import_module(f"benchmarks.{name}").main)


def test_the_ablation_changes_parameters_that_exist():
    known = ModelTreeRegressor().get_params()
    for settings in import_module("benchmarks.ablation").CHANGES.values():
        assert settings.keys() <= known.keys()
