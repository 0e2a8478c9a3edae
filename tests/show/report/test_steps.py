"""The model as one formula and what differs, and models of other lengths in a report."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import zoo
from reports import labeled_rows, report_of

from glassleaf import explain
from glassleaf.explanations import words
from glassleaf.explanations.differences import differences
from glassleaf.explanations.formulas import constant
from glassleaf.show.report.view import page_view

KINDS = ["squared_error", "binary", "multiclass", "poisson, rank", "no split"]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_lead_from_short_models_to_the_longest(kind):
    model, report = zoo.case(kind).model, report_of(kind)[0]
    steps = report.contents.steps
    numbers = [step.numbers for step in steps]
    assert numbers == sorted(set(numbers)) and len(steps) <= 13
    assert numbers[-1] == model.path_[-1].numbers
    (chosen,) = [step for step in steps if step.is_chosen]
    assert len(chosen.differences) == model.tree_.node_count
    assert len(report.scored_steps) == len(steps)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_those_of_the_path(kind):
    model, report = zoo.case(kind).model, report_of(kind)[0]
    X, y = labeled_rows(kind)
    by_numbers = {step.numbers: step for step in model.path_}
    for step in report.contents.steps[::4]:
        own = by_numbers[step.numbers]
        assert (step.validated, step.error) == (own.validated, own.error)
        other = model.at(numbers=step.numbers)
        assert step.leaves == other.get_n_leaves()
        assert step.scores == other.report(X, y).contents.scores[:2]
        told = replace(explain(other), share_formula=True)
        assert step.differences == differences(told)


def on_the_way(explanation, leaf):
    """All nodes from a leaf up to the root."""
    while leaf is not None:
        yield leaf.id
        leaf = None if leaf.parent is None else explanation.nodes[leaf.parent]


@pytest.mark.parametrize("kind", KINDS)
def test_what_differs_adds_up_to_the_models_of_the_leaves(kind):
    explanation = explain(zoo.case(kind).model)
    found = {own.node: own for own in differences(explanation)}
    for leaf in explanation.leaves:
        for k in range(len(explanation.outputs)):
            total = defaultdict(float)
            for node in on_the_way(explanation, leaf):
                for coef, text, _ in found[node].sums[k]:
                    total[text] += coef
            start = constant(explanation, leaf.intercept[k], leaf.coef[k])
            assert total[""] == pytest.approx(start, abs=1e-9)
            for term, coef in zip(explanation.terms, leaf.coef[k], strict=True):
                if term.kind == "category":
                    label = words.name(term.category, 24)
                    text = f"[{words.name(term.feature)} = {label}]"
                    assert total[text] == pytest.approx(coef, abs=1e-9)


def test_models_whose_leaves_share_nothing_have_no_steps(rng):
    X, y = labeled_rows("squared_error")
    model = zoo.case("squared_error").model
    whole = type(model)(**{**model.get_params(), "max_numbers": None}).fit(X, y)
    report = whole.report(X, y)
    assert report.contents.steps == () and report.scored_steps == ()
    assert page_view(report.contents)["steps"] == []


def test_a_model_without_its_path_is_told_alone():
    model = zoo.case("squared_error").model.at(numbers=20)
    X, y = labeled_rows("squared_error")
    alone = type(model)(**model.get_params())
    alone.model_ = replace(model.model_, path=None)
    (step,) = alone.report(X, y).contents.steps
    assert step.is_chosen and step.validated is None
    assert step.numbers == model.complexity_.total
    assert step.differences == differences(explain(model))


def test_the_page_has_all_digits_of_short_numbers():
    report = report_of("squared_error")[0]
    for step, shown in zip(report.contents.steps, page_view(report.contents)["steps"], strict=True):
        for own, line in zip(step.differences, shown["lines"], strict=True):
            for pieces, products in zip(own.sums, line["sums"], strict=True):
                sizes = [float(size) * (-1 if negative else 1) for negative, size, _ in products]
                np.testing.assert_allclose(sizes, [piece[0] for piece in pieces], rtol=1e-8)
