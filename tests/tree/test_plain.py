"""The plain model: what differs at its nodes adds up to the models of its leaves."""

from dataclasses import replace

import numpy as np
import pytest
import zoo

from glassleaf import explain
from glassleaf.explanations.differences import differences as told_differences
from glassleaf.export import to_c, to_python, to_sql
from glassleaf.tree.file.serialize import plain_model

SHARED = ["squared_error", "poisson, rank", "binary", "multiclass", "curves"]
APART = ["huber, winsor, clamp", "poisson, curves, winsor", "binary, limits", "no split"]


def entries(model):
    """Every number of a sum, by what it is."""
    out = {("intercept", k): number for k, number in enumerate(model.intercept)}
    for term in model.terms:
        named = [("missing", term.missing), ("slope", term.slope), *term.bends]
        named += [(f"code {code}", numbers) for code, numbers in term.categories.items()]
        for what, numbers in named:
            out |= {(term.column, what, k): number for k, number in enumerate(numbers)}
    return out


@pytest.mark.parametrize("kind", SHARED)
def test_differences_add_up_to_the_leaves_to_the_last_bit(kind):
    model = plain_model(zoo.case(kind).model.model_)
    assert len(model.differences) == len(model.nodes)
    for leaf, above in model.paths():
        way = [0, *(split.left if is_left else split.right for split, is_left in above)]
        total = {}
        for node in way:
            for key, number in entries(model.differences[node]).items():
                total[key] = total.get(key, 0.0) + number
        known = entries(leaf)
        assert {key: number for key, number in total.items() if number} == {
            key: number for key, number in known.items() if number
        }


@pytest.mark.parametrize("kind", SHARED)
def test_nodes_differ_where_the_explanation_says_so(kind):
    case = zoo.case(kind)
    model = plain_model(case.model.model_)
    for told in told_differences(explain(case.model)):
        assert any(told.sums) == model.differences[told.node].adds


@pytest.mark.parametrize("kind", APART)
def test_leaves_that_share_too_little_are_apart(kind):
    assert plain_model(zoo.case(kind).model.model_).differences == ()


@pytest.mark.parametrize("kind", SHARED)
@pytest.mark.parametrize("export", [to_sql, to_c, to_python])
def test_exports_are_shorter_by_differences(monkeypatch, kind, export):
    model = zoo.case(kind).model
    options = {"table": "t"} if export is to_sql else {}
    short = export(model, **options)
    apart = replace(plain_model(model.model_), differences=())
    for name in ("limits", "python"):
        monkeypatch.setattr(f"glassleaf.export.{name}.plain_model", lambda _: apart)
    assert len(short) < len(export(model, **options))


@pytest.mark.parametrize("kind", ["multiclass", "curves"])
def test_a_score_of_its_own_has_nothing_that_is_zero(kind):
    for leaf in plain_model(zoo.case(kind).model.model_).leaves:
        for k in range(len(leaf.intercept)):
            one = leaf.of(lambda numbers, k=k: numbers[k])
            assert one.intercept == (leaf.intercept[k],)
            found = [number for key, number in entries(one).items() if key[0] != "intercept"]
            assert np.all(found) and all(term.adds for term in one.terms)
            whole = sum(map(bool, (n for key, n in entries(leaf).items() if key[-1] == k)))
            assert len(found) + bool(leaf.intercept[k]) == whole
