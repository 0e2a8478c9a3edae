"""``calibrate`` and intervals of ``predict`` and ``export``: those of Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from csv_files import Call, read_csv, write_csv

import glassleaf
from glassleaf.cli.commands.demo import loans


@pytest.fixture
def table(call: Call):
    found = loans(300, 5)
    write_csv(Path("new.csv"), found)
    return found


def test_intervals(call: Call, regressor: Path, table) -> None:
    rows = table.select(["age", "years_employed", "region"])
    y = table["age"].to_numpy() * 2.0 + np.random.default_rng(0).normal(size=300)
    labeled = rows.append_column("y", [y])
    write_csv(Path("cal.csv"), labeled)
    call("predict", regressor, "new.csv", "--interval", "0.9", code=1)
    found = call("calibrate", regressor, "cal.csv", "-o", "model.json")
    assert "intervals learned from 300 rows; written to model.json" in found.stderr
    model = glassleaf.load(regressor).calibrate(rows, y)
    call("predict", "model.json", "new.csv", "--interval", "0.8", "--prefix", "p_", "-o", "out.csv")
    written = [[float(row["p_lower"]), float(row["p_upper"])] for row in read_csv("out.csv")]
    np.testing.assert_array_equal(written, model.predict_interval(rows, 0.8))
    view = call("export", "model.json", "--to", "sql", "--table", "t", "--interval", "0.8").stdout
    assert 'AS "upper"' in view
    refused = call("export", "model.json", "--to", "c", "--interval", "0.8", code=2)
    assert "--interval is for --to sql" in refused.stderr


def test_probabilities_in_place(call: Call, model: Path, table) -> None:
    shutil.copy(model, "own.json")
    found = call("calibrate", "own.json", "new.csv", "--target", "default")
    assert "calibrated on 300 rows; written to own.json" in found.stderr
    estimator = glassleaf.load(model)
    X = table.select(list(estimator.feature_names_in_))
    expected = estimator.calibrate(X, table["default"].to_numpy()).predict_proba(X)
    np.testing.assert_array_equal(glassleaf.load("own.json").predict_proba(X), expected)
    refused = call("predict", "own.json", "new.csv", "--interval", "0.9", code=2)
    assert "a classifier has no intervals" in refused.stderr
