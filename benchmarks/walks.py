"""Which modules of glassleaf a call walks through, and how often it changes between them.

    python -m benchmarks.walks [--list]

Every call is made twice and recorded the second time, on one thread: what is imported or compiled
at first use does not count. A module is visited if one of its Python functions runs; a room is
what lies directly under ``glassleaf``. A call and its return are two changes of module.
``PYTHONPATH`` says which copy of glassleaf is walked through.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import glassleaf
from glassleaf.cli import main as command
from glassleaf.export import to_sql

Walk = Callable[[], Any]


def walks(folder: Path) -> dict[str, Walk]:
    """The calls, by name."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = np.where(X["a"] > 0, X["b"], -X["b"]) + 0.1 * rng.normal(size=400)
    file, model = folder / "table.csv", folder / "model.json"
    X.assign(y=y).to_csv(file, index=False)

    def fit() -> Any:
        return glassleaf.ModelTreeRegressor(n_jobs=1).fit(X, y)

    tree = fit()
    call = ["fit", str(file), "--target", "y", "--output", str(model), "--set", "n_jobs=1"]
    return {
        "fit, 400 x 3": fit,
        "predict": lambda: tree.predict(X),
        "explain(model, X)": lambda: glassleaf.explain(tree, X),
        "report": lambda: tree.report(X, y).write(folder / "report.html"),
        "SQL": lambda: to_sql(tree),
        "glassleaf fit file.csv": lambda: command(call, standalone_mode=False),
    }


def visited(walk: Walk) -> list[str]:
    """The modules in the order in which they run; one that is returned to runs again."""
    out: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        running = frame.f_back if event == "return" else frame
        if running is None or running.f_code.co_name == "<module>":  # imports, annotations
            return
        name = running.f_globals.get("__name__", "")
        if name.partition(".")[0] == "glassleaf" and out[-1:] != [name]:
            out.append(name)

    with _quiet():
        walk()
        sys.setprofile(note)
        try:
            walk()
        finally:
            sys.setprofile(None)
    return out


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the modules, too")
    with_names = parser.parse_args().list
    print(f"{'walk':<24}{'rooms':>6}{'modules':>9}{'changes':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, walk in walks(Path(folder)).items():
            modules = visited(walk)
            rooms = {module.split(".")[1] for module in modules if "." in module}
            print(f"{name:<24}{len(rooms):>6}{len(set(modules)):>9}{len(modules) - 1:>9,}")
            if with_names:
                print("  " + "\n  ".join(dict.fromkeys(modules)))


if __name__ == "__main__":
    main()
