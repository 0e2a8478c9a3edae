"""Trees of real tables by the robust and by the likelihood test of splits, side by side.

    GLASSLEAF_DATA=folder python -m benchmarks.split_trees [--rows 20000] [--datasets House,HELOC]

A model with the defaults is fitted to three quarters of the rows by each test. Printed are leaves,
numbers to read, and R2, AUC or explained deviance (times 100) on the last quarter. A smaller tree
at the same score is a gain.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.readability import table
from benchmarks.rivals import score
from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from reproduction import datasets

TESTS = ("likelihood", "robust")


@dataclass(frozen=True)
class Measured:
    """A model of a table: its size, and its score on other rows, times 100."""

    leaves: int
    numbers: int
    score: float


def measured(data: datasets.Dataset, test: str) -> Measured:
    """The model that a test of splits leads to."""
    order = np.random.default_rng(0).permutation(len(data.y))
    held, used = order[: len(order) // 4], order[len(order) // 4 :]
    weight = None if data.weight is None else data.weight[used]
    model = estimator(data, test).fit(data.X.iloc[used], data.y[used], sample_weight=weight)
    found = score(data, held, predictions(model, data.X.iloc[held]))
    return Measured(model.get_n_leaves(), model.complexity_.total, found)


def predictions(model: Any, X: Any) -> NDArray[np.float64]:
    """Numbers; of two classes the probability of the second, of more that of each."""
    if isinstance(model, ModelTreeRegressor):
        return model.predict(X)
    found = model.predict_proba(X)
    return np.asarray(found[:, 1] if found.shape[1] == 2 else found)


def estimator(data: datasets.Dataset, test: str) -> Any:
    """The defaults, with a test."""
    if data.loss == "log_loss":
        return ModelTreeClassifier(significance_test=test)
    return ModelTreeRegressor(loss=data.loss, significance_test=test)


def main() -> None:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--datasets", help="Names, separated by commas.")
    asked = parser.parse_args()
    names = asked.datasets.split(",") if asked.datasets else list(datasets.ALL)
    print("| table | rows | leaves | numbers | score | difference |\n|---|---|---|---|---|---|")
    for name in names:
        data = table(name, asked.rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before, after = (measured(data, test) for test in TESTS)
        print(
            f"| {name} | {len(data.y):,} | {before.leaves} → {after.leaves}"
            f" | {before.numbers} → {after.numbers} | {before.score:.2f} → {after.score:.2f}"
            f" | {after.score - before.score:+.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
