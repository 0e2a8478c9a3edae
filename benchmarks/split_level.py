"""How often a tree splits where no split is true, and where one is.

    python -m benchmarks.split_level [--runs 400] [--only level|power]

The level is the share of fits (defaults, one split at most) that split though one linear model is
right; it should be at most 0.05. The power is that share where a split is true, beside the sup-LM
test (Andrews 1993; as in model-based recursive partitioning) of the plain model's gradients with
Bonferroni's correction over the columns. Its critical values are simulated.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from glassleaf import ModelTreeClassifier, ModelTreeRegressor

Floats = NDArray[np.float64]
Rng = np.random.Generator

N_COLUMNS = 5
# The sup-LM test looks at borders with at least this share of the rows on either side.
TRIMMED = 0.1


@dataclass(frozen=True)
class Sample:
    """Columns, target, the name of the loss, and which rows are of one subject."""

    X: Floats
    y: NDArray[Any]
    loss: str = "squared_error"
    groups: NDArray[np.int64] | None = None

    def splits(self, **given: Any) -> bool:
        """Whether a tree of one split at most splits."""
        settings = {"max_depth": 1, "n_jobs": 1, "max_numbers": None, **given}
        if self.loss == "log_loss":
            model: Any = ModelTreeClassifier(**settings)
        else:
            model = ModelTreeRegressor(loss=self.loss, **settings)
        return bool(model.fit(self.X, self.y, groups=self.groups).get_n_leaves() > 1)


# --- no split is true ----------------------------------------------------------------------------


def _columns(rng: Rng, n_rows: int = 1000) -> tuple[Floats, Floats]:
    """Columns, and a score that is linear in them."""
    X = rng.normal(size=(n_rows, N_COLUMNS))
    return X, X @ rng.normal(scale=0.5, size=N_COLUMNS)


def _numbers(noise: Callable[[Rng, Floats], Floats]) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        X, score = _columns(rng)
        return Sample(X, score + noise(rng, X))

    return draw


def _long_tailed(rng: Rng) -> Sample:
    X = np.exp(rng.normal(size=(1000, N_COLUMNS)))
    return Sample(X, X[:, 0] * (0.5 + rng.normal(size=1000)))


def _classes(rng: Rng) -> Sample:
    X, score = _columns(rng)
    return Sample(X, (score + rng.logistic(size=len(X)) > 0).astype(int), "log_loss")


def _counts(dispersion: int) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        X, score = _columns(rng)
        mean = np.exp(1 + score / 2)
        if dispersion == 1:
            y = rng.poisson(mean)
        else:
            y = rng.negative_binomial(mean / (dispersion - 1), 1 / dispersion)
        return Sample(X, y.astype(float), "poisson")

    return draw


def _subjects(rng: Rng) -> Sample:
    """Three rows each: most columns and a part of the noise are the subject's."""
    subject = np.repeat(np.arange(333), 3)
    X = rng.normal(size=(333, N_COLUMNS))[subject]
    X[:, -1] = rng.normal(size=len(X))
    y = X @ rng.normal(scale=0.5, size=N_COLUMNS) + rng.normal(size=333)[subject]
    return Sample(X, y + 0.5 * rng.normal(size=len(X)), groups=subject)


LEVEL: dict[str, Callable[[Rng], Sample]] = {
    "normal": _numbers(lambda rng, X: rng.normal(size=len(X))),
    "logistic": _classes,
    "Poisson": _counts(1),
    "t with 3 degrees of freedom": _numbers(lambda rng, X: rng.standard_t(3, len(X))),
    "spread that grows with a column": _numbers(
        lambda rng, X: np.exp(0.7 * X[:, 0]) * rng.normal(size=len(X))
    ),
    "spread that grows with a column of long tail": _long_tailed,
    "counts with dispersion 2": _counts(2),
    "counts with dispersion 4": _counts(4),
    "three rows per subject": _subjects,
}


# --- a split is true -----------------------------------------------------------------------------


def _interaction(rng: Rng) -> Sample:
    X = rng.normal(size=(400, N_COLUMNS))
    return Sample(X, X[:, 0] + 0.27 * np.sign(X[:, 0]) * X[:, 1] + rng.normal(size=400))


def _jump(rng: Rng) -> Sample:
    X = rng.normal(size=(400, N_COLUMNS))
    return Sample(X, X[:, 1] + 0.8 * (X[:, 0] > 0.52) + rng.normal(size=400))


def _other_odds(rng: Rng) -> Sample:
    X = rng.normal(size=(1000, N_COLUMNS))
    score = X[:, 1] + 0.8 * (X[:, 0] > 0) * X[:, 2]
    return Sample(X, (score + rng.logistic(size=1000) > 0).astype(int), "log_loss")


def _other_counts(rng: Rng) -> Sample:
    X = rng.normal(size=(400, N_COLUMNS))
    score = 0.3 * X[:, 1] + 0.35 * (X[:, 0] > 0) * X[:, 2]
    return Sample(X, rng.poisson(np.exp(score)).astype(float), "poisson")


def _few_rows_differ(rng: Rng) -> Sample:
    X = rng.normal(size=(400, N_COLUMNS))
    return Sample(X, 0.8 * (X[:, 0] > 1.04) * X[:, 1] + rng.normal(size=400))


POWER: dict[str, Callable[[Rng], Sample]] = {
    "interaction, 400 rows": _interaction,
    "jump in three tenths of 400 rows": _jump,
    "other odds in half of 1,000 rows": _other_odds,
    "other rate in half of 400 rows": _other_counts,
    "other slope in 60 of 400 rows": _few_rows_differ,
}


# --- the test of others --------------------------------------------------------------------------


def finds_instability(sample: Sample, level: float = 0.05) -> bool:
    """The sup-LM test of the plain model along every column, with Bonferroni's correction."""
    scores = _scores(sample)
    n_rows, n_parameters = scores.shape
    root = np.linalg.cholesky(np.linalg.inv(scores.T @ scores / n_rows))
    share = np.arange(1, n_rows + 1) / n_rows
    inside = (share >= TRIMMED) & (share <= 1 - TRIMMED)
    found = 0.0
    for column in sample.X.T:
        sums = np.cumsum((scores @ root)[np.argsort(column)], axis=0)[inside]
        statistic = (sums**2).sum(axis=1) / (n_rows * share * (1 - share))[inside]
        found = max(found, float(statistic.max()))
    return found > critical_value(n_parameters, level / sample.X.shape[1])


def _scores(sample: Sample) -> Floats:
    """Gradients of the plain model at its minimum, by Newton's method."""
    X = np.column_stack([sample.X, np.ones(len(sample.X))])
    theta = np.zeros(X.shape[1])
    for _ in range(25):
        mean, curvature = _mean(sample.loss, X @ theta)
        theta += np.linalg.solve((X * curvature[:, None]).T @ X, X.T @ (sample.y - mean))
    return X * (sample.y - _mean(sample.loss, X @ theta)[0])[:, None]


def _mean(loss: str, raw: Floats) -> tuple[Floats, Floats]:
    if loss == "log_loss":
        return expit(raw), expit(raw) * expit(-raw)
    if loss == "poisson":
        return np.exp(raw), np.exp(raw)
    return raw, np.ones_like(raw)


@cache
def critical_value(n_parameters: int, level: float, n_draws: int = 40_000) -> float:
    """The quantile of the largest of squared Brownian bridges over their variance, simulated."""
    rng, n_steps = np.random.default_rng(7), 400
    share = np.arange(1, n_steps) / n_steps
    inside = (share >= TRIMMED) & (share <= 1 - TRIMMED)
    found = []
    for _ in range(n_draws // 1000):
        total = np.zeros((1000, n_steps - 1))
        for _ in range(n_parameters):
            path = np.cumsum(rng.normal(size=(1000, n_steps)), axis=1) / np.sqrt(n_steps)
            total += (path[:, :-1] - share * path[:, -1:]) ** 2 / (share * (1 - share))
        found.append(total[:, inside].max(axis=1))
    return float(np.quantile(np.concatenate(found), 1 - level))


# --- tables --------------------------------------------------------------------------------------


def share_of_runs(
    draw: Callable[[Rng], Sample], n_runs: int, test: Callable[[Sample], bool], seed: int = 0
) -> float:
    """In which share of the runs the test finds a split."""
    found = [test(draw(np.random.default_rng([seed, run]))) for run in range(n_runs)]
    return float(np.mean(found))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", choices=["level", "power"])
    asked = parser.parse_args()

    def ours(sample: Sample) -> bool:
        return sample.splits()

    def by_likelihood(sample: Sample) -> bool:
        return sample.splits(significance_test="likelihood")

    if asked.only != "power":
        print("| no split is true | robust | likelihood |\n|---|---|---|")
        for name, draw in LEVEL.items():
            found = [share_of_runs(draw, asked.runs, test) for test in (ours, by_likelihood)]
            print(f"| {name} | {found[0]:.3f} | {found[1]:.3f} |", flush=True)
    if asked.only != "level":
        print("\n| a split is true | robust | likelihood | sup-LM |\n|---|---|---|---|")
        for name, draw in POWER.items():
            tests = (ours, by_likelihood, finds_instability)
            found = [share_of_runs(draw, asked.runs, test, seed=1) for test in tests]
            print(f"| {name} | {found[0]:.3f} | {found[1]:.3f} | {found[2]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
