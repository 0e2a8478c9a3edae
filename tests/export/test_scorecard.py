"""The scorecard, read back from CSV and Excel and added up by hand: 10,000 rows."""

import csv
import io

import needed
import numpy as np
import pandas as pd
import pytest
import zoo
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import explain
from glassleaf.errors import ExportError
from glassleaf.export import to_scorecard
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.plain import leaf_numbers

KINDS = [kind for kind in zoo.KINDS if not kind.startswith("multiclass")]


def scored_by_hand(lines, case):
    """What someone with the printed card would do: find the lines that hold, add their points."""
    cards = {}
    for line in lines:
        column = line["column"]
        cards.setdefault(int(line["leaf"]), {}).setdefault(column, []).append(line)
    out = []
    number = leaf_numbers(plain_model(case.model.model_))
    for leaf, row in zip(case.model.apply(case.table), case.records, strict=True):
        card = cards[number[leaf]]
        score = float(card[""][0]["points"])
        for name, column_lines in card.items():
            score += points_of(column_lines, row[name]) if name else 0.0
        out.append(limited(score, card[""][1:]))
    return np.array(out)


def limited(score, lines):
    """The last line of a card may say within which limits the score counts."""
    for line in lines:
        assert line["attribute"].startswith("score ") and float(line["points"]) == 0.0
        low, high = (line[end] for end in ("above", "up_to"))
        score = max(score, float(low)) if low not in ("", None) else score
        score = min(score, float(high)) if high not in ("", None) else score
    return score


def points_of(lines, value):
    if lines[0]["attribute"].startswith("= "):
        kind = str(value) if isinstance(value, str) else f"{value:.0f}" if value else ""
        wanted = "missing" if value is None else f"= {kind}"
        named = {line["attribute"]: line for line in lines}
        return float(named.get(wanted, named["never seen"])["points"])
    if value is None:
        return float(lines[-1]["points"])
    for line in lines[:-1]:
        above, up_to = (float(line[end]) if line[end] else None for end in ("above", "up_to"))
        if (above is None or value > above) and (up_to is None or value <= up_to):
            return float(line["points"]) + float(line["per_unit"]) * (value - (above or 0.0))
    raise AssertionError((lines, value))


def test_leaves_have_the_names_of_reports_and_of_apply():
    case = zoo.case("binary")
    found = {(row["leaf"], row["node"]) for row in to_scorecard(case.model).rows()}
    assert found == {(leaf.leaf, leaf.id) for leaf in explain(case.model).leaves}
    assert {node for _, node in found} == set(case.model.apply(case.table))


@pytest.mark.parametrize("kind", KINDS)
def test_points_from_the_csv_add_up(kind):
    case = zoo.case(kind)
    text = to_scorecard(case.model, base_score=500, base_odds=20, pdo=40).to_csv()
    found = scored_by_hand(unguarded(csv.DictReader(io.StringIO(text, newline=""))), case)
    if kind.startswith(("poisson", "gamma")):
        expected = 500 + 40 * np.log2(case.expected / 20)
    elif case.expected.ndim == 1:
        expected = case.expected
    else:
        expected = 500 + 40 * (-case.raw / np.log(2) - np.log2(20))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)


def unguarded(lines):
    """A text that begins like a formula stands behind an apostrophe."""
    return [{k: v.removeprefix("'") for k, v in line.items()} for line in lines]


@pytest.mark.parametrize("kind", ["binary, rank, clamp", "huber, winsor, clamp"])
def test_excel_holds_the_same(tmp_path, kind):
    openpyxl = needed.module("openpyxl")
    card = to_scorecard(zoo.case(kind).model)
    card.to_excel(tmp_path / "card.xlsx")
    book = openpyxl.load_workbook(tmp_path / "card.xlsx")
    head, *lines = book["scorecard"].iter_rows(values_only=True)
    assert list(head) == list(card.rows()[0])
    for line, row in zip(lines, card.rows(), strict=True):
        assert line[0] == row["leaf"] and line[3] == (row["column"] or None)
        assert list(line[5:]) == pytest.approx(list(row.values())[5:], nan_ok=True)
    assert dict(book["scale"].iter_rows(values_only=True))["pdo"] == 20
    types = {cell.data_type for sheet in book for line in sheet.iter_rows() for cell in line}
    assert "f" not in types  # no formula


def test_points_double_the_odds(rng):
    X = pd.DataFrame({"x": rng.normal(size=2000)})
    bad = (rng.random(2000) < 1 / (1 + np.exp(3 - X["x"]))).astype(int)
    model = ModelTreeClassifier(max_depth=0, clamp=False, curves=False).fit(X, bad)
    base, slope, _ = to_scorecard(model, base_score=600, base_odds=50, pdo=20).attributes
    # At x = 0 the odds of being good, and the score that belongs to them by the definition.
    odds = np.divide(*model.predict_proba(pd.DataFrame({"x": [0.0]}))[0])
    assert base.points == pytest.approx(600 + 20 * np.log2(odds / 50))
    assert slope.per_unit < 0  # more x, more bad
    other = to_scorecard(model, good=1).attributes[1]
    assert other.per_unit == pytest.approx(-slope.per_unit)


def test_a_curve_is_lines_of_the_same_column(rng):
    X = pd.DataFrame({"x": rng.uniform(-3, 3, size=2000)})
    model = ModelTreeRegressor(max_depth=0, curves=True).fit(X, X["x"] ** 2)
    _, *lines, missing, limits = to_scorecard(model).attributes
    assert limits.attribute.startswith("score ")
    bends, ends = model.tree_.terms.hinge_at, (model.tree_.clamp_low[0], model.tree_.clamp_high[0])
    assert len(bends) > 1
    assert [line.up_to for line in lines[:-1]] == sorted({*bends, *np.ravel(ends)})
    slopes = [line.per_unit for line in lines]
    assert slopes[0] == slopes[-1] == 0.0 and slopes[1] < -1 and slopes[-2] > 1
    assert {line.column for line in lines} == {"x"} and missing.attribute == "missing"


def test_limits_are_the_last_line_of_a_card():
    case = zoo.case("binary, limits")
    tree, card = case.model.tree_, to_scorecard(case.model, decimals=1)
    scale = 20 / np.log(2)
    for line in card.attributes:
        if line.attribute.startswith("score "):
            base = 600 - scale * np.log(50)
            high, low = base - scale * np.array(
                [tree.score_low[line.node], tree.score_high[line.node]]
            )
            assert line.above == (None if low == -np.inf else round(low, 1))
            assert line.up_to == (None if high == np.inf else round(high, 1))
    texts = [line.attribute for line in card.attributes if line.attribute.startswith("score ")]
    assert len(texts) == tree.n_leaves and len({text[6] for text in texts}) == 2


def test_rounded_points():
    card = to_scorecard(zoo.case("binary").model, decimals=0)
    assert all(a.points == round(a.points) for a in card.attributes)


@pytest.mark.parametrize("decimals", [0, 2])
@pytest.mark.parametrize(
    "kind", ["binary", "binary, rank, clamp", "binary, curves, quantiles", "binary, limits"]
)
def test_rounded_points_add_up_but_for_what_each_lost(kind, decimals):
    case = zoo.case(kind)
    exact, rounded = (
        scored_by_hand(to_scorecard(case.model, decimals=digits).rows(), case)
        for digits in (None, decimals)
    )
    n_added = 1 + case.model.n_features_in_  # the base, and a line of every column
    assert np.abs(rounded - exact).max() <= 0.6 * n_added * 10.0**-decimals


def test_no_cell_is_a_formula(tmp_path, rng):
    table = pd.DataFrame({"=1+1": rng.choice(["=cmd|' /C calc'!A0", "@x"], 200)})
    model = ModelTreeRegressor(max_depth=0).fit(table, rng.normal(size=200))
    text = to_scorecard(model).to_csv(tmp_path / "card.csv")
    assert (tmp_path / "card.csv").read_text() == text
    for line in csv.reader(io.StringIO(text)):
        assert not any(cell.startswith(("=", "@")) for cell in line)


def test_wrong_arguments():
    with pytest.raises(ExportError, match="one score"):
        to_scorecard(zoo.case("multiclass").model)
    with pytest.raises(ValueError, match="pdo=0 must be"):
        to_scorecard(zoo.case("binary").model, pdo=0)
    with pytest.raises(ValueError, match="good=2 must be one of the classes"):
        to_scorecard(zoo.case("binary").model, good=2)
