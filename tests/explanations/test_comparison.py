"""Champion and challenger: DeLong's test by pairs and as published, level and interval."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, compare
from glassleaf.explanations.comparison import chance
from glassleaf.explanations.scores import auc, intervals, standard_error

# 43 patients with ovarian cancer: albumin, total protein, K-G score, and who benefits from surgery.
# DeLong, DeLong and Clarke-Pearson (1988), as an example of SAS/STAT (PROC LOGISTIC) has them.
PATIENTS = """
3.0 5.8 10 0 3.2 6.3 5 1 3.9 6.8 3 1 2.8 4.8 6 0 3.2 5.8 3 1 0.9 4.0 5 0 2.5 5.7 8 0 1.6 5.6 5 1
3.8 5.7 5 1 3.7 6.7 6 1 3.2 5.4 4 1 3.8 6.6 6 1 4.1 6.6 5 1 3.6 5.7 5 1 4.3 7.0 4 1 3.6 6.7 4 0
2.3 4.4 6 1 4.2 7.6 4 0 4.0 6.6 6 0 3.5 5.8 6 1 3.8 6.8 7 1 3.0 4.7 8 0 4.5 7.4 5 1 3.7 7.4 5 1
3.1 6.6 6 1 4.1 8.2 6 1 4.3 7.0 5 1 4.3 6.5 4 1 3.2 5.1 5 1 2.6 4.7 6 1 3.3 6.8 6 0 1.7 4.0 7 0
3.7 6.1 5 1 3.3 6.3 7 1 4.2 7.7 6 1 3.5 6.2 5 1 2.9 5.7 9 0 2.1 4.8 7 1 2.8 6.2 8 0 4.0 7.0 7 1
3.3 5.7 6 1 3.7 6.9 5 1 3.6 6.6 5 1
"""


def two(p):
    return np.column_stack([1 - p, p])


def by_pairs(y, p):
    """DeLong's AUC, and its placements: for every row the share of pairs that it wins."""
    wins = np.array([[(a > b) + 0.5 * (a == b) for b in p[y == 0]] for a in p[y == 1]])
    return wins.mean(), wins.mean(axis=1), wins.mean(axis=0)


def slow_test(y, first, second):
    """Difference of two AUCs and its standard error, from all pairs."""
    (one, hits1, others1), (other, hits2, others2) = by_pairs(y, first), by_pairs(y, second)
    variance = sum(np.var(b - a, ddof=1) / len(a) for a, b in ((hits1, hits2), (others1, others2)))
    return other - one, np.sqrt(variance)


def fast_test(y, first, second):
    w = np.ones(len(y))
    rows = [(y, two(p), w) for p in (first, second)]
    influence = intervals.auc_influence(*rows[1]) - intervals.auc_influence(*rows[0])
    return auc(*rows[1]) - auc(*rows[0]), standard_error(influence)


@pytest.mark.parametrize("n", [12, 80])
def test_delong_is_that_of_all_pairs(n, rng):
    for _ in range(10):
        y = np.arange(n) % 3 > 1
        first, second = (rng.normal(y, 1.0).round(1) for _ in range(2))  # with ties
        np.testing.assert_allclose(fast_test(y, first, second), slow_test(y, first, second))
        alone = standard_error(intervals.auc_influence(y, two(first), np.ones(n)))
        _, hits, others = by_pairs(y, first)
        expected = np.var(hits, ddof=1) / len(hits) + np.var(others, ddof=1) / len(others)
        assert alone**2 == pytest.approx(expected)


def test_delong_as_published():
    """Areas of total protein and K-G score, their errors, and their difference."""
    table = np.array(PATIENTS.split(), dtype=float).reshape(-1, 4)
    y, protein, kg = table[:, 3] == 1, table[:, 1], 10 - table[:, 2]
    for marker, area, error in ((protein, 0.6478, 0.1000), (kg, 0.7258, 0.1028)):
        rows = y, two(marker), np.ones(len(y))
        assert auc(*rows) == pytest.approx(area, abs=5e-5)
        assert standard_error(intervals.auc_influence(*rows)) == pytest.approx(error, abs=5e-5)
    found = fast_test(y, kg, protein)
    assert found == pytest.approx((-0.0780, 0.1046), abs=5e-5)
    assert chance(*found) == pytest.approx(0.4561, abs=5e-5)


def test_the_level_of_delongs_test(rng):
    """Two markers of equal worth that go together: one in twenty tests says otherwise."""
    p = []
    for _ in range(1000):
        y = np.arange(200) % 4 == 0
        common = y + rng.normal(size=200)
        p.append(chance(*fast_test(y, *(common + rng.normal(size=200) for _ in range(2)))))
    assert 0.03 < np.mean(np.array(p) < 0.05) < 0.07
    assert stats.kstest(p, "uniform").pvalue > 0.001


# --- models --------------------------------------------------------------------------------------


def test_numbers_are_compared_by_the_spread_of_their_difference(rng):
    X = rng.normal(size=(1200, 2))
    y = np.abs(X[:, 0]) + X[:, 1] + rng.normal(size=1200)
    tree = ModelTreeRegressor(max_depth=1, n_jobs=1).fit(X[:600], y[:600])
    line = LinearRegression().fit(X[:600], y[:600])
    w = rng.gamma(1.0, size=600)
    found = {c.score: c for c in compare(tree, line, X[600:], y[600:], sample_weight=w)}
    assert list(found) == ["R²", "RMSE", "MAE"]
    errors = [np.abs(model.predict(X[600:]) - y[600:]) for model in (tree, line)]
    mae = found["MAE"]
    assert mae.difference == pytest.approx(np.average(errors[1] - errors[0], weights=w))
    assert mae.low < mae.difference < mae.high and mae.better == "lower"
    some = rng.integers(0, 600, size=(1000, 600))
    drawn = np.std([np.average((errors[1] - errors[0])[k], weights=w[k]) for k in some])
    assert (mae.high - mae.low) / 3.92 == pytest.approx(drawn, rel=0.12)
    assert found["R²"].p < 1e-4 and found["R²"].difference < 0
    assert compare(tree, tree, X, y)[0].p == 1.0


def test_classes_are_matched_by_their_labels(rng):
    X = rng.normal(size=(800, 2))
    y = np.where(X[:, 0] + rng.normal(size=800) > 0, "bad", "good")
    model = ModelTreeClassifier(positive_class="bad", max_depth=1, n_jobs=1).fit(X, y)
    line = LogisticRegression().fit(X, y)
    found = compare(model, line, X, y)
    assert found[0].score == "AUC" and found[0].test == "DeLong's"
    assert {c.score for c in found} >= {"Log loss", "Brier score", "Accuracy"}
    assert found[0].challenger == pytest.approx(found[0].champion, abs=0.02)
    weight = np.where(np.arange(800) < 400, 1.0, 0.0)
    assert compare(model, line, X, y, sample_weight=weight) == compare(
        model, line, X[:400], y[:400]
    )


def test_what_cannot_be_compared(rng):
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = np.where(X["a"] > 0, "yes", "no")
    model = ModelTreeClassifier(n_jobs=1).fit(X, y)
    with pytest.raises(TypeError, match="has no predict_proba"):
        compare(model, LinearRegression(), X, y)
    with pytest.raises(ValueError, match="knows the classes"):
        compare(model, LogisticRegression().fit(X, X["b"] > 0), X, y)
