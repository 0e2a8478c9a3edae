"""Do new rows look like those of the fit? Population stability of score, leaves and columns.

The model keeps a small histogram of every column and score (``tree.histograms``), and the rows of
every leaf. New rows are counted in the same bins; counts of slices of a table add up.

* ``psi`` is the population stability index, the sum of ``(q - p) ln(q / p)`` over bins, with the
  shares p in training and q in new rows. Shares of less than half a new row count as half a row.
* ``by_chance`` is what it is on average where nothing has changed: ``(B - 1) (1/n + 1/m)`` for B
  bins, n rows in training and m new ones. It matters where rows are few.
* ``p_value`` is that of Pearson's test of both samples having the same shares, times the number of
  things that are watched (Bonferroni). Neighbouring bins in which either sample would expect
  fewer than five rows are put together for it.
* A change counts if the p-value is below 0.01. Then ``psi`` less ``by_chance`` says how large it
  is: from 0.1 on worth a look (level 1), from 0.25 on large (level 2).

Rows are counted, in training as later, whatever their weight: that of a class or of an exposure is
not known of new rows, or not meant to say how often a row is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from glassleaf.errors import GlassleafError
from glassleaf.explanations import words
from glassleaf.explanations.frames import Listed
from glassleaf.explanations.json_data import JsonData
from glassleaf.tables.dates import date_text
from glassleaf.tree.fitted import FittedModel, fitted_model
from glassleaf.tree.histograms import Histogram

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# From here on a change is worth a look, or large.
STEPS = (0.1, 0.25)
_SIGNIFICANT = 0.01
_EXPECTED_ROWS = 5.0


@dataclass(frozen=True)
class Watched(JsonData):
    """One score, column, or the leaves: how much it has changed, and the shares of its bins."""

    what: str  # "score", "leaves" or "column"
    name: str
    psi: float
    by_chance: float
    p_value: float
    level: int
    bins: tuple[str, ...]
    training: tuple[float, ...]
    new: tuple[float, ...]

    @property
    def change(self) -> float:
        """``psi`` beyond what chance adds; 0 where chance alone may have made it."""
        return max(self.psi - self.by_chance, 0.0) if self.p_value < _SIGNIFICANT else 0.0


@dataclass(frozen=True)
class Drift(JsonData):
    """All that is watched, and what could not be compared, for the model does not know it."""

    rows: int
    watched: tuple[Watched, ...]
    not_compared: tuple[str, ...]

    @property
    def level(self) -> int:
        """The highest of all levels: 0, 1 (worth a look) or 2 (a large change)."""
        return max(own.level for own in self.watched)

    def changed(self, threshold: float = STEPS[0]) -> tuple[Watched, ...]:
        """What has changed by at least this much, the largest change first."""
        found = [own for own in self.watched if own.change >= threshold]
        return tuple(sorted(found, key=lambda own: -own.change))

    def to_frame(self) -> Any:
        """A pandas DataFrame (or a polars one) with a row for everything that is watched."""
        names = ("what", "name", "psi", "by_chance", "p_value", "level")
        return Listed([{name: getattr(own, name) for name in names}
                       for own in self.watched]).to_frame()  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """The findings in words."""
        said = [f"{self.rows:,} new rows, {len(self.watched)} things watched."]
        for own in self.changed():
            how = "much" if own.level > 1 else "somewhat"
            said.append(
                f"{own.what.capitalize()}{' ' + words.name(own.name) if own.name else ''} has"
                f" changed {how}: PSI {words.number(own.psi, 3)}, of which chance explains"
                f" {words.number(own.by_chance, 2)}."
            )
        if len(said) == 1:
            said.append("No change beyond what chance explains.")
        if self.not_compared:
            said.append(f"Not compared, for the model does not know: {self._unknown()}.")
        return said

    def _unknown(self) -> str:
        return words.listed(self.not_compared)


# --- counting ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """New rows in all bins; counts of several slices of a table can be added."""

    rows: int
    leaves: Ints
    bins: tuple[Ints, ...]

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            self.rows + other.rows,
            self.leaves + other.leaves,
            tuple(mine + its for mine, its in zip(self.bins, other.bins, strict=True)),
        )


def count_matrix(model: FittedModel, matrix: Floats) -> Counted:
    """Count the rows of a raw matrix in the bins of the model."""
    nodes = model.tree.apply(matrix)
    columns = model.tree.columns
    values = [*matrix.T, *_training_scores(model, matrix, nodes).T]
    bins = [
        np.zeros(0, dtype=np.int64) if own is None
        else own.counted(values[k], k < len(columns) and columns[k].is_categorical)
        for k, own in enumerate(_kept(model))
    ]  # fmt: skip
    leaves = np.bincount(nodes, minlength=model.tree.node_count)[model.leaves]
    return Counted(len(nodes), leaves, tuple(bins))


def _kept(model: FittedModel) -> list[Histogram | None]:
    found = model.histograms
    return [] if found is None else [found.at(k) for k in range(len(found))]


def _training_scores(model: FittedModel, matrix: Floats, nodes: NDArray[np.int64]) -> Floats:
    """Scores as training knew them: before calibration, without exposure and offset."""
    raw = model.tree.raw(matrix, nodes)
    if model.tree.offsets:
        raw = raw - model.tree.known(matrix)[:, None]
    if model.scaling is not None:
        shift = model.scaling.shift.reshape(len(model.scaling.slope), -1)
        raw = (raw - shift[nodes]) / model.scaling.slope[nodes, None]
    return model.loss.scores_to_watch(raw)


# --- comparing -----------------------------------------------------------------------------------


def compared(model: FittedModel, counted: Counted) -> Drift:
    """What the counts of new rows say beside those of training."""
    tree, leaves = model.tree, model.leaves
    given: list[tuple[str, str, tuple[str, ...], Floats, Ints]] = []
    unknown = []
    for k, name in enumerate([*model.names, *_score_names(model)]):
        own = _kept(model)[k] if k < len(_kept(model)) else None
        what = "column" if k < len(model.names) else "score"
        if own is not None:
            given.append((what, name, _labels(model, k, own), own.share, counted.bins[k]))
        elif what == "score" or _is_used(model, k):
            unknown.append(name if what == "column" else "the score")
    share = tree.n_samples[leaves] / tree.n_samples[leaves].sum()
    given.append(("leaves", "", tuple(f"leaf {leaf}" for leaf in leaves), share, counted.leaves))
    given.sort(key=lambda entry: ("score", "leaves", "column").index(entry[0]))
    n, m = int(tree.n_samples[0]), counted.rows
    watched = tuple(
        _watched(what, name, bins, p, q / m, n, m, len(given)) for what, name, bins, p, q in given
    )
    return Drift(counted.rows, watched, tuple(dict.fromkeys(unknown)))


def _score_names(model: FittedModel) -> list[str]:
    if model.kind == "multiclass":
        return [model.output_name(k) for k in range(model.loss.n_outputs)]
    return [model.output_name(model.positive if model.kind == "binary" else 0)]


def _is_used(model: FittedModel, column: int) -> bool:
    """Whether a column without a histogram may matter: exposures and offsets are given."""
    if any(offset.column == column for offset in model.tree.offsets):
        return False
    return bool(model.tree.terms.first_term[column] >= 0 or (model.tree.feature == column).any())


def _labels(model: FittedModel, k: int, own: Histogram) -> tuple[str, ...]:
    """Names of the bins."""
    column = model.tree.columns[k] if k < len(model.names) else None
    if column is not None and column.categories is not None:
        named = [str(column.categories[int(code)]) for code in own.edges]
        return (*named, "other", "missing")
    is_date = column is not None and column.date_unit is not None
    edges = [date_text(edge) if is_date else words.number(edge) for edge in own.edges]
    above = f"> {edges[-1]}" if edges else "all"
    special = () if column is None else column.codes
    return (*(f"≤ {edge}" for edge in edges), above, "missing", *special)


def _watched(
    what: str, name: str, bins: tuple[str, ...], p: Floats, q: Floats, n: int, m: int,
    n_tests: int,
) -> Watched:  # fmt: skip
    index, chance = stability_index(p, q, m), expected_index(p, q, n, m)
    p_value = min(n_tests * same_shares_p_value(p, q, n, m), 1.0)
    change = index - chance if p_value < _SIGNIFICANT else 0.0
    level = sum(change >= step for step in STEPS)
    return Watched(what, name, index, chance, p_value, level, bins, tuple(p.tolist()),
                   tuple(q.tolist()))  # fmt: skip


def stability_index(p: Floats, q: Floats, n_new: float) -> float:
    """Population stability index; shares of less than half a new row count as half a row.

    >>> round(stability_index(np.array([0.5, 0.5]), np.array([0.8, 0.2]), 100.0), 6)
    0.415888
    """
    floor = 0.5 / max(n_new, 1.0)
    p, q = np.maximum(p, floor), np.maximum(q, floor)
    return float(((q - p) * np.log(q / p)).sum())


def expected_index(p: Floats, q: Floats, n: float, n_new: float) -> float:
    """The mean of that index where nothing has changed: to first order that of chi-squared."""
    n_bins = int(((p > 0) | (q > 0)).sum())
    return max(n_bins - 1, 0) * (1 / n + 1 / max(n_new, 1.0))


def same_shares_p_value(p: Floats, q: Floats, n: float, n_new: float) -> float:
    """P-value of Pearson's test that two samples have the same shares."""
    both = (n * p + n_new * q) / (n + n_new)
    p, q, both = _merged(np.array([p, q, both]), _EXPECTED_ROWS / min(n, n_new))
    if len(p) < 2:
        return 1.0
    statistic = n * n_new / (n + n_new) * float(((q - p) ** 2 / both).sum())
    return float(chi2.sf(statistic, len(p) - 1))


def _merged(shares: Floats, least: float) -> Floats:
    """Neighbouring bins put together until the last row of all has at least this share in each."""
    kept: list[Floats] = []
    rest = np.zeros(len(shares))
    for own in shares.T:
        rest = rest + own
        if rest[-1] >= least:
            kept.append(rest)
            rest = np.zeros(len(shares))
    if kept:
        kept[-1] = kept[-1] + rest
    return np.array(kept or [rest]).T


# --- the call ------------------------------------------------------------------------------------


def monitor(estimator: Any, X: Any) -> Drift:
    """Compare new rows with those of the fit: score, leaves and every column.

    Parameters
    ----------
    estimator : ModelTreeRegressor or ModelTreeClassifier
        A fitted one.
    X : table of shape (n_samples, n_features)
        New rows; their targets need not be known. Rows are counted, without weights.

    Returns
    -------
    Drift
        As data; ``to_frame()`` is a table, ``changed()`` what has changed, ``level`` how much.
    """
    model = fitted_model(estimator)
    check_kept(model)
    return compared(model, count_rows(model, X))


def count_rows(model: FittedModel, X: Any) -> Counted:
    """Count the rows of a table in the bins of the model."""
    table = model.read(X)
    if not table.n_rows:
        raise ValueError("X has no rows; there is nothing to compare with the fit.")
    first, *others = (
        count_matrix(model, np.ascontiguousarray(matrix)) for _, matrix in model.slices(table)
    )
    return sum(others, first)


def check_kept(model: FittedModel) -> None:
    """Refuse a model from a file that is older than histograms."""
    if model.histograms is None:
        raise GlassleafError(
            "This model comes from a file that does not say how its training rows were"
            " distributed. Fit the model and save it again."
        )
