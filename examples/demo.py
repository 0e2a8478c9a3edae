"""A story in a minute: a table that everybody understands, three models, one that you can read.

Run it with ``make demo``, or ``python examples/demo.py`` where glassleaf and pandas are installed.
Every number it prints is measured while it runs.
"""

from __future__ import annotations

import os
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # boosting leaves the cores to others

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from glassleaf import ModelTreeRegressor

WIDTH = 84
NUMBERS = 10  # at most so many numbers: read in half a minute
REPORT = Path("build/demo/report.html")
TEXTS = ["sky", "day"]


def main() -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    # The first fit on a machine compiles the kernels, and says so: better here than amid a table.
    ModelTreeRegressor(max_depth=0).fit([[0.0], [1.0]], [0.0, 1.0])
    X, y = ice_cream()
    rows = train_test_split(X, y, random_state=0)
    tell_the_table(X, y)
    model = tell_the_scores(*rows)
    tell_the_model(model)
    tell_the_report(model, rows[1], rows[3])


def ice_cream(n: int = 3000) -> tuple[pd.DataFrame, pd.Series]:
    """Days of a kiosk. Warmth counts from 12 degrees on, twice as much on weekends."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "temperature": random.normal(18, 8, n).round(1),
            "sky": random.choice(["sun", "clouds", "rain"], n, p=[0.5, 0.3, 0.2]),
            "day": random.choice(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], n),
            "price": random.choice([1.5, 1.8, 2.0, 2.2], n),
            "wind": random.gamma(3, 4, n).round(),
        }
    )
    warmth = np.maximum(0, X["temperature"] - 12)
    per_degree = np.where(X["day"].isin(["Sat", "Sun"]), 16, 8)
    sold = 110 + per_degree * warmth - 40 * (X["sky"] == "rain") - 30 * X["price"]
    return X, (sold + random.normal(scale=15, size=n)).round().rename("sold")


def tell_the_table(X: pd.DataFrame, y: pd.Series) -> None:
    heading("1  How many ice creams will the kiosk sell?")
    say(
        f"{len(X):,} days, made up, so that the truth is known: warmth counts from 12 degrees on,"
        " twice as much on weekends; rain costs 40; wind means nothing."
    )
    print(textwrap.indent(X.assign(sold=y).head(4).to_string(index=False), "    "))


def tell_the_scores(train: Any, test: Any, y_train: Any, y_test: Any) -> ModelTreeRegressor:
    heading("2  Three models, on days that they have not seen")
    encode = make_column_transformer((OneHotEncoder(), TEXTS), remainder="passthrough")
    own = ModelTreeRegressor(max_numbers=NUMBERS)
    models = {
        "linear regression": make_pipeline(encode, LinearRegression()),
        "glassleaf": own,
        "gradient boosting": make_pipeline(encode, HistGradientBoostingRegressor(max_iter=100)),
    }
    print(f"    {'':22}{'R²':>6}{'numbers to read':>18}{'seconds':>10}")
    for name, model in models.items():
        start = time.perf_counter()
        score = model.fit(train, y_train).score(test, y_test)
        seconds = time.perf_counter() - start
        print(f"    {name:22}{score:6.3f}{count(model):>18,}{seconds:10.2f}")
    return own


def count(model: Any) -> int:
    """Coefficients and constant; what glassleaf counts itself; thresholds and leaves of trees."""
    if isinstance(model, ModelTreeRegressor):
        return int(model.complexity_.total)
    last = model[-1]
    if isinstance(last, LinearRegression):
        return len(last.coef_) + 1
    return sum(2 * tree.get_n_leaf_nodes() - 1 for (tree,) in last._predictors)


def tell_the_model(model: ModelTreeRegressor) -> None:
    heading("3  The model of glassleaf, all of it")
    text = model.export_text().split("\n\n")
    print(textwrap.indent(text[1], "    "))
    print()
    say(
        "The first line holds for every day; each line below adds what differs where its condition"
        " holds. max(0, x - a) is how far x lies above a, and [sky = rain] is 1 on rainy days."
    )


def tell_the_report(model: ModelTreeRegressor, X: Any, y: Any) -> None:
    heading("4  A page to hand on")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    model.report(X, y, title="Ice cream").write(REPORT)
    say("Scores, the tree, every formula, and sliders to try what-if questions. Open it:")
    print(f"    {REPORT.resolve().as_uri()}")
    print()
    say("Next: README.md, or the site: make docs, then open build/site/index.html.")


def heading(title: str) -> None:
    print(f"\n{title}\n{'─' * len(title)}")


def say(text: str) -> None:
    print(textwrap.fill(text, WIDTH))


if __name__ == "__main__":
    main()
