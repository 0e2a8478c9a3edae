"""Fitted trees of every kind, for the tests of explanations."""

import copy
from dataclasses import replace

import bare
import numpy as np
import pandas as pd

from glassleaf import ModelTreeClassifier

KINDS = ["squared_error", "huber", "poisson", "gamma", "binary", "multiclass"]

# Parameters that change the form of the models.
FORMS = {
    "plain": {},
    "clamped": {"clamp": True},
    "winsor": {"leaf_transform": "winsor"},
    "rank, clamped": {"leaf_transform": "rank", "clamp": True},
    "split on categories": {"split_features": ["t", "u"]},
    "few leaf features": {"leaf_features": ["a", "t"]},
    "curves": {"curves": True},
    "curves, clamped": {"curves": True, "clamp": (0.05, 0.95)},
    "curves, rank, clamped": {"curves": True, "leaf_transform": "rank", "clamp": True},
    "curves, winsor": {"curves": True, "leaf_transform": "winsor"},
}
CURVED = [form for form in FORMS if "curves" in form]


def table(rng, n=500):
    """Numbers and categories with gaps, and rows to predict with what training never saw."""
    X = rng.normal(size=(n, 4))
    text = rng.choice(["red", "green", "blue", "grey"], size=n).astype(object)
    out = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] * 1e-6, "c": X[:, 2] + 1e6, "d": X[:, 3]})
    out["t"] = text
    out["u"] = rng.choice(["yes", "no"], size=n)
    X[:, 1] *= np.where(text == "red", -1.0, 1.0)
    score = np.where(X[:, 0] > 0.2, X[:, 1] + X[:, 2], -X[:, 1]) + 0.3 * X[:, 3]
    out.loc[rng.random(n) < 0.2, "a"] = np.nan
    out.loc[rng.random(n) < 0.2, "c"] = np.nan
    out.loc[rng.random(n) < 0.2, "t"] = None
    return out, score


def bend(X, score):
    """A score that bends along two columns, one of them with gaps."""
    gaps = X["c"].isna()
    wave = np.where(gaps, 0.5, np.sin(2.0 * (X["c"].fillna(1e6) - 1e6)))
    return 0.5 * score + 1.5 * np.abs(X["d"]) ** 1.5 + 1.5 * wave


def later(X):
    """The same rows with new categories, new gaps and far values."""
    out = X.copy()
    out.loc[::3, "t"] = "violet"
    out.loc[::4, "u"] = None
    out.loc[::5, "d"] = np.nan
    out.loc[::7, "u"] = "maybe"
    out.loc[::6, "b"] *= 50
    return out


def target(kind, score, rng):
    if kind == "binary":
        return np.where(score + 0.5 * rng.logistic(size=len(score)) > 0, "good", "bad")
    if kind == "multiclass":
        return np.digitize(score + rng.normal(scale=0.5, size=len(score)), [-0.5, 0.5])
    if kind == "poisson":
        return rng.poisson(np.exp(0.5 * score))
    if kind == "gamma":
        return rng.gamma(2.0, np.exp(0.5 * score))
    return score + 2.0 + rng.normal(scale=0.2, size=len(score))


def make(kind, **parameters):
    if kind in ("binary", "multiclass"):
        return bare.classifier(**parameters)
    return bare.regressor(loss=kind, **parameters)


_known = {}


def fitted(kind, max_depth=2, **parameters):
    """A tree, its training rows and target; each is fitted once, for tests only read them."""
    key = (kind, max_depth, str(sorted(parameters.items())))
    if key not in _known:
        rng = np.random.default_rng(0)
        X, score = table(rng)
        if parameters.get("curves"):
            score = bend(X, score) * (0.5 if kind in ("poisson", "gamma") else 1.0)
        y = target(kind, score, rng)
        model = make(kind, max_depth=max_depth, n_jobs=1, **parameters).fit(X, y)
        _known[key] = model, X, y
    return _known[key]


def unlimited(model):
    """The same model, whose scores are not held within limits."""
    out, nowhere = copy.copy(model), np.full_like(model.tree_.score_low, np.inf)
    tree = replace(model.tree_, score_low=-nowhere, score_high=nowhere)
    out.model_ = replace(model.model_, tree=tree)
    return out


def with_subsets(model, seed):
    """The same model with splits on any subsets of the categories, and any way for new ones."""
    rng = np.random.default_rng(seed)
    tree, out = model.tree_, copy.copy(model)
    changed = replace(
        tree,
        categories=rng.random(len(tree.categories)) < 0.5,
        unknown_left=rng.random(tree.node_count) < 0.5,
        missing_left=rng.random(tree.node_count) < 0.5,
    )
    out.model_ = replace(model.model_, tree=changed)
    return out


def raw_of(model, X):
    """Raw scores, shape (rows, outputs)."""
    if isinstance(model, ModelTreeClassifier):
        found = model.decision_function(X)
    else:
        found = model.predict(X)
        found = np.log(found) if model.loss in ("poisson", "gamma") else found
    return found.reshape(len(X), -1)
