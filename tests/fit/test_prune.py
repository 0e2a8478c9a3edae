"""Smaller trees: of all ways to cut a tree, tried one by one, none is better than the one taken."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from bare import classifier, regressor

from glassleaf import ModelTreeRegressor
from glassleaf.fit.prune import prune_by_held_out, prune_weakest
from glassleaf.fit.splits.find import Node
from glassleaf.rows import passes as on_rows

# --- the oracle ----------------------------------------------------------------------------------


def all_cuts(children, node=0):
    """The leaves of every tree that cutting can leave below a node."""
    yield (node,)
    if node in children:
        left, right = (list(all_cuts(children, child)) for child in children[node])
        yield from (one + other for one, other in product(left, right))


def best_cut(children, cost):
    """The cheapest leaves; of equal ones the fewest."""
    return min(all_cuts(children), key=lambda leaves: (cost(leaves), len(leaves)))


def children_of(tree):
    inner = np.flatnonzero(tree.left >= 0).tolist()
    return {node: (int(tree.left[node]), int(tree.right[node])) for node in inner}


# --- trees of random losses ----------------------------------------------------------------------


def grown(rng, n_leaves):
    """Nodes of a random tree. Only the penalized loss may decide; the loss itself misleads."""
    nodes = [model_node(0, 0, 10.0)]
    while len(nodes) < 2 * n_leaves - 1:
        parent = rng.choice([node for node in nodes if node.children is None])
        parent.children = (len(nodes), len(nodes) + 1)
        share = rng.uniform(0.2, 0.55, 2)
        for own in share:
            node = model_node(len(nodes), parent.depth + 1, own * parent.model.objective)
            nodes.append(node)
    return nodes


def model_node(number, depth, objective):
    loss = 7.0 if number == 0 else -1.0
    return Node(
        number, depth, SimpleNamespace(born=number, weight=1.0, objective=objective, loss=loss)
    )


class HeldLosses:
    """A backend without rows, that knows the loss of every node on the rows that are set aside."""

    def __init__(self, losses=()):
        self.losses, self.asked = losses, []

    def each(self, step, tasks):
        self.asked.append(step)

    def sum(self, step, tasks):
        assert step is on_rows.held_loss
        return [self.losses[task.node] for task in tasks]


NO_FITS = SimpleNamespace(at_rows=lambda model: model, share_units=lambda models: False)


def leaves_left(nodes):
    """Numbers that the leaves had before; all nodes are in place and lead to their children."""
    assert [node.id for node in nodes] == list(range(len(nodes)))
    reached = [0] + [child for node in nodes for child in node.children or ()]
    assert sorted(reached) == [node.id for node in nodes]
    return sorted(node.model.born for node in nodes if node.children is None)


@pytest.mark.parametrize("seed", range(8))
def test_the_weakest_links_leave_the_tree_of_least_cost(seed):
    rng = np.random.default_rng(seed)
    for share in (1e-9, 0.01, 0.05, 0.1, 0.2, 0.4, 1.0):
        nodes = grown(rng, int(rng.integers(1, 10)))
        children = {node.id: node.children for node in nodes if node.children is not None}
        objective = {node.id: node.model.objective for node in nodes}
        per_leaf = share * nodes[0].model.loss
        best = best_cut(children, lambda own: sum(objective[k] + per_leaf for k in own))  # noqa: B023
        assert leaves_left(prune_weakest(HeldLosses(), nodes, share)) == sorted(best)


@pytest.mark.parametrize("seed", range(20))
def test_rows_set_aside_leave_the_tree_that_is_best_for_them(seed):
    rng = np.random.default_rng(seed)
    nodes = grown(rng, int(rng.integers(1, 10)))
    children = {node.id: node.children for node in nodes if node.children is not None}
    depth = np.array([node.depth for node in nodes])
    losses = rng.integers(1, 30, len(nodes)) * 0.45**depth
    best = best_cut(children, lambda own: sum(losses[k] for k in own))
    backend = HeldLosses(losses)
    assert leaves_left(prune_by_held_out(backend, NO_FITS, None, nodes)) == sorted(best)
    assert on_rows.take_back in backend.asked


def test_a_split_that_changes_nothing_for_the_rows_set_aside_goes():
    nodes = grown(np.random.default_rng(0), 2)
    assert leaves_left(prune_by_held_out(HeldLosses([3.0, 1.0, 2.0]), NO_FITS, None, nodes)) == [0]


# --- ccp_alpha -----------------------------------------------------------------------------------


@pytest.fixture
def steps(rng):
    """Sixteen slopes along one column, some of them much alike."""
    X = rng.uniform(size=(1200, 2))
    slope = rng.normal(size=16)[(X[:, 0] * 16).astype(int)]
    return X, slope * X[:, 1] + 0.1 * rng.normal(size=1200)


def cut_tree(steps, share):
    return regressor(alpha=0.0, max_leaf_nodes=12, ccp_alpha=share).fit(*steps).tree_


def rows_of_leaves(tree, X):
    """The sets of rows that share a leaf, and the model each set has."""
    leaf = tree.apply(X)
    return {
        frozenset(np.flatnonzero(leaf == own)): (*tree.coef[own].ravel(), tree.intercept[own])
        for own in np.unique(leaf)
    }


@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_a_fitted_tree_is_cut_where_brute_force_cuts_it(steps, share):
    X, _ = steps
    whole, cut = cut_tree(steps, 0.0), cut_tree(steps, share)
    loss = whole.loss
    best = best_cut(children_of(whole), lambda own: sum(loss[k] + share * loss[0] for k in own))
    assert 1 < len(best) < 12
    assert sorted(cut.loss[cut.left < 0]) == sorted(loss[list(best)])
    models = set(rows_of_leaves(cut, X).values())
    assert models == {(*whole.coef[k].ravel(), whole.intercept[k]) for k in best}


def test_larger_shares_leave_nested_trees_down_to_one_leaf(steps):
    X, _ = steps
    cuts = [rows_of_leaves(cut_tree(steps, share), X) for share in (0, 0.01, 0.05, 0.1, 1.0)]
    sizes = [len(cut) for cut in cuts]
    assert sizes == sorted(set(sizes), reverse=True) and sizes[0] == 12 and sizes[-1] == 1
    for finer, coarser in zip(cuts, cuts[1:], strict=False):
        assert all(any(small <= large for large in coarser) for small in finer)


def test_a_share_below_every_gain_changes_nothing(steps):
    assert cut_tree(steps, 1e-12) == cut_tree(steps, 0.0)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_tree_cut_to_one_leaf_is_the_tree_without_splits(steps, make):
    X, y = steps
    y = y if make is regressor else (y > 0).astype(int)
    assert make().fit(X, y).get_n_leaves() > 1
    cut, alone = (make(**own).fit(X, y).tree_ for own in ({"ccp_alpha": 1.0}, {"max_depth": 0}))
    assert cut.n_leaves == 1
    np.testing.assert_array_equal(cut.coef, alone.coef)
    np.testing.assert_array_equal(cut.n_samples, alone.n_samples)


# --- max_leaf_nodes="auto" -----------------------------------------------------------------------


def auto(**given):
    return ModelTreeRegressor(max_leaf_nodes="auto", **given)


@pytest.fixture
def groups(rng):
    """Four slopes by two columns of zeros and ones, and a third that says nothing."""
    X = np.column_stack([rng.integers(0, 2, size=(2000, 3)), rng.normal(size=2000)])
    slope = np.array([-3.0, 2.0, 1.0, -1.0])[(2 * X[:, 0] + X[:, 1]).astype(int)]
    return X, slope * X[:, 3] + 0.3 * rng.normal(size=2000)


@pytest.mark.parametrize("state", range(4))
def test_the_planted_leaves_are_found(groups, state):
    X, y = groups
    model = auto(random_state=state).fit(X, y)
    groups_of_leaves = set(zip(model.apply(X), 2 * X[:, 0] + X[:, 1], strict=True))
    assert model.get_n_leaves() == len(groups_of_leaves) == 4


def test_its_models_are_fitted_to_all_rows(rng):
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, 2.0, -1.0) * X[:, 1] + 0.3 * rng.normal(size=2000)
    tree = regressor(max_leaf_nodes="auto", significance=0.05, alpha=0.0).fit(X, y).tree_
    assert tree.n_leaves == 2
    np.testing.assert_array_equal(tree.weight, tree.n_samples)
    for leaf in (1, 2):
        here = tree.apply(X) == leaf
        terms = np.column_stack([X[here], np.ones(here.sum())])
        expected = np.linalg.lstsq(terms, y[here])[0]
        np.testing.assert_allclose([*tree.coef[leaf], tree.intercept[leaf]], expected, rtol=1e-6)


def test_leaves_in_which_a_column_is_constant_are_fitted_to_all_rows_too(groups):
    X, y = groups
    tree = regressor(max_leaf_nodes="auto", significance=0.05, alpha=0.0).fit(X, y).tree_
    for leaf in np.flatnonzero(tree.left < 0):
        here = tree.apply(X) == leaf
        terms = np.column_stack([X[here, 2:], np.ones(here.sum())])
        expected = np.linalg.lstsq(terms, y[here])[0]
        np.testing.assert_allclose(tree.coef[leaf, 2:], expected[:2], rtol=1e-6)
    np.testing.assert_array_equal(tree.weight, tree.n_samples)


@pytest.fixture
def misled(rng):
    """A change of slope, but not for the rows that random_state=0 sets aside."""
    X = rng.normal(size=(1500, 2))
    is_aside = np.random.RandomState(0).random(1500) < 0.2
    slope = np.where((X[:, 0] > 0) | is_aside, 2.0, 1.0)
    return X, slope * X[:, 1] + 0.1 * rng.normal(size=1500), is_aside


def test_the_random_state_draws_the_rows_that_choose_the_size(misled):
    X, y, _ = misled
    assert auto(random_state=0).fit(X, y).get_n_leaves() == 1
    assert auto().fit(X, y).get_n_leaves() == 1  # None counts as 0
    for state in (1, 2, np.random.RandomState(5)):
        assert auto(random_state=state).fit(X, y).get_n_leaves() > 1


@pytest.mark.parametrize("state", [None, 0, 7])
def test_the_same_state_gives_the_same_tree(steps, state):
    first, second = (auto(random_state=state).fit(*steps).tree_ for _ in range(2))
    assert first == second
    drawn = np.random.RandomState(state or 0)
    assert auto(random_state=drawn).fit(*steps).tree_ == first


def test_rows_set_aside_choose_the_size_by_their_weight(misled):
    X, y, is_aside = misled
    y = np.where(is_aside, np.where(X[:, 0] > 0, 2.0, 1.0) * X[:, 1], y)
    against = is_aside & (np.arange(1500) % 3 == 0)
    y[against] = 2.0 * X[against, 1]
    assert auto().fit(X, y).get_n_leaves() > 1
    assert auto().fit(X, y, np.where(against, 10.0, 1.0)).get_n_leaves() == 1


def test_the_random_state_matters_for_nothing_but_the_automatic_size(steps):
    for given in ({}, {"max_leaf_nodes": 12}, {"refine": True}):
        trees = [ModelTreeRegressor(random_state=own, **given).fit(*steps).tree_ for own in (0, 3)]
        assert trees[0] == trees[1]
    sized = [auto(random_state=own).fit(*steps).tree_ for own in (0, 3)]
    assert sized[0] != sized[1]
