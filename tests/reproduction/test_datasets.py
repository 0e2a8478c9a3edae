"""The evaluation data: real types, one clear message where a file is missing, OpenML."""

import sys
from urllib.error import URLError

import needed
import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from glassleaf import MissingExtraError
from reproduction import datasets
from reproduction.preparation import encoded_columns
from reproduction.printed import TABLE_1
from reproduction.sources import DataNotFoundError


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.delenv("GLASSLEAF_DATA", raising=False)

    def unreachable(**_):
        raise URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)


@pytest.fixture
def served(monkeypatch):
    """Answer as OpenML would: a frame with the target among its columns."""
    monkeypatch.delenv("GLASSLEAF_DATA", raising=False)
    frames = {}

    def fetch(*, data_id, as_frame, n_retries):
        assert as_frame
        return Bunch(frame=frames[data_id])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return frames


@needed.data
@pytest.mark.parametrize("name", datasets.PAPER)
def test_the_papers_datasets_have_the_size_that_the_paper_prints(name):
    data = datasets.PAPER[name](None)
    printed = TABLE_1[name]
    assert data.name == name
    assert len(data.X) == len(data.y)
    if name == "Bankruptcy":
        assert "years 1, 3 and 5" in data.description
    else:
        assert len(data.y) == printed.samples
    if name == "Census":  # the paper does not say which of the codes it took as numbers
        assert abs(encoded_columns(data.X) - printed.columns) < 10
    else:
        assert encoded_columns(data.X) == printed.columns
    if printed.prevalence is not None:
        assert 100 * data.y.mean() == pytest.approx(printed.prevalence, abs=0.3)
    assert "checksum as expected" in data.source or name == "Breast Cancer"


# Rows, columns, and the mean of the target.
FURTHER = {
    "Adult": (48_842, 14, 0.239),
    "Motor claims": (678_013, 9, 0.101),
    "Covertype": (581_012, 54, 2.051),
    "Motor amounts": (24_944, 9, 2266.8),
    "HELOC": (10_459, 23, 0.522),
    "Bank": (45_211, 15, 0.117),
    "California": (20_640, 8, 206_856),
    "Bike": (17_379, 12, 189.5),
    "Diamonds": (53_940, 9, 7.787),
    "Elevators": (16_599, 18, 0.0),
}


def test_every_dataset_is_known_by_its_size():
    assert set(FURTHER) == set(datasets.ALL) - set(datasets.PAPER)


@needed.data
@pytest.mark.parametrize("name", FURTHER)
def test_the_other_datasets_have_their_size_and_target(name):
    data = datasets.ALL[name](None)
    rows, columns, mean = FURTHER[name]
    assert (data.name, data.X.shape, len(data.y)) == (name, (rows, columns), rows)
    assert np.average(data.y, weights=data.weight) == pytest.approx(mean, rel=0.003, abs=1e-3)
    assert (data.task == "classification") == (data.loss == "log_loss")
    assert "checksum as expected" in data.source and "differs" not in data.source


@needed.data
def test_codes_that_mean_no_value_are_missing():
    X = datasets.heloc().X
    assert X.isna().all(axis=1).sum() == 588
    assert X.min().min() >= 0


def test_breast_cancer_needs_no_file(offline):
    data = datasets.breast_cancer()
    assert (data.X.shape, data.task, int(data.y.sum())) == ((569, 30), "classification", 212)


def test_a_missing_file_is_told_with_its_source_name_and_checksum(offline, tmp_path):
    with pytest.raises(DataNotFoundError) as caught:
        datasets.olympics(tmp_path)
    message = str(caught.value)
    for part in ("olympics.parquet", "kaggle.com", datasets.OLYMPICS.sha256, "athlete_events.csv"):
        assert part in message
    with pytest.raises(DataNotFoundError, match="--data or GLASSLEAF_DATA"):
        datasets.olympics()


def test_without_file_and_network_the_message_names_both_ways(offline, tmp_path):
    with pytest.raises(DataNotFoundError, match=r"house\.parquet.*OpenML.*could not be reached"):
        datasets.house(tmp_path)


def test_without_pandas_the_extra_is_named(monkeypatch, tmp_path):
    (tmp_path / "house.parquet").touch()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"glassleaf\[data\]"):
        datasets.house(tmp_path)


# --- OpenML ---------------------------------------------------------------------------------------


def test_adult_from_an_answer_that_openml_gave(monkeypatch):
    """scikit-learn ships recorded answers of OpenML to test itself; this is the one for Adult."""
    recorded = needed.module("sklearn.datasets.tests.test_openml")
    monkeypatch.delenv("GLASSLEAF_DATA", raising=False)
    recorded._monkey_patch_webbased_functions(monkeypatch, 1590, True)
    fetch = sklearn.datasets.fetch_openml
    monkeypatch.setattr(
        sklearn.datasets,
        "fetch_openml",
        lambda **how: fetch(**how, cache=False, parser="liac-arff"),
    )
    data = datasets.adult()
    assert data.source == "OpenML, data set 1590"
    assert data.X.shape[1] == 14
    assert set(np.unique(data.y)) <= {0, 1}
    assert str(data.X["workclass"].dtype) == "category"
    assert "?" not in data.X["workclass"].cat.categories
    assert data.X["age"].dtype.kind in "fiu"


def test_house_from_openml(served):
    served[42092] = pd.DataFrame(
        {
            "id": ["7129300520", "6414100192"],
            "date": ["20141013T000000", "20141209T000000"],
            "price": [221900.0, 538000.0],
            "bedrooms": [3, 3],
            "zipcode": pd.Categorical(["98178", "98125"]),
        }
    )
    data = datasets.house()
    assert list(data.X) == ["date", "bedrooms", "zipcode"]
    assert data.X["date"].tolist() == [0, 57]
    assert data.y == pytest.approx(np.log([221900, 538000]))


def test_credit_card_from_openml(served):
    row = [20000, 2, 2, 1, 24, *range(18)]
    frame = pd.DataFrame([row, row], columns=[f"x{k}" for k in range(1, 24)])
    served[42477] = frame.assign(y=pd.Categorical(["1", "0"]))
    data = datasets.credit_card()
    assert data.y.tolist() == [1, 0]
    assert data.X.columns[:5].tolist() == ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"]
    assert [name for name in data.X if data.X[name].dtype == "category"] == [
        "SEX",
        "EDUCATION",
        "MARRIAGE",
    ]


def test_census_from_openml(served):
    row = [None if name == "migration code-change in msa" else "1" for name in range(42)]
    row[-1] = " 50000+."
    frame = pd.DataFrame([row, [*row[:-1], "- 50000."]], columns=[f"V{k}" for k in range(1, 43)])
    frame.loc[0, "V26"] = "?"
    served[4535] = frame
    data = datasets.census()
    assert data.y.tolist() == [1, 0]
    assert data.X.shape == (2, 40)
    assert data.X["migration code-change in msa"].isna().tolist() == [True, False]
    assert data.X["age"].dtype == float


def test_motor_amounts_from_openml(served):
    served[41214] = pd.DataFrame(
        {
            "IDpol": [1.0, 2.0, 3.0],
            "ClaimNb": [0, 2, 1],
            "Exposure": [1.0, 0.5, 1.0],
            "VehGas": ["Regular", "Diesel", "Diesel"],
        }
    )
    served[41215] = pd.DataFrame(
        {"IDpol": [3.0, 2.0, 2.0, 9.0], "ClaimAmount": [70.0, 10.0, 30.0, 5.0]}
    )
    data = datasets.motor_amounts()
    assert list(data.X) == ["VehGas"] and len(data.X) == 2
    assert (data.y.tolist(), data.weight.tolist()) == ([20.0, 70.0], [2.0, 1.0])


# --- the files as their sources publish them ------------------------------------------------------


def test_house_as_kaggle_gives_it_out(offline, tmp_path):
    (tmp_path / "kc_house_data.csv").write_text(
        "id,date,price,bedrooms\n1,20141013T000000,200000,3\n2,20141014T000000,300000,2\n"
    )
    data = datasets.house(tmp_path)
    assert data.X["date"].tolist() == [0, 1]
    assert data.source == "kc_house_data.csv, as published"


def test_diamonds_as_published(offline, tmp_path):
    (tmp_path / "diamonds.csv").write_text("carat,cut,color,clarity,price\n0.2,Ideal,E,SI2,326\n")
    data = datasets.diamonds(tmp_path)
    assert list(data.X) == ["carat", "cut", "color", "clarity"]
    assert data.X["cut"].cat.ordered and data.X["cut"].cat.categories[-1] == "Ideal"
    assert data.y == pytest.approx([np.log(326)])


def test_bike_as_published(offline, tmp_path):
    header = "instant,dteday,season,hr,weekday,weathersit,casual,registered,cnt"
    (tmp_path / "hour.csv").write_text(f"{header}\n1,2011-01-01,1,0,6,1,3,13,16\n")
    data = datasets.bike(tmp_path)
    assert data.X.dtypes.astype(str).to_dict() == {
        "season": "category", "hr": "int64", "weekday": "category", "weathersit": "category"
    }  # fmt: skip
    assert (data.y.tolist(), data.task) == ([16.0], "regression")


def test_bankruptcy_says_which_years_it_holds(offline, tmp_path):
    for year in (2, 4):
        (tmp_path / f"{year}year.arff").write_text(
            "@relation polish\n@attribute Attr1 numeric\n@attribute class {0,1}\n"
            "@data\n0.5,0\n?,1\n"
        )
    data = datasets.bankruptcy(tmp_path)
    assert "years 2 and 4" in data.description
    assert data.y.tolist() == [0, 1, 0, 1]
    assert list(data.X) == ["Attr1"]
    assert data.X["Attr1"].isna().tolist() == [False, True, False, True]


def test_names_are_found_whatever_their_case():
    assert datasets.find_name("WEATHER_vis", list(datasets.PAPER)) == "Weather-Vis"
    with pytest.raises(ValueError, match="'iris' is not one of: Bankruptcy"):
        datasets.find_name("iris", list(datasets.PAPER))
