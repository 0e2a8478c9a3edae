"""The two estimators: what is asked for, learned from the target and handed to the tree."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from glassleaf import checks as parameters
from glassleaf.criteria import Criterion
from glassleaf.errors import describe
from glassleaf.estimators.base import ModelTree, all_or_nothing
from glassleaf.fit.models.custom import WeakModel
from glassleaf.losses import REGRESSION_LOSSES, BinaryLogLoss, Loss, MulticlassLogLoss
from glassleaf.rows.backends import Backend
from glassleaf.rows.backends.engines import is_collection, lazily
from glassleaf.rows.pieces import (
    NO_ROWS,
    check_rows,
    count_labels,
    encode_labels,
    is_partitioned,
    use_weighted,
)
from glassleaf.tables.targets import check_discrete, class_labels, distinct_labels, numeric_target

Floats = NDArray[np.float64]


class ModelTreeRegressor(RegressorMixin, ModelTree):
    """A decision tree with a linear model in every leaf.

    Parameters
    ----------
    loss : {"squared_error", "huber", "poisson", "gamma"} or Loss, default="squared_error"
        What the models minimize. "poisson" and "gamma" have a log link. An object: see
        :class:`glassleaf.losses.Loss`.
    criterion : {"gradient", "impurity"} or Criterion, default="gradient"
        How splits are compared. "gradient" is the criterion of Broelemann & Kasneci (2019):
        which split lets two models predict best; "impurity" the classical one.
    renormalize : {"zscore", "minmax", None}, default="zscore"
        Units in which the gradients of each side of a split are compared.
    scale : {"standard", None}, default="standard"
        Units of gradients that are not renormalized: standardized over all rows, or raw.
    alpha : float or "auto", default="auto"
        Penalty of the models: on the summed loss, in standardized units, so that it fades with
        the rows in a leaf and does not depend on the scale of the features. "auto": for every
        node the strength that Akaike's criterion prefers, from that of ten rows up (for squared
        error, where there is hardly any noise, from less).
    l1_ratio : float, default=0.0
        Share of the L1 norm in the penalty; 0 is ridge, 1 is lasso.
    shrink : {"parent", "zero"}, default="parent"
        What the ridge penalty pulls the weights of a child towards: its parent's, or zero.
    max_depth : int or None, default=3
        Largest number of splits above a leaf. 0 is the plain linear model.
    max_leaf_nodes : int, "auto" or None, default=None
        Largest number of leaves; with it, the node with the largest gain is split first. "auto":
        a fifth of the rows is set aside (see ``random_state``), the tree grown on the others is
        cut back to what is best on these, and its models are fitted to all rows.
    min_samples_leaf : int, float or None, default=None
        Smallest number (or share) of rows in a leaf; None: one more than a model has terms, at
        least 10.
    min_gain : float, default=0.0
        Smallest gain of a split, as a share of the root model's loss.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: a leaf must lower the penalized loss by this share of the root
        model's loss.
    max_bins : int, default=255
        A column with more distinct values is cut into so many bins of equal weight.
    rescore : int, default=20
        So many of the criterion's best candidates are compared by what two models would really
        gain, and the border of the best is moved to suit them, also through a bin; 0: the
        criterion alone decides.
    refine : bool, default=False
        After a split, move its border to where its two models fit best, fit them again, and so
        on, while the penalized loss falls.
    category_splits : {"subset", "one"}, default="subset"
        Splits between two sets of categories, or of one category against the rest.
    significance : float or None, default=0.05
        A split must be significant at this level: where no split is true, a tree grows in at most
        this share of all cases. None: no test.
    categorical_features : "from_dtype", list of names or positions, mask, or None, \
default="from_dtype"
        Which columns are categories. "from_dtype": those of text or of a categorical type. Many
        categories of a few rows each are learned by heart; a warning names such a column.
    split_features, leaf_features : list of names or positions, mask, or None, default=None
        Which columns may split, and which may stand in the models; None: all.
    transform : {"auto", "none", "winsor", "rank"}, default="auto"
        Monotone transform of the numeric columns in the models (never in the splits): values beyond
        the 1 % and 99 % quantiles cut, or normal scores of ranks. "auto": for columns with heavy
        tails, where it explains more.
    curves : {"auto", True, False}, default="auto"
        Whether a numeric column along which the target bends gets one more term in the models: a
        curve of few points, learned once for the whole tree. "auto": if ``transform`` is "auto"
        and there may be a tree; ``max_depth=0`` is the plain linear model. Never for columns in
        ``monotonic_cst``, or that may not split.
    clamp : bool or pair of floats, default=True
        In a leaf, a column counts as the nearest value that training saw there; with a pair, that
        between these two quantiles. Models do not extrapolate.
    max_leaf_terms : int or None, default=None
        Largest number of columns in the formula of a leaf.
    round_thresholds : bool or float, default=False
        Prefer thresholds that are short to read, at the cost of at most this share of the
        split's gain; True: 0.01.
    coef_digits : int or None, default=None
        Round the coefficients to so many significant digits; ``rounding_cost_`` says what it costs.
    monotonic_cst : dict, array-like or None, default=None
        Per column name or position: 1 if predictions must never fall as the column rises, -1 if
        they must never rise, 0 if they are free. A column with a sign does not split.
    weak_model : WeakModel or None, default=None
        A model of your own for the nodes instead of the linear one; needs ``renormalize=None``.
    backend : {"local", "stream", "dask"}, address or distributed.Client, default="local"
        Where the rows are. "local": in memory; a path of Parquet files is streamed. "stream": on
        disk. "dask": on a cluster of processes that lives as long as the fit; or on the one at an
        address, or of a client. The tree is the same; see docs/scaling.md.
    n_jobs : int or None, default=None
        Largest number of threads; None: all cores. The tree does not depend on it.
    verbose : int, default=0
        1: report every batch of nodes on standard error; 2: every pass over the rows.
    random_state : int, RandomState or None, default=None
        Which rows ``max_leaf_nodes="auto"`` sets aside; None counts as 0. All else is
        deterministic.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as plain arrays; see :class:`glassleaf.Tree`.
    rounding_cost_ : float
        With ``coef_digits``: how much larger rounding makes the training loss, as a share of it.
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

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._loss = parameters.named_or_object(
                "loss",
                self.loss,
                {name: kind() for name, kind in REGRESSION_LOSSES.items()},
                Loss,
                "a glassleaf.losses.Loss",
            )
            if self._loss.n_outputs != 1:
                raise ValueError(f"loss={describe(self.loss)} is not one of a single number.")
            if is_partitioned(X):
                with self._opened(X, y, sample_weight, numeric=True) as (backend, table):
                    found = check_rows(backend)
                    self._loss.check_target(np.array([found.low, found.high]))
                    backend.become(use_weighted)
                    self._fit_pieces(backend, table, n_classes=0)
                return self
            table = self._read(X, reset=True)
            target = numeric_target(y, table.n_rows)
            self._fit_tree(table, target, parameters.row_weights(sample_weight, X), n_classes=0)
        return self

    def predict(self, X: Any) -> Floats:
        """Predicted values.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if is_collection(X):
            return lazily(self.predict, X, None, np.float64)
        raw = self._raw(X)
        return self._loss.inverse_link(raw[:, 0])


class ModelTreeClassifier(ClassifierMixin, ModelTree):
    """A decision tree with a logistic model in every leaf.

    Two classes: one log-odds per leaf model; more: softmax of one score per class. Parameters are
    those of :class:`ModelTreeRegressor`, with ``loss="log_loss"`` and ``class_weight``.

    Parameters
    ----------
    loss : {"log_loss"} or Loss, default="log_loss"
        What the models minimize.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into ``sample_weight``.
    criterion, renormalize, scale, alpha, l1_ratio, shrink, max_depth, max_leaf_nodes, \
min_samples_leaf, min_gain, ccp_alpha, max_bins, rescore, refine, category_splits, significance, \
categorical_features, split_features, leaf_features, transform, curves, clamp, max_leaf_terms, \
round_thresholds, coef_digits, monotonic_cst, weak_model, backend, n_jobs, verbose, random_state
        See :class:`ModelTreeRegressor`.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree as plain arrays; see :class:`glassleaf.Tree`.
    classes_ : ndarray
        The labels, sorted.
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

    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        loss: str | Loss = "log_loss",
        criterion: str | Criterion = "gradient",
        renormalize: str | None = "zscore",
        scale: str | None = "standard",
        alpha: float | str = "auto",
        l1_ratio: float = 0.0,
        shrink: str = "parent",
        max_depth: int | None = 3,
        max_leaf_nodes: int | str | None = None,
        min_samples_leaf: int | float | None = None,
        min_gain: float = 0.0,
        ccp_alpha: float = 0.0,
        max_bins: int = 255,
        rescore: int = 20,
        refine: bool = False,
        category_splits: str = "subset",
        significance: float | None = 0.05,
        categorical_features: Any = "from_dtype",
        split_features: Any = None,
        leaf_features: Any = None,
        transform: str = "auto",
        curves: bool | str = "auto",
        clamp: Any = True,
        max_leaf_terms: int | None = None,
        round_thresholds: bool | float = False,
        coef_digits: int | None = None,
        monotonic_cst: Any = None,
        weak_model: WeakModel | None = None,
        class_weight: Any = None,
        backend: Any = "local",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss=loss,
            criterion=criterion,
            renormalize=renormalize,
            scale=scale,
            alpha=alpha,
            l1_ratio=l1_ratio,
            shrink=shrink,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            min_gain=min_gain,
            ccp_alpha=ccp_alpha,
            max_bins=max_bins,
            rescore=rescore,
            refine=refine,
            category_splits=category_splits,
            significance=significance,
            categorical_features=categorical_features,
            split_features=split_features,
            leaf_features=leaf_features,
            transform=transform,
            curves=curves,
            clamp=clamp,
            max_leaf_terms=max_leaf_terms,
            round_thresholds=round_thresholds,
            coef_digits=coef_digits,
            monotonic_cst=monotonic_cst,
            weak_model=weak_model,
            backend=backend,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            if is_partitioned(X):
                with self._opened(X, y, sample_weight, numeric=False) as (backend, table):
                    self._encode_pieces(backend)
                    self._choose_loss()
                    self._fit_pieces(backend, table, len(self.classes_))
                return self
            table = self._read(X, reset=True)
            labels = class_labels(y, table.n_rows)
            weight = parameters.row_weights(sample_weight, X)
            if self.class_weight is not None:
                weight = self._class_weighted(weight, self._class_factors(labels, weight))
            self.classes_, target = distinct_labels(labels[weight > 0])
            encoded = np.zeros(len(labels))
            encoded[weight > 0] = target
            self._choose_loss()
            self._fit_tree(table, encoded, weight, len(self.classes_))
        return self

    def _encode_pieces(self, backend: Backend) -> None:
        """Learn the classes, and put their codes and weights into the parts."""
        found = backend.sum(count_labels, [()])[0]
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
            factor = self._class_factors(labels, weight)
        self.classes_ = labels[self._class_weighted(weight, factor) > 0]
        factors = dict(zip(labels.tolist(), factor.tolist(), strict=True))
        code_of = {label: code for code, label in enumerate(self.classes_.tolist())}
        backend.become(encode_labels, code_of, factors)

    def _choose_loss(self) -> None:
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"y has only one class ({self.classes_.tolist()[0]!r}); at least 2 classes with"
                " positive weight are needed."
            )
        default: Loss = BinaryLogLoss() if n_classes == 2 else MulticlassLogLoss(n_classes)
        self._loss = parameters.named_or_object(
            "loss", self.loss, {"log_loss": default}, Loss, "a glassleaf.losses.Loss"
        )
        self._check_loss(n_classes)

    def _check_loss(self, n_classes: int) -> None:
        n_outputs = self._loss.n_outputs
        found = self._loss.inverse_link(np.zeros(1) if n_outputs == 1 else np.zeros((1, n_outputs)))
        if found.shape != (1, n_classes):
            raise ValueError(
                f"loss={describe(self.loss)} does not give probabilities of {n_classes} classes."
            )

    def _class_factors(self, labels: NDArray[Any], weight: Floats) -> Floats:
        """What the weight of every row is multiplied by, for the sake of its class."""
        given = self.class_weight
        is_mapping = isinstance(given, Mapping)
        if not is_mapping and not (isinstance(given, str) and given == "balanced"):
            raise ValueError(
                f'class_weight={describe(given)} must be a dict of labels and weights, "balanced"'
                " or None."
            )
        for value in given.values() if is_mapping else ():
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(
                    f"class_weight={describe(given)} must give every class a number, not"
                    f" {describe(value)}."
                )
        if is_mapping:
            return np.asarray(compute_sample_weight(given, labels))
        classes, place = distinct_labels(labels)
        total = np.bincount(place, weight, len(classes))
        share = total[total > 0].sum() / np.count_nonzero(total)
        factor = np.divide(share, total, out=np.zeros_like(total), where=total > 0)
        return np.asarray(factor[place])

    def _class_weighted(self, weight: Floats, factor: Floats) -> Floats:
        """Weights times those of their classes."""
        if not (np.isfinite(factor).all() and (factor >= 0).all() and (factor * weight).any()):
            raise ValueError(
                f"class_weight={describe(self.class_weight)} must give every class a finite weight"
                " >= 0, and at least two a positive one."
            )
        return np.asarray(weight * factor)

    def decision_function(self, X: Any) -> Floats:
        """Raw scores: the log-odds of the second class, or one score per class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        if is_collection(X):
            check_is_fitted(self)
            width = self._loss.n_outputs if self._loss.n_outputs > 1 else None
            return lazily(self.decision_function, X, width, np.float64)
        raw = self._raw(X)
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
        if is_collection(X):
            check_is_fitted(self)
            return lazily(self.predict_proba, X, len(self.classes_), np.float64)
        raw = self.decision_function(X)
        return self._loss.inverse_link(raw)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        if is_collection(X):
            check_is_fitted(self)
            return lazily(self.predict_log_proba, X, len(self.classes_), np.float64)
        raw = self.decision_function(X)
        return self._loss.log_inverse_link(raw)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if is_collection(X):
            check_is_fitted(self)
            return lazily(self.predict, X, None, self.classes_.dtype)
        most_probable = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[most_probable])
