"""Drift: indices by hand, tests by scipy, alarms by simulation."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import zoo
from scipy.stats import chi2_contingency

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.errors import GlassleafError
from glassleaf.explanations import drift

N_COLUMNS = 5


def rows(rng, n):
    table = pd.DataFrame(rng.normal(size=(n, N_COLUMNS - 1)), columns=list("abcd"))
    table["kind"] = rng.choice(["x", "y", "z"], p=[0.7, 0.2, 0.1], size=n)
    table.loc[rng.random(n) < 0.1, "d"] = np.nan
    return table


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    table = rows(rng, 4000)
    y = table["a"] * (table["b"] > 0) + (table["kind"] == "x") + rng.normal(size=4000)
    return ModelTreeRegressor(n_jobs=1).fit(table, y), table


def watched(found, name):
    (own,) = (own for own in found.watched if name in (own.name, own.what))
    return own


def test_the_rows_of_the_fit_have_not_changed(model):
    found = glassleaf.monitor(*model)
    assert [own.what for own in found.watched] == ["score", "leaves", *["column"] * N_COLUMNS]
    assert all(own.psi < 1e-12 and own.p_value == 1 for own in found.watched)
    assert found.level == 0 and found.changed() == () and found.not_compared == ()
    assert "No change beyond what chance explains." in str(found)


def test_a_squeezed_column_is_seen(model):
    estimator, _ = model
    new = rows(np.random.default_rng(1), 3000)
    new["a"] /= 5
    found = glassleaf.monitor(estimator, new)
    assert found.changed()[0].name == "a" and watched(found, "a").psi > 3
    assert found.level == 2 and "Column a has changed much" in str(found)
    assert all(watched(found, name).level == 0 for name in ("b", "c", "d", "kind"))
    frame = found.to_frame()
    assert list(frame["name"][2:]) == [*"abcd", "kind"] and frame["level"].max() == 2


def test_gaps_and_new_categories_are_seen(model):
    estimator, _ = model
    new = rows(np.random.default_rng(2), 500)
    new.loc[:150, "b"] = np.nan
    new.loc[:100, "kind"] = "never seen"
    found = glassleaf.monitor(estimator, new)
    assert watched(found, "b").level == 2 and watched(found, "b").new[-1] > 0.3
    own = watched(found, "kind")
    assert own.level and dict(zip(own.bins, own.new, strict=True))["other"] == pytest.approx(0.202)


@pytest.mark.parametrize("n_new", [15, 60, 400])
def test_chance_alone_seldom_makes_an_alarm(model, n_new):
    """Of 300 samples, each with seven things watched, one percent may be marked."""
    estimator, _ = model
    rng = np.random.default_rng(n_new)
    marked = [glassleaf.monitor(estimator, rows(rng, n_new)).level > 0 for _ in range(300)]
    assert sum(marked) <= 9  # a Poisson variable of mean 3 is, but once in 900 times


@pytest.mark.parametrize("n_new", [20, 200])
def test_what_the_index_is_by_chance(n_new):
    rng, p = np.random.default_rng(n_new), np.full(10, 0.1)
    draws = [rng.multinomial(n_new, p) / n_new for _ in range(2000)]
    found = np.mean([drift.stability_index(p, q, n_new) for q in draws])
    expected = drift.expected_index(p, p, 1e9, n_new)
    assert found == pytest.approx(expected, rel=0.25)


def test_the_test_is_that_of_scipy():
    counts = np.array([[40, 60, 100], [30, 25, 80]])
    n, m = counts.sum(axis=1)
    expected = chi2_contingency(counts, correction=False).pvalue
    assert drift.same_shares_p_value(counts[0] / n, counts[1] / m, n, m) == pytest.approx(expected)
    # The last bin is so small that it is counted with the one before.
    small = np.array([[40, 60, 97, 3], [30, 25, 79, 1]])
    expected = chi2_contingency([[40, 60, 100], [30, 25, 80]], correction=False).pvalue
    assert drift.same_shares_p_value(small[0] / n, small[1] / m, n, m) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["squared_error", "binary", "multiclass", "poisson, rank"])
def test_counts_of_pieces_add_up(kind):
    case = zoo.case(kind)
    fitted = case.model.model_
    whole = drift.count_rows(fitted, case.table)
    cut = [drift.count_rows(fitted, case.table[k::3]) for k in range(3)]
    added = cut[0] + cut[1] + cut[2]
    assert added.rows == whole.rows
    for mine, its in zip((added.leaves, *added.bins), (whole.leaves, *whole.bins), strict=True):
        np.testing.assert_allclose(mine, its)
    assert len(drift.compared(fitted, whole).watched) == len(fitted.histograms) + 1


def test_weights_of_the_fit_do_not_matter(model):
    """Neither those of rows, nor of classes, nor exposures: new rows have none, or others."""
    rng = np.random.default_rng(4)
    table = rows(rng, 2000)
    y = table["a"] + rng.normal(size=2000)
    weight = np.where(table["kind"] == "x", 0.1, 3.0)
    weighted = ModelTreeRegressor(n_jobs=1).fit(table, y, sample_weight=weight)
    balanced = ModelTreeClassifier(n_jobs=1, class_weight="balanced").fit(table, y > 1.5)
    exposed = ModelTreeRegressor(loss="poisson", n_jobs=1).fit(
        table.assign(years=weight), rng.poisson(weight), exposure="years"
    )
    beside = ModelTreeRegressor(loss="poisson", n_jobs=1).fit(
        table, rng.poisson(weight), exposure=weight
    )
    for estimator, X in (
        (weighted, table), (balanced, table), (exposed, table.assign(years=weight)), (beside, table)
    ):  # fmt: skip
        found = glassleaf.monitor(estimator, X)
        assert max(own.psi for own in found.watched) < 1e-9
        assert found.not_compared == () and len(found.watched) == N_COLUMNS + 2


def test_calibration_and_other_lengths_do_not_look_like_drift():
    rng = np.random.default_rng(6)
    table = rows(rng, 4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-table["a"] - 2 * (table["kind"] == "x")))
    estimator = ModelTreeClassifier(n_jobs=1, positive_class=False).fit(table[:3000], y[:3000])
    before = glassleaf.monitor(estimator, table[3000:]).watched[0]
    assert before.name == "P(False)" and before.level == 0
    estimator.calibrate(table[3000:], y[3000:])
    after = glassleaf.monitor(estimator, table[3000:]).watched[0]
    assert after.psi == pytest.approx(before.psi, abs=0.01)
    short = estimator.at(numbers=3)
    assert glassleaf.monitor(short, table).not_compared == ("the score",)


def test_a_model_without_histograms_is_refused(model):
    estimator, table = model
    older = ModelTreeRegressor()
    older.model_ = replace(estimator.model_, histograms=None)
    with pytest.raises(GlassleafError, match="does not say how its training rows"):
        glassleaf.monitor(older, table)
    with pytest.raises(ValueError, match="no rows"):
        glassleaf.monitor(estimator, table[:0])
