"""What regressor and classifier share: tables in, the tree, and what it answers."""

from __future__ import annotations

import contextlib
import copy
import logging
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from glassleaf import checks
from glassleaf.errors import warn
from glassleaf.estimators.counts import warn_of_negative_counts
from glassleaf.estimators.offsets import find_offsets, with_offsets, without_offsets
from glassleaf.estimators.outlets import Deployable
from glassleaf.estimators.reason_codes import check_reason_codes
from glassleaf.estimators.settings import roles_of, settings_of
from glassleaf.estimators.signs import warn_of_idle_signs
from glassleaf.estimators.special_values import with_special
from glassleaf.explanations.path import PathStep, path_steps
from glassleaf.explanations.rows_of_fit import are_rows_of_fit
from glassleaf.fit.honest import train_honestly
from glassleaf.fit.train import Trained, train, train_on
from glassleaf.losses import Loss
from glassleaf.rows.backends import Backend
from glassleaf.rows.backends.engines import is_collection, lazily
from glassleaf.rows.dates import make_date_parts
from glassleaf.rows.offsets import absorbed
from glassleaf.rows.passes import WeakModel
from glassleaf.rows.pieces import check_backend, find_pieces
from glassleaf.rows.settings import Roles, Settings
from glassleaf.rows.summarize import Part, coded
from glassleaf.tables.coded import with_codes
from glassleaf.tables.content import group_texts, set_aside
from glassleaf.tables.reading import check_has_rows
from glassleaf.tables.table import Table, column_name, raw_matrix, select_columns
from glassleaf.tables.targets import row_groups
from glassleaf.tree.complexity import Complexity, count_numbers
from glassleaf.tree.fitted import FittedModel, fitted_model, linear_model
from glassleaf.tree.offset import Offset
from glassleaf.tree.path import Path
from glassleaf.tree.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Target:
    """What is to be predicted: the loss, the classes (None for numbers) and, in memory, y."""

    loss: Loss
    classes: NDArray[Any] | None = None
    y: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 for numbers."""
        return 0 if self.classes is None else len(self.classes)


class Given(NamedTuple):
    """What a fit in memory is given; see ``fit.train``."""

    table: Table
    y: Floats
    weight: Floats
    roles: Roles
    settings: Settings
    group: NDArray[np.int64] | None


class ModelTree(Deployable, BaseEstimator):
    """What regressor and classifier share."""

    # Parameters of both constructors that are read here.
    weak_model: WeakModel | None
    coef_digits: int | Literal["auto"] | None
    honest: float | None
    reason_codes: Mapping[str, tuple[str, str]] | None
    special_values: Mapping[Any, Mapping[float, str]] | None
    backend: Any
    n_jobs: int | None
    verbose: int

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

    @abstractmethod
    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Target, Floats]:
        """A table in memory with its target, and the weights of its rows."""

    def _fit_table(
        self,
        table: Table,
        target: Target,
        weight: Floats,
        groups: Any,
        exposure: Any = None,
        offset: Any = None,
    ) -> None:
        """Fit to a table in memory."""
        table, offsets = find_offsets(table, target.loss, exposure, offset)
        given = self._given_for(table, target, weight, groups, offsets)
        honest = given.settings.honest
        with _progress(self.verbose):
            if honest is None:
                trained = train(*given)
            else:
                texts = group_texts(groups, table, np.flatnonzero(weight > 0))
                aside = set_aside(given.table, given.roles.categorical, given.y, texts, honest)
                trained = train_honestly(*given, aside)
        if trained.rounding_cost is not None:
            self.rounding_cost_ = trained.rounding_cost
        self._own(with_offsets(trained, offsets), target, given.table, given.roles.signs)
        if target.classes is None and self.weak_model is None and not offsets:
            warn_of_negative_counts(self.model_, given.table, given.y)

    def _given_for(
        self,
        table: Table,
        target: Target,
        weight: Floats,
        groups: Any,
        offsets: Sequence[Offset] = (),
    ) -> Given:
        """All that a fit in memory is given, without rows of no weight."""
        check_backend(self.backend, in_memory=True)
        used = np.flatnonzero(weight > 0)
        group = row_groups(groups, table, used)
        y = target.y
        if len(used) < len(weight):
            table, y, weight = table.take(used), y[used], weight[used]
        target.loss.check_target(y)
        settings = settings_of(vars(self), target.loss, target.n_classes, group is not None)
        roles = roles_of(vars(self), target.loss, table)
        if isinstance(groups, str):  # who it is says nothing of anybody else
            roles = roles.without(select_columns(table, [groups], "groups"))
        roles = with_special(self.special_values, without_offsets(roles, table, offsets), table)
        names = [column_name(table, j) for j in range(table.n_columns)]
        check_reason_codes(self.reason_codes, names, roles.special)
        part = absorbed(Part(table, y, weight, group=group), offsets, target.loss)
        return Given(with_codes(table, roles.special), part.y, part.weight, roles, settings, group)

    def _calibration_rows(
        self, X: Any, groups: Any, exposure: Any = None, offset: Any = None
    ) -> tuple[Ints, Floats, Ints]:
        """Of rows in memory: leaves, raw scores, and the group of each; without groups, its own."""
        model = fitted_model(self)
        table = model.read_whole(X, exposure, offset)
        check_has_rows(table)
        group = row_groups(groups, table, np.arange(table.n_rows))
        nodes, raw = model.leaves_and_scores(table)
        is_known = model.tree.custom is None and model.tree.training_record is not None
        matrix = np.ascontiguousarray(raw_matrix(table, model.tree.columns))
        if is_known and are_rows_of_fit(model, matrix, nodes, np.ones(len(nodes))):
            warn(
                "These are, to all appearances, the rows of the fit, on which the model errs less"
                " than on others. Calibrate on rows that it was not fitted on."
            )
        return nodes, raw, np.arange(table.n_rows) if group is None else group

    @contextlib.contextmanager
    def _opened(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, numeric: bool
    ) -> Iterator[tuple[Backend, Table]]:
        """The backend with the pieces of X, and the table without rows that describes them."""
        if groups is not None:
            raise ValueError("groups is supported for tables in memory only.")
        if self.weak_model is not None or self.coef_digits not in (None, "auto"):
            what = "coef_digits" if self.weak_model is None else "a weak_model of your own"
            raise ValueError(f"{what} is supported for tables in memory only.")
        if self.honest is not None:
            raise ValueError("honest is supported for tables in memory only.")
        check_backend(self.backend, in_memory=False)
        found = find_pieces(X, y, sample_weight, numeric)
        n_threads = checks.n_threads(self.n_jobs)
        with _progress(self.verbose), found.open(self.backend, n_threads) as backend:
            yield backend, found.outline

    def _fit_pieces(
        self,
        backend: Backend,
        table: Table,
        target: Target,
        exposure: Any = None,
        offset: Any = None,
    ) -> None:
        """Fit to the pieces in a backend, which hold targets and weights themselves."""
        table = make_date_parts(backend, table)
        table, offsets = find_offsets(table, target.loss, exposure, offset, in_memory=False)
        settings = settings_of(vars(self), target.loss, target.n_classes)
        roles = without_offsets(roles_of(vars(self), target.loss, table), table, offsets)
        names = [column_name(table, j) for j in range(table.n_columns)]
        roles = with_special(self.special_values, roles, table)
        check_reason_codes(self.reason_codes, names, roles.special)
        if offsets:
            backend.become(absorbed, offsets, target.loss)
        if any(roles.special):
            backend.become(coded, roles.special)
        trained = with_offsets(train_on(backend, names, roles, settings), offsets)
        self._own(trained, target, table, roles.signs)

    def _own(self, trained: Trained, target: Target, table: Table, signs: NDArray[np.int8]) -> None:
        self.model_ = FittedModel(
            tree=trained.tree,
            path=trained.path,
            histograms=trained.histograms,
            loss=target.loss,
            class_array=target.classes,
            is_named=table.is_named,
            estimator=type(self).__name__,
            parameters=self.parameters_to_keep(),
        )
        warn_of_idle_signs(self.model_, signs)

    # --- the fitted tree -------------------------------------------------------------------------

    @property
    def tree_(self) -> Tree:
        """The fitted tree as plain arrays."""
        return self.model_.tree

    @property
    def complexity_(self) -> Complexity:
        """How many numbers somebody has to read to know this model."""
        return count_numbers(linear_model(self).tree)

    @property
    def path_(self) -> tuple[PathStep, ...]:
        """Models of growing length, of which this is one; see ``max_numbers``."""
        return path_steps(self._path())

    def at(self, *, numbers: int) -> Self:
        """A shorter or longer model from the same fit.

        Parameters
        ----------
        numbers : int
            How many numbers there may be to read. It is the longest step of ``path_`` with no more.

        Returns
        -------
        estimator
            A fitted one like this, without calibration; this one stays as it is.
        """
        path = self._path()
        step = path.at(checks.whole_number("numbers", numbers, 1) or 1)
        out = copy.copy(self)
        out.set_params(max_numbers=int(numbers))
        given = {**self.model_.parameters, "max_numbers": int(numbers)}
        own = self.model_.with_other_scores()
        out.model_ = replace(
            own, tree=path.tree(step), parameters=given, intervals=None, scaling=None
        )
        return out

    def _path(self) -> Path:
        path = fitted_model(self).path
        if path is None:
            raise AttributeError(
                "There is no path: the model was fitted with max_numbers=None, or its file holds"
                " none. Fit with max_numbers='auto', or with a number."
            )
        return path

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in fit."""
        return self.model_.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, where they all have one."""
        if not self.model_.is_named:
            raise AttributeError("The table of the fit had no names of columns.")
        return np.array(self.model_.input_names[: self.model_.n_features], dtype=object)

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
        return fitted_model(self).apply(X)

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
        model = fitted_model(self)
        return model.tree.decision_path(model.apply(X))

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
    if not checks.whole_number("verbose", level, 0):
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
