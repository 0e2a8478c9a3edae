"""Any model with per-row gradients may stand in the nodes."""

import pickle

import bare
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from threads import always_threads

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, SklearnModel, WeakModel

# A model of one's own sees standardized columns; the built-in one that it equals is told to.
CUSTOM = {"criterion": "gradient_standardized"}


class Quadratic:
    """Least squares on x and x**2 of every column."""

    def features(self, X):
        return np.column_stack([np.ones(len(X)), X, X**2])

    def fit(self, X, y, weight, start):
        root = np.sqrt(weight)
        features = self.features(X) * root[:, None]
        return np.linalg.lstsq(features, y * root, rcond=None)[0]

    def raw(self, model, X):
        return self.features(X) @ model

    def gradients(self, model, X, y):
        return (self.raw(model, X) - y)[:, None] * self.features(X)


@pytest.fixture
def parabolas(rng):
    X = rng.uniform(-1, 1, size=(600, 2))
    y = np.where(X[:, 0] > 0.3, X[:, 1] ** 2, 1.0 - 2 * X[:, 1] ** 2)
    return X, y + rng.normal(scale=0.01, size=600)


# --- a model that is not linear ------------------------------------------------------------------


def test_two_parabolas_are_found_by_a_quadratic_model(parabolas):
    X, y = parabolas
    model = ModelTreeRegressor(weak_model=Quadratic(), max_depth=1, **CUSTOM).fit(X, y)
    assert model.tree_.feature[0] == 0
    assert model.tree_.threshold[0] == pytest.approx(0.3, abs=0.03)
    assert model.score(X, y) > 0.995


def test_two_parabolas_are_too_much_for_two_lines(parabolas):
    X, y = parabolas
    assert ModelTreeRegressor(max_depth=1, curves=False).fit(X, y).score(X, y) < 0.7


def test_a_quadratic_model_is_a_weak_model():
    assert isinstance(Quadratic(), WeakModel)
    assert not isinstance(Ridge(), WeakModel)


def test_depth_zero_is_the_model_alone(parabolas):
    X, y = parabolas
    model = ModelTreeRegressor(weak_model=Quadratic(), max_depth=0, **CUSTOM).fit(X, y)
    alone = Quadratic()
    by_hand = alone.raw(alone.fit(X, y, np.ones(len(y)), None), X)
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-9, atol=1e-12)


def test_the_units_of_the_columns_do_not_matter(parabolas):
    X, y = parabolas
    plain = ModelTreeRegressor(weak_model=Quadratic(), max_depth=2, **CUSTOM).fit(X, y)
    moved = clone(plain).fit(X * [1e9, 1e-9] + [1e6, 0], y)
    np.testing.assert_array_equal(moved.tree_.feature, plain.tree_.feature)
    np.testing.assert_allclose(
        moved.predict(X * [1e9, 1e-9] + [1e6, 0]), plain.predict(X), rtol=1e-6, atol=1e-8
    )


def test_weights_reach_the_model(parabolas):
    X, y = parabolas
    weight = (X[:, 0] > 0.3).astype(float)
    model = ModelTreeRegressor(weak_model=Quadratic(), max_depth=1, **CUSTOM)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    dropped = clone(model).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(weighted.predict(X), dropped.predict(X))


def test_children_start_from_their_parent(parabolas):
    starts = []

    class Remembers(Quadratic):
        def fit(self, X, y, weight, start):
            starts.append(start)
            return super().fit(X, y, weight, start)

    X, y = parabolas
    ModelTreeRegressor(weak_model=Remembers(), max_depth=1, n_jobs=1, **CUSTOM).fit(X, y)
    alone = Quadratic()
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    assert starts[0] is None
    for start in starts[1:]:
        np.testing.assert_allclose(start, alone.fit(standard, y, np.ones(len(y)), None), rtol=1e-6)


def test_a_custom_model_survives_pickle_and_clone(parabolas):
    X, y = parabolas
    model = ModelTreeRegressor(weak_model=Quadratic(), max_depth=2, **CUSTOM).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)


def test_threads_do_not_change_custom_models(parabolas):
    X, y = parabolas
    with always_threads():
        one, two = (
            ModelTreeRegressor(weak_model=Quadratic(), n_jobs=jobs, **CUSTOM).fit(X, y)
            for jobs in (1, 2)
        )
    np.testing.assert_array_equal(one.tree_.threshold, two.tree_.threshold)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_a_custom_model_works_with_the_impurity_criterion(parabolas):
    X, y = parabolas
    model = ModelTreeRegressor(weak_model=Quadratic(), criterion="impurity").fit(X, y)
    plain = bare.regressor(criterion="impurity", max_depth=1).fit(X, y)
    assert model.tree_.threshold[0] == plain.tree_.threshold[0]


# --- the adapter ---------------------------------------------------------------------------------


def ridge_gradients(estimator, X, y):
    return (estimator.predict(X) - y)[:, None] * np.column_stack([X, np.ones(len(X))])


def logistic_gradients(estimator, X, y):
    residual = estimator.predict_proba(X)[:, 1] - y
    return residual[:, None] * np.column_stack([X, np.ones(len(X))])


def softmax_gradients(estimator, X, y):
    residual = estimator.predict_proba(X) - np.eye(3)[y.astype(int)]
    design = np.column_stack([X, np.ones(len(X))])
    return (residual[:, :, None] * design[:, None, :]).reshape(len(X), -1)


def assert_same_splits(found, expected):
    np.testing.assert_array_equal(found.tree_.feature, expected.tree_.feature)
    np.testing.assert_allclose(found.tree_.threshold, expected.tree_.threshold, rtol=1e-12)
    np.testing.assert_array_equal(found.tree_.n_samples, expected.tree_.n_samples)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("alpha", "depth"), [(1.0, 1), (50.0, 1), (1e-9, 3)])
def test_ridge_gives_the_splits_of_the_built_in_model(regression, rng, alpha, depth, weighted):
    X, y = regression
    weight = rng.random(len(y)) + 0.5 if weighted else None
    built_in = bare.regressor(alpha=alpha, max_depth=depth, **CUSTOM)
    adapter = SklearnModel(Ridge(alpha=alpha), ridge_gradients)
    adapted = ModelTreeRegressor(weak_model=adapter, max_depth=depth, **CUSTOM)
    built_in.fit(X, y, sample_weight=weight)
    adapted.fit(X, y, sample_weight=weight)
    assert_same_splits(adapted, built_in)
    if alpha < 1e-6:
        np.testing.assert_allclose(adapted.predict(X), built_in.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.5, 5.0])
def test_logistic_regression_gives_the_split_of_the_built_in_model(binary, alpha):
    X, y = binary
    adapter = SklearnModel(LogisticRegression(C=1 / alpha, tol=1e-9), logistic_gradients)
    built_in = bare.classifier(alpha=alpha, max_depth=1, **CUSTOM).fit(X, y)
    adapted = ModelTreeClassifier(weak_model=adapter, max_depth=1, **CUSTOM).fit(X, y)
    assert_same_splits(adapted, built_in)
    assert adapted.predict_proba(X).shape == (len(y), 2)


def test_softmax_regression_gives_the_split_of_the_built_in_model(multiclass):
    X, y = multiclass
    adapter = SklearnModel(LogisticRegression(C=1.0, tol=1e-9), softmax_gradients)
    built_in = bare.classifier(alpha=1.0, max_depth=1, **CUSTOM).fit(X, y)
    adapted = ModelTreeClassifier(weak_model=adapter, max_depth=1, **CUSTOM).fit(X, y)
    assert_same_splits(adapted, built_in)


def test_depth_zero_of_the_adapter_is_the_estimator(regression):
    X, y = regression
    adapter = SklearnModel(Ridge(alpha=1e-9), ridge_gradients)
    model = ModelTreeRegressor(weak_model=adapter, max_depth=0, **CUSTOM).fit(X, y)
    np.testing.assert_allclose(model.predict(X), Ridge(alpha=1e-9).fit(X, y).predict(X), rtol=1e-6)


# --- errors --------------------------------------------------------------------------------------


class WrongRaw(Quadratic):
    def raw(self, model, X):
        return super().raw(model, X)[:, None]


class WrongGradients(Quadratic):
    def gradients(self, model, X, y):
        return super().gradients(model, X, y).sum(axis=1)


class ShortGradients(Quadratic):
    def gradients(self, model, X, y):
        return super().gradients(model, X, y)[:-1]


class GrowingGradients(Quadratic):
    """A model whose number of parameters depends on the rows of its node."""

    def fit(self, X, y, weight, start):
        return len(X), super().fit(X, y, weight, start)

    def raw(self, model, X):
        return super().raw(model[1], X)

    def gradients(self, model, X, y):
        gradients = (self.raw(model, X) - y)[:, None] * self.features(X)
        return np.column_stack([gradients] + [gradients[:, :1]] * (model[0] % 5))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (WrongRaw, r"WrongRaw\.raw.*\(600, 1\).*\(600,\)"),
        (WrongGradients, r"WrongGradients\.gradients.*\(600,\)"),
        (ShortGradients, r"ShortGradients\.gradients.*\(599, 5\).*600"),
    ],
)
def test_wrong_shapes_are_errors_that_say_what_was_expected(parabolas, wrong, message):
    X, y = parabolas
    with pytest.raises(ValueError, match=message):
        ModelTreeRegressor(weak_model=wrong(), **CUSTOM).fit(X, y)


def test_nodes_with_different_numbers_of_parameters_are_an_error(parabolas):
    X, y = parabolas
    model = ModelTreeRegressor(weak_model=GrowingGradients(), max_depth=3, **CUSTOM)
    with pytest.raises(ValueError, match=r"GrowingGradients\.gradients.*5 at the root"):
        model.fit(X, y)


def test_gains_are_those_of_equation_6(parabolas):
    X, y = parabolas
    model = ModelTreeRegressor(weak_model=Quadratic(), **CUSTOM).fit(X, y)
    np.testing.assert_allclose(model.tree_.gain, gains_by_hand(model, X, y), rtol=1e-6)


def gains_by_hand(model, X, y):
    """Equation 6 at the split of every inner node."""
    tree, path = model.tree_, model.decision_path(X).toarray().astype(bool)
    weak, found = model.weak_model, np.zeros(tree.node_count)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    for node in np.flatnonzero(tree.left != -1):
        here = path[:, node]
        fitted = weak.fit(standard[here], y[here], np.ones(here.sum()), None)
        own = weak.gradients(fitted, standard[here], y[here])
        gradients = np.zeros((len(X), own.shape[1]))
        gradients[here] = own
        for side in (tree.left[node], tree.right[node]):
            total = gradients[path[:, side]].sum(axis=0)
            found[node] += total @ total / path[:, side].sum()
    return found


class OwnGain:
    """The paper's criterion, written down again."""

    uses = "gradient"

    def gain(self, left, right):
        return sum((side.sums**2).sum(axis=1) / side.weight for side in (left, right))


class RawGain(OwnGain):
    units = "raw"


def test_gradients_of_a_custom_model_have_no_units(parabolas):
    X, y = parabolas
    trees = [
        ModelTreeRegressor(weak_model=Quadratic(), criterion=criterion, max_depth=2).fit(X, y).tree_
        for criterion in ("gradient", "gradient_standardized", RawGain())
    ]
    for tree in trees:
        np.testing.assert_array_equal(tree.threshold, trees[0].threshold)
        np.testing.assert_allclose(tree.gain, trees[0].gain, rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, r"criterion='gradient_zscore'.*weak_model.*set criterion='gradient' or 'impurity'"),
        ({"criterion": "gradient_minmax"}, r"criterion='gradient_minmax'.*criterion='gradient'"),
        ({"criterion": OwnGain()}, r"criterion=.*OwnGain.*set its units to 'raw'"),
    ],
)
def test_renormalizing_a_custom_model_is_an_error(parabolas, given, words):
    X, y = parabolas
    with pytest.raises(ValueError, match=words):
        ModelTreeRegressor(weak_model=Quadratic(), **given).fit(X, y)


def test_errors_inside_a_custom_model_reach_the_user(parabolas):
    class Broken(Quadratic):
        def fit(self, X, y, weight, start):
            raise RuntimeError("no convergence")

    X, y = parabolas
    with pytest.raises(RuntimeError, match="no convergence"):
        ModelTreeRegressor(weak_model=Broken(), **CUSTOM).fit(X, y)
