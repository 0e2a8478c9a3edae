"""Exposures and offsets: the same fit as with rates and weights, and predictions that know them."""

import json

import needed
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import zoo
from partitions import assert_same_tree
from scipy import sparse
from sklearn.linear_model import PoissonRegressor

import glassleaf
from glassleaf import (
    ModelTreeRegressor,
    explain,
    inference,
    learning_curve,
    losses,
    optimism,
    reasons,
    relativities,
    shap_values,
    stability,
)
from glassleaf.errors import ExportError, ModelFileError
from glassleaf.export import to_scorecard
from glassleaf.tree.file import model_file
from glassleaf.tree.scorer import load_scorer

# A plain generalized linear model.
PLAIN = {
    "max_depth": 0, "alpha": 0, "leaf_transform": "none", "curves": False, "clamp": False,
    "max_numbers": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def claims():
    """Policies of unequal length, the claims on them, their costs and what a tariff says."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"age": rng.uniform(18, 80, 3000), "power": rng.integers(4, 12, 3000) * 1.0})
    X["region"] = rng.choice(["north", "south", "west"], 3000)
    years, tariff = rng.uniform(0.1, 1.5, 3000), rng.normal(scale=0.5, size=3000)
    rate = np.exp(
        -1 + 0.02 * (50 - X["age"]) * (X["region"] == "north") + 0.1 * X["power"] + tariff
    )
    counts = rng.poisson(years * rate)
    costs = np.array([rng.gamma(1.5, 100.0, k).sum() for k in counts])
    return X, years, tariff, counts, costs


def test_an_exposure_is_a_rate_and_its_weight(claims):
    X, years, _, counts, _ = claims
    for settings in ({}, {"max_numbers": None}, {"max_leaf_nodes": "auto"}):
        model = ModelTreeRegressor(loss="poisson", **settings).fit(X, counts, exposure=years)
        rates = ModelTreeRegressor(loss="poisson", **settings)
        rates.fit(X, counts / years, sample_weight=years)
        np.testing.assert_array_equal(model.predict(X), rates.predict(X))
        np.testing.assert_allclose(
            model.predict(X, exposure=years), years * rates.predict(X), rtol=1e-12
        )


def test_columns_and_arrays_are_the_same_and_no_features(claims):
    X, years, tariff, counts, _ = claims
    table = X.assign(years=years, tariff=tariff)
    by_name = ModelTreeRegressor(loss="poisson")
    by_name.fit(table, counts, exposure="years", offset="tariff")
    by_array = ModelTreeRegressor(loss="poisson").fit(X, counts, exposure=years, offset=tariff)
    expected = by_array.predict(X, exposure=years, offset=tariff)
    np.testing.assert_array_equal(by_name.predict(table), expected)
    np.testing.assert_array_equal(by_name.predict(table, exposure="years"), expected)
    np.testing.assert_array_equal(by_name.apply(table), by_array.apply(X))
    whole = X.assign(exposure=years, offset=tariff)  # as exports know it
    np.testing.assert_array_equal(by_array.predict(whole), expected)
    longer = by_name.predict(table, exposure=2 * years)
    np.testing.assert_allclose(longer, 2 * expected, rtol=1e-12)
    assert by_array.n_features_in_ == 3 and list(by_array.feature_names_in_) == list(X.columns)
    assert by_name.n_features_in_ == 5
    for name in ("years", "tariff"):
        assert explain(by_name).importance.get(name, 0.0) == 0.0


@pytest.mark.parametrize("kind", ["array", "sparse", "polars", "arrow", "objects"])
def test_tables_of_every_kind(claims, kind):
    X, years, _, counts, _ = claims
    numbers = X[["age", "power"]]
    make = {
        "array": pd.DataFrame.to_numpy, "sparse": sparse.csr_array, "polars": pl.from_pandas,
        "arrow": pa.Table.from_pandas, "objects": lambda X: X.to_numpy(dtype=object),
    }[kind]  # fmt: skip
    expected = ModelTreeRegressor(loss="poisson").fit(numbers, counts, exposure=years)
    table = make(numbers)
    found = ModelTreeRegressor(loss="poisson").fit(table, counts, exposure=years)
    np.testing.assert_allclose(
        found.predict(table, exposure=years), expected.predict(numbers, exposure=years), rtol=1e-9
    )
    shuffled = numbers.sample(frac=1, random_state=0)  # its index is not 0, 1, ...
    again = ModelTreeRegressor(loss="poisson").fit(
        shuffled, counts[shuffled.index], exposure=years[shuffled.index]
    )
    np.testing.assert_allclose(again.predict(numbers), expected.predict(numbers), rtol=1e-2)


@pytest.mark.parametrize("loss", ["poisson", losses.Tweedie(1.6), "gamma"])
def test_an_offset_is_that_of_glum(claims, loss):
    glum = needed.module("glum")
    X, years, tariff, counts, costs = claims
    numbers = X[["age", "power"]].to_numpy()
    y = {"poisson": counts, "gamma": costs + 1.0}.get(loss, costs)
    power = {"poisson": 1, "gamma": 2}.get(loss, 1.6)
    family = glum.TweedieDistribution(power)
    own = {"alpha": 0, "link": "log", "gradient_tol": 1e-10}
    expected = glum.GeneralizedLinearRegressor(family=family, **own).fit(numbers, y, offset=tariff)
    model = ModelTreeRegressor(loss=loss, **PLAIN).fit(numbers, y, offset=tariff)
    np.testing.assert_allclose(model.tree_.coef[0, :2], expected.coef_, rtol=1e-5)
    np.testing.assert_allclose(
        model.predict(numbers, offset=tariff), expected.predict(numbers, offset=tariff), rtol=1e-6
    )
    rates = glum.GeneralizedLinearRegressor(family=family, **own)
    rates.fit(numbers, y / years, sample_weight=years)
    model = ModelTreeRegressor(loss=loss, **PLAIN).fit(numbers, y, exposure=years)
    np.testing.assert_allclose(model.tree_.coef[0, :2], rates.coef_, rtol=1e-5)


def test_an_exposure_is_that_of_sklearn(claims):
    X, years, _, counts, _ = claims
    numbers = X[["age", "power"]].to_numpy()
    expected = PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000)
    expected.fit(numbers, counts / years, sample_weight=years)
    model = ModelTreeRegressor(loss="poisson", **PLAIN).fit(numbers, counts, exposure=years)
    np.testing.assert_allclose(model.predict(numbers), expected.predict(numbers), rtol=1e-5)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
def test_an_offset_of_numbers_is_a_shift(claims, loss):
    X, _, tariff, _, costs = claims
    model = ModelTreeRegressor(loss=loss).fit(X, costs, offset=100 * tariff)
    rest = ModelTreeRegressor(loss=loss).fit(X, costs - 100 * tariff)
    np.testing.assert_array_equal(model.predict(X), rest.predict(X))
    found = model.predict(X, offset=100 * tariff)
    np.testing.assert_allclose(found, rest.predict(X) + 100 * tariff)


def test_backends_agree(claims, tmp_path):
    X, years, tariff, counts, _ = claims
    table = X.assign(years=years, tariff=tariff)
    pa.parquet.write_table(pa.Table.from_pandas(table.assign(y=counts)), tmp_path / "1.parquet")
    known = {"exposure": "years", "offset": "tariff"}
    local = ModelTreeRegressor(loss="poisson").fit(table, counts, **known)
    streamed = ModelTreeRegressor(loss="poisson", backend="stream").fit(tmp_path, "y", **known)
    assert_same_tree(streamed.tree_, local.tree_)
    np.testing.assert_allclose(streamed.predict(table), local.predict(table), rtol=1e-9)
    with pytest.raises(TypeError, match="must be the name of a column"):
        ModelTreeRegressor(loss="poisson").fit(tmp_path, "y", exposure=years)


def test_partitions_agree(claims):
    dask = needed.module("dask.dataframe")
    X, years, _, counts, _ = claims
    table = X.assign(years=years, y=counts)
    local = ModelTreeRegressor(loss="poisson").fit(X.assign(years=years), counts, exposure="years")
    parts = dask.from_pandas(table, npartitions=2)
    found = ModelTreeRegressor(loss="poisson", backend="dask").fit(parts, "y", exposure="years")
    assert_same_tree(found.tree_, local.tree_)
    lazy = found.predict(parts[["age", "power", "region", "years"]]).compute()
    np.testing.assert_allclose(lazy, local.predict(X.assign(years=years)), rtol=1e-9)
    with pytest.raises(TypeError, match="columns of X"):
        found.predict(parts, exposure=years)


@pytest.mark.parametrize(
    "kind", [kind for kind in zoo.KINDS if "exposure" in kind or "offset" in kind]
)
def test_contributions_add_up(kind):
    case = zoo.case(kind)
    few = case.table.iloc[:60]
    for background in (None, case.table.iloc[100:200]):
        for row, raw in zip(
            explain(case.model, few, background=background), case.raw, strict=False
        ):
            total = row.reference + sum(row.contributions.values()) + row.limited
            assert total == pytest.approx(raw, rel=1e-9, abs=1e-9)
    values = shap_values(case.model, few, case.table.iloc[100:200])
    total = values.base_values + values.values.sum(axis=1) + values.limited
    np.testing.assert_allclose(total, case.raw[:60], rtol=1e-9, atol=1e-9)
    known = {case.model.tree_.columns[o.column].name for o in case.model.tree_.offsets}
    for named in reasons(case.model, few, background=case.table.iloc[100:200]):
        assert not known & {reason.feature for reason in named}


def test_pages_and_files_know_the_exposure(claims, tmp_path):
    X, years, _, counts, _ = claims
    table = X.assign(years=years)
    model = ModelTreeRegressor(loss="poisson").fit(table, counts, exposure="years")
    said = "Every score then adds log(years)."
    assert said in model.export_text()
    escaped = said.replace("(", r"\(").replace(")", r"\)")
    assert escaped in glassleaf.model_card(model)
    report = model.report(table, counts)
    assert escaped in report.markdown()
    scores = {score["name"]: score for score in json.loads(report.json())["scores"]}
    assert scores["Predicted / actual"]["value"] == pytest.approx(1.0, abs=0.05)
    assert scores["Predicted / actual"]["baseline"] == pytest.approx(1.0, abs=0.05)
    assert scores["D²"]["baseline"] > 0.0  # it knows the exposure
    model.save(tmp_path / "model.json")
    again = glassleaf.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    np.testing.assert_array_equal(
        again.at(numbers=5).predict(table), model.at(numbers=5).predict(table)
    )
    scorer = load_scorer(tmp_path / "model.json")
    row = table.iloc[0].to_dict()
    assert scorer(row) == pytest.approx(model.predict(table)[0], rel=1e-12)
    for wrong in (None, 0.0, -1.0):
        with pytest.raises(ValueError, match="'years' must be a number > 0"):
            scorer(row | {"years": wrong})


def test_an_offset_in_a_file_is_checked(claims, tmp_path):
    X, years, _, counts, _ = claims
    model = ModelTreeRegressor(loss="poisson").fit(X, counts, exposure=years)
    model.save(tmp_path / "model.json")
    given = json.loads((tmp_path / "model.json").read_text())
    own = {"column": 3, "is_exposure": True, "is_extra": True}
    assert given["offsets"] == [own]
    for wrong, words in (
        ([own | {"column": 2}], "is no number"),
        ([own | {"column": 4}], "out of range"),
        ([own | {"column": 0}], "not at the end"),
        ([own, own], "two exposures"),
    ):
        with pytest.raises(ModelFileError, match=words):
            model_file.parse(json.dumps(given | {"offsets": wrong}))
    with pytest.raises(ModelFileError, match="only with a log link"):
        model_file.parse(json.dumps(given | {"loss": {"name": "squared_error"}}))


def test_wrong_exposures_say_what_is_wrong(claims):
    X, years, tariff, counts, _ = claims
    poisson = ModelTreeRegressor(loss="poisson")
    for wrong in (np.where(years > 1, 0.0, years), np.where(years > 1, np.nan, years)):
        with pytest.raises(ValueError, match="exposure must be a number > 0 in every row; row"):
            poisson.fit(X, counts, exposure=wrong)
        with pytest.raises(ValueError, match=r"exposure, the column 'years', must be a number > 0"):
            poisson.fit(X.assign(years=wrong), counts, exposure="years")
    with pytest.raises(ValueError, match="one finite number for each of the 3000 rows"):
        poisson.fit(X, counts, exposure=years[:-1])
    with pytest.raises(ValueError, match="offset names the column 'none', which X does not have"):
        poisson.fit(X, counts, offset="none")
    with pytest.raises(TypeError, match="'region', which does not hold numbers"):
        poisson.fit(X, counts, exposure="region")
    with pytest.raises(ValueError, match="both name 'power'"):
        ModelTreeRegressor(loss="poisson", categorical_features=["power"]).fit(
            X.drop(columns="region"), counts, exposure="power"
        )
    with pytest.raises(ValueError, match="Drop the column, or say exposure='exposure'"):
        poisson.fit(X.assign(exposure=years), counts, exposure=years)
    with pytest.raises(ValueError, match="exposure needs a loss with a log link"):
        ModelTreeRegressor().fit(X, counts, exposure=years)
    without = ModelTreeRegressor(loss="poisson").fit(X, counts)
    with pytest.raises(ValueError, match="offset is given, but the model was fitted without"):
        without.predict(X, offset=tariff)
    named = ModelTreeRegressor(loss="poisson").fit(X.assign(e=years), counts, exposure="e")
    with pytest.raises(ValueError, match="exposure='years': the model was fitted with 'e'"):
        named.predict(X.assign(e=years), exposure="years")
    with pytest.raises(ValueError, match=r"exposure, the column 'e', must be a number > 0"):
        named.predict(X.assign(e=0.0))


def test_an_honest_model_is_that_of_rates(claims):
    X, years, _, counts, _ = claims
    table = X.assign(years=years)
    given = {"loss": "poisson", "honest": 0.5, "max_numbers": None}
    model = ModelTreeRegressor(**given).fit(table, counts, exposure="years")
    names = list(X.columns)
    rates = ModelTreeRegressor(**given, split_features=names, leaf_features=names)
    rates.fit(table, counts / years, sample_weight=years)
    np.testing.assert_allclose(model.predict(table), years * rates.predict(table), rtol=1e-9)


def test_a_rate_book_is_that_of_rates(claims):
    X, years, tariff, counts, _ = claims
    table = X.assign(years=years)
    model = ModelTreeRegressor(loss="poisson").fit(table, counts, exposure="years")
    rates = ModelTreeRegressor(loss="poisson").fit(X, counts / years, sample_weight=years)
    book, expected = relativities(model, table, counts), relativities(rates, X, counts, years)
    np.testing.assert_allclose(book.rate(table), expected.rate(X), rtol=1e-12)
    assert book.rounding == pytest.approx(expected.rounding, rel=1e-6)
    for own, other in zip(book.rows(), expected.rows(), strict=True):
        assert own == pytest.approx(other)
    with pytest.raises(ExportError, match="fitted with offset"):
        relativities(ModelTreeRegressor(loss="poisson").fit(X, counts, offset=tariff), X, counts)


@pytest.mark.parametrize("numbers", [None, "auto"])
def test_a_scorecard_adds_the_exposure(claims, numbers):
    X, years, _, counts, _ = claims
    table = X.assign(years=years)
    model = ModelTreeRegressor(loss="poisson", max_numbers=numbers)
    model.fit(table, counts, exposure="years")
    card = to_scorecard(model, table, counts, integer=False, base_score=0, base_odds=1, pdo=1)
    np.testing.assert_allclose(card.score(table), np.log2(model.predict(table)), atol=1e-9)
    assert card.rounding < 1e-9


# --- statistics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nonrobust", "HC1", "cluster"])
@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie"])
def test_inference_is_that_of_statsmodels(claims, loss, kind):
    sm = needed.module("statsmodels.api")
    X, years, tariff, counts, costs = claims
    numbers = X[["age", "power"]]
    y = {"squared_error": costs, "poisson": counts, "gamma": costs + 1.0}.get(loss, costs)
    known = {"exposure": years, "offset": tariff} if loss == "poisson" else {"offset": tariff}
    model = ModelTreeRegressor(loss=loss, **PLAIN).fit(numbers, y, **known)
    groups = np.arange(len(y)) // 4
    given = {"nonrobust": {"robust": None}, "HC1": {}, "cluster": {"groups": groups}}[kind]
    with pytest.warns(UserWarning, match="grown on these rows"):
        found = inference(model, numbers, y, honest=False, **known, **given)
    design, errors = sm.add_constant(numbers), {"cov_type": kind}
    if kind == "cluster":
        errors["cov_kwds"] = {"groups": groups}
    if loss == "squared_error":
        by_others = sm.OLS(y - tariff, design).fit(**errors)
    else:
        log = sm.families.links.Log()
        family = {
            "poisson": sm.families.Poisson(), "gamma": sm.families.Gamma(log),
            "tweedie": sm.families.Tweedie(log, 1.5),
        }[loss]  # fmt: skip
        by_others = sm.GLM(y, design, family, **known).fit(tol=1e-13, maxiter=200, **errors)
    order = ["constant" if name == "const" else name for name in design]
    own = found.set_index("term").loc[order]
    np.testing.assert_allclose(own["estimate"], by_others.params, rtol=1e-6)
    np.testing.assert_allclose(own["standard error"], by_others.bse, rtol=1e-6)
    assert "Every score adds" in found.attrs["notes"][1]


def test_inference_of_a_tree_with_exposure_is_that_of_rates(claims):
    X, years, _, counts, _ = claims
    model = ModelTreeRegressor(loss="poisson", honest=0.5).fit(X, counts, exposure=years)
    found = inference(model, X, counts, exposure=years)
    assert "1,4" in found.attrs["notes"][0] or "1,5" in found.attrs["notes"][0]  # those set aside
    by_name = ModelTreeRegressor(loss="poisson", honest=0.5)
    table = X.assign(exposure=years)
    named = inference(by_name.fit(table, counts, exposure="exposure"), table, counts)
    np.testing.assert_allclose(
        found.select_dtypes("number"), named.select_dtypes("number"), rtol=1e-9
    )
    with pytest.raises(ValueError, match="fitted with exposure: give exposure of these rows"):
        inference(model, X, counts)
    with pytest.raises(ValueError, match="exposure is the column 'exposure' of X"):
        inference(by_name, table, counts, exposure=years)


@pytest.mark.parametrize("known", ["exposure", "offset"])
def test_intervals_know_what_is_known(claims, known, tmp_path):
    X, years, _, _, _ = claims
    rng = np.random.default_rng(0)
    mean = np.exp(0.03 * X["age"]) * (years if known == "exposure" else np.exp(years))
    counts = rng.poisson(mean)
    table = X.assign(years=years)
    model = ModelTreeRegressor(loss="poisson").fit(table[:1000], counts[:1000], **{known: "years"})
    model.calibrate(table[1000:2000], counts[1000:2000])
    new, true = table[2000:], counts[2000:]
    ends = model.predict_interval(new, coverage=0.9)
    inside = (ends[:, 0] <= true) & (true <= ends[:, 1])
    assert 0.86 < inside.mean() < 0.94
    for some in (new["years"] < 0.6, new["years"] > 1.0):  # not only on average
        assert 0.83 < inside[some].mean() < 0.97
    array = ModelTreeRegressor(loss="poisson")
    array.fit(X[:1000], counts[:1000], **{known: years[:1000]})
    array.calibrate(X[1000:2000], counts[1000:2000], **{known: years[1000:2000]})
    np.testing.assert_array_equal(array.predict_interval(X[2000:], **{known: years[2000:]}), ends)
    with pytest.raises(ValueError, match=f"fitted with {known}: give {known}"):
        array.calibrate(X[1000:2000], counts[1000:2000])
    model.save(tmp_path / "model.json")
    again = glassleaf.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_interval(new), ends)
    scorer = load_scorer(tmp_path / "model.json")
    np.testing.assert_allclose(scorer.predict_interval(new.iloc[0].to_dict()), ends[0], rtol=1e-12)


def test_calibration_on_rows_of_the_fit_is_noticed(claims):
    X, years, _, counts, _ = claims
    model = ModelTreeRegressor(loss="poisson").fit(X, counts, exposure=years)
    with pytest.warns(UserWarning, match="the rows of the fit"):
        model.calibrate(X, counts, exposure=years)


def test_trees_grown_again_are_those_of_rates(claims):
    X, years, _, counts, _ = claims
    model = ModelTreeRegressor(loss="poisson").fit(X, counts, exposure=years)
    rates = ModelTreeRegressor(loss="poisson").fit(X, counts / years, sample_weight=years)
    found = stability(model, X, counts, n=5, exposure=years)
    expected = stability(rates, X, counts / years, n=5, sample_weight=years)
    assert found.thresholds == expected.thresholds and found.leaves == expected.leaves
    assert found.columns == expected.columns
    assert 0 < found.median_move < 1


def test_models_fitted_again_know_the_exposure(claims):
    X, years, _, counts, _ = claims
    short = ModelTreeRegressor(loss="poisson", max_depth=1)
    by_array = short.fit(X, counts, exposure=years)
    found = optimism(by_array, X, counts, n=2, exposure=years)
    deviance = next(own for own in found if own.score == "D²")
    by_name = ModelTreeRegressor(loss="poisson", max_depth=1)
    by_name.fit(X.assign(e=years), counts, exposure="e")
    assert optimism(by_name, X.assign(e=years), counts, n=2) == found
    assert deviance.apparent == pytest.approx(by_name.score(X.assign(e=years), counts))
    curve = learning_curve(by_array, X, counts, n=1, shares=(1.0,), exposure=years)
    assert curve.points[0].training == pytest.approx(deviance.apparent, abs=0.05)


def test_a_report_notices_the_rows_of_the_fit(claims):
    X, years, tariff, counts, _ = claims
    table = X.assign(years=years, tariff=tariff)
    model = ModelTreeRegressor(loss="poisson").fit(table, counts, exposure="years", offset="tariff")
    samples = {"all": (table, counts), "half": (table[:1500], counts[:1500])}
    found = model.report(samples).contents.validation.samples
    assert [own.seen for own in found] == [True, False]
