"""How much there is to read is said wherever a model is shown."""

import zoo
from sklearn.linear_model import Ridge

from glassleaf import ModelTreeRegressor, SklearnModel, explain, leaf_table, model_card
from glassleaf.explanations.formulas import numbers_text


def test_numbers_to_read_are_shown_everywhere():
    case = zoo.case("binary")
    model, found = case.model, case.model.complexity_
    assert 1 < found.per_row < found.total
    text = f"{found.total} numbers to read, at most {found.per_row} of them for one row"
    y = model.predict(case.table)
    assert f"There are {text}." in model_card(model)
    assert f"There are {text}." in model.report(case.table, y).markdown()
    assert text in model._repr_html_()
    assert f", {found.total} numbers to read" in model.export_text()
    assert repr(model).startswith("ModelTreeClassifier(") and "numbers" not in repr(model)
    assert f"{found.total} numbers to read, fitted on" in str(model)


def test_leaves_say_how_many_numbers_their_rows_need():
    model = zoo.case("binary").model
    table = leaf_table(model)
    assert dict(zip(table["node"], table["numbers"], strict=True)) == model.complexity_.per_leaf


def test_one_leaf_needs_all_numbers():
    model = zoo.case("no split").model
    assert numbers_text(explain(model)) == f"{model.complexity_.total} numbers to read"


def test_printing_says_how_large_a_model_is_and_how_well_it_does(rng):
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600)
    model = ModelTreeRegressor(n_jobs=1)
    assert str(model) == repr(model)
    model.fit(X, y)
    first, last = str(model).split("\n")
    assert first == repr(model)
    steps = {step.numbers: step for step in model.path_}
    share = 1 - steps[model.complexity_.total].validated / model.path_[0].validated
    assert last == (
        f"1 leaf, {model.complexity_.total} numbers to read, fitted on 600 rows,"
        f" explains {100 * share:.1f}% of the loss in cross-validation"
    )
    whole = ModelTreeRegressor(max_numbers=None, n_jobs=1).fit(X, y)
    assert "cross-validation" not in str(whole)
    ridge = SklearnModel(Ridge(), lambda model, X, y: X * (model.predict(X) - y)[:, None])
    own = ModelTreeRegressor(weak_model=ridge, max_depth=0, criterion="gradient", n_jobs=1)
    assert str(own.fit(X, y)).split("\n")[-1] == "1 leaf, fitted on 600 rows"


def test_a_notebook_shows_the_model_first_and_folds_the_parameters():
    model = zoo.case("binary").model
    text = model._repr_html_()
    places = [text.index(what) for what in ("glassleaf-tree", "<details", "sk-estimator")]
    assert places == sorted(places) and text.endswith("</details>")
    assert "<details" not in ModelTreeRegressor()._repr_html_().split("sk-estimator")[0]
