"""What of a row's score is common, and what belongs to its segments."""

import numpy as np
import pytest
import zoo
from by_hand import model_by_hand

from glassleaf import explain
from glassleaf.explanations.effects import without_limits

SHARED = ["squared_error", "poisson, rank", "binary", "multiclass", "curves"]
N_ROWS = 60


@pytest.mark.parametrize("kind", [*SHARED, "binary, limits"])
def test_shares_add_up_to_the_score(kind):
    case = zoo.case(kind)
    for row in explain(case.model, case.table[:N_ROWS]):
        total = np.sum([share.added for share in row.shares], axis=0)
        size = np.max(np.abs([share.added for share in row.shares]))
        np.testing.assert_allclose(total + row.limited, row.raw, rtol=0, atol=1e-12 * (1 + size))


@pytest.mark.parametrize("kind", SHARED)
def test_a_share_is_what_a_model_has_more_than_its_parent_s(kind):
    case = zoo.case(kind)
    tree = without_limits(case.model.tree_)
    for values, row in zip(case.rows, explain(case.model, case.table[:N_ROWS]), strict=False):
        added = {share.node: share.added for share in row.shares}
        before = 0.0
        for node in [0, *(step.next_node for step in row.path)]:
            score = model_by_hand(tree, node, values)
            own = np.ravel(added.get(node, np.zeros_like(np.ravel(score))))
            np.testing.assert_allclose(own, np.ravel(score - before), rtol=1e-9, atol=1e-9)
            before = score
        told = [step.text for step in row.path if step.next_node in added]
        assert [share.text for share in row.shares] == ["all rows", *told]


def test_the_text_says_what_is_common():
    case = zoo.case("binary")
    row = next(row for row in explain(case.model, case.table) if len(row.shares) > 1)
    _, _, common, *others = row.to_text().splitlines()
    assert common.strip() == f"{row.shares[0].added:+#.4g}  formula for all rows"
    assert f"differs where {row.shares[1].text}" in others[0]
    assert "or by column:" in others


@pytest.mark.parametrize("kind", ["huber, winsor, clamp", "no split"])
def test_leaves_with_formulas_of_their_own_have_no_shares(kind):
    case = zoo.case(kind)
    row = explain(case.model, case.table[:1])[0]
    assert row.shares == () and "or by column" not in row.to_text()
