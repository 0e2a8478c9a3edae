"""Time of exact Shapley values: many rows against many background rows.

python -m benchmarks.bench_shap
"""

from __future__ import annotations

import time

import numpy as np

from glassleaf import ModelTreeClassifier, shap_values


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 10))
    score = np.where(X[:, 0] > 0, X[:, 1], -X[:, 2]) + X[:, 3]
    y = score + rng.logistic(size=len(X)) > 0
    shap_values(ModelTreeClassifier(max_depth=1).fit(X[:500], y[:500]), X[:10], X[:10])
    print("| depth | leaves | rows | background | seconds |\n|---|---|---|---|---|")
    for depth in (3, 5):
        model = ModelTreeClassifier(max_depth=depth, significance=None).fit(
            X[:100_000], y[:100_000]
        )
        for n_rows, n_background in (
            (1_000_000, 1_000),
            (1_000_000, 1_000_000),
            (1_000, 1_000_000),
        ):
            start = time.perf_counter()
            shap_values(model, X[:n_rows], X[:n_background])
            seconds = time.perf_counter() - start
            leaves = model.get_n_leaves()
            print(f"| {depth} | {leaves} | {n_rows} | {n_background} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
