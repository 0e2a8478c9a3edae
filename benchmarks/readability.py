"""How good a model is that fits on a postcard: accuracy against numbers to read.

    GLASSLEAF_DATA=folder python -m benchmarks.readability [--datasets House,HELOC] [--folds 4]
        [--numbers 10,20,40,80,160] [--peers glassleaf,lasso] [--out results.json]
        [--svg readability.svg] [--plot-only]

R2 or AUC (times 100; explained deviance for rates and amounts, the mean of one class against the
rest for several) of the best model of each kind with at most so many numbers, and without a limit,
on folds that it was not fitted on. Numbers are counted by one rule (``benchmarks.counting``).

Every table and rival is written to ``--out`` when it is done; the same call goes on where it was
stopped. ``--minutes`` ends a rival that takes too long on a table; ``--rows`` and ``--first`` make
a quick run of fewer rows and folds. Rivals come with the extra ``peers``, but for FasterRisk, whose
requirements are years old: pip install --no-deps fasterrisk && pip install requests "numpy<2.3"
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.picture import draw
from benchmarks.rivals import RIVALS, Fold, Model, best_within, score, without_limit
from glassleaf.tree.file.atomic import write_atomically
from reproduction import datasets

ALL = "all"  # the column without a limit
SCORES = {"squared_error": "R2", "log_loss": "AUC"}  # others: the share of deviance explained
Results = dict[str, Any]


# --- one table, one rival ------------------------------------------------------------------------


def measured(name: str, rival: str, run: Results) -> Results:
    """Scores and numbers of all folds, or the reason why there are none."""
    data = table(name, run["rows"])
    reason = RIVALS[rival].cannot(data)
    if reason is not None:
        return {"cannot": reason}
    kind = StratifiedKFold if data.loss == "log_loss" else KFold
    split = kind(run["folds"], shuffle=True, random_state=0).split(data.X, data.y)
    folds = [
        Fold(data, train, test, tuple(run["numbers"]))
        for _, (train, test) in zip(range(run["first"]), split, strict=False)
    ]
    measured_folds = [_measured_fold(fold, rival) for fold in folds]
    return {"score": SCORES.get(data.loss, "D2"), "folds": measured_folds}


def table(name: str, rows: int | None) -> datasets.Dataset:
    """All rows, or so many drawn from them."""
    data = datasets.ALL[name](None)
    if rows is None or rows >= len(data.y):
        return data
    drawn = np.sort(np.random.default_rng(0).choice(len(data.y), rows, replace=False))
    weight = None if data.weight is None else data.weight[drawn]
    X = data.X.iloc[drawn].reset_index(drop=True)
    return replace(data, X=X, y=data.y[drawn], weight=weight)


def _measured_fold(fold: Fold, rival: str) -> Results:
    start = time.perf_counter()
    models = list(RIVALS[rival].models(fold))
    seconds = time.perf_counter() - start
    found: dict[str, Model | None] = {
        str(limit): best_within(models, limit) for limit in fold.limits
    }
    found[ALL] = without_limit(models)
    return {
        "seconds": round(seconds, 2),
        "found": {
            limit: [round(score(fold.data, fold.test, model.prediction), 3), model.numbers]
            for limit, model in found.items()
            if model is not None
        },
    }


def measured_apart(name: str, rival: str, run: Results, minutes: float) -> Results:
    """The same in a process of its own, which is ended when the time is over."""
    missing = RIVALS[rival].absent()
    if missing is not None:
        return {"absent": missing}
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, name, rival, run))
    process.start()
    sender.close()
    try:
        in_time = receiver.poll(60 * minutes)
        return receiver.recv() if in_time else {"stopped": minutes}
    except EOFError:
        process.join()
        return {"failed": f"The process ended with code {process.exitcode}."}
    finally:
        process.kill()
        process.join()


def _send(sender: Any, name: str, rival: str, run: Results) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send(measured(name, rival, run))
    except Exception as error:
        traceback.print_exc()
        sender.send({"failed": f"{type(error).__name__}: {error}"})


def _end_with_parent() -> None:
    """Whoever stops the benchmark stops what it measures."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# --- results -------------------------------------------------------------------------------------


def read_results(path: Path, run: Results) -> Results:
    """What earlier calls left, if they measured in the same way."""
    if not path.exists():
        return {"run": run, "tables": {}}
    results = json.loads(path.read_text())
    for name, value in run.items():
        if results["run"][name] != value:
            raise SystemExit(
                f"{path} was measured with {name}={results['run'][name]}, not {value};"
                " give another --out."
            )
    return results


def is_done(cell: Results | None, minutes: float) -> bool:
    """Measured, or nothing to measure; what was absent, failed or stopped sooner is tried again."""
    if cell is None:
        return False
    return "folds" in cell or "cannot" in cell or cell.get("stopped", 0) >= minutes


def mean_of(cell: Results, limit: str) -> tuple[float, float] | None:
    """Score and numbers, if every fold has them."""
    found = [fold["found"].get(limit) for fold in cell.get("folds", [])]
    if not found or None in found:
        return None
    scores, numbers = np.mean(found, axis=0)
    return float(scores), float(numbers)


# --- as text -------------------------------------------------------------------------------------


def as_text(results: Results) -> str:
    """A Markdown table per dataset, what is missing, and who is ahead."""
    limits = [str(limit) for limit in results["run"]["numbers"]]
    lines = []
    for name, cells in results["tables"].items():
        head = [name, *limits, ALL, "numbers", "seconds a fold"]
        lines += [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
        lines += [
            _line(rival, cells[rival], limits)
            for rival in RIVALS
            if "folds" in cells.get(rival, {})
        ]
        notes = {rival: _note(cell) for rival, cell in cells.items() if "folds" not in cell}
        lines += ["", *(f"* {rival}: {note}" for rival, note in notes.items()), ""]
    return "\n".join([*lines, *_ahead(results, limits)])


def _line(rival: str, cell: Results, limits: list[str]) -> str:
    found = [mean_of(cell, limit) for limit in [*limits, ALL]]
    scores = ["–" if one is None else f"{one[0]:.1f}" for one in found]
    numbers = "–" if found[-1] is None else f"{found[-1][1]:,.0f}"
    seconds = np.mean([fold["seconds"] for fold in cell["folds"]])
    return f"| {' | '.join([rival, *scores, numbers, f'{seconds:.1f}'])} |"


def _note(cell: Results) -> str:
    if "stopped" in cell:
        return f"stopped after {cell['stopped']:g} minutes"
    kind, reason = next(iter(cell.items()))
    return reason if kind == "cannot" else f"{kind}: {reason}"


def _ahead(results: Results, limits: list[str]) -> list[str]:
    """On how many tables glassleaf is at least as good, of those where both have a model."""
    lines = [
        f"| glassleaf is at least as good as | {' | '.join([*limits, ALL])} |",
        f"|---{'|---:' * (len(limits) + 1)}|",
    ]
    for rival in RIVALS:
        shown = []
        for limit in [*limits, ALL]:
            pairs = [
                (mean_of(cells.get("glassleaf", {}), limit), mean_of(cells.get(rival, {}), limit))
                for cells in results["tables"].values()
            ]
            both = [(own[0], other[0]) for own, other in pairs if own and other]
            won = sum(own >= other for own, other in both)
            shown.append(f"{won} of {len(both)}" if both else "–")
        if rival != "glassleaf" and set(shown) != {"–"}:
            lines.append(f"| {rival} | {' | '.join(shown)} |")
    return lines


# --- the program ---------------------------------------------------------------------------------


def chosen(given: str, names: list[str]) -> list[str]:
    """What was asked for, in the order of the list: by the name, or else by a part of it.

    >>> chosen("bank, weather", ["Bankruptcy", "Weather-Temp", "Weather-Vis", "Bank"])
    ['Weather-Temp', 'Weather-Vis', 'Bank']
    """
    found: set[str] = set()
    for word in (part.strip().lower() for part in given.split(",") if part.strip()):
        exact = {name for name in names if name.lower() == word}
        meant = exact or {name for name in names if word in name.lower()}
        if not meant:
            raise SystemExit(f"{word!r} is not one of: {'; '.join(names)}.")
        found |= meant
    return [name for name in names if not found or name in found]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="", help="names, separated by commas (default: all)")
    parser.add_argument("--peers", default="", help="names, separated by commas (default: all)")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--numbers", default="10,20,40,80,160", help="limits")
    parser.add_argument("--first", type=int, help="only so many of the folds")
    parser.add_argument("--rows", type=int, help="only so many rows of every table")
    parser.add_argument("--minutes", type=float, default=120, help="for a peer on a table")
    parser.add_argument("--out", type=Path, default=Path("build/readability.json"))
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    parser.add_argument("--plot-only", action="store_true", help="measure nothing")
    return parser.parse_args()


def main() -> int:
    given = parsed()
    results = json.loads(given.out.read_text()) if given.plot_only else run_all(given)
    shown = chosen(given.datasets, list(results["tables"]))
    results["tables"] = {name: results["tables"][name] for name in shown}
    print(as_text(results))
    if given.svg is not None:
        draw(results, given.svg)
    cells = [cell for cells in results["tables"].values() for cell in cells.values()]
    return int(any("failed" in cell for cell in cells))


def run_all(given: argparse.Namespace) -> Results:
    run = {
        "folds": given.folds,
        "first": given.first or given.folds,
        "rows": given.rows,
        "numbers": sorted(int(limit) for limit in given.numbers.split(",")),
    }
    results = read_results(given.out, run)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for name in chosen(given.datasets, list(datasets.ALL)):
        cells = results["tables"].setdefault(name, {})
        for rival in chosen(given.peers, list(RIVALS)):
            if is_done(cells.get(rival), given.minutes):
                continue
            cells[rival] = measured_apart(name, rival, run, given.minutes)
            write_atomically(given.out, json.dumps(results, indent=1).encode())
            print(f"{name}, {rival}: {_short(cells[rival])}", file=sys.stderr, flush=True)
    return results


def _short(cell: Results) -> str:
    if "folds" not in cell:
        return _note(cell)
    found = mean_of(cell, ALL)
    seconds = sum(fold["seconds"] for fold in cell["folds"])
    return f"{found[0]:.1f} with {found[1]:,.0f} numbers, {seconds:.0f} s" if found else "nothing"


if __name__ == "__main__":
    sys.exit(main())
