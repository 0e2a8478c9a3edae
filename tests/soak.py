"""Random models for an hour: ``python -m tests.soak --minutes 60 --state build/soak.json``.

Trial after trial of ``helpers/differential.py``, and for every few of them an option on a table of
``helpers/wild.py`` against its bars. Seeds go up from that of the state, so that a soak that was
stopped goes on. Afterwards it prints a table of counts, and every failure with its seed.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "helpers"))

import bars
import differential
import numpy as np
from wild import FAMILY

TRIALS_PER_BAR = 5
N_TRAINING, N_LATER = 2000, 4000
OUTCOMES = ("ok", "refused", "not here", "failed")


def main(arguments=None):
    given = _arguments(arguments)
    state = _read(given.state)
    stop, first = time.monotonic() + 60 * given.minutes, state["next_seed"]
    begun = time.monotonic()
    while time.monotonic() < stop:
        seed = state["next_seed"]
        for name, found in _outcomes(seed).items():
            _count(state, seed, name, found)
        state["next_seed"] = seed + 1
        if seed % 10 == 9:
            _write(given.state, state, begun)
            begun = time.monotonic()
            print(f"{state['next_seed'] - first} trials", file=sys.stderr)
    _write(given.state, state, begun)
    print(summary(state))
    return 1 if state["failures"] else 0


def _arguments(arguments):
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--state", type=Path, default=Path("build/soak.json"))
    return parser.parse_args(arguments)


def _outcomes(seed):
    """What came of a seed, by check."""
    try:
        found = {"fit": "ok", **differential.run(seed)}
    except Exception as failure:  # noqa: BLE001 - a fit that fails is counted, too
        return {"fit": f"{type(failure).__name__}: {failure}"[:2000]}
    if seed % TRIALS_PER_BAR == 0:
        found["never wild"] = _held_to_bars(seed)
    return found


def _held_to_bars(seed):
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(FAMILY)))
    options = bars.OPTIONS[rng.integers(0, len(bars.OPTIONS))]
    X, y = FAMILY[name](rng, N_TRAINING + N_LATER)
    later = X[N_TRAINING:].reset_index(drop=True)
    found = bars.judged(options, X[:N_TRAINING], y[:N_TRAINING], later, y[N_TRAINING:])
    missed = bars.falls(options, *found)
    return f"{name} with {options}: {missed}, {found}" if missed else "ok"


def _count(state, seed, name, found):
    outcome = found if found in OUTCOMES else "failed"
    counts = state["counts"].setdefault(name, dict.fromkeys(OUTCOMES, 0))
    counts[outcome] += 1
    if outcome == "failed":
        state["failures"].append({"seed": seed, "check": name, "what": found})
        print(f"seed {seed}, {name}: {found}", file=sys.stderr)


def _read(path):
    if path.exists():
        return json.loads(path.read_text())
    return {"next_seed": 0, "seconds": 0.0, "counts": {}, "failures": []}


def _write(path, state, begun):
    state["seconds"] += time.monotonic() - begun
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state, indent=1))


def summary(state):
    """A table of counts, in Markdown, and the failures."""
    lines = [
        f"{state['next_seed']:,} trials in {state['seconds'] / 60:.0f} minutes.",
        "",
        f"| check | {' | '.join(OUTCOMES)} |",
        "|---" * (len(OUTCOMES) + 1) + "|",
    ]
    for name, counts in state["counts"].items():
        lines.append(f"| {name} | {' | '.join(f'{counts[k]:,}' for k in OUTCOMES)} |")
    for own in state["failures"]:
        lines += ["", f"seed {own['seed']}, {own['check']}:", own["what"]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
