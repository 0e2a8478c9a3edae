"""Histograms of scores: from the rows of a backend, and from predictions."""

import numpy as np
import pytest
from partitions import CASES, case
from whole_models import ModelTreeRegressor

import glassleaf
from glassleaf.fit.scores import scores_of_table
from glassleaf.tables.reading import read_table

OTHER = {
    "quantile clamps": ("regression", {"clamp": (0.1, 0.9), "leaf_transform": "winsor"}),
    "cut": ("regression", {"leaf_transform": "cut"}),
    "short": ("binary", {"max_numbers": 8}),
    "short, several classes": ("multiclass", {"max_numbers": 15}),
    "curves": ("regression", {"curves": True, "max_numbers": "auto"}),
    "digits": ("regression", {"coef_digits": 2}),
}


@pytest.mark.parametrize("name", [*CASES, *OTHER])
def test_rows_and_predictions_say_the_same(name):
    base, settings = OTHER.get(name, (name, {}))
    model, X, target, weight = case(base, n_jobs=1, **settings)
    weight = None if weight is None else weight + 0.1
    fitted = model.fit(X, target, sample_weight=weight).model_
    expected = scores_of_table(fitted.tree, read_table(X), fitted.loss)
    assert len(fitted.histograms) == len(fitted.names) + len(expected)
    for k, own in enumerate(expected, len(fitted.names)):
        np.testing.assert_allclose(fitted.histograms.at(k).share, own.share, atol=1e-12)
        np.testing.assert_allclose(fitted.histograms.at(k).edges, own.edges, rtol=1e-6)


def test_honest_and_rare():
    rng = np.random.default_rng(0)
    model, X, y, _ = case("regression", n_jobs=1, honest=0.5, max_depth=1)
    found = glassleaf.monitor(model.fit(X, y), X)
    assert found.level == 0 and found.not_compared == ()
    names = np.array([f"{k:03d}" for k in range(300)])
    X["many"] = rng.choice(names, size=len(X), p=np.arange(300) / np.arange(300).sum())
    with pytest.warns(UserWarning, match="categories"):
        model = ModelTreeRegressor(n_jobs=1, max_depth=1, max_numbers=30).fit(X, y)
    own = glassleaf.monitor(model, X)
    assert max(each.psi for each in own.watched) < 1e-9
    (many,) = (each for each in own.watched if each.name == "many")
    assert len(many.bins) == 22 and many.bins[-2] == "other"
