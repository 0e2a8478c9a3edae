"""How much there is to read is said wherever a model is shown."""

import zoo

from glassleaf import explain, leaf_table, model_card
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
    assert repr(model).startswith("ModelTreeClassifier(")


def test_leaves_say_how_many_numbers_their_rows_need():
    model = zoo.case("binary").model
    table = leaf_table(model)
    assert dict(zip(table["node"], table["numbers"], strict=True)) == model.complexity_.per_leaf


def test_one_leaf_needs_all_numbers():
    model = zoo.case("no split").model
    assert numbers_text(explain(model)) == f"{model.complexity_.total} numbers to read"
