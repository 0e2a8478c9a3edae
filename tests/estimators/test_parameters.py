"""What the parameters of the estimators do."""

import warnings
from dataclasses import dataclass

import numpy as np
import problems
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.preprocessing import StandardScaler
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import criteria, losses, paper_settings

# A tree that is split as far as its limits let it, significantly or not.
EAGER = {"significance": None}


@pytest.fixture
def crossing(rng):
    """y = sign(x0) * x1: no column has an effect of its own."""
    X = rng.normal(size=(2000, 3))
    return X, np.sign(X[:, 0]) * X[:, 1]


# --- what a stump can do -------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, paper_settings("MT-GR")], ids=["default", "MT-GR"])
def test_a_stump_solves_an_interaction_without_a_marginal_effect(crossing, settings):
    X, y = crossing
    model = ModelTreeRegressor(**settings | {"max_depth": 1}).fit(X, y)
    assert model.tree_.feature[0] == 0
    assert abs(model.tree_.threshold[0]) < 0.05
    assert model.score(X, y) > 0.99


def test_a_stump_solves_the_interaction_for_classes(crossing):
    X, y = crossing
    model = ModelTreeClassifier(max_depth=1).fit(X, y > 0)
    assert model.score(X, y > 0) > 0.97


# --- depth 0 is the linear model -----------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1.0, 30.0])
def test_depth_zero_is_ridge(regression, alpha):
    X, y = regression
    model = ModelTreeRegressor(max_depth=0, alpha=alpha).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    assert model.get_n_leaves() == 1 and model.get_depth() == 0
    ridge = Ridge(alpha=alpha).fit(scaled, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(scaled), rtol=1e-9)


@pytest.mark.parametrize("data", ["binary", "multiclass"])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 30.0])
def test_depth_zero_is_logistic_regression(request, data, alpha):
    X, y = request.getfixturevalue(data)
    scaled = StandardScaler().fit_transform(X)
    model = ModelTreeClassifier(max_depth=0, alpha=alpha).fit(X, y)
    reference = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=1000).fit(scaled, y)
    np.testing.assert_allclose(
        model.predict_proba(X), reference.predict_proba(scaled), rtol=1e-5, atol=1e-7
    )


def test_depth_zero_is_poisson_regression(numbers, rng):
    y = rng.poisson(np.exp(0.5 * numbers[:, 0]))
    scaled = StandardScaler().fit_transform(numbers)
    model = ModelTreeRegressor(max_depth=0, loss="poisson", alpha=3.0).fit(numbers, y)
    reference = PoissonRegressor(alpha=3.0 / len(y), tol=1e-10).fit(scaled, y)
    np.testing.assert_allclose(model.predict(numbers), reference.predict(scaled), rtol=1e-5)


# --- size of the tree ----------------------------------------------------------------------------


@pytest.mark.parametrize("max_depth", [0, 1, 2, 4])
def test_max_depth_is_respected(regression, max_depth):
    model = ModelTreeRegressor(max_depth=max_depth, **EAGER).fit(*regression)
    assert model.get_depth() <= max_depth
    assert model.get_depth() >= min(max_depth, 2)


def test_without_max_depth_leaves_are_split_as_long_as_they_can_be(regression):
    model = ModelTreeRegressor(max_depth=None, min_samples_leaf=20, **EAGER).fit(*regression)
    tree = model.tree_
    assert model.get_depth() > 3
    assert (tree.n_samples[tree.left == -1] >= 20).all()


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8])
def test_max_leaf_nodes_is_respected(regression, budget):
    model = ModelTreeRegressor(max_leaf_nodes=budget, **EAGER).fit(*regression)
    assert model.get_n_leaves() == budget


@pytest.fixture
def steps(rng):
    """Forty slopes along one column: a tree needs a leaf for each."""
    X = rng.uniform(size=(8000, 2))
    slope = rng.permutation(np.linspace(-4.0, 4.0, 40))[(X[:, 0] * 40).astype(int)]
    return X, slope * X[:, 1] + 0.1 * rng.normal(size=8000)


@pytest.mark.parametrize("budget", [9, 20, 32])
def test_a_leaf_budget_lifts_the_usual_limit_of_depth(steps, budget):
    model = ModelTreeRegressor(max_leaf_nodes=budget).fit(*steps)
    assert model.get_n_leaves() == budget and model.get_depth() > 3


def test_without_a_leaf_budget_the_depth_is_three(steps):
    assert ModelTreeRegressor().fit(*steps).get_depth() == 3
    assert ModelTreeRegressor(max_depth=None).fit(*steps).get_depth() > 3


def test_the_automatic_size_is_not_limited_by_depth(steps):
    free = ModelTreeRegressor(max_leaf_nodes="auto").fit(*steps)
    assert 20 < free.get_n_leaves() <= 64
    flat = ModelTreeRegressor(max_leaf_nodes="auto", max_depth=2).fit(*steps)
    assert flat.get_depth() == 2 and flat.get_n_leaves() <= 4


def test_with_max_leaf_nodes_the_best_node_is_split_first(regression):
    X, y = regression
    whole = ModelTreeRegressor(max_leaf_nodes=12, min_samples_leaf=12, **EAGER)
    tree = whole.fit(X, y).tree_
    assert tree.n_leaves == 12
    inner = np.flatnonzero(tree.left != -1)
    by_birth = sorted(inner, key=lambda node: tree.left[node])
    open_nodes = {0}
    for node in by_birth:
        assert tree.gain[node] == max(tree.gain[other] for other in open_nodes)
        open_nodes.remove(node)
        open_nodes |= {int(child) for child in (tree.left[node], tree.right[node])}


def test_a_smaller_leaf_budget_gives_the_beginning_of_a_larger_tree(regression):
    X, y = regression
    large, small = (
        ModelTreeRegressor(max_leaf_nodes=budget, min_samples_leaf=12, **EAGER) for budget in (8, 4)
    )
    large.fit(X, y), small.fit(X, y)
    assert (large.get_n_leaves(), small.get_n_leaves()) == (8, 4)
    np.testing.assert_array_equal(large.tree_.coef[:7], small.tree_.coef)
    split = small.tree_.left != -1
    np.testing.assert_array_equal(large.tree_.threshold[:7][split], small.tree_.threshold[split])


def test_max_depth_holds_under_a_leaf_budget(regression):
    model = ModelTreeRegressor(max_leaf_nodes=100, max_depth=2, **EAGER).fit(*regression)
    assert model.get_depth() == 2 and model.get_n_leaves() == 4


@pytest.mark.parametrize(("given", "rows"), [(40, 40), (0.25, 75), (0.1, 30), (None, 10), (1, 1)])
@pytest.mark.parametrize("budget", [None, 6])
def test_min_samples_leaf_is_respected(regression, given, rows, budget):
    X, y = regression
    limits = {"min_samples_leaf": given, "max_depth": 4, "max_leaf_nodes": budget}
    model = ModelTreeRegressor(**limits, **EAGER)
    tree = model.fit(X, y).tree_
    assert tree.node_count > 1
    assert tree.n_samples.min() >= rows


def test_the_default_leaf_size_has_more_rows_than_terms(rng):
    X = rng.normal(size=(200, 30))
    tree = ModelTreeRegressor(max_depth=None, **EAGER).fit(X, rng.normal(size=200)).tree_
    assert tree.node_count > 1 and tree.n_samples.min() >= 31


def test_too_few_rows_to_split_give_one_model(rng):
    X = rng.normal(size=(15, 2))
    assert ModelTreeRegressor().fit(X, X[:, 0]).get_n_leaves() == 1
    assert ModelTreeClassifier().fit(X, X[:, 0] > 0).get_n_leaves() == 1


@pytest.mark.parametrize("kind", ["regression", "binary"])
def test_min_gain_stops(request, kind):
    X, y = request.getfixturevalue(kind)
    make = ModelTreeRegressor if kind == "regression" else ModelTreeClassifier
    free = make(max_depth=4, **EAGER).fit(X, y).tree_
    shares = free.gain / free.loss[0]
    some = float(np.median(shares[free.left != -1]))
    stopped = make(max_depth=4, min_gain=some, **EAGER).fit(X, y).tree_
    assert 1 < stopped.n_leaves < free.n_leaves
    assert (stopped.gain[stopped.left != -1] > some * stopped.loss[0]).all()
    assert make(min_gain=float(shares.max() * 1.01), **EAGER).fit(X, y).get_n_leaves() == 1


def test_min_gain_does_not_depend_on_the_unit_of_the_target(regression):
    X, y = regression
    model = ModelTreeRegressor(min_gain=0.01, **EAGER)
    sizes = {model.fit(X, y * s).get_n_leaves() for s in (1e-6, 1, 1e6)}
    assert len(sizes) == 1 and min(sizes) > 1


def test_a_linear_target_is_not_split_further_than_noise(rng):
    X = rng.normal(size=(500, 3))
    y = X @ [1.0, -2.0, 0.5] + 4.0
    assert ModelTreeRegressor(min_gain=0.01, alpha=1e-6, **EAGER).fit(X, y).score(X, y) > 1 - 1e-9


def test_a_constant_target_is_predicted(numbers):
    model = ModelTreeRegressor().fit(numbers, np.full(300, 3.5))
    np.testing.assert_allclose(model.predict(numbers), 3.5, rtol=1e-12)
    assert model.get_n_leaves() == 1


# --- settings and objects ------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["MT-G", "MT-GR", "MT-DT"])
def test_paper_settings_are_keyword_arguments(regression, method):
    model = ModelTreeRegressor(**paper_settings(method), max_depth=2).fit(*regression)
    assert model.get_depth() == 2


def test_paper_settings_are_a_fresh_dict():
    paper_settings("MT-G")["criterion"] = "changed"
    assert paper_settings("MT-G")["criterion"] == "gradient"


def test_losses_and_criteria_may_be_objects(regression):
    X, y = regression
    named = ModelTreeRegressor(loss="huber", criterion="gradient_zscore").fit(X, y)
    given = ModelTreeRegressor(loss=losses.Huber(), criterion=criteria.GradientGain()).fit(X, y)
    assert given.tree_ == named.tree_
    other = ModelTreeRegressor(loss=losses.Huber(delta=0.1)).fit(X, y)
    assert other.tree_ != named.tree_


@dataclass(frozen=True)
class OwnGain:
    """The paper's criterion, written down again: gains come from gradients, not all at once."""

    uses = "gradient"

    def gain(self, left, right):
        return sum((side.sums**2).sum(axis=1) / side.weight for side in (left, right))


class Favourite(criteria.GradientGain):
    """Prefers the smallest left side to everything else."""

    def gain(self, left, right):
        return 1.0 / left.count


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("category_splits", ["one", "subset"])
@pytest.mark.parametrize("split_features", [None, ["t", "u"]])
def test_a_criterion_of_ones_own_finds_what_the_built_in_one_finds(
    rng, n_classes, category_splits, split_features
):
    X, score = problems.table(rng)
    kind = ModelTreeClassifier if n_classes else ModelTreeRegressor
    borders = np.quantile(score, np.arange(1, n_classes) / max(n_classes, 1))
    y = np.digitize(score, borders) if n_classes else score
    given = {"category_splits": category_splits, "split_features": split_features}
    built_in = kind(rescore=0, **given, **EAGER).fit(X, y).tree_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = kind(criterion=OwnGain(), rescore=0, **given, **EAGER).fit(X, y).tree_
    assert built_in.node_count > 1
    np.testing.assert_array_equal(own.feature, built_in.feature)
    np.testing.assert_array_equal(own.threshold, built_in.threshold)
    np.testing.assert_allclose(own.gain, built_in.gain, rtol=1e-9)


@pytest.mark.parametrize("units", ["zscore", "minmax", "standardized", "raw"])
def test_a_criterion_of_ones_own_says_its_units(regression, units):
    X, y = regression
    X = X * [1.0, 100.0, 0.01, 1.0] + 3.0

    class OwnUnits(OwnGain):
        pass

    OwnUnits.units = units
    given = {"rescore": 0, "max_depth": 2, **EAGER}
    name = "gradient" if units == "raw" else f"gradient_{units}"
    trees = [
        ModelTreeRegressor(criterion=criterion, **given).fit(X, y).tree_
        for criterion in (name, OwnUnits(), criteria.GradientGain(units))
    ]
    assert trees[0].node_count >= 5
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.threshold, trees[0].threshold)
        np.testing.assert_allclose(tree.gain, trees[0].gain, rtol=1e-9)


def test_every_named_criterion_gives_a_tree_of_its_own(regression):
    X, y = regression
    X = X * [1.0, 100.0, 0.01, 1.0] + 3.0
    names = ["gradient_zscore", "gradient_minmax", "gradient_standardized", "gradient", "impurity"]
    gains = [
        ModelTreeRegressor(criterion=name, rescore=0, max_depth=1, **EAGER).fit(X, y).tree_.gain[0]
        for name in names
    ]
    assert len(set(gains)) == len(names)


def test_unknown_units_of_a_criterion_are_an_error(regression):
    with pytest.raises(ValueError, match="criterion.units='unit'.*'zscore', 'minmax'"):
        ModelTreeRegressor(criterion=criteria.GradientGain("unit")).fit(*regression)


class Same(criteria.GradientGain):
    """Differs in nothing but in being another class, for which no kernel knows the gains."""


@pytest.mark.parametrize("scale", [1.0, 1e-155, 1e-9, 1e9, 1e150])
def test_gains_at_once_are_those_of_the_two_sides_in_any_unit(rng, scale):
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] > 0.2, X[:, 1], -X[:, 1]) + 0.1 * rng.normal(size=400)
    X[rng.random(400) < 0.99, 2] = 0.0
    X[:, 2] *= scale
    given = {"rescore": 0, "curves": False, "leaf_transform": "none", **EAGER}
    at_once = ModelTreeRegressor(**given).fit(X, y).tree_
    one_by_one = ModelTreeRegressor(criterion=Same(), **given).fit(X, y).tree_
    assert at_once.node_count == one_by_one.node_count > 3
    np.testing.assert_array_equal(at_once.feature, one_by_one.feature)
    np.testing.assert_allclose(at_once.gain, one_by_one.gain, rtol=1e-9)


def test_a_criterion_derived_from_a_built_in_one_is_asked_itself(regression):
    X, y = regression
    given = {"rescore": 0, "max_depth": 1, "min_samples_leaf": 17, **EAGER}
    tree = ModelTreeRegressor(criterion=Favourite(), **given).fit(X, y).tree_
    assert tree.n_samples[tree.left[0]] == 17


def test_a_large_penalty_leaves_the_mean(regression):
    X, y = regression
    model = ModelTreeRegressor(max_depth=0, alpha=1e12).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-6)


def test_the_lasso_sets_coefficients_to_zero(regression):
    X, y = regression
    model = ModelTreeRegressor(max_depth=0, alpha=40.0, l1_ratio=1.0).fit(X, y)
    assert 0 < (model.tree_.coef == 0).sum() < 4


def test_verbose_reports_on_standard_error(regression, capsys):
    ModelTreeRegressor(verbose=1).fit(*regression)
    shown = capsys.readouterr()
    assert "glassleaf: depth 0" in shown.err and not shown.out
    ModelTreeRegressor().fit(*regression)
    assert not capsys.readouterr().err


def test_many_rows_are_predicted_as_few_are(regression):
    X, y = regression
    model = ModelTreeRegressor().fit(X, y)
    many = np.tile(X, (300, 1))  # more than one piece of prediction
    np.testing.assert_array_equal(model.predict(many), np.tile(model.predict(X), 300))
    np.testing.assert_array_equal(model.apply(many), np.tile(model.apply(X), 300))
