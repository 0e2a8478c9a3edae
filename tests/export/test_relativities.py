"""Rate books: their lines multiplied by hand, and what is counted in each."""

import csv
import io

import needed
import numpy as np
import pandas as pd
import pytest

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, relativities
from glassleaf.errors import ExportError


@pytest.fixture
def policies(rng):
    """Claims that rise with power, by region, and among the young with power once more."""
    n = 6000
    X = pd.DataFrame({"age": rng.integers(18, 80, n), "power": rng.integers(4, 15, n)})
    X["region"] = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    exposure = rng.uniform(0.1, 1.0, n)
    score = -1.0 + 0.1 * X["power"] + 0.5 * (X["region"] == "south")
    score += np.where(X["age"] < 30, 0.12 * (X["power"] - 4), 0.0)
    return X, rng.poisson(exposure * np.exp(score)), exposure


@pytest.fixture
def model(policies):
    X, claims, exposure = policies
    found = ModelTreeRegressor(loss="poisson", max_numbers=14, split_features=["age"])
    return found.fit(X, claims / exposure, sample_weight=exposure)


def by_hand(book, model, X):
    """The product of all lines that hold, within the ends that the line "rate" names."""
    nodes = model.decision_path(X).toarray().astype(bool)
    out = np.ones(len(X))
    for rate in book.rates:
        held = nodes[:, rate.node] & (holds(rate, book, X) if rate.factor else True)
        out[held] *= rate.relativity
    (ends,) = [rate for rate in book.rates if rate.level.startswith("rate ")]
    assert ends.relativity == 1.0
    return np.clip(out, ends.above, ends.up_to)


def holds(rate, book, X):
    values = X[rate.factor]
    if rate.level == "missing":
        return values.isna().to_numpy()
    if rate.factor == "region":
        written = "= " + values
        own = [r.level for r in book.rates if (r.node, r.factor) == (rate.node, "region")]
        named = written.isin(own) if rate.level == "any other" else written == rate.level
        return (~named if rate.level == "any other" else named).to_numpy()
    low = -np.inf if rate.above is None else rate.above
    high = np.inf if rate.up_to is None else rate.up_to
    return ((values > low) & (values <= high)).to_numpy()


def test_lines_multiply_to_rates_near_the_model(policies, model):
    X, claims, exposure = policies
    book = relativities(model, X, claims, exposure)
    rates, known = by_hand(book, model, X), model.predict(X)
    np.testing.assert_allclose(book.rate(X), rates, rtol=1e-9)
    assert book.rounding == pytest.approx(np.abs(rates / known - 1).max())
    assert book.rounding < 0.15
    assert np.average(rates, weights=exposure) == pytest.approx(
        np.average(known, weights=exposure), rel=0.02
    )


def test_lines_are_counted_by_hand(policies, model):
    X, claims, exposure = policies
    book = relativities(model, X, claims, exposure)
    nodes, known = model.decision_path(X).toarray().astype(bool), model.predict(X)
    for rate in book.rates:
        held = nodes[:, rate.node] & (holds(rate, book, X) if rate.factor else True)
        assert rate.exposure == pytest.approx(exposure[held].sum())
        assert rate.claims == claims[held].sum()
        if held.any():
            expected = (exposure * known)[held].sum()
            assert rate.actual_expected == pytest.approx(rate.claims / expected)


def test_one_book_for_all_rows_and_what_differs(policies, model):
    X, claims, exposure = policies
    book = relativities(model, X, claims, exposure)
    segments = list(dict.fromkeys(rate.segment for rate in book.rates))
    assert segments[0] == "all rows" and any("age" in segment for segment in segments[1:])
    first = {rate.factor for rate in book.rates if rate.segment == "all rows"}
    assert {"", "power", "region"} <= first


@pytest.mark.parametrize("base", ["largest", {"power": 14, "region": "south"}])
def test_the_base_level_has_relativity_one(policies, model, base):
    X, claims, exposure = policies
    book = relativities(model, X, claims, exposure, base=base)
    for factor in ("power", "region"):
        lines = [r for r in book.rates if r.factor == factor and r.segment == "all rows"]
        (one,) = [line for line in lines if line.relativity == 1.0]
        if base == "largest":
            assert one.exposure == max(line.exposure for line in lines)
        else:
            assert holds(one, book, pd.DataFrame({factor: [base[factor]]}))[0]


def test_bands_of_ones_own(policies, model):
    X, claims, exposure = policies
    book = relativities(model, X, claims, exposure, bands={"power": [6, 10]})
    lines = [r for r in book.rates if r.factor == "power" and r.segment == "all rows"]
    assert [r.level for r in lines] == ["≤ 6", "> 6 and ≤ 10", "> 10", "missing"]
    sizes = [r.relativity for r in lines[:3]]
    assert sizes == sorted(sizes) and sizes[2] > 1


def test_files_hold_the_lines(tmp_path, policies, model):
    X, claims, exposure = policies
    book = relativities(model, X, claims, exposure)
    lines = list(csv.DictReader(io.StringIO(book.to_csv())))
    assert [float(line["relativity"]) for line in lines] == [r.relativity for r in book.rates]
    openpyxl = needed.module("openpyxl")
    book.to_excel(tmp_path / "book.xlsx")
    head, *rows = openpyxl.load_workbook(tmp_path / "book.xlsx")["rates"].values
    assert [row[head.index("level")] for row in rows] == [r.level for r in book.rates]
    page = book.to_html(tmp_path / "book.html")
    assert page.count("<tr>") == len(book.rates) + page.count("<table>")


def test_without_claims_or_exposure(policies, model):
    X = policies[0]
    book = relativities(model, X)
    assert book.rates[0].exposure == len(X)
    assert all(r.claims is None and r.actual_expected is None for r in book.rates)


def test_wrong_arguments(policies, model, rng):
    X, claims, _ = policies
    with pytest.raises(ValueError, match="exposure must have a number >= 0 for each of the 6000"):
        relativities(model, X, claims, [1.0])
    with pytest.raises(ValueError, match="base='smallest' must be 'largest'"):
        relativities(model, X, base="smallest")
    with pytest.raises(ValueError, match="'east' for 'region'"):
        relativities(model, X, base={"region": "east"})
    with pytest.raises(ValueError, match="bands=8 must be"):
        relativities(model, X, bands=8)
    other = ModelTreeClassifier(max_depth=0).fit(X, claims > 0)
    with pytest.raises(ExportError, match="log link"):
        relativities(other, X)
