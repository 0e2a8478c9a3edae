"""The end of training: coefficients on the raw scale, as short as they can be."""

import numpy as np

from glassleaf.fit.to_tree import _fold_straight_hinges
from glassleaf.tables.design import Terms


def test_a_node_that_sees_no_bend_has_a_line(rng):
    """Predictions within the clamps stay; hinges that never bend there are gone."""
    none = np.zeros(0)
    terms = Terms(
        np.array([0]), np.array([-1]), np.array([False]), np.zeros(1), 3,
        np.zeros(2, dtype=np.int64), none, none, np.array([0, 2]), np.array([1.0, 4.0]),
    )  # fmt: skip
    low, high = np.array([[0.0], [2.0], [5.0]]), np.array([[0.9], [3.0], [9.0]])
    coef, intercept = rng.normal(size=(3, 2, 3)), rng.normal(size=(3, 2))
    before = coef.copy(), intercept.copy()
    _fold_straight_hinges(coef, intercept, terms, low, high)
    assert not coef[:, :, 1:].any()
    for node in range(3):
        for x in np.linspace(low[node, 0], high[node, 0], 5):
            own = np.array([x, max(0.0, x - 1.0), max(0.0, x - 4.0)])
            expected = before[0][node] @ own + before[1][node]
            np.testing.assert_allclose(coef[node] @ own + intercept[node], expected, atol=1e-12)


def test_a_bend_that_a_node_sees_stays():
    none = np.zeros(0)
    terms = Terms(
        np.array([0]), np.array([-1]), np.array([False]), np.zeros(1), 2,
        np.zeros(2, dtype=np.int64), none, none, np.array([0, 1]), np.array([1.0]),
    )  # fmt: skip
    coef, intercept = np.array([[[2.0, 3.0]]]), np.array([[4.0]])
    _fold_straight_hinges(coef, intercept, terms, np.array([[0.0]]), np.array([[2.0]]))
    assert coef.tolist() == [[[2.0, 3.0]]] and intercept.tolist() == [[4.0]]
