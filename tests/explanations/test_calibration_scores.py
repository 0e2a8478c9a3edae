"""Calibration slope and intercept against statsmodels, parts of the Brier score, net benefit."""

import needed
import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from glassleaf.explanations import scores
from glassleaf.explanations.scores import calibration

sm = needed.module("statsmodels.api")


@pytest.fixture(params=["equal weights", "weights"])
def w(request, rng):
    return np.ones(400) if request.param == "equal weights" else rng.gamma(1.0, size=400)


def rows(loss, rng):
    """Outcomes, and predictions that are too extreme and too low."""
    score = rng.normal(size=400)
    if loss == "class":
        return (rng.uniform(size=400) < expit(0.4 + 0.6 * score)).astype(int), expit(score)
    if loss == "poisson":
        return rng.poisson(np.exp(0.4 + 0.6 * score)).astype(float), np.exp(score)
    if loss == "gamma":
        return rng.gamma(2.0, np.exp(0.4 + 0.6 * score)), np.exp(score)
    return 400 + 60 * score + 30 * rng.normal(size=400), 100 * score


FAMILIES = {
    "class": (sm.families.Binomial(), logit),
    "poisson": (sm.families.Poisson(), np.log),
    "gamma": (sm.families.Gamma(sm.families.links.Log()), np.log),
    "squarederror": (sm.families.Gaussian(), np.asarray),
}


@pytest.mark.parametrize("loss", FAMILIES)
def test_slope_and_intercept_are_those_of_statsmodels(loss, w, rng):
    y, p = rows(loss, rng)
    family, link = FAMILIES[loss]
    score = link(p)

    def theirs(columns, offset=None):
        model = sm.GLM(y, columns, family=family, offset=offset, freq_weights=w)
        return model.fit(tol=1e-12, maxiter=200)

    found = calibration.calibration_slope(loss, y, p, w)
    assert found == pytest.approx(theirs(sm.add_constant(score)).params[1], rel=1e-6)
    found = calibration.calibration_intercept(loss, y, p, w)
    assert found == pytest.approx(theirs(np.ones(400), score).params[0], rel=1e-6)


@pytest.mark.parametrize("loss", FAMILIES)
def test_their_errors_are_the_robust_ones(loss, rng):
    y, p = rows(loss, rng)
    family, link = FAMILIES[loss]
    theirs = sm.GLM(y, sm.add_constant(link(p)), family=family).fit(cov_type="HC0", tol=1e-12)
    own = calibration.calibration_slope_influence(loss, y, p, np.ones(400))
    found = scores.standard_error(own) * np.sqrt(399 / 400)
    if loss == "gamma":  # the Hessian as it is, theirs is the expected one
        assert found == pytest.approx(theirs.bse[1], rel=0.05)
    else:
        assert found == pytest.approx(theirs.bse[1], rel=1e-6)


@pytest.mark.parametrize("loss", FAMILIES)
@pytest.mark.parametrize("what", ["slope", "intercept"])
def test_their_errors_are_those_of_the_bootstrap(loss, what, w, rng):
    y, p = rows(loss, rng)
    score = getattr(calibration, f"calibration_{what}")
    influence = getattr(calibration, f"calibration_{what}_influence")
    some = rng.integers(0, 400, size=(400, 400))
    drawn = np.std([score(loss, y[k], p[k], w[k]) for k in some])
    found = scores.standard_error(influence(loss, y, p, w))
    assert found == pytest.approx(drawn, rel=0.2)


def test_what_has_no_slope():
    y, ones = np.array([0, 1, 0, 1]), np.ones(4)
    assert np.isnan(calibration.calibration_slope("class", y, np.full(4, 0.3), ones))
    separated = np.array([0.1, 0.9, 0.2, 0.8])
    assert np.isnan(calibration.calibration_slope("class", y, separated, ones))
    assert np.isnan(calibration.calibration_intercept("class", np.zeros(4), separated, ones))
    assert calibration.calibration_intercept("class", y, separated, ones) == pytest.approx(0.0)
    assert np.isnan(calibration.calibration_slope("poisson", np.zeros(4), separated, ones))


# --- the Brier score -----------------------------------------------------------------------------


def test_parts_of_the_brier_score(w, rng):
    y, one = rows("class", rng)
    one = one.round(2)  # with ties
    p = np.column_stack([1 - one, one])
    reliability, resolution, uncertainty = scores.brier_parts(y, p, w)
    assert reliability - resolution + uncertainty == pytest.approx(scores.brier(y, p, w))
    fitted = IsotonicRegression().fit(one, y, sample_weight=w).predict(one)
    mean = np.average(y, weights=w)
    # Murphy's parts of the recalibrated forecast, which has its outcome's mean wherever it is flat.
    assert resolution == pytest.approx(np.average((fitted - mean) ** 2, weights=w))
    assert uncertainty == pytest.approx(mean * (1 - mean))
    assert 0 < reliability < scores.brier(y, p, w)


def test_parts_of_a_forecast_with_few_values_are_murphys():
    """Outcomes that rise with the forecast are their own isotonic regression."""
    one = np.repeat([0.1, 0.5, 0.8], 10)
    y = np.concatenate([np.arange(10) < k for k in (2, 4, 7)]).astype(int)
    share, mean = np.repeat([0.2, 0.4, 0.7], 10), 13 / 30
    found = scores.brier_parts(y, np.column_stack([1 - one, one]), np.ones(30))
    expected = [np.mean((one - share) ** 2), np.mean((share - mean) ** 2), mean * (1 - mean)]
    np.testing.assert_allclose(found, expected)


def test_a_row_of_weight_zero_has_no_part(rng):
    y, one = rows("class", rng)
    p, w = np.column_stack([1 - one, one]), np.where(np.arange(400) % 3, 1.0, 0.0)
    used = w > 0
    found = scores.brier_parts(y, p, w)
    np.testing.assert_allclose(found, scores.brier_parts(y[used], p[used], w[used]))


# --- net benefit ---------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.01, 0.2, 0.5, 0.9])
def test_net_benefit_by_its_definition(threshold, w, rng):
    y, p = rows("class", rng)
    taken = p >= threshold
    hits = (w * (taken & (y == 1))).sum() / w.sum()
    false = (w * (taken & (y == 0))).sum() / w.sum()
    expected = hits - false * threshold / (1 - threshold)
    assert scores.net_benefit(y == 1, p, w, threshold) == pytest.approx(expected)
