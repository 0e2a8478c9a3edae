"""Every option on every table against its bars: ``python -m tests.bars_grid``.

The tables are those of the evaluation (samples), scikit-learn's own and ``helpers/wild.py``. Pairs
that the state (``--state build/bars.json``) holds are not run again, so that a run that was stopped
goes on; ``--again`` runs those that missed a bar. It prints what is missed, then a table of counts.
"""

import argparse
import json
import sys
import warnings
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import bars
import numpy as np
from sklearn import datasets as of_sklearn
from wild import FAMILY

from reproduction import datasets

N_TRAINING, N_LATER = 3000, 10_000
SIZES_OF_FAMILY = (400, 1500, 4000)
OF_SKLEARN = ("iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud")
SLOW = ("Census", "digits")  # hundreds of terms: last


def main(arguments=None):
    given = _arguments(arguments)
    state = json.loads(given.state.read_text()) if given.state.exists() else {}
    again = {key for key, own in state.items() if own["missed"]} if given.again else set()
    for name, loader in _tables().items():
        options = [own for own in _options(name) if _wanted(_key(name, own), state, again)]
        if not options or given.only not in name:
            continue
        table = loader()
        for own in options:
            _run(state, name, own, table)
            given.state.parent.mkdir(parents=True, exist_ok=True)
            given.state.write_text(json.dumps(state, indent=1))
    print(summary(state))


def _arguments(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.bars_grid", description=__doc__)
    parser.add_argument("--state", type=Path, default=Path("build/bars.json"))
    parser.add_argument("--again", action="store_true", help="run what missed a bar once more")
    parser.add_argument("--only", default="", help="tables whose names hold this")
    return parser.parse_args(arguments)


def _wanted(key, state, again):
    return key not in state or key in again


def _key(name, options):
    return f"{name} {json.dumps(options)}"


def _options(name):
    more = bars.OF_NUMBERS if name.startswith("wild") else []
    return [*bars.OPTIONS, *more]


def _run(state, name, options, table):
    try:
        found = bars.judged(options, *table)
        missed = bars.falls(options, *found)
    except ValueError as failure:  # such as a loss that a target is not for
        found, missed = [str(failure)[:300]], []
    state[_key(name, options)] = {"found": [*found], "missed": missed}
    if missed:
        print(name, options, missed, np.round(found, 3).tolist(), flush=True)


def _tables():
    """Name and loader of every table: training rows and later ones, with their targets."""
    wild = {
        f"wild-{name}-{n}": (lambda name=name, n=n: _of_family(name, n))
        for n in SIZES_OF_FAMILY
        for name in FAMILY
    }
    small = {name: (lambda name=name: _of_sklearn(name)) for name in OF_SKLEARN}
    large = {name: (lambda name=name: _of_evaluation(name)) for name in datasets.ALL}
    found = {**small, **wild, **large}
    return {name: found[name] for name in sorted(found, key=lambda own: own in SLOW)}


def _of_family(name, n):
    rng = np.random.default_rng(zlib.crc32(name.encode()) + n)
    return _halves(*FAMILY[name](rng, n + N_LATER), n)


def _of_sklearn(name):
    X, y = getattr(of_sklearn, f"load_{name}")(return_X_y=True, as_frame=True)
    y = y.to_numpy() if y.ndim == 1 else y.iloc[:, 0].to_numpy()
    is_class = name not in ("diabetes", "linnerud")
    return _drawn(name, X, y.astype(str).astype(object) if is_class else y.astype(float))


def _of_evaluation(name):
    own = datasets.ALL[name]()
    is_class = own.task == "classification"
    return _drawn(name, own.X, own.y.astype(str).astype(object) if is_class else own.y)


def _drawn(name, X, y):
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(y))
    n = min(N_TRAINING, 2 * len(y) // 3)
    order = order[: n + N_LATER]
    return _halves(X.iloc[order].reset_index(drop=True), y[order], n)


def _halves(X, y, n):
    return X[:n], y[:n], X[n:].reset_index(drop=True), y[n:]


def summary(state):
    """How many pairs of a tree and its linear model miss which bar, by table."""
    lines = [
        "| table | pairs | missed | below linear | below zero | beyond the range |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(key.split(" {")[0] for key in state):
        own = [found["missed"] for key, found in state.items() if key.startswith(f"{name} {{")]
        kinds = [sum(kind in missed for missed in own) for kind in bars.KINDS]
        if any(kinds):
            lines.append(
                f"| {name} | {len(own)} | {sum(map(bool, own))} | {' | '.join(map(str, kinds))} |"
            )
    missed = sum(bool(found["missed"]) for found in state.values())
    return "\n".join([f"{len(state):,} pairs, {missed} missed.", "", *lines])


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main())
