"""Optimism and learning curves: against fits by hand, and where the answer is known."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, learning_curve, optimism

# A plain regression.
GIVEN = {
    "max_depth": 0, "alpha": 0, "max_numbers": None, "curves": False, "clamp": False,
    "leaf_transform": "none", "n_jobs": 1,
}  # fmt: skip


def test_optimism_is_that_of_the_bootstrap_by_hand(rng):
    X = rng.normal(size=(80, 8))
    y = X[:, 0] + rng.normal(size=80)
    model = ModelTreeRegressor(**GIVEN).fit(X, y)
    found = {own.score: own for own in optimism(model, X, y, n=30, random_state=3)}
    gains, draws = [], np.random.default_rng(3)
    for _ in range(30):
        rows = draws.integers(0, 80, size=80)
        line = np.linalg.lstsq(np.column_stack([np.ones(80), X])[rows], y[rows], rcond=None)[0]
        p = np.column_stack([np.ones(80), X]) @ line
        gains.append(r2_score(y[rows], p[rows]) - r2_score(y, p))
    r2 = found["R²"]
    assert r2.optimism == pytest.approx(np.mean(gains), rel=1e-4)
    assert r2.error == pytest.approx(np.std(gains, ddof=1) / np.sqrt(30), rel=1e-4)
    assert r2.apparent == pytest.approx(model.score(X, y))
    assert r2.corrected == pytest.approx(r2.apparent - r2.optimism)
    assert (
        found["Calibration slope"].corrected
        < 1
        == pytest.approx(found["Calibration slope"].apparent)
    )


def test_corrected_scores_are_those_of_new_rows(rng):
    """Ten useless columns: the apparent score is far too good, the corrected one is not."""
    apparent, corrected, true = [], [], []
    for _ in range(12):
        X = rng.normal(size=(60, 11))
        y = X[:, 0] + rng.normal(size=60)
        model = ModelTreeRegressor(**GIVEN).fit(X, y)
        own = optimism(model, X, y, n=20)[0]
        later = rng.normal(size=(4000, 11))
        true.append(model.score(later, later[:, 0] + rng.normal(size=4000)))
        apparent.append(own.apparent)
        corrected.append(own.corrected)
    assert np.mean(apparent) - np.mean(true) > 0.15
    assert abs(np.mean(corrected) - np.mean(true)) < 0.06


def test_groups_are_drawn_together(rng):
    """The same row six times over: without groups a resample holds hardly anything new."""
    X = np.repeat(rng.normal(size=(30, 5)), 6, axis=0)
    y = np.repeat(rng.normal(size=30), 6)
    model = ModelTreeRegressor(**GIVEN).fit(X, y)
    groups = np.repeat(np.arange(30), 6)
    alone, together = (optimism(model, X, y, n=20, groups=g)[0] for g in (None, groups))
    assert together.optimism > 2 * alone.optimism


def test_a_learning_curve_rises_to_what_is_known(rng):
    X = rng.normal(size=(1500, 30))
    y = X[:, 0] + rng.normal(size=1500)
    model = ModelTreeRegressor(**GIVEN).fit(X, y)
    found = learning_curve(model, X, y, n=4)
    assert (found.score, found.better) == ("R²", "higher")
    assert [point.rows for point in found.points] == [120, 240, 420, 720, 1200]
    first, last = found.points[0], found.points[-1]
    assert first.training > last.training > last.test - 0.05
    assert last.test > first.test and last.test == pytest.approx(0.5, abs=0.08)
    assert last.leaves == 1 and last.numbers == 31


def test_classes_are_never_missing(rng):
    X = rng.normal(size=(300, 2))
    y = np.where(np.arange(300) < 12, "rare", "common")
    model = ModelTreeClassifier(positive_class="rare", **GIVEN).fit(X, y)
    found = learning_curve(model, X, y, n=2, shares=(0.3, 1.0))
    assert found.score == "AUC" and all(np.isfinite(point.test) for point in found.points)
    assert np.isfinite([own.corrected for own in optimism(model, X, y, n=3)]).all()
    with pytest.raises(ValueError, match="too few rows"):
        y[1:12] = "common"
        learning_curve(model, X, y, n=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shares": (0.0, 1.0)}, "must lie above 0"),
        ({"n": 0}, "n=0 must be an integer"),
        ({"groups": [1, 2]}, r"groups has the shape \(2,\)"),
    ],
)
def test_what_is_refused(rng, given, message):
    X = rng.normal(size=(50, 2))
    model = ModelTreeRegressor(**GIVEN).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=message):
        learning_curve(model, X, X[:, 0], **given)
