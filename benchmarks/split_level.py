"""How often a tree splits where no split is true, and where one is.

    python -m benchmarks.split_level [--runs 400] [--only level|harder|power] [--tests robust ...]
                                     [--design NAME]

The level is the share of fits (defaults, one split at most) that split though one linear model is
right; it should be at most 0.05. "Harder" tables are those that one does not think of first: many
columns, few rows, groups of unequal sizes, weights, gaps. The power is that share where a split is
true, beside the sup-LM test (Andrews 1993; as in model-based recursive partitioning) of the plain
model's gradients with Bonferroni's correction over the columns. Its critical values are simulated.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from glassleaf import ModelTreeClassifier, ModelTreeRegressor

Floats = NDArray[np.float64]
Rng = np.random.Generator

N_COLUMNS = 5
# The sup-LM test looks at borders with at least this share of the rows on either side.
TRIMMED = 0.1


@dataclass(frozen=True)
class Sample:
    """Columns, target, the name of the loss, which rows are of one subject, and weights."""

    X: Any
    y: NDArray[Any]
    loss: str = "squared_error"
    groups: NDArray[np.int64] | None = None
    weight: Floats | None = None

    def splits(self, **given: Any) -> bool:
        """Whether a tree of one split at most splits."""
        settings = {"max_depth": 1, "n_jobs": 1, "max_numbers": None, **given}
        if self.loss == "log_loss":
            model: Any = ModelTreeClassifier(**settings)
        else:
            model = ModelTreeRegressor(loss=self.loss, **settings)
        model.fit(self.X, self.y, sample_weight=self.weight, groups=self.groups)
        return bool(model.get_n_leaves() > 1)


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


# --- no split is true, and it is harder to see ---------------------------------------------------


def _other_spread(rng: Rng) -> Sample:
    """The spread depends on a column that says nothing else."""
    X, score = _columns(rng)
    extra = rng.normal(size=(len(X), 1))
    spread = np.exp(0.7 * extra[:, 0])
    return Sample(np.hstack([X, extra]), score + spread * rng.normal(size=len(X)))


def _unequal_groups(rng: Rng) -> Sample:
    """Runs of 1 to 30 rows; noise and one column remember the row before, others are the run's."""
    size = np.minimum(rng.geometric(0.15, size=1000), 30)
    group = np.repeat(np.arange(len(size)), size)[:1000]
    X = rng.normal(size=(1000, N_COLUMNS))[group]
    X[:, -1] = _remembering(rng, group)
    score = X @ rng.normal(scale=0.5, size=N_COLUMNS)
    return Sample(X, score + _remembering(rng, group), groups=group)


def _remembering(rng: Rng, group: NDArray[np.int64], memory: float = 0.8) -> Floats:
    """Noise of the first order of autoregression within each group, of variance 1."""
    out = rng.normal(size=len(group))
    for row in range(1, len(out)):
        if group[row] == group[row - 1]:
            out[row] = memory * out[row - 1] + np.sqrt(1 - memory**2) * out[row]
    return out


def _few_groups(rng: Rng) -> Sample:
    """Thirty groups of twenty rows."""
    group = np.repeat(np.arange(30), 20)
    X = rng.normal(size=(30, N_COLUMNS))[group] + rng.normal(size=(600, N_COLUMNS))
    score = X @ rng.normal(scale=0.5, size=N_COLUMNS)
    return Sample(X, score + rng.normal(size=30)[group] + rng.normal(size=600), groups=group)


def _grouped_classes(rng: Rng) -> Sample:
    """Five outcomes per subject that go together, each by itself logistic."""
    subject = np.repeat(np.arange(200), 5)
    X = rng.normal(size=(200, N_COLUMNS))[subject]
    X[:, -1] = rng.normal(size=1000)
    score = X @ rng.normal(scale=0.5, size=N_COLUMNS)
    shared = np.sqrt(0.5) * (rng.normal(size=200)[subject] + rng.normal(size=1000))
    return Sample(X, (ndtr(shared) < expit(score)).astype(int), "log_loss", subject)


def _zero_inflated(rng: Rng) -> Sample:
    X, score = _columns(rng)
    y = rng.poisson(np.exp(1 + score / 2)) * (rng.random(len(X)) < 0.5)
    return Sample(X, y.astype(float), "poisson")


def _rare_classes(rng: Rng) -> Sample:
    X, score = _columns(rng)
    return Sample(X, (score - 3.5 + rng.logistic(size=len(X)) > 0).astype(int), "log_loss")


def _many_columns(rng: Rng) -> Sample:
    X = rng.normal(size=(1000, 50))
    return Sample(X, X[:, :5].sum(axis=1) / 2 + rng.normal(size=1000))


def _many_categories(rng: Rng) -> Sample:
    X, score = _columns(rng)
    level = rng.integers(0, 20, size=len(X))
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    table = pd.DataFrame({**columns, "kind": np.array([f"k{k}" for k in range(20)])[level]})
    return Sample(table, score + rng.normal(size=20)[level] + rng.normal(size=len(X)))


def _repeated(rng: Rng) -> Sample:
    """Weights that say how often a row was seen."""
    X, score = _columns(rng)
    weight = rng.integers(1, 5, size=len(X)).astype(float)
    return Sample(X, score + rng.normal(size=len(X)), weight=weight)


def _important(rng: Rng) -> Sample:
    """Weights that say how much a row matters: a tenth of the rows has half of the weight."""
    X, score = _columns(rng)
    weight = np.exp(rng.normal(size=len(X)))
    return Sample(X, score + rng.normal(size=len(X)), weight=weight)


def _precise(rng: Rng) -> Sample:
    """Weights that go with a column and say how exact a row is, but are wrong."""
    X, score = _columns(rng)
    return Sample(X, score + rng.normal(size=len(X)), weight=np.exp(0.7 * X[:, 0]))


def _few_rows(noise: Callable[[Rng], Floats]) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        X, score = _columns(rng, 100)
        return Sample(X, score + noise(rng))

    return draw


def _discrete(rng: Rng) -> Sample:
    X = rng.integers(1, 6, size=(1000, N_COLUMNS)).astype(float)
    score = X @ rng.normal(scale=0.5, size=N_COLUMNS)
    return Sample(X, score + np.sqrt(X[:, 0]) * rng.normal(size=1000))


def _gaps(rng: Rng) -> Sample:
    X, score = _columns(rng)
    y = score + rng.normal(size=len(X))
    return Sample(np.where(rng.random(X.shape) < 0.2, np.nan, X), y)


HARDER: dict[str, Callable[[Rng], Sample]] = {
    "spread by a column that says nothing else": _other_spread,
    "lognormal noise": _numbers(lambda rng, X: np.exp(rng.normal(size=len(X)))),
    "groups of 1 to 30 rows that remember": _unequal_groups,
    "30 groups of 20 rows": _few_groups,
    "classes, five rows per subject": _grouped_classes,
    "classes, 4 % of one": _rare_classes,
    "counts, half of them zero for sure": _zero_inflated,
    "50 columns": _many_columns,
    "20 categories": _many_categories,
    "weights 1 to 4": _repeated,
    "lognormal weights": _important,
    "weights that grow with a column": _precise,
    "100 rows": _few_rows(lambda rng: rng.normal(size=100)),
    "100 rows, t with 3 degrees of freedom": _few_rows(lambda rng: rng.standard_t(3, 100)),
    "100 rows, lognormal noise": _few_rows(lambda rng: np.exp(rng.normal(size=100))),
    "five values per column, spread that grows": _discrete,
    "a fifth of the values missing": _gaps,
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
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", choices=["level", "harder", "power"])
    parser.add_argument("--tests", nargs="+", choices=TESTS, default=["robust", "likelihood"])
    parser.add_argument("--design", help="Only designs with this in their name.")
    asked = parser.parse_args()
    tests = {name: TESTS[name] for name in asked.tests}
    for kind, title, designs in (
        ("level", "no split is true", LEVEL),
        ("harder", "no split is true, harder", HARDER),
        ("power", "a split is true", POWER),
    ):
        if asked.only in (None, kind):
            own = {**tests, "sup-LM": finds_instability} if kind == "power" else tests
            named = {name: draw for name, draw in designs.items() if (asked.design or "") in name}
            print_shares(title, named, own, asked.runs, seed=int(kind == "power"))


def print_shares(
    title: str,
    designs: dict[str, Callable[[Rng], Sample]],
    tests: dict[str, Callable[[Sample], bool]],
    n_runs: int,
    seed: int,
) -> None:
    """A table: a row for each design, a column for each test."""
    print(f"| {title} | {' | '.join(tests)} |\n|---{'|---' * len(tests)}|")
    for name, draw in designs.items():
        found = [share_of_runs(draw, n_runs, test, seed) for test in tests.values()]
        print(f"| {name} | {' | '.join(f'{share:.3f}' for share in found)} |", flush=True)
    print()


TESTS: dict[str, Callable[[Sample], bool]] = {
    "robust": lambda sample: sample.splits(),
    "likelihood": lambda sample: sample.splits(significance_test="likelihood"),
}


if __name__ == "__main__":
    main()
