"""Every printed rule and formula, computed as it stands, is what the model predicts."""

import numpy as np
import pandas as pd
import parsed
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, explain

# Of the range of the scores, or of a probability.
SHORT, WHOLE = 1e-6, 1e-2


def far_table(rng, n):
    """Columns far from zero, whole numbers, gaps and categories."""
    X = pd.DataFrame({
        "year": rng.integers(1990, 2021, n).astype(float),
        "unix": 1.7e9 + rng.integers(0, 10**7, n),
        "kelvin": 293.15 + 0.001 * rng.normal(size=n),
        "lon": -119 + 2 * rng.normal(size=n),
        "amount": rng.integers(0, 500_000, n).astype(float),
        "eight": 12_345_678 + 300 * rng.normal(size=n),
        "x": rng.normal(size=n),
        "tiny": 1e-9 * rng.normal(size=n),
        "kind": rng.choice(["red", "green", "blue"], n),
    })  # fmt: skip
    score = 0.31 * (X["year"] - 2005) + (X["unix"] - 1.705e9) / 3e6 + 1e9 * X["tiny"]
    score += np.where(X["amount"] > 250_001, 2 * X["x"], -X["x"]) + (X["eight"] - 12_345_678) / 300
    score += np.where(X["kelvin"] > 293.15, 3, 0) + np.where(X["kind"] == "red", X["x"], 0)
    X.loc[rng.random(n) < 0.1, ["year", "x"]] = np.nan
    return X, score.fillna(0.0).to_numpy() / 2


def rows_of(X):
    return [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in X.to_dict("records")
    ]


def cases():
    for seed in range(3):
        for kind in ("number", "count", "class"):
            for whole in (False, True):
                yield pytest.param(seed, kind, whole, id=f"{kind}{'-whole' * whole}-{seed}")


@pytest.mark.parametrize(("seed", "kind", "whole"), list(cases()))
def test_what_is_printed_is_what_is_predicted(seed, kind, whole):
    rng = np.random.default_rng(seed)
    X, y = far_table(rng, int(rng.choice([400, 1500])))
    noisy = y + 0.3 * rng.normal(size=len(y))
    parameters = {"n_jobs": 1, "leaf_transform": "none", "max_leaf_nodes": 5}
    if whole:
        parameters["max_numbers"] = None
    if kind == "class":
        model = ModelTreeClassifier(**parameters).fit(X, noisy > 0)
        expected, unit = model.predict_proba(X)[:, 1], 1.0
    elif kind == "count":
        counts = rng.poisson(np.exp(np.clip(noisy / 4, -3, 3)))
        model = ModelTreeRegressor(loss="poisson", **parameters).fit(X, counts)
        expected = model.predict(X)
        unit = max(expected)
    else:
        model = ModelTreeRegressor(**parameters).fit(X, noisy)
        expected, unit = model.predict(X), np.ptp(noisy)
    text = model.export_text(max_terms=None)
    if explain(model).share_formula:
        found = [parsed.by_postcard(text, row) for row in rows_of(X)]
    else:
        found, leaf = zip(*(parsed.by_leaves(text, row) for row in rows_of(X)), strict=True)
        number = {own.id: own.leaf for own in explain(model).leaves}
        assert [number[node] for node in model.apply(X)] == list(leaf)
    np.testing.assert_allclose(found, expected, rtol=0, atol=(WHOLE if whole else SHORT) * unit)


def test_columns_far_from_zero_are_written_around_a_round_number(rng):
    X, y = far_table(rng, 1500)
    text = ModelTreeRegressor(n_jobs=1, max_numbers=None, curves=False).fit(X, y).export_text(None)
    assert "·(unix - 1705000000)" in text and "·(year - 2005)" in text
    assert "·(kelvin - 293.15)" in text and "·(lon + 119)" in text
    assert "·x" in text and "·tiny" in text  # zero is not far


def test_a_threshold_between_whole_numbers_keeps_its_half(rng):
    X = pd.DataFrame({"amount": np.arange(250_000.0, 250_010.0).repeat(60), "x": 0.0})
    X["x"] = rng.normal(size=len(X))
    y = np.where(X["amount"] > 250_002, X["x"], -X["x"])
    text = ModelTreeRegressor(max_numbers=None, n_jobs=1).fit(X, y).export_text()
    assert "amount ≤ 250002.5" in text
