"""How many numbers there are to read, counted again from the text of formulas and rules."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from whole_models import ModelTreeRegressor

from glassleaf import explain
from glassleaf.explanations.formulas import formula
from glassleaf.tree.complexity import count_numbers

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")


def model(rng, **parameters):
    X = pd.DataFrame(rng.normal(size=(800, 3)), columns=["a", "b", "c"])
    y = np.where(X["a"] > 0.2, 2 * X["b"], -X["b"]) + X["c"] + 0.1 * rng.normal(size=800)
    return ModelTreeRegressor(leaf_transform="none", curves=False, **parameters).fit(X, y)


def test_numbers_are_those_in_rules_and_formulas(rng):
    found = model(rng, clamp=False, max_depth=2)
    explanation = explain(found)
    texts = [formula(explanation, leaf, max_terms=None) for leaf in explanation.leaves]
    rules = [condition.text for node in explanation.splits for _, condition in node.split.sides]
    n_formulas = sum(len(NUMBER.findall(text)) for text in texts)
    assert found.complexity_.parts["thresholds"] == len(rules) // 2
    assert found.complexity_.total == n_formulas + len(rules) // 2


def test_ranges_count_once_where_they_are_the_same(rng):
    wide, whole = model(rng, clamp=True, max_depth=1), model(rng, clamp=False, max_depth=0)
    assert wide.complexity_.parts["ranges"] == 2 * 3 * wide.tree_.n_leaves
    assert whole.complexity_.parts["ranges"] == 0
    assert model(rng, clamp=True, max_depth=0).complexity_.parts["ranges"] == 6


def test_one_prediction_needs_its_path_and_its_leaf(rng):
    found = model(rng, clamp=False, max_depth=2)
    deepest = found.tree_.max_depth
    assert found.complexity_.per_row == deepest + 1 + 3


def test_bends_knots_and_fills_are_counted(rng):
    X = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.standard_cauchy(size=3000)})
    y = np.cos(2 * X["a"]) + np.arctan(X["b"]) + 0.1 * rng.normal(size=3000)
    X.loc[::7, "a"] = np.nan
    found = ModelTreeRegressor(leaf_transform="rank", curves=True, clamp=False).fit(X, y.fillna(0))
    terms, parts = found.tree_.terms, found.complexity_.parts
    assert parts["bends"] == len(terms.hinge_at) > 0
    assert parts["knots"] == 2 * len(terms.knot_x) > 0
    assert parts["fills"] == 1


def test_limits_count_once_where_they_are_the_same(rng):
    found = model(rng, clamp=False, max_depth=1)
    tree = found.tree_
    without = found.complexity_
    assert tree.n_leaves == 2 and without.parts["limits"] == 0
    for high, n_limits in ((np.array([5.0, 5.0, 5.0]), 2), (np.array([5.0, 5.0, np.inf]), 3)):
        limited = replace(tree, score_low=np.full(3, -5.0), score_high=high)
        counted = count_numbers(limited)
        assert counted.parts["limits"] == n_limits
        assert counted.per_row == without.per_row + 2


def test_a_rule_names_the_categories_of_its_smaller_side(rng):
    t = rng.choice(list("abcdef"), size=1200)
    x = rng.normal(size=1200)
    y = np.where(np.isin(t, ["a", "b"]), x, -x) + 0.1 * rng.normal(size=1200)
    X = pd.DataFrame({"t": t, "x": x})
    found = ModelTreeRegressor(max_depth=1, curves=False).fit(X, y)
    assert found.complexity_.parts["categories"] == 2
    assert found.complexity_.parts["thresholds"] == 0


def test_models_of_your_own_cannot_be_counted(rng):
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    with pytest.raises(AttributeError):
        _ = ModelTreeRegressor().complexity_
    assert ModelTreeRegressor().fit(X, y).complexity_.total > 0
