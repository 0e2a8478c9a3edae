"""Fit a generated Parquet folder that need not fit into memory; time and peak memory per size.

    python benchmarks/bench_stream.py --rows 1 5 20 --folder /tmp/big

Every fit runs in a process of its own, whose peak resident memory the operating system reports.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_COLUMNS = 30
_ROWS_PER_FILE = 500_000


def generate(folder: Path, n_rows: int) -> None:
    """Numbers with a planted tree: the slope of x1 changes with x0, that of x3 with x2."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{k}" for k in range(_COLUMNS)]
    for number, first in enumerate(range(0, n_rows, _ROWS_PER_FILE)):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(min(_ROWS_PER_FILE, n_rows - first), _COLUMNS))
        y = np.where(X[:, 0] > 0.3, X[:, 1], -X[:, 1]) + np.where(X[:, 2] > 0, X[:, 3], 0.2)
        y += 0.1 * X[:, 4:].sum(axis=1) + 0.3 * rng.normal(size=len(X))
        table = pa.table([*X.T, y], names=[*names, "y"])
        pq.write_table(table, folder / f"{number:05d}.parquet", row_group_size=100_000)


_FIT = """
import sys, time, resource, logging
from glassleaf import ModelTreeRegressor
start = time.perf_counter()
options = {} if sys.argv[3] == "full" else {"rescore": 0, "significance": None}
tree = ModelTreeRegressor(max_depth=3, backend="stream", verbose=int(sys.argv[2]), **options)
tree.fit(sys.argv[1], "y")
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"{seconds:.1f} s, peak {peak:.2f} GB, {tree.get_n_leaves()} leaves,"
      f" first split on {tree.tree_.columns[tree.tree_.feature[0]].name}"
      f" at {tree.tree_.threshold[0]:.4f}")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1, 5], help="in millions")
    parser.add_argument("--folder", type=Path, default=None, help="for data and shards")
    parser.add_argument("--light", action="store_true", help="the criterion alone decides")
    parser.add_argument("--verbose", type=int, default=0)
    given = parser.parse_args()
    for millions in given.rows:
        folder = Path(tempfile.mkdtemp(prefix="bench-", dir=given.folder))
        try:
            start = time.perf_counter()
            generate(folder / "data", int(millions * 1e6))
            size = sum(file.stat().st_size for file in (folder / "data").iterdir()) / 2**30
            print(
                f"{millions:g} M rows, {size:.2f} GB, made in {time.perf_counter() - start:.0f} s"
            )
            command = [sys.executable, "-c", _FIT, str(folder / "data"), str(given.verbose)]
            command.append("light" if given.light else "full")
            subprocess.run(command, check=True, env=os.environ | {"TMPDIR": str(folder)})
            sys.stdout.flush()
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
