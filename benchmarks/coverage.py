"""How often intervals of coefficients hold the true value: honest ones, and naive ones.

    python -m benchmarks.coverage [--runs 300] [--only normal]

A model is fitted with the defaults (depth 2), once with ``honest=0.5`` and once to all rows, and
``glassleaf.inference`` gives intervals of 95 %. What is true is what the same terms and splits get
from a great many rows without noise. Tables of 1,000 rows with five columns of which three matter;
the effect of one differs between two segments, another one bends.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, inference

Floats = NDArray[np.float64]
Rng = np.random.Generator

N_ROWS = 1000
N_COLUMNS = 5
N_TRUE = 20_000
PER_SUBJECT = 4


@dataclass(frozen=True)
class Design:
    """How targets are drawn around their means, on the scale of the link, and the loss."""

    draw: Callable[[Rng, Floats, Floats], NDArray[Any]]  # of columns and scores
    mean: Callable[[Floats], Floats]
    loss: str = "squared_error"
    is_grouped: bool = False

    def model(self, **given: Any) -> Any:
        """An estimator for this loss."""
        if self.loss == "log_loss":
            return ModelTreeClassifier(max_depth=2, n_jobs=1, **given)
        return ModelTreeRegressor(loss=self.loss, max_depth=2, n_jobs=1, **given)

    def truth(self, model: Any, X: Floats) -> Any:
        """What the terms of a model get from rows without noise."""
        mean = self.mean(score(X))
        if self.loss != "log_loss":
            return inference(model, X, mean, honest=False)
        both = np.vstack([X, X]), np.repeat([0, 1], len(X))
        return inference(model, *both, np.concatenate([1 - mean, mean]), honest=False)


def score(X: Floats) -> Floats:
    """The truth: an effect that differs between two segments, and one that bends."""
    differs = np.where(X[:, 0] > 0.3, 0.9, 0.3) * X[:, 1]
    return np.asarray(0.3 + differs + 0.5 * np.maximum(X[:, 2], 0.0))


def _same(mean: Floats) -> Floats:
    return mean


def _subjects(rng: Rng, X: Floats, own: Floats) -> Floats:
    effect = rng.normal(size=len(X) // PER_SUBJECT)
    return np.asarray(own + np.repeat(effect, PER_SUBJECT) + 0.5 * rng.normal(size=len(X)))


DESIGNS = {
    "normal": Design(lambda rng, X, own: own + rng.normal(size=len(X)), _same),
    "heavy tails": Design(lambda rng, X, own: own + rng.standard_t(3, len(X)), _same),
    "spread that grows": Design(
        lambda rng, X, own: own + np.exp(0.5 * X[:, 1]) * rng.normal(size=len(X)), _same
    ),
    "subjects": Design(_subjects, _same, is_grouped=True),
    "logistic": Design(
        lambda rng, X, own: (rng.random(len(X)) < expit(own)).astype(int), expit, "log_loss"
    ),
    "counts": Design(lambda rng, X, own: rng.poisson(np.exp(own)), np.exp, "poisson"),
    "overdispersed counts": Design(
        lambda rng, X, own: rng.poisson(np.exp(own) * rng.gamma(1.0, 1.0, len(X))),
        np.exp,
        "poisson",
    ),
    "amounts": Design(lambda rng, X, own: rng.gamma(2.0, np.exp(own) / 2), np.exp, "gamma"),
}


@dataclass(frozen=True)
class Counted:
    """Intervals that hold the true value, and intervals in all."""

    held: int = 0
    total: int = 0

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.held + other.held, self.total + other.total)

    @property
    def share(self) -> float:
        """The coverage."""
        return self.held / max(self.total, 1)


def one_run(name: str, seed: int, honest: float | None) -> Counted:
    """The intervals of one table."""
    design = DESIGNS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    n_subjects = N_ROWS // PER_SUBJECT
    groups = np.repeat(np.arange(n_subjects), PER_SUBJECT) if design.is_grouped else None
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    if groups is not None:  # what a subject is changes little from row to row
        X = np.repeat(X[:n_subjects], PER_SUBJECT, axis=0) + 0.3 * X
    y = design.draw(rng, X, score(X))
    many = rng.normal(size=(N_TRUE, N_COLUMNS))
    if groups is not None:
        many *= np.sqrt(1.09)
    model = design.model(honest=honest).fit(X, y, groups=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = inference(model, X, y, groups=groups)
        true = design.truth(model, many)["estimate"]
    known = found["estimate"].notna() & true.notna()
    is_held = (found["lower"] <= true) & (true <= found["upper"])
    return Counted(int((is_held & known).sum()), int(known.sum()))


def coverage(name: str, runs: int, honest: float | None) -> Counted:
    """The intervals of several tables of a design."""
    return sum((one_run(name, seed, honest) for seed in range(runs)), Counted())


def main() -> None:
    """Print the coverage in every design."""
    parser = argparse.ArgumentParser(description="Coverage of intervals of coefficients.")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--only", choices=DESIGNS)
    given = parser.parse_args()
    print("| noise | honest | naive | intervals |")
    print("|---|---|---|---|")
    for name in DESIGNS:
        if given.only in (None, name):
            honest, naive = (coverage(name, given.runs, share) for share in (0.5, None))
            print(f"| {name} | {honest.share:.3f} | {naive.share:.3f} | {honest.total} |")


if __name__ == "__main__":
    main()
