"""The certificate of signs: what it counts, and that it would see a step against one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from whole_models import ModelTreeClassifier

import glassleaf
from glassleaf import ModelTreeRegressor, check_signs, model_card
from glassleaf.tree.tree import LEAF


@pytest.fixture
def problem(rng):
    X = pd.DataFrame(rng.normal(size=(1500, 2)), columns=["dose", "age"])
    X["group"] = rng.choice(list("abc"), size=1500)
    X.loc[::9, "age"] = np.nan
    y = np.clip(X["dose"], -1, 0.5) * np.where(X["group"] == "a", 3, 1) - X["age"].fillna(2)
    return X, y + 0.2 * rng.normal(size=1500)


@pytest.mark.parametrize("numbers", ["auto", None])
def test_what_is_counted(problem, numbers):
    model = ModelTreeRegressor(monotonic_cst={"dose": 1, "age": -1}, max_numbers=numbers)
    tree = model.fit(*problem).tree_
    found = check_signs(model)
    assert found.holds and found.signs == {"dose": 1, "age": -1}
    n_pieces = [1 + len(tree.terms.hinges(j)) for j in (0, 1)]
    assert found.slopes == int((tree.left == LEAF).sum()) * sum(n_pieces)
    assert found.rows == 300 and found.steps >= 2 * 300 * 49
    assert found.text.endswith(" along 300 rows checked, none against the sign.")
    assert f"{found.steps:,} steps" in found.text
    along = check_signs(model, problem[0].iloc[:20])
    assert along.rows == 20 and along.slopes == found.slopes and along.holds


def test_steps_against_a_sign_are_seen(problem):
    model = ModelTreeRegressor(monotonic_cst={"dose": 1}).fit(*problem)
    tree = model.tree_
    for changed in (
        {"coef": tree.coef - 5 * (np.arange(tree.terms.n_terms) == 0)},
        {"coef": tree.coef - 5 * (np.arange(tree.terms.n_terms) == tree.terms.hinge_terms(0)[-1])},
    ):
        model.model_ = replace(model.model_, tree=replace(tree, **changed))
        found = check_signs(model)
        assert not found.holds and found.slopes_against and found.steps_against
        assert "AGAINST the sign" in found.text


def test_a_split_on_the_column_is_seen(rng):
    """Steps are predicted through the tree: a jump down between leaves counts."""
    X = rng.normal(size=(500, 2))
    y = X[:, 1] - 3.0 * (X[:, 0] > 0)
    model = ModelTreeRegressor(max_depth=1, curves=False).fit(X, y)
    assert model.tree_.feature[0] == 0
    flat = replace(model.tree_, coef=0 * model.tree_.coef)
    given = {**model.model_.parameters, "monotonic_cst": [1, 0]}
    model.model_ = replace(model.model_, tree=flat, parameters=given)
    found = check_signs(model)
    assert found.slopes_against == 0 and found.steps_against == 300


def test_models_without_signs_have_no_certificate(problem):
    X, y = problem
    assert check_signs(ModelTreeRegressor(max_depth=0).fit(X, y)) is None
    given = {"monotonic_cst": {"dose": 0}, "max_depth": 0}
    assert check_signs(ModelTreeRegressor(**given).fit(X, y)) is None


@pytest.mark.parametrize("signs", [{0: 1}, [1, 0], np.array([1, 0])])
def test_files_keep_it(rng, tmp_path, signs):
    X = rng.normal(size=(300, 2))
    model = ModelTreeRegressor(monotonic_cst=signs, max_depth=0).fit(X, X[:, 0])
    model.save(tmp_path / "model.json")
    assert check_signs(glassleaf.load(tmp_path / "model.json")) == check_signs(model)


def test_card_and_report_state_it(problem):
    X, y = problem
    label = np.where(y > y.median(), "yes", "no")
    model = ModelTreeClassifier(monotonic_cst={"dose": 1}, max_depth=1).fit(X, label)
    assert check_signs(model).text in model_card(model).replace("\\", "")
    report = model.report(X, label)
    own = check_signs(model, X)
    assert own.rows == 300 and own.text in report.markdown().replace("\\", "")
    assert report.contents.to_dict()["signs"]["steps_against"] == 0
