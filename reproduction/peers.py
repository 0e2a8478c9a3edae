"""Other people's interpretable trees and additive models, behind the extra ``peers``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassleaf.errors import require
from reproduction.datasets import Task


@dataclass(frozen=True)
class Peer:
    """See ``methods.Method``."""

    name: str
    build: Callable[[Task, int], Any]
    preparation: str
    package: str
    size: Callable[[Any], int | None]
    tasks: tuple[Task, ...]
    unfit_for: tuple[str, ...] = ()


def _require(module: str) -> Any:
    return require(module, extra="peers", purpose="A column of --peers")


def _lightgbm(**settings: Any) -> Callable[[Task, int], Any]:
    def build(task: Task, threads: int) -> Any:
        package = _require("lightgbm")
        kind = package.LGBMClassifier if task == "classification" else package.LGBMRegressor
        return kind(linear_tree=True, n_jobs=threads, verbose=-1, random_state=0, **settings)

    return build


def _lightgbm_leaves(model: Any) -> int:
    return sum(int(tree["num_leaves"]) for tree in model.booster_.dump_model()["tree_info"])


def _cubist(task: Task, threads: int) -> Any:
    return _require("cubist").Cubist(random_state=0)


def _cubist_rules(model: Any) -> int:
    return len(model.coeffs_[["committee", "rule"]].drop_duplicates())


class Pilot:
    """PILOT under the names that everybody else uses."""

    def __init__(self) -> None:
        self.model = _require("pilot").PILOT()

    def get_params(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self.model).items() if name[0] != "_"}

    def fit(self, X: Any, y: Any) -> Pilot:
        self.model.train(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


def _pilot(task: Task, threads: int) -> Any:
    return Pilot()


def _pilot_leaves(model: Pilot) -> int:
    return int((model.model.tree_summary()["node_type"] == "con").sum())


def _boosting_machine(task: Task, threads: int) -> Any:
    package = _require("interpret.glassbox")
    kind = (
        package.ExplainableBoostingClassifier
        if task == "classification"
        else package.ExplainableBoostingRegressor
    )
    # The default fits 14 bags, which takes 14 times as long: 6 minutes for one fold of House.
    return kind(outer_bags=1, n_jobs=threads, random_state=0)


def _no_leaves(model: Any) -> None:
    return None


_BOTH: tuple[Task, ...] = ("classification", "regression")
_NUMBERS: tuple[Task, ...] = ("regression",)

PEERS = [
    # LightGBM's first tree is constant by design: linear leaves begin with the second.
    Peer(
        "LightGBM linear, 2 trees", _lightgbm(n_estimators=2, learning_rate=1.0), "native",
        "lightgbm", _lightgbm_leaves, _BOTH,
    ),
    Peer(
        "LightGBM linear, boosted", _lightgbm(), "native", "lightgbm", _lightgbm_leaves, _BOTH
    ),
    Peer("Cubist", _cubist, "native", "cubist", _cubist_rules, _NUMBERS),
    Peer("PILOT", _pilot, "one-hot", "fast-model-trees", _pilot_leaves, _NUMBERS),
    Peer(
        "EBM, 1 bag", _boosting_machine, "native", "interpret-core", _no_leaves, _BOTH,
        ("Bankruptcy", "Census", "Olympics", "Weather-Temp", "Weather-Vis"),
    ),
]  # fmt: skip
