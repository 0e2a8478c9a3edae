"""A fitted model of every kind, and rows that try it: what files, scorers and exports must handle.

Names and categories are hostile on purpose: quotes, comment signs, line breaks, other scripts.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.tree.fitted import fitted_model

NAMES = ["a", 'b"; DROP TABLE x; --', "Größe 🌳", "d'\\", "t */", "n", "u"]
TEXTS = ["red", "it's", 'say "hi"\n', "grün\\", "</script>--", "%s {x} $1"]
NUMBERS = [1, 2, 7]
N_ROWS = 10_000
EXPOSURE = "years' /* of it"


@dataclass
class Case:
    """A fitted model, rows to predict (a table), and the same rows as lists of Python values."""

    model: Any
    table: pd.DataFrame
    rows: list[list[Any]]
    expected: np.ndarray  # predict, or predict_proba
    raw: np.ndarray

    @property
    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.table.columns, row, strict=True)) for row in self.rows]


def training_table(rng, n_rows=1500):
    x = rng.normal(size=(n_rows, 4))
    table = pd.DataFrame({NAMES[0]: x[:, 0], NAMES[1]: x[:, 1] * 1e-3, NAMES[2]: x[:, 2] + 1e3})
    table[NAMES[3]] = np.round(x[:, 3], 1)
    table[NAMES[4]] = rng.choice(TEXTS, size=n_rows).astype(object)
    table[NAMES[5]] = rng.choice(NUMBERS, size=n_rows).astype(float)
    table[NAMES[6]] = rng.choice(["yes", "no"], size=n_rows).astype(object)
    kind = np.where(table[NAMES[4]].isin(TEXTS[:2]), -1.0, 1.0)
    score = np.where(x[:, 0] > 0.2, kind * x[:, 1] + x[:, 2], -x[:, 1]) + 0.3 * x[:, 3]
    score += 0.2 * table[NAMES[5]].to_numpy()
    for name in (NAMES[0], NAMES[2], NAMES[4], NAMES[5]):
        table.loc[rng.random(n_rows) < 0.15, name] = None
    return table, score


def bend(table):
    """What no straight line follows: three columns, of which two have missing values."""
    a, b, c = (table[name].to_numpy(dtype=float) for name in NAMES[:3])
    return np.nan_to_num(1.5 * np.cos(2 * a)) + (1e3 * b) ** 2 / 2 + np.nan_to_num(np.abs(c - 1e3))


def later_table(rng, n_rows=N_ROWS):
    """Rows to predict: outliers, gaps where training had none, categories never seen."""
    table, _ = training_table(rng, n_rows)
    table.loc[::7, NAMES[0]] *= 50
    table.loc[::11, NAMES[3]] = -1e6
    table.loc[::5, NAMES[1]] = np.nan
    table.loc[::13, NAMES[6]] = None
    table.loc[::17, NAMES[4]] = "never seen"
    table.loc[::19, NAMES[5]] = 99.0
    table.loc[::23, NAMES[6]] = "maybe'"
    return table


def target(kind, score, rng):
    if kind == "binary":
        return (score + 0.5 * rng.logistic(size=len(score)) > 0.5).astype(int)
    if kind == "texts":
        return np.array(['/* it\'s "bad" */', "good"])[target("binary", score, rng)]
    if kind == "multiclass":
        labels = np.array(["it's", "größer", "z"])
        return labels[np.digitize(score + rng.normal(scale=0.5, size=len(score)), [0.0, 1.0])]
    if kind == "poisson":
        return rng.poisson(np.exp(0.3 * score))
    if kind == "gamma":
        return rng.gamma(2.0, np.exp(0.3 * score)) + 1e-9
    if kind in ("tweedie", "negative_binomial"):
        counts = rng.poisson(np.exp(0.3 * score))
        return counts * rng.gamma(2.0, 1.0, len(score)) if kind == "tweedie" else counts
    return score + 2.0 + rng.normal(scale=0.2, size=len(score))


SETTINGS = {
    "squared_error": ("squared_error", {}),
    "huber, winsor, clamp": ("huber", {"leaf_transform": "winsor", "clamp": True}),
    "poisson, rank": ("poisson", {"leaf_transform": "rank"}),
    "gamma, clamp": ("gamma", {"clamp": True}),
    "binary": ("binary", {}),
    "binary, rank, clamp": ("binary", {"leaf_transform": "rank", "clamp": True, "max_depth": 2}),
    "binary, splits on categories": ("binary", {"split_features": NAMES[4:]}),
    "multiclass": ("multiclass", {"max_depth": 2}),
    "multiclass, winsor, clamp": ("multiclass", {"leaf_transform": "winsor", "clamp": True}),
    "no split": ("squared_error", {"max_depth": 0, "clamp": True, "leaf_transform": "winsor"}),
    "no terms": ("binary", {"leaf_features": []}),
    "curves": ("squared_error", {"clamp": False}),
    "huber, curves, clamp": ("huber", {"clamp": True, "leaf_transform": "none", "curves": True}),
    "curves, winsor, quantiles": (
        "squared_error",
        {
            "leaf_transform": "winsor",
            "clamp": (0.05, 0.9),
            "curves": True,
            "significance_test": "likelihood",  # larger terms cancel in a row of the other tree
        },
    ),
    "gamma, curves, rank, clamp": (
        "gamma",
        {"leaf_transform": "rank", "clamp": True, "curves": True},
    ),
    "poisson, curves, winsor": (
        "poisson",
        {"leaf_transform": "winsor", "clamp": False, "curves": True},
    ),
    "binary, curves, quantiles": ("binary", {"clamp": (0.1, 0.9), "max_depth": 2}),
    "binary, curves, rank": (
        "binary",
        {"leaf_transform": "rank", "clamp": False, "max_depth": 2, "curves": True},
    ),
    "multiclass, curves, clamp": ("multiclass", {"clamp": True, "max_depth": 2}),
    "binary, curves without lines": ("binary", {"clamp": True, "max_depth": 2}),
    "multiclass, curves, rank": (
        "multiclass",
        {"leaf_transform": "rank", "clamp": (0.02, 1.0), "curves": True},
    ),
    "binary, the first is positive": ("binary", {"positive_class": 0, "max_depth": 2}),
    "texts, the first is positive": (
        "texts",
        {"positive_class": '/* it\'s "bad" */', "max_depth": 1, "leaf_transform": "rank"},
    ),
    "limits, curves, clamp": ("squared_error", {"curves": True, "clamp": True}),
    "gamma, limits": ("gamma", {}),
    "no split, limits": ("huber", {"max_depth": 0}),
    "binary, limits": ("binary", {"max_depth": 2}),
    "texts, limits, the first is positive": ("texts", {"positive_class": '/* it\'s "bad" */'}),
    "multiclass, limits, curves, winsor": (
        "multiclass",
        {"leaf_transform": "winsor", "max_depth": 2, "curves": True},
    ),
    "poisson, limits, exposure": ("poisson", {"max_numbers": None}),
    "tweedie, exposure, offset": ("tweedie", {"max_numbers": 40}),
    "tweedie, exposure beside X": ("tweedie", {"max_numbers": None, "max_depth": 2}),
    "negative_binomial, no split, exposure": ("negative_binomial", {"max_depth": 0}),
    "quantile, limits, offset beside X": ("quantile", {"max_depth": 2}),
    "special values": ("binary", {}),
    "poisson, special values, winsor, clamp": ("poisson", {"leaf_transform": "winsor"}),
    "texts, special values, limits": ("texts", {"max_numbers": None}),
    "multiclass, special values, curves, winsor": (
        "multiclass",
        {"leaf_transform": "winsor", "clamp": False, "curves": True},
    ),
}
KINDS = list(SETTINGS)
BENT = [name for name in KINDS if "curves" in name]
LIMITED = [name for name in KINDS if "limits" in name]
# Of two columns; and of one in which training saw none.
SPECIAL = {"*": {-9: "no record", -8: 'it\'s "odd" */ </script>'}, NAMES[3]: {-1e6: "unseen"}}


@cache
def case(name: str) -> Case:
    rng = np.random.default_rng(KINDS.index(name))
    kind, parameters = SETTINGS[name]
    table, score = training_table(rng)
    if "special" in name:
        parameters = {"special_values": SPECIAL, **parameters}
        table, score = with_special(table, score, rng)
    if name in BENT:
        score = score + bend(table) - 1.0
    is_whole = any(word in name for word in ("clamp", "curves, rank", "winsor", "without lines"))
    whole = {"max_numbers": None} if is_whole else {}
    parameters = {"categorical_features": NAMES[4:], "n_jobs": 1, **whole, **parameters}
    if kind in ("binary", "texts", "multiclass"):
        model = ModelTreeClassifier(**parameters)
    else:
        model = ModelTreeRegressor(loss=kind, **parameters)
    y = target(kind, score, rng)
    known = known_beforehand(name, rng, len(table))
    if "beside X" in name:
        model.fit(table, y, **known)
    else:
        names = {parameter: column_of(parameter) for parameter in known}
        model.fit(table.assign(**{column_of(own): known[own] for own in known}), y, **names)
    if name == "binary, curves without lines":
        model.model_ = replace(model.model_, tree=without_lines(model.tree_))
    later = later_table(rng)
    if "special" in name:
        later, _ = with_special(later, np.zeros(len(later)), rng)
    later = with_known(name, later, rng)
    if name in LIMITED:
        model.model_ = replace(model.model_, tree=with_limits(model, later))
    return Case(model, later, rows_of(later), predicted(model, later), raw_of(model, later))


def with_special(table, score, rng):
    """The table with codes in two columns, and scores that know them."""
    score = score.copy()
    for name, codes in ((NAMES[0], {-9: 2.0, -8: -1.0}), (NAMES[2], {-9: -1.5})):
        for code, added in codes.items():
            here = rng.random(len(table)) < 0.1
            table.loc[here, name] = float(code)
            score[here] += added
    return table, score


def known_beforehand(name, rng, n_rows):
    """Exposures and offsets of some rows, where the kind has them."""
    out = {}
    if "exposure" in name:
        out["exposure"] = rng.uniform(0.1, 2.0, n_rows)
    if "offset" in name:
        out["offset"] = rng.normal(size=n_rows)
    return out


def with_known(name, table, rng):
    """A table with columns of exposures and offsets, where the kind has them."""
    for parameter, values in known_beforehand(name, rng, len(table)).items():
        table[parameter if "beside X" in name else column_of(parameter)] = values
    return table


def column_of(parameter):
    return EXPOSURE if parameter == "exposure" else "offset"


def without_lines(tree):
    """The first column's hinges without its line, in one leaf neither; none of the second's."""
    coef, leaves = tree.coef.copy(), np.flatnonzero(tree.left < 0)
    hinges = tree.terms.hinge_terms(0)
    coef[:, tree.terms.first_term[0]] = 0.0
    coef[leaves[0], hinges] = 0.0
    coef[:, tree.terms.hinge_terms(1)] = 0.0
    return replace(tree, coef=coef)


def with_limits(model, table):
    """Limits that many rows lie beyond: of every third leaf both, below only, above only.

    The last of several outputs has none.
    """
    tree, raw, found = model.tree_, raw_of_leaves(model, table), model.apply(table)
    low, high = np.full_like(tree.score_low, -np.inf), np.full_like(tree.score_high, np.inf)
    for k, leaf in enumerate(np.unique(found)):
        own = raw[found == leaf]
        if k % 3 != 2:
            low[leaf] = np.quantile(own, 0.2, axis=0)
        if k % 3 != 1:
            high[leaf] = np.quantile(own, 0.7, axis=0)
    if low.ndim > 1:
        low[:, -1], high[:, -1] = -np.inf, np.inf
    return replace(tree, score_low=low, score_high=high)


def raw_of_leaves(model, table):
    """Raw scores without what was known beforehand."""
    raw, known = raw_of(model, table), model.tree_.offsets
    return raw - model.tree_.known(fitted_model(model).matrix(table)) if known else raw


def rows_of(table):
    return [
        [None if pd.isna(value) else value for value in row]
        for row in table.itertuples(index=False, name=None)
    ]


def predicted(model, table):
    if isinstance(model, ModelTreeClassifier):
        return model.predict_proba(table)
    return model.predict(table)


def raw_of(model, table):
    raw = fitted_model(model).scores(table)
    return raw[:, 0] if raw.shape[1] == 1 else raw
