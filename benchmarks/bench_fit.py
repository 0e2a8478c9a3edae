"""Seconds to fit, beside XGBoost's defaults in the same run.

    GLASSLEAF_DATA=folder python -m benchmarks.bench_fit [--datasets House,Census] [--repeat 5]
        [--write docs/benchmarks.md]

The paper's method at depth 3 (MT-GR), our defaults and XGBoost get the same table and two threads,
take turns, and are reported by their median. Where there are categories, MT-GR and XGBoost are also
given the table one-hot encoded, as in the paper. ``--write`` puts the table between the page's
markers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, paper_settings
from reproduction import datasets

OBJECTIVES = {"poisson": "count:poisson", "gamma": "reg:gamma"}


def seconds(fit: Callable[[], Any]) -> float:
    start = time.perf_counter()
    fit()
    return time.perf_counter() - start


def ours(data: datasets.Dataset, X: Any, method: dict[str, Any]) -> Callable[[], Any]:
    settings = {**method, "max_depth": 3, "loss": data.loss, "n_jobs": 2}
    kind = ModelTreeClassifier if data.loss == "log_loss" else ModelTreeRegressor
    return lambda: kind(**settings).fit(X, data.y, sample_weight=data.weight)


def theirs(data: datasets.Dataset, X: Any) -> Callable[[], Any]:
    kind = xgboost.XGBClassifier if data.loss == "log_loss" else xgboost.XGBRegressor
    settings: dict[str, Any] = {"n_jobs": 2, "enable_categorical": True}
    if data.loss in OBJECTIVES:
        settings["objective"] = OBJECTIVES[data.loss]
    y = np.unique(data.y, return_inverse=True)[1] if data.loss == "log_loss" else data.y
    return lambda: kind(**settings).fit(X, y, sample_weight=data.weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="", help="names, separated by commas (default: all)")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--write", type=Path, help="a page with the markers of this table")
    given = parser.parse_args()
    chosen = {name.strip().lower() for name in given.datasets.split(",") if name.strip()}
    lines = [
        f"Seconds, median of {given.repeat}.",
        "",
        "| dataset | rows | columns | MT-GR | default | XGBoost"
        " | MT-GR / XGBoost | default / XGBoost | default / MT-GR"
        " | one-hot columns | MT-GR | XGBoost | MT-GR / XGBoost |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, load in datasets.ALL.items():
        if not chosen or name.lower() in chosen:
            lines.append(measured(load(None), given.repeat))
            print(lines[-1], flush=True)
    if given.write is not None:
        text = "\n".join(lines)
        page = given.write.read_text()
        before, rest = page.split("<!-- bench_fit: begin -->")
        _, after = rest.split("<!-- bench_fit: end -->")
        given.write.write_text(
            f"{before}<!-- bench_fit: begin -->\n{text}\n<!-- bench_fit: end -->{after}"
        )


def measured(data: datasets.Dataset, repeat: int) -> str:
    """A line of the table."""
    paper = paper_settings("MT-GR")
    runs = {
        "paper": ours(data, data.X, paper),
        "default": ours(data, data.X, {}),
        "other": theirs(data, data.X),
    }
    has_categories = (data.X.dtypes == "category").any()
    if has_categories:
        one_hot = pd.get_dummies(data.X, dtype=np.float32).to_numpy(np.float32)
        runs |= {"own one-hot": ours(data, one_hot, paper), "other one-hot": theirs(data, one_hot)}
    runs["default"]()  # load the compiled kernels
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, fit in runs.items():
            taken[name].append(seconds(fit))
    median = {name: float(np.median(times)) for name, times in taken.items()}
    own, default, other = median["paper"], median["default"], median["other"]
    line = (
        f"| {data.name} | {len(data.X)} | {data.X.shape[1]} | {own:.2f} | {default:.2f}"
        f" | {other:.2f} | {own / other:.2f} | {default / other:.2f} | {default / own:.1f} |"
    )
    if not has_categories:
        return line + " – | – | – | – |"
    own, other = median["own one-hot"], median["other one-hot"]
    return f"{line} {one_hot.shape[1]} | {own:.2f} | {other:.2f} | {own / other:.2f} |"


if __name__ == "__main__":
    main()
