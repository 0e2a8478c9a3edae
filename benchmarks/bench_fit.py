"""Seconds to fit, beside XGBoost's defaults in the same run.

    GLASSLEAF_DATA=folder python benchmarks/bench_fit.py [--datasets House,Census] [--repeat 5]

Both get the same table and two threads, take turns, and are reported by their median. XGBoost is
also given the one-hot encoded table where there are categories ("one-hot"), as the paper does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xgboost

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, datasets, paper_settings


def seconds(fit: Callable[[], Any]) -> float:
    start = time.perf_counter()
    fit()
    return time.perf_counter() - start


def ours(data: datasets.Dataset) -> Callable[[], Any]:
    settings = {**paper_settings("MT-GR"), "max_depth": 3, "loss": data.loss, "n_jobs": 2}
    kind = ModelTreeClassifier if data.loss == "log_loss" else ModelTreeRegressor
    return lambda: kind(**settings).fit(data.X, data.y, sample_weight=data.weight)


def theirs(data: datasets.Dataset, one_hot: bool) -> Callable[[], Any]:
    kind = xgboost.XGBClassifier if data.loss == "log_loss" else xgboost.XGBRegressor
    settings: dict[str, Any] = {"n_jobs": 2, "enable_categorical": True}
    if data.loss == "poisson":
        settings["objective"] = "count:poisson"
    X = data.X
    if one_hot:
        X = pd.get_dummies(X, dtype=np.float32).to_numpy(np.float32)
    y = np.unique(data.y, return_inverse=True)[1] if data.loss == "log_loss" else data.y
    return lambda: kind(**settings).fit(X, y, sample_weight=data.weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="", help="names, separated by commas (default: all)")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    chosen = {name.strip().lower() for name in given.datasets.split(",") if name.strip()}
    print(
        f"{'dataset':<14}{'rows':>8}{'columns':>9}{'glassleaf':>11}"
        f"{'XGBoost':>9}{'one-hot':>9}  ratio"
    )
    for name, load in datasets.ALL.items():
        if chosen and name.lower() not in chosen:
            continue
        data = load(None)
        runs = {"ours": ours(data), "native": theirs(data, one_hot=False)}
        if (data.X.dtypes == "category").any():
            runs["one-hot"] = theirs(data, one_hot=True)
        runs["ours"]()  # load the compiled kernels
        taken: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(given.repeat):
            for name, fit in runs.items():
                taken[name].append(seconds(fit))
        median = {name: float(np.median(times)) for name, times in taken.items()}
        one_hot = f"{median['one-hot']:9.2f}" if "one-hot" in median else " " * 9
        print(
            f"{data.name:<14}{len(data.X):>8}{data.X.shape[1]:>9}{median['ours']:>11.2f}"
            f"{median['native']:>9.2f}{one_hot}  {median['ours'] / median['native']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
