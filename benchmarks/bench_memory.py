"""Peak memory of fitting Census, as a table of categories and as a one-hot encoded array.

    GLASSLEAF_DATA=folder python -m benchmarks.bench_memory

The peak is that of a process (resident), everything included: Python, libraries and the data. Every
table is read by a process of its own; another one does the encoding, which takes more than the fit.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from glassleaf import ModelTreeClassifier, paper_settings
from reproduction import datasets


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for step in ("native", "encode", "one-hot"):
            subprocess.run([sys.executable, "-m", __spec__.name, step, folder], check=True)


def run(step: str, folder: Path) -> None:
    """One of the steps, in a process of its own."""
    if step == "native":
        data = datasets.census()
        measure("categories", data.X, data.y)
    elif step == "encode":
        data = datasets.census()
        np.save(folder / "X.npy", pd.get_dummies(data.X, dtype=np.float32).to_numpy(np.float32))
        np.save(folder / "y.npy", data.y)
    else:
        measure("one-hot, float32", np.load(folder / "X.npy"), np.load(folder / "y.npy"))


def measure(kind: str, X: Any, y: Any) -> None:
    before = peak_megabytes()
    ModelTreeClassifier(**paper_settings("MT-GR"), max_depth=3, n_jobs=2).fit(X, y)
    print(
        f"| {kind}, {X.shape[0]} × {X.shape[1]} | {before:.0f} MB | {peak_megabytes():.0f} MB |",
        flush=True,
    )


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
