"""Rows and their share: where weights give a leaf another share, both are said, else one."""

import re
from functools import cache

import matplotlib as mpl
import needed
import numpy as np
import pytest
from sklearn.base import clone
from whole_models import ModelTreeRegressor

from glassleaf import explain, model_card
from glassleaf.explanations import words
from glassleaf.show.report.view import page_view

mpl.use("agg")
needed.module("matplotlib")

from glassleaf.show.plots import LiftDisplay, TreeDisplay  # noqa: E402

BOTH = re.compile(r"([\d,]+)(?: rows)? \(([\d.]+%)\),?\s([\d.]+%) of the weight")


@cache
def fitted(is_weighted):
    """A tree of two leaves, the rows, and their weights: three in one leaf, one in the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] > 0.3, X[:, 1], -X[:, 1]) + 0.1 * rng.normal(size=600)
    weight = np.where(X[:, 0] > 0.3, 3.0, 1.0) if is_weighted else None
    model = ModelTreeRegressor(max_depth=1, n_jobs=1)
    return model.fit(X, y, weight), X, y, weight


def drawn(display):
    texts = [text.get_text() for text in display.figure_.findobj(mpl.text.Text)]
    mpl.pyplot.close(display.figure_)
    return "\n".join(texts)


def tree_plot(model, X, y, weight):
    return drawn(TreeDisplay.from_estimator(model))


def lift_plot(model, X, y, weight):
    return drawn(LiftDisplay.from_estimator(model, X, y, sample_weight=weight))


def page(model, X, y, weight):
    view = page_view(model.report(X, y, weight).contents)
    texts = [node["rows"] for node in view["nodes"]]
    for leaf in view["leaves"]:
        texts += [leaf["rows_text"], leaf["test_rows_text"]]
    return "\n".join(texts)


PLACES = {
    "text": lambda model, *rows: model.export_text(),
    "tree plot": tree_plot,
    "lift plot": lift_plot,
    "card": lambda model, *rows: model_card(model).replace("\\", ""),
    "notebook": lambda model, *rows: model._repr_mimebundle_()["text/html"],
    "page": page,
    "markdown": lambda model, X, y, weight: model.report(X, y, weight).markdown(),
}


@pytest.mark.parametrize("place", PLACES)
def test_both_shares_are_said_where_they_differ(place):
    model, X, y, weight = fitted(True)
    found = {match.groups() for match in BOTH.finditer(PLACES[place](model, X, y, weight))}
    leaves = explain(model).leaves
    assert found == {
        (str(leaf.rows), words.percent(leaf.rows / 600), words.percent(leaf.share))
        for leaf in leaves
    }
    assert len(leaves) == 2


@pytest.mark.parametrize("place", PLACES)
def test_one_share_is_said_where_they_are_the_same(place):
    model, X, y, weight = fitted(False)
    text = PLACES[place](model, X, y, weight)
    assert "of the weight" not in text
    for leaf in explain(model).leaves:
        assert re.search(rf"{leaf.rows}(?: rows)? \({words.percent(leaf.share)}\)", text)


def test_equal_weights_say_nothing_of_themselves():
    model, X, y, _ = fitted(False)
    weighted = clone(model).fit(X, y, np.full(600, 0.3))
    assert "of the weight" not in weighted.export_text()
