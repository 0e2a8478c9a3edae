"""The estimator of classes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight

from glassleaf.checks import named_or_object, row_weights
from glassleaf.criteria import Criterion
from glassleaf.errors import describe
from glassleaf.estimators.base import ModelTree, Target, all_or_nothing
from glassleaf.losses import BinaryLogLoss, Loss, MulticlassLogLoss
from glassleaf.rows.backends import Backend, total
from glassleaf.rows.backends.engines import is_collection, lazily
from glassleaf.rows.passes import WeakModel
from glassleaf.rows.pieces import NO_ROWS, count_labels, encode_labels, is_partitioned
from glassleaf.tables.reading import check_has_rows, read_table
from glassleaf.tables.targets import check_discrete, class_labels, distinct_labels
from glassleaf.tree.fitted import fitted_model

Floats = NDArray[np.float64]


class ModelTreeClassifier(ClassifierMixin, ModelTree):
    """A decision tree with a logistic model in every leaf.

    Two classes: one log-odds per leaf model; more: softmax of one score per class. Parameters are
    those of :class:`ModelTreeRegressor`, with ``loss="log_loss"``, ``class_weight`` and
    ``positive_class``.

    Parameters
    ----------
    loss : {"log_loss"} or Loss, default="log_loss"
        What the models minimize.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into ``sample_weight``.
    positive_class : label or None, default=None
        Of two classes, the one whose log-odds the leaves add up: coefficients, signs in
        ``monotonic_cst``, formulas, reasons and exported scores are about it. None: the second in
        sorted order. The order of ``classes_`` and of probabilities stays, and so does the sign of
        ``decision_function``.
    criterion, alpha, l1_ratio, shrink, max_depth, max_leaf_nodes, \
min_samples_leaf, min_gain, ccp_alpha, max_bins, rescore, refine, category_splits, significance, \
categorical_features, split_features, leaf_features, leaf_transform, curves, clamp, \
max_leaf_terms, round_thresholds, coef_digits, monotonic_cst, weak_model, backend, n_jobs, \
verbose, random_state
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

    def __init__(
        self,
        *,
        loss: str | Loss = "log_loss",
        criterion: str | Criterion = "gradient_zscore",
        alpha: float | str = "auto",
        l1_ratio: float = 0.0,
        shrink: str = "parent",
        max_depth: int | Literal["auto"] | None = "auto",
        max_leaf_nodes: int | Literal["auto"] | None = None,
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
        leaf_transform: str = "auto",
        curves: bool | str = "auto",
        clamp: Any = True,
        max_leaf_terms: int | None = None,
        round_thresholds: bool | float = False,
        coef_digits: int | None = None,
        monotonic_cst: Any = None,
        weak_model: WeakModel | None = None,
        class_weight: Any = None,
        positive_class: Any = None,
        backend: Any = "local",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss=loss,
            criterion=criterion,
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
            leaf_transform=leaf_transform,
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
        self.positive_class = positive_class

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
                    self._fit_pieces(backend, table, self._encode_pieces(backend))
                return self
            table = read_table(X)
            check_has_rows(table)
            labels = class_labels(y, table.n_rows)
            weight = row_weights(sample_weight, table.n_rows)
            if self.class_weight is not None:
                weight = self._class_weighted(weight, self._class_factors(labels, weight))
            classes, codes = distinct_labels(labels[weight > 0])
            loss = self._loss_of(classes)
            encoded = np.zeros(len(labels))
            encoded[weight > 0] = class_numbers(loss, classes)[codes]
            self._fit_table(table, Target(loss, classes, encoded), weight)
        return self

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
            factor = self._class_factors(labels, weight)
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

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in order."""
        found = self.model_.class_array
        assert found is not None
        return found

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
    """The numbers that training knows the sorted labels by: 1 is the positive one of two."""
    numbers = np.arange(len(classes), dtype=np.float64)
    return numbers if loss.positive else numbers[::-1]
