"""A category is the same one in every container: it is found, or there is an error."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from whole_models import ModelTreeRegressor

from glassleaf import load_scorer
from glassleaf.errors import ExportError
from glassleaf.export import to_c, to_onnx, to_pmml, to_python, to_sql
from glassleaf.tables.reading import read_table

N = 400
CONTAINERS = {
    "numbers": lambda g: pd.DataFrame({"g": g}),
    "floats": lambda g: pd.DataFrame({"g": g.astype(float)}),
    "text": lambda g: pd.DataFrame({"g": g.astype(str)}),
    "text of floats": lambda g: pd.DataFrame({"g": g.astype(float).astype(str)}),
    "objects": lambda g: pd.DataFrame({"g": pd.Series(g.tolist(), dtype=object)}),
    "pandas categories": lambda g: pd.DataFrame({"g": pd.Categorical(g)}),
    "pandas categories of text": lambda g: pd.DataFrame({"g": pd.Categorical(g.astype(str))}),
    "arrow": lambda g: pa.table({"g": g}),
    "arrow dictionary": lambda g: pa.table({"g": pa.array(g).dictionary_encode()}),
    "arrow text": lambda g: pa.table({"g": g.astype(str)}),
    "polars": lambda g: pl.DataFrame({"g": g}),
    "polars categories": lambda g: pl.DataFrame({"g": g.astype(str)}).with_columns(
        pl.col("g").cast(pl.Categorical)
    ),
}


def fitted(container, g):
    y = np.array([0.0, 3.0, -2.0, 7.0])[g.astype(int)]
    return ModelTreeRegressor(categorical_features=["g"], max_depth=0, alpha=1e-6).fit(
        CONTAINERS[container](g), y
    )


@pytest.fixture(params=["numbers", "truths"])
def g(rng, request):
    return rng.integers(0, 4, N) if request.param == "numbers" else rng.integers(0, 2, N) == 1


@pytest.mark.parametrize("given", CONTAINERS)
@pytest.mark.parametrize("of_fit", CONTAINERS)
def test_every_container_has_the_same_categories(of_fit, given, g):
    model = fitted(of_fit, g)
    expected = model.predict(CONTAINERS[of_fit](g))
    np.testing.assert_allclose(model.predict(CONTAINERS[given](g)), expected, rtol=1e-9)


def exported(model):
    module = {}
    exec(to_python(model), module)
    return module["predict"]


SCORERS = {"scorer": lambda model: model.scorer(), "python": exported}


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("of_fit", ["numbers", "text", "text of floats", "objects"])
def test_a_scorer_follows_the_same_rule(scorer, of_fit, g):
    model = fitted(of_fit, g)
    score = SCORERS[scorer](model)
    expected = model.predict(CONTAINERS[of_fit](g[:20]))
    for one, value in zip(g[:20].tolist(), expected, strict=True):
        for written in (one, float(one), str(one), str(float(one)), str(one).lower()):
            assert score({"g": written}) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("scorer", [*SCORERS, "predict"])
def test_a_text_for_numbers_is_an_error(rng, scorer):
    model = fitted("numbers", rng.integers(0, 4, N))
    unknown = model.predict(pd.DataFrame({"g": [9]}))[0]
    score = SCORERS.get(scorer, lambda m: lambda row: m.predict(pd.DataFrame([row]))[0])(model)
    assert score({"g": "9"}) == pytest.approx(unknown)
    with pytest.raises(ValueError, match="numbers"):
        score({"g": "north"})


@pytest.mark.parametrize("scorer", [*SCORERS, "predict"])
def test_a_number_for_words_is_an_error(rng, scorer):
    X = pd.DataFrame({"g": rng.choice(["north", "south"], N)})
    model = ModelTreeRegressor().fit(X, (X["g"] == "north").to_numpy(float))
    score = SCORERS.get(scorer, lambda m: lambda row: m.predict(pd.DataFrame([row]))[0])(model)
    assert np.isfinite(score({"g": "2"}))
    for wrong in (2, 2.5, True):
        with pytest.raises(ValueError, match="text"):
            score({"g": wrong})


@pytest.mark.parametrize("scorer", [*SCORERS, "predict"])
def test_several_texts_for_a_number(rng, scorer):
    X = pd.DataFrame({"g": rng.choice(["1", "1.0", "2", "02"], N)})
    model = ModelTreeRegressor().fit(X, (X["g"] > "1").to_numpy(float))
    score = SCORERS.get(scorer, lambda m: lambda row: m.predict(pd.DataFrame([row]))[0])(model)
    assert score({"g": 2}) == pytest.approx(score({"g": "2"}))
    assert score({"g": "1.0"}) != pytest.approx(score({"g": "1"}))
    assert score({"g": "02"}) != pytest.approx(score({"g": "03"}))
    with pytest.raises(ValueError, match="text"):
        score({"g": 1})


def test_a_category_that_no_row_has_is_no_error(rng):
    X = pd.DataFrame({"g": rng.integers(0, 4, N)})
    model = ModelTreeRegressor(categorical_features=["g"]).fit(X, X["g"].to_numpy(float))
    few = pd.DataFrame({"g": pd.Categorical(["1"], categories=["1", "north"])})
    assert model.predict(few) == pytest.approx(model.predict(pd.DataFrame({"g": [1]})))


LONG = [2**53, 2**53 + 1, -(2**60), -(2**60) - 1]


@pytest.mark.parametrize(
    "container",
    [
        lambda g: pd.DataFrame({"g": g}),
        lambda g: pl.DataFrame({"g": g}),
        lambda g: pa.table({"g": g}),
        lambda g: g[:, None],
        lambda g: pd.DataFrame({"g": pd.array(g, dtype="Int64")}),
    ],
)
def test_whole_numbers_beyond_2_to_53_are_categories(rng, container, tmp_path):
    code = rng.integers(0, 4, N)
    g, y = np.array(LONG)[code], np.array([0.0, 5.0, -3.0, 9.0])[code]
    model = ModelTreeRegressor(categorical_features=[0]).fit(container(g), y)
    np.testing.assert_allclose(model.predict(container(g)), y, atol=0.1)
    model.save(tmp_path / "m.json")
    scorer = load_scorer(tmp_path / "m.json")
    for value, expected in zip(LONG, [0.0, 5.0, -3.0, 9.0], strict=True):
        for written in (value, str(value)):
            assert scorer([written]) == pytest.approx(expected, abs=0.1)
            assert exported(model)([written]) == pytest.approx(expected, abs=0.1)
    with pytest.raises(ValueError, match="beyond 2\\^53"):
        model.predict(pd.DataFrame({"g": [2.0**60]}) if model.model_.is_named else [[2.0**60]])
    for export in (to_sql, to_c, to_pmml, to_onnx):
        with pytest.raises(ExportError, match="beyond 2\\^53"):
            export(model)


def test_text_is_found_wherever_it_stands():
    values = np.full((60_001, 2), 1.0, dtype=object)
    values[:, 0] = np.arange(60_001.0)
    values[-1, 1] = "text"
    table = read_table(values)
    assert table.holds_text(1) and not table.holds_text(0)
