"""What regressor and classifier share: tables in, the tree, and what it answers."""

from __future__ import annotations

import contextlib
import copy
import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from glassleaf import _kernels
from glassleaf import checks as parameters
from glassleaf.criteria import Criterion
from glassleaf.errors import describe
from glassleaf.estimators.outlets import Deployable
from glassleaf.estimators.settings import roles_of, settings_of
from glassleaf.fit.models.custom import WeakModel
from glassleaf.fit.train import total_loss, train, train_on, with_rounded_coefficients
from glassleaf.losses import Loss
from glassleaf.rows.backends import Backend
from glassleaf.rows.backends.engines import engine_of, is_collection, lazily
from glassleaf.rows.pieces import check_backend, find_pieces, is_partitioned
from glassleaf.tables.table import (
    Table,
    array_table,
    column_name,
    frame_table,
    is_frame,
    is_one_row_or_column,
    raw_pieces,
)
from glassleaf.tables.targets import is_text_array, plain_array
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]


class ModelTree(Deployable, BaseEstimator):
    """What regressor and classifier share; the constructor is the regressor's."""

    tree_: Tree
    n_features_in_: int
    _loss: Loss

    def __init__(
        self,
        *,
        loss: str | Loss = "squared_error",
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
        backend: Any = "local",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.criterion = criterion
        self.renormalize = renormalize
        self.scale = scale
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.shrink = shrink
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.rescore = rescore
        self.refine = refine
        self.category_splits = category_splits
        self.significance = significance
        self.categorical_features = categorical_features
        self.split_features = split_features
        self.leaf_features = leaf_features
        self.transform = transform
        self.curves = curves
        self.clamp = clamp
        self.max_leaf_terms = max_leaf_terms
        self.round_thresholds = round_thresholds
        self.coef_digits = coef_digits
        self.monotonic_cst = monotonic_cst
        self.weak_model = weak_model
        self.backend = backend
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _set_transform(self, kind: str) -> None:
        self.__dict__["transform"] = kind

    # scikit-learn takes whatever has an attribute ``transform`` for a transformer. The parameter of
    # that name can be set, and is among get_params(), but it cannot be read as an attribute.
    transform = property(None, _set_transform)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of parameters that have some.

        Returns
        -------
        dict
        """
        out = {}
        for name in self._get_param_names():
            out[name] = value = vars(self)[name]
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                out |= {f"{name}__{inner}": own for inner, own in value.get_params().items()}
        return out

    def __getstate__(self) -> dict[str, Any]:
        """What is stored, copied or sent to workers: all but a connection to a cluster."""
        state: dict[str, Any] = super().__getstate__()
        return state if isinstance(self.backend, str) else {**state, "backend": "local"}

    def __sklearn_clone__(self) -> Self:
        """A clone uses the same connection to a cluster, for that cannot be copied."""
        out: Self = super(ModelTree, copy.copy(self)).__sklearn_clone__()
        out.backend = self.backend
        return out

    # --- fitting ---------------------------------------------------------------------------------

    def _fit_tree(self, table: Table, y: Floats, weight: Floats, n_classes: int) -> None:
        check_backend(self.backend, in_memory=True)
        given = vars(self)
        settings = settings_of(given, self._loss, n_classes)
        roles = roles_of(given, self._loss, table)
        used = np.flatnonzero(weight > 0)
        if len(used) < len(weight):
            table, y, weight = table.take(used), y[used], weight[used]
        self._loss.check_target(y)
        digits = parameters.whole_number("coef_digits", self.coef_digits, 1, none="no rounding")
        with _progress(self.verbose):
            self.tree_ = train(table, y, weight, roles, settings)
        if digits is not None and settings.weak_model is None:
            before = total_loss(self.tree_, table, y, weight, self._loss)
            self.tree_ = with_rounded_coefficients(self.tree_, digits)
            after = total_loss(self.tree_, table, y, weight, self._loss)
            self.rounding_cost_ = after / before - 1.0 if before > 0 else 0.0

    @contextlib.contextmanager
    def _opened(
        self, X: Any, y: Any, sample_weight: Any, numeric: bool
    ) -> Iterator[tuple[Backend, Table]]:
        """The backend with the pieces of X, and the table without rows that describes them."""
        if self.weak_model is not None or self.coef_digits is not None:
            what = "coef_digits" if self.weak_model is None else "a weak_model of your own"
            raise ValueError(f"{what} is supported for tables in memory only.")
        check_backend(self.backend, in_memory=False)
        found = find_pieces(X, y, sample_weight, numeric)
        self._check_names(found.native, found.outline, reset=True)
        n_threads = parameters.n_threads(self.n_jobs)
        with _progress(self.verbose), found.open(self.backend, n_threads) as backend:
            yield backend, found.outline

    def _fit_pieces(self, backend: Backend, table: Table, n_classes: int) -> None:
        given = vars(self)
        settings = settings_of(given, self._loss, n_classes)
        names = [column_name(table, j) for j in range(table.n_columns)]
        self.tree_ = train_on(backend, names, roles_of(given, self._loss, table), settings)

    def _read(self, X: Any, *, reset: bool) -> Table:
        """Any table in; names and number of columns are checked against those of ``fit``."""
        engine = engine_of(X)
        if engine is not None:
            raise TypeError(f"X is a {engine.COLLECTION}; only a table in memory will do here.")
        if is_partitioned(X):
            raise TypeError(
                f"X={describe(X)} names Parquet files; only a table in memory will do here."
                " The command line predicts on files: glassleaf predict MODEL FILES."
            )
        if is_frame(X):
            table = frame_table(X)
            self._check_names(X, table, reset)
            if table.n_columns == 0 or (table.n_rows == 0 and reset):
                raise ValueError(
                    f"X has {table.n_rows} row(s) and {table.n_columns} column(s);"
                    " at least one of each is needed."
                )
            return table
        if is_one_row_or_column(X):
            raise ValueError(
                f"X is a {type(X).__name__}, and a table is needed: of a DataFrame, df.iloc[[0]] is"
                " one of one row and df[['name']] one of one column; of a dict, make a DataFrame."
            )
        X = plain_array(X)
        text = is_text_array(X)
        checked = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=["csc", "csr"],
            dtype=None if text else "numeric",
            ensure_all_finite=not text and "allow-nan",
        )
        return array_table(checked)

    def _check_names(self, X: Any, table: Table, reset: bool) -> None:
        """scikit-learn's check of the columns; its error for another order names no column."""
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            known = list(getattr(self, "feature_names_in_", []))
            if reset or table.names is None or sorted(table.names) != sorted(known):
                raise
            pairs = zip(table.names, known, strict=True)
            place, (now, then) = next(
                (k, pair) for k, pair in enumerate(pairs) if pair[0] != pair[1]
            )
            raise ValueError(f"{error}Column {place} is {now!r} and was {then!r} in fit.") from None

    # --- the fitted tree -------------------------------------------------------------------------

    def _raw(self, X: Any) -> Floats:
        """Raw predictions, shape (rows, outputs)."""
        _, table = self._fitted(X)
        out = np.empty((table.n_rows, self._loss.n_outputs))
        for rows, matrix in raw_pieces(table, self.tree_.columns):
            out[rows] = self.tree_.raw(matrix, self.tree_.apply(matrix))
        return out

    def _fitted(self, X: Any) -> tuple[Tree, Table]:
        check_is_fitted(self)
        _kernels.announce_compilation()
        return self.tree_, self._read(X, reset=False)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Number of the leaf that every row falls into.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Positions in the arrays of ``tree_``.
        """
        if is_collection(X):
            return lazily(self.apply, X, None, np.int64)
        return self._leaves(X)

    def _leaves(self, X: Any) -> NDArray[np.int64]:
        tree, table = self._fitted(X)
        out = np.empty(table.n_rows, dtype=np.int64)
        for rows, matrix in raw_pieces(table, tree.columns):
            out[rows] = tree.apply(matrix)
        return out

    def decision_path(self, X: Any) -> Any:
        """The nodes on every row's way from the root to its leaf.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        """
        leaves = self._leaves(X)
        return self.tree_.decision_path(leaves)

    def get_depth(self) -> int:
        """Largest number of splits above a leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def export_text(self, max_terms: int | None = 6) -> str:
        """The model in words: the tree, every leaf's rule and formula, the features' importance.

        Parameters
        ----------
        max_terms : int or None, default=6
            How many terms of a formula are shown, the most influential first; None: all.

        Returns
        -------
        str
        """
        text = import_module("glassleaf.show.text.model")  # not needed to fit and predict
        return str(text.export_text(self, max_terms))

    def get_n_leaves(self) -> int:
        """Number of leaves, that is, of models to read."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


@contextlib.contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was, fitted or not."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextlib.contextmanager
def _progress(verbose: Any) -> Iterator[None]:
    """Show the fit's log on standard error while it runs, if asked for."""
    level = int(verbose) if isinstance(verbose, (bool, np.bool_)) else verbose
    if not parameters.whole_number("verbose", level, 0):
        yield
        return
    log = logging.getLogger("glassleaf")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("glassleaf: %(message)s"))
    usual = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO if level == 1 else logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(usual)
