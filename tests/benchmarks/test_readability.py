"""The longest model within a limit, results that go on where they stopped, and the picture."""

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.picture import draw, points_of
from benchmarks.readability import as_text, chosen, is_done, mean_of, read_results
from benchmarks.rivals import RIVALS, Fold, Model, best_within, score, shrunk, without_limit
from reproduction.datasets import Dataset, breast_cancer

NOTHING = np.empty(0)


def models(*numbers):
    return [Model(n, NOTHING) for n in numbers]


# --- which model counts at a limit ---------------------------------------------------------------


def test_the_longest_within_a_limit():
    assert best_within(models(3, 9, 12), 10).numbers == 9
    assert best_within(models(3, 9, 12), 9).numbers == 9


def test_none_if_all_are_longer():
    assert best_within(models(3, 9), 2) is None


def test_the_best_if_the_rival_can_tell():
    found = [Model(3, NOTHING, 0.7), Model(9, NOTHING, 0.6), Model(12, NOTHING, 0.9)]
    assert best_within(found, 10).numbers == 3
    assert without_limit(found).numbers == 12


def test_without_a_limit_the_longest_or_the_own_choice():
    assert without_limit(models(3, 12, 9)).numbers == 12
    assert without_limit([*models(3, 12), Model(9, NOTHING, is_own=True)]).numbers == 9


# --- rivals --------------------------------------------------------------------------------------


def test_the_first_nodes_of_a_tree_grown_best_first_are_the_smaller_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).astype(np.float32)
    y = X[:, 0] * (X[:, 1] > 0) + rng.normal(size=500)
    settings = {"min_samples_leaf": 5, "random_state": 0}
    large = DecisionTreeRegressor(max_leaf_nodes=64, **settings).fit(X, y)
    for leaves, prediction in shrunk(large, X, [2, 3, 10, 40]):
        small = DecisionTreeRegressor(max_leaf_nodes=leaves, **settings).fit(X, y)
        assert np.array_equal(prediction, small.predict(X))
    large = DecisionTreeClassifier(max_leaf_nodes=64, **settings).fit(X, y > 0)
    for leaves, prediction in shrunk(large, X, [2, 10]):
        small = DecisionTreeClassifier(max_leaf_nodes=leaves, **settings).fit(X, y > 0)
        assert np.array_equal(prediction, small.predict_proba(X)[:, 1])


def test_a_tree_that_stopped_has_no_more_leaves():
    X = np.arange(4, dtype=np.float32)[:, None]
    tree = DecisionTreeRegressor(max_leaf_nodes=100).fit(X, [0, 0, 1, 1])
    assert [leaves for leaves, _ in shrunk(tree, X, [1, 2, 50])] == [1, 2, 2]


@pytest.mark.parametrize("rival", ["glassleaf", "glassleaf, 8 leaves", "ridge", "lasso"])
def test_rivals_keep_to_the_limit_and_learn(rival):
    data = breast_cancer()
    rows = np.arange(len(data.y))
    fold = Fold(data, rows[::2], rows[1::2], limits=(10, 40))
    found = list(RIVALS[rival].models(fold))
    assert score(data, fold.test, without_limit(found).prediction) > 97
    short = best_within(found, 10)
    assert short is None or (short.numbers <= 10 and short.prediction.shape == (284,))


def test_what_a_rival_cannot_do_is_said():
    X, y = np.zeros((3, 1)), np.array([0, 1, 2])
    three = Dataset("three", X, y, "classification", "", "", "log_loss")
    assert RIVALS["scorecard"].cannot(three) == "takes two classes only"
    assert RIVALS["Cubist"].cannot(three) == "cannot be fitted with log loss"
    assert RIVALS["lasso"].cannot(three) is None


# --- results -------------------------------------------------------------------------------------

RUN = {"folds": 2, "first": 2, "rows": None, "numbers": [10, 20]}


def folds(*found):
    return {"score": "R2", "folds": [{"seconds": 1.0, "found": one} for one in found]}


LASSO = folds(
    {"20": [70.0, 12], "all": [80.0, 30]}, {"10": [6.0, 9], "20": [72.0, 14], "all": [82, 32]}
)
RESULTS = {"run": RUN, "tables": {"House": {"lasso": LASSO, "EBM": {"absent": "not installed"}}}}


def test_a_limit_counts_where_every_fold_has_a_model():
    assert mean_of(LASSO, "10") is None
    assert mean_of(LASSO, "20") == (71.0, 13.0)
    assert points_of(LASSO, RESULTS) == [(13.0, 71.0), (31.0, 81.0)]


def test_what_is_missing_is_named():
    text = as_text(RESULTS)
    assert "| lasso | – | 71.0 | 81.0 | 31 | 1.0 |" in text
    assert "* EBM: absent: not installed" in text


def test_a_run_takes_up_what_is_not_done():
    assert is_done(LASSO, minutes=5) and is_done({"cannot": "..."}, minutes=5)
    assert not is_done(None, minutes=5) and not is_done({"absent": "..."}, minutes=5)
    assert is_done({"stopped": 5}, minutes=5) and not is_done({"stopped": 5}, minutes=9)


def test_results_of_another_run_are_refused(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(RESULTS))
    assert read_results(path, RUN) == RESULTS
    with pytest.raises(SystemExit, match="folds=2, not 4"):
        read_results(path, {**RUN, "folds": 4})


def test_names_are_found_whole_or_in_part():
    assert chosen("", ["a", "b"]) == ["a", "b"]
    with pytest.raises(SystemExit, match="'nobody' is not one of"):
        chosen("nobody", ["lasso"])


def test_the_picture_is_the_same_twice(tmp_path):
    for name in ("a.svg", "b.svg"):
        draw(RESULTS, tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert text.startswith("<?xml") and "<dc:date>" not in text
