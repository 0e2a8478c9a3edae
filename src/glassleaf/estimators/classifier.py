"""The estimator of classes."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from glassleaf.checks import named_or_object, row_weights
from glassleaf.criteria import Criterion
from glassleaf.errors import GlassleafError, describe
from glassleaf.estimators.base import ModelTree, Target, all_or_nothing
from glassleaf.estimators.calibrate import learn_scaling
from glassleaf.losses import BinaryLogLoss, Loss, MulticlassLogLoss
from glassleaf.rows.backends import Backend, total
from glassleaf.rows.backends.engines import is_collection, lazily
from glassleaf.rows.passes import WeakModel
from glassleaf.rows.pieces import NO_ROWS, count_labels, encode_labels, is_partitioned
from glassleaf.tables.dated import with_dates
from glassleaf.tables.reading import check_has_rows, read_table
from glassleaf.tables.table import Table
from glassleaf.tables.targets import (
    check_discrete,
    check_numbers,
    class_factors,
    class_labels,
    distinct_labels,
)
from glassleaf.tree.class_shares import with_class_shares
from glassleaf.tree.complexity import shares_formula
from glassleaf.tree.fitted import fitted_model, linear_model

Floats = NDArray[np.float64]


class ModelTreeClassifier(ClassifierMixin, ModelTree):
    """A decision tree with a logistic model in every leaf.

    Two classes: one log-odds per leaf model; more: softmax of one score per class.

    The parameters stand in six groups:

    * loss and penalty: ``loss``, ``class_weight``, ``positive_class``, ``alpha``, ``l1_ratio``,
      ``shrink``, ``weak_model``
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
    loss : {"log_loss"} or Loss, default="log_loss"
        What the models minimize. An object: see :class:`glassleaf.losses.Loss`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into ``sample_weight``. "balanced": every class has the
        same weight in total. Probabilities are those of the weighted rows;
        :meth:`with_class_shares` gives those of rows as they come.
    positive_class : label or None, default=None
        Of two classes, the one whose log-odds the leaves add up: coefficients, signs in
        ``monotonic_cst``, formulas, reasons and exported scores are about it. None: the second in
        sorted order. The order of ``classes_`` and of probabilities stays, and so does the sign of
        ``decision_function``.
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
    classes_ : ndarray
        The labels, sorted.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from glassleaf import ModelTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> ModelTreeClassifier(max_depth=1, significance=None).fit(X, y).get_n_leaves()
    2
    >>> ModelTreeClassifier(max_depth=1).fit(X, y).get_n_leaves()  # two are no better than one
    1
    """

    def __init__(
        self,
        *,
        # loss and penalty
        loss: Literal["log_loss"] | Loss = "log_loss",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        positive_class: Hashable | None = None,
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
        self.class_weight = class_weight
        self.positive_class = positive_class
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
    ) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or path
            numpy array, pandas, polars or pyarrow table, scipy sparse matrix, Dask DataFrame or
            Array, or the path of Parquet files.
        y : array-like of shape (n_samples,), or str
            Of a Dask DataFrame or Parquet files it may be the name of a column.
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), or str, default=None
            Likewise.
        groups : array-like of shape (n_samples,), or str, default=None
            Which rows belong together: those of one subject, contract or day. They are one
            observation where splits are tested, and one fold gets all of them. The name of a
            column of X: it is then no feature. For tables in memory only.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            if is_partitioned(X):
                with self._opened(X, y, sample_weight, groups, numeric=False) as (backend, table):
                    self._fit_pieces(backend, table, self._encode_pieces(backend))
                return self
            self._fit_table(*self._read_rows(X, y, sample_weight), groups)
        return self

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Target, Floats]:
        """A table in memory with its target, and the weights of its rows."""
        table = with_dates(read_table(X))
        check_has_rows(table)
        labels = class_labels(y, table.n_rows)
        weight = row_weights(sample_weight, table.n_rows)
        if self.class_weight is not None:
            factor = class_factors(self.class_weight, labels, weight)
            weight = self._class_weighted(weight, factor)
        classes, codes = distinct_labels(labels[weight > 0])
        loss = self._loss_of(classes)
        encoded = np.zeros(len(labels))
        encoded[weight > 0] = class_numbers(loss, classes)[codes]
        return table, Target(loss, classes, encoded), weight

    def _encode_pieces(self, backend: Backend) -> Target:
        """Learn the classes, and put their numbers and weights into the parts."""
        found = total(backend, count_labels)
        kinds = {isinstance(label, str) for label in found.rows}
        if len(kinds) > 1:
            raise TypeError("y holds text in some partitions and numbers in others.")
        labels, _ = distinct_labels(np.array(list(found.rows), dtype=found.dtype))
        check_discrete(labels)
        weight = np.array([found.weight[label] for label in labels.tolist()])
        if not weight.any():
            raise ValueError(NO_ROWS)
        factor = np.ones(len(labels))
        if self.class_weight is not None:
            factor = class_factors(self.class_weight, labels, weight)
        classes = labels[self._class_weighted(weight, factor) > 0]
        factors = dict(zip(labels.tolist(), factor.tolist(), strict=True))
        loss = self._loss_of(classes)
        number_of = dict(zip(classes.tolist(), class_numbers(loss, classes).tolist(), strict=True))
        backend.become(encode_labels, number_of, factors)
        return Target(loss, classes)

    def _loss_of(self, classes: NDArray[Any]) -> Loss:
        n_classes = len(classes)
        if n_classes < 2:
            raise ValueError(
                f"y has only one class ({classes.tolist()[0]!r}); at least 2 classes with"
                " positive weight are needed."
            )
        positive = self._positive(classes)
        default: Loss = BinaryLogLoss(positive) if n_classes == 2 else MulticlassLogLoss(n_classes)
        known = {"log_loss": default}
        loss = named_or_object("loss", self.loss, known, Loss, "a glassleaf.losses.Loss")
        zero = np.zeros(1) if loss.n_outputs == 1 else np.zeros((1, loss.n_outputs))
        if loss.inverse_link(zero).shape != (1, n_classes):
            raise ValueError(
                f"loss={describe(self.loss)} does not give probabilities of {n_classes} classes."
            )
        return loss

    def _positive(self, classes: NDArray[Any]) -> int:
        """Place of the positive one of two classes."""
        given = self.positive_class
        if given is None:
            return 1
        if not isinstance(self.loss, str):
            raise ValueError(
                f"positive_class={describe(given)} is for loss='log_loss'. A loss of your own says"
                " itself which of two classes is the positive one: see Loss.positive."
            )
        labels: list[Any] = classes.tolist()
        if len(labels) != 2:
            raise ValueError(
                f"positive_class={describe(given)}: y has {len(labels)} classes, and only one of"
                " two can be the positive one."
            )
        if not isinstance(given, Hashable) or given not in labels:
            raise ValueError(
                f"positive_class={describe(given)} is no label of y, which has"
                f" {labels[0]!r} and {labels[1]!r}."
            )
        return labels.index(given)

    def _class_weighted(self, weight: Floats, factor: Floats) -> Floats:
        """Weights times those of their classes."""
        if not (np.isfinite(factor).all() and (factor >= 0).all() and (factor * weight).any()):
            raise ValueError(
                f"class_weight={describe(self.class_weight)} must give every class a finite weight"
                " >= 0, and at least two a positive one."
            )
        return np.asarray(weight * factor)

    def calibrate(self, X: Any, y: ArrayLike, groups: ArrayLike | str | None = None) -> Self:
        """Correct the probabilities by rows that the fit did not see.

        The scores are multiplied by a slope and moved by a shift (of several classes, one shift
        each), by which these rows lose least. Formulas, files and exports hold the result. Where
        leaves share a formula, slope and shift are the same in all of them, so that they still do;
        else each leaf with at least 200 rows, 50 of each class, has its own.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows that the model was not fitted on.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,), or str, default=None
            Which rows belong together, as in ``fit``. They count as one observation.

        Returns
        -------
        self
        """
        model = linear_model(self)
        if type(model.loss) not in (BinaryLogLoss, MulticlassLogLoss):
            raise GlassleafError(
                f"calibrate needs loss='log_loss'; this model has loss={describe(model.loss)}."
            )
        nodes, raw, group = self._calibration_rows(X, groups)
        numbers = self._known_classes(class_labels(y, len(nodes)))
        is_short = model.tree.training_record is not None and shares_formula(model.tree)
        found = learn_scaling(model.tree, model.loss, nodes, raw, numbers, group, is_short)
        self.model_ = replace(
            model,
            tree=found.applied(model.tree, shortens=is_short),
            scaling=found.after(model.scaling),
        )
        return self

    def _known_classes(self, labels: NDArray[Any]) -> Floats:
        """The numbers of labels, all of which must be classes, and all classes among them."""
        classes = self.classes_.tolist()
        given = distinct_labels(labels)[0].tolist()
        for label in given:
            if label not in classes:
                raise ValueError(f"y holds {label!r}, which is no class of this model.")
        for label in classes:
            if label not in given:
                raise ValueError(f"y holds no {label!r}; calibrate needs rows of every class.")
        place = {label: k for k, label in enumerate(classes)}
        codes = np.array([place[label] for label in labels.tolist()])
        return np.asarray(class_numbers(fitted_model(self).loss, self.classes_)[codes])

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in order."""
        found = self.model_.class_array
        assert found is not None
        return found

    def with_class_shares(self, shares: Mapping[Any, float]) -> Self:
        """The same model for rows in which the classes have other shares.

        Intercepts move by the logarithm of how much more often a class occurs; coefficients and
        leaves stay as they are. After ``class_weight``, or where training rows were drawn by
        class, probabilities are then those of rows as they come.

        Parameters
        ----------
        shares : dict of labels and numbers
            How often every class occurs, as shares, percentages or counts.

        Returns
        -------
        estimator
            A fitted one like this; this one stays as it is.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from glassleaf import ModelTreeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = X[:, 8:10]
        >>> model = ModelTreeClassifier(class_weight="balanced").fit(X, y)
        >>> y.mean().round(2), model.predict_proba(X)[:, 1].mean().round(2)
        (np.float64(0.63), np.float64(0.53))
        >>> corrected = model.with_class_shares({0: (y == 0).sum(), 1: (y == 1).sum()})
        >>> corrected.predict_proba(X)[:, 1].mean().round(2)
        np.float64(0.63)
        """
        model = linear_model(self)
        if model.loss.link not in ("logit", "softmax"):
            raise ValueError("with_class_shares is for loss='log_loss'.")
        check_numbers(shares, "shares")
        labels = model.classes or ()
        if set(shares) != set(labels) or not all(0 < share < np.inf for share in shares.values()):
            raise ValueError(
                f"shares={describe(shares)} must give each of the {len(labels)} classes a finite"
                f" number above 0: {describe(list(labels))}."
            )
        found = np.array([float(shares[label]) for label in labels])
        out = copy.copy(self)
        out.model_ = with_class_shares(model, found / found.sum())
        return out

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second class, ``classes_[1]``, or one score per class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        loss = fitted_model(self).loss
        if is_collection(X):
            width = loss.n_outputs if loss.n_outputs > 1 else None
            return lazily(self.decision_function, X, width, np.float64)
        raw = self._raw(X)
        return raw if loss.positive else -raw

    def _raw(self, X: Any) -> Floats:
        """Raw scores as losses take them."""
        raw = self.model_.scores(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> Floats:
        """Probability of every class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        loss = fitted_model(self).loss
        if is_collection(X):
            return lazily(self.predict_proba, X, len(self.classes_), np.float64)
        return loss.inverse_link(self._raw(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        loss = fitted_model(self).loss
        if is_collection(X):
            return lazily(self.predict_log_proba, X, len(self.classes_), np.float64)
        return loss.log_inverse_link(self._raw(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        classes = fitted_model(self).class_array
        assert classes is not None
        if is_collection(X):
            return lazily(self.predict, X, None, classes.dtype)
        return np.asarray(classes[np.argmax(self.predict_proba(X), axis=1)])


def class_numbers(loss: Loss, classes: NDArray[Any]) -> Floats:
    """The numbers of the sorted labels in training: 1 is the positive one of two."""
    numbers = np.arange(len(classes), dtype=np.float64)
    return numbers if loss.positive else numbers[::-1]
