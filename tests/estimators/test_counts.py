"""Counts: predictions that no count can be are told, and what to do."""

import numpy as np
import pytest

from glassleaf import ModelTreeRegressor


def counts(rng, n=1500):
    X = rng.normal(size=(n, 2))
    return X, rng.poisson(np.exp(X[:, 0] - 1)).astype(float)


def test_counts_with_predictions_below_zero_are_warned_of(rng):
    X, y = counts(rng)
    with pytest.warns(UserWarning, match="of 1,500 rows have a prediction below 0. loss='poisson'"):
        model = ModelTreeRegressor(max_depth=0, curves=False).fit(X, y)
    share = (model.predict(X) < 0).mean()
    assert share > 0.01
    assert (
        f"{100 * share:.3g}% of the rows shown have a prediction below 0"
        in model.report(X, y).markdown()
    )


@pytest.mark.filterwarnings("error")
def test_what_is_no_count_or_has_none_below_zero_is_not(rng):
    X, y = counts(rng)
    ModelTreeRegressor(loss="poisson").fit(X, y)
    ModelTreeRegressor(max_depth=0).fit(X, y - 1)
    ModelTreeRegressor(max_depth=0).fit(X, y + 0.5)
    ModelTreeRegressor(max_depth=0).fit(X, (y > 2).astype(float))
    ModelTreeRegressor(max_depth=0).fit(X, 100 + y)
