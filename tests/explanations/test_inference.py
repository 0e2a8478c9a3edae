"""Estimates and standard errors: those of statsmodels, on the rows that may tell them."""

import warnings

import needed
import numpy as np
import pandas as pd
import pytest
from one_regression import design, rows
from problems import KINDS, later
from problems import fitted as problem

from benchmarks.coverage import coverage
from glassleaf import ModelTreeClassifier, ModelTreeRegressor, inference, load, losses
from glassleaf.errors import GlassleafError
from glassleaf.explanations import words
from glassleaf.explanations.inference import NAIVE
from glassleaf.losses import Huber

sm = needed.module("statsmodels.api")

LOSSES = ["squared_error", "poisson", "gamma", "log_loss"]
COLUMNS = ["estimate", "standard error", "lower", "upper", "p"]


def table_of(rng, n=900):
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["r"] = rng.choice(["u", "v", "w"], n)
    return frame


def drawn(rng, frame, loss):
    """Targets with a split, a bend and a category."""
    score = 0.3 + np.where(frame["a"] > 0, 1.0, 0.2) * frame["b"] + 0.5 * frame["c"].abs()
    score += 0.5 * (frame["r"] == "u")
    return {
        "squared_error": lambda: score + np.exp(frame["b"] / 3) * rng.normal(size=len(frame)),
        "poisson": lambda: rng.poisson(np.exp(score)),
        "gamma": lambda: rng.gamma(2.0, np.exp(score)),
        "log_loss": lambda: (rng.random(len(frame)) < 1 / (1 + np.exp(-score))).astype(int),
    }[loss]()


def fitted(frame, y, loss, groups=None, **given):
    if loss == "log_loss":
        return ModelTreeClassifier(max_depth=2, **given).fit(frame, y, groups=groups)
    return ModelTreeRegressor(loss=loss, max_depth=2, **given).fit(frame, y, groups=groups)


def by_statsmodels(X, y, loss, covariance, weight=None):
    """Estimate, standard error, both ends and p of every column."""
    if loss == "squared_error":
        model = sm.OLS(y, X) if weight is None else sm.WLS(y, X, weight)
        found = model.fit(**covariance, **({"use_t": True} if covariance else {}))
    elif loss == "gamma":
        family = sm.families.Gamma(sm.families.links.Log())
        found = sm.GLM(y, X, family=family).fit(tol=1e-14, **covariance)
    else:
        model = sm.Logit if loss == "log_loss" else sm.Poisson
        found = model(y, X).fit(disp=0, tol=1e-14, maxiter=100, **covariance)
    return np.column_stack([found.params, found.bse, found.conf_int(), found.pvalues])


def quietly(*given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return inference(*given, **named)


# --- against statsmodels -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nonrobust", "HC1", "cluster"])
@pytest.mark.parametrize("loss", LOSSES)
def test_short_models_are_those_of_statsmodels(rng, loss, kind):
    frame = table_of(rng)
    y, groups = np.asarray(drawn(rng, frame, loss)), rng.integers(0, 70, len(frame))
    model = fitted(frame, y, loss, max_numbers=18)
    given = {"nonrobust": {"robust": None}, "HC1": {}, "cluster": {"groups": groups}}[kind]
    found = quietly(model, frame, y, **given)
    assert found["where"].nunique() > 1 and found["term"].str.contains(r"m..\(").any()
    asked = {
        "nonrobust": {},
        "HC1": {"cov_type": "HC1"},
        "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": groups}},
    }[kind]
    known = by_statsmodels(design(found, frame), y, loss, asked)
    np.testing.assert_allclose(found[COLUMNS], known, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["nonrobust", "HC1", "cluster"])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_leaf_of_a_whole_model_is_one_of_statsmodels(rng, loss, kind):
    frame = table_of(rng)[["a", "b", "c"]]
    frame["r"] = "u"
    y = np.asarray(drawn(rng, frame, loss))
    groups = np.searchsorted(np.sort(frame["a"]), frame["a"]) // 30  # few are in both leaves
    frame = frame[["a", "b", "c"]]
    model = fitted(frame, y, loss, max_numbers=None, curves=False, leaf_transform="none")
    given = {"nonrobust": {"robust": None}, "HC1": {}, "cluster": {"groups": groups}}[kind]
    table = quietly(model, frame, y, **given)
    assert table["where"].nunique() == model.get_n_leaves() > 1
    for number, leaf in enumerate(model.model_.leaves):
        own = table[table["where"].str.startswith(f"leaf {number + 1}:")]
        here = model.apply(frame) == leaf
        asked = {
            "nonrobust": {},
            "HC1": {"cov_type": "HC1"},
            "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": groups[here]}},
        }[kind]
        X = design(own.assign(where="all rows"), frame[here])
        known = by_statsmodels(X, y[here], loss, asked)
        np.testing.assert_allclose(own[COLUMNS], known, rtol=1e-6, atol=1e-7)


def covariance_of(kind, groups):
    return {
        "nonrobust": {},
        "HC1": {"cov_type": "HC1"},
        "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": groups}},
    }[kind]


@pytest.mark.parametrize("kind", ["nonrobust", "HC1", "cluster"])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_what_differs_is_tested_as_by_statsmodels(rng, loss, kind):
    frame = table_of(rng)
    y, groups = np.asarray(drawn(rng, frame, loss)), rng.integers(0, 70, len(frame))
    model = fitted(frame, y, loss, max_numbers=18)
    given = {"nonrobust": {"robust": None}, "HC1": {}, "cluster": {"groups": groups}}[kind]
    found = quietly(model, frame, y, **given)
    X = design(found, frame)
    own = sm.OLS(y, X) if loss == "squared_error" else sm.Poisson(y, X)
    more = {"use_t": True} if loss == "squared_error" and kind != "nonrobust" else {}
    more = more if loss == "squared_error" else {"disp": 0, "tol": 1e-14, "maxiter": 100}
    fit = own.fit(**covariance_of(kind, groups), **more)
    is_below = (found["where"] != "all rows").to_numpy()
    said = []
    for name in ["constant", *frame]:
        here = is_below & found["term"].str.contains(rf"\b{name}\b").to_numpy()
        if not here.any():
            continue
        use_f = loss == "squared_error"
        p = float(fit.wald_test(np.eye(len(found))[here], use_f=use_f, scalar=True).pvalue)
        lines = list(found["term"][here]) == [name] * here.sum()
        what = name if name == "constant" else f"{'slope' if lines else 'effect'} of {name}"
        is_so = "differs between the segments" if p < 0.05 else "may be the same in all segments"
        said.append(f"The {what} {is_so}: {words.p_value(p)}.")
    assert said and sorted(found.attrs["differences"]) == sorted(said)


def test_slopes_of_leaves_are_compared_as_by_statsmodels(rng):
    frame = table_of(rng)[["a", "b", "c"]]
    y = 0.5 * frame["c"] + np.where(frame["a"] > 0, 1.0, 0.2) * frame["b"] + rng.normal(size=900)
    groups = rng.integers(0, 70, len(frame))  # of rows in several leaves
    plain = {"max_numbers": None, "curves": False, "leaf_transform": "none"}
    model = fitted(frame, y, "squared_error", **plain)
    found = quietly(model, frame, y, groups=groups)
    fit = sm.OLS(y, design(found, frame)).fit(**covariance_of("cluster", groups), use_t=True)
    for name in frame:
        own = np.eye(len(found))[(found["term"] == name).to_numpy()]
        p = float(fit.wald_test(own[1:] - own[0], use_f=True, scalar=True).pvalue)
        said = [text for text in found.attrs["differences"] if f"slope of {name} " in text]
        assert len(said) == 1 and said[0].endswith(f"{words.p_value(p)}.")
    assert "The slope of b differs between the segments: p < 0.001." in found.attrs["differences"]


def test_weights_with_robust_errors_are_those_of_statsmodels(rng):
    frame = table_of(rng)
    y, weight = np.asarray(drawn(rng, frame, "squared_error")), rng.gamma(2.0, 1.0, len(frame))
    model = fitted(frame, y, "squared_error")
    found = quietly(model, frame, y, weight)
    known = by_statsmodels(
        design(found, frame), y, "squared_error", {"cov_type": "HC1"}, weight=weight
    )
    np.testing.assert_allclose(found[COLUMNS], known, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_robust_errors_a_row_of_weight_two_is_two_rows(rng, loss):
    frame = table_of(rng)
    y, weight = np.asarray(drawn(rng, frame, loss)), rng.integers(0, 4, len(frame))
    model = fitted(frame, y, loss)
    weighted = quietly(model, frame, y, weight, robust=None)
    place = np.repeat(np.arange(len(frame)), weight)
    copied = quietly(model, frame.iloc[place], y[place], robust=None)
    np.testing.assert_allclose(weighted[COLUMNS], copied[COLUMNS], rtol=1e-8)


@pytest.mark.parametrize("robust", [None, "HC1"])
def test_several_classes_are_those_of_statsmodels(rng, robust):
    """There, the first class has no score; here, scores sum to 0."""
    X = rng.normal(size=(1500, 2))
    score = np.column_stack([0.5 * X[:, 0], X[:, 1], -0.3 * X[:, 0]])
    y = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
    model = ModelTreeClassifier(max_depth=0, max_numbers=None, leaf_transform="none").fit(X, y)
    found = quietly(model, X, y, robust=robust)
    of_classes = found.set_index(["class", "term"])
    covariance = {"cov_type": "HC1"} if robust else {}
    known = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, tol=1e-14, **covariance)
    order = ["constant", "x0", "x1"]
    params = np.column_stack([np.zeros(3), np.asarray(known.params)])
    centered = params - params.mean(axis=1, keepdims=True)
    full = np.zeros((9, 9))  # the first class, then the others, three parameters each
    full[3:, 3:] = known.cov_params()
    to_mean = np.kron(np.eye(3) - 1 / 3, np.eye(3))
    error = np.sqrt(np.diagonal(to_mean @ full @ to_mean.T)).reshape(3, 3)
    for k in range(3):
        own = of_classes.loc[str(k)].loc[order]
        np.testing.assert_allclose(own["estimate"], centered[:, k], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(own["standard error"], error[k], rtol=1e-6)


def test_huber_with_a_wide_band_is_least_squares(rng):
    frame = table_of(rng)
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, Huber(delta=100.0))
    for robust in (None, "HC1"):
        found = quietly(model, frame, y, robust=robust)
        X = design(found, frame)
        known = by_statsmodels(X, y, "squared_error", {"cov_type": "HC1"} if robust else {})
        factor = np.sqrt(1 - X.shape[1] / len(y)) if robust else 1.0
        np.testing.assert_allclose(found["estimate"], known[:, 0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found["standard error"], factor * known[:, 1], rtol=1e-6)


@pytest.mark.parametrize("robust", [None, "HC1"])
@pytest.mark.parametrize("loss", [losses.Tweedie(1.6), losses.NegativeBinomial(0.7)])
def test_costs_and_clustered_counts_are_those_of_statsmodels(rng, loss, robust):
    frame = table_of(rng)[["b", "c"]]
    mean = np.exp(1.0 + 0.5 * frame["b"])
    y = rng.poisson(mean * rng.gamma(2.0, 0.5, len(frame))) * 1.0
    if isinstance(loss, losses.Tweedie):
        y *= rng.gamma(2.0, 1.0, len(frame))
        family = sm.families.Tweedie(sm.families.links.Log(), var_power=1.6)
    else:
        family = sm.families.NegativeBinomial(alpha=0.7)
    model = fitted(frame, y, loss, curves=False, leaf_transform="none", split_features=[])
    found = quietly(model, frame, y, robust=robust)
    asked = {"cov_type": "HC1"} if robust else {}
    known = sm.GLM(y, design(found, frame), family=family).fit(tol=1e-14, maxiter=200, **asked)
    np.testing.assert_allclose(found["estimate"], known.params, rtol=1e-6)
    np.testing.assert_allclose(found["standard error"], known.bse, rtol=1e-5)


def test_quantiles_have_no_standard_errors(rng):
    frame = table_of(rng)[["b", "c"]]
    y = frame["b"] + rng.normal(size=len(frame))
    with pytest.raises(GlassleafError, match="not supported for quantiles"):
        inference(fitted(frame, y, "quantile"), frame, y)
    with pytest.raises(ValueError, match="honest is not supported for quantiles"):
        fitted(frame, y, "quantile", honest=0.5)


def test_columns_far_from_zero_lose_no_digits(rng):
    frame = table_of(rng)
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, "squared_error", max_numbers=None, curves=False)
    far = frame.assign(b=frame["b"] + 1e6)
    moved = fitted(far, y, "squared_error", max_numbers=None, curves=False)
    here, there = (quietly(own, X, y) for own, X in ((model, frame), (moved, far)))
    slopes = here["term"] == "b"
    np.testing.assert_allclose(here[slopes][COLUMNS], there[slopes][COLUMNS], rtol=1e-6)


@pytest.mark.parametrize("numbers", [None, "auto"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_with_gaps_and_new_categories(kind, numbers):
    model, X, y = problem(kind, max_numbers=numbers)
    found = quietly(model, later(X), y)
    known = found[found["estimate"].notna()]
    assert len(known) > len(found) / 3
    assert np.isfinite(known[COLUMNS]).all().all()
    assert (known["lower"] < known["estimate"]).all() and known["p"].between(0, 1).all()
    if numbers is None:  # a short one need not name the columns with gaps
        assert any("missing" in note for note in found.attrs["notes"])


# --- what has no estimate ------------------------------------------------------------------------


def test_terms_that_follow_from_others_have_no_estimate(rng):
    frame = table_of(rng)
    frame["d"] = 2 * frame["b"] + 1
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, "squared_error", max_numbers=None, curves=False)
    found = quietly(model, frame, y)
    gone = found[found["estimate"].isna()]
    assert gone[COLUMNS].isna().all().all() and len(gone) == 2 * found["where"].nunique()
    assert sum("follows from other terms" in note for note in found.attrs["notes"]) == len(gone)
    known = found[found["estimate"].notna()]
    for where in known["where"].unique():
        own = known[known["where"] == where]
        here = rows(where, frame)
        X = design(own.assign(where="all rows"), frame[here])
        by_hand = by_statsmodels(X, y[here], "squared_error", {"cov_type": "HC1"})
        np.testing.assert_allclose(own[COLUMNS], by_hand, rtol=1e-6, atol=1e-9)


def test_few_rows_and_empty_leaves_are_said(rng):
    frame = table_of(rng)
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, "squared_error", max_numbers=None)
    few = np.flatnonzero(frame["a"] < -0.5)[:3]
    found = inference(model, frame.iloc[few], y[few])
    assert found[["standard error", "p"]].isna().all().all()
    notes = " ".join(found.attrs["notes"])
    assert "too few rows" in notes and "There are no rows in leaf" in notes


def test_classes_that_are_told_apart_have_no_finite_estimate(rng):
    X = np.column_stack([rng.normal(size=600), rng.random(600) < 0.2])
    y = (X[:, 0] + rng.logistic(size=600) > 0) | (X[:, 1] > 0)
    model = ModelTreeClassifier(max_depth=0, max_numbers=None, curves=False).fit(X, y)
    found = quietly(model, X, y)
    assert found.set_index("term")["estimate"].isna().to_dict() == {
        "constant": False, "x0": False, "x1": True,
    }  # fmt: skip
    assert any("no finite estimate" in note for note in found.attrs["notes"])
    others = quietly(model, X[X[:, 1] == 0], y[X[:, 1] == 0]).set_index("term")
    np.testing.assert_allclose(
        found.set_index("term")["estimate"]["x0"], others["estimate"]["x0"], rtol=1e-4
    )


# --- missing values ------------------------------------------------------------------------------


def test_missing_values_are_noted_or_left_out(rng):
    """Truth is 1 and 1; mean plus indicator says something else of both."""
    n = 4000
    a = rng.normal(size=n)
    b = 0.8 * a + 0.6 * rng.normal(size=n)
    y = a + b + rng.normal(size=n)
    X = pd.DataFrame({"a": np.where(rng.random(n) < 0.5, np.nan, a), "b": b})
    model = ModelTreeRegressor(max_depth=0).fit(X, y)
    biased = quietly(model, X, y).set_index("term")
    assert any("missing" in note for note in quietly(model, X, y).attrs["notes"])
    assert biased["lower"]["b"] > 1.2
    found = quietly(model, X, y, missing="complete")
    whole = found.set_index("term")
    assert any("left out" in note for note in found.attrs["notes"])
    np.testing.assert_allclose(whole["estimate"][["a", "b"]], 1.0, atol=0.12)
    assert "[a is missing]" not in whole.index


# --- honesty -------------------------------------------------------------------------------------


@pytest.mark.parametrize("honest", [True, False])
def test_rows_that_the_tree_was_grown_on_lead_to_a_warning(rng, honest):
    frame = table_of(rng)
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, "squared_error")
    with pytest.warns(UserWarning, match="too narrow"):
        found = inference(model, frame, y, honest=honest)
    assert NAIVE in found.attrs["notes"]
    other = table_of(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inference(model, other, drawn(rng, other, "squared_error"))


def test_intervals_of_honest_models_hold_and_others_do_not():
    """Seeds are fixed; benchmarks/coverage.py has more designs and runs."""
    honest, naive = (coverage("normal", 30, share) for share in (0.5, None))
    assert honest.total > 100 and naive.total > 100
    assert 0.92 < honest.share < 0.98
    assert naive.share < 0.88


def test_a_file_knows_which_rows_were_set_aside(rng, tmp_path):
    frame = table_of(rng)
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, "squared_error", honest=0.5)
    found = inference(model, frame, y)
    assert len(found.attrs["notes"]) == 1
    model.save(tmp_path / "model.json")
    order = rng.permutation(len(frame))
    again = inference(load(tmp_path / "model.json"), frame.iloc[order], y[order])
    pd.testing.assert_frame_equal(found, again, rtol=1e-9)


def test_other_rows_than_those_set_aside_are_noted(rng):
    frame = table_of(rng)
    y, groups = np.asarray(drawn(rng, frame, "squared_error")), rng.integers(0, 90, len(frame))
    model = fitted(frame, y, "squared_error", groups, honest=0.5)
    assert len(inference(model, frame, y, groups=groups).attrs["notes"]) == 1
    assert "same groups" in inference(model, frame, y).attrs["notes"][1]


# --- what is asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, message",
    [
        ({"robust": "HC3"}, "robust='HC3' must be one of 'HC1', None"),
        ({"coverage": 2.0}, "coverage=2.0 must be a number from 0 to 1"),
        ({"missing": "drop"}, "missing='drop' must be one of"),
        ({"groups": np.arange(900), "robust": None}, "groups needs robust='HC1'"),
        ({"y": np.ones(3)}, "y has 3 entries, but X has 900 rows"),
    ],
)
def test_wrong_wishes_are_named(rng, given, message):
    frame = table_of(rng)
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, "squared_error")
    with pytest.raises(ValueError, match=message):
        inference(model, frame, given.pop("y", y), **given)


def test_wider_coverage_gives_wider_intervals(rng):
    frame = table_of(rng)
    y = np.asarray(drawn(rng, frame, "squared_error"))
    model = fitted(frame, y, "squared_error", honest=0.5)
    wide, narrow = (inference(model, frame, y, coverage=share) for share in (0.99, 0.8))
    assert (wide["lower"] < narrow["lower"]).all() and (wide["upper"] > narrow["upper"]).all()
