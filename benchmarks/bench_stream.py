"""Fit a generated Parquet folder that need not fit into memory: time, memory and passes per size.

    python -m benchmarks.bench_stream --rows 1 5 20 --folder FOLDER [--write docs/scaling.md]
    python -m benchmarks.bench_stream --rows 1 --how local stream dask

Every fit runs in a process of its own, whose peak resident memory the operating system reports to
this one. ``--write`` puts the tables between the page's markers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_COLUMNS = 30
_ROWS_PER_FILE = 500_000
_GIGABYTE = 2**30


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
import json, logging, resource, sys, time
import pyarrow.parquet as pq
from glassleaf import ModelTreeRegressor

class Passes(logging.Handler):
    def emit(self, record):
        own = passes.setdefault(record.progress.name, [0, 0.0])
        own[0] += 1
        own[1] += record.progress.seconds

if __name__ == "__main__":
    folder, how, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    passes = {}
    log = logging.getLogger("glassleaf.progress")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(Passes())
    model = ModelTreeRegressor(max_depth=3, n_jobs=2, backend=how, **options)
    start = time.perf_counter()
    if how == "local":
        table = pq.read_table(folder)
        model.fit(table.drop_columns("y"), table["y"].to_numpy())
    else:
        model.fit(folder, "y")
    tree = model.tree_
    print(json.dumps({
        "seconds": time.perf_counter() - start,
        "passes": passes,
        "leaves": model.get_n_leaves(),
        "split": f"{tree.columns[tree.feature[0]].name} <= {tree.threshold[0]:.4f}",
        "workers": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    }))
"""


def measured(folder: Path, how: str, options: dict[str, Any]) -> dict[str, Any]:
    """A fit in a process of its own: what it says, and what the system says about it."""
    script = folder / "fit.py"
    script.write_text(_FIT)
    command = [sys.executable, str(script), str(folder / "data"), how, json.dumps(options)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(folder)}
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the fit failed with exit code {process.returncode}")
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    scale = 1 if sys.platform == "darwin" else 1024
    return found | {
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": max(usage.ru_maxrss * scale, found["workers"] if how == "dask" else 0),
    }


def table_of_sizes(runs: list[dict[str, Any]]) -> list[str]:
    """Time and memory of every fit; growth is the time per row relative to the first size."""
    lines = [
        "| rows | `backend` | seconds | growth | of processors | growth | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    first: dict[str, dict[str, Any]] = {}
    for run in runs:
        before = first.setdefault(run["how"], run)
        cells = []
        for what in ("seconds", "cpu"):
            growth = run[what] / run["millions"] / (before[what] / before["millions"])
            cells.append(f"{run[what]:.1f} | {growth:.2f}")
        each = " a process" if run["how"] == "dask" else ""
        lines.append(
            f"| {run['millions']:g} M | `{run['how']}` | {' | '.join(cells)}"
            f" | {run['peak'] / _GIGABYTE:.2f} GB{each} |"
        )
    return lines


def table_of_passes(runs: list[dict[str, Any]]) -> list[str]:
    """Seconds per million rows of every kind of pass, in the largest fit of every backend."""
    largest = {run["how"]: run for run in sorted(runs, key=lambda run: run["millions"])}
    names = sorted(
        {name for run in largest.values() for name in run["passes"]},
        key=lambda name: -max(run["passes"].get(name, [0, 0.0])[1] for run in largest.values()),
    )
    heads = [f"`{how}`, {run['millions']:g} M rows" for how, run in largest.items()]
    lines = [f"| pass | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for name in names:
        cells = []
        for run in largest.values():
            times, seconds = run["passes"].get(name, [0, 0.0])
            times = min(times, 1) if name == "read_part" else times  # a call for every piece
            cells.append(f"{times} x {seconds / times / run['millions']:.2f} s" if times else "")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def write_between_markers(page: Path, text: str) -> None:
    before, rest = page.read_text().split("<!-- stream: begin -->")
    _, after = rest.split("<!-- stream: end -->")
    page.write_text(f"{before}<!-- stream: begin -->\n{text}\n<!-- stream: end -->{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1, 5], help="in millions")
    parser.add_argument("--how", nargs="+", choices=("local", "stream", "dask"), default=["stream"])
    parser.add_argument("--dask", type=float, nargs="*", default=[], help="more sizes, on Dask")
    parser.add_argument("--local", type=float, nargs="*", default=[], help="more sizes, in memory")
    parser.add_argument("--folder", type=Path, default=None, help="for data and shards")
    parser.add_argument("--light", action="store_true", help="the criterion alone decides")
    parser.add_argument("--write", type=Path, help="a page with the markers of these tables")
    given = parser.parse_args()
    options = {"rescore": 0, "significance": None} if given.light else {}
    runs: list[dict[str, Any]] = []
    for millions in sorted({*given.rows, *given.dask, *given.local}):
        chosen = [how for how in given.how if millions in given.rows]
        chosen += [how for how in ("local", "dask") if millions in getattr(given, how)]
        folder = Path(tempfile.mkdtemp(prefix="bench-", dir=given.folder))
        try:
            generate(folder / "data", int(millions * 1e6))
            for how in dict.fromkeys(chosen):
                run = measured(folder, how, options) | {"millions": millions, "how": how}
                runs.append(run)
                print(table_of_sizes(runs)[-1], run["leaves"], "leaves,", run["split"], flush=True)
        finally:
            shutil.rmtree(folder)
    kind = "the criterion alone" if given.light else "defaults"
    text = "\n".join(
        [
            f"{_COLUMNS} columns of normal numbers, depth 3, {kind}; passes in seconds per million"
            " rows.",
            "",
            *table_of_sizes(runs),
            "",
            *table_of_passes(runs),
        ]
    )
    print(f"\n{text}")
    if given.write is not None:
        write_between_markers(given.write, text)


if __name__ == "__main__":
    main()
