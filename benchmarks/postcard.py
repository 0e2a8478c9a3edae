"""The README's picture: a real model on a real table, all of it, beside what it says.

    GLASSLEAF_DATA=folder python -m benchmarks.postcard [--svg docs/postcard.svg]

Bicycles rented in Washington, hour by hour, in 20 numbers. The formula, the splits and what differs
are those of the fitted model; the lines are its predictions, the dots the rows.
"""

from __future__ import annotations

import argparse
import textwrap
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_score

from glassleaf import ModelTreeRegressor, explain
from glassleaf.explanations.differences import Difference, differences
from reproduction import datasets

NUMBERS = 20
WORDS = {
    "hr": "hour",
    "yr": "second_year",
    "mnth": "month",
    "hum": "humidity",
    "workingday": "workday",
    "weathersit": "weather",
    "temp": "warmth",
    "atemp": "felt_warmth",
}
SEASONS = {"1": "winter", "2": "spring", "3": "summer", "4": "fall"}
WEATHER = {"1": "clear", "2": "mist", "3": "rain", "4": "storm"}
INK, GREY, BLUE, ORANGE = "#222222", "#666666", "#0b4f9e", "#d9730d"
_SETTINGS = {"svg.hashsalt": "glassleaf", "svg.fonttype": "path", "font.size": 9}


def table() -> tuple[Any, Any]:
    """Bike with words instead of codes."""
    data = datasets.ALL["Bike"](None)
    X = data.X.rename(columns=WORDS)
    X["season"] = X["season"].astype(str).map(SEASONS).astype("category")
    X["weather"] = X["weather"].astype(str).map(WEATHER).astype("category")
    X["workday"] = np.where(X["workday"] == 1, "yes", "no")
    return X, data.y


def scores(X: Any, y: Any) -> tuple[float, float]:
    """R2 of a linear model and of ours, four folds."""
    folds = KFold(4, shuffle=True, random_state=0)
    one_hot = pd.get_dummies(X, dtype=float)
    linear = cross_val_score(RidgeCV(), one_hot, y, cv=folds).mean()
    own = cross_val_score(ModelTreeRegressor(max_numbers=NUMBERS), X, y, cv=folds).mean()
    return float(linear), float(own)


def draw(X: Any, y: Any, path: Path) -> None:
    model = ModelTreeRegressor(max_numbers=NUMBERS).fit(X, y)
    linear, own = scores(X, y)
    with plt.rc_context(_SETTINGS):
        figure = plt.figure(figsize=(10.2, 4.3), facecolor="white")
        _title(figure, model, linear, own)
        _card(figure.add_axes((0.02, 0.03, 0.56, 0.78)), differences(explain(model)))
        _hours(figure.add_axes((0.635, 0.13, 0.35, 0.62)), model, X, y)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)


def _title(figure: Any, model: Any, linear: float, own: float) -> None:
    rows, numbers = int(model.tree_.n_samples[0]), model.complexity_.total
    figure.text(0.02, 0.93, "Bicycles rented per hour", size=15, weight="bold", color=INK)
    said = (
        f"The whole model for {rows:,} hours: {numbers} numbers, R² {own:.2f}."
        f" A linear model has {linear:.2f}."
    )
    figure.text(0.02, 0.865, said, size=10, color=GREY)


def _card(axes: Any, found: list[Difference]) -> None:
    """The formula for all rows, then what differs, a line after the other."""
    axes.set(xticks=[], yticks=[], xlim=(-0.03, 1), ylim=(0, 1), facecolor="#f6f8fa")
    axes.spines[:].set_color("#d0d7de")
    lines = [line for own in found for line in _lines(own)]
    step = 1 / max(len(lines) + 1, 14)
    for k, (indent, text, is_rule) in enumerate(lines):
        style = {"weight": "bold", "color": INK} if is_rule else {"color": BLUE}
        axes.text(0.035 * indent, 1 - step * (k + 1), text, family="DejaVu Sans", **style)


def _lines(own: Difference) -> list[tuple[float, str, bool]]:
    """Indentation, text, and whether it says for which rows."""
    text = " ".join(own.texts).replace("score = ", "rentals = ")
    wrapped = textwrap.wrap(text, 64)
    rule = (own.depth, f"{own.where}  ({own.rows:,})", True)
    return [rule, *((own.depth + 0.7, line, False) for line in wrapped)]


def _hours(axes: Any, model: Any, X: Any, y: Any) -> None:
    """Mean rentals by the hour, of workdays and of others: rows as dots, the model as lines."""
    predicted = model.predict(X)
    for day, name, color in (("yes", "workdays", BLUE), ("no", "other days", ORANGE)):
        rows = X["workday"] == day
        hours = X["hour"][rows]
        dots = [y[rows][hours == hour].mean() for hour in range(24)]
        line = [predicted[rows][hours == hour].mean() for hour in range(24)]
        axes.plot(range(24), dots, "o", ms=3.5, color=color, alpha=0.6)
        axes.plot(range(24), line, color=color, label=name)
    axes.set_title("dots: the rows, lines: the model", size=9, color=GREY, loc="left")
    axes.set_xticks([0, 6, 12, 18, 23])
    axes.set_xlabel("hour", color=GREY)
    axes.tick_params(colors=GREY, length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, labelcolor=GREY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", type=Path, default=Path("docs/postcard.svg"))
    given = parser.parse_args()
    # Rentals are counts; a picture of a straight sum is what is wanted here.
    warnings.filterwarnings("ignore", "y looks like counts", UserWarning)
    draw(*table(), given.svg)


if __name__ == "__main__":
    main()
