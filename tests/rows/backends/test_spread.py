"""Work spreads over as many threads as there are, and no tree depends on their number."""

import numpy as np
import pandas as pd
import pytest
from pool import recorded, seconds_on
from threads import always_threads
from whole_models import ModelTreeClassifier, ModelTreeRegressor


def table(n, n_columns=12):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, n_columns)), columns=[f"x{k}" for k in range(n_columns)])
    X["tail"] = rng.standard_t(2, n)
    X["level"] = rng.choice(list("uvwxy"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    X.loc[rng.random(n) < 0.1, "x3"] = np.nan
    y = np.where(X["x0"] > 0, X["x1"], -X["x2"]) + X["x4"] ** 2 + X["level"].isin(["u", "y"])
    return X, (y + rng.normal(size=n)).to_numpy()


KINDS = {
    "number": lambda y: (ModelTreeRegressor, y),
    "two classes": lambda y: (ModelTreeClassifier, y > 0),
    "three classes": lambda y: (ModelTreeClassifier, np.digitize(y, [-1.0, 1.0])),
}


@pytest.mark.parametrize(
    "given", [{}, {"refine": True, "clamp": (0.01, 0.99)}], ids=["default", "options"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_does_not_depend_on_the_number_of_threads(kind, given):
    X, y = table(24_000)
    make, target = KINDS[kind](y)
    with always_threads():
        one, *others = (
            make(max_depth=2, significance=None, n_jobs=n_jobs, **given).fit(X, target).tree_
            for n_jobs in (1, 2, 16)
        )
    assert one.n_leaves > 2
    for other in others:
        for name in ("feature", "threshold", "coef", "intercept", "gain", "loss", "clamp_low"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.fixture(scope="module")
def passes():
    X, y = table(200_000)
    model = ModelTreeRegressor(max_depth=2, n_jobs=16)
    recorded(model, X.head(2000), y[:2000])  # kernels are compiled
    return recorded(model, X, y)


@pytest.mark.parametrize(
    ("name", "least"),
    [("model_sums", 32), ("bin_sums", 16), ("whole_sums", 16), ("segment_sums", 8)],
)
def test_a_pass_over_all_rows_is_something_to_share(passes, name, least):
    assert max(len(call.seconds) for call in passes if call.name == name) >= least


def test_work_spreads_over_sixteen_threads(passes):
    """On one thread after the other, in processor time: what else the machine does is no matter."""
    over_rows = [call for call in passes if call.is_cut]
    alone = seconds_on(over_rows, 1)
    faster = {n: alone / seconds_on(over_rows, n) for n in (2, 4, 16)}
    assert faster[2] > 1.7 and faster[4] > 3.0 and faster[16] > 6.0, faster
