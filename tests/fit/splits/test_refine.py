"""The refinement of a split: it finds the right place, and never increases the objective."""

import numpy as np
import oracles
import pytest
from bare import classifier, regressor
from slopes import ALPHA, Problem, logistic_objective


def objective(tree, X, design, y, weight, alpha):
    """The penalized loss of all leaves, shrunk to zero."""
    reach, total = oracles.rows_of_nodes(tree, X), 0.0
    for leaf in np.flatnonzero(tree.left < 0):
        rows = reach[leaf]
        raw = design[rows] @ tree.coef[leaf] + tree.intercept[leaf]
        spread = np.array([oracles.std(x, weight[rows]) for x in design[rows].T])
        total += 0.5 * weight[rows] @ (y[rows] - raw) ** 2
        total += 0.5 * alpha * ((tree.coef[leaf] * spread) ** 2).sum()
    return total


@pytest.mark.parametrize(
    ("criterion", "off", "left"), [("impurity", 0.1, 0.3), ("gradient_zscore", 0, 0.8)]
)
def test_refinement_moves_a_wrong_threshold_to_the_right_place(criterion, off, left):
    """A line with a kink, which the criteria miss: the one by far, the other by a little."""
    wrong, right = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 2))
        y = 3 * np.maximum(X[:, 0] - 1.0, 0.0) + 0.05 * rng.normal(size=1000)
        plain, refined = (
            regressor(criterion=criterion, max_depth=1, refine=refine).fit(X, y).tree_
            for refine in (False, True)
        )
        assert plain.feature[0] == refined.feature[0] == 0
        wrong.append(abs(plain.threshold[0] - 1.0))
        right.append(abs(refined.threshold[0] - 1.0))
        assert refined.loss[1:].sum() <= plain.loss[1:].sum()
    assert min(wrong) >= off
    assert max(right) < 0.05
    assert sum(right) < left * sum(wrong)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rescore", [0, 20])
@pytest.mark.parametrize("seed", range(4))
def test_refinement_never_increases_the_objective(seed, weighted, rescore):
    problem = Problem(seed, weighted, n=150)
    given = {"rescore": rescore, "max_depth": 1, "category_splits": "subset"}
    plain, refined = (
        objective(tree, problem.X, problem.design, problem.y, problem.weight, ALPHA)
        for tree in (problem.fit(**given), problem.fit(**given, refine=True))
    )
    assert refined <= plain * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_refinement_of_classes_never_increases_the_objective(seed):
    problem = Problem(seed)
    y = (problem.y > 50).astype(int)

    def lost(**given):
        model = classifier(alpha=ALPHA, max_depth=1, **given).fit(problem.table, y)
        leaves = model.apply(problem.table)
        return sum(
            logistic_objective(problem.design[leaves == leaf], y[leaves == leaf], ALPHA)
            for leaf in set(leaves)
        )

    assert lost(refine=True) <= lost() * (1 + 1e-9)
