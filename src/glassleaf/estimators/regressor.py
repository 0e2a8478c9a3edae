"""The estimator of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from glassleaf.checks import named_or_object, row_weights
from glassleaf.criteria import Criterion
from glassleaf.errors import describe, warn
from glassleaf.estimators.base import ModelTree, Target, all_or_nothing
from glassleaf.estimators.calibrate import learn_intervals
from glassleaf.explanations import scores
from glassleaf.losses import REGRESSION_LOSSES, Loss
from glassleaf.rows.backends.engines import is_collection, lazily
from glassleaf.rows.passes import WeakModel
from glassleaf.rows.pieces import check_rows, is_partitioned, use_weighted
from glassleaf.tables.dated import with_dates
from glassleaf.tables.reading import check_has_rows, read_table
from glassleaf.tables.table import Table
from glassleaf.tables.targets import numeric_target
from glassleaf.tree.coverage import NotCalibratedError
from glassleaf.tree.fitted import fitted_model

Floats = NDArray[np.float64]

_NOT_BESIDE = "exposure and offset are columns of X, if that is a collection."


class ModelTreeRegressor(RegressorMixin, ModelTree):
    """A decision tree with a linear model in every leaf.

    The parameters stand in six groups:

    * loss and penalty: ``loss``, ``alpha``, ``l1_ratio``, ``shrink``, ``weak_model``
    * size: ``max_depth``, ``max_leaf_nodes``, ``min_samples_leaf``, ``min_gain``,
      ``significance``, ``significance_test``, ``tested_terms``, ``honest``, ``ccp_alpha``
    * splits: ``first_splits``, ``criterion``, ``rescore``, ``refine``, ``max_bins``,
      ``category_splits``
    * columns: ``categorical_features``, ``special_values``, ``split_features``,
      ``leaf_features``, ``shared_features``, ``required_features``, ``monotonic_cst``,
      ``leaf_transform``, ``curves``, ``clamp``
    * readability: ``max_numbers``, ``round_thresholds``, ``coef_digits``, ``reason_codes``
    * resources: ``backend``, ``n_jobs``, ``verbose``, ``random_state``

    Parameters
    ----------
    loss : {"squared_error", "huber", "quantile", "poisson", "negative_binomial", "tweedie", \
"gamma"} or Loss, default="squared_error"
        What the models minimize; from "poisson" on, with a log link. With parameters it is an
        object: ``losses.Tweedie(power=1.7)``, ``losses.NegativeBinomial(theta=0.5)``,
        ``losses.Quantile(quantile=0.9)``, ``losses.Huber(delta=2)``. One of your own: see
        :class:`glassleaf.losses.Loss`.
    alpha : float or "auto", default="auto"
        Penalty of the models: on the summed loss, in standardized units, so that it fades with
        the rows in a leaf and does not depend on the scale of the features. "auto": for every
        node the strength that Akaike's criterion prefers, from that of ten rows up (for squared
        error, where there is hardly any noise, from less).
    l1_ratio : float, default=0.0
        Share of the L1 norm in the penalty; 0 is ridge, 1 is lasso.
    shrink : {"parent", "zero"}, default="parent"
        What the ridge penalty pulls the weights of a child towards: its parent's, or zero.
    weak_model : WeakModel or None, default=None
        A model of your own for the nodes instead of the linear one; see
        :class:`glassleaf.WeakModel`. It needs a ``criterion`` that does not renormalize:
        "gradient" or "impurity".
    max_depth : int, "auto" or None, default="auto"
        Largest number of splits above a leaf; None: no limit. 0 is the plain linear model. "auto":
        3, or no limit if ``max_leaf_nodes`` is given.
    max_leaf_nodes : int, "auto" or None, default=None
        Largest number of leaves; with it, the node with the largest gain is split first. "auto":
        a fifth of the rows is set aside (see ``random_state``), the tree of at most 64 leaves grown
        on the others is cut back to what is best on these, and its models are fitted to all rows.
    min_samples_leaf : int, float or None, default=None
        Smallest number (or share) of rows in a leaf; None: one more than a model has terms, at
        least 10.
    min_gain : float, default=0.0
        Smallest gain of a split, as a share of the root model's loss.
    significance : float or None, default=0.05
        A split must be significant at this level: where no split is true, a tree grows in at most
        this share of all cases. None: no test.
    significance_test : {"robust", "likelihood"}, default="robust"
        "robust": on the gradients as they vary, so that the level holds whatever the noise: spread
        that changes, heavy tails, overdispersion; a row of weight 2 is one observation.
        "likelihood": as if targets varied around the model as the loss assumes.
    tested_terms : array-like of names or positions, mask, or None, default=None
        Split only where the coefficients of these columns change, as a treatment's effect, whatever
        the others do; None: where any does.
    honest : float or None, default=None
        Set this share of the rows aside (all rows of a group or none): the others say what the
        model looks like, these say its numbers, and :func:`glassleaf.inference` gives intervals
        that hold. Which rows is told by what they hold. None: all rows say both. For tables in
        memory only.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: a leaf must lower the penalized loss by this share of the root
        model's loss.
    first_splits : list of pairs, default=None
        Splits to begin with, which are neither searched nor tested, and stay: a column with the
        largest number on the left side, or with a set of categories, as in
        ``[("product", {"card", "loan"}), ("age", 40)]``. Each divides every segment so far that
        has rows on both of its sides. Missing values go right. The rest grows below.
    criterion : {"gradient_zscore", "gradient_minmax", "gradient_standardized", "gradient", \
"impurity"} or Criterion, default="gradient_zscore"
        How splits are compared. Gradients are the criterion of Broelemann & Kasneci (2019): which
        split lets two models predict best. They are taken for columns in units of their own on each
        side of a split (z-scores, or from 0 to 1), standardized over all rows, or raw ("gradient").
        "impurity" is the classical criterion. An object: see :class:`glassleaf.criteria.Criterion`.
    rescore : int, default=20
        How many of the criterion's best candidates are compared by what two models would really
        gain. The border of the best is then moved to suit them, also through a bin. 0: the
        criterion alone decides.
    refine : bool, default=False
        After a split, move its border to where its two models fit best, fit them again, and so
        on, while the penalized loss falls.
    max_bins : int, default=255
        A column with more distinct values than this is cut into as many bins of equal weight.
    category_splits : {"subset", "one"}, default="subset"
        Splits between two sets of categories, or of one category against the rest.
    categorical_features : array-like of names or positions, mask, "from_dtype" or None, \
default="from_dtype"
        Which columns are categories. "from_dtype": those of text or of a categorical type. Many
        categories of a few rows each are learned by heart; a warning names such a column. Of
        columns with more than 50 categories, 1,000 in all are told apart, the most frequent ones;
        the others of a column count as one, and as those that training never saw.
    special_values : dict or None, default=None
        Numbers that stand for something else, ``{"x": {-9: "no record"}}``, by column; "*": all
        numeric columns in which one of them occurs. Each is a value of its own, as "missing" is:
        splits send it to a side, formulas have a term for it, reasons call it by its word.
    split_features : array-like of names or positions, mask, or None, default=None
        Which columns may split; None: all.
    leaf_features : array-like of names or positions, mask, or None, default=None
        Which columns may stand in the models; None: all.
    shared_features : array-like of names or positions, mask, or None, default=None
        Columns whose coefficients are the same in every leaf: they stand in the formula for all
        rows, or in none. They may split; see ``split_features``. None: none. Needs ``max_numbers``.
    required_features : array-like of names or positions, mask, or None, default=None
        Columns that are in the formula for all rows however short the model is: a number with its
        line, categories with all that occur in at least 10 rows. Only a constant column stays out,
        and one that contradicts its sign in ``monotonic_cst``. None: none. Needs ``max_numbers``.
    monotonic_cst : dict, array-like or None, default=None
        Per column name or position: 1 if predictions must never fall as the column rises, -1 if
        they must never rise, 0 if they are free. A column with a sign does not split, but may bend:
        all its slopes keep the sign. ``glassleaf.check_signs`` proves it, row by row.
    leaf_transform : {"auto", "none", "winsor", "rank"}, default="auto"
        Monotone transform of the numeric columns in the models (never in the splits): values beyond
        the 1 % and 99 % quantiles cut, or normal scores of ranks. "auto": for columns with heavy
        tails, where it explains more.
    curves : bool, "auto" or array-like of names or positions, default="auto"
        Whether a numeric column along which the target bends may bend: its effect is then a broken
        line with few corners. All leaves have the same corners, and slopes of their own. "auto": if
        ``leaf_transform`` is "auto" and there may be a tree; ``max_depth=0`` is the plain linear
        model. A list names the columns that may bend, where significant. Columns in
        ``monotonic_cst`` keep their sign, and stay straight if ``l1_ratio`` is not 0.
    clamp : bool or pair of floats, default=True
        In a leaf, a column counts as the nearest value that training saw there; with a pair, that
        between these two quantiles. Models do not extrapolate.
    max_numbers : int, "auto" or None, default="auto"
        How many numbers it may take to read the model: thresholds, categories that splits name,
        intercepts, coefficients, places of bends, ranges and limits. The model is then one formula
        for all rows, and at every split what differs; of columns that say nearly the same
        (correlation beyond 0.98), it names the one that comes in first. "auto": as few as lose no
        more than one standard error, or 0.5 % of what they explain, by cross-validation. None: no
        limit, and a formula of its own in every leaf; also where ``weak_model``, a fixed number of
        ``coef_digits`` or quantiles in ``clamp`` ask for such formulas and ``max_numbers`` is
        "auto".
    round_thresholds : bool, float or "auto", default="auto"
        Prefer thresholds that are short to read, at the cost of at most this share of the
        split's gain; True: 0.01. "auto": with ``max_numbers``.
    coef_digits : int, "auto" or None, default="auto"
        Round the coefficients to this many significant digits; ``rounding_cost_`` says what it
        costs. "auto": with ``max_numbers``, as few digits in each as cost less than a thousandth
        of the loss all together.
    reason_codes : dict or None, default=None
        Per column name a code and a text, ``{"inquiries": ("R12", "Too many inquiries")}``: what
        ``reasons``, scorers, SQL and the report call the column where it is a reason. A special
        value may have its own: ``{"inquiries = no record": ("R13", "No record")}``.
    backend : {"local", "stream", "dask"}, address or distributed.Client, default="local"
        Where the rows are. "local": in memory; a path of Parquet files is streamed. "stream": on
        disk. "dask": on a cluster of processes that lives as long as the fit; or on the one at an
        address, or of a client. The tree is the same; see docs/scaling.md.
    n_jobs : int or None, default=None
        Largest number of threads; None: all cores. The tree does not depend on it.
    verbose : int, default=0
        1: report every batch of nodes on standard error; 2: every pass over the rows.
    random_state : int, RandomState, Generator or None, default=None
        Which rows ``max_leaf_nodes="auto"`` sets aside; None counts as 0. All else is
        deterministic.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as plain arrays; see :class:`glassleaf.Tree`.
    rounding_cost_ : float
        With ``coef_digits``: how much larger rounding makes the training loss, as a share of it.
    complexity_ : Complexity
        How many numbers somebody has to read to know the model: ``total``, and ``parts`` by what
        they are.
    path_ : tuple of PathStep
        With ``max_numbers``: models of growing length, each with ``numbers``, ``loss``,
        ``validated`` loss, its standard ``error`` and ``what`` is new. See ``at``.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of str
        Names of the columns, where they all have one.

    Examples
    --------
    >>> import numpy as np
    >>> from glassleaf import ModelTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])
    >>> stump = ModelTreeRegressor(max_depth=1).fit(X, y)
    >>> round(stump.score(X, y), 2)
    1.0
    """

    def __init__(
        self,
        *,
        # loss and penalty
        loss: Literal[
            "squared_error", "huber", "quantile", "poisson", "negative_binomial", "tweedie", "gamma"
        ]
        | Loss = "squared_error",
        alpha: float | Literal["auto"] = "auto",
        l1_ratio: float = 0.0,
        shrink: Literal["parent", "zero"] = "parent",
        weak_model: WeakModel | None = None,
        # size
        max_depth: int | Literal["auto"] | None = "auto",
        max_leaf_nodes: int | Literal["auto"] | None = None,
        min_samples_leaf: int | float | None = None,
        min_gain: float = 0.0,
        significance: float | None = 0.05,
        significance_test: Literal["robust", "likelihood"] = "robust",
        tested_terms: ArrayLike | None = None,
        honest: float | None = None,
        ccp_alpha: float = 0.0,
        # splits
        first_splits: Sequence[tuple[Any, Any]] | None = None,
        criterion: Literal[
            "gradient_zscore", "gradient_minmax", "gradient_standardized", "gradient", "impurity"
        ]
        | Criterion = "gradient_zscore",
        rescore: int = 20,
        refine: bool = False,
        max_bins: int = 255,
        category_splits: Literal["subset", "one"] = "subset",
        # columns
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        special_values: Mapping[Any, Mapping[float, str]] | None = None,
        split_features: ArrayLike | None = None,
        leaf_features: ArrayLike | None = None,
        shared_features: ArrayLike | None = None,
        required_features: ArrayLike | None = None,
        monotonic_cst: Mapping[str, int] | Mapping[int, int] | ArrayLike | None = None,
        leaf_transform: Literal["auto", "none", "winsor", "rank"] = "auto",
        curves: bool | Literal["auto"] | ArrayLike = "auto",
        clamp: bool | tuple[float, float] = True,
        # readability
        max_numbers: int | Literal["auto"] | None = "auto",
        round_thresholds: bool | float | Literal["auto"] = "auto",
        coef_digits: int | Literal["auto"] | None = "auto",
        reason_codes: Mapping[str, tuple[str, str]] | None = None,
        # resources
        backend: Literal["local", "stream"] | str | object = "local",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.shrink = shrink
        self.weak_model = weak_model
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.significance = significance
        self.significance_test = significance_test
        self.tested_terms = tested_terms
        self.honest = honest
        self.ccp_alpha = ccp_alpha
        self.first_splits = first_splits
        self.criterion = criterion
        self.rescore = rescore
        self.refine = refine
        self.max_bins = max_bins
        self.category_splits = category_splits
        self.categorical_features = categorical_features
        self.special_values = special_values
        self.split_features = split_features
        self.leaf_features = leaf_features
        self.shared_features = shared_features
        self.required_features = required_features
        self.monotonic_cst = monotonic_cst
        self.leaf_transform = leaf_transform
        self.curves = curves
        self.clamp = clamp
        self.max_numbers = max_numbers
        self.round_thresholds = round_thresholds
        self.coef_digits = coef_digits
        self.reason_codes = reason_codes
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
        *,
        exposure: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
    ) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or path
            numpy array, pandas, polars or pyarrow table, scipy sparse matrix, Dask DataFrame or
            Array, or the path of Parquet files.
        y : array-like of shape (n_samples,), or str
            Of a Dask DataFrame or Parquet files it may be the name of a column.
        sample_weight : array-like of shape (n_samples,), or str, default=None
            Likewise.
        groups : array-like of shape (n_samples,), or str, default=None
            Which rows belong together: those of one subject, contract or day. They are one
            observation where splits are tested, and one fold gets all of them. The name of a
            column of X: it is then no feature. For tables in memory only.
        exposure : array-like of shape (n_samples,), or str, default=None
            With a log link: how much of it y is the total of, such as years of insurance. What is
            learned is y per exposure, and a row counts as much as it has exposure; predictions are
            totals again. The name of a column of X: it is then no feature.
        offset : array-like of shape (n_samples,), or str, default=None
            What is known of the scores beforehand: a model of the rest is learned, and predictions
            add it. The name of a column of X: it is then no feature.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            if is_partitioned(X):
                loss = self._given_loss()
                with self._opened(X, y, sample_weight, groups, numeric=True) as (backend, table):
                    found = check_rows(backend)
                    loss.check_target(np.array([found.low, found.high]))
                    backend.become(use_weighted)
                    self._fit_pieces(backend, table, Target(loss), exposure, offset)
                return self
            rows = self._read_rows(X, y, sample_weight)
            self._fit_table(*rows, groups, exposure, offset)
        return self

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Target, Floats]:
        """A table in memory with its target, and the weights of its rows."""
        loss = self._given_loss()
        table = with_dates(read_table(X))
        check_has_rows(table)
        target = Target(loss, y=numeric_target(y, table.n_rows))
        return table, target, row_weights(sample_weight, table.n_rows)

    def _given_loss(self) -> Loss:
        known: dict[str, Loss] = {name: kind() for name, kind in REGRESSION_LOSSES.items()}
        loss = named_or_object("loss", self.loss, known, Loss, "a glassleaf.losses.Loss")
        if loss.n_outputs != 1:
            raise ValueError(f"loss={describe(self.loss)} is not one of a single number.")
        return loss

    def predict(
        self,
        X: Any,
        *,
        exposure: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
    ) -> Floats:
        """Predicted values.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        exposure : array-like of shape (n_samples,), or str, default=None
            The exposure of every row, if the model was fitted with one. None: the column of X that
            the fit named; if it named none, 1.
        offset : array-like of shape (n_samples,), or str, default=None
            Likewise; if the fit named none, 0.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if is_collection(X):
            if exposure is not None or offset is not None:
                raise TypeError(_NOT_BESIDE)
            return lazily(self.predict, X, None, np.float64)
        model = fitted_model(self)
        return model.loss.inverse_link(model.scores(X, exposure, offset)[:, 0])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R², or D² where the loss has a deviance: "poisson" and "gamma".

        Both are 1 minus the loss as a share of that of the mean of y: squared errors for R²,
        deviances for D².

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
            NaN for a D² of rows that all have the same y.
        """
        loss = type(fitted_model(self).loss).__name__.lower()
        if loss not in scores.DEVIANCES:
            return float(super().score(X, y, sample_weight))
        predicted = self.predict(X)
        target = numeric_target(y, len(predicted))
        self.model_.loss.check_target(target)
        return scores.explained_deviance(
            loss, target, predicted, row_weights(sample_weight, len(predicted))
        )

    def calibrate(
        self,
        X: Any,
        y: ArrayLike,
        groups: ArrayLike | str | None = None,
        exposure: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
    ) -> Self:
        """Learn from rows that the fit did not see how far predictions are off.

        Afterwards there are intervals (``predict_interval``); predictions stay as they are.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows that the model was not fitted on: else intervals are too narrow.
        y : array-like of shape (n_samples,)
            Their true values.
        groups : array-like of shape (n_samples,), or str, default=None
            Which rows belong together, as in ``fit``. Rows of a group are one observation, and
            intervals are those of a row of a new group.
        exposure, offset : array-like of shape (n_samples,), or str, default=None
            Those of the rows, if the fit was given such arrays.

        Returns
        -------
        self
        """
        model = fitted_model(self)
        nodes, raw, group = self._calibration_rows(X, groups, exposure, offset)
        target = numeric_target(y, len(nodes))
        prediction = model.loss.inverse_link(raw[:, 0])
        found = learn_intervals(model.tree, model.loss, nodes, prediction, target, group)
        self.model_ = replace(model, intervals=found)
        return self

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        exposure: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
    ) -> Floats:
        """Intervals that hold the true value in a share of all cases; needs ``calibrate``.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        coverage : float, default=0.9
            That share, above 0 and up to 0.999, rounded up to half a percent, beyond 0.99 to a
            tenth. Infinite ends where there were too few calibration rows for it.
        exposure, offset : array-like of shape (n_samples,), or str, default=None
            As in ``predict``.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The lower and the upper end.
        """
        model = fitted_model(self)
        if model.intervals is None:
            raise NotCalibratedError
        if is_collection(X):
            if exposure is not None or offset is not None:
                raise TypeError(_NOT_BESIDE)
            return lazily(lambda rows: self.predict_interval(rows, coverage), X, 2, np.float64)
        nodes, raw = model.leaves_and_scores(model.read(X), exposure, offset)
        found = model.intervals.around(nodes, model.loss.inverse_link(raw[:, 0]), coverage)
        n_endless = int(np.isinf(found).any(axis=1).sum())
        if n_endless:
            warn(
                f"The intervals of {n_endless:,} of {len(found):,} rows have no end: a coverage of"
                f" {coverage:g} needs {coverage / (1 - coverage):.0f} calibration rows or more."
            )
        return found
