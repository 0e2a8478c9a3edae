"""Coefficients with standard errors: the model as one regression, estimated on rows.

The terms, hinges and splits are taken as given. Where leaves share their formula, there is one
regression: the formula for all rows and, at every node, what differs. Else every leaf is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from glassleaf import checks
from glassleaf.errors import GlassleafError, require, warn
from glassleaf.explanations import words
from glassleaf.explanations.differing import told_apart
from glassleaf.explanations.lines import Line, all_lines, free_parameters, from_zero, kept_lines
from glassleaf.explanations.model import explain_model
from glassleaf.explanations.rows_of_fit import are_rows_of_fit
from glassleaf.explanations.targets import all_targets
from glassleaf.losses import Quantile, mean_and_spread
from glassleaf.tables.content import group_texts, set_aside
from glassleaf.tables.special import states_of
from glassleaf.tables.table import Table, raw_matrix
from glassleaf.tables.targets import class_factors, class_labels, row_groups
from glassleaf.tree.fitted import FittedModel, linear_model
from glassleaf.tree.offset import absorbed, checked
from glassleaf.tree.regression import (
    Estimated,
    LeafRows,
    Parameter,
    Regression,
    Units,
    inverse,
    loss_units,
    nodes_above,
    rows_of_leaves,
)
from glassleaf.tree.tree import LEAF, Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NAIVE = (
    "The tree was grown on these rows: its splits and terms are those that fit them best. Intervals"
    " are too narrow and p-values too small (in a trial, intervals of 95 % covered 65.5 %). Fit"
    " with honest=0.5, or give rows that the tree was not grown on."
)
# Rows that tell less than this share of the mean, and parameters known this badly: no finite
# estimate is the best one.
_TOLD_APART = 1e-6
_UNKNOWN = 30.0
# Numbers of all leaves that are compared with each other; more would take long, and say little.
_MOST_JOINED = 1000


@dataclass(frozen=True)
class _Rows:
    """Rows to estimate on, and what has to be said of them.

    They weigh what they tell, their exposure included, and are as many as ``observed``.
    """

    matrix: Floats
    y: Floats
    weight: Floats
    observed: Floats
    group: Ints | None
    notes: tuple[str, ...]

    def taken(self, rows: NDArray[np.intp], *notes: str) -> _Rows:
        """Some of the rows, and what has to be said of that."""
        group = None if self.group is None else np.unique(self.group[rows], return_inverse=True)[1]
        return _Rows(
            self.matrix[rows], self.y[rows], self.weight[rows], self.observed[rows], group,
            (*self.notes, *notes),
        )  # fmt: skip


def inference(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
    *,
    honest: bool = True,
    robust: Literal["HC1"] | None = "HC1",
    coverage: float = 0.95,
    missing: Literal["indicator", "complete"] = "indicator",
    exposure: Any = None,
    offset: Any = None,
) -> Any:
    """Coefficients with standard errors, intervals and p-values.

    The terms of the model are estimated again, without a penalty, on the rows given. Estimates are
    those of this regression; the model's own numbers are shorter, or held back by its penalty.

    Parameters
    ----------
    estimator : fitted model tree
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None
        With ``robust``, a row of weight 2 is one observation that counts twice. Without, it is two
        rows.
    groups : array-like of shape (n_samples,), or str, default=None
        Which rows belong together, as in ``fit``: errors are clustered by them.
    honest : bool, default=True
        Estimate on rows that the tree was not grown on. Of a model with ``honest=0.5``, give the
        rows of the fit: those that were set aside are found among them. Of any other, give rows
        that the fit did not see. False: on all rows given. A warning says when intervals are too
        narrow.
    robust : {"HC1"} or None, default="HC1"
        "HC1": errors hold whatever the noise. None: as if targets varied as the loss assumes.
    coverage : float, default=0.95
        Share of intervals that hold the true value.
    missing : {"indicator", "complete"}, default="indicator"
        "indicator": a missing number is the mean and "is missing", as in predictions; a note says
        what that does to estimates. "complete": only rows without missing values in the columns
        that the model uses.
    exposure, offset : array-like of shape (n_samples,), default=None
        Those of the rows, if the fit was given such arrays. Columns of X are found by themselves.

    Returns
    -------
    pandas.DataFrame
        One row per number: ``where`` it counts ("all rows", or those of a node, as a difference to
        the formula above it; or a leaf), ``class`` if there are several, ``term``, ``estimate``,
        ``standard error``, ``lower``, ``upper`` and ``p``. NaN where a term follows from others.
        ``attrs["differences"]`` says in words which effects differ between the segments, each
        with the p-value of all that differs; ``attrs["notes"]`` what else belongs to the table;
        ``attrs["unit"]`` has for every row a step that compares terms, one standard deviation of a
        number.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor, inference
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.where(X[:, 0] > 0, 2.0, 1.0) * X[:, 1] + rng.normal(size=2000)
    >>> model = ModelTreeRegressor(max_depth=1, honest=0.5).fit(X, y)
    >>> inference(model, X, y).round(2)[["where", "term", "estimate", "lower", "upper"]]
          where      term  estimate  lower  upper
    0  all rows  constant      0.04  -0.02   0.10
    1  all rows        x1      0.99   0.89   1.08
    2    x0 > 0        x1      1.09   0.97   1.22
    """
    model = linear_model(estimator)
    if isinstance(model.loss, Quantile):
        raise GlassleafError("inference is not supported for quantiles.")
    coverage = checks.real_number("coverage", coverage, 0.0, 1.0)
    is_robust = checks.choice("robust", robust, {"HC1": True, None: False})
    is_complete = checks.choice("missing", missing, {"indicator": False, "complete": True})
    if groups is not None and not is_robust:
        raise ValueError("groups needs robust='HC1': other errors know no groups.")
    explanation = from_zero(explain_model(model))
    lines = [kept_lines(explanation, own, is_complete) for own in all_lines(explanation)]
    table = model.read_whole(X, exposure, offset)
    rows = _rows(model, table, y, sample_weight, groups, checks.flag("honest", honest))
    joined = [line for own in lines for line in own]
    rows = _without_gaps(model, joined, rows) if is_complete else _noted(model, joined, rows)
    with threadpool_limits(1, user_api="blas"):  # the same digits on every machine
        fits = [_fit(model, own, rows, is_robust) for own in lines]
        differences = _differences(model, lines, fits, rows, is_robust)
    found = [_estimates(model, own, fit, coverage) for own, fit in zip(lines, fits, strict=True)]
    records = [record for own, _ in found for record in own]
    notes = [
        _said(model, rows, is_robust),
        *rows.notes,
        *(note for _, own in found for note in own),
    ]
    pandas = require("pandas", extra="data", purpose="A table of estimates")
    table = pandas.DataFrame(records)
    table.attrs.update(
        differences=differences, notes=notes, coverage=coverage, unit=table.pop("unit").to_dict()
    )
    return table if len(model.outputs) > 1 else table.drop(columns="class")


def _said(model: FittedModel, rows: _Rows, is_robust: bool) -> str:
    n_rows = f"{len(rows.y):,} rows"
    if rows.group is not None:
        errors = f"clustered by {len(np.unique(rows.group)):,} groups"
    else:
        errors = "HC1, whatever the noise" if is_robust else "as the loss assumes"
    several = " Scores count relative to each other: estimates of one term in all sum to 0."
    return (
        f"Estimates are those of the model's terms fitted again, without a penalty, on {n_rows};"
        f" standard errors: {errors}.{several if len(model.outputs) > 1 else ''}"
    )


# --- rows ----------------------------------------------------------------------------------------


def _rows(
    model: FittedModel, table: Table, y: Any, sample_weight: Any, groups: Any, honest: bool
) -> _Rows:
    """The rows to estimate on; a warning where the tree was grown on them."""
    weight = checks.row_weights(sample_weight, table.n_rows)
    given = model.parameters.get("class_weight")
    if given is not None:
        weight = weight * class_factors(given, class_labels(y, table.n_rows), weight)
    used = np.flatnonzero(weight)
    target = _targets(model, np.asarray(y).ravel(), table.n_rows, used)
    share = model.parameters.get("honest")
    group = row_groups(groups, table, used)
    texts = group_texts(groups, table, used)
    table, observed = table.take(used), weight[used]
    matrix = np.ascontiguousarray(raw_matrix(table, model.tree.columns))
    offsets = model.tree.offsets
    known = [
        checked(matrix[:, own.column], own.parameter, model.names[own.column]) for own in offsets
    ]
    target, weight = absorbed(target, observed, offsets, known, model.loss)
    rows = _Rows(matrix, target, weight, observed, group, _known(model))
    if honest and share is not None:
        categorical = np.array([column.is_categorical for column in model.tree.columns])
        rows = rows.taken(np.flatnonzero(set_aside(table, categorical, target, texts, share)))
    notes = _honesty(model, rows.matrix, rows.observed, honest, share)
    return replace(rows, notes=(*rows.notes, *notes))


def _known(model: FittedModel) -> tuple[str, ...]:
    """What is not estimated, for it is known of every row."""
    added = [known.text(words.name(model.names[known.column])) for known in model.tree.offsets]
    return (f"Every score adds {' and '.join(added)}, as it is.",) if added else ()


def _targets(model: FittedModel, y: NDArray[Any], n_rows: int, used: NDArray[np.intp]) -> Floats:
    """Targets of the used rows as the loss has them."""
    if len(y) != n_rows:
        raise ValueError(f"y has {len(y)} entries, but X has {n_rows} rows.")
    found = all_targets(model, y[used], len(used))
    return found if model.classes is None or model.loss.positive else 1.0 - found


def _honesty(
    model: FittedModel, matrix: Floats, weight: Floats, honest: bool, share: float | None
) -> tuple[str, ...]:
    if not len(matrix):
        raise ValueError("There are no rows to estimate on: none of those given was set aside.")
    is_of_fit = are_rows_of_fit(model, matrix, model.tree.apply(matrix), weight)
    if honest and share is not None:
        return () if is_of_fit else (
            "The rows are not those that the fit set aside, or not all of them. Give the rows of"
            " the fit, with the same groups and weights.",
        )  # fmt: skip
    if not honest or is_of_fit:
        warn(NAIVE)
        return (NAIVE,)
    return ()


def _columns_in(model: FittedModel, lines: Sequence[Line]) -> Ints:
    """The columns that some lines name."""
    terms = sorted({term for line in lines for term in line.terms})
    return np.unique(model.tree.terms.column_of_term[terms])


def _noted(model: FittedModel, lines: Sequence[Line], rows: _Rows) -> _Rows:
    """The rows, and a note on missing values in what is estimated."""
    columns = _columns_in(model, lines)
    is_missing = states_of(rows.matrix) == 0
    gaps = columns[is_missing[:, columns].any(axis=0)]
    if not len(gaps):
        return rows
    names = ", ".join(words.name(model.names[column]) for column in gaps)
    n_rows = int(is_missing[:, gaps].any(axis=1).sum())
    note = (
        f"Values of {names} are missing in {n_rows:,} rows. Such a value counts as the mean and"
        " 'is missing', which predicts well but biases the estimates, those of other columns too."
        " missing='complete' leaves these rows out."
    )
    return replace(rows, notes=(*rows.notes, note))


def _without_gaps(model: FittedModel, lines: Sequence[Line], rows: _Rows) -> _Rows:
    """The rows without missing values in the columns that the model uses."""
    tree = model.tree
    columns = np.union1d(_columns_in(model, lines), tree.feature[tree.left != LEAF]).astype(int)
    whole = np.flatnonzero(~(states_of(rows.matrix)[:, columns] == 0).any(axis=1))
    if not len(whole):
        raise ValueError("missing='complete': no row has all values.")
    n_gone = len(rows.y) - len(whole)
    notes = [f"{n_gone:,} rows with missing values are left out."] if n_gone else []
    return rows.taken(whole, *notes)


# --- estimates -----------------------------------------------------------------------------------


class _Fit(NamedTuple):
    """One regression: its rows by leaf, and every line's number as a sum of what was estimated."""

    own: list[LeafRows]
    mapping: Floats
    found: Estimated
    is_known: Bools
    covariance: Floats
    freedom: float

    @property
    def value(self) -> Floats:
        """The number of every line; NaN where it has no estimate."""
        is_told = (self.mapping != 0) @ (~self.is_known).astype(float) == 0
        return np.where(is_told, self.mapping @ np.nan_to_num(self.found.value), np.nan)

    @property
    def covariance_of_lines(self) -> Floats:
        return self.mapping @ self.covariance @ self.mapping.T


def _fit(model: FittedModel, lines: Sequence[Line], rows: _Rows, is_robust: bool) -> _Fit | None:
    """The regression of some lines; None where there are no rows for it."""
    parameters, mapping = free_parameters(lines, len(model.outputs))
    used = sorted({term for line in lines for term in line.terms})
    own = rows_of_leaves(
        model.tree, rows.matrix, rows.y, rows.weight, used, rows.group,
        below={line.node for line in lines}, observed=rows.observed,
    )  # fmt: skip
    if not own:
        return None
    units = loss_units(model.loss, *_joined(own))
    regression = Regression(model.tree, parameters, own, model.loss, units)
    found = regression.estimated(_start(model, parameters, own, units))
    covariance, freedom = _covariance(regression, found, is_robust)
    return _Fit(own, mapping, found, _is_known(regression, found), covariance, freedom)


def _estimates(
    model: FittedModel, lines: Sequence[Line], fit: _Fit | None, coverage: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the table of one regression, and what has to be said of them."""
    if fit is None:
        records = [_record(model, line, *[np.nan] * 6) for line in lines]
        return records, [f"There are no rows in {lines[0].where}."]
    value, freedom = fit.value, fit.freedom
    error = np.where(np.isnan(value), np.nan, np.sqrt(np.diagonal(fit.covariance_of_lines)))
    away = _quantile((1 + coverage) / 2, freedom)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * _tail(np.abs(value / error), freedom)
    unit = [_unit(model.tree, line, fit.own) for line in lines]
    columns = np.column_stack([value, error, value - away * error, value + away * error, p, unit])
    records = [
        _record(model, line, *row) for line, row in zip(lines, columns.tolist(), strict=True)
    ]
    return records, _trouble(lines, fit.mapping, fit.found, fit.is_known, freedom)


def _differences(
    model: FittedModel, lines: Sequence[Sequence[Line]], fits: Sequence[_Fit | None], rows: _Rows,
    is_robust: bool,
) -> list[str]:  # fmt: skip
    """Whether effects differ between the segments; regressions of single leaves become one."""
    joined = [line for own in lines for line in own]
    if len(fits) > 1 and len(joined) > _MOST_JOINED:
        return []
    fit = fits[0] if len(fits) == 1 else _fit(model, joined, rows, is_robust)
    if fit is None:
        return []
    return told_apart(model, joined, fit.value, fit.covariance_of_lines, fit.freedom)


def _record(
    model: FittedModel, line: Line, value: float, error: float, low: float, high: float, p: float,
    unit: float,
) -> dict[str, Any]:  # fmt: skip
    return {
        "where": line.where,
        "class": model.outputs[line.output],
        "term": line.text,
        "estimate": value,
        "standard error": error,
        "lower": low,
        "upper": high,
        "p": p,
        "unit": unit,
    }


def _unit(tree: Tree, line: Line, rows: Sequence[LeafRows]) -> float:
    """A step that compares terms: one standard deviation of a number below the node, or 1."""
    terms = tree.terms
    numbers = [*terms.first_term[~terms.is_category], *range(terms.first_hinge_term, terms.n_terms)]
    below = [own for own in rows if line.node in nodes_above(tree, own.leaf)]
    if not below or not line.terms or line.terms[0] not in numbers:
        return 1.0
    parameter = Parameter(line.node, line.terms, ())
    values = np.concatenate([own.columns([parameter])[:, 0] for own in below])
    return mean_and_spread(values, np.concatenate([own.weight for own in below]))[1]


def _joined(rows: Sequence[LeafRows]) -> tuple[Floats, Floats]:
    return np.concatenate([own.y for own in rows]), np.concatenate([own.weight for own in rows])


def _start(
    model: FittedModel, parameters: Sequence[Parameter], rows: Sequence[LeafRows], units: Units
) -> Floats:
    """The best constant, in those of the nodes that are below no other."""
    y, weight = _joined(rows)
    nodes = {own.node for own in parameters}
    tops = {node for node in nodes if not (nodes_above(model.tree, node) - {node}) & nodes}
    best = model.loss.start((y - units.center) / units.scale, weight)
    best = best * units.scale + units.center
    return np.array([
        best[int(np.argmax(own.outputs))] if own.node in tops and not own.terms
        else 0.0
        for own in parameters
    ])  # fmt: skip


def _covariance(regression: Regression, found: Estimated, is_robust: bool) -> tuple[Floats, float]:
    """Covariance of all parameters, 0 for those that follow from others; degrees of freedom.

    The factors for few rows are those of statsmodels.
    """
    kept, value = found.kept, np.nan_to_num(found.value)
    n_free = int(kept.sum())
    freedom = (regression.n_rows if is_robust else regression.n_observed) - n_free
    if freedom <= 0 or regression.n_groups == 1:
        return np.full((len(kept), len(kept)), np.nan), 0.0
    if is_robust:
        factor, freedom = _small_sample(regression, freedom)
        own = factor * regression.sandwich(value, kept)
    else:
        own = regression.dispersion(value, n_free) * inverse(found.root)
    out = np.zeros((len(kept), len(kept)))
    out[np.ix_(kept, kept)] = own
    return out, freedom if regression.loss.is_quadratic else np.inf


def _small_sample(regression: Regression, freedom: float) -> tuple[float, float]:
    """What sums of few squares are multiplied by, and the degrees of freedom."""
    n_rows, n_groups = regression.n_rows, regression.n_groups
    if n_groups:
        return n_groups / (n_groups - 1) * (n_rows - 1) / freedom, n_groups - 1
    return (n_rows / freedom if regression.loss.is_quadratic else 1.0), freedom


def _quantile(share: float, freedom: float) -> float:
    if not freedom > 0:
        return np.nan
    return float(norm.ppf(share) if np.isinf(freedom) else student.ppf(share, freedom))


def _tail(size: Floats, freedom: float) -> Floats:
    """Chance of more than this."""
    if not freedom > 0:
        return np.full_like(size, np.nan)
    return np.asarray(norm.sf(size) if np.isinf(freedom) else student.sf(size, freedom))


def _is_known(regression: Regression, found: Estimated) -> Bools:
    """Which parameters have an estimate: they follow from no others, and it is finite.

    Where a term tells the targets apart without error, no finite number is the best one.
    """
    known = found.kept.copy()
    if regression.loss.is_quadratic:
        return known
    size = np.sqrt(np.diagonal(inverse(found.root))) * regression.column_sizes()[found.kept]
    if regression.least_information(np.nan_to_num(found.value)) < _TOLD_APART:
        known[found.kept] = size < _UNKNOWN
    return known


def _trouble(
    lines: Sequence[Line], mapping: Floats, found: Estimated, is_known: Bools, freedom: float
) -> list[str]:
    """Sentences on what has no estimate, or no error."""
    of_others = (mapping != 0) @ (~found.kept).astype(float) > 0
    infinite = ((mapping != 0) @ (~is_known).astype(float) > 0) & ~of_others
    notes = [
        f"{line.text} ({line.where}) follows from other terms and has no estimate of its own; the"
        " others are as if it were 0."
        for line, is_so in zip(lines, of_others, strict=True)
        if is_so
    ]
    notes += [
        f"{line.text} ({line.where}) tells the targets apart without error, or nearly: no finite"
        " estimate is the best one."
        for line, is_so in zip(lines, infinite, strict=True)
        if is_so
    ]
    if not found.is_converged:
        notes.append("The estimates did not converge; do not rely on them.")
    if not freedom > 0:
        notes.append(f"There are too few rows, or groups, for standard errors ({lines[0].where}).")
    return notes
