"""Where leaves share their formula, it comes first, and below every split only what differs."""

from html import escape
from html.parser import HTMLParser

import needed
import pytest
import zoo
from reports import labeled_rows
from whole_models import ModelTreeRegressor as WholeRegressor

from glassleaf import TreeDisplay, explain, model_card
from glassleaf.explanations.differences import differences
from glassleaf.show.notebook import tree_html
from glassleaf.show.text.markdown import escaped


def shared(kind="squared_error", numbers=20):
    model = zoo.case(kind).model.at(numbers=numbers)
    assert explain(model).share_formula
    return model, differences(explain(model))


class Balanced(HTMLParser):
    """Every list and item that is opened is closed, the innermost first."""

    def __init__(self):
        super().__init__()
        self.ahead, self.deepest = [], 0

    def handle_starttag(self, tag, attrs):
        if tag in ("ul", "li"):
            self.ahead.append(tag)
            self.deepest = max(self.deepest, self.ahead.count("ul"))

    def handle_endtag(self, tag):
        if tag in ("ul", "li"):
            assert self.ahead.pop() == tag


@pytest.mark.parametrize("kind", ["squared_error", "binary", "multiclass"])
def test_a_notebook_nests_what_differs(kind):
    model, said = shared(kind, 25)
    html = tree_html(explain(model))
    for own in said:
        assert all(escape(text) in html for text in own.texts)
        assert own.condition is None or f"<li>{escape(own.where)}: " in html
    assert html.count("<b>leaf") == model.get_n_leaves()
    read = Balanced()
    read.feed(html)
    assert not read.ahead and read.deepest == model.get_depth()


@pytest.mark.parametrize("kind", ["squared_error", "binary", "multiclass"])
def test_markdown_and_card_say_the_formula_once(kind):
    model, said = shared(kind, 25)
    for text in (model_card(model), model.report(*labeled_rows(kind)).markdown()):
        lines = [line for line in text.splitlines() if line.lstrip().startswith("- **")]
        assert len(lines) == len(said)
        for own, line in zip(said, lines, strict=True):
            assert line.startswith("  " * own.depth + f"- **{escaped(own.where, 500)}**")
            assert all(escaped(words, 100_000) in line for words in own.texts)
        assert "| score |" not in text.partition("## What it says")[2]


def test_a_report_says_that_leaves_differ_from_one_formula():
    model, _ = shared()
    text = model.report(*labeled_rows("squared_error")).markdown()
    assert "It is one formula for all rows, and a decision tree" in text
    assert "## Model" in text and "- Leaf 1: " not in text
    assert "One formula for all rows, and a decision tree" in model_card(model)


def test_models_that_share_nothing_are_shown_leaf_by_leaf():
    X, y = labeled_rows("squared_error")
    model = WholeRegressor(max_depth=1, significance=None).fit(X, y)
    text = model.report(X, y).markdown()
    assert "## Model" not in text and "- Leaf 1: score" in text
    assert "each leaf has a formula of its own" in text
    assert "| score |" in model_card(model)


def test_bars_of_a_tree_are_pale_where_a_leaf_says_nothing_new():
    matplotlib = needed.module("matplotlib")
    matplotlib.use("agg")
    model, said = shared()
    tree, names = model.tree_, zoo.NAMES
    drawn = TreeDisplay.from_estimator(model, max_features=len(names))
    assert drawn.ax_.texts[-1].get_text().endswith("pale: as for all rows")
    lines = [0, *model.model_.leaves]
    bars = drawn.ax_.patches
    assert len(bars) == len(lines) * len(names)
    explanation = explain(model)
    order = list(explanation.importance)
    for k, node in enumerate(lines):
        for j, name in enumerate(order):
            terms = [t for t, term in enumerate(explanation.terms) if term.feature == name]
            is_same = (tree.coef[node, terms] == tree.coef[0, terms]).all()
            bar = bars[k * len(order) + j]
            assert (bar.get_alpha() < 1) == bool(k and is_same)
    matplotlib.pyplot.close(drawn.figure_)
