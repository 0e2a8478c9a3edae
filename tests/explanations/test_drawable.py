"""Explanations for drawings: by the spreads of given rows, and of files that know no spreads."""

from pathlib import Path

import numpy as np
import pytest
from problems import FORMS, KINDS, fitted

import glassleaf
from glassleaf import explain
from glassleaf.explanations.drawable import drawable
from glassleaf.show.notebook import tree_html

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize("form", ["curves, rank, clamped", *list(FORMS)[:2]])
@pytest.mark.parametrize("kind", KINDS)
def test_the_training_rows_give_what_training_recorded(kind, form):
    model, X, _ = fitted(kind, **FORMS[form])
    found, expected = drawable(model.model_, X), explain(model)
    assert drawable(model.model_).to_dict() == expected.to_dict()
    for own, known in zip(found.leaves, expected.leaves, strict=True):
        for name in ("mean", "spread", "covariance"):
            np.testing.assert_allclose(
                getattr(own, name), getattr(known, name), rtol=1e-6, atol=1e-9, err_msg=name
            )
        np.testing.assert_allclose(
            list(own.strength.values()), list(known.strength.values()), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_a_file_without_a_training_record_can_be_drawn(name):
    model = glassleaf.load(FIXTURES / f"model_v1_{name}.json")
    found = drawable(model.model_)
    assert [node.id for node in found.leaves] == model.model_.leaves
    assert np.isnan(found.nodes[0].spread).all()
    assert "or missing" in found.nodes[0].split.condition.text + found.nodes[0].split.otherwise.text
    assert tree_html(found) in model._repr_mimebundle_()["text/html"]
