"""Writes tests/fixtures/model_v4_*.json and the predictions beside them.

    PYTHONPATH=src python tests/helpers/make_fixtures.py

Only while version 4 is unreleased. Afterwards its files are what users have, and stay as they are,
as those of older versions do; a new version gets fixtures of its own.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import zoo

from glassleaf import ModelTreeClassifier, ModelTreeRegressor

FOLDER = Path(__file__).parents[1] / "fixtures"
COMMON = {"max_depth": 2, "curves": True, "categorical_features": zoo.NAMES[4:], "n_jobs": 1}
WHOLE = {"max_numbers": None, "coef_digits": None, "round_thresholds": False, **COMMON}


def main():
    rng = np.random.default_rng(6)
    table, score = zoo.training_table(rng, 2000)
    score = score + zoo.bend(table) - 1.0
    later = zoo.later_table(rng, 40)
    classifier = ModelTreeClassifier(leaf_transform="winsor", significance=None, **WHOLE)
    regressor = ModelTreeRegressor(loss="poisson", leaf_transform="rank", clamp=False, **WHOLE)
    for name, model, kind in (
        ("classifier", classifier, "binary"),
        ("regressor", regressor, "poisson"),
    ):
        model.fit(table, zoo.target(kind, score, rng))
        model.model_ = replace(model.model_, tree=zoo.with_limits(model, later))
        write(name, model, later)
    path = ModelTreeRegressor(max_numbers=20, **COMMON | {"curves": False, "max_depth": 1})
    write("path", path.fit(table, zoo.target("squared_error", score, rng)), later)


def write(name, model, later):
    path = FOLDER / f"model_v4_{name}.json"
    model.save(path)
    beside = {"rows": zoo.rows_of(later), "expected": zoo.predicted(model, later).tolist()}
    path.with_suffix(".predictions").write_text(json.dumps(beside, indent=1) + "\n")


if __name__ == "__main__":
    main()
