"""The evaluation data as tables with real types; see the docstring of each function.

Files are read from the folder that the environment variable ``GLASSLEAF_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer


@dataclass(frozen=True)
class Dataset:
    """A table, its target, and the loss that fits it."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    loss: str
    weight: np.ndarray | None = None


def _read(name: str) -> pd.DataFrame:
    folder = os.environ.get("GLASSLEAF_DATA")
    if folder is None:
        raise FileNotFoundError(
            "Set GLASSLEAF_DATA to the folder that holds the evaluation data (*.parquet)."
        )
    path = Path(folder) / f"{name}.parquet"
    if not path.exists():
        raise FileNotFoundError(f"{path.name} is not in the folder that GLASSLEAF_DATA names.")
    return pd.read_parquet(path)


def _with_categories(X: pd.DataFrame) -> pd.DataFrame:
    text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    return X.astype(dict.fromkeys(text, "category"))


def bankruptcy() -> Dataset:
    """Polish companies, years 1, 3 and 5 only; 64 ratios with outliers and missing values."""
    data = _read("bankruptcy")
    y = data["class"].to_numpy(np.int64)
    return Dataset("Bankruptcy", data.drop(columns=["class", "year"]).astype(float), y, "log_loss")


def breast_cancer() -> Dataset:
    """Ships with scikit-learn; the class is "malignant"."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return Dataset("Breast Cancer", X, 1 - y.to_numpy(), "log_loss")


CENSUS_NUMBERS = [
    "age",
    "wage per hour",
    "capital gains",
    "capital losses",
    "dividends from stocks",
    "num persons worked for employer",
    "weeks worked in year",
]


def census() -> Dataset:
    """KDD census income: 7 numbers, the codes and words as categories."""
    data = _read("census")
    y = (data["income"] == "50000+.").to_numpy(np.int64)
    X = data.drop(columns=["income", "split", "instance weight"])
    codes = [name for name in X if name not in CENSUS_NUMBERS]
    X[codes] = X[codes].astype(str)
    return Dataset("Census", _with_categories(X), y, "log_loss")


def credit_card() -> Dataset:
    """Defaults of credit card clients; sex, education and marriage are categories."""
    data = _read("credit_card").drop(columns=["ID"])
    y = data.iloc[:, -1].to_numpy(np.int64)
    X = data.iloc[:, :-1].astype(dict.fromkeys(["SEX", "EDUCATION", "MARRIAGE"], "category"))
    return Dataset("Credit Card", X, y, "log_loss")


def olympics() -> Dataset:
    """Whether an athlete won any medal."""
    data = _read("olympics")
    names = ["Sex", "Age", "Height", "Weight", "NOC", "Year", "Season", "Sport"]
    y = data["Medal"].notna().to_numpy(np.int64)
    return Dataset("Olympics", _with_categories(data[names]), y, "log_loss")


def house() -> Dataset:
    """Logarithm of the price of houses; the date as days."""
    data = _read("house")
    X = data.drop(columns=["id", "price"])
    date = pd.to_datetime(X["date"].astype(str).str[:8])
    X["date"] = (date - date.min()).dt.days
    return Dataset("House", X.astype(float), np.log(data["price"].to_numpy(float)), "squared_error")


def _weather(target: str, others: list[str], name: str) -> Dataset:
    data = _read("weather")
    # Local time, as written: "2006-04-01 00:00:00.000 +0200".
    date = pd.to_datetime(data["Formatted Date"].str[:19])
    X = pd.DataFrame({"year": date.dt.year, "month": date.dt.month, "hour": date.dt.hour})
    shared = ["Humidity", "Wind Speed (km/h)", "Wind Bearing (degrees)"]
    for column in [*shared, *others, "Loud Cover", "Pressure (millibars)"]:
        X[column] = data[column]
    X["Precip Type"] = data["Precip Type"].astype("category")
    return Dataset(name, X, data[target].to_numpy(float), "squared_error")


def weather_temperature() -> Dataset:
    """Temperature from the other measurements."""
    return _weather("Temperature (C)", ["Visibility (km)"], "Weather-Temp")


def weather_visibility() -> Dataset:
    """Visibility from the other measurements, both temperatures included."""
    others = ["Temperature (C)", "Apparent Temperature (C)"]
    return _weather("Visibility (km)", others, "Weather-Vis")


def adult() -> Dataset:
    """Income above 50K."""
    data = _read("adult")
    y = data["income"].str.contains(">50K").to_numpy(np.int64)
    return Dataset("Adult", _with_categories(data.drop(columns=["income", "split"])), y, "log_loss")


def covertype() -> Dataset:
    """Seven forest types."""
    data = _read("covertype")
    y = data["Cover_Type"].to_numpy()
    return Dataset("Covertype", data.drop(columns=["Cover_Type"]).astype(float), y, "log_loss")


def motor_claims() -> Dataset:
    """Claims per year of exposure, weighted by exposure."""
    data = _read("fremtpl2freq")
    exposure = data["Exposure"].to_numpy(float)
    names = [name for name in data if name not in ("ClaimNb", "Exposure", "IDpol")]
    y = data["ClaimNb"].to_numpy(float) / exposure
    return Dataset("Motor claims", _with_categories(data[names]), y, "poisson", exposure)


PAPER: list[Callable[[], Dataset]] = [
    bankruptcy,
    breast_cancer,
    census,
    credit_card,
    olympics,
    house,
    weather_temperature,
    weather_visibility,
]
ALL: list[Callable[[], Dataset]] = [*PAPER, adult, motor_claims, covertype]
