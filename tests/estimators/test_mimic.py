"""Mimic learning: students of known teachers, and of XGBoost."""

import needed
import numpy as np
import pandas as pd
import pytest
from bare import BARE
from problems import KINDS, fitted
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, explain, mimic


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_of_the_same_form_is_found_again(kind):
    teacher, X, _ = fitted(kind)
    is_classifier = kind in ("binary", "multiclass")
    given = {} if is_classifier else {"loss": kind}
    found = mimic(teacher, X, **BARE | given | {"max_depth": 3, "alpha": 1e-3})
    assert isinstance(found.student, ModelTreeClassifier if is_classifier else ModelTreeRegressor)
    assert found.fidelity.r2 > (0.5 if kind in ("poisson", "gamma") else 0.8)  # heavy tails
    assert found.fidelity.rows == 125
    if is_classifier:
        assert found.fidelity.agreement > 0.85
        assert list(found.student.classes_) == list(teacher.classes_)


def test_soft_labels_are_cross_entropy(rng):
    """A logistic teacher is found to many digits, though its labels would be separable."""
    X = rng.normal(size=(2000, 3))
    given = BARE | {"max_depth": 0, "alpha": 0.0}
    found = mimic(lambda X: np.column_stack([expit(-X[:, 0]), expit(X[:, 0])]), X, **given)
    np.testing.assert_allclose(found.student.tree_.coef[0], [1.0, 0.0, 0.0], atol=1e-6)
    assert found.student.tree_.n_samples[0] == 1500
    assert found.fidelity.r2 > 1 - 1e-9 and found.fidelity.auc > 0.999


def test_rows_are_counted_once():
    teacher, X, _ = fitted("multiclass")
    student = mimic(teacher, X, **BARE, min_samples_leaf=40).student
    explanation = explain(student)
    assert sum(leaf.rows for leaf in explanation.leaves) == explanation.rows == 375
    assert min(leaf.rows for leaf in explanation.leaves) >= 35


def test_predictions_may_be_given(rng):
    X = pd.DataFrame(rng.normal(size=(800, 2)), columns=["a", "b"])
    wanted = np.abs(X["a"]).to_numpy()
    given = mimic(wanted, X, max_depth=1)
    asked = mimic(lambda X: np.abs(X["a"]), X, max_depth=1)
    assert given.fidelity == asked.fidelity
    assert given.fidelity.r2 > 0.98
    difference = np.abs(given.student.predict(X) - wanted)
    assert set(given.fidelity.rows_apart) <= set(range(800))
    assert difference[given.fidelity.rows_apart[0]] == pytest.approx(
        max(difference[list(given.fidelity.rows_apart)])
    )


def test_the_worst_leaf_is_where_it_differs_most(rng):
    X = rng.uniform(-1, 1, size=(3000, 2))

    def teacher(X):
        return np.where(X[:, 0] > 0, np.sin(20 * X[:, 1]), 2.0 + X[:, 1])

    found = mimic(teacher, X, max_depth=1, split_features=[0])
    assert "x0 >" in found.fidelity.worst_leaf.rule_text
    differences = [leaf.mean_difference for leaf in found.fidelity.leaves]
    assert differences == sorted(differences, reverse=True) and differences[-1] < 0.05


def test_xgboost(rng):
    xgboost = needed.module("xgboost")
    X = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    score = np.where(X["a"] > 0, 2 * X["b"], -X["b"]) + X["c"]
    y = (score + rng.logistic(size=3000) > 0).astype(int)
    teacher = xgboost.XGBClassifier(n_estimators=50, max_depth=4).fit(X, y)
    found = mimic(teacher, X, **BARE)
    assert found.fidelity.auc > 0.95 and found.fidelity.agreement > 0.9
    label = LogisticRegression().fit(X, teacher.predict(X))
    linear = (label.predict(X) == teacher.predict(X)).mean()
    assert found.fidelity.agreement > linear
    regressor = xgboost.XGBRegressor(n_estimators=50, max_depth=4).fit(X, score)
    assert mimic(regressor, X, **BARE).fidelity.r2 > 0.95


@pytest.mark.parametrize(
    "teacher, given, message",
    [
        (lambda X: X[:, 0], {"holdout": 1.5}, "holdout=1.5"),
        (lambda X: np.full(len(X), np.nan), {}, "NaN or infinity"),
        (lambda X: X[:, :2], {}, "not probabilities"),
    ],
)
def test_what_is_refused(rng, teacher, given, message):
    with pytest.raises(ValueError, match=message):
        mimic(teacher, rng.normal(size=(100, 3)), **given)
