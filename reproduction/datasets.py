"""The evaluation data as tables with real types: one loader per dataset.

Each loader takes the folder that holds the files (default: the one that the environment variable
``GLASSLEAF_DATA`` names). Where the folder has no such file and OpenML serves the data,
scikit-learn fetches them. Nothing is imputed, scaled or encoded here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from reproduction import sources
from reproduction.sources import DataFile, pandas

Task = Literal["regression", "classification"]
Folder = str | Path | None


@dataclass(frozen=True)
class Dataset:
    """A table (pandas), its target, and what they are."""

    name: str
    X: Any
    y: NDArray[Any]
    task: Task
    description: str
    source: str
    loss: str
    weight: NDArray[np.float64] | None = None


def _dataset(name: str, X: Any, y: Any, description: str, source: str) -> Dataset:
    """Whole numbers are classes, other numbers a quantity."""
    target = np.asarray(y)
    if target.dtype.kind == "f":
        return Dataset(name, X, target, "regression", description, source, "squared_error")
    return Dataset(name, X, target, "classification", description, source, "log_loss")


def _with_categories(X: Any, codes: list[str] | None = None) -> Any:
    """Text and ``codes`` as categories; "?" is missing, as these files write it."""
    X = X.copy()
    is_number = pandas().api.types.is_numeric_dtype
    for name in X:
        if name in (codes or []) or not is_number(X[name]):
            text = X[name].astype(str).str.strip()
            X[name] = text.where(X[name].notna() & (text != "?")).astype("category")
    return X


# --- the eight of the paper -----------------------------------------------------------------------

BANKRUPTCY = DataFile(
    "bankruptcy.parquet",
    "833be2a5a8368e93615f845c4077c5f60b7230215cf13fe8a1b2a5d5b9718279",
    "https://archive.ics.uci.edu/dataset/365/polish+companies+bankruptcy+data",
    tuple(f"{year}year.arff" for year in range(1, 6)),
)


def bankruptcy(folder: Folder = None) -> Dataset:
    """Polish companies: 64 ratios with extreme outliers and many missing values."""
    data, source = sources.read(BANKRUPTCY, folder)
    years = [str(year) for year in sorted(data["year"].unique())]
    listed = f"{', '.join(years[:-1])} and {years[-1]}" if len(years) > 1 else years[0]
    description = f"bankruptcy of Polish companies; holds the years {listed} of 1 to 5"
    X = data.drop(columns=["class", "year"]).astype(float)
    return _dataset("Bankruptcy", X, data["class"].astype(np.int64), description, source)


def breast_cancer(folder: Folder = None) -> Dataset:
    """Ships with scikit-learn; the class is "malignant"."""
    pandas()
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    source = "scikit-learn, load_breast_cancer"
    return _dataset("Breast Cancer", X, 1 - y.to_numpy(), "malignant tumors", source)


CENSUS = DataFile(
    "census.parquet",
    "2d262f453617f3718f8a85a854e51651ae405acfef94299edb00c2a32461f630",
    "https://archive.ics.uci.edu/dataset/117/census+income+kdd",
    openml=4535,
)
CENSUS_COLUMNS = [
    "age",
    "class of worker",
    "detailed industry recode",
    "detailed occupation recode",
    "education",
    "wage per hour",
    "enroll in edu inst last wk",
    "marital stat",
    "major industry code",
    "major occupation code",
    "race",
    "hispanic origin",
    "sex",
    "member of a labor union",
    "reason for unemployment",
    "full or part time employment stat",
    "capital gains",
    "capital losses",
    "dividends from stocks",
    "tax filer stat",
    "region of previous residence",
    "state of previous residence",
    "detailed household and family stat",
    "detailed household summary in household",
    "instance weight",
    "migration code-change in msa",
    "migration code-change in reg",
    "migration code-move within reg",
    "live in this house 1 year ago",
    "migration prev res in sunbelt",
    "num persons worked for employer",
    "family members under 18",
    "country of birth father",
    "country of birth mother",
    "country of birth self",
    "citizenship",
    "own business or self employed",
    "fill inc questionnaire for veteran's admin",
    "veterans benefits",
    "weeks worked in year",
    "year",
    "income",
]
CENSUS_NUMBERS = [
    "age",
    "wage per hour",
    "capital gains",
    "capital losses",
    "dividends from stocks",
    "num persons worked for employer",
    "weeks worked in year",
]


def census(folder: Folder = None) -> Dataset:
    """KDD census income: 7 numbers, the codes and words as categories."""
    data, source = sources.read(CENSUS, folder)
    data = data.drop(columns="split", errors="ignore").set_axis(CENSUS_COLUMNS, axis=1)
    y = data["income"].astype(str).str.strip() == "50000+."
    X = data.drop(columns=["income", "instance weight"])
    X[CENSUS_NUMBERS] = X[CENSUS_NUMBERS].astype(float)
    codes = [name for name in X if name not in CENSUS_NUMBERS]
    description = "income above 50,000 dollars, US census of 1994 and 1995"
    return _dataset("Census", _with_categories(X, codes), y.astype(np.int64), description, source)


CREDIT_CARD = DataFile(
    "credit_card.parquet",
    "326f05b3e871cb08158d07d95adccb453f1315eacd51d070cbb1fbe1a9748d33",
    "https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients",
    ("UCI_Credit_Card.csv",),
    openml=42477,
)
CREDIT_CARD_COLUMNS = ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"] + [
    f"{kind}{month}" for kind in ("PAY_", "BILL_AMT", "PAY_AMT") for month in range(1, 7)
]


def credit_card(folder: Folder = None) -> Dataset:
    """Defaults of credit card clients; sex, education and marriage are categories."""
    data, source = sources.read(CREDIT_CARD, folder)
    data = data.drop(columns="ID", errors="ignore").astype(float)
    data = data.set_axis([*CREDIT_CARD_COLUMNS, "default"], axis=1)
    codes = ["SEX", "EDUCATION", "MARRIAGE"]
    X = data.drop(columns="default")
    X[codes] = X[codes].astype(np.int64).astype("category")
    description = "default of credit card clients in Taiwan"
    return _dataset("Credit Card", X, data["default"].astype(np.int64), description, source)


OLYMPICS = DataFile(
    "olympics.parquet",
    "e171be1cbddf26670e775d9828b9fb7ae5b105fa2b584f9f336828ac825cfbc9",
    "https://www.kaggle.com/heesoo37/120-years-of-olympic-history-athletes-and-results",
    ("athlete_events.csv",),
)


def olympics(folder: Folder = None) -> Dataset:
    """Whether an athlete won any medal."""
    data, source = sources.read(OLYMPICS, folder)
    X = data[["Sex", "Age", "Height", "Weight", "NOC", "Year", "Season", "Sport"]]
    y = data["Medal"].notna().astype(np.int64)
    return _dataset("Olympics", _with_categories(X), y, "any medal, 1896 to 2016", source)


HOUSE = DataFile(
    "house.parquet",
    "444226729fc9eab50442695c953cf21530ae78f1f1138070fe90e43390b5ee4c",
    "https://www.kaggle.com/harlfoxem/housesalesprediction",
    ("kc_house_data.csv",),
    openml=42092,
)


def house(folder: Folder = None) -> Dataset:
    """Logarithm of the price of houses; the date as days."""
    data, source = sources.read(HOUSE, folder)
    X = data.drop(columns=["id", "price"], errors="ignore")
    date = pandas().to_datetime(X["date"].astype(str).str[:8])
    X["date"] = (date - date.min()).dt.days
    description = "log(price) of houses sold in King County"
    price = np.log(data["price"].astype(float))
    return _dataset("House", X.astype(float), price, description, source)


WEATHER = DataFile(
    "weather.parquet",
    "83ba73f15179ec0d292c3663e17ec84588cec026b0a3190a4ead0cd10baffa19",
    "https://www.kaggle.com/budincsevity/szeged-weather",
    ("weatherHistory.csv",),
)


def _weather(name: str, target: str, others: list[str], folder: Folder) -> Dataset:
    data, source = sources.read(WEATHER, folder)
    # Local time, as written: "2006-04-01 00:00:00.000 +0200".
    date = pandas().to_datetime(data["Formatted Date"].str[:19])
    X = pandas().DataFrame(
        {"year": date.dt.year, "month": date.dt.month, "hour": date.dt.hour}, dtype=float
    )
    shared = ["Humidity", "Wind Speed (km/h)", "Wind Bearing (degrees)"]
    for column in [*shared, *others, "Loud Cover", "Pressure (millibars)"]:
        X[column] = data[column]
    X["Precip Type"] = data["Precip Type"].astype("category")
    description = f"{target} in Szeged, hour by hour"
    return _dataset(name, X, data[target].astype(float), description, source)


def weather_temperature(folder: Folder = None) -> Dataset:
    """Temperature from the other measurements."""
    return _weather("Weather-Temp", "Temperature (C)", ["Visibility (km)"], folder)


def weather_visibility(folder: Folder = None) -> Dataset:
    """Visibility from the other measurements, both temperatures included."""
    others = ["Temperature (C)", "Apparent Temperature (C)"]
    return _weather("Weather-Vis", "Visibility (km)", others, folder)


# --- further ones, for the benchmarks -------------------------------------------------------------

ADULT = DataFile(
    "adult.parquet",
    "e9a63ded4db202999bdb8a8c51d3789f6dde561d6e4394db6798a09a721b6ed8",
    "https://archive.ics.uci.edu/dataset/2/adult",
    openml=1590,
)


def adult(folder: Folder = None) -> Dataset:
    """Income above 50K."""
    data, source = sources.read(ADULT, folder)
    data = data.rename(columns={"class": "income"}).drop(columns="split", errors="ignore")
    y = data["income"].astype(str).str.contains(">50K").astype(np.int64)
    X = _with_categories(data.drop(columns="income"))
    return _dataset("Adult", X, y, "income above 50,000 dollars", source)


COVERTYPE = DataFile(
    "covertype.parquet",
    "433d8e737d755b5db1ccafda27614388828656e9a795ab6e46bb22ef0d1caa0a",
    "https://archive.ics.uci.edu/dataset/31/covertype",
    openml=1596,
)


def covertype(folder: Folder = None) -> Dataset:
    """Seven forest types."""
    data, source = sources.read(COVERTYPE, folder)
    data = data.rename(columns={"class": "Cover_Type"})
    X = data.drop(columns="Cover_Type").astype(float)
    y = data["Cover_Type"].astype(np.int64)
    return _dataset("Covertype", X, y, "forest cover, seven types", source)


MOTOR_CLAIMS = DataFile(
    "fremtpl2freq.parquet",
    "45971c39b8f7f60ffc0ca825380589c05162d79c02726f6cd44749bfbeeefa37",
    "https://www.openml.org/d/41214",
    openml=41214,
)


def motor_claims(folder: Folder = None) -> Dataset:
    """Claims per year of exposure, weighted by exposure."""
    data, source = sources.read(MOTOR_CLAIMS, folder)
    exposure = data["Exposure"].to_numpy(float)
    X = _with_categories(data.drop(columns=["ClaimNb", "Exposure", "IDpol"], errors="ignore"))
    y = data["ClaimNb"].to_numpy(float) / exposure
    description = "claims per year of French motor insurance"
    return Dataset("Motor claims", X, y, "regression", description, source, "poisson", exposure)


MOTOR_AMOUNTS = DataFile(
    "fremtpl2sev.parquet",
    "bd747cd48f89fb9df6934e086354e303ebfc4cf8fbae45bd059869590aa2338e",
    "https://www.openml.org/d/41215",
    openml=41215,
)


def motor_amounts(folder: Folder = None) -> Dataset:
    """Mean amount of a policy's claims, weighted by their number, from the columns of the policy.

    Six policies with a claim are not among those of ``motor_claims``; they are left out.
    """
    claims, source = sources.read(MOTOR_AMOUNTS, folder)
    policies, source_of_policies = sources.read(MOTOR_CLAIMS, folder)
    amounts = claims.groupby("IDpol")["ClaimAmount"].agg(["mean", "size"])
    data = policies.merge(amounts, left_on="IDpol", right_index=True).reset_index(drop=True)
    y, number = data["mean"].to_numpy(float), data["size"].to_numpy(float)
    X = _with_categories(data.drop(columns=["ClaimNb", "Exposure", "IDpol", "mean", "size"]))
    description = "mean amount of the claims of a French motor policy"
    source = f"{source}; {source_of_policies}"
    return Dataset("Motor amounts", X, y, "regression", description, source, "gamma", number)


@dataclass(frozen=True)
class OneFile:
    """A loader of a file whose columns are the features but for the target and ``left_out``.

    ``positive`` is the label that counts as 1; without it the target is a number, or the logarithm
    of one. ``codes`` are whole numbers that mean a category, ``missing`` are numbers that mean no
    value, and ``orders`` list categories from the lowest to the highest.
    """

    name: str
    description: str
    file: DataFile
    target: str
    positive: str | None = None
    logarithm: bool = False
    left_out: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, folder: Folder = None) -> Dataset:
        data, source = sources.read(self.file, folder)
        X = data.drop(columns=[self.target, *self.left_out])
        X = _with_categories(X.mask(X.isin(self.missing)), list(self.codes))
        for name, order in self.orders.items():
            X[name] = X[name].cat.set_categories(order, ordered=True)
        return _dataset(self.name, X, self._y(data[self.target]), self.description, source)

    def _y(self, target: Any) -> Any:
        if self.positive is not None:
            return (target == self.positive).astype(np.int64)
        return np.log(target.astype(float)) if self.logarithm else target.astype(float)


heloc = OneFile(
    "HELOC",
    "home equity lines of credit that went bad",
    DataFile(
        "heloc.parquet",
        "0a63bd956d83a5093ed17aff905de33adf2cb18c5179d09a52692c05f4ccba7f",
        "https://community.fico.com/s/explainable-machine-learning-challenge",
        ("heloc_dataset_v1.csv",),
    ),
    target="RiskPerformance",
    positive="Bad",
    missing=(-9, -8, -7),  # no record, no usable trade, condition not met
)

bank = OneFile(
    "Bank",
    "clients of a Portuguese bank who subscribed to a deposit",
    DataFile(
        "bank.parquet",
        "73d4c55b4dd9524e0a95eb2420dda7308d0a10d2c9a973c565bba65cc4289a7d",
        "https://archive.ics.uci.edu/dataset/222/bank+marketing",
    ),
    target="y",
    positive="yes",
    left_out=("duration",),  # known only after the call
)

california = OneFile(
    "California",
    "median house value of Californian block groups, 1990",
    DataFile(
        "california.parquet",
        "1571f672f0742998c8c3808cea012192b831f608081eb5034df49b4044f9c061",
        "https://www.openml.org/d/537",
        openml=537,
    ),
    target="median_house_value",
)

bike = OneFile(
    "Bike",
    "bicycles rented in Washington, hour by hour",
    DataFile(
        "bike.parquet",
        "91d70cc9c95db45e36a936abe05f5682a34105ca7d3c3d6f5d444d58b44fc52d",
        "https://archive.ics.uci.edu/dataset/275/bike+sharing+dataset",
        ("hour.csv",),
    ),
    target="cnt",
    left_out=("instant", "dteday", "casual", "registered"),
    codes=("season", "weekday", "weathersit"),
)

diamonds = OneFile(
    "Diamonds",
    "log(price) of diamonds",
    DataFile(
        "diamonds.parquet",
        "0eb6de7f918e0e4c13ef12704c75b5c860c9e2a374b0fd820df305bde27aa31a",
        "https://github.com/tidyverse/ggplot2/blob/main/data-raw/diamonds.csv",
        ("diamonds.csv",),
    ),
    target="price",
    logarithm=True,
    orders={
        "cut": ("Fair", "Good", "Very Good", "Premium", "Ideal"),
        "color": tuple("JIHGFED"),
        "clarity": ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
    },
)

elevators = OneFile(
    "Elevators",
    "action on the elevators of an F-16, from the state of the aircraft",
    DataFile(
        "elevators.parquet",
        "173e7e4952ef182e4856b23d48efa212cbf671262fba47b1017cc22546e11443",
        "https://github.com/treforevans/uci_datasets",
    ),
    target="y",
)


# --- by name --------------------------------------------------------------------------------------

Loader = Callable[[Folder], Dataset]

PAPER: dict[str, Loader] = {
    "Bankruptcy": bankruptcy,
    "Breast Cancer": breast_cancer,
    "Census": census,
    "Credit Card": credit_card,
    "Olympics": olympics,
    "House": house,
    "Weather-Temp": weather_temperature,
    "Weather-Vis": weather_visibility,
}
ALL: dict[str, Loader] = {
    **PAPER,
    "Adult": adult,
    "Motor claims": motor_claims,
    "Covertype": covertype,
    "Motor amounts": motor_amounts,
    **{loader.name: loader for loader in (heloc, bank, california, bike, diamonds, elevators)},
}


def find_name(given: str, names: list[str]) -> str:
    """The name that is meant, whatever its case and punctuation.

    >>> find_name("breast-cancer", list(PAPER))
    'Breast Cancer'
    """

    def plain(name: str) -> str:
        return re.sub("[^a-z0-9]", "", name.lower())

    for name in names:
        if plain(name) == plain(given):
            return name
    raise ValueError(f"{given!r} is not one of: {', '.join(names)}.")
