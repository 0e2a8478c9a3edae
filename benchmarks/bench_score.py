"""Time to score one row and many, beside LogisticRegression, XGBoost and ONNX Runtime, in one run.

    python -m benchmarks.bench_score [--columns 20] [--rows 200000] [--repeat 7]

All models are fitted on the same made table of numbers; the contenders take turns, and each is
reported by its median. One row is scored by calling the same function over and over; for XGBoost
both scikit-learn's surface and the booster's fastest way are shown. The last lines time a new
process that imports what scoring needs and loads a model file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnxruntime
import xgboost
from sklearn.linear_model import LogisticRegression

from glassleaf import ModelTreeClassifier
from glassleaf.export import to_onnx

Contender = Callable[[], Any]


def made_table(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    score = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + X[:, 2:] @ rng.normal(size=n_columns - 2) / 3
    return X, (score + rng.logistic(size=n_rows) > 0).astype(int)


def contenders(X: Any, y: Any, table: Any, folder: Path) -> dict[str, Contender]:
    """What to call for the rows of ``table``; a table of one row has single-row ways too."""
    n_train = 20_000
    tree = ModelTreeClassifier(max_depth=3).fit(X[:n_train], y[:n_train])
    tree.save(folder / "model.json")
    linear = LogisticRegression(max_iter=1000).fit(X[:n_train], y[:n_train])
    # One row is fastest with one thread; waking a second one costs more than it saves.
    n_jobs = 1 if len(table) == 1 else 2
    boosted = xgboost.XGBClassifier(n_jobs=n_jobs).fit(X[:n_train], y[:n_train])
    booster = boosted.get_booster()
    session = onnxruntime.InferenceSession(
        to_onnx(tree).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    feed = {f"x{j}": np.ascontiguousarray(table[:, [j]]) for j in range(table.shape[1])}
    out: dict[str, Contender] = {}
    if len(table) == 1:
        scorer, row = tree.scorer(), table[0].tolist()
        record = {f"x{j}": value for j, value in enumerate(row)}
        out["glassleaf scorer, sequence"] = lambda: scorer(row)
        out["glassleaf scorer, mapping"] = lambda: scorer(record)
    out |= {
        "glassleaf predict_proba": lambda: tree.predict_proba(table),
        "ONNX Runtime, our export": lambda: session.run(["probabilities"], feed),
        "LogisticRegression.predict_proba": lambda: linear.predict_proba(table),
        "XGBClassifier.predict_proba": lambda: boosted.predict_proba(table),
        "XGBoost, inplace_predict": lambda: booster.inplace_predict(table),
    }
    return out


def timed(calls: dict[str, Contender], n_calls: dict[str, int], repeat: int) -> dict[str, float]:
    """Median seconds per call; the contenders take turns."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(n_calls[name]):
                call()
            found[name].append((time.perf_counter() - start) / n_calls[name])
    return {name: median(values) for name, values in found.items()}


def one_row(X: Any, y: Any, folder: Path, repeat: int) -> None:
    calls = contenders(X, y, X[:1].copy(), folder)
    n_calls = {name: 5000 if "scorer" in name else 300 for name in calls}
    found = timed(calls, n_calls, repeat)
    reference = found["XGBClassifier.predict_proba"]
    print(f"\n{'one row':<36}{'microseconds':>14}   times faster than XGBClassifier")
    for name, seconds in found.items():
        print(f"{name:<36}{1e6 * seconds:>14.1f}   {reference / seconds:.1f}")


def many_rows(X: Any, y: Any, table: Any, folder: Path, repeat: int) -> None:
    calls = contenders(X, y, table, folder)
    found = timed(calls, dict.fromkeys(calls, 1), repeat)
    print(f"\n{f'{len(table):,} rows':<36}{'million rows per second':>24}")
    for name, seconds in found.items():
        print(f"{name:<36}{len(table) / seconds / 1e6:>24.2f}")


IMPORT = """
import time; start = time.perf_counter()
from glassleaf.tree.scorer import load_scorer
imported = time.perf_counter()
load_scorer({path!r})
print(1e3 * (imported - start), 1e3 * (time.perf_counter() - imported))
"""


def start_up(folder: Path, repeat: int) -> None:
    code = IMPORT.format(path=str(folder / "model.json"))
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(max(repeat, 5))
    ]
    times = np.array([run.stdout.split() for run in runs], dtype=float)
    print(f"\nimporting glassleaf.tree.scorer: {np.median(times[:, 0]):.0f} ms")
    print(f"loading the model file:      {np.median(times[:, 1]):.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    X, y = made_table(max(given.rows, 20_000), given.columns)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one_row(X, y, folder, given.repeat)
        many_rows(X, y, X[: given.rows], folder, given.repeat)
        start_up(folder, given.repeat)


if __name__ == "__main__":
    main()
