"""The estimators are at home in scikit-learn."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from glassleaf import ModelTreeClassifier, ModelTreeRegressor


@parametrize_with_checks(
    [
        ModelTreeRegressor(),
        ModelTreeClassifier(),
        # Of fifteen rows in three balanced classes, many short models are equally good.
        ModelTreeClassifier(class_weight="balanced", max_numbers=None),
    ]
)
def test_every_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.fixture(params=["regression", "binary", "multiclass"])
def problem(request):
    X, y = request.getfixturevalue(request.param)
    kind = ModelTreeRegressor if request.param == "regression" else ModelTreeClassifier
    return kind(max_depth=2), X, y


# --- composition ---------------------------------------------------------------------------------


def test_pipeline_predicts_what_the_steps_predict(problem):
    estimator, X, y = problem
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(estimator).fit(scaled, y)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))


def test_grid_search_runs_in_two_processes(problem):
    estimator, X, y = problem
    search = GridSearchCV(estimator, {"max_depth": [0, 1], "alpha": [0.1, 1.0]}, cv=3, n_jobs=2)
    search.fit(X, y)
    assert search.best_params_["max_depth"] == 1
    alone = clone(estimator).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), alone.predict(X))


def test_cross_val_predict_gives_one_prediction_per_row(problem):
    estimator, X, y = problem
    assert cross_val_predict(estimator, X, y, cv=3).shape == y.shape


def test_cross_val_predict_gives_probabilities(multiclass):
    X, y = multiclass
    found = cross_val_predict(ModelTreeClassifier(), X, y, cv=3, method="predict_proba")
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("data", ["binary", "multiclass"])
def test_calibration(data, method, request):
    X, y = request.getfixturevalue(data)
    calibrated = CalibratedClassifierCV(ModelTreeClassifier(max_depth=1), method=method, cv=3)
    probability = calibrated.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert calibrated.score(X, y) > 0.6


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_of_a_transformer_in_front_names_the_columns(problem, output):
    estimator, X, y = problem
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = make_pipeline(StandardScaler(), clone(estimator)).fit(frame, y)
    named = make_pipeline(StandardScaler(), estimator).set_output(transform=output).fit(frame, y)
    assert list(named[-1].feature_names_in_) == list("abcd")
    assert [column.name for column in named[-1].tree_.columns] == list("abcd")
    np.testing.assert_array_equal(named.predict(frame), plain.predict(frame))


def test_column_transformer_in_front_passes_text_through(regression):
    X, y = regression
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 0, "yes", "no"))
    before = make_column_transformer(
        (StandardScaler(), list("abcd")), remainder="passthrough", verbose_feature_names_out=False
    )
    before.set_output(transform="pandas")
    pipeline = make_pipeline(before, ModelTreeRegressor(max_depth=3)).fit(frame, y)
    assert pipeline[-1].tree_.columns[4].categories == ("no", "yes")
    assert pipeline.score(frame, y) > 0.9


# --- copies --------------------------------------------------------------------------------------


def test_clone_keeps_parameters_and_drops_the_fit(problem):
    estimator, X, y = problem
    estimator.set_params(alpha=0.5, split_features=[0, 1]).fit(X, y)
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "tree_")


def test_pickle_keeps_the_tree_and_the_predictions(problem):
    estimator, X, y = problem
    copy = pickle.loads(pickle.dumps(estimator.fit(X, y)))
    assert copy.tree_ == estimator.tree_
    np.testing.assert_array_equal(copy.predict(X), estimator.predict(X))


def test_pickle_keeps_categories_and_missing_values(regression):
    X, y = regression
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 0, "yes", None))
    frame.loc[::7, "a"] = np.nan
    estimator = ModelTreeRegressor().fit(frame, y)
    copy = pickle.loads(pickle.dumps(estimator))
    assert copy.tree_ == estimator.tree_
    np.testing.assert_array_equal(copy.predict(frame), estimator.predict(frame))


def test_trees_of_different_data_differ(regression):
    X, y = regression
    assert ModelTreeRegressor().fit(X, y).tree_ != ModelTreeRegressor().fit(X, -y).tree_


def test_refit_forgets_the_first_fit(problem):
    estimator, X, y = problem
    twice = clone(estimator).fit(X[:150, :2], y[:150]).fit(X, y)
    assert twice.tree_ == estimator.fit(X, y).tree_
    assert twice.n_features_in_ == 4


# --- weights -------------------------------------------------------------------------------------


def test_sample_weight_is_routed(problem):
    estimator, X, y = problem
    weight = np.where(X[:, 3] > 0, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(estimator).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), routed)
        pipeline.fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(estimator).fit(scaled, y, sample_weight=weight)
    assert pipeline[-1].tree_ == alone.tree_
    assert alone.tree_.n_samples[0] == np.count_nonzero(weight)


def test_sample_weight_is_routed_through_cross_validation_to_fit_and_score(problem):
    estimator, X, y = problem
    weight = np.linspace(0.1, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(estimator).set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=True)
        found = cross_validate(routed, X, y, params={"sample_weight": weight}, cv=3)
        plain = cross_val_score(clone(estimator), X, y, cv=3)
    assert not np.allclose(found["test_score"], plain)


@pytest.mark.parametrize("class_weight", [{0: 0.3, 1: 5.0, 2: 1.0}, {1: 2}])
def test_class_weight_is_the_equivalent_sample_weight(multiclass, class_weight):
    X, y = multiclass
    given = np.linspace(0.5, 1.5, len(y))
    by_class = ModelTreeClassifier(class_weight=class_weight).fit(X, y, sample_weight=given)
    by_row = ModelTreeClassifier().fit(X, y, given * compute_sample_weight(class_weight, y))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-12)
    assert by_class.tree_ == by_row.tree_


def test_class_weight_speaks_the_users_labels(binary):
    X, y = binary
    labels = np.array(["no", "yes"])[y]
    named = ModelTreeClassifier(class_weight={"no": 1, "yes": 3}).fit(X, labels)
    numbered = ModelTreeClassifier(class_weight={0: 1, 1: 3}).fit(X, y)
    assert named.tree_ == numbered.tree_


# --- answers agree with each other ---------------------------------------------------------------


def test_apply_decision_path_depth_and_leaves_agree(problem):
    estimator, X, y = problem
    estimator.fit(X, y)
    tree, leaves, path = estimator.tree_, estimator.apply(X), estimator.decision_path(X)
    assert path.shape == (len(X), tree.node_count)
    assert (tree.left[leaves] == -1).all()
    assert set(leaves) == set(np.flatnonzero(tree.left == -1))
    assert len(set(leaves)) == estimator.get_n_leaves()
    np.testing.assert_array_equal(np.bincount(leaves), np.where(tree.left < 0, tree.n_samples, 0))
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), tree.n_samples)
    assert (path[np.arange(len(X)), leaves] == 1).all()
    lengths = np.asarray(path.sum(axis=1)).ravel()
    np.testing.assert_array_equal(lengths, tree.depth[leaves] + 1)
    assert lengths.max() - 1 == estimator.get_depth()
    for row in range(0, len(X), 17):
        nodes = path[row].indices
        for parent, child in zip(nodes, nodes[1:], strict=False):
            assert child in (tree.left[parent], tree.right[parent])


def test_probabilities_logarithms_scores_and_labels_agree(multiclass, binary):
    for X, y in (multiclass, binary):
        estimator = ModelTreeClassifier(max_depth=2).fit(X, y)
        probability = estimator.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(estimator.predict_log_proba(X), np.log(probability), rtol=1e-12)
        np.testing.assert_array_equal(
            estimator.predict(X), estimator.classes_[probability.argmax(axis=1)]
        )
        score = estimator.decision_function(X)
        if score.ndim == 1:
            np.testing.assert_array_equal(score > 0, probability[:, 1] > 0.5)
        else:
            np.testing.assert_array_equal(score.argmax(axis=1), probability.argmax(axis=1))


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [3, 7],
        [-1, 1],
        [False, True],
        [1.0, 2.0],
        np.array(["a", "bcd"]),
        np.array(["a", "bcd"], dtype=object),
        np.array([0, 1], dtype=np.uint8),
    ],
    ids=lambda labels: f"{np.asarray(labels).dtype}-{labels[0]}",
)
@pytest.mark.parametrize("container", [np.asarray, list, pd.Series], ids=lambda c: c.__name__)
def test_labels_of_any_type_come_back(binary, labels, container):
    X, y = binary
    given = np.asarray(labels)[y]
    reference = ModelTreeClassifier(max_depth=1).fit(X, y)
    estimator = ModelTreeClassifier(max_depth=1).fit(X, container(given))
    np.testing.assert_array_equal(estimator.classes_, np.asarray(labels))
    assert estimator.predict(X).dtype == estimator.classes_.dtype
    np.testing.assert_array_equal(estimator.predict(X), np.asarray(labels)[reference.predict(X)])
    assert estimator.tree_ == reference.tree_


def test_fit_leaves_its_input_alone(problem):
    estimator, X, y = problem
    before, weight = (X.copy(), y.copy()), np.ones(len(y))
    estimator.fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    np.testing.assert_array_equal(weight, 1.0)


def test_the_check_that_needs_array_api_mode_passes_in_it():
    """scikit-learn skips it unless the environment says so before scipy is imported."""
    code = (
        "from sklearn.utils.estimator_checks import check_array_api_input as check\n"
        "from glassleaf import ModelTreeClassifier, ModelTreeRegressor\n"
        "for kind in (ModelTreeClassifier, ModelTreeRegressor):\n"
        "    check(kind.__name__, kind(), array_namespace='numpy',"
        " expect_only_array_outputs=False)\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_balanced_classes_count_weights_and_not_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + rng.normal(size=600) > 0.5).astype(int)
    weight = rng.integers(0, 4, 600).astype(float)
    weight[(y == 1) & (rng.random(600) < 0.8)] = 0.0
    # For the robust test a row is one observation, whatever it weighs.
    given = {"class_weight": "balanced", "significance_test": "likelihood", "max_numbers": None}
    model = ModelTreeClassifier(max_depth=1, **given)
    weighted = clone(model).fit(X, y, sample_weight=weight).predict_proba(X)
    times = weight.astype(int)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)
    total = np.bincount(y, weight)
    by_hand = weight * (total.sum() / 2 / total)[y]
    plain = clone(model).set_params(class_weight=None).fit(X, y, sample_weight=by_hand)
    np.testing.assert_allclose(plain.predict_proba(X), weighted, rtol=1e-9)


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1), ("gamma", 2)])
def test_counts_and_amounts_are_scored_by_their_deviance(rng, loss, power):
    X = rng.normal(size=(600, 2))
    mean = np.exp(X[:, 0])
    y = rng.poisson(mean) if loss == "poisson" else rng.gamma(2.0, mean / 2)
    model = ModelTreeRegressor(loss=loss, n_jobs=1).fit(X, y)
    weight = rng.uniform(size=600)
    for w in (None, weight):
        theirs = d2_tweedie_score(y, model.predict(X), power=power, sample_weight=w)
        assert model.score(X, y, w) == pytest.approx(theirs)
    with pytest.raises(ValueError, match=r"y|target"):
        model.score(X, -y - 1.0)
