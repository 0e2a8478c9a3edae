"""The scorecard, read back from CSV and Excel and added up by hand: 10,000 rows."""

import csv
import io
from dataclasses import replace

import needed
import numpy as np
import pandas as pd
import pytest
import zoo
from whole_models import ModelTreeClassifier, ModelTreeRegressor

import glassleaf
from glassleaf import explain
from glassleaf.errors import ExportError
from glassleaf.export import to_scorecard

KINDS = [kind for kind in zoo.KINDS if not kind.startswith("multiclass")]


def scored_by_hand(lines, case):
    """What someone with the printed cards would do: find the lines that hold, add their points."""
    cards = {}
    for line in lines:
        cards.setdefault(int(line["node"]), {}).setdefault(line["column"], []).append(line)
    ways = case.model.decision_path(case.table)
    return np.array([
        one_by_hand([cards[node] for node in way.indices if node in cards], row)
        for way, row in zip(ways, case.records, strict=True)
    ])  # fmt: skip


def one_by_hand(cards, row):
    """The points of a row: those of all cards whose segment it belongs to, within the limits."""
    score, limits, last = 0.0, [], 0.0
    for card in cards:
        base, *limit = card[""]
        score += float(base["points"])
        for name, lines in card.items():
            if lines[0]["attribute"] == "added last":
                value = np.log(row[name[4:-1]]) if name.startswith("log(") else row[name]
                last += float(lines[0]["per_unit"]) * value
            else:
                score += points_of(lines, row[name]) if name else 0.0
        limits += limit
    return limited(score, limits) + last


def limited(score, lines):
    """The last line of a card may say within which limits the score counts."""
    for line in lines:
        assert line["attribute"].startswith("score ") and float(line["points"]) == 0.0
        low, high = (line[end] for end in ("above", "up_to"))
        score = max(score, float(low)) if low not in ("", None) else score
        score = min(score, float(high)) if high not in ("", None) else score
    return score


def points_of(lines, value):
    if lines[-2]["attribute"] == "any other":
        kind = str(value) if isinstance(value, str) else f"{value:.0f}" if value else ""
        wanted = "missing" if value is None else f"= {kind}"
        named = {line["attribute"]: line for line in lines}
        return float(named.get(wanted, named["any other"])["points"])
    if value is None:
        return float(lines[-1]["points"])
    special = {
        float(line["attribute"].split()[1]): line for line in lines if "(" in line["attribute"]
    }
    if value in special:
        return float(special[value]["points"])
    for line in lines[: -1 - len(special)]:
        above, up_to = (float(line[end]) if line[end] else None for end in ("above", "up_to"))
        if (above is None or value > above) and (up_to is None or value <= up_to):
            return float(line["points"]) + float(line["per_unit"]) * (value - (above or 0.0))
    raise AssertionError((lines, value))


def test_leaves_have_the_names_of_reports_and_of_apply():
    case = zoo.case("binary, rank, clamp")
    found = {(row["leaf"], row["node"]) for row in to_scorecard(case.model).rows()}
    assert found == {(leaf.leaf, leaf.id) for leaf in explain(case.model).leaves}
    assert {node for _, node in found} == set(case.model.apply(case.table))


def test_what_leaves_share_is_one_card():
    model = zoo.case("binary").model
    first, *others = {row["segment"]: row["leaf"] for row in to_scorecard(model).rows()}.items()
    assert first == ("all rows", None) and others
    told = {leaf.rule_text: leaf.leaf for leaf in explain(model).nodes}
    assert all(told[segment] == leaf for segment, leaf in others)
    columns = [row["column"] for row in to_scorecard(model).rows() if row["segment"] == "all rows"]
    root = {name for name, size in explain(model).nodes[0].strength.items() if size}
    assert set(filter(None, columns)) == root


@pytest.mark.parametrize("kind", KINDS)
def test_points_from_the_csv_add_up(kind):
    case = zoo.case(kind)
    scale = {"base_score": 500, "base_odds": 20, "pdo": 40}
    card = to_scorecard(case.model, integer=False, **scale)
    text = card.to_csv()
    found = scored_by_hand(unguarded(csv.DictReader(io.StringIO(text, newline=""))), case)
    if kind.startswith(("poisson", "gamma", "tweedie", "negative_binomial")):
        expected = 500 + 40 * (case.raw - np.log(20)) / np.log(2)
    elif case.expected.ndim == 1:
        expected = case.expected
    else:
        expected = 500 + 40 * (-case.raw / np.log(2) - np.log2(20))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(card.score(case.table), expected, rtol=1e-9, atol=1e-8)


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
    scale = dict(book["scale"].iter_rows(values_only=True))
    assert scale["pdo"] == 20 and scale.get("good") == card.good and scale.get("bad") == card.bad
    types = {cell.data_type for sheet in book for line in sheet.iter_rows() for cell in line}
    assert "f" not in types  # no formula


def test_points_double_the_odds(rng):
    X = pd.DataFrame({"x": rng.normal(size=2000)})
    bad = (rng.random(2000) < 1 / (1 + np.exp(3 - X["x"]))).astype(int)
    model = ModelTreeClassifier(max_depth=0, clamp=False, curves=False).fit(X, bad)
    base, slope, _ = to_scorecard(model, integer=False).attributes
    # At x = 0 the odds of being good, and the score that belongs to them by the definition.
    odds = np.divide(*model.predict_proba(pd.DataFrame({"x": [0.0]}))[0])
    assert base.points == pytest.approx(600 + 20 * np.log2(odds / 50))
    assert slope.per_unit < 0  # more x, more bad
    other = to_scorecard(model, integer=False, good=1).attributes[1]
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
    tree, card = case.model.tree_, to_scorecard(case.model)
    scale = 20 / np.log(2)
    for line in card.attributes:
        if line.attribute.startswith("score "):
            base = 600 - scale * np.log(50)
            high, low = base - scale * np.array(
                [tree.score_low[line.node], tree.score_high[line.node]]
            )
            assert line.above == (None if low == -np.inf else round(low))
            assert line.up_to == (None if high == np.inf else round(high))
    texts = [line.attribute for line in card.attributes if line.attribute.startswith("score ")]
    assert len(texts) == tree.n_leaves and len({text[6] for text in texts}) == 2


def test_points_are_whole():
    card = to_scorecard(zoo.case("binary").model)
    assert all(a.points == round(a.points) for a in card.attributes)


@pytest.mark.parametrize(
    "kind", ["binary", "binary, rank, clamp", "binary, curves, quantiles", "binary, limits"]
)
def test_rounded_points_add_up_but_for_what_each_lost(kind):
    """Within what training saw, which is what points per unit are rounded for."""
    case = zoo.case(kind)
    record = case.model.tree_.record
    inside = case.table.copy()
    for j, name in enumerate(zoo.NAMES[:4]):
        inside[name] = inside[name].clip(record.low[j], record.high[j])
    exact, rounded = (
        to_scorecard(case.model, inside, integer=integer) for integer in (False, True)
    )
    n_added = (1 + case.model.n_features_in_) * (1 + case.model.get_depth())
    off = np.abs(rounded.score(inside) - exact.score(inside)).max()
    assert off <= 0.6 * n_added
    assert rounded.rounding == pytest.approx(off, abs=1e-6) and exact.rounding < 1e-6
    by_hand = replace(case, table=inside, rows=zoo.rows_of(inside))
    np.testing.assert_allclose(
        scored_by_hand(rounded.rows(), by_hand), rounded.score(inside), rtol=1e-9, atol=1e-8
    )


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


# --- bins and rows -------------------------------------------------------------------------------


@pytest.fixture
def loans(rng):
    """Bad loans: fewer with income, which is a whole number, and by a kind; half where small."""
    n = 4000
    table = pd.DataFrame({"income": rng.integers(0, 60, n), "debt": rng.normal(size=n)})
    table["kind"] = rng.choice(["car", "home", "toy"], n)
    score = -1 + 0.06 * table["income"] - 0.5 * table["debt"] + (table["kind"] == "home")
    score = np.where(table["debt"] > 0.5, score - 0.05 * table["income"], score)
    bad = rng.random(n) < 1 / (1 + np.exp(score))
    return table, np.where(bad, "bad", "fine")


@pytest.fixture
def fitted_loans(loans):
    X, y = loans
    return glassleaf.ModelTreeClassifier(max_numbers=12, positive_class="bad").fit(X, y)


def test_bins_are_counted_by_hand(loans, fitted_loans):
    X, y = loans
    card = to_scorecard(fitted_loans, X, y, bins="auto")
    assert (card.good, card.bad) == ("fine", "bad")
    nodes = fitted_loans.decision_path(X).toarray().astype(bool)
    for line in card.attributes:
        here = nodes[:, line.node]
        held = here & holds(line, X, card) if line.column else here
        bad = y == "bad"
        assert line.count == held.sum() and line.bads == (held & bad).sum()
        if line.count == 0 or line.bads in (0, line.count):
            continue
        of_good, of_bad = (
            (held & ~bad).sum() / (here & ~bad).sum(),
            (held & bad).sum() / (here & bad).sum(),
        )
        assert line.rate == pytest.approx(line.bads / line.count)
        assert line.woe == pytest.approx(np.log(of_good / of_bad))
        assert line.iv == pytest.approx((of_good - of_bad) * line.woe)


def holds(line, X, card):
    """Whom a line is for, from what it says."""
    values = X[line.column]
    if line.attribute == "missing":
        return values.isna().to_numpy()
    if line.column == "kind":
        named = [a.attribute for a in card.attributes if (a.node, a.column) == (line.node, "kind")]
        is_named = ("= " + values).isin(named) if line.attribute == "any other" else None
        return ~is_named if is_named is not None else ("= " + values) == line.attribute
    low = -np.inf if line.above is None else line.above
    high = np.inf if line.up_to is None else line.up_to
    return ((values > low) & (values <= high)).to_numpy()


def test_bins_are_few_whole_and_near_the_model(loans, fitted_loans):
    X, y = loans
    card = to_scorecard(fitted_loans, X, y, bins="auto")
    ends = [a.up_to for a in card.attributes if a.column == "income" and a.up_to is not None]
    assert ends and all(end == round(end) for end in ends)
    assert all(a.per_unit == 0 and a.points == round(a.points) for a in card.attributes)
    for node in {a.node for a in card.attributes}:
        for column in ("income", "debt"):
            assert sum(a.node == node and a.column == column for a in card.attributes) <= 9
    exact = to_scorecard(fitted_loans, integer=False).score(X)
    off = np.abs(card.score(X) - exact)
    assert card.rounding == pytest.approx(off.max())
    assert off.mean() < 4 and np.corrcoef(card.score(X), exact)[0, 1] > 0.99


def test_bins_of_ones_own(loans, fitted_loans):
    X, y = loans
    card = to_scorecard(fitted_loans, X, y, bins={"income": [40, 20]})
    first = [a for a in card.attributes if a.column == "income" and a.node == 0]
    assert [a.attribute for a in first] == ["≤ 20", "> 20 and ≤ 40", "> 40", "missing"]
    steps = np.diff([a.points for a in first[:3]])
    assert (steps > 0).all()


def test_a_page_of_the_card_holds_no_markup_of_names(tmp_path, rng):
    table = pd.DataFrame({"<b>": rng.choice(["<script>", "b"], 300)})
    model = glassleaf.ModelTreeClassifier(max_depth=0).fit(table, table["<b>"] == "b")
    page = to_scorecard(model, table, bins="auto").to_html(tmp_path / "card.html")
    assert (tmp_path / "card.html").read_text(encoding="utf-8") == page
    assert "<script>" not in page and "&lt;b&gt;" in page


def test_wrong_bins(fitted_loans, loans):
    with pytest.raises(ValueError, match="bins needs the rows"):
        to_scorecard(fitted_loans, bins="auto")
    with pytest.raises(ValueError, match="bins='few' must be"):
        to_scorecard(fitted_loans, loans[0], bins="few")
    with pytest.raises(ValueError, match="bins names 'wealth'"):
        to_scorecard(fitted_loans, loans[0], bins={"wealth": [1]})
