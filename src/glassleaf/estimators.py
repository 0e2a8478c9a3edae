"""The scikit-learn surface: check what came in, hand it to ``training``, answer from the tree."""

from __future__ import annotations

import contextlib
import copy
import logging
from collections.abc import Iterator, Mapping
from importlib import import_module
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from glassleaf import _kernels, criteria, parameters
from glassleaf.backends import Backend
from glassleaf.backends.engines import engine_of, is_collection, lazily
from glassleaf.criteria import Criterion
from glassleaf.deployment import Deployable
from glassleaf.errors import describe
from glassleaf.information import STRENGTHS
from glassleaf.losses import REGRESSION_LOSSES, BinaryLogLoss, Loss, MulticlassLogLoss
from glassleaf.newton import Penalty
from glassleaf.partitioned import (
    NO_ROWS,
    check_backend,
    check_rows,
    count_labels,
    encode_labels,
    find_pieces,
    is_partitioned,
    use_weighted,
)
from glassleaf.preparation import Roles
from glassleaf.renormalizers import RENORMALIZERS
from glassleaf.table import (
    Table,
    array_table,
    column_name,
    column_signs,
    frame_table,
    is_frame,
    is_one_row_or_column,
    raw_pieces,
    select_columns,
)
from glassleaf.training import Settings, total_loss, train, train_on, with_rounded_coefficients
from glassleaf.transforms import TRANSFORMS
from glassleaf.tree import Tree
from glassleaf.values import is_missing
from glassleaf.weak_models import Shrinkage, WeakModel

Floats = NDArray[np.float64]

# How large a tree may grow before held-out rows cut it back.
_MOST_AUTOMATIC_LEAVES = 64
# Share of the gain that a threshold which is short to read may cost.
_ROUNDING_TOLERANCE = 0.01


class _ModelTree(Deployable, BaseEstimator):
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
        out: Self = super(_ModelTree, copy.copy(self)).__sklearn_clone__()
        out.backend = self.backend
        return out

    # --- fitting ---------------------------------------------------------------------------------

    def _fit_tree(self, table: Table, y: Floats, weight: Floats, n_classes: int) -> None:
        check_backend(self.backend, in_memory=True)
        settings = self._settings(n_classes)
        roles = self._roles(table)
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
        settings = self._settings(n_classes)
        names = [column_name(table, j) for j in range(table.n_columns)]
        self.tree_ = train_on(backend, names, self._roles(table), settings)

    def _settings(self, n_classes: int) -> Settings:
        parameters.check_random_state(self.random_state)
        weak_model = self.weak_model
        if weak_model is not None and not isinstance(weak_model, WeakModel):
            raise TypeError(
                f"weak_model={describe(weak_model)} must have the methods fit, raw and gradients;"
                " see glassleaf.WeakModel."
            )
        renormalizer = parameters.choice("renormalize", self.renormalize, RENORMALIZERS)
        criterion = self._criterion(n_classes)
        uses_gradient = criterion.uses == "gradient"
        if weak_model is not None and self.renormalize is not None and uses_gradient:
            raise ValueError(
                f"renormalize={self.renormalize!r} is defined for linear models only."
                " With a weak_model of your own, set renormalize=None."
            )
        is_chosen = isinstance(self.alpha, str) and self.alpha == "auto"
        alpha = STRENGTHS[0] if is_chosen else parameters.real_number("alpha", self.alpha, 0.0)
        is_sized = isinstance(self.max_leaf_nodes, str) and self.max_leaf_nodes == "auto"
        if is_sized and weak_model is not None:
            raise ValueError(
                "max_leaf_nodes='auto' is not supported with a weak_model of your own."
            )
        transform = parameters.choice("transform", vars(self)["transform"], TRANSFORMS)
        return Settings(
            loss=self._loss,
            criterion=criterion,
            renormalizer=renormalizer,
            penalty=Penalty(
                alpha,
                parameters.real_number("l1_ratio", self.l1_ratio, 0.0, 1.0),
            ),
            standardized=parameters.choice("scale", self.scale, {"standard": True, None: False}),
            max_depth=parameters.whole_number("max_depth", self.max_depth, 0, none="no limit"),
            max_leaf_nodes=_MOST_AUTOMATIC_LEAVES
            if is_sized
            else parameters.whole_number("max_leaf_nodes", self.max_leaf_nodes, 1, none="no limit"),
            held_out=parameters.random_state(self.random_state) if is_sized else None,
            ccp_alpha=parameters.real_number("ccp_alpha", self.ccp_alpha, 0.0),
            max_leaf_terms=parameters.whole_number(
                "max_leaf_terms", self.max_leaf_terms, 1, none="no limit"
            ),
            round_thresholds=parameters.tolerance(
                "round_thresholds", self.round_thresholds, _ROUNDING_TOLERANCE
            ),
            min_samples_leaf=parameters.leaf_size(self.min_samples_leaf),
            min_gain=parameters.real_number("min_gain", self.min_gain, 0.0),
            max_bins=self._max_bins(),
            n_threads=parameters.n_threads(self.n_jobs),
            n_classes=n_classes,
            weak_model=weak_model,
            transform=transform,
            curves=self._wants_curves(transform),
            clamp=parameters.clamp(self.clamp),
            refine=parameters.flag("refine", self.refine),
            subsets=parameters.choice(
                "category_splits", self.category_splits, {"one": False, "subset": True}
            ),
            rescore=parameters.whole_number("rescore", self.rescore, 0) or 0,
            significance=(
                1.0
                if self.significance is None
                else parameters.real_number("significance", self.significance, 0.0, 1.0)
            ),
            shrinkage=Shrinkage(
                parameters.choice("shrink", self.shrink, {"zero": False, "parent": True}), is_chosen
            ),
        )

    def _wants_curves(self, transform: str) -> bool:
        if isinstance(self.curves, str) and self.curves == "auto":
            return transform == "auto" and self.max_depth != 0
        if not isinstance(self.curves, (bool, np.bool_)):
            raise ValueError(f"curves={describe(self.curves)} must be 'auto', True or False.")
        return bool(self.curves)

    def _criterion(self, n_classes: int) -> Criterion:
        gradient: Criterion = criteria.GradientGain()
        impurity: Criterion = (
            criteria.InformationGain() if n_classes else criteria.VarianceReduction()
        )
        return parameters.named_or_object(
            "criterion",
            self.criterion,
            {"gradient": gradient, "impurity": impurity},
            Criterion,
            "an object with `uses` and `gain` (see glassleaf.criteria)",
        )

    def _max_bins(self) -> int:
        found = parameters.whole_number("max_bins", self.max_bins, 2)
        if found is None or found > 65_000:
            raise ValueError(f"max_bins={self.max_bins} must be an integer from 2 to 65000.")
        return found

    def _roles(self, table: Table) -> Roles:
        everything = np.ones(table.n_columns, dtype=np.bool_)
        if isinstance(self.categorical_features, str) and self.categorical_features == "from_dtype":
            categorical = np.array(
                [table.holds_text(j) for j in range(table.n_columns)], dtype=bool
            )
        elif self.categorical_features is None:
            categorical = ~everything
        else:
            categorical = select_columns(table, self.categorical_features, "categorical_features")
        chosen = {
            name: everything if given is None else select_columns(table, given, name)
            for name, given in (
                ("split_features", self.split_features),
                ("leaf_features", self.leaf_features),
            )
        }
        signs = column_signs(table, self.monotonic_cst, "monotonic_cst")
        self._check_signs(table, signs, categorical, chosen["leaf_features"])
        may_split = chosen["split_features"] & (signs == 0)
        return Roles(categorical, may_split, chosen["leaf_features"], signs)

    def _check_signs(
        self,
        table: Table,
        signs: NDArray[np.int8],
        categorical: NDArray[np.bool_],
        in_leaves: NDArray[np.bool_],
    ) -> None:
        if not signs.any():
            return
        if self._loss.n_outputs > 1 or self.weak_model is not None:
            what = "several classes" if self._loss.n_outputs > 1 else "a weak_model of your own"
            raise ValueError(f"monotonic_cst is not supported with {what}.")
        for column in np.flatnonzero(signs).tolist():
            if categorical[column] or not in_leaves[column]:
                what = "holds categories" if categorical[column] else "is not in leaf_features"
                raise ValueError(
                    f"monotonic_cst names the column {column_name(table, column)!r}, which {what}."
                    " Only a numeric column of the leaf models can be monotone."
                )

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
        X = _plain_array(X)
        text = _is_text_array(X)
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
        _kernels.prepare()
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
        explanations = import_module("glassleaf.explanations")  # not needed to fit and predict
        return str(explanations.export_text(self, max_terms))

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


class ModelTreeRegressor(RegressorMixin, _ModelTree):
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
        with _all_or_nothing(self):
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
            target = _numeric_target(y, table.n_rows)
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


class ModelTreeClassifier(ClassifierMixin, _ModelTree):
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
        with _all_or_nothing(self):
            if is_partitioned(X):
                with self._opened(X, y, sample_weight, numeric=False) as (backend, table):
                    self._encode_pieces(backend)
                    self._choose_loss()
                    self._fit_pieces(backend, table, len(self.classes_))
                return self
            table = self._read(X, reset=True)
            labels = _labels(y, table.n_rows)
            weight = parameters.row_weights(sample_weight, X)
            if self.class_weight is not None:
                weight = self._class_weighted(weight, self._class_factors(labels))
            self.classes_, target = _distinct(labels[weight > 0])
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
        labels, _ = _distinct(np.array(list(found.rows), dtype=found.dtype))
        _check_discrete(labels)
        weight = np.array([found.weight[label] for label in labels.tolist()])
        if not weight.any():
            raise ValueError(NO_ROWS)
        factor = np.ones(len(labels))
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            counts = np.array([found.rows[label] for label in labels.tolist()])
            factor = counts.sum() / (len(labels) * counts)
        elif self.class_weight is not None:
            factor = self._class_factors(labels)
        self.classes_ = labels[self._class_weighted(weight, factor) > 0]
        factors = dict(zip(labels.tolist(), factor.tolist(), strict=True))
        code_of = {label: code for code, label in enumerate(self.classes_.tolist())}
        backend.become(encode_labels, code_of, factors)

    def _choose_loss(self) -> None:
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"y has only one class ({self.classes_[0]!r}); at least 2 classes with"
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

    def _class_factors(self, labels: NDArray[Any]) -> Floats:
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
        return np.asarray(compute_sample_weight(given, labels))

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


# --- what comes in -------------------------------------------------------------------------------


def _plain_array(X: Any) -> Any:
    """Arrays of kinds that numpy would silently turn into numbers, made plain or refused."""
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise TypeError("X is a lazy table; collect it first: fit(X.collect(), ...).")
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise TypeError(
            f"X has the type {X.dtype}, which is neither a number nor a category."
            " Convert it, for example to days since a fixed day."
        )
    return X.astype(str) if kind == "S" else X


def _is_text_array(X: Any) -> bool:
    """Whether X is an array of objects or strings that may hold categories."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in "OUS" and kind and getattr(X, "ndim", 0) == 2:
        return any(
            isinstance(value, (str, bytes)) for value in np.asarray(X, object).ravel()[:100_000]
        )
    return False


def _numeric_target(y: Any, n_rows: int) -> Floats:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: pass the values to predict."
        )
    if getattr(getattr(y, "dtype", None), "kind", "") in ("M", "m"):
        raise TypeError(f"y has the type {y.dtype}; it must be numbers.")
    try:
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", allow_nd=True)
    except (TypeError, ValueError) as error:
        if "y" in str(error).split():
            raise
        raise type(error)(f"y must be numbers, one per row: {error}") from None
    if target.ndim > 1 and target.shape[1] > 1:
        raise ValueError(
            f"y has the shape {target.shape}; only one target is supported."
            " Fit one estimator per target, for example with MultiOutputRegressor."
        )
    target = column_or_1d(target, warn=True)
    check_consistent_length(np.empty(n_rows), target)
    if np.abs(target).max(initial=0.0) > parameters.LARGEST_NUMBER:
        raise ValueError(
            f"y contains {float(np.abs(target).max()):g}; squares of it would overflow."
            " Divide y by a constant."
        )
    return np.array(target)


def _labels(y: Any, n_rows: int) -> NDArray[Any]:
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: pass the labels to predict."
        )
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if labels.dtype.kind == "O" and any(is_missing(label) for label in labels):
        raise ValueError("Input y contains a missing value; every row needs a label.")
    if labels.dtype.kind == "O":
        _distinct(labels)  # labels of several types may have no order
    check_classification_targets(labels)
    check_consistent_length(np.empty(n_rows), labels)
    return np.asarray(labels)


def _check_discrete(labels: NDArray[Any]) -> None:
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        odd = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"Unknown label type: continuous. y holds {odd:g}; labels are whole numbers or text."
            " For a quantity there is ModelTreeRegressor."
        )


def _distinct(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different labels, in order, and the place of every label among them."""
    try:
        classes = np.unique(labels)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(f"y mixes labels of types that cannot be sorted: {kinds}.") from None
    return classes, np.searchsorted(classes, labels)


@contextlib.contextmanager
def _all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
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
