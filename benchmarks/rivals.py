"""Models for people to read: how each rival of ``benchmarks.readability`` is fitted and counted.

A rival gets the rows of one fold and returns its models, short and long, each with its numbers to
read (``benchmarks.counting``) and its predictions of the test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.metrics import d2_tweedie_score, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from benchmarks import counting
from benchmarks.lasso import lasso_path, standardized
from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.errors import require
from glassleaf.losses import REGRESSION_LOSSES, BinaryLogLoss, Loss, MulticlassLogLoss
from reproduction.datasets import Dataset
from reproduction.preparation import category_columns, one_hot, with_missing

Rows = NDArray[np.intp]
THREADS = 2


@dataclass(frozen=True)
class Model:
    """Numbers to read, and predictions of the test rows.

    Of the models within a limit the one with the largest ``merit`` is taken: the longest, unless
    the rival has a better way to choose. ``is_own`` marks what the rival chooses without a limit.
    """

    numbers: int
    prediction: NDArray[Any]
    merit: float | None = None
    is_own: bool = False


def best_within(models: Iterable[Model], numbers: float) -> Model | None:
    """The best model with no more numbers than this, if there is one."""
    short = [model for model in models if model.numbers <= numbers]
    return max(short, key=_merit, default=None)


def without_limit(models: Sequence[Model]) -> Model:
    """What the rival chooses itself, or else the best."""
    own = [model for model in models if model.is_own]
    return own[0] if own else max(models, key=_merit)


def _merit(model: Model) -> float:
    return model.numbers if model.merit is None else model.merit


# --- one fold ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fold:
    """A table, which of its rows are for training and test, and the limits that are asked for."""

    data: Dataset
    train: Rows
    test: Rows
    limits: tuple[int, ...]

    @property
    def is_class(self) -> bool:
        return self.data.loss == "log_loss"

    @cached_property
    def classes(self) -> NDArray[Any]:
        return np.unique(self.data.y) if self.is_class else np.empty(0)

    @cached_property
    def y(self) -> NDArray[Any]:
        """Targets of the training rows; classes as 0, 1, ..."""
        y = self.data.y[self.train]
        return np.searchsorted(self.classes, y) if self.is_class else y

    @property
    def weight(self) -> NDArray[np.float64] | None:
        return None if self.data.weight is None else self.data.weight[self.train]

    @property
    def tables(self) -> tuple[Any, Any]:
        return self.data.X.iloc[self.train], self.data.X.iloc[self.test]

    @property
    def has_fill(self) -> NDArray[np.bool_]:
        """Which of the numbers, the first columns of ``one_hot``, are missing somewhere."""
        X = self.tables[0]
        return X.drop(columns=category_columns(X)).isna().any().to_numpy()

    def one_hot(self) -> tuple[Any, Any]:
        return one_hot(self.data, self.train, self.test)

    def with_missing(self) -> tuple[Any, Any]:
        """For trees: zeros and ones for categories, dense, missing numbers as they are."""
        found = with_missing(self.data, self.train, self.test)
        return tuple((X.toarray() if sparse.issparse(X) else X).astype(np.float32) for X in found)  # type: ignore[return-value]


def score(data: Dataset, test: Rows, prediction: NDArray[Any]) -> float:
    """R2, explained deviance of rates and amounts, or the area under the ROC curve; times 100."""
    y, weight = data.y[test], None if data.weight is None else data.weight[test]
    if data.loss == "log_loss":
        several = {"multi_class": "ovr"} if prediction.ndim > 1 else {}
        return 100 * float(roc_auc_score(y, prediction, **several))
    if data.loss in _TWEEDIE:
        power = _TWEEDIE[data.loss]
        return 100 * float(d2_tweedie_score(y, prediction, sample_weight=weight, power=power))
    return 100 * float(r2_score(y, prediction, sample_weight=weight))


_TWEEDIE = {"poisson": 1, "gamma": 2}


def _probabilities(model: Any, X: Any) -> NDArray[Any]:
    """Of the second class if there are two, of all if there are more; or the predicted number."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X))
    found = np.asarray(model.predict_proba(X))
    return found[:, 1] if found.shape[1] == 2 else found


def _required(module: str) -> Any:
    return require(module, extra="peers", purpose="A rival of the benchmark")


# --- glassleaf -----------------------------------------------------------------------------------


def glassleaf(fold: Fold) -> Iterator[Model]:
    """One fit; its own choice of a length, and every limit cut from its path."""
    fitted = _fitted(fold, max_numbers="auto")
    yield _counted(fold, fitted, is_own=True)
    for limit in fold.limits:
        yield _counted(fold, fitted.at(numbers=limit))


def glassleaf_whole(leaves: int) -> Callable[[Fold], Iterator[Model]]:
    """No limit of numbers: every leaf has a formula of its own."""

    def models(fold: Fold) -> Iterator[Model]:
        yield _counted(fold, _fitted(fold, max_leaf_nodes=leaves, max_depth=None, max_numbers=None))

    return models


def _fitted(fold: Fold, **settings: Any) -> Any:
    kind = ModelTreeClassifier if fold.is_class else ModelTreeRegressor
    estimator = kind(loss=fold.data.loss, n_jobs=THREADS, **settings)
    return estimator.fit(fold.tables[0], fold.y, sample_weight=fold.weight)


def _counted(fold: Fold, fitted: Any, is_own: bool = False) -> Model:
    prediction = _probabilities(fitted, fold.tables[1])
    return Model(fitted.complexity_.total, prediction, is_own=is_own)


# --- linear models -------------------------------------------------------------------------------


def ridge(fold: Fold) -> Iterator[Model]:
    X, X_test = fold.one_hot()
    scaler = StandardScaler(with_mean=not sparse.issparse(X))
    fitted = _ridge_of(fold).fit(scaler.fit_transform(X), fold.y, sample_weight=fold.weight)
    numbers = counting.linear(fitted.intercept_, fitted.coef_, fold.has_fill)
    yield Model(numbers, _probabilities(fitted, scaler.transform(X_test)))


def _ridge_of(fold: Fold) -> Any:
    if fold.is_class:
        return LogisticRegression(max_iter=300)
    if fold.data.loss == "poisson":
        return PoissonRegressor(alpha=1e-4, max_iter=1000)
    if fold.data.loss == "gamma":
        return GammaRegressor(alpha=1e-4, max_iter=1000)
    return RidgeCV(np.logspace(-2, 4, 13))


def lasso(fold: Fold) -> Iterator[Model]:
    """All models on the way; the last, with next to no penalty, is the one without limit."""
    X, X_test = standardized(*fold.one_hot())
    weight = np.ones(len(fold.y)) if fold.weight is None else fold.weight
    loss, has_fill = _loss(fold), fold.has_fill
    for found in lasso_path(X, fold.y.astype(float), weight, loss, max(fold.limits)):
        prediction = loss.inverse_link(found.raw(X_test))
        is_pair = fold.is_class and loss.n_outputs == 1
        numbers = counting.linear(found.intercept, found.coef, has_fill)
        yield Model(numbers, prediction[:, 1] if is_pair else prediction)


def _loss(fold: Fold) -> Loss:
    if not fold.is_class:
        return REGRESSION_LOSSES[fold.data.loss]()
    return BinaryLogLoss() if len(fold.classes) == 2 else MulticlassLogLoss(len(fold.classes))


# --- trees ---------------------------------------------------------------------------------------

_LEAVES = [2**k for k in range(11)]


def decision_tree(fold: Fold) -> Iterator[Model]:
    """Trees grown best first; a quarter of the training rows says which size is the best."""
    X, X_test = fold.with_missing()
    values = 1 if len(fold.classes) <= 2 else len(fold.classes)
    sizes = sorted({*_LEAVES, *((limit + 1) // (values + 1) for limit in fold.limits)} - {0})
    grown, held_out = train_test_split(
        np.arange(len(X)), random_state=0, stratify=fold.y if fold.is_class else None
    )
    judged = shrunk(_grown(fold, X, grown), X[held_out], sizes)
    merits = [score(fold.data, fold.train[held_out], prediction) for _, prediction in judged]
    whole = shrunk(_grown(fold, X, np.arange(len(X))), X_test, sizes)
    for (leaves, prediction), merit in zip(whole, merits, strict=True):
        yield Model(counting.constant_tree(leaves, values), prediction, merit)


def _grown(fold: Fold, X: Any, rows: Rows) -> Any:
    settings = {"max_leaf_nodes": _LEAVES[-1], "min_samples_leaf": 5, "random_state": 0}
    if fold.is_class:
        tree = DecisionTreeClassifier(**settings)
    else:
        criterion = "poisson" if fold.data.loss == "poisson" else "squared_error"
        tree = DecisionTreeRegressor(criterion=criterion, **settings)
    weight = None if fold.weight is None else fold.weight[rows]
    return tree.fit(X[rows], fold.y[rows], sample_weight=weight)


def shrunk(tree: Any, X: Any, sizes: Iterable[int]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Leaves and predictions of the trees with fewer leaves that a tree grown best first went
    through: the first 2n - 1 of its nodes are the one of n leaves."""
    nodes = tree.tree_
    parent = np.zeros(nodes.node_count, dtype=np.intp)
    for children in (nodes.children_left, nodes.children_right):
        inner = np.flatnonzero(children >= 0)
        parent[children[inner]] = inner
    leaf = nodes.apply(X)
    for size in sizes:
        leaves = min(size, int(nodes.n_leaves))
        at = leaf.copy()
        while (at >= 2 * leaves - 1).any():
            at = np.where(at >= 2 * leaves - 1, parent[at], at)
        values = nodes.value[at, 0]
        yield leaves, values if values.shape[1] > 2 else values[:, -1]


def xgboost_2019(fold: Fold) -> Iterator[Model]:
    """The defaults of 2019: 100 trees of depth 3."""
    xgboost = _required("xgboost")
    X, X_test = fold.with_missing()
    kind = xgboost.XGBClassifier if fold.is_class else xgboost.XGBRegressor
    objective = {"poisson": "count:poisson", "gamma": "reg:gamma"}.get(fold.data.loss)
    fitted = kind(
        max_depth=3, learning_rate=0.1, n_estimators=100, n_jobs=THREADS, objective=objective
    ).fit(X, fold.y, sample_weight=fold.weight)
    leaves = [text.count("leaf=") for text in fitted.get_booster().get_dump()]
    intercepts = 1 if len(fold.classes) <= 2 else len(fold.classes)
    yield Model(counting.boosted_trees(leaves, intercepts), _probabilities(fitted, X_test))


_CUBIST_RULES = (1, 2, 3, 5, 8, 12, 20, 40, 80, 500)


def cubist(fold: Fold) -> Iterator[Model]:
    """A limit of rules after the other; the last is Cubist's default."""
    kind = _required("cubist").Cubist
    X, X_test = (_plain_names(table) for table in fold.tables)
    for rules in _CUBIST_RULES:
        fitted = kind(n_rules=rules, random_state=0).fit(X, fold.y)
        yield Model(
            counting.cubist_rules(fitted.model_), fitted.predict(X_test), is_own=rules == 500
        )


def _plain_names(X: Any) -> Any:
    """Columns and categories by number: Cubist's files have no room for all characters."""
    texts = set(category_columns(X))
    columns = [
        X[name].cat.codes.map("c{}".format).where(X[name].notna()).astype(object)
        if name in texts
        else X[name]
        for name in X
    ]
    return pd.concat(columns, axis=1).set_axis([f"x{j}" for j in range(len(columns))], axis=1)


_PILOT_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 100)


def pilot(fold: Fold) -> Iterator[Model]:
    """A limit of nodes on a path after the other; the last is PILOT's default."""
    kind = _required("pilot").PILOT
    X, X_test = (table.copy() for table in fold.tables)
    texts = category_columns(X)
    has_fill = X.isna().any() & ~X.columns.isin(texts)
    medians = X.drop(columns=texts).median()
    sizes = [len(X[name].cat.categories) + 1 if name in texts else 0 for name in X]
    for table in (X, X_test):
        table[texts] = table[texts].apply(lambda column: column.cat.codes)
    is_text = X.columns.isin(texts).astype(int)
    for depth in _PILOT_DEPTHS:
        fitted = kind(max_model_depth=depth).train(X.fillna(medians), fold.y, is_text)
        numbers = counting.pilot_tree(fitted.tree_summary(), sizes, has_fill.to_numpy())
        yield Model(numbers, fitted.predict(X_test.fillna(medians)), is_own=depth == 100)


# --- sums of functions ---------------------------------------------------------------------------


def boosting_machine(fold: Fold) -> Iterator[Model]:
    """An EBM of four bags; the default of 14 takes three times as long."""
    glassbox = _required("interpret.glassbox")
    kind = (
        glassbox.ExplainableBoostingClassifier
        if fold.is_class
        else glassbox.ExplainableBoostingRegressor
    )
    objective = {"poisson": "poisson_deviance", "gamma": "gamma_deviance"}.get(fold.data.loss)
    settings = {} if objective is None else {"objective": objective}
    fitted = kind(outer_bags=4, n_jobs=THREADS, random_state=0, **settings)
    X, X_test = fold.tables
    fitted.fit(X, fold.y, sample_weight=fold.weight)
    yield Model(counting.boosting_machine(fitted), _probabilities(fitted, X_test))


_BINS = (2, 3, 5, None)


def scorecard(fold: Fold) -> Iterator[Model]:
    """Points per bin (optbinning), the columns chosen by a lasso; few bins or its default.

    Of the cards within a limit the one with the least training loss is taken.
    """
    loss = BinaryLogLoss()
    for most in _BINS:
        X, X_test, prices = _binned(fold, most)
        for chosen in _supports(X, fold, loss):
            fitted = LogisticRegression(C=np.inf, max_iter=1000).fit(X[:, chosen], fold.y)
            raw = fitted.decision_function(X[:, chosen])
            merit = -float(loss.derivatives(fold.y.astype(float), raw)[0].mean())
            prediction = fitted.decision_function(X_test[:, chosen])
            yield Model(1 + int(prices[chosen].sum()), prediction, merit)


def _supports(X: Any, fold: Fold, loss: Loss) -> list[Rows]:
    scaled = standardized(X)[0]
    path = lasso_path(scaled, fold.y.astype(float), np.ones(len(X)), loss, X.shape[1])
    found = {tuple(np.flatnonzero(model.coef[0])) for model in path}
    return [np.array(columns, dtype=np.intp) for columns in sorted(found) if columns]


def _binned(fold: Fold, most: int | None) -> tuple[Any, Any, NDArray[np.intp]]:
    """Weights of evidence of the bins, and what each column's bins cost to read."""
    kind = _required("optbinning").BinningProcess
    X, X_test = (
        table.astype(dict.fromkeys(category_columns(table), object)) for table in fold.tables
    )
    texts = category_columns(fold.tables[0])
    process = kind(list(X), categorical_variables=texts, max_n_bins=most)
    found = process.fit_transform(X, fold.y, metric_missing="empirical")
    table = process.transform(X_test, metric_missing="empirical")
    prices = [_price_of_bins(process.get_binned_variable(name)) for name in found]
    return found.to_numpy(float), table.to_numpy(float), np.array(prices, dtype=np.intp)


def _price_of_bins(column: Any) -> int:
    """Edges or categories, a value per bin, and one for missing values if there were any."""
    table = column.binning_table.build(add_totals=False)
    is_missing = table["Bin"].astype(str) == "Missing"
    values = table["WoE"][~table["Bin"].astype(str).isin(["Special", "Missing"])].to_numpy(float)
    missing = int((table["Count"][is_missing] > 0).sum())
    if column.dtype == "categorical":
        return counting.groups(values, [len(group) for group in column.splits]) + missing
    return counting.steps(values) + missing


_QUANTILES = np.arange(1, 10) / 10
_TERMS = (4, 7, 9, 14, 19, 28, 39)  # more are rounded away by points of -5 to 5
_MOST_ROWS = 10_000


def risk_score(fold: Fold) -> Iterator[Model]:
    """Integer points (FasterRisk) for columns below their deciles, categories and missing values.

    The search is narrower than its default, which takes minutes for four terms of HELOC, and sees
    at most 10,000 of the training rows. One thread: its products are too small to share.
    """
    optimizer = _required("fasterrisk.fasterrisk").RiskScoreOptimizer
    X, X_test, is_threshold = _zeros_and_ones(*fold.tables)
    drawn = np.random.default_rng(0).permutation(len(X))[:_MOST_ROWS]
    y = np.where(fold.y == 1, 1.0, -1.0)
    for terms in _TERMS:
        with threadpool_limits(1):
            search = optimizer(X[drawn], y[drawn], terms, parent_size=2, maxAttempts=2)
            search.optimize()
        _, intercept, points = search.get_models(0)
        numbers = counting.point_score(is_threshold[points != 0])
        yield Model(numbers, intercept + X_test @ points)


def _zeros_and_ones(X: Any, X_test: Any) -> tuple[Any, Any, NDArray[np.bool_]]:
    """The columns as questions, of both tables, and which of them name a threshold."""
    asked: list[tuple[Any, Any, bool]] = []
    for name in X:
        here, there = X[name], X_test[name]
        if str(here.dtype) == "category":
            asked += [(here == value, there == value, False) for value in here.cat.categories]
        else:
            edges = np.unique(np.nanquantile(here, _QUANTILES))
            asked += [(here <= edge, there <= edge, True) for edge in edges]
        if here.isna().any():
            asked.append((here.isna(), there.isna(), False))
    asked = [(here, there, cut) for here, there, cut in asked if 0 < here.sum() < len(here)]
    tables = [np.column_stack([np.asarray(part[k], dtype=float) for part in asked]) for k in (0, 1)]
    return tables[0], tables[1], np.array([part[2] for part in asked])


# --- by name -------------------------------------------------------------------------------------

_NUMBERS, _CLASSES = ("squared_error",), ("log_loss",)
_ALL = (*_NUMBERS, *_CLASSES, "poisson", "gamma")


@dataclass(frozen=True)
class Rival:
    """``losses`` are those that it can be fitted with; ``module`` comes with ``package``."""

    models: Callable[[Fold], Iterator[Model]]
    losses: tuple[str, ...] = _ALL
    module: str = "sklearn"
    package: str = "scikit-learn"
    two_classes: bool = False

    def absent(self) -> str | None:
        """What is not installed, if anything."""
        return None if find_spec(self.module) else f"{self.package} is not installed"

    def cannot(self, data: Dataset) -> str | None:
        """Why there is nothing to measure on a table, if so."""
        if data.loss not in self.losses:
            return f"cannot be fitted with {data.loss.replace('_', ' ')}"
        if self.two_classes and len(np.unique(data.y)) > 2:
            return "takes two classes only"
        return None


RIVALS = {
    "glassleaf": Rival(glassleaf),
    "glassleaf, 8 leaves": Rival(glassleaf_whole(8)),
    "glassleaf, 32 leaves": Rival(glassleaf_whole(32)),
    "ridge": Rival(ridge),
    "lasso": Rival(lasso),
    "decision tree": Rival(decision_tree),
    "FasterRisk": Rival(risk_score, _CLASSES, "fasterrisk", "fasterrisk", two_classes=True),
    "scorecard": Rival(scorecard, _CLASSES, "optbinning", "optbinning", two_classes=True),
    "EBM": Rival(boosting_machine, _ALL, "interpret", "interpret-core"),
    "Cubist": Rival(cubist, _NUMBERS, "cubist", "cubist"),
    "PILOT": Rival(pilot, _NUMBERS, "pilot", "fast-model-trees"),
    "XGBoost 2019": Rival(xgboost_2019, _ALL, "xgboost", "xgboost"),
}
