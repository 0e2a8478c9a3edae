"""Columns far from zero are learned as near ones are: by how far they lie from a round number."""

import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.tree.complexity import count_numbers
from glassleaf.tree.references import references_of_terms

FAR = {"day": 1.7e9, "kelvin": 293.15, "number": 12_345_678.0, "year": 2005.0}
SIZE = {"day": 25_000.0, "kelvin": 1e-3, "number": 300.0, "year": 9.0}


def tables(rng, n=1500):
    """The same rows near zero and far from it, and a score."""
    near = pd.DataFrame({name: SIZE[name] * rng.normal(size=n) for name in FAR})
    near["x"] = rng.normal(size=n)
    z = near / pd.Series({**SIZE, "x": 1.0})
    score = z["day"] + z["kelvin"] - z["number"] + 0.5 * z["year"]
    score += np.where(z["x"] > 0, 2 * z["day"], -z["year"])
    return near, near + pd.Series({**FAR, "x": 0.0}), score.to_numpy()


@pytest.mark.parametrize("settings", [{}, {"curves": False, "max_numbers": 25}])
def test_far_columns_are_as_good_as_near_ones(rng, settings):
    near, far, score = tables(rng)
    y = score + 0.3 * rng.normal(size=len(score))
    models = [ModelTreeRegressor(**settings, n_jobs=1).fit(X, y) for X in (near, far)]
    assert [(references_of_terms(model.tree_) != 0).sum() for model in models] == [0, 4]
    found = [model.score(X, score) for model, X in zip(models, (near, far), strict=True)]
    assert min(found) > 0.99
    assert models[1].complexity_.total <= models[0].complexity_.total + 2
    assert all(name in models[1].export_text() for name in FAR)


@pytest.mark.parametrize("kind", ["number", "class", "classes"])
def test_a_slope_that_turns_about_the_reference_is_one_number(rng, kind):
    _, far, score = tables(rng)
    noisy = score + 0.3 * rng.normal(size=len(score))
    if kind == "number":
        model = ModelTreeRegressor(n_jobs=1).fit(far, noisy)
    else:
        y = np.digitize(noisy, [0.0] if kind == "class" else [-1.0, 1.0])
        model = ModelTreeClassifier(n_jobs=1, max_depth=1).fit(far, y)
    path = model.model_.path
    counted = [count_numbers(path.tree(step)).total for step in path.steps]
    assert all(own <= step.numbers for own, step in zip(counted, path.steps, strict=True))
    said = [step.what for step in model.path_]
    assert any("where x" in what for what in said)
